"""The runs of a study: worlds x decisions x trials, each with the key that resume and reuse go by."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.study.sources import SECTIONS, is_random_part
from joulewise.study.spec import Fingerprints, Point
from joulewise.study.study import Study


@dataclass(frozen=True)
class Run:
    """One run of a study; runs with the same key are the same computation, whatever their variant.

    `files` are those that it reads, with the hash of the content that its key stands for.
    """

    key: str
    world_key: str
    point: Point
    seed: int
    trial: int
    keep: bool
    bound: str
    files: tuple[tuple[str, str], ...] = ()

    def cells(self) -> dict[str, object]:
        """The columns that say what was run."""
        identity = {"run": self.key, "world": self.world_key, "variant": self.point.variant}
        selected = [(SECTIONS[part.section].selector, part) for part in self.point.parts]
        sources = {f"{part.section}.{selector}": part.source for selector, part in selected if selector}
        dotted = {key: value for part in self.point.parts for key, value in part.cells().items()}
        return {**identity, "trial": self.trial, "seed": self.seed, "bound": self.bound, **sources, **dotted}


def plan(study: Study, has_gpu: bool | None = None) -> tuple[Run, ...]:
    """Every run of the study, point by point, trials fastest, as computed with or without a GPU, by default here.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """
    fingerprints = Fingerprints(study.folder)
    return tuple(
        _run(study, fingerprints, point, trial, has_gpu)
        for point in study.points
        for trial in range(_n_trials(study, point))
    )


def _n_trials(study: Study, point: Point) -> int:
    trials = study.heading.trials
    return trials if trials == 1 or _is_random_world(point) or study.kind.draws(point, study.folder) else 1


def _is_random_world(point: Point) -> bool:
    return any(map(is_random_part, point.world))


def _run(study: Study, fingerprints: Fingerprints, point: Point, trial: int, has_gpu: bool | None) -> Run:
    seed, bound = study.heading.seed, study.kind.bound(point, study.heading.bound)
    world_key = fingerprints.of_world(point, seed, trial, _is_random_world(point))
    run_key = fingerprints.of_run(world_key, study.kind.settled(point, has_gpu), seed, trial, bound)
    keep = {"first": trial == 0, "all": True, "none": False}[study.heading.keep]
    return Run(run_key, world_key, point, seed, trial, keep, bound, fingerprints.of_files(point))

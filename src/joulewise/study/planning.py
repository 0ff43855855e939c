"""The runs of a study: worlds x managers x trials, each with the key that resume and reuse go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from joulewise.study.sources import SECTIONS, is_random, is_random_world
from joulewise.study.spec import Fingerprints, Point
from joulewise.study.study import Study

if TYPE_CHECKING:
    from joulewise.optimise import BoundKind


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
    bound: BoundKind
    files: tuple[tuple[str, str], ...] = ()

    def cells(self) -> dict[str, object]:
        """The columns that say what was run."""
        identity = {"run": self.key, "world": self.world_key, "variant": self.point.variant}
        parts = self.point.parts
        generators = {f"{name}.generator": part.source for name, part in parts.items() if SECTIONS[name].source_keys}
        dotted = {key: value for name, part in parts.items() for key, value in part.cells(name).items()}
        return {**identity, "trial": self.trial, "seed": self.seed, "bound": self.bound, **generators, **dotted}


def plan(study: Study) -> tuple[Run, ...]:
    """Every run of the study, point by point, trials fastest.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """
    fingerprints = Fingerprints(study.folder)
    return tuple(
        _run(study, fingerprints, point, trial) for point in study.points for trial in range(_n_trials(study, point))
    )


def _n_trials(study: Study, point: Point) -> int:
    trials = study.heading.trials
    return trials if trials == 1 or is_random(point, study.folder) else 1


def _run(study: Study, fingerprints: Fingerprints, point: Point, trial: int) -> Run:
    seed = study.heading.seed
    world_key = fingerprints.of_world(point, seed, trial, is_random_world(point))
    run_key = fingerprints.of_run(world_key, point, seed, trial, study.heading.bound)
    keep = {"first": trial == 0, "all": True, "none": False}[study.heading.keep]
    return Run(run_key, world_key, point, seed, trial, keep, study.heading.bound, fingerprints.of_files(point))

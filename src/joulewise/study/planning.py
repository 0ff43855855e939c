"""The runs of a study: worlds x decisions x trials, each with the key that resume and reuse go by."""

from __future__ import annotations

from joulewise.study.run import Run
from joulewise.study.spec import Fingerprints, Point
from joulewise.study.study import Study


def plan(study: Study, has_gpu: bool | None = None) -> tuple[Run, ...]:
    """Every run of the study, point by point, trials fastest, as computed with or without a GPU, by default here.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """
    fingerprints = Fingerprints(study.folder, study.kind.identity_of, study.kind.version)
    return tuple(
        _run(study, fingerprints, point, trial, has_gpu)
        for point in study.points
        for trial in range(_n_trials(study, point))
    )


def _n_trials(study: Study, point: Point) -> int:
    trials, kind = study.heading.trials, study.kind
    return trials if trials == 1 or kind.is_random(point.world) or kind.draws(point, study.folder) else 1


def _run(study: Study, fingerprints: Fingerprints, point: Point, trial: int, has_gpu: bool | None) -> Run:
    kind, seed = study.kind, study.heading.seed
    bound = kind.bound(point, study.heading.bound)
    world_key = fingerprints.of_world(point.world, seed, trial, kind.is_random(point.world))
    run_key = fingerprints.of_run(world_key, kind.settled(point, has_gpu), seed, trial, bound)
    keep = {"first": trial == 0, "all": True, "none": False}[study.heading.keep]
    return Run(run_key, world_key, point, seed, trial, keep, bound, fingerprints.of_files(point))

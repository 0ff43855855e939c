"""The runs of a study: worlds x decisions x trials, each with the key that resume and reuse go by."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from operator import attrgetter

from joulewise.study.parsing.study import Study
from joulewise.study.spec.parts import Fingerprints, Point, WorldParts
from joulewise.study.spec.run import Run


def plan(study: Study, has_gpu: bool | None = None) -> tuple[Run, ...]:
    """Every run of the study, point by point, trials fastest, as computed with or without a GPU, by default here.

    Where nothing is random, trials would repeat one run and feign certainty: such a point is run once.
    """
    fingerprints = Fingerprints(study.folder, study.kind.identity_of, study.kind.version)
    by_world = itertools.groupby(study.points, key=attrgetter("world"))
    runs = (_runs(study, fingerprints, parts, points, has_gpu) for parts, points in by_world)
    return tuple(itertools.chain.from_iterable(runs))


def _runs(
    study: Study, fingerprints: Fingerprints, parts: WorldParts, points: Iterable[Point], has_gpu: bool | None
) -> Iterator[Run]:
    """The runs of points that share a world, whose keys and files are looked up once for all of them."""
    kind, heading = study.kind, study.heading
    is_random, files, seed = kind.is_random(parts), fingerprints.of_files(parts), heading.seed
    keys = [fingerprints.of_world(parts, seed, trial, is_random) for trial in range(heading.trials)]
    for point in points:
        bound, settled = kind.bound(point, heading.bound), kind.settled(point, has_gpu)
        of_decision = fingerprints.of_files((point.decision,))
        read = tuple(dict.fromkeys((*files, *of_decision))) if of_decision else files
        varies = heading.trials == 1 or is_random or kind.draws(point, study.folder)
        for trial in range(heading.trials if varies else 1):
            key = fingerprints.of_run(keys[trial], settled, seed, trial, bound)
            keeps = trial == 0 if heading.keep == "first" else heading.keep == "all"
            yield Run(key, keys[trial], point, seed, trial, keeps, bound, read)

"""What `check` tells of time, beside what runs take: one trial of studies of the catalogue, one process each."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Bar, Case, Subject
from joulewise.study.catalogue import EXPERIMENTS
from joulewise.study.parsing.study import Study
from joulewise.study.running.pace import pace_now
from joulewise.study.running.planning import plan
from joulewise.study.running.running import run_study
from joulewise.study.spec.parts import Point
from joulewise.study.store.store import Store

STUDIES: Mapping[str, Sequence[str]] = {
    "tasks": ("fig-2.5", "fig-2.6", "fig-2.8", "fig-3.5", "fig-4.4", "slow-mapping", "ours-rising", "ours-uncertain"),
    "jobs": ("machovec-map", "machovec-fig-10"),
    "assignments": ("fig-5.4", "fig-7.3", "ours-utility-front"),
    "bags": ("fig-6.3", "tarplee-fig-1", "ours-backlog"),
    "facility": ("ours-facility-heterogeneity",),
}
"""Studies of each system: little and much that is drawn, few and many events, searches that are short and long."""
MOST_GENERATIONS = 200


def _shorter(point: Point) -> Point:
    """A point that searches for no more generations than a benchmark has time for."""
    p = point.decision.parameters
    if not hasattr(p, "snapshots") or p.generations <= MOST_GENERATIONS:
        return point
    return point._replace(
        decision=replace(point.decision, parameters=replace(p, generations=MOST_GENERATIONS, snapshots=()))
    )


def _of_seed(study: Study, case: Case) -> Study:
    return replace(study, heading=replace(study.heading, seed=study.heading.seed + case.seed))


def _first_points(study: Study, n: int | None = None) -> Study:
    return replace(study, points=tuple(_shorter(point) for point in study.points[:n]))


def _told_over_taken(study: Study) -> float:
    """The seconds that are told over those that the runs take, at the pace that the machine has before and after."""
    with TemporaryDirectory() as folder:
        told_s = study.kind.seconds(plan(study), Store(Path(folder)), study.folder)
        before, began_s = pace_now(), time.perf_counter()
        run_study(study, Path(folder), workers=1)
        return told_s * (before + pace_now()) / 2 / (time.perf_counter() - began_s)


def told(case: Case, system: str) -> dict[str, float]:
    """How many times as long as it takes a study is told to take, by study; kernels are compiled before."""
    ratios = {}
    for name in STUDIES[system][: 1 if case.smoke else None]:
        ratio = _told_over_taken(_first_points(EXPERIMENTS[name].smoke_study(), 1 if case.smoke else None))
        if not case.smoke:
            ratio = _told_over_taken(_first_points(_of_seed(EXPERIMENTS[name].study(1), case)))
        ratios[f"{system}.{name}"] = ratio
    return {**ratios, f"{system}.most": max(ratios.values()), f"{system}.least": min(ratios.values())}


SUBJECT = Subject(
    "estimates",
    {system: partial(told, system=system) for system in STUDIES},
    [
        bar
        for system in STUDIES
        for bar in (
            Bar(f"{system}: seconds told over seconds taken, the most", f"{system}.most", "at most", 2),
            Bar(f"{system}: seconds told over seconds taken, the least", f"{system}.least", "at least", 0.5),
        )
    ],
)

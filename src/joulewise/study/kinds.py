"""The kinds of studies: all that differs between them is a row of one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise import units
from joulewise.study import bags, fronts, managed, profits, uncertain, utilities, utility_bounds, utility_checks
from joulewise.study.case import Candidates, Case, Outcome, Tables
from joulewise.study.column import (
    ASSIGNMENTS,
    COUNTS,
    FRONT,
    FRONTS,
    MACHINES,
    MANAGED,
    PROFIT,
    RECORDS,
    TRACES,
    UTILITY,
)
from joulewise.study.sources import (
    BAG,
    BAG_TABLE,
    KNOWN,
    MANAGER,
    OPTIMISE,
    TABLES,
    WORKLOAD,
    Draw,
    Section,
    build_world,
)
from joulewise.study.spec import Part, Point, WorldParts

if TYPE_CHECKING:
    import polars as pl

    from joulewise.study.planning import Run
    from joulewise.study.store import Store


@dataclass(frozen=True)
class Shown:
    """A metric as the table of `joulewise run` shows it."""

    metric: str
    head: str
    form: Callable[[float], str]


@dataclass(frozen=True)
class Kind:
    """One kind of study.

    The `section` that decides, with the `goal` it names, makes a study one of this kind; its workload comes from one
    of `workloads`. `main` is the key of that section whose values are compared. `bound` names how the bound of a point
    is proven, given what the heading says. `shown` are the metrics that people see first; `has_best`: the point where
    the first of them that all have is highest is the best. `tables` are the detail tables that every kept run has.
    `settled` is a point as it is computed with or without a GPU, or, given None, here.
    """

    name: str
    summary: str
    section: str
    goal: str
    workloads: tuple[str, ...]
    main: str
    bound: Callable[[Point, str], str]
    title: str
    shown: tuple[Shown, ...]
    has_best: bool
    tables: tuple[str, ...]
    build_world: Callable[[WorldParts, Draw], Any]
    checks: Callable[[Candidates, Draw], Iterator[Callable[[], object]]]
    draws: Callable[[Point, Path], bool]
    settled: Callable[[Point, bool | None], Point]
    compute: Callable[[Case], Outcome]
    judge: Callable[[Case, dict[str, Any], Tables | None], Iterator[str]]
    titles: Callable[[Sequence[Point], Path], dict[str, dict[str, str]]]
    seconds: Callable[[Sequence[Run], Store, Path], float]
    size: Callable[[Sequence[Run], Path], float]
    sentences: Callable[[pl.DataFrame, Sequence[str]], Iterator[str]]

    @property
    def main_axis(self) -> str:
        """The column of the main key."""
        return f"{self.section}.{self.main}"

    def of(self, section: Section) -> Section:
        """A section with those of its sources that this kind can use."""
        if section.name != WORKLOAD:
            return section
        sources = {name: source for name, source in section.sources.items() if name in self.workloads}
        tables = {key: name for key, name in section.tables.items() if name in self.workloads}
        return dataclasses.replace(section, sources=sources, tables=tables)


def _percent(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # never -0.00


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            MANAGED,
            "tasks arrive over time and a manager maps them to machines",
            section=MANAGER,
            goal=MANAGER,
            workloads=("day", TABLES),
            main="policy",
            bound=lambda _point, said: said,
            title="percent of maximum utility",
            shown=(
                Shown("utility_percent", "mean", _percent),
                Shown("possible_percent", "of possible", lambda value: f"≥ {value:.1f} %"),
            ),
            has_best=True,
            tables=(RECORDS, TRACES),
            build_world=build_world,
            checks=managed.checks,
            draws=managed.draws,
            settled=lambda point, _has_gpu: point,
            compute=managed.compute,
            judge=managed.judge,
            titles=managed.titles,
            seconds=managed.seconds,
            size=managed.size,
            sentences=lambda _runs, _axes: iter(()),
        ),
        Kind(
            FRONT,
            "a bag of tasks, and the trade-off between its energy and its makespan",
            section=OPTIMISE,
            goal=FRONT,
            workloads=(BAG, BAG_TABLE),
            main="method",
            bound=lambda _point, _said: bags.LP,
            title="percent of the proven hypervolume",
            shown=(
                Shown("hypervolume_percent", "mean", _percent),
                Shown("points", "points", lambda value: f"{value:.0f}"),
                Shown("least_energy_j", "least energy", units.energy),
                Shown("least_makespan_s", "least makespan", units.duration),
                Shown("gap_percent", "gap %", _percent),
                Shown("solve_s", "time", units.duration),
            ),
            has_best=True,
            tables=(FRONTS, MACHINES, COUNTS),
            build_world=bags.build_world,
            checks=fronts.checks,
            draws=fronts.draws,
            settled=lambda point, _has_gpu: point,
            compute=fronts.compute,
            judge=fronts.judge,
            titles=fronts.titles,
            seconds=fronts.seconds,
            size=bags.size,
            sentences=fronts.sentences,
        ),
        Kind(
            PROFIT,
            "a bag of tasks, and the most profit per second that it can earn",
            section=OPTIMISE,
            goal=PROFIT,
            workloads=(BAG, BAG_TABLE),
            main="recovery",
            bound=lambda _point, _said: bags.LP,
            title="profit per second",
            shown=(
                Shown("profit_per_s", "mean", lambda value: f"{value:.4g}"),
                Shown("profit_bound_per_s", "bound", lambda value: f"{value:.4g}"),
                Shown("gap_percent", "gap %", _percent),
                Shown("energy_j", "energy", units.energy),
                Shown("makespan_s", "makespan", units.duration),
                Shown("solve_s", "time", units.duration),
            ),
            has_best=False,
            tables=(FRONTS, MACHINES, COUNTS),
            build_world=bags.build_world,
            checks=profits.checks,
            draws=lambda _point, _folder: False,
            settled=lambda point, _has_gpu: point,
            compute=profits.compute,
            judge=profits.judge,
            titles=profits.titles,
            seconds=profits.seconds,
            size=bags.size,
            sentences=profits.sentences,
        ),
        Kind(
            UTILITY,
            "tasks known in advance, and the trade-off between their energy and their utility",
            section=OPTIMISE,
            goal=UTILITY,
            workloads=(KNOWN, TABLES),
            main="method",
            bound=utility_bounds.name_of,
            title="percent of hypervolume",
            shown=(
                Shown("fresh_mean_percent", "means on fresh samples", _percent),
                Shown("hypervolume_percent", "of the bound's", _percent),
                Shown("normalised_percent", "of the whole", _percent),
                Shown("points", "points", lambda value: f"{value:.0f}"),
                Shown("most_utility", "most utility", lambda value: f"{value:.5g}"),
                Shown("least_energy_j", "least energy", units.energy),
                Shown("peak_utility_per_mj", "peak per MJ", lambda value: f"{value:.4g}"),
                Shown("solve_s", "time", units.duration),
            ),
            has_best=True,
            tables=(FRONTS, ASSIGNMENTS),
            build_world=uncertain.build_world,
            checks=utility_checks.checks,
            draws=utilities.draws,
            settled=utilities.settled,
            compute=utilities.compute,
            judge=utilities.judge,
            titles=utilities.titles,
            seconds=utilities.seconds,
            size=utilities.size,
            sentences=utilities.sentences,
        ),
    )
}
"""Every kind of study; the first of those that share a section is the nearest where a file names no goal."""


def kind_of(decision: Part) -> Kind:
    """The kind of study that a section makes it."""
    return next(kind for kind in KINDS.values() if (kind.section, kind.goal) == (decision.section, decision.source))

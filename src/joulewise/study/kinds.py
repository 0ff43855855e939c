"""The kinds of studies: all that differs between them is a row of one table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise import units
from joulewise.errors import Problem
from joulewise.study.assignments import bounds as utility_bounds
from joulewise.study.assignments import checks as utility_checks
from joulewise.study.assignments import front as utilities
from joulewise.study.assignments import world as uncertain
from joulewise.study.bags import front as fronts
from joulewise.study.bags import profit as profits
from joulewise.study.bags import world as bags
from joulewise.study.case import Candidates, Case, Outcome, Tables
from joulewise.study.column import (
    ASSIGNMENTS,
    CLUSTERS,
    CORES,
    COUNTS,
    CRACS,
    FACILITY,
    FRONT,
    FRONTS,
    JOB_TRACES,
    JOBS,
    JOBS_KIND,
    MACHINES,
    MANAGED,
    NODES,
    PROFIT,
    PROGRESS,
    RATES,
    RECORDS,
    TRACES,
    UTILITY,
)
from joulewise.study.facility import bounds as facility_bounds
from joulewise.study.facility import plan as facilities
from joulewise.study.facility.sources import FACILITY_SYSTEMS, FACILITY_WORKLOADS, REWARD
from joulewise.study.jobs import schedule as jobs
from joulewise.study.jobs.sources import AS_LOGGED, JOB_SYSTEMS, JOB_WORKLOADS
from joulewise.study.jobs.worlds import build_scene
from joulewise.study.source import MANAGER, OPTIMISE, SCHEDULER, SYSTEM, WORKLOAD, Draw, Section
from joulewise.study.sources import (
    BAG,
    BAG_TABLE,
    KNOWN,
    MACHINE_SYSTEMS,
    TABLES,
    build_world,
)
from joulewise.study.spec import Part, Point, WorldParts
from joulewise.study.tasks import day as managed

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

    The `section` that decides, with the `goal` it names, makes a study one of this kind. Its system comes from one of
    `systems`, or from `unnamed_system` where the study says nothing of it, its workload from one of `workloads`. `main`
    is the key of that section whose values are compared. `bound` names how the bound of a point is proven, given what
    the heading says. `shown` are the metrics that people see first; `has_best`: the point where the first of them that
    all have is highest is the best. `tables` are the detail tables that every kept run has. `settled` is a point as it
    is computed with or without a GPU, or, given None, here. `warnings` tell what is no mistake and worth a word.
    """

    name: str
    summary: str
    section: str
    goal: str
    systems: tuple[str, ...]
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
    warnings: Callable[[Candidates, Draw], Iterator[Problem]] = lambda _found, _draw: iter(())
    unnamed_system: str = ""

    @property
    def main_axis(self) -> str:
        """The column of the main key."""
        return f"{self.section}.{self.main}"

    def of(self, section: Section) -> Section:
        """A section with those of its sources that this kind can use."""
        if section.name not in (SYSTEM, WORKLOAD):
            return section
        usable = self.uses(section.name)
        sources = {name: source for name, source in section.sources.items() if name in usable}
        tables = {key: name for key, name in section.tables.items() if name in usable}
        default = self.unnamed_system if section.name == SYSTEM else ""
        return dataclasses.replace(section, sources=sources, tables=tables, default=default)

    def uses(self, section: str) -> tuple[str, ...]:
        """The sources of a section that makes the world which this kind can use."""
        return {SYSTEM: self.systems, WORKLOAD: self.workloads}[section]


def _percent(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # never -0.00


_MACHINES = tuple(source.name for source in MACHINE_SYSTEMS)

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            MANAGED,
            "tasks arrive over time and a manager maps them to machines",
            section=MANAGER,
            goal=MANAGER,
            systems=_MACHINES,
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
            systems=_MACHINES,
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
            systems=_MACHINES,
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
            systems=_MACHINES,
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
        Kind(
            JOBS_KIND,
            "parallel jobs arrive over time, or are replayed from a log, and a scheduler gives them nodes of clusters",
            section=SCHEDULER,
            goal=SCHEDULER,
            systems=tuple(source.name for source in JOB_SYSTEMS),
            workloads=tuple(source.name for source in JOB_WORKLOADS),
            main="policy",
            bound=jobs.bound_of,
            title="percent of maximum utility",
            shown=(
                Shown("utility_percent", "mean", _percent),
                Shown("possible_percent", "of possible", lambda value: f"≥ {value:.1f} %"),
                Shown("mean_wait_s", "mean wait", units.duration),
                Shown("mean_bounded_slowdown", "slowdown", lambda value: f"{value:.3g}"),
                Shown("busy_percent", "busy %", _percent),
                Shown("energy_j", "energy", units.energy),
            ),
            has_best=True,
            tables=(JOBS, JOB_TRACES, CLUSTERS),
            build_world=build_scene,
            checks=jobs.checks,
            draws=jobs.draws,
            settled=lambda point, _has_gpu: point,
            compute=jobs.compute,
            judge=jobs.judge,
            titles=jobs.titles,
            seconds=jobs.seconds,
            size=jobs.size,
            sentences=jobs.sentences,
            warnings=jobs.warnings,
            unnamed_system=AS_LOGGED,
        ),
        Kind(
            FACILITY,
            "nodes in a room with CRAC units, tasks that flow in, and the most reward under a power cap and redlines",
            section=OPTIMISE,
            goal=REWARD,
            systems=tuple(source.name for source in FACILITY_SYSTEMS),
            workloads=tuple(source.name for source in FACILITY_WORKLOADS),
            main="method",
            bound=facility_bounds.name_of,
            title="percent of all reward (CRR)",
            shown=(
                Shown("day_earned_percent", "day earned", _percent),
                Shown("crr_percent", "CRR", _percent),
                Shown("rr_percent", "without slowdown", _percent),
                Shown("bound_percent", "bound", _percent),
                Shown("gap_percent", "gap %", _percent),
                Shown("day_planned_percent", "day planned", _percent),
                Shown("total_w", "power", units.power),
                Shown("cooling_w", "cooling", units.power),
                Shown("supply_mean_c", "supply °C", lambda value: f"{value:.1f}"),
                Shown("value_per_kw", "worth of a kW", lambda value: f"{value:.3g}"),
                Shown("solve_s", "time", units.duration),
            ),
            has_best=True,
            tables=(NODES, CRACS, CORES, RATES, PROGRESS),
            build_world=facilities.build_world,
            checks=facilities.checks,
            draws=facilities.draws,
            settled=lambda point, _has_gpu: point,
            compute=facilities.compute,
            judge=facilities.judge,
            titles=facilities.titles,
            seconds=facilities.seconds,
            size=facilities.size,
            sentences=facilities.sentences,
            warnings=facilities.warnings,
        ),
    )
}
"""Every kind of study; the first of those that share a section is the nearest where a file names no goal."""


def kind_of(decision: Part) -> Kind:
    """The kind of study that a section makes it."""
    return next(kind for kind in KINDS.values() if (kind.section, kind.goal) == (decision.section, decision.source))

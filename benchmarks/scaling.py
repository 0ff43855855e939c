"""How cost grows: one size at a time doubled, the line through what that costs, and a model of many workers.

Figures are named `CURVE.SIZE.s` and `CURVE.slope`, `.slope_low`, `.slope_high`; where a curve is carried on to a size
that was not measured, `CURVE.at_SIZE.s` with `_low` and `_high`. `--page` writes them into docs/explanation/scaling.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import Bar, Case, Subject, peak_memory_mb, seconds
from benchmarks.slopes import line_through
from benchmarks.watching import ENGINES, LENGTHS, SATURATING, WATCHED, one_result, study_of, workers
from joulewise.model import World
from joulewise.model.air import Air
from joulewise.model.jobs import JobWorld
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.facility.planner import plan_facility
from joulewise.optimise.tasks.prices import price_bound
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from joulewise.study import plan, run_study
from joulewise.study.parsing.study import MAX_RUNS
from joulewise.study.store.journal import Journal
from joulewise.study.store.merging import merge
from joulewise.study.store.store import Store
from joulewise.worlds.bags.bag import BagParameters, generate_bag
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.facility.site import FacilitySize, generate_facility, sized
from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

Timed = Callable[[], object]


LEAST_JOBS = 25
"""What a day must have."""
SMALL, LOADS = (100, 200, 400), (25_000, 50_000, 100_000)
"""Sizes of smoke runs, which have a part of a load."""
PLANNED = (100_000, 200_000, 400_000)
"""Runs of studies that are planned to see how much memory that takes."""


@dataclass(frozen=True)
class Curve:
    """What takes time and what of it grows, in words; what is made ready at a size and then timed; at which sizes.

    It is carried on to sizes beyond; those `of_site` are what a site with 10,000 cores has. A larger slope than
    `most_slope` is a bar missed; unless told otherwise, cost is claimed to be about linear.
    """

    cost: str
    size: str
    ready: Callable[[int, Case], Timed]
    sizes: Sequence[int]
    smoke_sizes: Sequence[int]
    beyond: Sequence[int] = ()
    of_site: Sequence[int] = ()
    most_slope: float = 1.3
    repeats: int = 3

    def figures(self, name: str, case: Case) -> dict[str, float]:
        """Seconds by size, the fastest of some repeats, and what follows from the line through them."""
        sizes = self.smoke_sizes if case.smoke else self.sizes
        self.ready(sizes[0], case)()  # compiles, or loads, what it needs
        costs = {size: seconds(self.ready(size, case), 1 if case.smoke else self.repeats) for size in sizes}
        return {**{f"{name}.{size}.s": cost for size, cost in costs.items()}, **carried_on(name, costs, self.beyond)}


def carried_on(name: str, costs: Mapping[int, float], beyond: Sequence[int]) -> dict[str, float]:
    """The slope of a curve, and what the line says of sizes that were not measured."""
    line = line_through(costs)
    figures = dict(zip((f"{name}.slope", f"{name}.slope_low", f"{name}.slope_high"), line.growth, strict=True))
    for size in beyond:
        place = f"{name}.at_{size}.s"
        figures |= zip((place, f"{place}_low", f"{place}_high"), line.at(size), strict=True)
    return figures


# Serial tasks

_MANAGER = partial(Manager, dropping_threshold=0.5)


def _day(system: SystemParameters, tasks_per_day: float, case: Case, days: int = 1) -> World:
    made = generate_system(system, case.seed, 0)
    work = WorkloadParameters(tasks_per_day=case.part * tasks_per_day, days=days)
    return World(made, generate_workload(work, made, case.seed, 0))


def _simulating(world: World) -> Timed:
    return lambda: simulate(world, _MANAGER(POLICIES["max-max-upt"]))


def _grown(times: int) -> SystemParameters:
    """So many times the 100 machines of the published environment, of the same types."""
    usual = SystemParameters()
    special, general = (tuple(times * n for n in counts) for counts in (usual.special_counts, usual.general_counts))
    return dataclasses.replace(usual, special_counts=special, general_counts=general)


def _of_types(machine_types: int) -> SystemParameters:
    """96 general-purpose machines of so many types, beside the special-purpose ones."""
    return SystemParameters(general_counts=(96 // machine_types,) * machine_types)


def _tasks(n: int, case: Case) -> Timed:
    """More days, so that it gets no more crowded."""
    return _simulating(_day(SystemParameters(), 33_000, case, n // 33_000))


def _crowded_tasks(n: int, case: Case) -> Timed:
    return _simulating(_day(SystemParameters(), n, case))


def _machines(n: int, case: Case) -> Timed:
    return _simulating(_day(_grown(n // 100), 330 * n, case))


def _task_types(n: int, case: Case) -> Timed:
    return _simulating(_day(SystemParameters(task_types=n), 33_000, case))


def _machine_types(n: int, case: Case) -> Timed:
    return _simulating(_day(_of_types(n), 33_000, case))


def _bound(n: int, case: Case) -> Timed:
    world = _day(_grown(n // 100), 330 * n, case)
    return lambda: price_bound(world)


# Parallel jobs


def _replaying(clusters: ClusterParameters, jobs_per_day: float, days: int, case: Case) -> Timed:
    system = generate_clusters(clusters, case.seed, 0)
    large = clusters.size_limits[3]
    day = ParallelDayParameters(jobs_per_day=max(case.part * jobs_per_day, LEAST_JOBS), days=days, large_cores=large)
    world = JobWorld(system.clusters, system.types, generate_parallel_day(day, system, case.seed, 0))
    return lambda: simulate_jobs(world, Scheduler(JOB_POLICIES["easy"]))


def _jobs(n: int, case: Case) -> Timed:
    """More days, so that it gets no more crowded."""
    return _replaying(ClusterParameters(), 2_500, n // 2_500, case)


def _crowded_jobs(n: int, case: Case) -> Timed:
    return _replaying(ClusterParameters(), n, 1, case)


def _nodes(n: int, case: Case) -> Timed:
    """Nodes of one core, with jobs as large as published on clusters of 300 nodes, and 2,500 a day on 2,000 nodes.

    Jobs of 20 percent of the types may have up to 300 nodes. Published, these could have all of a cluster.
    """
    usual = ClusterParameters()
    *small, middle, large = usual.size_limits
    clusters = ClusterParameters(
        cores=n, cores_per_node=(1, 1), processors_per_node=(1, 1),
        size_limits=(*small, middle // 50, large // 50, 300), size_percent=(20.0, 20.0, 40.0, 20.0, 0.0, 0.0),
    )  # fmt: skip
    return _replaying(clusters, 1.25 * n, 1, case)


# Bags and facilities


def _front(task_types: int, machine_types: int, case: Case) -> Timed:
    parameters = CovSystemParameters(task_types=task_types, machine_types=machine_types, machines=10 * machine_types)
    system = generate_cov_system(parameters, case.seed, 0)
    bag = generate_bag(BagParameters(n_tasks=1_000_000), system, case.seed, 0)
    return lambda: bound_front(bag)


def _by_task_types(n: int, case: Case) -> Timed:
    return _front(n, 10, case)


def _by_machine_types(n: int, case: Case) -> Timed:
    return _front(50, n, case)


def _facility(nodes: int, case: Case) -> Timed:
    wanted = sized(FacilitySize(nodes, max(nodes // 50, 2), 2, 8))
    facility = generate_facility(wanted, case.seed, 0)
    air = Air(facility.room)
    return lambda: plan_facility(facility, air, gap=0.005)


# Studies


def _trials(n: int, case: Case) -> Timed:
    """A whole study in one process: planned, computed, stored, merged."""
    study = study_of(n, case)

    def run() -> None:
        with TemporaryDirectory() as folder:
            run_study(study, folder, workers=1)

    return run


def _planned(n: int, case: Case) -> Timed:
    study = study_of(n // 10, case, points=10)
    return lambda: plan(study).table


def _stored(n: int, case: Case) -> Timed:
    """The rows of so many runs journalled and merged, without computing them."""
    runs = plan(study_of(n, case))
    keys = runs.table["run"]

    def store() -> None:
        with TemporaryDirectory() as folder:
            _store(Store(Path(folder)), runs)
            merge(Store(Path(folder)), runs, keys, runs.study.kind.in_order)

    return store


def _store(store: Store, runs: Any) -> None:
    """Journal a row for each run, all with one result."""
    result = one_result(runs.study)
    with Journal(store) as journal:
        rows = ({**run.cells(), **result} for run in runs)
        while piece := list(islice(rows, 256)):
            journal.append(piece)


_DAY, _BOUND = "a day of serial tasks with Max-Max UPT", "the proven bound of such a day"
_EASY, _BAG, _PLAN = "a day of parallel jobs with EASY", "the bound on the front of a bag", "a plan of a facility"

CURVES: Mapping[str, Mapping[str, Curve]] = {
    "tasks": {
        "tasks": Curve(
            "days of serial tasks with Max-Max UPT", "tasks, 33,000 a day on 100 machines", _tasks,
            (33_000, 66_000, 132_000, 264_000, 528_000), (33_000, 66_000, 132_000),
        ),
        "crowded_tasks": Curve(
            _DAY, "tasks a day, on 100 machines", _crowded_tasks, (25_000, 35_000, 50_000, 70_000, 100_000), LOADS,
            most_slope=4.0,
        ),
        "machines": Curve(
            _DAY, "machines, each with 330 tasks a day", _machines, (100, 200, 400, 800, 1_600), SMALL,
            beyond=(10_000,), of_site=(10_000,), most_slope=1.6,
        ),
        "task_types": Curve(_DAY, "task types", _task_types, (50, 100, 200, 400, 800), SMALL),
        "machine_types": Curve(_DAY, "machine types, of 96 machines", _machine_types, (6, 12, 24, 48, 96), (6, 12, 24)),
        "bound": Curve(
            _BOUND, "machines, each with 330 tasks a day", _bound, (100, 200, 400, 800, 1_600), SMALL,
            beyond=(10_000,), of_site=(10_000,), repeats=1,
        ),
    },
    "jobs": {
        "jobs": Curve(
            "days of parallel jobs with EASY", "jobs, 2,500 a day on 2,000 nodes", _jobs,
            (2_500, 5_000, 10_000, 20_000, 40_000), (2_500, 5_000, 10_000),
        ),
        "crowded_jobs": Curve(
            _EASY, "jobs a day, on 2,000 nodes", _crowded_jobs, (2_500, 3_500, 5_000, 7_000, 10_000), LOADS,
            most_slope=4.0, repeats=1,
        ),
        "nodes": Curve(
            _EASY, "nodes, each with 1.25 jobs a day", _nodes, (2_500, 5_000, 10_000, 20_000, 40_000), LOADS,
            of_site=(10_000,), most_slope=2.5,
        ),
    },
    "bags": {
        "bag_task_types": Curve(
            _BAG, "task types, on 10 machine types", _by_task_types, (100, 200, 400, 800, 1_600), SMALL,
            most_slope=2.0,
        ),
        "bag_machine_types": Curve(
            _BAG, "machine types, for 50 task types", _by_machine_types, (20, 40, 80, 160, 320), (5, 10, 20),
            most_slope=3.0,
        ),
    },
    "facility": {
        "facility_nodes": Curve(
            _PLAN, "nodes of 2 or 4 cores", _facility, (200, 400, 800, 1_600, 3_300), (12, 24, 48),
            of_site=(3_300,),
        ),
    },
    "studies": {
        "trials": Curve(
            "a whole study of short runs, in one process", "runs", _trials, (50, 100, 200, 400, 800), (2, 4, 8),
            beyond=(MAX_RUNS,), repeats=2,
        ),
        "planned": Curve(
            "planning a study", "runs", _planned, (10_000, 20_000, 40_000, 80_000, 160_000, 320_000), SMALL,
            beyond=(MAX_RUNS,), repeats=2,
        ),
        "stored": Curve(
            "storing and merging rows", "runs", _stored, (2_500, 5_000, 10_000, 20_000, 40_000), (10, 20, 40),
            beyond=(MAX_RUNS,), repeats=2,
        ),
    },
}  # fmt: skip
"""By what is studied."""


def _measured(curves: Mapping[str, Curve], case: Case) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, curve in curves.items():
        figures |= curve.figures(name, case)
    return figures


def sizes(case: Case) -> dict[str, float]:
    """Bytes of a run in the table of a finished study without details, on disk."""
    n_runs = 50 if case.smoke else 20_000
    with TemporaryDirectory() as folder:
        runs, store = plan(study_of(n_runs, case)), Store(Path(folder))
        _store(store, runs)
        merge(store, runs, runs.table["run"], runs.study.kind.in_order)
        on_disk = store.runs_file.stat().st_size
    return {"bytes.row": on_disk / n_runs}


def memory(case: Case) -> dict[str, float]:
    """The most memory of processes that plan studies, one for each size, and the line through that."""
    script = (
        "from benchmarks.measure import Case\nfrom benchmarks.scaling import _planned\n_planned({n}, Case({seed}))()"
    )
    held = {n: peak_memory_mb(script.format(n=n, seed=case.seed), case) for n in (SMALL if case.smoke else PLANNED)}
    each_mb, no_runs_mb = np.polyfit(list(held), list(held.values()), 1)
    figures = {f"memory.{n}.mb": mb for n, mb in held.items()}
    return {**figures, "memory.no_runs.mb": float(no_runs_mb), "memory.run.bytes": float(each_mb) * 2**20}


def write_page(result: Mapping[str, Any]) -> None:
    """Write the tables and figures of the page on scaling."""
    from benchmarks.scaling_page import write_page  # figures are drawn when asked for

    write_page(result)


_BUSY = {"busy": "busy as measured", "model": "busy by the model"}

SUBJECT = Subject(
    "scaling",
    {
        **{group: partial(_measured, curves) for group, curves in CURVES.items()},
        "sizes": sizes,
        "memory": memory,
        "workers": workers,
    },
    [
        *(
            Bar(f"{name}: the slope of its cost", f"{name}.slope", "at most", curve.most_slope)
            for curves in CURVES.values()
            for name, curve in curves.items()
        ),
        *(
            Bar(f"{n} workers, {engine}, {length} runs: busy by the model over busy as measured", figure, side, bar)
            for engine in ENGINES
            for length in LENGTHS
            for n in WATCHED
            for figure in (f"workers.{engine}.{length}.{n}.model_over_busy",)
            for side, bar in (("at least", 0.9), ("at most", 1.1))
        ),
        *(
            Bar(f"{n} workers, {engine}, {length} runs: {_BUSY[which]}", figure, "at most", 1.0)
            for engine in ENGINES
            for length in LENGTHS
            for n in WATCHED
            for which in _BUSY
            for figure in (f"workers.{engine}.{length}.{n}.{which}",)
        ),
        *(
            Bar(f"{n:,} imaginary workers: runs a second by the model over those measured", figure, side, bar)
            for n in SATURATING
            for figure in (f"saturated.{n}.model_over_measured",)
            for side, bar in (("at least", 0.8), ("at most", 1.25))
        ),
    ],
    write_page=write_page,
)

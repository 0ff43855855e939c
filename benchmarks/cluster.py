"""Parallel jobs on clusters: traces against plain Python, a large log up to its report, and the published world."""

from __future__ import annotations

import gzip
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import Bar, Case, Subject, command_spent, seconds
from joulewise.model.arrays import Floats
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.jobs.policy import Commitment, JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.measures import SHORTEST_S
from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
from joulewise.simulate.jobs.scheduler import EnergyFilter, Scheduler
from joulewise.study import run_study
from joulewise.study.catalogue import EXPERIMENTS
from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin
from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day
from joulewise.worlds.jobs.trace_files import import_log
from joulewise.worlds.jobs.traces import TraceParameters, read_trace
from tests.twins.jobs import backfill as twins
from tools import small_trace
from tools.data import VARIABLE, data_folder

BLUE, CURIE = "SDSC-BLUE-2000-4.2-cln.swf.gz", "CEA-Curie-2011-2.1-cln.swf.gz"
CURIE_STUDY = 'name = "curie"\n[workload]\ntrace = "{}"\n[scheduler]\npolicy = "easy"\n'
SMOKE_LINES = 150
TWIN_JOBS = {"easy": 1_000_000, "conservative": 20_000}
"""How many jobs of the trace, from its start, the twin is given; ours is then timed on the same."""

LOADS = {5_000: 12.2e9, 10_000: 14.8e9}
"""Jobs a day of the published world, and joules a day: about 70 % of what would be used."""

THRESHOLD = 0.5
FILTERS: dict[EnergyFilter, float] = {"none": 1.0, "per-task": 2.0, "per-resource": 4.0}
COMMITMENTS: tuple[Commitment, ...] = ("place-holders", "reservations")
MANY_PSTATES = 15
FIG_9, FIG_9_TRIALS, FIG_9_SAMPLE = "machovec-fig-9", 48, 2
CORES = 2


# Traces


def trace_of(case: Case) -> JobWorld:
    """All of SDSC-BLUE, imported; a smoke run, which needs no data, has jobs of a model that end early."""
    if case.smoke:
        return _small_trace(case)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.parquet"
        import_log(_log(BLUE), path)
        system, jobs = read_trace(TraceParameters(trace=str(path)))
        return JobWorld(system.clusters, system.types, jobs)


def _log(name: str) -> Path:
    folder = data_folder()
    if folder is None or not (folder / "swf" / name).is_file():
        raise SystemExit(f"swf/{name} is not there: set {VARIABLE} to the folder of the data, or use --smoke")
    return folder / "swf" / name


def _small_trace(case: Case) -> JobWorld:
    one = np.ones(1, np.int64)
    system = ClusterSystem(Clusters(("cluster",), 128 * one, one, one))
    system, jobs = generate_lublin(LublinParameters(n_jobs=500, gap_factor=0.4), system, case.seed, 0)
    types = replace(system.types, time_s=np.ceil(system.types.planned_s / 2))
    return JobWorld(system.clusters, types, jobs)


def easy(case: Case) -> dict[str, float]:
    """EASY over the whole trace: jobs per second of ours and of the plain Python twin."""
    return _against_twin(case, "easy", twins.easy)


def conservative(case: Case) -> dict[str, float]:
    """Conservative over the whole trace, and beside the plain Python twin over the start of it."""
    return _against_twin(case, "conservative", twins.conservative)


def _against_twin(case: Case, name: str, twin: Callable[[twins.Jobs, int], list[float]]) -> dict[str, float]:
    world, scheduler, repeats = trace_of(case), Scheduler(JOB_POLICIES[name]), 1 if case.smoke else 5
    whole = simulate_jobs(world, scheduler)
    part = first_jobs(world, TWIN_JOBS[name])
    ours = simulate_jobs(part, scheduler).allocation
    starts: list[float] = []
    twin_s = seconds(lambda: starts.extend(twin(twin_jobs(part), int(part.clusters.n_nodes[0]))), 1)
    part_s = _mapping_s(part, scheduler, repeats)
    wait_s = whole.allocation.start_s - world.jobs.work.arrival_s
    return {
        f"{name}.jobs": float(world.n_jobs),
        f"{name}.jobs_per_s": world.n_jobs / _mapping_s(world, scheduler, repeats),
        f"{name}.jobs_per_s_with_preparation": world.n_jobs / seconds(lambda: simulate_jobs(world, scheduler), repeats),
        f"{name}.mean_wait_s": float(np.nanmean(wait_s)),
        f"{name}.mean_bounded_slowdown": float(np.nanmean(_slowdown(wait_s, whole))),
        f"{name}.twin_jobs": float(part.n_jobs),
        f"{name}.twin_jobs_per_s": part.n_jobs / twin_s,
        f"{name}.ours_over_twin": twin_s / part_s,
        f"{name}.same_starts": float(np.array_equal(ours.start_s[ours.used], starts)),
    }


def _mapping_s(world: JobWorld, scheduler: Scheduler, repeats: int) -> float:
    """How long the simulation itself took, the fastest of some runs."""
    return min(simulate_jobs(world, scheduler).mapping_s for _ in range(repeats))


def _slowdown(wait_s: Floats, outcome: JobOutcome) -> Floats:
    run_s = outcome.allocation.end_s - outcome.allocation.start_s
    return np.maximum((wait_s + run_s) / np.maximum(run_s, SHORTEST_S), 1.0)


def first_jobs(world: JobWorld, n: int) -> JobWorld:
    work = world.jobs.work
    columns = {name: getattr(work, name)[:n] for name in ("arrival_s", "task_type", "shape", "scale", "hold_s")}
    return replace(world, jobs=Jobs(replace(work, tags={}, **columns)))


def twin_jobs(world: JobWorld) -> twins.Jobs:
    """The jobs that fit, as the twins take them, with plans raised to what the jobs take."""
    types, work = world.types, world.jobs.work
    fits = np.diff(types.first)[work.task_type] > 0
    option = types.first[work.task_type[fits]]
    planned_s = np.maximum(types.planned_s, types.time_s)[option]
    columns = (work.arrival_s[fits], types.time_s[option], planned_s, types.nodes[option])
    return twins.Jobs(*(column.tolist() for column in columns))


def curie(case: Case) -> dict[str, float]:
    """CEA-Curie from its log to the report with EASY: seconds, and memory of the largest process.

    The first run finds an empty cache, as on a new machine: it compiles the kernels and makes the script of figures.
    The second finds what that one left. A smoke run has the second only, with the cache that there is.
    """
    figures: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        study, cache = Path(folder) / "study.toml", {"XDG_CACHE_HOME": f"{folder}/cache"}
        trace = _beginning_of_log(Path(folder)) if case.smoke else _log(CURIE)
        study.write_text(CURIE_STUDY.format(trace), encoding="utf-8")
        runs = {"curie": {}} if case.smoke else {"curie.empty_cache": cache, "curie": cache}
        for name, environment in runs.items():
            command = ["run", str(study), "--out", f"{folder}/{name}", "--workers", "1"]
            spent_s, largest_mb = command_spent(command, environment, case)
            figures |= {f"{name}.log_to_report_s": spent_s, f"{name}.peak_mb": largest_mb}
    return figures


def _beginning_of_log(folder: Path) -> Path:
    """For a smoke run: some jobs of the log that the examples have."""
    log = folder / "small.swf"
    with gzip.open(small_trace.PATH, "rt", encoding="utf-8") as lines:
        log.write_text("".join(islice(lines, SMOKE_LINES)), encoding="utf-8")
    return log


# The published world


def published(case: Case, trial: int, load: int, pstates: int = 3) -> JobWorld:
    """The published world with its budget; a smoke run has a part of the load."""
    system = generate_clusters(ClusterParameters(pstates=pstates), case.seed, trial)
    jobs = generate_parallel_day(ParallelDayParameters(jobs_per_day=case.part * load), system, case.seed, trial)
    return JobWorld(system.clusters, system.types, jobs, Supply(case.part * LOADS[load]))


def events(case: Case) -> dict[str, float]:
    """Milliseconds per mapping event of every utility-aware policy with dropping, at both loads; then 15 P-states."""
    figures = {f"events.{name}.ms": value for name, value in _event_times(case)}
    many = [value for name, value in figures.items() if f".{MANY_PSTATES}_pstates." in name]
    few = [value for name, value in figures.items() if f".{MANY_PSTATES}_pstates." not in name]
    return {**figures, "events.worst_ms": max(few), f"events.worst_ms_{MANY_PSTATES}_pstates": max(many)}


def _event_times(case: Case) -> Iterator[tuple[str, float]]:
    for load in LOADS:
        world = published(case, 0, load)
        for scheduler in _utility_aware():
            yield f"{load}.{_name(scheduler)}", _event_ms(world, scheduler, case)
    world = published(case, 0, max(LOADS), MANY_PSTATES)
    for scheduler in _utility_aware():
        if scheduler.energy_filter == "none":
            yield f"{MANY_PSTATES}_pstates.{_name(scheduler)}", _event_ms(world, scheduler, case)


def _utility_aware() -> Iterator[Scheduler]:
    for policy in filter(_is_greedy, JOB_POLICIES.values()):
        for commitment in COMMITMENTS:
            for energy_filter, leniency in FILTERS.items():
                yield Scheduler(
                    policy, 60.0, commitment=commitment, dropping_threshold=THRESHOLD, energy_filter=energy_filter,
                    leniency=leniency,
                )  # fmt: skip


def _is_greedy(policy: JobPolicy) -> bool:
    return policy.rule == "greedy"


def _name(scheduler: Scheduler) -> str:
    return f"{scheduler.policy.name}.{scheduler.commitment}.{scheduler.energy_filter}"


def _event_ms(world: JobWorld, scheduler: Scheduler, case: Case) -> float:
    outcomes = [simulate_jobs(world, scheduler) for _ in range(1 if case.smoke else 3)]
    return 1e3 * min(outcome.mapping_s for outcome in outcomes) / max(outcomes[0].n_mapping_events, 1)


def figure_9(case: Case) -> dict[str, float]:
    """Minutes of the complete figure on two cores, from the seconds of some of its trials on one."""
    n_trials = 1 if case.smoke else FIG_9_SAMPLE
    if not case.smoke:
        _run_fig_9(1)  # loads the kernels
    trial_s = _run_fig_9(n_trials) / n_trials
    return {"figure_9.trial_s": trial_s, "figure_9.minutes": trial_s * FIG_9_TRIALS / CORES / 60}


def _run_fig_9(n_trials: int) -> float:
    """The seconds of one core that so many trials take."""
    with TemporaryDirectory() as folder:
        began = time.process_time()
        results = run_study(EXPERIMENTS[FIG_9].study(n_trials), Path(folder) / "out", workers=1)
        spent_s = time.process_time() - began
        return spent_s if results.failed.is_empty() else math.inf


SUBJECT = Subject(
    "cluster",
    {"easy": easy, "conservative": conservative, "curie": curie, "events": events, "figure_9": figure_9},
    (
        Bar("EASY on SDSC-BLUE, ours over plain Python", "easy.ours_over_twin", "at least", 20),
        Bar("conservative on SDSC-BLUE, ours over plain Python", "conservative.ours_over_twin", "at least", 20),
        Bar("EASY: the same starts as plain Python", "easy.same_starts", "at least", 1),
        Bar("conservative: the same starts as plain Python", "conservative.same_starts", "at least", 1),
        Bar("CEA-Curie from its log to the report in s", "curie.log_to_report_s", "at most", 30),
        Bar("CEA-Curie in MB", "curie.peak_mb", "at most", 500),
        Bar("CEA-Curie in MB with an empty cache", "curie.empty_cache.peak_mb", "at most", 500),
        Bar("slowest utility-aware policy in ms per event", "events.worst_ms", "at most", 0.5),
        Bar("the same with 15 P-states", f"events.worst_ms_{MANY_PSTATES}_pstates", "at most", 1.0),
        Bar("fig. 9 complete in minutes on 2 cores", "figure_9.minutes", "at most", 20),
    ),
)

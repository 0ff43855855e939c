"""Studies of parallel jobs: a scheduler gives them nodes of clusters over time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from joulewise.errors import InputError, JoulewiseError, Problem, raise_if_any
from joulewise.study.jobs import tables as job_tables
from joulewise.study.jobs.budgets import budgets_too_small
from joulewise.study.jobs.columns import JOB_COLUMNS
from joulewise.study.jobs.fitting import USES
from joulewise.study.jobs.reserved import reservations_outside
from joulewise.study.jobs.scheduler import SchedulerParameters
from joulewise.study.jobs.sources import (
    AS_LOGGED,
    JOB_SYSTEMS,
    JOB_WORKLOADS,
    PARALLEL_DAY,
    SCHEDULER_SECTION,
    SCHEDULER_SOURCE,
    TRACE,
    job_policy_of,
)
from joulewise.study.jobs.template import JOBS_TEMPLATE
from joulewise.study.jobs.unmet import jobs_outside_window, licences_not_counted, names_without_jobs
from joulewise.study.jobs.warnings import (
    conditions_never_met,
    jobs_that_never_start,
    processors_that_differ,
    resamples_of_log,
    resources_not_replayed,
    rules_without_jobs,
    settings_without_use,
    times_of_tables,
)
from joulewise.study.jobs.worlds import Scene, build_scene
from joulewise.study.kinds.case import Candidates, Case, Outcome
from joulewise.study.kinds.deciders import Deciders
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.switches import idle_switches
from joulewise.study.searches.agreement import differs
from joulewise.study.searches.bounds import PREEMPTIVE, PRICES, TRIVIAL, of_bounds
from joulewise.study.spec.column import CLUSTERS, JOB_TRACES, JOBS, Column
from joulewise.study.spec.parts import Part, Point, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Draw
from joulewise.study.spec.trials import BLOCKS
from joulewise.study.store.store import NO_BOUND, Store, Tables
from joulewise.units import count, noun

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.jobs import JobAllocation, JobWorld
    from joulewise.optimise.bounds import BoundKind
    from joulewise.simulate.jobs.run import JobOutcome
    from joulewise.simulate.jobs.scheduler import Scheduler

# Rough figures of one ordinary processor of 2024.
_RUN_S, _JOB_S, _READ_S = 0.02, 8e-6, 5e-6
_CROWDED_S = {"greedy": 0.0, "in-order": 6e-9, "in-queues": 1.5e-8, "at-random": 5e-8, "assigned": 1e-7}
"""What a job of a generated day takes beside, for each that comes: by rule, as nothing that waits is dropped."""
_PYTHON_S, _PYTHON_CROWDED_S = 4e-4, 1.5e-6
"""The same of a policy in plain Python."""
_DAY_BOUND_S = 0.35
"""What the bound of a generated day takes at least."""
_KEPT_BYTES, _JOB_BYTES, _PROOF_BYTES = 60_000, 50, 20_000
_HELD_BYTES = 1_000
"""What a job takes in memory at most."""
_JUDGE_S = 2e-5
"""What it takes to judge a job."""
_INTERVAL_S = 60.0
_LOG, _CAPS, _WAITING = "workload.trace", "supply.power_cap_by_hour", "jobs_waiting"
_LIMITS = (_CAPS, "supply.power_cap_w", "supply.budget_j", "supply.budget_total_j")
_RULES, _SITE = "workload.rules", "system.site"
_OF_LOGS = (
    "A log tells nothing of utility, so it is shown only where the study gives rules for it. Powers that are not "
    "logged come from rules as well (`joulewise list rules`). Waits and slowdowns are of the jobs themselves."
)
_NO_RULES = (
    "A log tells nothing of utility and power. The study gives no rules for them, so waits and busy cores come first, "
    "and energies are by the powers in the file of a site. Without these they are by the powers of rules that come "
    "with the package (`joulewise list rules`), not by those of the machine."
)
_OF_RULES, _OF_WAITS = ("possible_percent", "utility_percent", "energy_j"), ("median_wait_s", "p95_wait_s")
_SHUT_OUT = "can never start on the site, for want of room or by a limit: `joulewise check` says which"
_TABLES = (_CAPS, "supply.tariff", "system.outages")


class JobsKind(Kind):
    """Parallel jobs under a scheduler."""

    name = "jobs"
    summary = "parallel jobs arrive over time, or are replayed from a log, and a scheduler gives them nodes of clusters"
    section = SCHEDULER_SECTION
    decision = SCHEDULER_SOURCE
    systems = JOB_SYSTEMS
    workloads = JOB_WORKLOADS
    unnamed_system = AS_LOGGED
    main = "policy"
    checking = 0.75
    title = "percent of what is possible"
    columns = JOB_COLUMNS
    tables = (JOBS, JOB_TRACES, CLUSTERS)
    template = JOBS_TEMPLATE

    def bound(self, decision: Part, said: str) -> str:
        """Prices are others where jobs run in pieces."""
        return PREEMPTIVE if said == PRICES and decision.parameters.preempts else said

    def usual_bound(self, workloads: Iterable[Part]) -> str:
        """None for utility that no rules of the study give."""
        return super().usual_bound(workloads) if _is_worth_told(workloads) else NO_BOUND

    def shown(self, workloads: Iterable[Part] = ()) -> list[Column]:
        """Of logs whose jobs no rules of the study give worth and power, how they wait and how busy clusters are."""
        others = _OF_WAITS if _is_worth_told(workloads) else _OF_RULES
        return [column for column in super().shown(workloads) if column.name not in others]

    def build_world(self, parts: WorldParts, draw: Draw) -> Scene:
        """The world of one trial; InputError when its sources do not describe one."""
        made = self.build_workload(parts.workload, self.build_system(parts, draw), draw)
        return build_scene(parts, made, draw)

    def checks(self, asked: Candidates, draw: Draw) -> Iterator[Callable[[], object]]:
        """Look up the policies, read the logs and tables and hold limits and schedulers against them."""
        schedulers = _schedulers(asked, draw)
        yield lambda: raise_if_any(schedulers.problems)
        yield from (partial(asked.world_of, parts) for parts in asked.worlds)
        yield from (partial(_check_fit, parts, made, asked) for parts, made in schedulers.by_world())
        yield lambda: raise_if_any(idle_switches(SCHEDULER_SECTION.name, USES, schedulers))

    def warnings(self, asked: Candidates, draw: Draw) -> Iterator[Problem]:
        """What is worth a word in the worlds of the first trial; those that cannot be made are left out."""
        schedulers: dict[WorldParts, list[Scheduler]] = {parts: [] for parts in asked.worlds}
        for parts, found in _schedulers(asked, draw).by_world():
            schedulers[parts] += found
        for parts in asked.worlds:
            with suppress(InputError):
                scene = asked.world_of(parts)
                yield from jobs_that_never_start(parts, scene, draw)
                yield from rules_without_jobs(scene)
                yield from conditions_never_met(scene)
                yield from processors_that_differ(parts, scene)
                yield from resources_not_replayed(scene)
                yield from settings_without_use(scene, schedulers[parts])
                yield from resamples_of_log(scene, asked.trials)
                yield from times_of_tables(parts, scene, draw)
                yield from reservations_outside(scene)
                yield from names_without_jobs(parts, scene, draw)
                yield from licences_not_counted(scene)
                yield from jobs_outside_window(scene)
                yield from budgets_too_small(scene)

    def draws(self, decision: Part, folder: Path) -> bool:
        """Whether the policy draws clusters, or may draw what it likes."""
        return job_policy_of(decision.parameters.policy, folder).rule in ("at-random", "assigned")

    def titles(self, decisions: Sequence[Part], folder: Path) -> dict[str, dict[str, str]]:
        """How reports are to call the study's policies, so that they need not load a user's code again."""
        titles = {}
        for spec in dict.fromkeys(decision.parameters.policy for decision in decisions):
            with suppress(InputError):  # a policy that cannot be loaded fails its runs and goes by its bare name
                policy = job_policy_of(spec, folder)
                titles[spec] = {"title": policy.title, "mode": policy.rule}
        return titles

    def seconds(self, missing: Sequence[Run], store: Store, folder: Path) -> float:
        """The time of one process for the runs, and for reading and bounding each world."""
        n_jobs = self.task_counts(missing, folder)
        worlds = {run.world_key: run for run in missing}
        new = [worlds[key] for key, _ in store.unproven([(run.world_key, run.bound) for run in worlds.values()])]
        bounds_s = sum(
            _bound_s(run.point.workload, n_jobs[run.key]) for run in new if run.bound in (PRICES, PREEMPTIVE)
        )
        reading_s = _READ_S * sum(n_jobs[run.key] for run in worlds.values())
        return bounds_s + reading_s + sum(_run_s(run.point, n_jobs[run.key], folder) for run in missing)

    def judging(self, runs: Sequence[Run], folder: Path) -> float:
        """The time of one process to judge runs, job by job."""
        n_jobs = self.task_counts(runs, folder)
        return _JUDGE_S * sum(n_jobs[run.key] for run in runs)

    def size(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the detail tables of those that are kept, and of the bounds of their worlds."""
        kept = [run for run in runs if run.keep]
        n_jobs, n_worlds = sum(self.task_counts(kept, folder).values()), len({run.world_key for run in runs})
        return _KEPT_BYTES * len(kept) + _JOB_BYTES * n_jobs + _PROOF_BYTES * n_worlds

    def memory(self, runs: Sequence[Run], folder: Path) -> float:
        """The bytes of the largest world and of what is made of it."""
        return _HELD_BYTES * max(self.task_counts(runs, folder).values(), default=0.0)

    def compute(self, case: Case) -> Outcome:
        """Simulate the scheduler in the world; JoulewiseError when its allocation breaks a rule."""
        from joulewise.check.jobs.allocation import check_jobs

        scene: Scene = case.world
        scheduler = scheduler_of(case.run.point.workload, case.decision)
        outcome = _simulated(case, scene.world)
        broken = check_jobs(scene.world, outcome.allocation, scheduler)
        if broken:
            raise JoulewiseError(f"the allocation breaks {count(len(broken), 'rule')}; the first: {broken[0]}")
        columns = columns_of(outcome, _bound(case)) | _of_resamples(scene)
        return Outcome(columns, lambda: job_tables.tables(scene, outcome.allocation))

    def judge_bound(self, case: Case) -> Iterator[str]:
        """What does not hold of the stored proof: its prices must prove the bound."""
        return _bounds(case)

    def judge(self, case: Case, row: Mapping[str, Any], tables: Tables) -> Iterator[str]:
        """What does not hold of the measures of an allocation, job by job."""
        from joulewise.check.jobs.recompute import recompute_jobs

        allocation = job_tables.allocation_of(case.world.world, tables)
        for name, value in recompute_jobs(case.world.world, allocation).items():
            yield from differs(f"runs: {name}, job by job", row[name], value)

    def foresight(self, case: Case, tables: Tables, part: float) -> str:
        """What started otherwise than if another future came after a part of the jobs, or nothing."""
        from joulewise.study.jobs.foresight import foresight

        def decide(world: JobWorld) -> JobAllocation:
            return _simulated(case, world).allocation

        allocation = job_tables.allocation_of(case.world.world, tables)
        return foresight(case.world.world, allocation, part, decide)

    def sentences(self, runs: pl.DataFrame, _axes: Sequence[str]) -> Iterator[str]:
        """Which bound says what is possible, where utility comes from, and jobs that no cluster can run."""
        is_log = _LOG in runs.columns and runs[_LOG].drop_nulls().len()
        if not is_log or runs[_RULES].count():
            yield from of_bounds(runs, "jobs")
        if is_log:
            yield _OF_LOGS if runs[_RULES].count() else _NO_RULES
            if any(runs[key].drop_nulls().len() for key in _TABLES if key in runs.columns):
                yield (
                    "Tables with dates are held against the clock of the log. Hours and seconds without dates count "
                    "from the first submission."
                )
        sited = runs.drop_nulls(_SITE) if _SITE in runs.columns else runs.clear()
        if most := _most(runs, "jobs_impossible"):
            fit, start = noun(most, "fits", "fit"), noun(most, "starts", "start")
            why = f"{fit} on no cluster, and never {start}" if sited.is_empty() else _SHUT_OUT
            yield f"Up to {count(most, 'job')} of a run {why}."
        if most := _most(sited, "jobs_dropped"):
            had = noun(most, "was", "were")
            yield f"Up to {count(most, 'job')} of a run {had} refused: a limit on jobs that wait or run was reached."
        if is_log:
            yield from _never_started(runs)


def _never_started(runs: pl.DataFrame) -> Iterator[str]:
    """How many jobs of the runs of a log had no nodes in the end, which are in no mean wait."""
    most = _most(runs, _WAITING)
    if not most:
        return
    least = int(cast("int", runs[_WAITING].min()))
    why = [key for key in _LIMITS if key in runs.columns and runs[key].drop_nulls().len()]
    check = "; `joulewise check` tells of those that a limit of power or energy does not allow" if why else ""
    yield f"Up to {count(most, 'job')} of a run had not started at its end, and no mean of waits has them{check}."
    if most > least:
        yield f"With others it was {least:,}: where that differs, a shorter mean wait may be that of fewer jobs."


def _is_worth_told(workloads: Iterable[Part]) -> bool:
    """Whether all workloads tell what their jobs are worth and draw: logs do not, where no rules do."""
    return all(part.source != TRACE or part.parameters.rules is not None for part in workloads)


def _most(runs: pl.DataFrame, column: str) -> int:
    """The most that a run has of something; 0 where no run has any."""
    return int(cast("int", runs[column].max()) or 0) if column in runs.columns else 0


def _run_s(point: Point, n_jobs: float, folder: Path) -> float:
    """How long a run takes, without the bound of its world."""
    policy = job_policy_of(point.decision.parameters.policy, folder)
    is_python = policy.own is not None and not policy.own.is_compiled
    job_s, crowded_s = (_PYTHON_S, _PYTHON_CROWDED_S) if is_python else (_JOB_S, _CROWDED_S[policy.rule])
    return _RUN_S + n_jobs * (job_s + (crowded_s * n_jobs if point.workload.source == PARALLEL_DAY else 0.0))


def _bound_s(workload: Part, n_jobs: float) -> float:
    """How long the bound of a world takes: few jobs have more prices to look at for each, and days many options."""
    least_s = _DAY_BOUND_S if workload.source == PARALLEL_DAY else 0.2 * math.pow(n_jobs / 1000, 0.45)
    return max(least_s, 5e-5 * n_jobs)


def scheduler_of(workload: Part, scheduler: Scheduler) -> Scheduler:
    """The scheduler as a workload wants it: a day of the papers has a mapping event each minute."""
    if math.isinf(scheduler.mapping_interval_s) and workload.source == PARALLEL_DAY:
        return dataclasses.replace(scheduler, mapping_interval_s=_INTERVAL_S)
    return scheduler


def _schedulers(asked: Candidates, draw: Draw) -> Deciders[Scheduler]:
    """The schedulers of a study, with the problems of those that cannot be made."""
    return Deciders(asked, partial(job_policy_of, folder=draw.folder), SchedulerParameters.scheduler)


def _check_fit(parts: WorldParts, schedulers: Sequence[Scheduler], asked: Candidates) -> None:
    """Hold schedulers against the world of the first trial; a world that cannot be made is reported elsewhere."""
    from joulewise.simulate.jobs.misfits import job_misfits

    try:
        world = asked.world_of(parts).world
    except InputError:
        return
    wanted = (scheduler_of(parts.workload, scheduler) for scheduler in schedulers)
    raise_if_any(dict.fromkeys(problem for scheduler in wanted for problem in job_misfits(world, scheduler)))


def _simulated(case: Case, world: JobWorld) -> JobOutcome:
    from joulewise.simulate.jobs.run import simulate_jobs

    scheduler = scheduler_of(case.run.point.workload, case.decision)
    return simulate_jobs(world, scheduler, case.run.seed, case.run.trial)


def columns_of(outcome: JobOutcome, bound: float) -> dict[str, Any]:
    """Every metric of what a scheduler did, with the yardsticks of its world."""
    from joulewise.simulate.jobs.measures import job_measures, maximum_utility

    measured: dict[str, Any] = dict(job_measures(outcome.world, outcome.allocation))
    most = maximum_utility(outcome.world)
    shares = {"utility_percent": (measured["utility"], most), "possible_percent": (measured["utility"], bound)}
    yardsticks = {"maximum_utility": most, "utility_bound": bound}
    percent = {name: 100 * _share(*pair) for name, pair in shares.items()}
    return {**measured, **yardsticks, **percent, **_of_mapping(outcome)}


def _of_resamples(scene: Scene) -> dict[str, Any]:
    """Of how many blocks a log consists that is resampled, which says how surely it tells anything."""
    blocks = None if scene.trace is None else scene.trace.blocks
    return {} if blocks is None else {BLOCKS: blocks.n_apart}


def _of_mapping(outcome: JobOutcome) -> dict[str, Any]:
    n_events = outcome.n_mapping_events
    mean_s = outcome.mapping_s / n_events if n_events else math.nan
    return {"mapping_events": n_events, "mapping_s": outcome.mapping_s, "mapping_event_s": mean_s}


def _share(part: float, whole: float) -> float:
    """A part of something that may be nothing."""
    return part / whole if whole > 0 else math.nan


def _bound(case: Case) -> float:
    """The world's bound: stored if known, else found and stored for the other runs on it; NaN where there is none."""
    from joulewise.optimise.jobs.bound import JobBound, job_bound

    run, store = case.run, case.store
    if run.bound == NO_BOUND:
        return math.nan
    proof = store.read_proof(run.world_key, run.bound, JobBound.from_json)
    if proof is None:
        kind: BoundKind = "trivial" if run.bound == TRIVIAL else "prices"
        proof = job_bound(case.world.world, kind, preempts=run.bound == PREEMPTIVE)
        store.write_proof(run.world_key, run.bound, proof.as_json())
    return proof.value


def _bounds(case: Case) -> Iterator[str]:
    """What does not hold of the stored proof."""
    from joulewise.check.jobs.prices import job_dual_value
    from joulewise.optimise.jobs.bound import JobBound, job_ceiling

    if case.run.bound == NO_BOUND:
        return
    proof, world = case.store.read_proof(case.run.world_key, case.run.bound, JobBound.from_json), case.world.world
    if proof is None:
        yield "bounds: the proof of the world's bound is missing"
        return
    prices, preempts = proof.certificate, case.run.bound == PREEMPTIVE
    anew = job_ceiling(world)
    if prices is not None:
        anew = job_dual_value(world, prices.per_s, prices.per_j, preempts=preempts)
    yield from differs("bounds: utility_bound", proof.value, anew)

"""Parallel jobs over time: the world and a scheduler go in, what became of each job comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem, check_kinds, raise_if_any
from joulewise.kernels.draws import draws_of
from joulewise.kernels.jit import prepared
from joulewise.kernels.jobs import assigned
from joulewise.kernels.jobs.energy import new_job_ledger
from joulewise.kernels.jobs.events import run_jobs
from joulewise.kernels.jobs.layout import empty_job_plan
from joulewise.kernels.jobs.outages import Broken
from joulewise.kernels.jobs.outside import run_asked
from joulewise.kernels.jobs.pool import new_job_pool
from joulewise.kernels.jobs.run import JobState
from joulewise.kernels.jobs.state import QUEUED, WORKED, new_site
from joulewise.model.arrays import Floats, Ints
from joulewise.model.conditions import NO_JOB
from joulewise.model.jobs import Fate, JobAllocation, JobWorld, Pieces
from joulewise.policies.jobs.compile import compiled_objective, compiled_order
from joulewise.policies.jobs.limits import job_limits
from joulewise.policies.jobs.orders import BY_ARRIVAL, UTILITY
from joulewise.policies.own import Answer, Asking, Own
from joulewise.rng import generator
from joulewise.simulate.jobs import arrays as job_arrays
from joulewise.simulate.jobs.backfill import backfill, can_backfill_fast
from joulewise.simulate.jobs.event import START, JobEvent
from joulewise.simulate.jobs.misfits import job_misfits
from joulewise.simulate.jobs.outside import idle_error, new_idle, raise_fault, sight_of
from joulewise.simulate.jobs.ready import ready_times
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.sites.run import run_on_site
from joulewise.simulate.outside import outside_of
from joulewise.visible import Visible

_run_asked: Any = run_asked
_run_jobs: Any = run_jobs
_start_all: Any = assigned.place_all

_BEFORE_ALL_S = -1.0
_ALL_EVENTS = 2**62


@dataclass(frozen=True, eq=False)
class JobOutcome(Visible, looks="jobs"):
    """What a scheduler did with a world.

    `n_mapping_events` are those that had jobs to map; `mapping_s` is the wall-clock time that the simulation took.
    Of a policy with prices, `prices` has a row for each event with work: per node-second of each cluster, then per
    joule; on a site it has none.
    """

    world: JobWorld
    allocation: JobAllocation
    n_mapping_events: int
    mapping_s: float
    prices: Floats = field(default_factory=lambda: np.empty((0, 0)))


def simulate_jobs(world: JobWorld, scheduler: Scheduler, seed: int = 0, trial: int = 0) -> JobOutcome:
    """Let the scheduler work through the world's jobs, until its window ends or all are done.

    Deterministic: `seed` and `trial` only feed policies that draw at random. Raises InputError when world and
    scheduler do not fit.
    """
    check_kinds(
        ("world", world, JobWorld, "jw.run takes a world of serial tasks"),
        ("scheduler", scheduler, Scheduler, 'write jw.jobs.Scheduler(jw.jobs.find_policy("easy"))'),
    )
    raise_if_any(job_misfits(world, scheduler))
    if world.site is not None:
        return JobOutcome(world, *run_on_site(world, scheduler, seed, trial))
    if can_backfill_fast(world, scheduler):
        return JobOutcome(world, *backfill(world, scheduler))
    engine = JobEngine(world, scheduler, seed, trial)
    engine.warm_up()
    began = time.perf_counter()
    engine.run(world.jobs.work.end_s)
    return engine.outcome(time.perf_counter() - began)


class JobEngine:
    """The arrays of one run, and the kernel that works on them."""

    def __init__(self, world: JobWorld, scheduler: Scheduler, seed: int = 0, trial: int = 0) -> None:
        self.world, self.policy = world, scheduler.policy
        self.rng = generator(seed, "jobs.policy", trial, scheduler.policy.name)
        facts, self.numbers = job_arrays.seen_facts(world, scheduler)
        raising = job_arrays.raising_of(world, scheduler, world.types.allowed_s[self.numbers], world.n_jobs)
        self.is_killed = job_arrays.killed(world, scheduler)
        limits = job_limits(
            world, facts, scheduler.energy_filter, scheduler.leniency, follows_tariff=scheduler.follows_tariff
        )
        self.plan, self.broken = empty_job_plan(facts.tasks.arrival_s), job_arrays.room_for_pieces(world, scheduler)
        self.pool, until_s = new_job_pool(facts, limits), job_arrays.last_end_s(world, facts)
        self.prices = job_arrays.prices_of(world, scheduler)
        self.state = JobState(
            facts, job_arrays.rules_of(world, scheduler), job_arrays.greed_of(world, scheduler), limits,
            new_job_ledger(limits), *job_arrays.books_of(world, scheduler, facts, limits, until_s),
            new_site(facts.after), self.plan, self.pool, job_arrays.usage_of(world, scheduler),
            job_arrays.standings_of(world, scheduler, facts), job_arrays.outages_of(world), self.broken,
            raising, self.prices, compiled_order(scheduler.order or BY_ARRIVAL),
            compiled_objective(scheduler.policy.objective or UTILITY),
            draws_of(generator(seed, "jobs", trial, scheduler.policy.name)), until_s,
        )  # fmt: skip

    def warm_up(self) -> None:
        """Compile, or load what was compiled, without simulating anything."""
        own = self.policy.own
        if own is not None and own.is_compiled:
            self._ask_outside(own, _BEFORE_ALL_S)
        elif self.policy.rule == "assigned":
            assert not any(True for _ in self.events(_BEFORE_ALL_S))
        else:
            self.run(_BEFORE_ALL_S)

    def run(self, end_s: float) -> int:
        """Let events happen up to an instant; returns how many mapping events had work so far."""
        if self.policy.own is not None:
            self._ask(self.policy.own, end_s)
        else:
            _run_jobs(self.state, end_s, _ALL_EVENTS)
        if self.pool.n_rises[0]:
            found = "its value rose with waiting in this run, although it was declared falls_with_time"
            raise InputError(Problem(f"policy {self.policy.name}", found, advice="leave falls_with_time out"))
        return self.n_events

    def _ask(self, own: Own, end_s: float) -> None:
        """Let a user's own policy start jobs at all events."""
        with Asking(own).begun(self.world) as asking:
            idle = self._ask_outside(own, end_s) if own.is_compiled else self._ask_python(asking, end_s)
        if idle is not None and (math.isinf(end_s) or not np.isfinite(self.plan.start_s).any()):
            raise idle

    def _ask_python(self, asking: Asking, end_s: float) -> InputError | None:
        """What is wrong where nothing runs after the last answer of plain Python."""
        idle = None
        for event in self.events(end_s):
            idle = _idle(event, asking.carry_out(event, START, event.start))
        return idle

    def _ask_outside(self, own: Own, end_s: float) -> InputError | None:
        """The same of compiled code."""
        outside, idle = outside_of(own, sight_of(self.state)), new_idle()
        _run_asked(self.state, outside, idle, end_s)
        raise_fault(outside, own, self._event(self._place_all()))
        return idle_error(own, idle)

    def events(self, end_s: float) -> Iterator[JobEvent]:
        """The events with jobs to map before an instant, one by one; each is open until the next one is asked for."""
        state, place_all = self.state, self._place_all()
        go_on = prepared(_run_jobs, state, end_s, 1)
        while go_on(state, end_s, 1):
            if state.site.counts[QUEUED]:
                yield self._event(place_all)

    def _event(self, place_all: Callable[..., None]) -> JobEvent:
        """The event that is open."""
        return JobEvent(self.world, self.state, place_all, self.n_events - 1, self.rng)

    def _place_all(self) -> Callable[..., None]:
        """The kernel that starts jobs."""
        rows = np.empty((0, len(START)), np.int64)
        return prepared(_start_all, self.state, rows, assigned.START, np.empty(0, np.int64), np.empty(0))

    @property
    def n_events(self) -> int:
        """How many mapping events had work so far."""
        return int(self.state.site.counts[WORKED])

    def outcome(self, mapping_s: float = 0.0) -> JobOutcome:
        """What was done so far, which took so long."""
        return JobOutcome(self.world, self.allocation(), self.n_events, mapping_s, self.prices.path[: self.n_events])

    def allocation(self) -> JobAllocation:
        """What was decided so far."""
        plan, ran = self.plan, np.isfinite(self.plan.end_s)
        option, fate = np.full(ran.size, NO_JOB, np.int32), plan.fate.copy()
        option[ran] = self.numbers[plan.option[ran]]
        fate[ran] = np.where(self.is_killed[option[ran]], Fate.KILLED, Fate.RAN)
        fate[np.diff(self.world.types.first)[self.world.jobs.work.task_type] == 0] = Fate.IMPOSSIBLE
        start_s = np.where(ran, plan.start_s, np.nan)
        ready_s = ready_times(
            self.world, start_s, np.where(ran, plan.end_s, np.nan), fate == Fate.KILLED, np.zeros_like(ran)
        )
        return JobAllocation(option, start_s, plan.end_s, ready_s, fate, _pieces(self.broken, self.numbers))


def _idle(event: JobEvent, answer: Answer) -> InputError | None:
    """What is wrong where nothing runs after an answer, and nothing is held, though a job could start."""
    if event.running.job.size or event.held.job.size:
        return None
    job, option = event.choices
    could = np.flatnonzero(event.earliest_s(job, option) == event.now_s)
    if not could.size:
        return None
    what = f"job {job[could[0]]} could start with option {option[could[0]]}"
    return answer.error(f"nothing runs, and {what}", "start jobs of event.job, or they wait for ever")


def _pieces(broken: Broken, numbers: Ints) -> Pieces:
    rows = slice(0, int(broken.size[0]))
    columns: Any = (column[rows] for column in broken[:-1])
    job, option, start_s, end_s, is_lost = columns
    return Pieces(job, numbers[option], start_s, end_s, is_lost)

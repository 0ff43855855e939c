"""Many days, one after the other: tasks come day by day, and what a day leaves behind goes on the next."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.choice import in_order
from joulewise.kernels.layout import DROPPED, NOBODY, WAITING
from joulewise.kernels.tasks.crowd import fill_crowd
from joulewise.kernels.tasks.state import ARRIVED, COUNTED, IN_ORDER, SUFFERAGE, UNFIXED, WORKED, Broken
from joulewise.kernels.tasks.type_queues import fill_queues
from joulewise.model.allocation import Allocation, Status
from joulewise.model.arrays import Counts
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.model.system import System
from joulewise.model.workload import Tag, Workload
from joulewise.model.world import NO_OUTAGES, Outages, World
from joulewise.simulate.meter import Metrics
from joulewise.simulate.tasks.managed import Engine, start
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome, counted_events
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class Day(Visible, looks="tasks"):
    """A day as it was when it ended.

    The world has the tasks that had to do with the day: those that arrived, waited or ran on it. `task` are their
    numbers, counted over all days. The counted window is the day, and the budget the day's share.
    """

    number: int
    world: World
    outcome: Outcome
    task: Counts

    def measures(self) -> Metrics:
        """The metrics of this day; tasks left at its end count as waiting, whatever becomes of them later."""
        return measures(self.world, self.outcome)


def simulate_days(
    days: Iterable[Workload],
    n_days: int,
    system: System,
    manager: Manager,
    supply: Supply = NO_LIMITS,
    outages: Outages = NO_OUTAGES,
    seed: int = 0,
    trial: int = 0,
) -> Iterator[Day]:
    """Let the manager work through day after day; memory is that of one day and the tasks that still wait.

    Each workload has the tasks that arrive on a day of `supply.day_s`, its counted window; the first may have a warm-up
    before. Queues, waiting tasks, machines, energy used and prices go on from day to day, so that everything is decided
    as in one long run. Two things need to know all tasks in a long run, and differ: weighted policies measure utility
    by the most that a task of the first day is worth, and random-batch draws other numbers. A policy of the user's own
    starts in the world of the first day and goes on as it is; each event shows the world of its day, in which tasks
    have numbers of that day, and the past of that day. Tasks without hope are
    dropped at the end of a day, so that an event at which no other task waits may be passed over; on an idle system
    prices then move in one step instead of two. Raises InputError when the days do not follow each other or the manager
    does not fit.
    """
    raise_if_any(_problems(manager, n_days))
    run: _LongRun | None = None
    upcoming = iter(days)
    for number in range(n_days):
        work = next(upcoming, None)
        if work is None:
            raise InputError(Problem("days", f"found {number} of them", f"there must be {n_days}"))
        raise_if_any(_day_problems(work, number, run.first if run else work, supply.day_s))
        if run is None:
            world = World(system, replace(work, end_s=_day_start_s(work, n_days, supply.day_s)), supply, outages)
            run = _LongRun(world, manager, start(world, manager, seed, trial), np.arange(work.n_tasks), work)
        else:
            run = run.followed_by(work)
        yield run.day(number, n_days)


@dataclass(frozen=True, eq=False)
class _LongRun:
    """A run up to some day: a world with the tasks in memory and their numbers, the engine that maps them, and the
    workload of the first day.
    """

    world: World
    manager: Manager
    engine: Engine
    task: Counts
    first: Workload

    def day(self, number: int, n_days: int) -> Day:
        """Let the day pass; events at its end belong to the next one, if there is one."""
        engine, day_s = self.engine, self.world.supply.day_s
        start_s, end_s = (_day_start_s(self.first, day, day_s) for day in (number, number + 1))
        share_j = _share_j(engine, number)
        counts = engine.state.clock.counts
        before, began = counts.copy(), time.perf_counter()
        engine.run(end_s if number == n_days - 1 else math.nextafter(end_s, -math.inf), is_last=False)
        mapping_s = time.perf_counter() - began
        worked, counted = (counts - before)[[WORKED, COUNTED]].tolist()
        allocation = engine.looked_ahead().allocation()
        work = replace(self.world.workload, start_s=start_s, end_s=end_s)
        supply = replace(self.world.supply, budget_j=share_j, is_total=False)
        world = replace(self.world, workload=work, supply=supply)
        has_grid = self.manager.mapping_arrivals is None and self.manager.mapping_time == "free"
        counted = counted_events(world, self.manager, allocation) if has_grid else counted
        return Day(number, world, Outcome(world, allocation, worked, counted, mapping_s), self.task)

    def followed_by(self, work: Workload) -> _LongRun:
        """The run with the next day's tasks; those that have nothing to do with it any more are left behind."""
        kept = self._kept(work.start_s)
        world = replace(self.world, workload=_appended(self.world.workload, kept, work))
        engine = Engine(world, self.manager, int(self.engine.world.rules.random_seed))
        _hand_over(self.engine, engine, kept, work.start_s)
        next_task = int(self.task[-1]) + 1
        task = np.concatenate((self.task[kept], next_task + np.arange(work.n_tasks)))
        return replace(self, world=world, engine=engine, task=task)

    def _kept(self, from_s: float) -> Counts:
        """The tasks that wait with some hope or run after an instant, and where machines stand by their last runs."""
        plan, ahead = self.engine.state.plan, self.engine.looked_ahead().state.plan
        hopeless = np.flatnonzero((plan.status == WAITING) & (ahead.status == DROPPED))
        _drop(self.engine, hopeless)
        kept = (plan.status == WAITING) | (plan.end_s > from_s)
        if self.world.system.standby is not None:
            kept[_last_runs(self.engine.allocation())] = True
        return np.flatnonzero(kept)


def _problems(manager: Manager, n_days: int) -> Iterator[Problem]:
    if n_days < 1:
        yield Problem("n_days", f"found {n_days}", "must be 1 or more")
    if manager.groups > 1:
        yield Problem("manager.groups", f"found {manager.groups}", "must be 1 day by day", "simulate all days at once")
    if manager.preempts:
        yield Problem("manager.preempts", "found true", "must be false day by day", "simulate all days at once")
    if manager.mapping_time == "given" and any(manager.mapping_model[1:]):
        found = "found a mapping time that depends on the number of tasks"
        allowed = "day by day, how many will have arrived at the next event is not known"
        yield Problem("manager.mapping_model", found, allowed, "give a constant alone")


def _day_start_s(first: Workload, number: int, day_s: float) -> float:
    """When a day starts, counted from the first one."""
    return first.start_s + number * day_s


def _day_problems(work: Workload, number: int, first: Workload, day_s: float) -> Iterator[Problem]:
    """What does not fit to the first day: when it is, when its tasks arrive, and how they are described."""
    where = f"days: day {number}"
    start_s, end_s = (_day_start_s(first, day, day_s) for day in (number, number + 1))
    if (work.start_s, work.end_s) != (start_s, end_s):
        found = f"found the counted window ({work.start_s:g} s, {work.end_s:g} s]"
        yield Problem(where, found, f"must be ({start_s:g} s, {end_s:g} s]: one day of the supply after the other")
    earliest_s = start_s if number else 0.0
    if not (work.arrival_s[0] >= earliest_s and work.arrival_s[-1] <= end_s):
        found = f"found tasks that arrive from {work.arrival_s[0]:g} s to {work.arrival_s[-1]:g} s"
        yield Problem(where, found, f"must arrive from {earliest_s:g} s to {end_s:g} s")
    if _description(work) != _description(first):
        found = "found other utility functions, tags or switches than on the first day"
        yield Problem(where, found, "must be described like all others")


def _description(work: Workload) -> tuple[object, ...]:
    tags = {name: tag.names for name, tag in work.tags.items()}
    return work.shapes.names, tags, tuple(work.columns), work.is_prorated


def _appended(before: Workload, kept: Counts, work: Workload) -> Workload:
    """Some tasks of the days before, and those of a new day behind them."""
    columns: dict[str, Any] = {
        name: np.concatenate((column[kept], work.columns[name])) for name, column in before.columns.items()
    }
    tags = {
        name: Tag(tag.names, np.concatenate((tag.codes[kept], work.tags[name].codes)))
        for name, tag in before.tags.items()
    }
    return replace(before, tags=tags, **columns)


def _share_j(engine: Engine, number: int) -> float:
    """The energy budget of a day, which is its share of what is left where there is one for all."""
    limits = engine.world.limits
    if not (limits.has_budget and limits.is_total):
        return limits.budget_j
    used_j = engine.state.ledger.used_j[limits.n_before : limits.n_before + number].sum()
    left_j = limits.budget_j - used_j - number * limits.reserve_w * limits.day_s
    return max(float(left_j) / (limits.n_days - number), np.finfo(float).tiny)


def _last_runs(allocation: Allocation) -> Counts:
    """The last run of each machine."""
    runs = np.flatnonzero((allocation.status == Status.RAN) | (allocation.status == Status.KILLED))
    runs = runs[np.argsort(allocation.end_s[runs], kind="stable")]
    _, place = np.unique(allocation.machine[runs][::-1], return_index=True)
    return np.asarray(runs[::-1][place])


def _drop(engine: Engine, tasks: Counts) -> None:
    """Drop tasks that wait and are not planned."""
    batch, types = engine.state.batch, engine.world.tasks.task_type[tasks]
    engine.state.plan.status[tasks] = DROPPED
    engine.state.clock.counts[UNFIXED] -= tasks.size
    batch.n_unfixed[:] -= np.bincount(types, minlength=batch.n_unfixed.size)


def _hand_over(before: Engine, after: Engine, kept: Counts, from_s: float) -> None:
    """Let an engine go on where another stopped; the tasks `kept` of that one are the first of its own."""
    old, new = before.state, after.state
    row = np.full(old.plan.status.size + 1, NOBODY)  # NOBODY, as an index, is the last one
    row[kept] = np.arange(kept.size)
    for name, column in old.plan._asdict().items():
        getattr(new.plan, name)[: kept.size] = column[kept]
    new = new._replace(clock=old.clock, prices=old.prices, rolling=old.rolling, machines=old.machines)
    after.state, after.world = new, after.world._replace(rules=before.world.rules)
    new.clock.counts[ARRIVED] = np.searchsorted(kept, old.clock.counts[ARRIVED])
    for ends in (new.machines.head, new.machines.tail):
        ends[:] = row[ends]
    new.ledger.used_j[:] = old.ledger.used_j
    after.rng, after.n_opened, after.asking = before.rng, before.n_opened, before.asking
    _hand_over_batch(before, after, kept, row)
    _hand_over_losses(old.losses, new.losses, row, from_s)
    if before.outside is not None and after.outside is not None:
        after.outside.sight.memory[: kept.size] = before.outside.sight.memory[kept]


def _hand_over_batch(before: Engine, after: Engine, kept: Counts, row: Counts) -> None:
    old, new, rows = before.state.batch, after.state.batch, slice(0, kept.size)
    new.choice[rows], new.after[rows] = old.choice[kept], row[old.after[kept]]
    for name in ("n_unfixed", "has_sunk", "charge", "energy_charge"):
        getattr(new, name)[:] = getattr(old, name)
    n = int(old.n_returning[0])
    new.n_returning[0], new.returning[:n], new.returns_s[:n] = n, row[old.returning[:n]], old.returns_s[:n]
    if before.world.rules.by_type:
        waiting = _waiting(after, kept.size)
        fill_queues(new.queues, waiting, after.world.tasks.task_type[waiting])
    elif before.world.rules.rule == SUFFERAGE:
        waiting = _waiting(after, kept.size)
        fill_crowd(new.crowd, waiting, after.world.tasks.task_type[waiting])
    else:
        _hand_over_heap(before, after, kept, row)


def _waiting(engine: Engine, n_kept: int) -> Counts:
    """Which of the first tasks have arrived and wait, on a machine's queue or not, without those that will return."""
    batch, is_waiting = engine.state.batch, engine.state.plan.status[:n_kept] == WAITING
    is_waiting[batch.returning[: batch.n_returning[0]]] = False
    is_waiting[engine.state.clock.counts[ARRIVED] :] = False
    return np.flatnonzero(is_waiting)


def _hand_over_heap(before: Engine, after: Engine, kept: Counts, row: Counts) -> None:
    """Keep those that wait, in an order that is one of a heap."""
    old, new, rows = before.state.batch.waiting, after.state.batch.waiting, slice(0, kept.size)
    has_order = before.world.rules.rule == IN_ORDER
    new.value[rows] = -after.world.place[rows] if has_order else old.value[kept]
    new.completion_s[rows] = old.completion_s[kept]
    items = row[old.items[: old.size[0]]]
    items = items[items != NOBODY]
    new.size[0] = items.size
    new.items[: items.size] = items[in_order(new.value[items], new.completion_s[items], items)]


def _hand_over_losses(old: Broken, new: Broken, row: Counts, from_s: float) -> None:
    """Keep the runs that will be lost after an instant."""
    lost = np.flatnonzero(old.end_s[: old.size[0]] > from_s)
    for name in ("machine", "pstate", "start_s", "end_s"):
        getattr(new, name)[: lost.size] = getattr(old, name)[lost]
    new.task[: lost.size] = row[old.task[lost]]
    new.size[0] = lost.size

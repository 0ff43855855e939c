"""Rules of batch mode on the tasks that did not run: what was dropped had no hope, what waits has a queue."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.tasks.case import ManagedCase
from joulewise.check.tasks.clocks import EveryInterval, Unknown
from joulewise.model import Status
from joulewise.model.arrays import Bools, Floats


def drops_were_hopeless(case: ManagedCase) -> Iterator[str]:
    """A dropped task could not earn the threshold even as the next one on any machine at the last event.

    Machines are free ever later from event to event, as long as they do what is expected, so what was hopeless at
    one is so at the last; and once all runs have ended, the next event leaves no task waiting unless the manager
    may hold tasks back. A task that is judged by idle machines alone, or by a threshold that follows the load, may be
    hopeless at one event and not at the next.
    """
    if case.manager.dropping_by == "idle" or case.manager.follows_load:
        return
    work, end_s = case.world.workload, case.world.workload.end_s
    if not case.is_as_planned or isinstance(case.clock, Unknown) or (case.may_hold_back and math.isinf(end_s)):
        return
    seen_at_s = case.clock.first_from(work.arrival_s)
    dropped = (case.allocation.status == Status.DROPPED) & (case.threshold > 0) & (work.arrival_s <= end_s)
    task = np.flatnonzero(dropped & np.isfinite(seen_at_s))
    threshold, seen_at_s = case.threshold[task], seen_at_s[task]
    free_at_s = np.maximum(_free_at_s(case, _last_event_at_s(case)), seen_at_s[:, None]) + case.boot_s
    exec_s = case.world.system.etc_s.min(axis=2)[work.task_type[task]]
    soonest_s = (free_at_s + exec_s).min(axis=1)
    utility = work.most_from(task, soonest_s + rounding_s(soonest_s))
    wrong = utility >= threshold + RELATIVE_TOLERANCE * np.maximum(threshold, work.scale[task])
    what = "utility that a dropped task could still have earned"
    expected = [f"less than {limit!r} (the dropping threshold)" for limit in threshold[wrong].tolist()]
    yield from findings(what, task[wrong], utility[wrong], expected)


def _last_event_at_s(case: ManagedCase) -> float:
    """The last mapping event that a task may have met which was seen before all runs ended."""
    last_s = case.clock.last_until(case.world.workload.end_s)
    all_ended_s = float(case.clock.first_from(np.asarray(case.runs.end_s.max(initial=0.0))))
    return last_s if case.may_hold_back else min(all_ended_s, last_s)


def _free_at_s(case: ManagedCase, event_at_s: float) -> Floats:
    """When the first machine of each type is done, at the latest, with what was fixed before a mapping event.

    Fixed are at most the run that is executing and the one right after it. Types without machines: inf.
    """
    queue, system = case.runs.by_machine(then=case.runs.start_s), case.world.system
    boot_s = case.boot_s[system.machine_type[queue.machine]]
    started = queue.start_s - boot_s <= event_at_s  # a machine may be waking up for its first task
    pending = queue.right_after_another
    pending[1:] &= started[:-1]
    fixed = started | pending
    done_at_s = np.full(system.n_machines, event_at_s)
    np.maximum.at(done_at_s, queue.machine[fixed], queue.end_s[fixed])
    free_at_s = np.full(system.n_machine_types, math.inf)
    np.minimum.at(free_at_s, system.machine_type, done_at_s)
    return free_at_s


def waiting_needs_a_queue(case: ManagedCase) -> Iterator[str]:
    """A task that waits after a mapping event does so behind a run and the next one, on a machine that can run it.

    An idle machine alone proves nothing: a policy may prefer to wait for a faster one.
    """
    work, end_s, clock = case.world.workload, case.world.workload.end_s, case.clock
    has_queues = case.manager.environment == "queued" and not case.boot_s.any() and not case.world.outages.machine.size
    if not has_queues or case.may_hold_back or not isinstance(clock, EveryInterval):
        return
    task = np.flatnonzero((case.allocation.status == Status.WAITING) & (work.arrival_s <= end_s))
    if math.isinf(end_s) or not task.size:
        return
    last_without = _last_event_without_queue(case, clock, clock.number_until(end_s))[work.task_type[task]]
    wrong = clock.number_from(work.arrival_s[task]) <= last_without
    at_s = last_without[wrong] * clock.interval_s
    what = "mapping event after which it waits though no machine for it has a second task"
    yield from findings(what, task[wrong], at_s, "none")


def _last_event_without_queue(case: ManagedCase, clock: EveryInterval, last_event: float) -> Floats:
    """By task type, the last mapping event that left no machine for it with a run and the next one; -1: none."""
    queue, system = case.runs.by_machine(then=case.runs.start_s), case.world.system
    followed = np.flatnonzero(queue.right_after_another) - 1
    start_s, end_s = queue.start_s[followed], queue.end_s[followed]
    from_event = clock.number_from(start_s - rounding_s(start_s))
    to_event = clock.number_from(end_s) - 1  # at its very end the next one is executing
    latest_first = np.argsort(-to_event)
    machine_type = system.machine_type[queue.machine[followed[latest_first]]]
    ranges = from_event[latest_first], to_event[latest_first]
    kinds, kind_of = np.unique(system.can_run, axis=0, return_inverse=True)
    last = np.array([_last_uncovered(*ranges, fits[machine_type], last_event) for fits in kinds])
    return np.asarray(last[kind_of.ravel()])


def _last_uncovered(from_: Floats, to: Floats, some: Bools, last: float) -> float:
    """The last whole number from 0 to `last` in none of some ranges [from_, to], latest end first; -1: none."""
    covered_from = np.minimum.accumulate(np.append(last + 1, from_[some]))
    is_gap = np.append(to[some], -math.inf) < covered_from - 1
    return float(max(covered_from[np.argmax(is_gap)] - 1, -1.0))

"""Rules that follow from the manager: its mode, mapping events, environment, thresholds, kill limit, the window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.runs import SoundRuns
from joulewise.check.tasks.case import ManagedCase, Rule
from joulewise.check.tasks.limits import days_stay_within_budget, power_stays_below_the_cap
from joulewise.check.tasks.waiting import drops_were_hopeless, waiting_needs_a_queue
from joulewise.model import Status
from joulewise.model.arrays import Bools, Counts, Floats


def _drops_need_a_threshold(case: ManagedCase) -> Iterator[str]:
    wrong = np.flatnonzero((case.allocation.status == Status.DROPPED) & (case.threshold <= 0))
    yield from findings("status", wrong, "DROPPED", "RAN or WAITING, because the dropping threshold is 0")


def _late_arrivals_wait(case: ManagedCase) -> Iterator[str]:
    work = case.world.workload
    wrong = np.flatnonzero((work.arrival_s > work.end_s) & (case.allocation.status != Status.WAITING))
    what = "status of a task that arrives after the window"
    yield from findings(what, wrong, "RAN or DROPPED", "WAITING")


def _goes_to_its_best_types(case: ManagedCase) -> Iterator[str]:
    system, runs, n_types = case.world.system, case.runs, case.manager.n_types
    kind = system.machine_type[runs.machine]
    wrong = ~system.best_types(n_types)[case.world.workload.task_type[runs.task], kind]
    expected = f"one of the {n_types} machine types that run it fastest"
    yield from findings("machine type", runs.task[wrong], kind[wrong], expected)


def _too_long_runs_are_killed(case: ManagedCase) -> Iterator[str]:
    runs, limit, stretch = case.runs, case.manager.kill_factor, case.world.workload.stretch
    factor = np.ones(runs.task.size) if stretch is None else stretch[runs.task]
    for fate, wrong in ((Status.RAN, factor > limit), (Status.KILLED, factor <= limit)):
        has_fate = runs.fate == fate
        what, expected = f"time over ETC of a task with status {fate.name}", f"{limit!r} (the kill limit)"
        order = "at most" if fate is Status.RAN else "more than"
        yield from findings(what, runs.task[has_fate & wrong], factor[has_fate & wrong], f"{order} {expected}")
    killed = (runs.fate == Status.KILLED) & (factor > limit)
    due_s = runs.start_s + runs.exec_s * np.minimum(limit / factor, 1.0)
    wrong = killed & (np.abs(runs.end_s - due_s) > RELATIVE_TOLERANCE * runs.exec_s + rounding_s(due_s))
    yield from findings("end_s", runs.task[wrong], runs.end_s[wrong], due_s[wrong], " (the kill limit)")


def _first_come_first_served(case: ManagedCase) -> Iterator[str]:
    queue = case.runs.by_machine(then=case.runs.task)
    due_s = np.maximum(case.turns[1][queue.task], queue.freed_at_s)
    wrong = np.abs(queue.start_s - due_s) > rounding_s(due_s)
    why = " (immediate mode: first come, first served, no gap)"
    yield from findings("start_s", queue.task[wrong], queue.start_s[wrong], due_s[wrong], why)


def _decided_in_turn(case: ManagedCase) -> Iterator[str]:
    work, turn_s = case.world.workload, case.turns[0]
    is_due = turn_s + np.where(turn_s > work.arrival_s, rounding_s(turn_s), 0.0) <= work.end_s
    wrong = np.flatnonzero(is_due & (case.allocation.status == Status.WAITING))
    yield from findings("status in immediate mode", wrong, "WAITING", "RAN or DROPPED")


def _worth_the_threshold_when_done(case: ManagedCase) -> Iterator[str]:
    yield from _worth_the_threshold(case, case.runs.end_s, case.world.workload.utility, "utility at its end")


def _worth_the_threshold_when_seen(case: ManagedCase) -> Iterator[str]:
    """In batch mode a run may earn less than it promised, but must have promised enough when first seen.

    How much is enough at an event is not known where thresholds follow the load.
    """
    if case.manager.follows_load:
        return
    system, task_type = case.world.system, case.world.workload.task_type[case.runs.task]
    fastest_s = system.etc_s[:, system.counts > 0, :].min(axis=(1, 2))
    soonest_s = case.clock.first_from(case.runs.arrival_s) + fastest_s[task_type]
    most_from = case.world.workload.most_from
    yield from _worth_the_threshold(case, soonest_s, most_from, "utility from its soonest possible end on")


def _worth_the_threshold(
    case: ManagedCase, end_s: Floats, worth: Callable[[Counts, Floats], Floats], what: str
) -> Iterator[str]:
    judged, work = np.isfinite(end_s) & (case.threshold[case.runs.task] > 0), case.world.workload
    task = case.runs.task[judged]
    threshold, utility = case.threshold[task], worth(task, end_s[judged])
    wrong = utility < threshold - RELATIVE_TOLERANCE * np.maximum(threshold, work.scale[task])
    why = " (the dropping threshold) or more"
    yield from findings(what, task[wrong], utility[wrong], threshold[wrong], why)


def _start_after_a_mapping_event(case: ManagedCase) -> Iterator[str]:
    runs, seen_at_s = case.runs, case.clock.first_from(case.runs.arrival_s)
    wrong = runs.start_s < seen_at_s
    why = " (the first mapping event after its arrival) or later"
    yield from findings("start_s", runs.task[wrong], runs.start_s[wrong], seen_at_s[wrong], why)


def _seen_inside_the_window(case: ManagedCase) -> Iterator[str]:
    work, status = case.world.workload, case.allocation.status
    seen_at_s = case.clock.first_from(work.arrival_s)
    fates = ((Status.RAN, "ran"), (Status.KILLED, "was killed"), (Status.DROPPED, "was dropped"))
    for fate, what in fates:
        wrong = np.flatnonzero((seen_at_s > work.end_s) & (status == fate))
        why = " (the window's end) or earlier"
        yield from findings(f"first mapping event of a task that {what}", wrong, seen_at_s[wrong], work.end_s, why)


def _start_has_a_cause(case: ManagedCase) -> Iterator[str]:
    """A batch start is a mapping event that found the machine idle, or woke it up, or the end of the task before.

    In the polled environment only the mapping event counts: no machine has a queue.
    """
    queue = case.runs.by_machine(then=case.runs.start_s)
    boot_s = case.boot_s[case.world.system.machine_type[queue.machine]]
    caused = case.clock.happens_at(queue.start_s) | _happens_just_before(case, queue.start_s, boot_s)
    expected = "a mapping event"
    if case.manager.environment == "queued":
        caused |= queue.right_after_another | _is_repaired(case, queue)
        expected = "a mapping event, or the end of the task before on its machine"
    yield from findings("start_s", queue.task[~caused], queue.start_s[~caused], expected)


def _is_repaired(case: ManagedCase, queue: SoundRuns) -> Bools:
    """Whether the machine is up again at the start of each run, which may have been queued on it before."""
    outages = case.world.outages
    repairs = set(zip(outages.machine.tolist(), outages.end_s.tolist(), strict=True))
    keys = zip(queue.machine.tolist(), queue.start_s.tolist(), strict=True)
    return np.array([key in repairs for key in keys], bool)


def _happens_just_before(case: ManagedCase, start_s: Floats, boot_s: Floats) -> Bools:
    """Whether there is a mapping event a machine's boot time before its start."""
    return np.asarray((boot_s > 0) & case.clock.happens_at(start_s - boot_s))


def _ends_once_risen(case: ManagedCase) -> Iterator[str]:
    """Under a patient policy no task completes before its utility has risen, if it runs where and when planned."""
    if not (case.manager.policy.is_patient and case.is_as_planned and case.manager.permuted == 1):
        return
    runs, peak_at_s = case.runs, case.world.workload.peak_at_s[case.runs.task]
    wrong = runs.end_s < peak_at_s - rounding_s(peak_at_s)
    yield from findings("end_s", runs.task[wrong], runs.end_s[wrong], peak_at_s[wrong], " (its peak) or later")


def _nobody_waits_for_ever(case: ManagedCase) -> Iterator[str]:
    ends = case.may_hold_back or case.world.outages.machine.size or math.isinf(case.manager.mapping_interval_s)
    if math.isinf(case.world.workload.end_s) and not ends:
        wrong = np.flatnonzero(case.allocation.status == Status.WAITING)
        yield from findings("status without an end of the window", wrong, "WAITING", "RAN or DROPPED")


RULES_OF_ANY_MANAGER: tuple[Rule, ...] = (
    _drops_need_a_threshold,
    _late_arrivals_wait,
    _goes_to_its_best_types,
    _too_long_runs_are_killed,
)

RULES_OF_MODE: Mapping[str, tuple[Rule, ...]] = {
    "immediate": (_first_come_first_served, _decided_in_turn, _worth_the_threshold_when_done),
    "batch": (
        _start_after_a_mapping_event,
        _seen_inside_the_window,
        _start_has_a_cause,
        _worth_the_threshold_when_seen,
        _ends_once_risen,
        _nobody_waits_for_ever,
        drops_were_hopeless,
        waiting_needs_a_queue,
        days_stay_within_budget,
        power_stays_below_the_cap,
    ),
}

"""Rules that follow from the manager: its mode, its mapping events, its dropping threshold, the window."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from joulewise.check.case import Case, Rule
from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.waiting import drops_were_hopeless, waiting_needs_a_queue
from joulewise.model import Status
from joulewise.model.arrays import Floats


def _drops_need_a_threshold(case: Case) -> Iterator[str]:
    if case.manager.dropping_threshold <= 0:
        wrong = np.flatnonzero(case.allocation.status == Status.DROPPED)
        yield from findings("status", wrong, "DROPPED", "RAN or WAITING, for the dropping threshold is 0")


def _late_arrivals_wait(case: Case) -> Iterator[str]:
    work = case.world.workload
    wrong = np.flatnonzero((work.arrival_s > work.end_s) & (case.allocation.status != Status.WAITING))
    what = "status of a task that arrives after the window"
    yield from findings(what, wrong, "RAN or DROPPED", "WAITING")


def _first_come_first_served(case: Case) -> Iterator[str]:
    queue = case.runs.by_machine(then=case.runs.task)
    due_s = np.maximum(queue.arrival_s, queue.freed_at_s)
    wrong = np.abs(queue.start_s - due_s) > rounding_s(due_s)
    why = " (immediate mode: first come, first served, no gap)"
    yield from findings("start_s", queue.task[wrong], queue.start_s[wrong], due_s[wrong], why)


def _decided_on_arrival(case: Case) -> Iterator[str]:
    work = case.world.workload
    wrong = np.flatnonzero((work.arrival_s <= work.end_s) & (case.allocation.status == Status.WAITING))
    yield from findings("status in immediate mode", wrong, "WAITING", "RAN or DROPPED")


def _worth_the_threshold_when_done(case: Case) -> Iterator[str]:
    yield from _worth_the_threshold(case, case.runs.end_s, "utility at its end")


def _worth_the_threshold_when_seen(case: Case) -> Iterator[str]:
    """In batch mode a run may earn less than it promised, but must have promised enough when first seen."""
    system, task_type = case.world.system, case.world.workload.task_type[case.runs.task]
    fastest_s = system.etc_s[:, system.counts > 0, :].min(axis=(1, 2))
    soonest_s = case.seen_at_s() + fastest_s[task_type]
    yield from _worth_the_threshold(case, soonest_s, "utility at its soonest possible end")


def _worth_the_threshold(case: Case, end_s: Floats, what: str) -> Iterator[str]:
    threshold, task, work = case.manager.dropping_threshold, case.runs.task, case.world.workload
    if threshold <= 0:
        return
    utility = work.utility(task, end_s)
    wrong = utility < threshold - RELATIVE_TOLERANCE * np.maximum(threshold, work.scale[task])
    why = " (the dropping threshold) or more"
    yield from findings(what, task[wrong], utility[wrong], threshold, why)


def _start_after_a_mapping_event(case: Case) -> Iterator[str]:
    runs, seen_at_s = case.runs, case.seen_at_s()
    wrong = runs.start_s < seen_at_s
    why = " (the first mapping event after its arrival) or later"
    yield from findings("start_s", runs.task[wrong], runs.start_s[wrong], seen_at_s[wrong], why)


def _seen_inside_the_window(case: Case) -> Iterator[str]:
    work, status = case.world.workload, case.allocation.status
    seen_at_s = case.event_from(work.arrival_s) * case.manager.mapping_interval_s
    for fate, what in ((Status.RAN, "ran"), (Status.DROPPED, "was dropped")):
        wrong = np.flatnonzero((seen_at_s > work.end_s) & (status == fate))
        why = " (the window's end) or earlier"
        yield from findings(f"first mapping event of a task that {what}", wrong, seen_at_s[wrong], work.end_s, why)


def _start_has_a_cause(case: Case) -> Iterator[str]:
    """A batch start is a mapping event that found the machine idle, or the end of the task before."""
    queue, interval_s = case.runs.by_machine(then=case.runs.start_s), case.manager.mapping_interval_s
    slack_s = rounding_s(queue.start_s)
    at_an_event = np.abs(queue.start_s - np.rint(queue.start_s / interval_s) * interval_s) <= slack_s
    at_an_end = np.abs(queue.start_s - queue.freed_at_s) <= slack_s
    wrong = ~(at_an_event | at_an_end)
    expected = "a mapping event, or the end of the task before on its machine"
    yield from findings("start_s", queue.task[wrong], queue.start_s[wrong], expected)


def _nobody_waits_for_ever(case: Case) -> Iterator[str]:
    if math.isinf(case.world.workload.end_s):
        wrong = np.flatnonzero(case.allocation.status == Status.WAITING)
        yield from findings("status without an end of the window", wrong, "WAITING", "RAN or DROPPED")


RULES_OF_ANY_MANAGER: tuple[Rule, ...] = (_drops_need_a_threshold, _late_arrivals_wait)

RULES_OF_MODE: Mapping[str, tuple[Rule, ...]] = {
    "immediate": (_first_come_first_served, _decided_on_arrival, _worth_the_threshold_when_done),
    "batch": (
        _start_after_a_mapping_event,
        _seen_inside_the_window,
        _start_has_a_cause,
        _worth_the_threshold_when_seen,
        _nobody_waits_for_ever,
        drops_were_hopeless,
        waiting_needs_a_queue,
    ),
}

"""Rules of managers that suspend tasks: who may, when, for whom, and what saving and restoring cost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.runs import CUT, SoundRuns
from joulewise.check.tasks.case import ManagedCase, Rule
from joulewise.model import Status
from joulewise.model.arrays import Bools


def takes_a_machine(queue: SoundRuns) -> Bools:
    """Whether each run, sorted by machine and start, begins where the run before it on its machine was cut."""
    after_a_cut = np.zeros(queue.task.size, bool)
    after_a_cut[1:] = queue.fate[:-1] == CUT
    return np.asarray(after_a_cut & queue.right_after_another)


def goes_on(queue: SoundRuns) -> Bools:
    """Whether each run, sorted by machine and start, is the rest of a suspended task, right behind another run."""
    was_cut = np.isin(queue.task, queue.task[queue.fate == CUT]) & (queue.fate != CUT)
    return np.asarray(was_cut & queue.right_after_another)


def _only_preemption_cuts(case: ManagedCase) -> Iterator[str]:
    if not case.manager.preempts:
        cut = case.runs.only(case.runs.fate == CUT)
        yield from findings("fate of a piece", cut.task, "suspended", "lost, because nothing preempts")


def _cut_once_and_completed(case: ManagedCase) -> Iterator[str]:
    """A task is suspended once at most, and goes on: it has a machine for the rest at once."""
    task, n_pieces = np.unique(case.runs.task[case.runs.fate == CUT], return_counts=True)
    yield from findings("number of pieces", task[n_pieces > 1], n_pieces[n_pieces > 1], "1 at most")
    wrong = task[case.allocation.status[task] != Status.RAN]
    yield from findings("status of a suspended task", wrong, case.allocation.status[wrong], "RAN")


def _cut_at_an_event(case: ManagedCase) -> Iterator[str]:
    """A piece ends when its checkpoint is written, which begins at a mapping event after its own start."""
    cut = case.runs.only(case.runs.fate == CUT)
    event_s = cut.end_s - case.manager.checkpoint_s
    wrong = ~case.clock.happens_at(event_s) | (cut.start_s > event_s)
    why = f"a mapping event after its start plus {case.manager.checkpoint_s!r} s (the checkpoint)"
    yield from findings("end_s of a piece", cut.task[wrong], cut.end_s[wrong], why)


def _cut_for_a_newcomer(case: ManagedCase) -> Iterator[str]:
    """Whoever takes the machine has come since the mapping event before."""
    queue = case.runs.by_machine(then=case.runs.start_s)
    taken = takes_a_machine(queue)
    left = np.flatnonzero((queue.fate == CUT) & ~np.append(taken[1:], False))
    yield from findings("task right behind a piece", queue.task[left], "none", "the one that took its machine")
    comer = queue.only(taken)
    event_s, seen_s = comer.start_s - case.manager.checkpoint_s, case.clock.first_from(comer.arrival_s)
    wrong = np.isfinite(seen_s) & (seen_s < event_s - rounding_s(event_s))
    why = " (when it suspended another)"
    yield from findings("first mapping event", comer.task[wrong], seen_s[wrong], event_s[wrong], why)


def _rest_takes_what_was_left(case: ManagedCase) -> Iterator[str]:
    """The stretches of a suspended task are its ETC, a checkpoint and a restart together."""
    runs, manager = case.runs, case.manager
    cut = runs.only(runs.fate == CUT)
    last = case.allocation
    ran_s = cut.end_s - cut.start_s + last.end_s[cut.task] - last.start_s[cut.task]
    due_s = cut.exec_s + manager.checkpoint_s + manager.restart_s
    slack_s = RELATIVE_TOLERANCE * due_s + rounding_s(last.end_s[cut.task])
    wrong = np.abs(ran_s - due_s) > slack_s
    what, why = "time of all stretches of a suspended task", " (ETC, checkpoint and restart)"
    yield from findings(what, cut.task[wrong], ran_s[wrong], due_s[wrong], why)


RULES_OF_PIECES: tuple[Rule, ...] = (
    _only_preemption_cuts,
    _cut_once_and_completed,
    _cut_at_an_event,
    _cut_for_a_newcomer,
    _rest_takes_what_was_left,
)

"""Rules on runs, whatever decided: times follow from choices, a machine that is up runs one task at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.rows import etc_of_choice_s, placed_rows
from joulewise.model import Allocation, Status, World
from joulewise.model.arrays import Bools, Counts, Floats, Ints

LOST, CUT = -1, -2
"""The fates of runs that an outage ended or that were suspended; others have the status of their task."""


@dataclass(frozen=True, eq=False)
class SoundRuns:
    """The runs by a possible choice, as columns; `exec_s` is the time that the task would have taken."""

    task: Counts
    machine: Ints
    pstate: Ints
    arrival_s: Floats
    exec_s: Floats
    start_s: Floats
    end_s: Floats
    fate: Ints

    def by_machine(self, then: Floats | Counts) -> SoundRuns:
        """The same rows sorted by machine, and on each machine by this column."""
        return self.only(np.lexsort((then, self.machine)))

    def only(self, rows: Counts | Bools) -> SoundRuns:
        """These rows, in this order."""
        return SoundRuns(*(column[rows] for column in vars(self).values()))

    @property
    def freed_at_s(self) -> Floats:
        """When the machine was done with the row before; -inf in the first row of each machine."""
        freed = np.full(self.task.size, -np.inf)
        follows = np.flatnonzero(self.machine[1:] == self.machine[:-1]) + 1
        freed[follows] = self.end_s[follows - 1]
        return freed

    @property
    def right_after_another(self) -> Bools:
        """Whether each row starts when its machine is done with the row before."""
        return np.asarray(np.abs(self.start_s - self.freed_at_s) <= rounding_s(self.start_s))


def sound_runs(world: World, allocation: Allocation) -> SoundRuns:
    """The runs that the row rules leave nothing to say about: of tasks in their order, then lost ones, then pieces."""
    parts = placed_rows(world, allocation)
    names = ("task", "machine", "pstate", "start_s", "end_s")
    task, machine, pstate, start_s, end_s = (
        np.concatenate([getattr(rows, name) for rows in parts]) for name in names
    )  # fmt: skip
    exec_s = np.concatenate([etc_of_choice_s(world, rows) for rows in parts])
    broken = np.repeat([LOST, CUT], [parts[1].task.size, parts[2].task.size])
    fate = np.concatenate([allocation.status[parts[0].task], broken])
    work = world.workload
    if work.stretch is not None:
        exec_s = exec_s * work.stretch[task]
    runs = SoundRuns(task, machine, pstate, work.arrival_s[task], exec_s, start_s, end_s, fate)
    return runs.only(np.isfinite(exec_s) & np.isfinite(start_s) & np.isfinite(end_s))


def _start_after_arrival(_world: World, runs: SoundRuns) -> Iterator[str]:
    wrong = runs.start_s < runs.arrival_s
    why = " (its arrival) or later"
    yield from findings("start_s", runs.task[wrong], runs.start_s[wrong], runs.arrival_s[wrong], why)


def _end_after_the_etc(_world: World, runs: SoundRuns) -> Iterator[str]:
    done = runs.only((runs.fate == Status.RAN) & ~_is_in_pieces(runs))
    due_s = done.start_s + done.exec_s
    wrong = np.abs(done.end_s - due_s) > _slack_s(done)
    yield from findings("end_s", done.task[wrong], done.end_s[wrong], due_s[wrong], " (start plus ETC)")


def _others_end_before(_world: World, runs: SoundRuns) -> Iterator[str]:
    cut = runs.only(runs.fate != Status.RAN)
    due_s = cut.start_s + cut.exec_s
    too_long, backwards = cut.end_s > due_s + _slack_s(cut), cut.end_s <= cut.start_s
    what, why = "end_s of a run that was killed, lost or suspended", " (start plus ETC) or earlier"
    yield from findings(what, cut.task[too_long], cut.end_s[too_long], due_s[too_long], why)
    yield from findings(what, cut.task[backwards], cut.end_s[backwards], "an instant after its start")


def _is_in_pieces(runs: SoundRuns) -> Bools:
    """Whether the task of each run was suspended."""
    return np.isin(runs.task, runs.task[runs.fate == CUT])


def _pieces_do_all_the_work(_world: World, runs: SoundRuns) -> Iterator[str]:
    """Saving and restoring may have taken more time, but what was suspended cannot have taken less than the ETC."""
    some = runs.only(_is_in_pieces(runs) & (runs.fate != LOST))
    task, row, place = np.unique(some.task, return_index=True, return_inverse=True)
    ran_s, exec_s = np.bincount(place, some.end_s - some.start_s, task.size), some.exec_s[row]
    wrong = (some.fate[row] == Status.RAN) & (ran_s < exec_s - _slack_s(some)[row])
    what, why = "time of all stretches of a suspended task", " (its ETC) or more"
    yield from findings(what, task[wrong], ran_s[wrong], exec_s[wrong], why)


def _pieces_are_of_one_choice(world: World, runs: SoundRuns) -> Iterator[str]:
    some = runs.only(_is_in_pieces(runs) & (runs.fate != LOST))
    _, row, place = np.unique(some.task, return_index=True, return_inverse=True)
    for what, column in (("machine type", world.system.machine_type[some.machine]), ("P-state", some.pstate)):
        first = column[row][place]
        wrong = column != first
        yield from findings(f"{what} of a stretch", some.task[wrong], column[wrong], first[wrong], " (that of others)")


def _slack_s(runs: SoundRuns) -> Floats:
    return RELATIVE_TOLERANCE * runs.exec_s + rounding_s(runs.start_s + runs.exec_s)


def _one_at_a_time(_world: World, runs: SoundRuns) -> Iterator[str]:
    queue = runs.by_machine(then=runs.start_s)
    freed_at_s = queue.freed_at_s
    wrong = queue.start_s < freed_at_s - rounding_s(queue.start_s)
    why = " or later, when its machine is done with the task before"
    yield from findings("start_s", queue.task[wrong], queue.start_s[wrong], freed_at_s[wrong], why)


def _one_run_of_a_task_at_a_time(_world: World, runs: SoundRuns) -> Iterator[str]:
    """A task runs again only after its run was lost or suspended, and not once it has ended."""
    turn = runs.only(np.lexsort((runs.start_s, runs.task)))
    again = np.flatnonzero(turn.task[1:] == turn.task[:-1]) + 1
    wrong = again[(turn.fate[again - 1] >= 0) | (turn.start_s[again] < turn.end_s[again - 1])]
    expected = "an instant after its lost runs and pieces"
    yield from findings("start_s", turn.task[wrong], turn.start_s[wrong], expected)


def _nothing_runs_while_down(world: World, runs: SoundRuns) -> Iterator[str]:
    outages = world.outages
    if not outages.machine.size:
        return
    down, is_outage = _outage_before(world, runs.machine, runs.end_s)
    wrong = is_outage & (outages.end_s[down] > runs.start_s)
    why = " or later, when its machine is up again"
    yield from findings("start_s", runs.task[wrong], runs.start_s[wrong], outages.end_s[down[wrong]], why)


def _losses_need_an_outage(world: World, runs: SoundRuns) -> Iterator[str]:
    lost = runs.only(runs.fate == LOST)
    outages = set(zip(world.outages.machine.tolist(), world.outages.start_s.tolist(), strict=True))
    keys = zip(lost.machine.tolist(), lost.end_s.tolist(), strict=True)
    wrong = np.array([key not in outages for key in keys], bool)
    expected = "the start of an outage of its machine"
    yield from findings("end_s of a lost run", lost.task[wrong], lost.end_s[wrong], expected)


def _outage_before(world: World, machine: Ints, at_s: Floats) -> tuple[Counts, Bools]:
    """The last outage of each machine that starts before an instant, and whether there is one."""
    outages = world.outages
    start_s, of_machine = np.concatenate((outages.start_s, at_s)), np.concatenate((outages.machine, machine))
    is_asked = np.arange(start_s.size) >= outages.machine.size
    order = np.lexsort((~is_asked, start_s, of_machine))  # who asks at an outage's start comes before it
    place = np.empty(start_s.size, np.int64)
    place[order] = np.cumsum(~is_asked[order]) - 1
    row = place[is_asked]
    return row, np.asarray((row >= 0) & (outages.machine[row] == machine))


RUN_RULES = (
    _start_after_arrival,
    _end_after_the_etc,
    _others_end_before,
    _pieces_do_all_the_work,
    _pieces_are_of_one_choice,
    _one_at_a_time,
    _one_run_of_a_task_at_a_time,
    _nothing_runs_while_down,
    _losses_need_an_outage,
)

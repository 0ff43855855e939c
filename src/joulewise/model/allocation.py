"""What was decided: which task ran where, when and in which P-state, and which did not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Bools, Codes, Floats, Ints, freeze_fields
from joulewise.visible import Visible


class Status(IntEnum):
    """The fate of a task when the simulation ended."""

    WAITING = 0
    RAN = 1
    DROPPED = 2
    KILLED = 3


@dataclass(frozen=True, eq=False)
class BrokenRuns:
    """Runs that did not complete their task, one row each; it may run again later."""

    task: Ints
    machine: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats

    def __post_init__(self) -> None:
        ints = dict.fromkeys(("task", "machine"), np.int32)
        freeze_fields(self, {**ints, "pstate": np.int8, "start_s": np.float64, "end_s": np.float64})


_NO_NUMBERS = np.empty(0, np.int32)
NO_BROKEN_RUNS = BrokenRuns(_NO_NUMBERS, _NO_NUMBERS, np.empty(0, np.int8), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class Allocation(Visible, looks="tasks"):
    """One row per task; machine and P-state are -1 and the instants NaN unless the status is RAN or KILLED.

    A task with status RAN was given a machine and an interval; the interval may end after the window. One that
    was KILLED used its interval and earns nothing. `lost` are the runs that failing machines cut short, and `pieces`
    those that ended because another task took the machine: the interval of such a task is that of its last stretch.
    """

    machine: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats
    status: Codes
    lost: BrokenRuns = NO_BROKEN_RUNS
    pieces: BrokenRuns = NO_BROKEN_RUNS

    def __post_init__(self) -> None:
        dtypes = {
            "machine": np.int32,
            "pstate": np.int8,
            "start_s": np.float64,
            "end_s": np.float64,
            "status": np.int8,
        }
        freeze_fields(self, dtypes)
        sizes = {getattr(self, name).size for name in dtypes}
        if len(sizes) != 1:
            found = f"found columns of {sorted(sizes)} rows"
            raise InputError(Problem("allocation", found, "all must have one row per task"))

    @property
    def n_tasks(self) -> int:
        return self.machine.size

    @property
    def broken(self) -> BrokenRuns:
        """All runs that did not complete their task, the lost ones first."""
        if not self.pieces.task.size:
            return self.lost
        names = BrokenRuns.__dataclass_fields__
        rows = (np.concatenate((getattr(self.lost, name), getattr(self.pieces, name))) for name in names)
        return BrokenRuns(*rows)

    @property
    def ran(self) -> Bools:
        """Which tasks ran to their end."""
        return np.asarray(self.status == Status.RAN)

    @property
    def used(self) -> Bools:
        """Which tasks had a machine for an interval, whether they ran to their end or were killed."""
        return np.asarray((self.status == Status.RAN) | (self.status == Status.KILLED))

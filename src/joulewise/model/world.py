"""A world: a system and the work that comes to it, checked to fit together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Floats, Ints, freeze_fields
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.model.system import System
from joulewise.model.workload import Workload
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class Outages:
    """When machines are down: intervals [start_s, end_s), those of one machine apart and in order of time."""

    machine: Ints
    start_s: Floats
    end_s: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, {"machine": np.int32, "start_s": np.float64, "end_s": np.float64})
        raise_if_any(_outage_problems(self))


def _outage_problems(outages: Outages) -> Iterator[Problem]:
    if not outages.machine.shape == outages.start_s.shape == outages.end_s.shape:
        yield Problem("outages", "found columns of different lengths", "must be one row per outage")
        return
    same = np.diff(outages.machine) == 0
    apart = outages.start_s[1:] >= outages.end_s[:-1]
    if (np.diff(outages.machine) < 0).any() or not (apart | ~same).all() or (outages.end_s <= outages.start_s).any():
        yield Problem("outages", "found outages out of order", "must be by machine, then by time, and never overlap")


NO_OUTAGES = Outages(np.empty(0, np.int32), np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class World(Visible, looks="tasks"):
    """Everything a policy is judged on: machines, tasks, what energy there is, and when machines are down.

    Raises InputError when these do not fit together.
    """

    system: System
    workload: Workload
    supply: Supply = NO_LIMITS
    outages: Outages = NO_OUTAGES

    def __post_init__(self) -> None:
        highest = int(self.workload.task_type.max())
        if highest >= self.system.n_task_types:
            found = f"found task type number {highest}"
            allowed = f"the system has the task types 0 to {self.system.n_task_types - 1}"
            raise InputError(Problem("workload.task_type", found, allowed))
        if self.outages.machine.size and int(self.outages.machine.max()) >= self.system.n_machines:
            found = f"found machine number {int(self.outages.machine.max())}"
            raise InputError(Problem("outages.machine", found, f"the system has {self.system.n_machines} machines"))
        if self.supply.is_limited and self.system.power_w is None:
            advice = "give the system's powers (power_w)"
            raise InputError(Problem("supply", "limits energy, but the system has no power figures", advice=advice))

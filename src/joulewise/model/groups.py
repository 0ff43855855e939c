"""Machines in groups, each a world of its own with the tasks that are dealt to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from joulewise.model.allocation import Allocation, LostRuns
from joulewise.model.arrays import Counts, Ints
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.world import Outages, World

Dealing: TypeAlias = Literal["in-turn", "least-load"]

_COLUMNS = ("machine", "pstate", "start_s", "end_s", "status")
_LOST_COLUMNS = ("pstate", "start_s", "end_s")


@dataclass(frozen=True, eq=False)
class MachineGroup:
    """Some machines of a world and the tasks that were dealt to them, as a world of its own.

    `task` and `machine` are their numbers in the whole world.
    """

    world: World
    task: Counts
    machine: Counts

    def part_of(self, allocation: Allocation) -> Allocation:
        """What an allocation of the whole world says of this group."""
        columns = {name: getattr(allocation, name)[self.task] for name in _COLUMNS}
        columns["machine"] = np.where(columns["machine"] < 0, -1, np.searchsorted(self.machine, columns["machine"]))
        lost = allocation.lost
        mine = np.isin(lost.task, self.task)
        rows = [getattr(lost, name)[mine] for name in _LOST_COLUMNS]
        task, machine = _places(self.task, lost.task[mine]), _places(self.machine, lost.machine[mine])
        return Allocation(**columns, lost=LostRuns(task, machine, *rows))


def _places(numbers: Counts, some: Ints) -> Ints:
    """Where some numbers are in a sorted list of them."""
    return np.searchsorted(numbers, some).astype(np.int32)


def machine_groups(system: System, n_groups: int) -> Counts:
    """The group of each machine: they are dealt in turn in the order of their types, so that groups are alike."""
    return np.arange(system.n_machines) % n_groups


def counts_of_groups(system: System, n_groups: int) -> Counts:
    """How many machines there are, as [group, machine type]."""
    counts = np.zeros((n_groups, system.n_machine_types), np.int64)
    np.add.at(counts, (machine_groups(system, n_groups), system.machine_type), 1)
    return counts


def can_be_divided(system: System, n_groups: int) -> bool:
    """Whether every group has a machine for every task type."""
    counts = counts_of_groups(system, n_groups)
    return bool(((counts > 0).astype(np.int64) @ system.can_run.T.astype(np.int64) > 0).all())


def divided(world: World, n_groups: int, dealing: Dealing) -> list[MachineGroup]:
    """The groups that get any task, with their machines, tasks and share of energy and power."""
    counts, member = counts_of_groups(world.system, n_groups), machine_groups(world.system, n_groups)
    dealt = _DEALINGS[dealing](world, n_groups)
    return [_group(world, counts[g], np.flatnonzero(dealt == g), np.flatnonzero(member == g)) for g in np.unique(dealt)]


def together(n_tasks: int, groups: Sequence[MachineGroup], parts: Sequence[Allocation]) -> Allocation:
    """The allocations of groups as one of the whole world."""
    columns = {name: np.empty(n_tasks, getattr(parts[0], name).dtype) for name in _COLUMNS}
    for group, part in zip(groups, parts, strict=True):
        for name, column in columns.items():
            column[group.task] = getattr(part, name)
        columns["machine"][group.task[part.used]] = group.machine[part.machine[part.used]]
    return Allocation(**columns, lost=_lost_together(groups, parts))


def _lost_together(groups: Sequence[MachineGroup], parts: Sequence[Allocation]) -> LostRuns:
    pairs = list(zip(groups, parts, strict=True))
    task = np.concatenate([group.task[part.lost.task] for group, part in pairs])
    machine = np.concatenate([group.machine[part.lost.machine] for group, part in pairs])
    rows = [np.concatenate([getattr(part.lost, name) for part in parts]) for name in _LOST_COLUMNS]
    return LostRuns(task, machine, *rows)


def _in_turn(world: World, n_groups: int) -> Counts:
    return np.arange(world.workload.n_tasks) % n_groups


def _least_load(world: World, n_groups: int) -> Counts:
    """The group that has least to do for each of its machines, of equals the first.

    What was dealt counts by mean execution times, and each machine works off a second of it in every second.
    """
    work, n_machines = world.workload, counts_of_groups(world.system, n_groups).sum(axis=1)
    exec_s = world.system.mean_etc_s[work.task_type]
    free_s, groups = np.zeros(n_groups), np.empty(work.n_tasks, np.int64)
    for i, arrival_s in enumerate(work.arrival_s.tolist()):
        np.maximum(free_s, arrival_s, out=free_s)
        groups[i] = g = int(free_s.argmin())
        free_s[g] += exec_s[i] / n_machines[g]
    return groups


_DEALINGS: dict[Dealing, Callable[[World, int], Counts]] = {"in-turn": _in_turn, "least-load": _least_load}


def _group(world: World, counts: Counts, task: Counts, machine: Counts) -> MachineGroup:
    supply = _share(world.supply, machine.size / world.system.n_machines)
    system, outages = replace(world.system, counts=counts), _outages_of(world.outages, machine)
    return MachineGroup(World(system, world.workload.some(task), supply, outages), task, machine)


def _share(supply: Supply, part: float) -> Supply:
    cap_w = None if supply.cap_w is None else part * supply.cap_w
    return replace(supply, budget_j=part * supply.budget_j, cap_w=cap_w)


def _outages_of(outages: Outages, machine: Counts) -> Outages:
    mine = np.isin(outages.machine, machine)
    return Outages(_places(machine, outages.machine[mine]), outages.start_s[mine], outages.end_s[mine])

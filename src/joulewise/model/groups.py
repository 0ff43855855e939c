"""Machines in groups, each a world of its own with the tasks that are dealt to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from joulewise.model.allocation import Allocation, BrokenRuns
from joulewise.model.arrays import Bools, Counts, Ints
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.world import Outages, World

Dealing: TypeAlias = Literal["in-turn", "least-load", "suited"]

_COLUMNS = ("machine", "pstate", "start_s", "end_s", "status")
_BROKEN_COLUMNS = ("pstate", "start_s", "end_s")
_BROKEN = ("lost", "pieces")


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
        lost, pieces = (self._rows_of(getattr(allocation, name)) for name in _BROKEN)
        return Allocation(**columns, lost=lost, pieces=pieces)

    def _rows_of(self, broken: BrokenRuns) -> BrokenRuns:
        mine = np.isin(broken.task, self.task)
        rows = [getattr(broken, name)[mine] for name in _BROKEN_COLUMNS]
        task, machine = _places(self.task, broken.task[mine]), _places(self.machine, broken.machine[mine])
        return BrokenRuns(task, machine, *rows)


def _places(numbers: Counts, some: Ints) -> Ints:
    """Where some numbers are in a sorted list of them."""
    return np.searchsorted(numbers, some).astype(np.int32)


def machine_groups(system: System, n_groups: int) -> Counts:
    """The group of each machine: they are dealt in turn in the order of their types.

    Groups are alike but for types with fewer machines than there are groups, which some lack.
    """
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
    lost, pieces = (_broken_together(groups, [getattr(part, name) for part in parts]) for name in _BROKEN)
    return Allocation(**columns, lost=lost, pieces=pieces)


def _broken_together(groups: Sequence[MachineGroup], parts: Sequence[BrokenRuns]) -> BrokenRuns:
    pairs = list(zip(groups, parts, strict=True))
    task = np.concatenate([group.task[part.task] for group, part in pairs])
    machine = np.concatenate([group.machine[part.machine] for group, part in pairs])
    rows = [np.concatenate([getattr(part, name) for part in parts]) for name in _BROKEN_COLUMNS]
    return BrokenRuns(task, machine, *rows)


def _in_turn(world: World, n_groups: int) -> Counts:
    return np.arange(world.workload.n_tasks) % n_groups


def _least_load(world: World, n_groups: int) -> Counts:
    return _by_load(world, np.ones((world.system.n_task_types, n_groups), np.bool_))


def _suited(world: World, n_groups: int) -> Counts:
    """By load, among the groups that have a machine of the type that runs the task fastest."""
    return _by_load(world, world.system.best_types(1) @ (counts_of_groups(world.system, n_groups).T > 0))


def _by_load(world: World, is_open: Bools) -> Counts:
    """Of the groups that are open to its type, as [task type, group], the one with least to do for each machine.

    Of equals it is the first. What was dealt counts by mean execution times, and each machine works off a second of it
    in every second.
    """
    work, n_groups = world.workload, is_open.shape[1]
    n_machines, exec_s = counts_of_groups(world.system, n_groups).sum(axis=1), world.system.mean_etc_s[work.task_type]
    closed_s = np.where(is_open, 0.0, np.inf)
    free_s, groups = np.zeros(n_groups), np.empty(work.n_tasks, np.int64)
    for i, (arrival_s, task_type) in enumerate(zip(work.arrival_s.tolist(), work.task_type.tolist(), strict=True)):
        np.maximum(free_s, arrival_s, out=free_s)
        groups[i] = g = int((free_s + closed_s[task_type]).argmin())
        free_s[g] += exec_s[i] / n_machines[g]
    return groups


_DEALINGS: dict[Dealing, Callable[[World, int], Counts]] = {
    "in-turn": _in_turn,
    "least-load": _least_load,
    "suited": _suited,
}


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

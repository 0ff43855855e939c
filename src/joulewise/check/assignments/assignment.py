"""Assignments a second time: what they earn and use, and what prices prove of all of them; numpy alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.check.findings import RELATIVE_TOLERANCE, findings, rounding_s
from joulewise.check.physics import check_physics
from joulewise.errors import InputError, Problem
from joulewise.model import Allocation, World
from joulewise.model.arrays import Counts, Floats
from joulewise.model.assignment import Assignment, begin_s, from_begin
from joulewise.model.utility import UtilityShapes
from joulewise.model.workload import Workload

_SMALL = 1e-12
_NEARLY = 1 - 1e-9
_TASKS_AT_ONCE = 1000
_HALVINGS = 200
_FOREVER_S = 1e15


class RecomputedAssignment(NamedTuple):
    """What an assignment comes to; start and end are NaN for tasks that do not run."""

    energy_j: float
    utility: float
    start_s: Floats
    end_s: Floats


def recompute_assignment(world: World, assignment: Assignment, drop_below: float = 0.0) -> RecomputedAssignment:
    """Run every machine's tasks one after the other, by order and then by arrival; all machines side by side."""
    work, system = from_begin(world).workload, world.system
    choice = (work.task_type, system.machine_type[assignment.machine], assignment.pstate)
    etc_s, start_s, end_s = system.etc_s[choice], *np.full((2, work.n_tasks), np.nan)
    free_s = np.zeros(system.n_machines)
    for tasks in _turns(assignment):
        machine = assignment.machine[tasks]
        begins_s = np.maximum(free_s[machine], work.arrival_s[tasks])
        ends_s = begins_s + etc_s[tasks]
        if drop_below > 0:
            ends_s = np.where(work.utility(tasks, ends_s) >= drop_below, ends_s, np.nan)
        start_s[tasks], end_s[tasks], free_s[machine] = begins_s, ends_s, np.fmax(free_s[machine], ends_s)
    start_s[np.isnan(end_s)] = np.nan
    ran = np.flatnonzero(np.isfinite(end_s))
    energy_j = world.supply.pue * float(system.eec_j[choice][ran].sum())
    since_s = begin_s(world.workload)
    return RecomputedAssignment(
        energy_j, float(work.utility(ran, end_s[ran]).sum()), since_s + start_s, since_s + end_s
    )


def _turns(assignment: Assignment) -> Iterator[Counts]:
    """The first tasks of all machines, then the second ones, and so on."""
    task = np.flatnonzero(assignment.runs)
    task = task[np.lexsort((task, assignment.order[task], assignment.machine[task]))]
    machine = assignment.machine[task]
    turn = np.arange(task.size) - np.searchsorted(machine, machine)
    yield from np.split(task[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn))[:-1])


def check_assignment(
    world: World,
    assignment: Assignment,
    drop_below: float = 0.0,
    *,
    energy_j: float | None = None,
    utility: float | None = None,
    allocation: Allocation | None = None,
) -> list[str]:
    """Everything that is wrong with an assignment and what is said of it, one line each; empty when it is right.

    Energy and utility, if given, are held equal to those computed here up to 1e-9 of themselves, and so are the times
    of an allocation, which must also keep to physics: one task at a time on a machine, none before it arrives.
    """
    if assignment.n_tasks != world.workload.n_tasks:
        return [f"assignment: found {assignment.n_tasks} tasks; expected the {world.workload.n_tasks} of the workload"]
    lines = list(_place_findings(world, assignment, drop_below))
    if lines:
        return lines
    outcome = recompute_assignment(world, assignment, drop_below)
    for name, found in (("energy_j", energy_j), ("utility", utility)):
        expected = getattr(outcome, name)
        if found is not None and not abs(found - expected) <= RELATIVE_TOLERANCE * abs(expected):
            lines.append(f"{name}: found {float(found)!r}; expected {float(expected)!r}")
    if allocation is not None:
        lines += [*check_physics(world, allocation), *_time_findings(allocation, outcome)]
    return lines


def _place_findings(world: World, assignment: Assignment, drop_below: float) -> Iterator[str]:
    system, runs = world.system, assignment.runs
    if drop_below == 0:
        left_out = np.flatnonzero(~runs)
        yield from findings("machine", left_out, assignment.machine[left_out], "a machine: every task must run")
    exists = runs & (assignment.machine < system.n_machines) & (assignment.pstate < system.n_pstates)
    wrong = np.flatnonzero(runs & ~exists)
    yield from findings("machine", wrong, assignment.machine[wrong], "a machine and a P-state that exist")
    task = np.flatnonzero(exists)
    kinds = system.machine_type[assignment.machine[task]]
    etc_s = system.etc_s[world.workload.task_type[task], kinds, assignment.pstate[task]]
    cannot = ~np.isfinite(etc_s)
    yield from findings("ETC", task[cannot], etc_s[cannot], "a choice that can run its task type")


def _time_findings(allocation: Allocation, outcome: RecomputedAssignment) -> Iterator[str]:
    for name in ("start_s", "end_s"):
        found, expected = getattr(allocation, name), getattr(outcome, name)
        near = np.abs(found - expected) <= rounding_s(expected)
        wrong = np.flatnonzero(~(near | (np.isnan(found) & np.isnan(expected))))
        yield from findings(name, wrong, found[wrong], expected[wrong])


def certified_utility_front(
    world: World, per_j: ArrayLike, per_s: ArrayLike, slot_s: float, drop_below: float = 0.0
) -> Floats:
    """What prices prove, not rounded up: for each price of energy, how much utility less energy at it there can be.

    `per_s` are prices of a machine-second by [price of energy, machine type, slot]; slots of `slot_s` seconds begin
    with the first arrival, and time after the last is free of charge. The value is what all machine time costs, plus
    the most that each task gains by a run, or by none if it may be left out. Raises InputError for prices that do not
    fit.
    """
    joule, second = np.atleast_1d(np.asarray(per_j, np.float64)), np.asarray(per_s, np.float64)
    if second.ndim != 3 or second.shape[:2] != (joule.size, world.system.n_machine_types) or not slot_s > 0:
        allowed = f"must be [{joule.size} prices of energy, {world.system.n_machine_types} machine types, slots]"
        raise InputError(Problem("prices", f"found the shape {second.shape}", allowed))
    if not ((joule >= 0).all() and (second >= 0).all()):
        raise InputError(Problem("prices", "found one below 0", "must be 0 or more"))
    income = slot_s * second.sum(axis=2) @ world.system.counts
    return np.asarray(income + _gains(world, joule, second, slot_s, drop_below))


def _gains(world: World, per_j: Floats, per_s: Floats, slot_s: float, drop_below: float) -> Floats:
    """The most that tasks gain, summed, for each price of energy."""
    work, total = from_begin(world).workload, np.zeros(per_j.size)
    latest_s = _latest_s(work, drop_below)
    for kind in np.unique(work.task_type):
        tasks = np.flatnonzero(work.task_type == kind)
        for first in range(0, tasks.size, _TASKS_AT_ONCE):
            some = tasks[first : first + _TASKS_AT_ONCE]
            best = np.full((per_j.size, some.size), 0.0 if drop_below > 0 else -np.inf)
            for run in _runs(world, int(kind), per_j, per_s, slot_s):
                run.raise_gains(best, work, some, latest_s[some])
            total += best.sum(axis=1)
    return total


class _PricedRun(NamedTuple):
    """A choice: its time, the cost of its energy by price, and what has been paid for time by the edges of slots."""

    exec_s: float
    energy: Floats
    edges_s: Floats
    paid: Floats

    def raise_gains(self, best: Floats, work: Workload, tasks: Counts, latest_s: Floats) -> None:
        """Raise the best gains by the runs that may be best: gain is convex in between.

        They begin on arrival or with a slot, or complete with a slot, with a segment of the utility or at the latest.
        """
        soonest_s, latest_s = work.arrival_s[tasks][:, None] + self.exec_s, latest_s[:, None]
        jumps_s = (work.arrival_s + work.hold_s)[tasks][:, None] + _by_segment(work, tasks, work.shapes.start_s)
        ends = work.scale[tasks][:, None] * _by_segment(work, tasks, _values_before(work.shapes))
        self._try(best, soonest_s, latest_s, jumps_s, ends)
        own_s = np.hstack((soonest_s, np.where(latest_s < np.inf, latest_s, soonest_s)))
        for end_s in (own_s, np.concatenate((self.edges_s, self.edges_s + self.exec_s))[None, :]):
            self._try(best, soonest_s, latest_s, end_s, work.utility(tasks[:, None], end_s))

    def _try(self, best: Floats, soonest_s: Floats, latest_s: Floats, end_s: Floats, utility: Floats) -> None:
        """Raise the best gains by runs that end then and earn that, if they are neither too soon nor too late."""
        near_s = _SMALL * np.maximum(end_s, 1.0)
        allowed = (end_s >= soonest_s - near_s) & (end_s <= latest_s + near_s)
        earned = np.where(allowed, utility, -np.inf)
        for price, paid in enumerate(self.paid):
            pays = np.interp(end_s, self.edges_s, paid) - np.interp(end_s - self.exec_s, self.edges_s, paid)
            np.maximum(best[price], (earned - pays).max(axis=1) - self.energy[price], out=best[price])


def _runs(world: World, kind: int, per_j: Floats, per_s: Floats, slot_s: float) -> Iterator[_PricedRun]:
    """The choices that a task type has."""
    system, edges_s = world.system, slot_s * np.arange(per_s.shape[2] + 1)
    for k, pstate in np.argwhere(np.isfinite(system.etc_s[kind]) & (system.counts > 0)[:, None]):
        paid = np.pad(np.cumsum(per_s[:, k] * slot_s, axis=1), ((0, 0), (1, 0)))
        energy = per_j * world.supply.pue * system.eec_j[kind, k, pstate]
        yield _PricedRun(float(system.etc_s[kind, k, pstate]), energy, edges_s, paid)


def _by_segment(work: Workload, tasks: Counts, values: Floats) -> Floats:
    """Values of the segments of each task's utility, in a row; that of the last one fills it up."""
    shapes, shape = work.shapes, work.shape[tasks]
    place = shapes.first[shape][:, None] + np.arange(int(np.diff(shapes.first).max()))
    return np.asarray(values[np.minimum(place, shapes.first[shape + 1][:, None] - 1)])


def _values_before(shapes: UtilityShapes) -> Floats:
    """With what the segment before each one ends, or with what it begins where there is none before."""
    length_s = np.diff(shapes.start_s)
    decayed = shapes.span[:-1] * np.exp(-shapes.rate_per_s[:-1] * np.maximum(length_s, 0.0))
    ends = np.maximum(shapes.level[:-1] + decayed + shapes.slope_per_s[:-1] * length_s, shapes.floor[:-1])
    is_first = np.isin(np.arange(shapes.level.size), shapes.first[:-1])
    return np.where(is_first, shapes.level + shapes.span, np.append(0.0, ends))


def _latest_s(work: Workload, drop_below: float) -> Floats:
    """When each task's utility falls below what is not dropped, by halving; infinite if never."""
    tasks, (low_s, high_s) = np.arange(work.n_tasks), (work.arrival_s.copy(), np.full(work.n_tasks, _FOREVER_S))
    is_forever = work.utility(tasks, high_s) >= drop_below * _NEARLY
    for _ in range(_HALVINGS if drop_below > 0 else 0):
        middle_s = low_s + (high_s - low_s) / 2
        is_good = work.utility(tasks, middle_s) >= drop_below * _NEARLY
        low_s[is_good], high_s[~is_good] = middle_s[is_good], middle_s[~is_good]
    return np.where(is_forever, np.inf, high_s)

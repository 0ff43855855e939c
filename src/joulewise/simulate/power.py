"""Power over the counted window, as the facility's meter sees it: what runs and what machines draw between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joulewise.model.allocation import Allocation
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints
from joulewise.model.supply import HOUR_S, Supply, summed_until
from joulewise.model.world import World

J_PER_KWH = 3.6e6


@dataclass(frozen=True, eq=False)
class Draws:
    """Intervals of constant power that add up, each with its power at the meter."""

    start_s: Floats
    end_s: Floats
    power_w: Floats

    def within(self, from_s: float, to_s: float) -> Draws:
        """What of them lies in a window."""
        start_s, end_s = np.maximum(self.start_s, from_s), np.minimum(self.end_s, to_s)
        some = end_s > start_s
        return Draws(start_s[some], end_s[some], self.power_w[some])

    @property
    def energy_j(self) -> Floats:
        """The energy of each."""
        return self.power_w * (self.end_s - self.start_s)

    @property
    def peak_w(self) -> float:
        """The highest power at any instant."""
        return float(self._changes[1].max(initial=0.0))

    def energy_until_j(self, at_s: Floats) -> Floats:
        """The energy of all of them up to these instants."""
        edge_s, _, energy_j = self._changes
        return np.interp(at_s, edge_s, energy_j) if edge_s.size else np.zeros(np.shape(at_s))

    def reached_at_s(self, energy_j: float) -> float:
        """When all of them had used this much energy above 0; NaN if never."""
        edge_s, power_w, used_j = self._changes
        after = int(np.searchsorted(used_j, energy_j))
        if after == used_j.size:
            return np.nan
        return float(edge_s[after] - (used_j[after] - energy_j) / power_w[after - 1])

    def cost(self, supply: Supply) -> float:
        """What the energy costs by the hour's tariff; NaN without one."""
        if supply.tariff is None:
            return np.nan
        cost_per_kw = summed_until(supply.tariff, self.end_s) - summed_until(supply.tariff, self.start_s)
        return float((self.power_w * cost_per_kw).sum() * HOUR_S / J_PER_KWH)

    @cached_property
    def _changes(self) -> tuple[Floats, Floats, Floats]:
        """The instants at which power changes, the power from each to the next, the energy used up to each."""
        edges_s = np.concatenate((self.start_s, self.end_s))
        order = np.argsort(edges_s, kind="stable")
        edge_s, first = np.unique(edges_s[order], return_index=True)
        change_w = np.concatenate((self.power_w, -self.power_w))[order]
        power_w = np.cumsum(np.add.reduceat(change_w, first)) if first.size else np.empty(0)
        used_j = np.concatenate(([0.0], np.cumsum(power_w[:-1] * np.diff(edge_s)))) if first.size else np.empty(0)
        return edge_s, power_w, used_j


def run_draws(world: World, allocation: Allocation) -> Draws:
    """One for each task: what its run drew; 0 W from 0 s to 0 s for a task that did not run."""
    used = allocation.used
    power_w = np.zeros(allocation.n_tasks)
    task = np.flatnonzero(used)
    power_w[task] = _power_w(world, task, allocation.machine[task], allocation.pstate[task])
    start_s, end_s = (np.where(used, at_s, 0.0) for at_s in (allocation.start_s, allocation.end_s))
    return Draws(start_s, end_s, power_w)


def lost_draws(world: World, allocation: Allocation) -> Draws:
    """One for each lost run."""
    lost = allocation.lost
    return Draws(lost.start_s, lost.end_s, _power_w(world, lost.task, lost.machine, lost.pstate))


def standby_draws(world: World, allocation: Allocation) -> Draws:
    """What machines draw while they run nothing and are not down; all are idle at 0 s, and after a repair."""
    if world.system.standby is None:
        return Draws(np.empty(0), np.empty(0), np.empty(0))
    machines, used, lost, outages = np.arange(world.system.n_machines), allocation.used, allocation.lost, world.outages
    never_s, at_0_s, ever_s = (np.full(machines.size, at_s) for at_s in (-np.inf, 0.0, np.inf))
    rows = (
        (machines, never_s, at_0_s),
        (outages.machine, outages.start_s, outages.end_s),
        (machines, ever_s, ever_s),
        (allocation.machine[used], allocation.start_s[used], allocation.end_s[used]),
        (lost.machine, lost.start_s, lost.end_s),
    )
    machine: Ints = np.concatenate([row[0] for row in rows])
    start_s, end_s = (np.concatenate([row[i] for row in rows]) for i in (1, 2))
    is_run = np.arange(machine.size) >= machine.size - int(used.sum()) - lost.task.size
    order = np.lexsort((start_s, machine))
    gap = np.flatnonzero(np.diff(machine[order]) == 0)
    before, after = order[gap], order[gap + 1]
    return _gap_draws(world, machine[before], end_s[before], start_s[after], is_run[after])


def _gap_draws(world: World, machine: Ints, from_s: Floats, to_s: Floats, before_run: Bools) -> Draws:
    """What machines draw in gaps: idle, then asleep, and they boot before a run."""
    assert world.system.standby is not None
    kind, standby = world.system.machine_type[machine], world.system.standby
    sleeps_s = from_s + standby.sleep_after_s[kind]
    boots_s = to_s - np.where(before_run, standby.boot_s[kind], 0.0)
    sleeps = sleeps_s < boots_s
    sleeps_s, boots_s = np.where(sleeps, sleeps_s, to_s), np.where(sleeps, boots_s, to_s)
    power_w = np.concatenate([watts[kind] for watts in (standby.idle_w, standby.sleep_w, standby.boot_w)])
    start_s, end_s = np.concatenate((from_s, sleeps_s, boots_s)), np.concatenate((sleeps_s, boots_s, to_s))
    return Draws(start_s, end_s, world.supply.pue * power_w)


def _power_w(world: World, task: Ints | Counts, machine: Ints, pstate: Codes) -> Floats:
    """The power at the meter of tasks on machines; NaN without power figures."""
    if world.system.power_w is None:
        return np.full(task.size, np.nan)
    choice = (world.workload.task_type[task], world.system.machine_type[machine], pstate)
    return np.asarray(world.supply.pue * world.system.power_w[choice])

"""The price bound a second time: what given prices prove, straight from the definition, in numpy alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from joulewise.check.gains import gains_of
from joulewise.check.pieces import gains_in_pieces
from joulewise.check.priced import PricedChoices, PricedMarket, energy_income, period_edges_s, priced
from joulewise.model import World
from joulewise.model.arrays import Floats


def dual_value(world: World, per_s: Floats, per_j: ArrayLike = 0.0, *, preempts: bool = False) -> float:
    """The bound on utility that prices prove, not rounded up: the owner's income plus every task's best gain.

    `per_s` is a price per machine-second by [machine type, slot], the slots of equal length from 0 to the end of
    the counted window, or of that closed for prices; `per_j` one per joule spent in each counted day of a daily
    budget, or else in the window. A completion at a jump of the utility counts as one just before it. With `preempts`
    a task may run in pieces, all of one option. Raises InputError for prices that do not fit.
    """
    market, gains = _market(world, per_s, per_j), best_gains(world, per_s, per_j, preempts=preempts)
    machine_time = world.system.counts @ market.paid[:, -1]
    return float(machine_time + _energy_income(world, market) + gains.sum())


def best_gains(world: World, per_s: Floats, per_j: ArrayLike, *, preempts: bool = False) -> Floats:
    """The most that each task gains at these prices over all its runs, and 0 if none gains it anything."""
    market = _market(world, per_s, per_j)
    return gains_in_pieces(market, per_s) if preempts else gains_of(market)


def _market(world: World, per_s: Floats, per_j: ArrayLike) -> PricedMarket:
    """The prices and the choices of a world; InputError when they do not fit."""
    system = world.system
    possible = np.isfinite(system.etc_s) & (system.counts > 0)[None, :, None]
    task_type, machine_type, _ = np.nonzero(possible)
    watts = np.zeros(task_type.size) if system.power_w is None else system.power_w[possible]
    cost_w = world.supply.pue * (watts - _standby_w(world)[machine_type]) if system.power_w is not None else watts
    first = np.searchsorted(task_type, np.arange(system.n_task_types + 1))
    choices = PricedChoices(first, machine_type, np.ones(task_type.size), system.etc_s[possible], cost_w)
    return priced(world.workload, world.supply, system.counts, choices, (per_s, per_j))


def _standby_w(world: World) -> Floats:
    """The least that a machine of each type draws whatever it does: asleep, waking up, or idle if it is always on."""
    standby = world.system.standby
    if standby is None:
        return np.zeros(world.system.n_machine_types)
    waking_w = np.where(standby.boot_s > 0, standby.boot_w, math.inf)
    return np.where(standby.sleep_after_s < math.inf, np.minimum(standby.sleep_w, waking_w), standby.idle_w)


def _energy_income(world: World, market: PricedMarket) -> float:
    """What the owner gets for the joules of each period that the standby of machines which are not down leaves."""
    edges_s, standby_w = period_edges_s(market.work, world.supply), world.supply.pue * _standby_w(world)
    spent_j = np.diff(edges_s) * (world.system.counts * standby_w).sum()
    for machine, start_s, end_s in zip(*vars(world.outages).values(), strict=True):
        down_s = np.diff(np.clip(edges_s, start_s, end_s))
        spent_j -= down_s * standby_w[world.system.machine_type[machine]]
    return energy_income(market, np.maximum(world.supply.budget_j - spent_j, 0.0))

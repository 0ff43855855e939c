"""A proven bound on what any policy, even one that knows the future, can earn in the counted window.

It is found by prices of machine time and energy (`optimise.price_market`): no schedule earns more than what tasks
gain at these prices plus what all machine time and energy would cost.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from joulewise.kernels.prices import CountedWindow, RunCosts, TaskMarket
from joulewise.model.arrays import Floats
from joulewise.model.horizon import closed, earned_later, idle_from_s
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.optimise.bounds import maximum_utility
from joulewise.optimise.pieces import MarketInPieces, bound_in_pieces
from joulewise.optimise.price_market import (
    MOST_CHEAPEST,
    STAGES,
    Certificate,
    PriceBound,
    PriceMarket,
    energy_periods,
    least_standby_w,
    slots_of,
)
from joulewise.policies.layout import layout_of

_MOST_LEVELS = 8


def price_bound(world: World, *, preempts: bool = False) -> PriceBound:
    """Search prices for a tight bound on the utility of the counted window, within the energy budget.

    With `preempts` tasks may run in pieces, all of one option. Takes a few seconds for a day of 50,000 tasks.
    """
    if preempts:
        return bound_in_pieces(market_of(world))
    market = market_of(world)
    best = market.search(STAGES)
    if best.value <= maximum_utility(world):  # what free machines would let tasks earn, at least
        return best
    return min(best, market.for_nothing(), key=lambda bound: bound.value)


def certified_bound(world: World, certificate: Certificate, *, preempts: bool = False) -> float:
    """The bound that prices prove, in one pass; it is valid for any prices. Raises InputError on a misfit."""
    return market_of(world, preempts=preempts).certified(certificate)


def market_of(world: World, *, preempts: bool = False) -> PriceMarket:
    """The tasks of a world and what there is for them, in its window or in one closed for prices."""
    options = layout_of(world).options
    share_s = options.exec_s / world.system.counts[options.machine_type]
    idle_s = idle_from_s(world.workload, options.first, options.machine_type, share_s, options.exec_s)
    work = closed(world.workload, idle_s)
    period_s, edges_s = energy_periods(work, world.supply)
    window = CountedWindow(work.start_s, work.end_s, period_s, work.is_prorated)
    later = earned_later(world.workload, work.end_s, options.first)
    facts = TaskMarket(*layout_of(world), _runs(world, work, idle_s), window, later)
    kind = MarketInPieces if preempts else PriceMarket
    return kind(facts, world.system.counts, _budgets_j(world, edges_s), idle_s)


def _budgets_j(world: World, edges_s: Floats) -> Floats:
    """What runs may add to the least standby energy in each period."""
    supply, system = world.supply, world.system
    up_s = system.counts * np.diff(edges_s)[:, None] - _down_s(world, edges_s)
    standby_w = least_standby_w(system.standby, system.n_machine_types)
    return np.asarray(np.maximum(supply.budget_j - supply.pue * up_s @ standby_w, 0.0))


def _down_s(world: World, edges_s: Floats) -> Floats:
    """The seconds for which machines are down, and so draw nothing, by [period, machine type]."""
    outages, system = world.outages, world.system
    kind = system.machine_type[outages.machine]
    inside_s = (
        np.maximum(np.minimum(outages.end_s, until_s) - np.maximum(outages.start_s, from_s), 0.0)
        for from_s, until_s in pairwise(edges_s)
    )
    return np.array([np.bincount(kind, seconds, system.n_machine_types) for seconds in inside_s])


def _runs(world: World, work: Workload, idle_s: float) -> RunCosts:
    """What runs add to standby power, and how tasks stretch, in a few levels."""
    system, options = world.system, layout_of(world).options
    least_w = least_standby_w(system.standby, system.n_machine_types)[options.machine_type]
    has_power = system.power_w is not None
    cost_w = world.supply.pue * (options.energy_j / options.exec_s - least_w) if has_power else 0 * options.exec_s
    return RunCosts(
        np.ones(cost_w.size),
        cost_w,
        *_stretches(work, slots_of(work.end_s, idle_s, options.exec_s.size, STAGES[-1]) * options.exec_s.size),
    )


def _stretches(work: Workload, n_cells: int) -> tuple[Floats, Any, Floats]:
    """The stretch of each task, its level, and the least stretch of each level: as many as memory is spent on.

    `n_cells` numbers are kept for each level.
    """
    if work.stretch is None:
        return np.ones(work.n_tasks), np.zeros(work.n_tasks, np.int64), np.ones(1)
    n_levels = min(max(MOST_CHEAPEST // n_cells, 1), _MOST_LEVELS)
    least = np.unique(np.quantile(work.stretch, np.arange(n_levels) / n_levels, method="lower"))
    return work.stretch.copy(), np.searchsorted(least, work.stretch, side="right") - 1, least

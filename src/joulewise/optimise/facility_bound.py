"""An upper bound on what any plan of a facility can earn, in closed form for any prices."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility
from joulewise.model.air import Air
from joulewise.optimise.configurations import ProcessorMenu


def bound_per_s(
    facility: Facility, air: Air, menus: list[ProcessorMenu], task_price: Floats, cap_price: float, redline_price: Floats
) -> float:
    """What no plan can earn more than, at prices of tasks done, watts of the cap, and degrees at redlines."""
    flows, room = facility.tasks, facility.room
    curves = [menu.curve(task_price) for menu in menus]
    rise_price = air.rise_prices(redline_price)
    supply_price = air.supply_share.T @ redline_price
    kinds = [np.flatnonzero(facility.node_type == k) for k in range(len(menus))]
    processors = facility.node_types.processors

    def at_supplies(grid_c: Floats, curve_at) -> Floats:
        """[CRAC, grid]: the share of each unit in what nodes earn above the price of their power."""
        out = np.empty((facility.n_nodes, grid_c.size))
        for k, nodes in enumerate(kinds):
            price = cap_price * (1.0 + 1.0 / curve_at(grid_c))[None, :] + rise_price[nodes][:, None]
            out[nodes] = processors[k] * curves[k].net(price) - price * facility.node_types.overhead_w[k]
        return air.heat_share @ out

    total = float(np.maximum(flows.reward - task_price, 0.0) @ flows.rate_per_s)
    total += cap_price * facility.cap_w + float(redline_price @ room.redline_c)
    curve_at = room.cop[0]
    low, high = room.coldest_c.min(), room.hottest_c.max()
    grid = np.linspace(low, high, 61)
    values = at_supplies(grid, curve_at)
    upper = values[:, 1:] - supply_price[:, None] * grid[None, :-1]
    reached = (values - supply_price[:, None] * grid[None, :]).max(axis=1)
    live = (upper > reached[:, None]).any(axis=0)
    first, last = np.flatnonzero(live)[[0, -1]]
    fine = np.linspace(grid[first], grid[last + 1], 801)
    best_upper, best_reached = np.full(room.n_cracs, -np.inf), np.full(room.n_cracs, -np.inf)
    for at in range(0, 800, 40):
        part = fine[at : at + 41]
        v = at_supplies(part, curve_at)
        best_upper = np.maximum(best_upper, (v[:, 1:] - supply_price[:, None] * part[None, :-1]).max(axis=1))
        best_reached = np.maximum(best_reached, (v - supply_price[:, None] * part[None, :]).max(axis=1))
    bound_per_s.slack = float((best_upper - best_reached).sum())
    return total + float(best_upper.sum())

"""Prices of a facility: programs with ever more configurations and redlines, until neither adds much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.optimise.facility.configurations import ProcessorMenu
from joulewise.optimise.facility.cooling import RoomCooling
from joulewise.optimise.facility.pool import Allowed, ConfigurationPool
from joulewise.optimise.facility.program import (
    Background,
    Groups,
    LinearisedProgram,
    NoSolutionError,
    Solution,
    groups_of_nodes,
)

_ROUNDS, _FIRST_ROUNDS = 30, 10
_HOTTEST = 3
_MORE = 2
_AROUND = 0.02
_CHEAP, _USED = 1e-12, 1e-9
_FURTHER = 6.0


@dataclass(frozen=True)
class Effort:
    """How a program is settled: how far supplies may move, how far task prices, and when it is good enough.

    `reaches_k` are tried one after the other. `width` is a share of task prices, `n_best` how many configurations each
    group starts with, `enough` the share of all reward that more could add, `over_k` how hot is too hot,
    `primal` whether the simplex method keeps plans possible as it goes, which is faster for many groups.
    """

    reaches_k: tuple[float, ...]
    width: float
    n_best: int
    enough: float
    over_k: float
    primal: bool = False


class FacilityMarket:
    """What all programs of one facility share: configurations worth a look, and redlines worth keeping."""

    def __init__(self, facility: Facility, air: Air, is_late: Callable[[], bool]) -> None:
        self.facility, self.air, self.is_late = facility, air, is_late
        self.cooling = RoomCooling(facility, air)
        menus = [ProcessorMenu(facility, kind) for kind in range(facility.node_types.n_types)]
        self.pool = ConfigurationPool(menus, [menu.curve(facility.tasks.reward).configurations for menu in menus])
        self.zone = air.heat_share.argmax(axis=0)
        self.watched = np.empty(0, np.int64)

    @property
    def at_rest(self) -> Background:
        """All cores at rest."""
        return Background(self.facility.overhead_w, np.zeros(self.facility.tasks.n_types))

    def watt_price(self, prices: FacilityPrices, supply_c: Floats) -> Floats:
        """What a watt costs at each node: its share of the cap with its cooling, and what it heats."""
        cost = 1.0 / self.facility.room.cop_at(supply_c)
        return np.asarray(prices.cap * (1.0 + cost @ self.air.heat_share) + self.air.rise_prices(prices.redline))

    def common_supply_c(self, node_w: Floats) -> Floats:
        """The cheapest supply, the same for all units as far as they can, at which no node is too hot."""
        return self.cooling.cool(node_w).supply_c

    def first_look(self) -> Solution:
        """All nodes of a type alike, and one supply: prices to start with."""
        facility, pool = self.facility, self.pool
        groups = groups_of_nodes(facility, np.unique(facility.node_type, return_inverse=True)[1])
        program = LinearisedProgram(facility, self.air, groups, self.at_rest, 0.0)
        program.offer(_all_pairs(groups, pool), pool)
        program.centre(self.common_supply_c(facility.overhead_w), facility.overhead_w, 0.0)
        solution = program.solve()
        for _ in range(_FIRST_ROUNDS):
            curves = pool.curves(solution.prices.task)
            pool.add([curve.configurations for curve in curves])
            program.offer(_all_pairs(groups, pool), pool)
            program.centre(self.common_supply_c(solution.node_w), solution.node_w, 0.0)
            try:
                solution = program.solve()
            except NoSolutionError:  # with supplies as cold as this load needs, the cap is too low even at rest
                break
        group, row = program.pairs[:, : solution.x.size][:, solution.x > _USED]
        used = [np.unique(np.append(row[groups.kind[group] == k], 0)) for k in range(len(curves))]
        self.pool = ConfigurationPool(pool.menus, [table.taken(rows) for table, rows in zip(pool.tables, used)])
        self.pool.add_near(curves, facility.node_type, self.watt_price(solution.prices, solution.supply_c), 0.5, 2)
        return solution

    def grouped(self, solution: Solution, by: float) -> Groups:
        """Nodes of one type and zone whose watts cost the same, within a share; all of them where that is infinite."""
        key = self.facility.node_type.astype(np.int64) * self.facility.room.n_cracs + self.zone
        if math.isfinite(by):
            price = self.watt_price(solution.prices, solution.supply_c)
            price = np.maximum(price, _CHEAP * price.max() + _CHEAP)
            lowest = np.full(int(key.max()) + 1, np.inf)
            np.minimum.at(lowest, key, price)
            step = np.floor(np.log(price / lowest[key]) / math.log1p(by)).astype(np.int64)
            key = key * (step.max() + 1) + step
        return groups_of_nodes(self.facility, np.unique(key, return_inverse=True)[1])

    def settle(
        self, program: LinearisedProgram, start: Solution, effort: Effort, allowed: Allowed | None = None
    ) -> Solution:
        """Solve until no configuration and no redline is missing that matters much, or it is late."""
        program.go_primal(effort.primal)
        program.watch(self.watched)
        solution, priced_at_c = start, start.supply_c
        for reach_k in effort.reaches_k:
            supply_c = solution.supply_c
            program.centre(supply_c, solution.node_w, reach_k)
            for turn in range(_ROUNDS):
                self._offer(program, solution, priced_at_c, effort.n_best if turn == 0 else _MORE, allowed)
                program.stay(solution.prices.task, effort.width)
                solution, priced_at_c = _solved(program, supply_c, solution.node_w, reach_k), supply_c
                hot = self._hottest(program, solution, effort.over_k)
                program.watch(hot)
                heaters = program.keep_cool(self.air.heat_w(solution.node_w, solution.supply_c))
                missing = abs(solution.traded) + (0.0 if allowed else self._missing(program, solution, supply_c))
                if (missing <= effort.enough and hot.size == 0 and heaters == 0) or self.is_late():
                    break
            if self.is_late():
                break
        self.watched = program.watched
        return solution

    def _offer(
        self, program: LinearisedProgram, solution: Solution, supply_c: Floats, n: int, allowed: Allowed | None
    ) -> None:
        """Offer every group what is best for it at the prices."""
        kind, prices = program.groups.kind, solution.prices
        price = program.groups.weight.T @ self.watt_price(prices, supply_c)
        if allowed is None:
            self.pool.add_near(self.pool.curves(prices.task), kind, price, _AROUND, 1)
        program.offer(self.pool.best(kind, price, prices.task, n, allowed), self.pool)

    def _hottest(self, program: LinearisedProgram, solution: Solution, over_k: float) -> Counts:
        """Of the nodes that are too hot and not watched yet, the hottest few of each zone."""
        inlet_c, _ = self.air.inlets_c(solution.node_w, solution.supply_c)
        excess_k = inlet_c - self.facility.room.redline_c
        excess_k[program.watched] = -np.inf
        hot = np.flatnonzero(excess_k > over_k)
        order = hot[np.lexsort((-excess_k[hot], self.zone[hot]))]
        place = np.arange(order.size) - np.searchsorted(self.zone[order], self.zone[order])
        return np.asarray(order[place < _HOTTEST])

    def _missing(self, program: LinearisedProgram, solution: Solution, supply_c: Floats) -> float:
        """The share of all reward that configurations could add at most which the program does not have."""
        groups = program.groups
        price = groups.weight.T @ self.watt_price(solution.prices, supply_c)
        gain = np.zeros(groups.n_groups)
        for k, curve in enumerate(self.pool.curves(solution.prices.task)):
            gain[groups.kind == k] = curve.net(price[groups.kind == k])
        gain = np.maximum(gain - solution.group_price, 0.0)
        return float(gain @ groups.n_processors) / self.facility.tasks.most_reward_per_s


def _solved(program: LinearisedProgram, supply_c: Floats, node_w: Floats, reach_k: float) -> Solution:
    """The best within reach of supplies; further off where none of these keeps the redlines watched by now."""
    try:
        return program.solve()
    except NoSolutionError:
        program.centre(supply_c, node_w, _FURTHER * reach_k)
        return program.solve()


def _all_pairs(groups: Groups, pool: ConfigurationPool) -> Counts:
    """Every group with every configuration of its node type."""
    sizes = np.array([len(table) for table in pool.tables])[groups.kind]
    group = np.repeat(np.arange(groups.n_groups), sizes)
    return np.stack((group, np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)))

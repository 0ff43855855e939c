"""Our plan of a facility: configurations of processors by linear programs, rounded to cores, with a proven bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.model.air import Air
from joulewise.optimise.configurations import Configurations, Curve, ProcessorMenu, joined
from joulewise.optimise.facility_bound import bound_per_s
from joulewise.optimise.facility_program import Background, Groups, Prices, Program, Solution, groups_of_nodes
from joulewise.optimise.facility_rounding import PlanMaker, processors_of

LOG: Callable[[str], None] = lambda _: None
_PER_GROUP = 8
_FREE = 900


class Columns(NamedTuple):
    group: Counts
    row: Counts


@dataclass(eq=False)
class Mixture:
    """What processors run: entries of (processor, row of its type's pool, share of time)."""

    processor: Counts
    row: Counts
    amount: Floats


class Planner:
    def __init__(self, facility: Facility, air: Air) -> None:
        self.facility, self.air = facility, air
        self.menus = [ProcessorMenu(facility, kind) for kind in range(facility.node_types.n_types)]
        self.zone = air.heat_share.argmax(axis=0)
        self.processors = processors_of(facility)
        self.pool: list[Configurations] = []
        self.nothing = Background(facility.overhead_w, np.zeros(facility.tasks.n_types))
        self.best_bound = math.inf
        self.best_prices: Prices | None = None

    # ---- prices
    def curves(self, task_price: Floats) -> list[Curve]:
        return [menu.curve(task_price) for menu in self.menus]

    def power_price(self, prices: Prices, supply_c: Floats) -> Floats:
        """What a watt costs at each node."""
        cost = 1.0 / self.facility.room.cop_at(supply_c)
        return prices.cap * (1.0 + cost @ self.air.heat_share) + self.air.rise_prices(prices.redline)

    def prove(self, prices: Prices) -> None:
        bound = bound_per_s(self.facility, self.air, self.menus, prices.task, prices.cap, prices.redline)
        if bound < self.best_bound:
            self.best_bound, self.best_prices = bound, prices

    # ---- pools
    def add(self, tables: list[Configurations]) -> None:
        """Add configurations to the pool; rows stay where they are."""
        self.pool = [joined([t, n]) for t, n in zip(self.pool, tables)] if self.pool else tables

    def near(self, curves: list[Curve], price: Floats, kind_of: Counts, slack: float, more: int) -> list[Configurations]:
        """The configurations of each curve that are best at prices from the least to the most, and some around."""
        tables = []
        for kind, curve in enumerate(curves):
            mine = price[kind_of == kind]
            if mine.size == 0:
                tables.append(curve.configurations.taken(np.arange(1)))
                continue
            ends = np.array([mine.max() * (1 + slack), mine.min() * (1 - slack)])
            low, high = curve.vertex(ends).tolist()
            rows = np.arange(max(low - more, 0), min(high + more + 1, len(curve.configurations)))
            tables.append(curve.configurations.taken(rows))
        return tables

    def best_rows(self, kind_of: Counts, price: Floats, prices: Prices, n: int, allowed=None) -> Counts:
        """[n, 2]: for each processor or group the n rows of its pool that earn most above the price of power."""
        pairs = []
        for kind, table in enumerate(self.pool):
            mine = np.flatnonzero(kind_of == kind)
            net = (table.rate_per_s @ prices.task)[None, :] - price[mine][:, None] * table.power_w[None, :]
            if allowed is not None:
                net = np.where(allowed(kind, mine), net, -np.inf)
            k = min(n, len(table))
            best = np.argpartition(-net, k - 1, axis=1)[:, :k]
            is_real = np.isfinite(np.take_along_axis(net, best, axis=1))
            pairs.append(np.stack((np.repeat(mine, k)[is_real.ravel()], best.ravel()[is_real.ravel()])))
        return np.concatenate(pairs, axis=1)

    # ---- first: all nodes of a type alike
    def common_supply(self, node_w: Floats) -> Floats:
        """The hottest supply, the same for all units, at which no node is too hot."""
        room = self.facility.room
        inlet_c, _ = self.air.inlets_c(node_w, np.zeros(room.n_cracs))
        return np.clip(np.full(room.n_cracs, (room.redline_c - inlet_c).min()), room.coldest_c, room.hottest_c)

    def by_type(self) -> tuple[Solution, Floats]:
        facility = self.facility
        groups = groups_of_nodes(facility, np.unique(facility.node_type, return_inverse=True)[1])
        curves = self.curves(facility.tasks.reward)
        self.pool = [curve.configurations for curve in curves]
        half_w = np.array([curve.power_w[-1] / 2 for curve in curves]) * facility.node_types.processors
        node_w = facility.overhead_w + half_w[facility.node_type]
        supply_c = self.common_supply(node_w)
        program = Program(facility, self.air, groups, self.nothing)
        for _ in range(10):
            pairs = [
                np.stack((np.repeat(mine, len(t)), np.tile(np.arange(len(t)), mine.size)))
                for t, mine in ((t, np.flatnonzero(groups.kind == kind)) for kind, t in enumerate(self.pool))
            ]
            program.offer(np.concatenate(pairs, axis=1), self.pool)
            program.centre(supply_c, node_w, 0.0)
            solution = program.solve()
            node_w = solution.node_w
            supply_c = self.common_supply(node_w)
            self.add([curve.configurations for curve in self.curves(solution.prices.task)])
        LOG(f"type {solution.share:.6f} supply {supply_c[0]:.3f} pool {[len(t) for t in self.pool]}")
        price = self.power_price(solution.prices, supply_c)
        self.pool = self.near(self.curves(solution.prices.task), price, facility.node_type, 0.5, 2)
        return solution, supply_c

    # ---- second: groups
    def split(self, key: Counts, price: Floats, by: float) -> Groups:
        """Nodes of one key whose power costs the same, within a share."""
        low = np.full(int(key.max()) + 1, np.inf)
        np.minimum.at(low, key, price)
        step = np.floor(np.log(price / low[key]) / math.log1p(by)).astype(np.int64)
        return groups_of_nodes(self.facility, np.unique(key * (step.max() + 1) + step, return_inverse=True)[1])

    def settle(
        self, program: Program, prices: Prices, supply_c: Floats, node_w: Floats, reaches_k, width: float,
        n_best: int, enough: float, patterns=None, by_k: float = 1e-2,
    ) -> Solution:  # fmt: skip
        """Solve with ever more configurations and redlines until neither adds much."""
        groups, priced_at = program.groups, supply_c
        for reach_k in reaches_k:
            program.centre(supply_c, node_w, reach_k)
            for it in range(30):
                t0 = time.perf_counter()
                price = groups.weight.T @ self.power_price(prices, priced_at)
                if patterns is None:
                    self.add(self.near(self.curves(prices.task), price, groups.kind, 0.02, 1))
                program.offer(self.best_rows(groups.kind, price, prices, n_best if it == 0 else 2, patterns), self.pool)
                program.stay(prices.task, width)
                t1 = time.perf_counter()
                solution, priced_at = program.solve(), supply_c
                t2 = time.perf_counter()
                prices = solution.prices
                hot = self.hottest(program, solution, by_k)
                better = self.better(groups, solution, supply_c) if patterns is None else 0.0
                LOG(
                    f"{groups.n_groups} groups reach {reach_k} {it} share {solution.share:.6f} traded {solution.traded:.1e} hot {hot.size}/{program.watched.size} "
                    f"cols {program.pairs.shape[1]} better {better:.1e} lp {t2 - t1:.3f} rest {time.perf_counter() - t2 + t1 - t0:.3f} "
                    f"supply {solution.supply_c.min():.2f}-{solution.supply_c.max():.2f}"
                )
                program.watch(hot)
                if better + abs(solution.traded) <= enough and not hot.size:
                    break
            supply_c, node_w = solution.supply_c, solution.node_w
        self.watched = program.watched
        return solution

    def hottest(self, program: Program, solution: Solution, by_k: float) -> Counts:
        """Of the nodes above their redlines that are not watched yet the hottest few in each zone."""
        inlet_c, _ = self.air.inlets_c(solution.node_w, solution.supply_c)
        over_k = inlet_c - self.facility.room.redline_c
        over_k[program.watched] = -np.inf
        hot = np.flatnonzero(over_k > by_k)
        order = hot[np.lexsort((-over_k[hot], self.zone[hot]))]
        zone = self.zone[order]
        place = np.arange(order.size) - np.searchsorted(zone, zone)
        return order[place < 3]

    def better(self, groups: Groups, solution: Solution, supply_c: Floats) -> float:
        """How much more all groups would earn with configurations that the program does not have."""
        price = groups.weight.T @ self.power_price(solution.prices, supply_c)
        net = np.empty(groups.n_groups)
        for kind, curve in enumerate(self.curves(solution.prices.task)):
            mine = groups.kind == kind
            net[mine] = curve.net(price[mine])
        gain = (np.maximum(net - solution.group_price, 0.0) * groups.n_processors).sum()
        return float(gain) / self.facility.tasks.most_reward_per_s

    # ---- third: processors
    def handed_out(self, solution: Solution, program: Program) -> Mixture:
        """The shares of each group on its processors: those of most power where power costs least."""
        groups, columns = program.groups, Columns(*program.pairs)
        price = self.power_price(solution.prices, solution.supply_c)
        entries = groups.weight.tocoo()
        of_node = np.empty(self.facility.n_nodes, np.int64)
        of_node[entries.row] = entries.col
        of_processor = of_node[self.processors.node]
        order = np.lexsort((price[self.processors.node], of_processor))
        begins = np.searchsorted(of_processor[order], np.arange(groups.n_groups + 1))
        power_w = self.power_of(groups.kind[columns.group], columns.row)
        in_order = np.lexsort((-power_w, columns.group))
        in_order = in_order[solution.x[in_order] > 1e-9]
        group, amount = columns.group[in_order], solution.x[in_order]
        ends = np.cumsum(amount)
        first = np.searchsorted(group, np.arange(groups.n_groups))
        before = np.concatenate(([0.0], ends))[first]
        end, start = ends - before[group], ends - before[group] - amount
        processor, row, share = [], [], []
        for e in range(group.size):
            low, high = int(start[e] + 1e-9), min(int(math.ceil(end[e] - 1e-9)), begins[group[e] + 1] - begins[group[e]])
            q = np.arange(low, high)
            covers = np.minimum(end[e], q + 1.0) - np.maximum(start[e], q)
            processor.append(order[begins[group[e]] + q])
            row.append(np.full(q.size, columns.row[in_order[e]]))
            share.append(covers)
        return Mixture(np.concatenate(processor), np.concatenate(row), np.concatenate(share))

    def power_of(self, kind: Counts, row: Counts) -> Floats:
        power_w = np.empty(kind.size)
        for k, table in enumerate(self.pool):
            power_w[kind == k] = table.power_w[row[kind == k]]
        return power_w

    def background(self, mixture: Mixture, is_free: np.ndarray) -> Background:
        """What the processors that are not free do."""
        fixed = ~is_free[mixture.processor]
        processor, row, amount = mixture.processor[fixed], mixture.row[fixed], mixture.amount[fixed]
        kind = self.processors.kind[processor]
        node_w = self.facility.overhead_w + np.bincount(
            self.processors.node[processor], amount * self.power_of(kind, row), self.facility.n_nodes
        )
        rate = np.zeros(self.facility.tasks.n_types)
        for k, table in enumerate(self.pool):
            rate += np.bincount(row[kind == k], amount[kind == k], len(table)) @ table.rate_per_s
        return Background(node_w, rate)

    def regret(self, mixture: Mixture, prices: Prices, price: Floats) -> tuple[Floats, Floats]:
        """How much more each processor could earn at the prices, and how near the next best choice is."""
        n = self.processors.node.size
        own = price[self.processors.node]
        best, gap = np.empty(n), np.empty(n)
        for kind, curve in enumerate(self.curves(prices.task)):
            mine = np.flatnonzero(self.processors.kind == kind)
            vertex = curve.vertex(own[mine])
            best[mine] = curve.value[vertex] - own[mine] * curve.power_w[vertex]
            steps = np.concatenate(([np.inf], curve.price, [0.0]))
            step_w = np.concatenate(([1.0], np.diff(curve.power_w), [1.0]))
            up, down = (own[mine] - steps[vertex + 1]) * step_w[vertex + 1], (steps[vertex] - own[mine]) * step_w[vertex]
            gap[mine] = np.minimum(np.where(up < 0, np.inf, up), np.where(down < 0, np.inf, down))
        value = np.zeros(n)
        kind = self.processors.kind[mixture.processor]
        earned = np.empty(mixture.row.size)
        for k, table in enumerate(self.pool):
            mine = kind == k
            rows = mixture.row[mine]
            earned[mine] = (table.rate_per_s @ prices.task)[rows] - own[mixture.processor[mine]] * table.power_w[rows]
        np.add.at(value, mixture.processor, earned * mixture.amount)
        return best - value, gap

    def improved(self, mixture: Mixture, prices: Prices, supply_c: Floats, reaches_k, patterns) -> tuple[Mixture, Solution]:
        """Let some processors choose again within their patterns, with all others as they are."""
        price = self.power_price(prices, supply_c)
        n = self.processors.node.size
        is_free = np.bincount(mixture.processor, minlength=n) != 1
        is_free[mixture.processor[mixture.amount < 1 - 1e-9]] = True
        lose, gap = self.regret(mixture, prices, price)
        more = max(_FREE - int(is_free.sum()), _FREE // 3)
        is_free[np.argsort(-lose)[: more // 2]] = True
        is_free[np.argsort(gap)[: more // 2]] = True
        free = np.flatnonzero(is_free)
        number = np.full(n, -1)
        number[free] = np.arange(free.size)
        background = self.background(mixture, is_free)
        ones = np.ones(free.size)
        weight = csr_array((ones, (self.processors.node[free], np.arange(free.size))), shape=(self.facility.n_nodes, free.size))
        program = Program(self.facility, self.air, Groups(self.processors.kind[free], ones, weight), background)
        program.watch(self.watched)
        mine = is_free[mixture.processor]
        program.offer(np.stack((number[mixture.processor[mine]], mixture.row[mine])), self.pool)
        node_w = self.background(mixture, np.zeros(n, bool)).node_w
        solution = self.settle(
            program, prices, supply_c, node_w, reaches_k, math.inf, 4, 1e-3, lambda kind, at: patterns(kind, free[at]), 1e-7
        )
        keep = solution.x > 1e-9
        return Mixture(
            np.concatenate((mixture.processor[~mine], free[program.pairs[0, keep]])),
            np.concatenate((mixture.row[~mine], program.pairs[1, keep])),
            np.concatenate((mixture.amount[~mine], solution.x[keep])),
        ), solution

    # ---- last: patterns and cores
    def with_patterns(self, mixture: Mixture, prices: Prices) -> tuple[Mixture, Callable]:
        """Give each processor the pattern that fills most of it, and add what is best with each such pattern."""
        kind = self.processors.kind[mixture.processor]
        first = np.concatenate(([0], np.cumsum([len(menu.counts) for menu in self.menus])))
        code = np.empty(mixture.row.size, np.int64)
        for k, table in enumerate(self.pool):
            code[kind == k] = self.code(k, table)[mixture.row[kind == k]]
        n, m = self.processors.node.size, max(len(menu.counts) for menu in self.menus)
        filled = csr_array((mixture.amount, (mixture.processor, code)), shape=(n, m)).toarray()
        filled[:, 0] += np.maximum(1.0 - filled.sum(axis=1), 0.0)
        pattern = filled.argmax(axis=1)
        for k, menu in enumerate(self.menus):
            for p in np.unique(pattern[self.processors.kind == k]):
                if p:
                    found = menu.narrowed(menu.counts[p]).curve(prices.task).configurations
                    self.pool[k] = joined([self.pool[k], found])
        keep = code == pattern[mixture.processor]
        codes = [self.code(k, table) for k, table in enumerate(self.pool)]

        def allowed(k: int, processors: Counts) -> np.ndarray:
            return codes[k][None, :] == pattern[processors][:, None]

        return Mixture(mixture.processor[keep], mixture.row[keep], mixture.amount[keep]), allowed

    def code(self, kind: int, table: Configurations) -> Counts:
        """The number of each configuration's pattern in the menu."""
        base = (self.menus[kind].size + 1) ** np.arange(table.counts.shape[1])
        keys = self.menus[kind].counts @ base
        order = np.argsort(keys)
        return order[np.searchsorted(keys[order], table.counts @ base)]

    def plan(self, mixture: Mixture, supply_c: Floats) -> FacilityPlan:
        maker = PlanMaker(self.facility, self.processors)
        n_parts = np.bincount(mixture.processor, minlength=self.processors.node.size)
        whole = (n_parts[mixture.processor] == 1) & (mixture.amount > 1 - 1e-9)
        kind = self.processors.kind[mixture.processor]
        for k, table in enumerate(self.pool):
            mine = whole & (kind == k)
            maker.fill(mixture.processor[mine], k, table, mixture.row[mine])
        parts = np.flatnonzero(~whole)
        for processor in np.unique(mixture.processor[parts]):
            mine = parts[mixture.processor[parts] == processor]
            maker.mix(int(processor), self.pool[kind[mine[0]]], mixture.row[mine], mixture.amount[mine])
        return maker.plan(supply_c)

"""What prices prove of a facility: no plan that keeps its limits earns more, straight from the definition.

Take any plan that keeps cap and redlines, with node powers P, supplies tau and slowed rates s, and prices u of task
types, mu of the cap and nu of redlines, none below 0. Inlets are G P + H tau, heat is Q = W P + M tau, g = 1 / CoP.

1. r_i min(s_i, lambda_i) <= (r_i - u_i)+ lambda_i + u_i s_i, and what is left of the cap and of redlines is worth 0 or
   more. So the reward rate is at most sum (r - u)+ lambda + mu cap + nu redline + sum u s - pi P - nu H tau
   - mu sum_c g_c(tau_c) M_c tau, where pi_j = mu (1 + sum_c W_cj g_c(tau_c)) + (G' nu)_j.
2. Cores run their tasks independently of each other, so a node is a mixture of pure configurations with the same mean
   power; 1 / (1 + E[D]) <= E[1 / (1 + D)], as 1 / (1 + D) is convex. So sum u s - pi P of a node is at most
   f_j(pi_j) = val_j(pi_j) - pi_j O_j, with val_j the best of all configurations at price pi.
3. f_j is the highest of some lines: convex. W >= 0 and sum_c W_cj = 1, so pi_j is the mean of
   pi_jc = mu (1 + g_c(tau_c)) + (G' nu)_j with weights W_cj, and f_j(pi_j) <= sum_c W_cj f_j(pi_jc).
4. M tau moves heat between CRAC units: M_cc' >= 0 for c' != c, and rows and columns add up to 0. For one curve e that
   does not rise, with E its integral, which is concave, e(tau_c) (tau_c' - tau_c) >= E(tau_c') - E(tau_c), and the sum
   of M_cc' times that over all pairs is 0: sum_c e(tau_c) M_c tau >= 0. Let e(t) be the least of all g_c at supplies
   that unit c can blow up to t: it does not rise, and g_c - e >= 0. What is left is
   sum_c (g_c - e)(tau_c) M_c tau >= sum_c (g_c - e)(tau_c) (sum_c' M_cc' coldest_c' - M_c tau_c), M_c = -M_cc. With one
   curve that does not rise, e is that curve, and nothing is left.
5. Now each tau_c stands alone. On a cell [a, b] in which all curves are monotone, f_j is at most f_j at the least of g,
   -(H' nu)_c tau at most that of a, and the rest has the bounds of its two factors. Cells are halved until the highest
   bound is close to a value reached; it holds wherever this stops.

Interference must count idle cores as such: the bound does not hold for eq. 10 as it is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from joulewise.check.facility import air_shares
from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.model.room import AIR_J_PER_M3_K, CopCurve, Room

_Range = tuple[float, float]
_CLOSE = 1e-7
_MOST_CELLS = 200_000


def facility_bound(facility: Facility, prices: FacilityPrices) -> float:
    """The co-located reward rate that no plan of the facility exceeds, as these prices prove it.

    The supplies of each CRAC unit are looked at in so many cells that this costs the bound 1e-7 at most;
    it holds up to rounding, and to how exactly the air of the room comes back to where it leaves. Raises InputError
    for prices that do not fit or are below 0.
    """
    raise_if_any(_price_problems(facility, prices))
    tasks, room = facility.tasks, facility.room
    spare = float(np.maximum(tasks.reward - prices.task, 0.0) @ tasks.rate_per_s)
    fixed = spare + prices.cap * facility.cap_w + float(prices.redline @ room.redline_c)
    close = _CLOSE * (tasks.most_reward_per_s + abs(fixed)) / room.n_cracs
    air, curves = _Air(room), _Curves(room)
    worth = _Worth(facility, prices, air.watt_prices(prices.redline), curves.range_of_g)
    warmth = air.supply_prices(prices.redline)
    parts = (_Part(c, air.unit(c), worth, warmth[c], prices.cap, curves) for c in range(room.n_cracs))
    return fixed + sum(part.most(close) for part in parts)


def _price_problems(facility: Facility, prices: FacilityPrices) -> Iterator[Problem]:
    columns = (
        ("task", prices.task, facility.tasks.n_types),
        ("cap", np.atleast_1d(prices.cap), 1),
        ("redline", prices.redline, facility.n_nodes),
    )
    for name, column, size in columns:
        if column.shape != (size,):
            yield Problem(f"prices.{name}", f"found {column.size} values", f"must be {size}")
        elif not ((column >= 0) & np.isfinite(column)).all():
            yield Problem(f"prices.{name}", f"found {column.min():g}", "must be 0 or more each, and finite")


class _Unit(NamedTuple):
    """One CRAC unit: the share of each node's power it removes, and heat per kelvin that others pass to it."""

    heat_share: Floats
    from_others: Floats


class _Air:
    """Rows of W and M, and prices carried back through the air, by solving with I - A_nn turned round."""

    def __init__(self, room: Room) -> None:
        n, shares = room.n_nodes, air_shares(room)
        self.room, self._between, self._to_cracs = room, shares[:n, :n], csr_array(shares[n:])
        self._supplied = csr_array(shares[:n, n:])
        self._turned = splu(csc_array((eye_array(n) - self._between).T))
        self._k_per_w = 1.0 / (AIR_J_PER_M3_K * room.node_m3_per_s)

    def watt_prices(self, per_k: Floats) -> Floats:
        """G' nu."""
        return np.asarray(self._k_per_w * (self._between.T @ self._turned.solve(per_k)))

    def supply_prices(self, per_k: Floats) -> Floats:
        """H' nu."""
        return np.asarray(self._supplied.T @ self._turned.solve(per_k))

    def unit(self, crac: int) -> _Unit:
        n, w_per_k = self.room.n_nodes, AIR_J_PER_M3_K * self.room.crac_m3_per_s[crac]
        taken = self._to_cracs[[crac]].toarray()[0]
        through = self._turned.solve(taken[:n])
        from_others = w_per_k * (self._supplied.T @ through + taken[n:])
        from_others[crac] = 0.0
        return _Unit(w_per_k * through * self._k_per_w, from_others)


class _Curves:
    """g = 1 / CoP of every unit, the least e of them all, and the supplies between which all are monotone."""

    def __init__(self, room: Room) -> None:
        self.room, self._different = room, _different_units(room)
        within = (float(room.coldest_c.min()), float(room.hottest_c.max()))
        turns = [turn for c in self._different for turn in _turns(room.cop[c])]
        edges = np.concatenate((turns, room.coldest_c, room.hottest_c))
        self.edges_c = np.unique(edges[(edges >= within[0]) & (edges <= within[1])])
        lowest, highest = zip(*(self._ends(c) for c in self._different))
        self.range_of_g = (min(lowest), max(highest))

    def g(self, crac: int, at_c: Floats) -> Floats:
        return np.asarray(1.0 / self.room.cop[crac](at_c))

    def edges_of(self, crac: int) -> Floats:
        inside = (self.edges_c >= self.room.coldest_c[crac]) & (self.edges_c <= self.room.hottest_c[crac])
        return np.asarray(self.edges_c[inside])

    def _ends(self, crac: int) -> _Range:
        values = self.g(crac, self.edges_of(crac))
        return float(values.min()), float(values.max())

    def least(self, at_c: Floats) -> Floats:
        """e at each supply: the least g of any unit at any supply up to this one that it can blow."""
        least = np.full(at_c.shape, np.inf)
        for c in self._different:
            edges_c = self.edges_of(c)
            so_far = np.minimum.accumulate(self.g(c, edges_c))
            passed = np.searchsorted(edges_c, at_c, side="right")
            here = self.g(c, np.clip(at_c, edges_c[0], edges_c[-1]))
            value = np.where(passed > 0, np.minimum(so_far[np.maximum(passed, 1) - 1], here), np.inf)
            least = np.minimum(least, value)
        return least


def _different_units(room: Room) -> list[int]:
    """One unit of each curve and range."""
    found: list[int] = []
    for c, curve in enumerate(room.cop):
        ranges = ((room.coldest_c[k], room.hottest_c[k]) == (room.coldest_c[c], room.hottest_c[c]) for k in found)
        if not any(is_same and curve.is_same(room.cop[k]) for k, is_same in zip(found, ranges)):
            found.append(c)
    return found


def _turns(curve: CopCurve) -> Floats:
    """Supplies at which a curve may stop rising or falling."""
    if curve.at_c is not None:
        return curve.at_c
    slope = curve.coefficients[1:] * np.arange(1, curve.coefficients.size)
    roots = np.polynomial.Polynomial(slope if slope.size else [0.0]).roots()
    return np.asarray(np.real(roots))


class _Lines(NamedTuple):
    """A falling convex function of a price: from `start[k]` on it is reward[k] - price x power_w[k]."""

    start: Floats
    reward: Floats
    power_w: Floats


class _Bends(NamedTuple):
    """Where f of a node, as a function of g, goes from one line to the next; by how much it starts higher and falls
    less from there on."""

    node: Counts
    at_g: Floats
    higher: Floats
    less: Floats


class _Worth:
    """f_j of all nodes as functions of g: what a node earns at best, less the price of what it draws.

    Each is made of lines. All the places where any of them bends are sorted once; sums of a unit's weights times the
    bends up to each place then give the line that their weighted sum follows there.
    """

    def __init__(self, facility: Facility, prices: FacilityPrices, watt_price: Floats, range_of_g: _Range) -> None:
        self._start, self._fall = np.empty(facility.n_nodes), np.empty(facility.n_nodes)
        self._cap_price, self._per_w = prices.cap, prices.cap + watt_price
        parts: list[_Bends] = []
        for kind in np.unique(facility.node_type):
            nodes = np.flatnonzero(facility.node_type == kind)
            ends = [self._per_w[nodes] + prices.cap * g for g in range_of_g]
            lines = _best_lines(facility, prices.task, int(kind), float(ends[0].min()), float(ends[1].max()))
            parts += self._add(nodes, lines, *ends)
        bends = _Bends._make(np.concatenate(columns) for columns in zip(*parts))
        self._bends = _Bends._make(column[np.argsort(bends.at_g, kind="stable")] for column in bends)

    def _add(self, nodes: Counts, lines: _Lines, lowest: Floats, highest: Floats) -> Iterator[_Bends]:
        """Note the first line of each of some nodes of a type, and give all the bends up to its highest price."""
        first, last = (np.searchsorted(lines.start[1:], price, side="right") for price in (lowest, highest))
        self._start[nodes] = lines.reward[first] - self._per_w[nodes] * lines.power_w[first]
        self._fall[nodes] = self._cap_price * lines.power_w[first]
        yield _Bends(np.empty(0, np.int64), *np.empty((3, 0)))
        for k in range(1, lines.start.size):
            bent = nodes[(first < k) & (k <= last)]
            less_w, per_w = lines.power_w[k - 1] - lines.power_w[k], self._per_w[bent]
            if bent.size:
                higher = lines.reward[k] - lines.reward[k - 1] + per_w * less_w
                at_g = (lines.start[k] - per_w) / self._cap_price
                yield _Bends(bent, at_g, higher, np.full(bent.size, self._cap_price * less_w))

    def of_unit(self, weight: Floats) -> _UnitWorth:
        by_bend = weight[self._bends.node]
        start = float(weight @ self._start) + np.concatenate(([0.0], np.cumsum(by_bend * self._bends.higher)))
        fall = float(weight @ self._fall) - np.concatenate(([0.0], np.cumsum(by_bend * self._bends.less)))
        return _UnitWorth(self._bends.at_g, start, fall)


class _UnitWorth(NamedTuple):
    """sum_j W_cj f_j as a function of g: before the first place where it bends, and from each on, start - fall x g."""

    at_g: Floats
    start: Floats
    fall: Floats

    def __call__(self, g: Floats) -> Floats:
        line = np.searchsorted(self.at_g, g, side="right")
        return np.asarray(self.start[line] - g * self.fall[line])


class _Part:
    """What one unit adds to the bound, as a function of its supply."""

    def __init__(self, crac: int, unit: _Unit, worth: _Worth, warmth: float, cap_price: float, curves: _Curves) -> None:
        self._crac, self._curves, self._worth = crac, curves, worth.of_unit(unit.heat_share)
        self._warmth, self._cap_price = warmth, cap_price
        self._passed, self._coldest = float(unit.from_others.sum()), float(unit.from_others @ curves.room.coldest_c)

    def _exchanged(self, at_c: Floats) -> Floats:
        return np.asarray(self._cap_price * (self._passed * at_c - self._coldest))

    def reached(self, at_c: Floats) -> Floats:
        """Its value at some supplies."""
        g = self._curves.g(self._crac, at_c)
        return np.asarray(self._worth(g) - self._warmth * at_c + (g - self._curves.least(at_c)) * self._exchanged(at_c))

    def bounds(self, a: Floats, b: Floats) -> Floats:
        """What it does not exceed from each a to its b."""
        ends = self._curves.g(self._crac, a), self._curves.g(self._crac, b)
        least_g, most_g, exchanged = np.minimum(*ends), np.maximum(*ends), self._exchanged(b)
        over = (least_g - self._curves.least(a), most_g - self._curves.least(b))
        most_exchanged = np.maximum(*(np.maximum(factor, 0.0) * exchanged for factor in over))
        return np.asarray(self._worth(least_g) - self._warmth * a + most_exchanged)

    def most(self, close: float) -> float:
        """A bound on it at any supply, within `close` of its highest value if that takes no more cells than allowed."""
        edges_c = self._curves.edges_of(self._crac)
        best, settled = float(self.reached(edges_c).max()), -np.inf
        a, b = (edges_c[:-1], edges_c[1:]) if edges_c.size > 1 else (edges_c, edges_c)
        while True:
            highest = self.bounds(a, b)
            best = max(best, float(self.reached(a).max()))
            is_open = highest > best + close
            settled = max(settled, float(highest[~is_open].max(initial=-np.inf)))
            if not 0 < is_open.sum() <= _MOST_CELLS:
                return max(settled, float(highest[is_open].max(initial=-np.inf)))
            middle = (a[is_open] + b[is_open]) / 2.0
            a, b = np.concatenate((a[is_open], middle)), np.concatenate((middle, b[is_open]))


def _best_lines(facility: Facility, task_price: Floats, kind: int, lowest: float, highest: float) -> _Lines:
    """f of a node type between two prices of a watt: all its lines, found by where those already known cross."""
    best = _Configurations(facility, task_price, kind)
    found = [best.at(lowest), best.at(highest)]
    at = 0
    while at < len(found) - 1:
        (reward, power_w), (next_reward, next_w) = found[at], found[at + 1]
        if power_w <= next_w:
            del found[at + 1]
            continue
        crossing = (reward - next_reward) / (power_w - next_w)
        between = best.at(crossing)
        value = reward - crossing * power_w
        if between[0] - crossing * between[1] > value + 1e-12 * (abs(value) + abs(reward)):
            found.insert(at + 1, between)
        else:
            at += 1
    rewards, powers = (np.array(column) for column in zip(*found))
    start = np.concatenate(([-np.inf], np.diff(rewards) / np.diff(powers)))
    return _Lines(start, rewards, powers)


class _Configurations:
    """All patterns of memory classes on one processor, and the best tasks and P-states for each at a price."""

    def __init__(self, facility: Facility, task_price: Floats, kind: int) -> None:
        tasks, types = facility.tasks, facility.node_types
        self._processors, self._overhead_w = int(types.processors[kind]), float(types.overhead_w[kind])
        task, pstate = np.nonzero(tasks.is_usable[:, kind, : types.n_pstates[kind]])
        self._worth = task_price[task] * tasks.speed_per_s[task, kind, pstate]
        self._power_w = tasks.power_w[task, kind, pstate]
        memory_class = tasks.memory_class[task]
        self._classes = [np.flatnonzero(memory_class == c) for c in np.unique(memory_class)]
        size = int(types.cores[kind] // types.processors[kind])
        self._patterns = _patterns(len(self._classes), size)
        slowdown = tasks.slowdown[kind][np.ix_(np.unique(memory_class), np.unique(memory_class))]
        self._slowed = np.maximum(1.0 + self._patterns @ slowdown.T - np.diag(slowdown), 1.0)

    def at(self, price: float) -> tuple[float, float]:
        """Reward and power of the best configuration of a node, overhead included; of equally good ones any."""
        reward, power_w = np.zeros(self._patterns.shape), np.zeros(self._patterns.shape)
        for c, choices in enumerate(self._classes):
            worth = self._worth[choices] / self._slowed[:, c, None]
            best = np.argmax(worth - price * self._power_w[choices], axis=1)
            reward[:, c] = worth[np.arange(len(worth)), best]
            power_w[:, c] = self._power_w[choices][best]
        rewards, powers = ((self._patterns * table).sum(axis=1) for table in (reward, power_w))
        chosen = int(np.argmax(rewards - price * powers))
        return self._processors * float(rewards[chosen]), self._processors * float(powers[chosen]) + self._overhead_w


def _patterns(n_classes: int, n_cores: int) -> Counts:
    """How many cores run each class, for every way to fill the cores; a core may be idle."""
    rows = combinations_with_replacement(range(n_classes + 1), n_cores)
    return np.array([np.bincount(row, minlength=n_classes + 1)[:n_classes] for row in rows], dtype=np.int64)

"""What prices prove of a facility: no plan that keeps its limits earns more, straight from the definition.

Take any plan that keeps cap and redlines, with node powers P, supplies tau and slowed rates s, and prices u of task
types, mu of the cap and nu of redlines, none below 0. Inlets are G P + H tau, heat is Q = W P + M tau, g = 1 / CoP.

1. r_i min(s_i, lambda_i) <= (r_i - u_i)+ lambda_i + u_i s_i, and what is left of the cap and of redlines is worth 0 or
   more. So the reward rate is at most sum (r - u)+ lambda + mu cap + nu redline + sum u s - pi P - nu H tau
   - mu sum_c g_c(tau_c) M_c tau, where pi_j = mu (1 + sum_c W_cj g_c(tau_c)) + (G' nu)_j.
2. Cores run their tasks independently of each other, so a node is a mixture of pure configurations with the same mean
   power; 1 / (1 + E[D]) <= E[1 / (1 + D)], as 1 / (1 + D) is convex. What a core does counts in s only if it is in time
   beside the worst that each neighbour ever runs. Then it is in time in each of the pure configurations it occurs in;
   what does not count is worth 0 here and no less there. So sum u s - pi P of a node is at most
   f_j(pi_j) = val_j(pi_j) - pi_j O_j, with val_j the best of all configurations at price pi, in which tasks that are
   late are worth nothing.
3. Take any supplies t, those that come with the prices, with d_c = g_c(tau_c) - g_c(t_c) and y_c = tau_c - t_c. f_j is
   the highest of some lines: convex. W >= 0 and sum_c W_cj = 1, so pi_j is the mean of pi_j(t) + mu d_c with weights
   W_cj, and f_j(pi_j) <= sum_c W_cj f_j(pi_j(t) + mu d_c).
4. What CRAC units pass to each other costs g(tau) M tau = g(t) M t + d M t + g(t) M y + d M y. All but the last have
   one unit in each of their terms. M_cc' >= 0 for c' != c; rows and columns add up to 0; M_c = -M_cc. Take a line that
   falls through the origin, with one slope, k, on its colder side and another, l, on its warmer side. With
   S(d) = d^2 / 2k for d > 0 and d^2 / 2l otherwise, and T(y) = k y^2 / 2 for y < 0 and l y^2 / 2 otherwise, the areas
   between the line and the axes, d y >= -S(d) - T(y) for any two numbers (Young), equal only on the line. So
   d M y >= -sum_c M_c (S(d_c) + T(y_c) + d_c y_c): nothing is lost where units keep to the line, little near it.
5. Now each tau_c stands alone, besides -nu H t - mu g(t) M t, in
     sum_j W_cj f_j(pi_j(t) + mu d_c) - (H' nu + mu g(t) M)_c y_c - mu (M t)_c d_c + mu M_c (S(d_c) + T(y_c) + d_c y_c).
   This is convex in d_c and convex in y_c. On a cell [a, b] in which g_c is monotone both are in a rectangle, and it is
   highest in one of the corners. Cells are halved until the highest bound is close to a value reached; it holds
   wherever this stops. With tau = t it is the Lagrangian there.

Interference must count idle cores as such: the bound does not hold for eq. 10 as it is printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import splu

from joulewise.check.facility.plan import air_shares, ends_in_time
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
    air = _TurnedAir(room)
    around = _Around(room, air, prices.supply_c)
    worth = _NodeWorth(
        facility, prices, prices.cap * around.cooling + air.watt_prices(prices.redline), around.range_of_d
    )
    warmth = air.supply_prices(prices.redline)
    fixed -= float(warmth @ around.supply_c + prices.cap * (around.g @ around.taken_w))
    parts = (
        _UnitPart(c, worth.of_unit(air.unit(c).heat_share), warmth[c], prices.cap, around) for c in range(room.n_cracs)
    )
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
    n_cracs = facility.room.n_cracs
    if prices.supply_c.shape != (n_cracs,) or not np.isfinite(prices.supply_c).all():
        yield Problem("prices.supply_c", f"found {prices.supply_c.tolist()}", f"must be {n_cracs} finite temperatures")


class _CracUnit(NamedTuple):
    """One CRAC unit: the share of each node's power it removes, and heat per kelvin that others pass to it."""

    heat_share: Floats
    from_others: Floats


class _TurnedAir:
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

    def unit(self, crac: int) -> _CracUnit:
        n, w_per_k = self.room.n_nodes, AIR_J_PER_M3_K * self.room.crac_m3_per_s[crac]
        taken = self._to_cracs[[crac]].toarray()[0]
        through = self._turned.solve(taken[:n])
        from_others = w_per_k * (self._supplied.T @ through + taken[n:])
        from_others[crac] = 0.0
        return _CracUnit(w_per_k * through * self._k_per_w, from_others)


class _Around:
    """Supplies t with g there, heat M t that each unit takes from others, g M, M_c, and what cooling costs by node."""

    def __init__(self, room: Room, air: _TurnedAir, supply_c: Floats) -> None:
        n = room.n_cracs
        self.room, self.supply_c = room, np.minimum(np.maximum(supply_c, room.coldest_c), room.hottest_c)
        self.g = np.array([float(1.0 / room.cop[c](self.supply_c[c])) for c in range(n)])
        self.taken_w, self.paid, self.passed = np.zeros(n), np.zeros(n), np.zeros(n)
        self.cooling = np.zeros(room.n_nodes)
        for c in range(n):
            unit = air.unit(c)
            self.cooling += self.g[c] * unit.heat_share
            self.passed[c] = unit.from_others.sum()
            self.taken_w[c] = unit.from_others @ (self.supply_c - self.supply_c[c])
            self.paid += self.g[c] * unit.from_others
            self.paid[c] -= self.g[c] * self.passed[c]
        self.slopes = room.falls(self.supply_c, self.passed)
        ends = [self.d(c, self.edges_of(c)) for c in range(n)]
        self.range_of_d = (min(float(d.min()) for d in ends), max(float(d.max()) for d in ends))

    def d(self, crac: int, at_c: Floats) -> Floats:
        return np.asarray(1.0 / self.room.cop[crac](at_c) - self.g[crac])

    def edges_of(self, crac: int) -> Floats:
        """Supplies between which the curve of a unit is monotone."""
        low_c, high_c = self.room.coldest_c[crac], self.room.hottest_c[crac]
        return np.unique(np.clip(np.append(_turns(self.room.cop[crac]), (low_c, high_c)), low_c, high_c))

    def beside(self, d: Floats, y: Floats) -> Floats:
        """S(d) + T(y) + d y (4)."""
        colder, warmer = self.slopes
        to_d = np.square(np.maximum(d, 0.0)) / colder + np.square(np.minimum(d, 0.0)) / warmer
        to_y = np.square(np.minimum(y, 0.0)) * colder + np.square(np.maximum(y, 0.0)) * warmer
        return np.asarray((to_d + to_y) / 2.0 + d * y)


def _turns(curve: CopCurve) -> Floats:
    """Supplies at which a curve may stop rising or falling."""
    if curve.at_c is not None:
        return curve.at_c
    slope = curve.coefficients[1:] * np.arange(1, curve.coefficients.size)
    roots = np.polynomial.Polynomial(slope if slope.size else [0.0]).roots()
    return np.asarray(np.real(roots))


class _PriceLines(NamedTuple):
    """A falling convex function of a price: from `start[k]` on it is reward[k] - price x power_w[k]."""

    start: Floats
    reward: Floats
    power_w: Floats


class _Bends(NamedTuple):
    """Where f of a node, as a function of d, goes from one line to the next; by how much it starts higher and falls
    less from there on."""

    node: Counts
    at_d: Floats
    higher: Floats
    less: Floats


class _NodeWorth:
    """f_j of all nodes as functions of d: what a node earns at best, less the price of what it draws.

    Each is made of lines. All the places where any of them bends are sorted once; sums of a unit's weights times the
    bends up to each place then give the line that their weighted sum follows there.
    """

    def __init__(self, facility: Facility, prices: FacilityPrices, watt_price: Floats, range_of_d: _Range) -> None:
        self._start, self._fall = np.empty(facility.n_nodes), np.empty(facility.n_nodes)
        self._cap_price, self._per_w = prices.cap, prices.cap + watt_price
        parts: list[_Bends] = []
        for kind in np.unique(facility.node_type):
            nodes = np.flatnonzero(facility.node_type == kind)
            ends = [self._per_w[nodes] + prices.cap * d for d in range_of_d]
            lines = _best_lines(facility, prices.task, int(kind), float(ends[0].min()), float(ends[1].max()))
            parts += self._add(nodes, lines, *ends)
        bends = _Bends._make(np.concatenate(columns) for columns in zip(*parts))
        self._bends = _Bends._make(column[np.argsort(bends.at_d, kind="stable")] for column in bends)

    def _add(self, nodes: Counts, lines: _PriceLines, lowest: Floats, highest: Floats) -> Iterator[_Bends]:
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
                at_d = (lines.start[k] - per_w) / self._cap_price
                yield _Bends(bent, at_d, higher, np.full(bent.size, self._cap_price * less_w))

    def of_unit(self, weight: Floats) -> _UnitWorth:
        by_bend = weight[self._bends.node]
        start = float(weight @ self._start) + np.concatenate(([0.0], np.cumsum(by_bend * self._bends.higher)))
        fall = float(weight @ self._fall) - np.concatenate(([0.0], np.cumsum(by_bend * self._bends.less)))
        return _UnitWorth(self._bends.at_d, start, fall)


class _UnitWorth(NamedTuple):
    """sum_j W_cj f_j as a function of d: before the first place where it bends, and from each on, start - fall x d."""

    at_d: Floats
    start: Floats
    fall: Floats

    def __call__(self, d: Floats) -> Floats:
        line = np.searchsorted(self.at_d, d, side="right")
        return np.asarray(self.start[line] - d * self.fall[line])


class _UnitPart:
    """What one unit adds to the bound, as a function of its supply (5)."""

    def __init__(self, crac: int, worth: _UnitWorth, warmth: float, cap_price: float, around: _Around) -> None:
        self._crac, self._around, self._worth, self._known_c = crac, around, worth, float(around.supply_c[crac])
        self._per_k, self._per_d = warmth + cap_price * around.paid[crac], cap_price * around.taken_w[crac]
        self._passed = cap_price * around.passed[crac]

    def _at(self, d: Floats, at_c: Floats) -> Floats:
        y = at_c - self._known_c
        return np.asarray(self._worth(d) - self._per_k * y - self._per_d * d + self._passed * self._around.beside(d, y))

    def reached(self, at_c: Floats) -> Floats:
        """Its value at some supplies."""
        return self._at(self._around.d(self._crac, at_c), at_c)

    def bounds(self, a: Floats, b: Floats) -> Floats:
        """What it does not exceed from each a to its b."""
        ends = self._around.d(self._crac, a), self._around.d(self._crac, b)
        return np.asarray(np.maximum.reduce([self._at(d, at_c) for d in ends for at_c in (a, b)]))

    def most(self, close: float) -> float:
        """A bound on it at any supply, within `close` of its highest value if that takes no more cells than allowed."""
        edges_c = self._around.edges_of(self._crac)
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


def _best_lines(facility: Facility, task_price: Floats, kind: int, lowest: float, highest: float) -> _PriceLines:
    """f of a node type between two prices of a watt: all its lines, found by where those already known cross."""
    best = _Patterns(facility, task_price, kind)
    lines = [best.at(lowest), best.at(highest)]
    at = 0
    while at < len(lines) - 1:
        (reward, power_w), (next_reward, next_w) = lines[at], lines[at + 1]
        if power_w <= next_w:
            del lines[at + 1]
            continue
        crossing = (reward - next_reward) / (power_w - next_w)
        between = best.at(crossing)
        value = reward - crossing * power_w
        if between[0] - crossing * between[1] > value + 1e-12 * (abs(value) + abs(reward)):
            lines.insert(at + 1, between)
        else:
            at += 1
    rewards, powers = (np.array(column) for column in zip(*lines))
    start = np.concatenate(([-np.inf], np.diff(rewards) / np.diff(powers)))
    return _PriceLines(start, rewards, powers)


class _Patterns:
    """All patterns of memory classes on one processor, and the best tasks and P-states for each at a price."""

    def __init__(self, facility: Facility, task_price: Floats, kind: int) -> None:
        tasks, types = facility.tasks, facility.node_types
        self._processors, self._overhead_w = int(types.processors[kind]), float(types.overhead_w[kind])
        task, pstate = np.nonzero(tasks.is_usable[:, kind, : types.n_pstates[kind]])
        self._worth = task_price[task] * tasks.speed_per_s[task, kind, pstate]
        self._power_w = tasks.power_w[task, kind, pstate]
        self._time_s = 1.0 / tasks.speed_per_s[task, kind, pstate]
        self._deadline_s = np.where(tasks.deadlines_alone, np.inf, tasks.deadline_s[task])
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
            slowed = self._slowed[:, c, None]
            in_time = ends_in_time(slowed * self._time_s[choices], self._deadline_s[choices])
            worth = np.where(in_time, self._worth[choices] / slowed, 0.0)
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

"""The lower bound on energy and makespan of a bag, for every trade-off between the two (Tarplee, eq. 2-5).

Tasks may be split at will and machines of a type are one; what that linear program can reach, no allocation beats.
All of it is stated in extra energy (above idle), to which idle power adds its share of the makespan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np

from joulewise.errors import InputError, JoulewiseError, Problem, unknown_name
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import Bag
from joulewise.optimise.bags.highs import BagProgram, all_vertices
from joulewise.optimise.bags.swept import GaveUpError, sweep_bag, time_s
from joulewise.visible import Visible

Engine: TypeAlias = Literal["auto", "sweep", "highs"]
_ENGINES: tuple[str, ...] = get_args(Engine)

MOST_CHOICES_TO_SWEEP = 300_000
"""A single point of a bag with more choices than this is left to HiGHS, which need not pass all others on its way."""

_ROUNDING = 1e-12
_UNPROVEN = 1e-6


class Solutions(Protocol):
    """How tasks are split at each vertex, in whatever form the engine left it."""

    def split(self, vertex: int) -> Floats:
        """Tasks of each [task type, machine type x P-state]."""


@dataclass(frozen=True, eq=False)
class BoundFront(Visible, looks="bags"):
    """The vertices of the bound, from the least extra energy to the least makespan.

    Vertex k minimises `extra_j + weight * makespan_s` for every weight from `weight_w[k]` to `weight_w[k + 1]`; the
    first weight is 0, the last infinite. Points between neighbours are on the bound too. `price_per_s` holds, by
    [weight, machine type], what proves it; the last row, for the makespan alone, is per watt of weight. `cost_j` is
    what each choice costs: its extra energy, unless the front was asked for with other costs. `why_highs` is why the
    sweep gave up, where it did and HiGHS took over.
    """

    bag: Bag
    weight_w: Floats
    extra_j: Floats
    makespan_s: Floats
    price_per_s: Floats
    solutions: Solutions
    cost_j: Floats
    why_highs: str = ""

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("weight_w", "extra_j", "makespan_s", "price_per_s"), np.float64))

    def __len__(self) -> int:
        return self.extra_j.size

    @cached_property
    def energy_j(self) -> Floats:
        """Energy of each vertex, idle power of all machines until the makespan included."""
        return np.asarray(self.extra_j + self.bag.total_idle_w * self.makespan_s)

    @property
    def pareto(self) -> slice:
        """The vertices that no other point beats in both energy and makespan."""
        return slice(int(np.searchsorted(self.weight_w[1:], self.bag.total_idle_w, side="right")), len(self))

    @property
    def least_makespan_s(self) -> float:
        return float(self.makespan_s[-1])

    @property
    def least_energy_j(self) -> float:
        return float(self.energy_j[self.pareto.start])

    def split(self, vertex: int, share: float = 0.0) -> Floats:
        """Tasks of each choice at the point `share` of the way from a vertex to the next, not whole numbers."""
        split = self.solutions.split(vertex)
        if share > 0.0:
            split = (1.0 - share) * split + share * self.solutions.split(vertex + 1)
        return split.reshape(self.bag.exec_s.shape)

    def duals(self, vertex: int) -> tuple[Floats, Floats]:
        """Prices by task type and by machine-second that prove a vertex (and the one before) at its first weight.

        `duals(len(front))` are those of the infinite weight: with energy for nothing, they prove the least makespan.
        """
        machine_price = np.maximum(self.price_per_s[vertex], 0.0)
        is_free = vertex == len(self)
        return self.cheapest(machine_price, is_free), machine_price

    def cheapest(self, machine_price: Floats, is_free: bool = False) -> Floats:
        """What a task of each type costs at least, with its energy (unless that is free) and machine time paid for."""
        paid = time_s(self.bag) * machine_price[None, :, None]
        cost_j = self.cost_j.reshape(paid.shape)
        return np.asarray(np.where(np.isfinite(cost_j), paid if is_free else paid + cost_j, np.inf).min(axis=(1, 2)))

    def prices_at(self, weight_w: float) -> Floats:
        """Prices of a second of each machine type that prove the least of extra energy + weight x makespan."""
        k = max(int(np.searchsorted(self.weight_w, weight_w, side="right")) - 1, 0)
        low, high, prices = self.weight_w[k], self.weight_w[k + 1], self.price_per_s
        if k + 1 == len(self):
            return np.asarray(np.maximum(prices[k], 0.0) + (weight_w - low) * np.maximum(prices[k + 1], 0.0))
        share = (weight_w - low) / (high - low)
        return np.asarray(np.maximum((1.0 - share) * prices[k] + share * prices[k + 1], 0.0))

    def raise_if_not_of(self, bag: Bag) -> None:
        """InputError when this is the front of another bag, or of other costs than extra energy."""
        ours, theirs = ((of.counts, of.system.counts, of.exec_s) for of in (self.bag, bag))
        is_its = self.bag is bag or all(map(np.array_equal, ours, theirs))
        if not (is_its and np.array_equal(self.cost_j, _columns(bag.extra_j))):
            given = "found the bound front of another bag or of other costs"
            raise InputError(Problem("front", given, "must be the one of this bag's extra energy"))

    def value_at(self, weight_w: float) -> float:
        """The least of extra energy + weight x makespan."""
        vertex = max(int(np.searchsorted(self.weight_w, weight_w, side="right")) - 1, 0)
        return float(self.extra_j[vertex] + weight_w * self.makespan_s[vertex])

    def energy_at(self, makespan_s: float) -> float:
        """The least energy of anything that is done by then; infinite where nothing can be."""
        if makespan_s < self.least_makespan_s:
            return math.inf
        energy_j, at_s = self.energy_j[self.pareto], self.makespan_s[self.pareto]
        return float(np.interp(makespan_s, at_s[::-1], energy_j[::-1]))


class BoundPoint(NamedTuple):
    """One point of the bound, and how tasks are split there."""

    extra_j: float
    makespan_s: float
    split: Floats


@dataclass(frozen=True, eq=False)
class _Listed:
    """Solutions that are there in full, as HiGHS leaves them."""

    shape: tuple[int, int]
    cells: tuple[Any, Any]
    tasks: tuple[Floats, ...]

    def split(self, vertex: int) -> Floats:
        """Tasks of each [task type, column]."""
        split = np.zeros(self.shape)
        split[self.cells] = self.tasks[vertex]
        return split


def bound_front(bag: Bag, engine: Engine = "auto", cost_j: Floats | None = None) -> BoundFront:
    """All vertices of the bound of a bag.

    The sweep is our own and the fast one; `"auto"` leaves to HiGHS only what the sweep has not the accuracy for.
    `cost_j`, by choice, takes the place of extra energy where choices cost more than that; the front's energies then
    are such costs.
    """
    return _front(bag, _columns(bag.extra_j if cost_j is None else cost_j), engine)


def bound_at(bag: Bag, weight_w: float, engine: Engine = "auto") -> BoundPoint:
    """The least of extra energy + weight x makespan for one weight. Raises InputError for one below 0 or not finite."""
    if not 0.0 <= weight_w < math.inf:
        raise InputError(Problem("weight_w", f"found {weight_w}", "must be 0 or more, and finite"))
    extra_j = _columns(bag.extra_j)
    if engine == "auto" and extra_j.size > MOST_CHOICES_TO_SWEEP:
        engine = "highs"
    front = _swept(bag, extra_j, engine, weight_w)
    if not isinstance(front, str):
        last = len(front) - 1
        return BoundPoint(float(front.extra_j[last]), float(front.makespan_s[last]), front.split(last))
    program = BagProgram(bag, extra_j)
    point = program.at_weight(weight_w)
    return BoundPoint(point.extra_j, point.makespan_s, program.split(point).reshape(bag.exec_s.shape))


def region(bag: Bag, longest_s: float, engine: Engine = "auto") -> Floats:
    """The corners, as (energy_j, makespan_s), of all that tasks split at will can reach by `longest_s`.

    Counter-clockwise from the cheapest point of that makespan: along the bound to the least makespan, then back up
    the most expensive side (Tarplee, fig. 5). Raises InputError where nothing can be done by then.
    """
    cheap = _front(bag, _columns(bag.extra_j), engine)
    if not cheap.least_makespan_s <= longest_s < math.inf:
        allowed = f"must be finite and no less than the least makespan, {cheap.least_makespan_s:.6g} s"
        raise InputError(Problem("longest_s", f"found {longest_s}", allowed))
    extra_j = _columns(bag.extra_j)
    dear = _front(bag, np.where(np.isfinite(extra_j), -extra_j, np.inf), engine)
    sides = [_cut(cheap.extra_j, cheap.makespan_s, longest_s), _cut(-dear.extra_j, dear.makespan_s, longest_s)[::-1]]
    corners = np.concatenate(sides)
    corners[:, 0] += bag.total_idle_w * corners[:, 1]
    moved = (np.abs(np.diff(corners, axis=0)) > _ROUNDING * corners[1:]).any(axis=1)
    return np.asarray(corners[np.append(True, moved)])


def _cut(extra_j: Floats, makespan_s: Floats, longest_s: float) -> Floats:
    """The part of a side, makespan falling, that is done in time, from the point where it is cut."""
    cut_j = np.interp(longest_s, makespan_s[::-1], extra_j[::-1])
    inside = makespan_s < longest_s
    return np.column_stack((np.append(cut_j, extra_j[inside]), np.append(longest_s, makespan_s[inside])))


def _columns(by_choice: Floats) -> Floats:
    """By [task type, machine type x P-state]."""
    return by_choice.reshape(by_choice.shape[0], -1)


def _front(bag: Bag, extra_j: Floats, engine: Engine) -> BoundFront:
    """All vertices with these costs of the choices."""
    front = _swept(bag, extra_j, engine, math.inf)
    return _solved(bag, extra_j, front) if isinstance(front, str) else front


def _swept(bag: Bag, extra_j: Floats, engine: Engine, until_w: float) -> BoundFront | str:
    """The vertices up to a weight by our own sweep; where HiGHS is to do it, why: nothing if it was asked for."""
    if engine not in _ENGINES:
        raise InputError(unknown_name("engine", engine, _ENGINES))
    if engine == "highs":
        return ""
    try:
        swept = sweep_bag(bag, extra_j, until_w)
    except GaveUpError as error:
        if engine == "sweep":
            raise
        return error.reason
    ends = swept.vertices
    weight_w, price_per_s = np.append(ends.weight_w, math.inf), np.vstack((ends.price, ends.last_slope))
    return BoundFront(bag, weight_w, ends.extra_j, ends.makespan_s, price_per_s, swept, extra_j)


def _solved(bag: Bag, extra_j: Floats, why: str) -> BoundFront:
    """All vertices by HiGHS."""
    program = BagProgram(bag, extra_j)
    points, weight_w, price_per_s = all_vertices(program)
    point_j, point_s = np.array([(point.extra_j, point.makespan_s) for point in points]).T
    solutions = _Listed(extra_j.shape, (program.task_type, program.column), tuple(point.tasks for point in points))
    prices = _lowered(bag, np.array(weight_w), np.array(price_per_s))
    front = BoundFront(bag, np.array(weight_w), point_j, point_s, prices, solutions, extra_j, why)
    _raise_if_unproven(front)
    return front


def _lowered(bag: Bag, weight_w: Floats, price_per_s: Floats) -> Floats:
    """Prices of which a second of all machines costs no more than its weight, or than 1 for the makespan alone."""
    price_per_s = np.maximum(price_per_s, 0.0)
    limit_w, paid_w = np.where(np.isfinite(weight_w), weight_w, 1.0), price_per_s @ bag.system.counts
    over = paid_w > limit_w
    price_per_s[over] *= (limit_w[over] / paid_w[over])[:, None]
    return price_per_s


def _raise_if_unproven(front: BoundFront) -> None:
    """JoulewiseError where prices do not prove the vertices they belong to."""
    counts = front.bag.counts.astype(np.float64)
    proven_j = np.array([counts @ front.duals(k)[0] for k in range(len(front))])
    paid_j = front.weight_w[:-1] * front.makespan_s
    if not (front.extra_j + paid_j - proven_j <= _UNPROVEN * (np.abs(front.extra_j) + paid_j)).all():
        raise JoulewiseError("the bound of this bag cannot be proven: its times or powers are too far apart")

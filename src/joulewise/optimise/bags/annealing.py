"""Makespan/energy fronts close to their bound: linear programs say how to split a bag, annealing makes it whole.

At many places along the bound the split there is rounded, then annealed with machine types as bins: whole tasks move
between types until loads fit the makespan again at little energy. What each machine type then has is dealt to its
machines, longest tasks first, and annealed with machines as bins until none finishes late. The machines of a type
are alike, so the first search knows only types and the second never changes the energy. A third one over all machines
at once finds what the two miss where machines have few tasks each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.bags.search import Bins, Content, CoolingPlan, anneal, pack
from joulewise.kernels.draws import draws_of
from joulewise.model.arrays import Counts, Floats, freeze_fields
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.recovery import Recovery
from joulewise.optimise.front import MAKESPAN_ENERGY, Front, non_dominated
from joulewise.optimise.gap import gap_of
from joulewise.rng import generator

DEFAULT_MOVES = 20_000_000
MOVES_PER_TASK, LEAST_MOVES, MOST_MOVES = 25, 1000, 25_000
"""How many moves each of the three searches gets at one place of the bound, and the limits of that."""

SOFTNESS = (0.02, 0.02, 0.02, 0.1)
"""How far loads are let above the limit, in typical task times, in turn: a soft one finds what few tasks can make."""

WARM, COLD = 0.1, 0.01
"""Temperatures: the worth, at machine prices, of this many typical task times."""

LEAST_PRICE = 0.2
"""Machine types that have time to spare are still kept to the limit at this share of the mean price."""

PACK_WARM, PACK_COLD = 1.5e-2, 1.5e-6
"""Temperatures of the search over machines, in squares of typical task times."""

BEYOND, STEEPER = 0.05, 250.0
"""How much of the search is for the least makespan alone, and up to how many times the last weight it goes."""

_GOLDEN, _PLASTIC = 0.6180339887498949, 0.7548776662466927
_PRUNE_AT = 512
_ROUNDING = 1e-12
_anneal: Any = anneal
_pack: Any = pack


@dataclass(frozen=True, eq=False, kw_only=True)
class BagFront(Front):
    """A makespan/energy front of allocations, with the proof of how good each is.

    `gap_j` is the energy of each point above the least that its makespan allows at all. Stopped by the clock, a
    search is not deterministic: another run may get farther.
    """

    gap_j: Floats
    n_moves: int
    is_deterministic: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_fields(self, {"gap_j": np.float64})

    @property
    def gap_percent(self) -> Floats:
        """The gap of each point, in percent of the least energy that its makespan allows."""
        return 100.0 * gap_of(self.gap_j, self.points[:, 1] - self.gap_j)


def corners_of(bound: BoundFront) -> Floats:
    """The corners of a bound's front as (makespan_s, energy_j): what fronts are measured against."""
    return np.column_stack((bound.makespan_s, bound.energy_j))[bound.pareto]


def improve(
    bag: Bag,
    bound: BoundFront,
    seeds: Sequence[BagAllocation] = (),
    *,
    moves: int = DEFAULT_MOVES,
    seconds: float = math.inf,
    seed: int = 0,
) -> BagFront:
    """Search allocations near the bound, and keep the front of them and of the seeds.

    Stops after this many moves or seconds, whichever comes first. Raises InputError.
    """
    if moves < 0 or not seconds > 0:
        raise InputError(Problem("annealing", f"found {moves} moves, {seconds} s", "must be 0 or more, above 0 s"))
    began, search, finds = time.perf_counter(), _Search(bag, bound, seed), _Found(bag)
    for allocation in seeds:
        finds.add(allocation.counts.reshape(allocation.counts.shape[0], -1))
    per_search = min(max(MOVES_PER_TASK * bag.n_tasks, LEAST_MOVES), MOST_MOVES)
    n_visits, done = max(math.ceil(moves / (3 * per_search)), 1), 0
    while done < n_visits and (done == 0 or time.perf_counter() - began < seconds):
        search.visit(done, finds, min(per_search, moves // 3))
        done += 1
    return finds.front(bound, min(3 * done * per_search, moves), done == n_visits)


class _Target(NamedTuple):
    """A place on the bound: its split, its makespan, and the price of a second of each machine type there."""

    split: Floats
    limit_s: float
    per_s: Floats
    softness_s: float


class _Search:
    """Everything about a bag that annealing needs, made ready once."""

    def __init__(self, bag: Bag, bound: BoundFront, seed: int) -> None:
        bound.raise_if_not_of(bag)
        self.bag, self.bound, self.state = bag, bound, draws_of(generator(seed, "annealing"))
        self.recovery, self.types = Recovery(bag), np.flatnonzero(bag.system.counts)
        self.n_machines = bag.system.counts[self.types].astype(np.float64)
        self.exec_s, self.extra_j = (_by_type(values)[self.types] for values in (bag.exec_s, bag.extra_j))
        self.typical_s = float(bag.counts @ bag.exec_s.min(axis=(1, 2)) / bag.n_tasks)
        self.row = np.repeat(np.arange(self.types.size), bag.system.counts[self.types])
        self.along = _along(bound)
        self.split_content = _content(self.types.size, self.exec_s.shape[1])
        self.pack_content = _content(bag.system.n_machines, self.exec_s.shape[1])

    def visit(self, number: int, finds: _Found, n_moves: int) -> None:
        """Three searches near one place; consecutive numbers spread evenly over the bound, whenever one stops."""
        softness_s = SOFTNESS[number % len(SOFTNESS)] * self.typical_s
        target = _Target(*self._place(number * _GOLDEN % 1.0 * (1.0 + BEYOND)), softness_s)
        finds.add(_by_kind(self.recovery.allocation(target.split)))
        self._anneal_split(target, n_moves)
        self._pack(n_moves)
        packed_s = finds.add(self.pack_content.best)
        looser_s = 2.0 * (number * _PLASTIC % 1.0) * (packed_s - target.limit_s)
        self._finish(target._replace(limit_s=target.limit_s + looser_s), n_moves)
        finds.add(self.pack_content.best)

    def _place(self, position: float) -> tuple[Floats, float, Floats]:
        """Split, makespan and prices at a position: from 0, the least energy, to 1, the least makespan.

        Beyond 1 it is the least makespan with energy counting less and less.
        """
        bound, last = self.bound, len(self.bound) - 1
        start = bound.pareto.start
        if position >= 1.0 or self.along[-1] == 0.0:
            finite_w = max(float(bound.weight_w[last]), float(bound.extra_j[last] / bound.makespan_s[last]), 1e-9)
            weight_w = finite_w * STEEPER ** (max(position - 1.0, 0.0) / BEYOND)
            return bound.split(last), bound.least_makespan_s, weight_w * bound.price_per_s[-1]
        vertex = int(np.searchsorted(self.along, position * self.along[-1], side="right")) - 1
        share = (position * self.along[-1] - self.along[vertex]) / (self.along[vertex + 1] - self.along[vertex])
        vertex += start
        limit_s = (1.0 - share) * bound.makespan_s[vertex] + share * bound.makespan_s[vertex + 1]
        return bound.split(vertex, share), float(limit_s), bound.price_per_s[vertex + 1]

    def _anneal_split(self, target: _Target, n_moves: int) -> None:
        """Make the split of a target whole: tasks by [machine type, kind]."""
        content, rows = self.split_content, np.arange(self.types.size)
        content.counts[:] = _by_type(self.recovery.bench.whole.reshape(self.bag.exec_s.shape))[self.types]
        bins = self._bins(target, self.exec_s / self.n_machines[:, None], rows, self.n_machines)
        _anneal(self.state, bins, content, self._cooling(target, n_moves))

    def _pack(self, n_moves: int) -> None:
        """Deal each machine type's part to its machines: tasks by [machine, kind]."""
        system, split, content = self.bag.system, self.split_content.best, self.pack_content
        whole = np.zeros((system.n_machine_types, split.shape[1]))
        whole[self.types] = split
        by_choice = whole.reshape(-1, system.n_task_types, system.n_pstates).transpose(1, 0, 2)
        content.counts[:] = _by_kind(self.recovery.allocation(by_choice))
        mean_s = (split * np.where(split > 0, self.exec_s, 0.0)).sum(axis=1) / self.n_machines
        limit_s, square = np.full(self.row.size, mean_s.max()), self.typical_s**2
        bins = Bins(self.exec_s, np.zeros_like(self.extra_j), self.row, limit_s, np.ones(self.row.size), 1)
        cooling = CoolingPlan(n_moves, PACK_WARM * square, PACK_COLD * square, 0.0)
        _pack(self.state, bins, content, cooling, np.append(0, np.cumsum(system.counts[self.types])))

    def _finish(self, target: _Target, n_moves: int) -> None:
        """Anneal all machines together, from what they have been dealt."""
        content = self.pack_content
        content.counts[:] = content.best
        bins = self._bins(target, self.exec_s, self.row, np.ones(self.row.size))
        _anneal(self.state, bins, content, self._cooling(target, n_moves))

    def _bins(self, target: _Target, load_s: Floats, rows: Counts, n_machines: Floats) -> Bins:
        """Bins of this many machines each, with the target's limit and prices."""
        price = self._prices(target)
        per_s2 = n_machines * np.maximum(price, LEAST_PRICE * price.mean())[rows] / (2.0 * target.softness_s)
        limit_s = np.full(rows.size, target.limit_s - target.softness_s)
        return Bins(load_s, self.extra_j, rows, limit_s, per_s2, self.bag.system.n_pstates)

    def _cooling(self, target: _Target, n_moves: int) -> CoolingPlan:
        heat = float(self._prices(target).mean()) * self.typical_s
        return CoolingPlan(n_moves, WARM * heat, COLD * heat, -math.inf)

    def _prices(self, target: _Target) -> Floats:
        return np.maximum(target.per_s[self.types], 0.0)


class _Found:
    """Allocations found so far, `[machine, kind]`, of which the dominated are dropped now and then."""

    def __init__(self, bag: Bag) -> None:
        self.bag = bag
        possible = np.isfinite(bag.exec_s)
        self.exec_s, self.extra_j = (
            _by_type(np.where(possible, values, 0.0))[bag.system.machine_type] for values in (bag.exec_s, bag.extra_j)
        )
        self.points: list[tuple[float, float]] = []
        self.counts: list[Counts] = []

    def add(self, counts: Counts) -> float:
        """Remember an allocation; returns its makespan."""
        makespan_s = float(np.einsum("mk,mk->m", counts, self.exec_s).max())
        extra_j = float(np.einsum("mk,mk->", counts, self.extra_j))
        self.points.append((makespan_s, extra_j + self.bag.total_idle_w * makespan_s))
        self.counts.append(counts.copy())
        if len(self.points) >= _PRUNE_AT and len(self.points) % _PRUNE_AT == 0:
            kept = non_dominated(np.array(self.points))
            self.points, self.counts = [self.points[k] for k in kept], [self.counts[k] for k in kept]
        return makespan_s

    def front(self, bound: BoundFront, n_moves: int, is_deterministic: bool) -> BagFront:
        """The front of all that was found."""
        points = np.array(self.points)
        kept, shape = non_dominated(points), (-1, self.bag.system.n_task_types, self.bag.system.n_pstates)
        allocations = tuple(BagAllocation(self.bag, self.counts[k].reshape(shape)) for k in kept)
        gap_j = _gaps_j(bound, points[kept])
        return BagFront(
            MAKESPAN_ENERGY,
            points[kept],
            allocations,
            gap_j=gap_j,
            n_moves=n_moves,
            is_deterministic=is_deterministic,
        )


def _gaps_j(bound: BoundFront, points: Floats) -> Floats:
    """Energy above the least for each makespan; what only rounding puts below it counts as 0."""
    least_j = [bound.energy_at(max(float(makespan_s), bound.least_makespan_s)) for makespan_s in points[:, 0]]
    gap_j = points[:, 1] - least_j
    return np.where(np.abs(gap_j) <= _ROUNDING * points[:, 1], 0.0, gap_j)


def _along(bound: BoundFront) -> Floats:
    """Position of each vertex of the bound's front: places at equal distances lose equal area to the steps between."""
    part = bound.pareto
    return np.append(0.0, np.cumsum(np.sqrt(np.diff(bound.energy_j[part]) * -np.diff(bound.makespan_s[part]))))


def _by_type(by_choice: Any) -> Any:
    """From [task type, machine type, P-state] to [machine type, kind]."""
    return np.ascontiguousarray(by_choice.transpose(1, 0, 2)).reshape(by_choice.shape[1], -1)


def _by_kind(allocation: BagAllocation) -> Counts:
    """The counts of an allocation by [machine, kind]."""
    return allocation.counts.reshape(allocation.counts.shape[0], -1)


def _content(n_bins: int, n_kinds: int) -> Content:
    """Room for what bins hold."""
    counts, best, held, place = (np.zeros((n_bins, n_kinds), np.int64) for _ in range(4))
    return Content(counts, best, held, place, np.zeros(n_bins, np.int64), np.zeros(n_bins))

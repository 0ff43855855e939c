"""Makespan/energy fronts close to their bound: linear programs say how to split a bag, annealing makes it whole.

At many places along the bound the split there is rounded, then annealed with machine types as bins: whole tasks move
between types until loads fit the makespan again at little energy. What each machine type then has is dealt to its
machines, longest tasks first, and annealed with machines as bins until none finishes late. The machines of a type
are alike, so the first search knows only types and the second never changes the energy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.bag_search import Bins, Content, Cooling, anneal, pack
from joulewise.kernels.draws import draws_of
from joulewise.model.arrays import Counts, Floats, freeze_fields
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bag_bound import BoundFront
from joulewise.optimise.bag_recovery import Recovery
from joulewise.optimise.front import MAKESPAN_ENERGY, Front, non_dominated
from joulewise.rng import generator

DEFAULT_MOVES = 20_000_000
SPLIT_MOVES, PACK_MOVES = 50_000, 50_000
"""Moves of both searches at one place of the bound."""

SOFTNESS, WARM, COLD = 0.02, 0.1, 0.01
"""In typical task times: how far loads are let above the limit, and what temperatures are worth at machine prices."""

PACK_WARM, PACK_COLD = 1.5e-2, 1.5e-6
"""Temperatures of the search over machines, in squares of typical task times."""

BEYOND, STEEPER = 0.05, 250.0
"""How much of the search is for the least makespan alone, and up to how many times the last weight it goes."""

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_PRUNE_AT = 512
_anneal: Any = anneal
_pack: Any = pack


@dataclass(frozen=True, eq=False)
class BagFront(Front):
    """A makespan/energy front of allocations, with the proof of how good each is.

    `gap_j` is the energy of each point above the least that its makespan allows at all. Stopped by the clock, a
    search is not deterministic: another run may get farther.
    """

    gap_j: Floats = ()  # type: ignore[assignment]
    n_moves: int = 0
    is_deterministic: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_fields(self, {"gap_j": np.float64})


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

    Stops after so many moves or seconds, whichever comes first. Raises InputError.
    """
    if moves < 0 or not seconds > 0:
        raise InputError(Problem("annealing", f"found {moves} moves, {seconds} s", "must be 0 or more, above 0 s"))
    began, search, found = time.perf_counter(), _Search(bag, bound, seed), _Found(bag)
    for allocation in seeds:
        found.add(allocation.counts.reshape(allocation.counts.shape[0], -1))
    per_visit = SPLIT_MOVES + PACK_MOVES
    n_visits, done = max(math.ceil(moves / per_visit), 1), 0
    while done < n_visits and (done == 0 or time.perf_counter() - began < seconds):
        search.visit(done, found, min(1.0, moves / (n_visits * per_visit)))
        done += 1
    return found.front(bound, min(done * per_visit, moves), done == n_visits)


class _Target(NamedTuple):
    """A place on the bound: its split, its makespan, and the price of a second of each machine type there."""

    split: Floats
    limit_s: float
    per_s: Floats


class _Search:
    """Everything about a bag that annealing needs, made ready once."""

    def __init__(self, bag: Bag, bound: BoundFront, seed: int) -> None:
        self.bag, self.bound, self.state = bag, bound, draws_of(generator(seed, "annealing"))
        self.recovery, self.types = Recovery(bag), np.flatnonzero(bag.system.counts)
        self.n_machines = bag.system.counts[self.types].astype(np.float64)
        self.exec_s, self.extra_j = (_by_type(values)[self.types] for values in (bag.exec_s, bag.extra_j))
        self.typical_s = float(bag.counts @ bag.exec_s.min(axis=(1, 2)) / bag.n_tasks)
        self.along = _along(bound)
        self.split_content = _content(self.types.size, self.exec_s.shape[1])
        self.pack_content = _content(bag.system.n_machines, self.exec_s.shape[1])

    def visit(self, number: int, found: _Found, effort: float) -> None:
        """Search near one place; consecutive numbers spread evenly over the bound, whenever one stops."""
        target = self._target(number * _GOLDEN % 1.0 * (1.0 + BEYOND))
        found.add(_by_kind(self.recovery.allocation(target.split)))
        split = self._annealed_split(target, round(effort * SPLIT_MOVES))
        found.add(self._packed(split, round(effort * PACK_MOVES)))

    def _target(self, position: float) -> _Target:
        """The place at a position: 0 is the least energy, 1 the least makespan; beyond, energy counts less and less."""
        bound, last = self.bound, len(self.bound) - 1
        start = bound.pareto.start
        if position >= 1.0 or start == last:
            finite_w = max(float(bound.weight_w[last]), float(bound.extra_j[last] / bound.makespan_s[last]), 1e-9)
            weight_w = finite_w * STEEPER ** (max(position - 1.0, 0.0) / BEYOND)
            return _Target(bound.split(last), bound.least_makespan_s, weight_w * bound.price_per_s[-1])
        vertex = int(np.searchsorted(self.along, position * self.along[-1], side="right")) - 1
        share = (position * self.along[-1] - self.along[vertex]) / (self.along[vertex + 1] - self.along[vertex])
        vertex += start
        limit_s = (1.0 - share) * bound.makespan_s[vertex] + share * bound.makespan_s[vertex + 1]
        return _Target(bound.split(vertex, share), float(limit_s), bound.price_per_s[vertex + 1])

    def _annealed_split(self, target: _Target, n_moves: int) -> Counts:
        """Whole tasks by [machine type, kind], near the split of a target."""
        content, price = self.split_content, np.maximum(target.per_s[self.types], 0.0)
        whole = self.recovery.bench.whole.reshape(self.bag.exec_s.shape)
        content.counts[:] = _by_type(whole)[self.types]
        per_s, softness_s = float(price.mean()), SOFTNESS * self.typical_s
        per_s2 = self.n_machines * np.maximum(price, 0.2 * per_s) / (2.0 * softness_s)
        limit_s = np.full(self.types.size, target.limit_s - softness_s)
        load_s, rows = self.exec_s / self.n_machines[:, None], np.arange(self.types.size)
        bins = Bins(load_s, self.extra_j, rows, limit_s, per_s2, self.bag.system.n_pstates)
        heat = per_s * self.typical_s
        _anneal(self.state, bins, content, Cooling(n_moves, WARM * heat, COLD * heat, -math.inf))
        return content.best

    def _packed(self, split: Counts, n_moves: int) -> Counts:
        """Whole tasks by [machine, kind]: each machine type's part dealt to its machines."""
        system, content = self.bag.system, self.pack_content
        whole = np.zeros((system.n_machine_types, split.shape[1]))
        whole[self.types] = split
        by_choice = whole.reshape(-1, system.n_task_types, system.n_pstates).transpose(1, 0, 2)
        content.counts[:] = _by_kind(self.recovery.allocation(by_choice))
        limit_s = (split * np.where(split > 0, self.exec_s, 0.0)).sum(axis=1) / self.n_machines
        first_bin = np.append(0, np.cumsum(system.counts[self.types]))
        rows = np.repeat(np.arange(self.types.size), system.counts[self.types])
        limits_s, ones = np.full(rows.size, limit_s.max()), np.ones(rows.size)
        square = self.typical_s**2
        cooling = Cooling(n_moves, PACK_WARM * square, PACK_COLD * square, 0.0)
        _pack(self.state, Bins(self.exec_s, self._nothing(), rows, limits_s, ones, 1), content, cooling, first_bin)
        return content.best

    def _nothing(self) -> Floats:
        return np.zeros_like(self.exec_s)


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

    def add(self, counts: Counts) -> None:
        """Remember an allocation."""
        makespan_s = float(np.einsum("mk,mk->m", counts, self.exec_s).max())
        extra_j = float(np.einsum("mk,mk->", counts, self.extra_j))
        self.points.append((makespan_s, extra_j + self.bag.total_idle_w * makespan_s))
        self.counts.append(counts.copy())
        if len(self.points) >= _PRUNE_AT and len(self.points) % _PRUNE_AT == 0:
            kept = non_dominated(np.array(self.points))
            self.points, self.counts = [self.points[k] for k in kept], [self.counts[k] for k in kept]

    def front(self, bound: BoundFront, n_moves: int, is_deterministic: bool) -> BagFront:
        """The front of all that was found."""
        points = np.array(self.points)
        kept, shape = non_dominated(points), (-1, self.bag.system.n_task_types, self.bag.system.n_pstates)
        allocations = tuple(BagAllocation(self.bag, self.counts[k].reshape(shape)) for k in kept)
        gap_j = np.array([energy_j - bound.energy_at(makespan_s) for makespan_s, energy_j in points[kept]])
        return BagFront(MAKESPAN_ENERGY, points[kept], allocations, gap_j, n_moves, is_deterministic)


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

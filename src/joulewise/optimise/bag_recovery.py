"""Full allocations from splits: rounding and longest tasks first (Tarplee, algorithms 1 and 2), in grouped form."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.lpt import Bench, Lengths, assign, score
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bag_bound import BoundFront
from joulewise.optimise.swept import time_s

_assign: Any = assign
_score: Any = score
_NO_COUNTS = np.empty((0, 0), np.int64)
_MOST_TICKS = 2**61


class Places(NamedTuple):
    """Points of a bound front: so much of the way from a vertex to the next."""

    vertex: Counts
    share: Floats


class Scores(NamedTuple):
    """What full allocations reach, one row per place."""

    makespan_s: Floats
    energy_j: Floats


class Recovery:
    """Everything about a bag that recovering allocations needs, made ready once."""

    def __init__(self, bag: Bag) -> None:
        self.bag = bag
        system, shape = bag.system, (bag.counts.size, bag.system.n_machine_types * bag.system.n_pstates)
        exec_s = time_s(bag).reshape(shape)
        self.tick_s = tick_s(bag, exec_s)
        ticks = np.maximum(np.rint(exec_s / self.tick_s), 1.0).astype(np.int64)
        first_machine = np.concatenate(([0], np.cumsum(system.counts)))
        self.lengths = Lengths(ticks, bag.extra_j.reshape(shape), bag.counts, first_machine, system.n_pstates)
        by_machine = [np.empty(system.n_machines, np.int64) for _ in range(3)]
        order = np.empty(shape[0] * system.n_pstates, np.int64)
        self.bench = Bench(np.empty(shape), np.empty(shape, np.int64), order, *by_machine)

    def allocation(self, split: Floats) -> BagAllocation:
        """The full allocation of a split."""
        system = self.bag.system
        self.bench.split[:] = split.reshape(self.bench.split.shape)
        counts = np.zeros((system.n_machines, self.bench.order.size), np.int64)
        _assign(self.lengths, self.bench, counts)
        return BagAllocation(self.bag, counts.reshape(system.n_machines, self.bag.counts.size, system.n_pstates))

    def scores(self, front: BoundFront, places: Places) -> Scores:
        """Makespan and energy of the full allocations at these places, without making them."""
        ticks, extra_j = np.empty(places.share.size, np.int64), np.empty(places.share.size)
        begin = np.append(np.flatnonzero(np.diff(places.vertex, prepend=-1)), places.share.size)
        for first, last in pairwise(begin):
            vertex, part = int(places.vertex[first]), slice(first, last)
            start = front.split(vertex).reshape(self.bench.split.shape)
            end = start
            if places.share[part].any():
                end = front.split(vertex + 1).reshape(start.shape)
            _score(self.lengths, self.bench, _NO_COUNTS, start, end, places.share[part], ticks[part], extra_j[part])
        makespan_s = np.asarray(ticks * self.tick_s, np.float64)
        return Scores(makespan_s, extra_j + self.bag.total_idle_w * makespan_s)


def recover(bag: Bag, split: Floats) -> BagAllocation:
    """A full allocation near a split of the tasks. Raises InputError where the split is none of this bag's."""
    _check_split(bag, split)
    return Recovery(bag).allocation(split)


def recovered(bag: Bag, front: BoundFront, n_points: int) -> list[BagAllocation]:
    """Full allocations at every vertex that no other beats, and at `n_points` more evenly along the front."""
    recovery, places = Recovery(bag), places_along(front, n_points, front.pareto.start)
    return [recovery.allocation(front.split(int(k), float(share))) for k, share in zip(*places)]


def places_along(front: BoundFront, n_points: int, first: int = 0) -> Places:
    """Every vertex from `first` on, and `n_points` places at equal distances along the front between them.

    Distances are measured with energy and makespan each scaled to its range.
    """
    vertices = np.arange(first, len(front))
    if vertices.size == 1:
        return Places(vertices, np.zeros(1))
    lengths = [np.diff(values[first:]) / np.ptp(values[first:]) for values in (front.extra_j, front.makespan_s)]
    along = np.concatenate(([0.0], np.cumsum(np.hypot(*lengths))))
    at = np.unique(np.concatenate((along, np.linspace(0.0, along[-1], n_points + 2))))
    vertex = np.searchsorted(along, at, side="right") - 1
    step = np.append(np.diff(along), np.inf)
    return Places(vertex + first, (at - along[vertex]) / step[vertex])


def tick_s(bag: Bag, exec_s: Floats) -> float:
    """The shortest power of two, in seconds, of which no machine's load has more than 2^62."""
    longest_s = float(np.maximum(bag.counts, 1) @ exec_s.max(axis=1))
    return math.ldexp(1.0, math.frexp(longest_s / _MOST_TICKS)[1])


def _check_split(bag: Bag, split: Floats) -> None:
    """Refuse a split that is not one of this bag's tasks over choices that can be made."""
    if split.shape != bag.exec_s.shape:
        raise InputError(Problem("split", f"found the shape {split.shape}", f"must be {bag.exec_s.shape}"))
    total = split.sum(axis=(1, 2))
    if not (np.abs(total - bag.counts) <= 1e-6 + 1e-9 * bag.counts).all() or not (split >= -1e-6).all():
        allowed = "must be 0 or more each, and for each task type sum to its tasks"
        raise InputError(Problem("split", f"found the sums {total.tolist()}", f"{allowed}, {bag.counts.tolist()}"))
    if (split > 0).any(where=~np.isfinite(bag.exec_s)):
        raise InputError(Problem("split", "found tasks on choices that cannot be made", "must be 0 there"))

"""The slow twins of the timetables: a list of commitments, added up again for every question; and one for each node."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass
class Commitments:
    """So much of one resource, and (amount, start, end) of all that is taken of it."""

    capacity: int
    taken: list[tuple[int, float, float]] = field(default_factory=list)

    def take(self, amount: int, start_s: float, end_s: float) -> None:
        self.taken.append((amount, start_s, end_s))

    def forget_before(self, now_s: float) -> None:
        self.taken = [row for row in self.taken if row[2] > now_s]

    def free_at(self, at_s: float) -> int:
        return self.capacity - sum(amount for amount, start_s, end_s in self.taken if start_s <= at_s < end_s)

    def changes(self, start_s: float, end_s: float) -> list[float]:
        """The start, and all instants up to the end, without it, at which something begins or ends."""
        instants = {instant for _, *both in self.taken for instant in both}
        return [start_s, *sorted(instant for instant in instants if start_s < instant < end_s)]

    def fits(self, amount: int, start_s: float, end_s: float) -> bool:
        return all(self.free_at(at_s) >= amount for at_s in self.changes(start_s, end_s))

    def first_fit(self, amount: int, duration_s: float, from_s: float) -> float:
        for start_s in self.changes(from_s, math.inf):
            if self.fits(amount, start_s, start_s + duration_s):
                return start_s
        return math.inf

    def free_seconds(self, start_s: float, end_s: float) -> float:
        instants = self.changes(start_s, end_s)
        return sum(self.free_at(a) * (b - a) for a, b in zip(instants, [*instants[1:], end_s], strict=True))


@dataclass
class NamedNodes:
    """The (start, end, job) of what each node is, or ever was, committed to."""

    n_nodes: int
    pins: list[list[tuple[float, float, int]]] = field(init=False)

    def __post_init__(self) -> None:
        self.pins = [[] for _ in range(self.n_nodes)]

    def is_free(self, k: int, start_s: float, end_s: float) -> bool:
        return all(b <= start_s or a >= end_s for a, b, _ in self.pins[k])

    def first_fit(self, nodes: int, duration_s: float, from_s: float) -> float:
        ends = {b for pins in self.pins for _, b, _ in pins if b > from_s}
        for start_s in (from_s, *sorted(ends)):
            if sum(self.is_free(k, start_s, start_s + duration_s) for k in range(self.n_nodes)) >= nodes:
                return start_s
        return math.inf

    def n_voids(self, k: int) -> int:
        """How many idle voids there are between two pins of a node."""
        pins = sorted(self.pins[k])
        return sum(a[1] < b[0] for a, b in pairwise(pins))

    def void_s(self, k: int, start_s: float) -> float:
        """How long the void of a node is in which an instant lies."""
        before = max((b for _, b, _ in self.pins[k] if b <= start_s), default=-math.inf)
        after = min((a for a, _, _ in self.pins[k] if a >= start_s), default=math.inf)
        return after - before

    def rank(self, k: int, start_s: float, end_s: float) -> tuple[int, float, int]:
        """By how many voids there would be more, the size of the void, and number."""
        void_s, n_voids = self.void_s(k, start_s), self.n_voids(k)
        self.pins[k].append((start_s, end_s, -1))
        added = self.n_voids(k) - n_voids
        self.pins[k].pop()
        return added, void_s, k

    def pin(self, i: int, nodes: int, start_s: float, end_s: float) -> list[int]:
        """The nodes chosen, best first."""
        free = [k for k in range(self.n_nodes) if self.is_free(k, start_s, end_s)]
        chosen = sorted(free, key=lambda k: self.rank(k, start_s, end_s))[:nodes]
        for k in chosen:
            self.pins[k].append((start_s, end_s, i))
        return chosen

    def unpin(self, i: int, from_s: float) -> None:
        """Take the nodes of a job back from an instant on."""
        kept = [[(a, min(b, from_s) if j == i else b, j) for a, b, j in pins] for pins in self.pins]
        self.pins = [[(a, b, j) for a, b, j in pins if a < b] for pins in kept]

"""The slow twin of the timetable: a list of commitments, added up again for every question."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


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

"""The slow twin of annealing what bins hold: every state is evaluated from all that is in it."""

from __future__ import annotations

import math

from joulewise.kernels.bags.search import MOVES_PER_STEP, Bins, CoolingPlan
from joulewise.model.arrays import Counts
from tests.twins.draws import Draws, high, low


def loads(bins: Bins, counts: Counts) -> list[float]:
    """The load of each bin."""
    return [sum(n * bins.load_s[row, kind] for kind, n in enumerate(held) if n) for row, held in zip(bins.row, counts)]


def cost_of(bins: Bins, counts: Counts) -> float:
    """Energy of all tasks, and the penalties of loads above their limits."""
    energy_j = sum(
        n * bins.extra_j[row, kind] for row, held in zip(bins.row, counts) for kind, n in enumerate(held) if n
    )
    over_s = [max(busy_s - limit_s, 0.0) for busy_s, limit_s in zip(loads(bins, counts), bins.limit_s)]
    return float(energy_j + sum(per_s2 * over**2 for per_s2, over in zip(bins.per_s2, over_s)))


class Annealing:
    """Bins that exchange tasks; kinds that a bin holds are kept in the order in which moves find them."""

    def __init__(self, bins: Bins, counts: Counts, draws: Draws) -> None:
        self.bins, self.counts, self.draws = bins, counts, draws
        self.held = [[kind for kind, n in enumerate(row) if n] for row in counts]

    def run(self, cooling: CoolingPlan) -> Counts:
        """The best state seen."""
        cost = least = cost_of(self.bins, self.counts)
        best, temperature = self.counts.copy(), cooling.start
        for move in range(cooling.n_moves):
            if least <= cooling.enough:
                break
            if move % MOVES_PER_STEP == 0:
                temperature *= (cooling.end / cooling.start) ** (MOVES_PER_STEP / cooling.n_moves)
            cost = self.move(cost, temperature)
            if cost < least:
                least, best = cost, self.counts.copy()
        return best

    def move(self, cost: float, temperature: float) -> float:
        """Try one move; returns the cost after it."""
        changes = self.proposal()
        if not changes:
            return cost
        before = self.counts.copy()
        for b, kind, n in changes:
            self.counts[b, kind] += n
        changed = cost_of(self.bins, self.counts)
        rise = changed - cost
        if rise > 0.0 and not (rise < 16.0 * temperature and self.draws.share() < math.exp(-rise / temperature)):
            self.counts[:] = before
            return cost
        self.update_lists(changes, before)
        return changed

    def proposal(self) -> list[tuple[int, int, int]]:
        """What a random move takes from and adds to bins, in that order."""
        bits = self.draws.bits()
        a = high(bits, len(self.held))
        if not self.held[a]:
            return []
        kind = self.held[a][low(bits, len(self.held[a]))]
        bits = self.draws.bits()
        b = high(bits, len(self.held))
        other = low(bits, len(self.held[b]) + 1)
        if a == b:
            changed = self.in_some_pstate(kind)
            return [] if changed == kind else [(a, kind, -1), (a, changed, 1)]
        if other == len(self.held[b]):
            return [(a, kind, -1), (b, self.in_some_pstate(kind), 1)]
        given = self.held[b][other]
        if given == kind:
            return []
        there, here = self.in_some_pstate(kind), self.in_some_pstate(given)
        return [(a, kind, -1), (b, given, -1), (a, here, 1), (b, there, 1)]

    def in_some_pstate(self, kind: int) -> int:
        """The same task type in a random P-state."""
        n = self.bins.n_pstates
        return kind if n == 1 else kind - kind % n + high(self.draws.bits(), n)

    def update_lists(self, changes: list[tuple[int, int, int]], before: Counts) -> None:
        """Keep the lists of kinds: the last one takes the place of one that is gone, new ones come last."""
        counts = before.copy()
        for b, kind, n in changes:
            had = counts[b, kind]
            counts[b, kind] += n
            if counts[b, kind] == 0:
                last = self.held[b].pop()
                if last != kind:
                    self.held[b][self.held[b].index(kind)] = last
            elif had == 0:
                self.held[b].append(kind)

"""The slow twin of making an allocation shorter and cheaper: every sum is made anew, every place is looked at."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np

from joulewise.kernels.bags.repair import Costs, Deal
from joulewise.model.arrays import Counts, Floats

_SHORTER = 1 - 1e-9


class Repair:
    """An allocation `counts[machine, task type, P-state]` in repair."""

    def __init__(self, costs: Costs, deal: Deal, counts: Counts) -> None:
        self.costs, self.deal, self.counts = costs, deal, counts.copy()

    def column(self, machine: int, pstate: int) -> int:
        return int(self.costs.machine_type[machine]) * self.costs.n_pstates + pstate

    def total(self, of: Floats, machine: int) -> float:
        """The sum over the tasks of a machine."""
        held = [(t, p) for t, p in product(*map(range, self.counts.shape[1:])) if self.counts[machine, t, p]]
        return float(sum(self.counts[machine, t, p] * of[t, self.column(machine, p)] for t, p in held))

    @property
    def busy_s(self) -> list[float]:
        return [self.total(self.costs.exec_s, machine) for machine in range(len(self.counts))]

    def earned(self) -> float:
        extra_j, cost = (sum(self.total(of, m) for m in range(len(self.counts))) for of in self.costs[1:3])
        period_s = max(*self.busy_s, extra_j / self.deal.extra_limit_w)
        if period_s > self.deal.deadline_s:
            return -math.inf
        if self.deal.income < cost and self.deal.deadline_s < math.inf:
            period_s = self.deal.deadline_s
        return (self.deal.income - cost) / period_s

    def places(self) -> list[tuple[int, int]]:
        """The machine of each type that is ready first, in every P-state."""
        busy_s, first = self.busy_s, self.costs.first_machine
        ready = [min(range(a, b), key=lambda m: busy_s[m]) for a, b in pairwise(first) if a < b]
        return list(product(ready, range(self.costs.n_pstates)))

    def move(self, task: int, start: int, from_p: int, end: int, to_p: int) -> None:
        self.counts[start, task, from_p] -= 1
        self.counts[end, task, to_p] += 1

    def give_away(self, latest: int) -> bool:
        busy_s, exec_s, priced, found = self.busy_s, self.costs.exec_s, self.costs.priced, []
        for task, p in np.argwhere(self.counts[latest]).tolist():
            for m, to_p in self.places():
                mine, to = self.column(latest, p), self.column(m, to_p)
                end_s = busy_s[m] + exec_s[task, to]
                if m != latest and end_s <= busy_s[latest] * _SHORTER:
                    done_s = max(busy_s[latest] - exec_s[task, mine], end_s)
                    found.append((priced[task, to] - priced[task, mine], done_s, [(task, latest, p, m, to_p)]))
        return self.made_cheapest(found)

    def trade(self, latest: int) -> bool:
        busy_s, exec_s, priced, found = self.busy_s, self.costs.exec_s, self.costs.priced, []
        for (task, p), m in product(np.argwhere(self.counts[latest]).tolist(), range(len(self.counts))):
            for task2, p2 in np.argwhere(self.counts[m]).tolist() if m != latest else ():
                mine, their = self.column(latest, p), self.column(m, p2)
                sent, got = self.column(m, p), self.column(latest, p2)
                mine_s = busy_s[latest] - exec_s[task, mine] + exec_s[task2, got]
                done_s = max(mine_s, busy_s[m] + exec_s[task, sent] - exec_s[task2, their])
                if done_s <= busy_s[latest] * _SHORTER:
                    rise = priced[task, sent] - priced[task, mine] + priced[task2, got] - priced[task2, their]
                    found.append((rise, done_s, [(task, latest, p, m, p), (task2, m, p2, latest, p2)]))
        return self.made_cheapest(found)

    def made_cheapest(self, found: list[tuple[Any, Any, list[tuple[int, int, int, int, int]]]]) -> bool:
        """Make the moves of the least rise in priced cost and, among equals, those that are done soonest."""
        for move in min(found, key=lambda row: row[:2])[2] if found else ():
            self.move(*move)
        return bool(found)

    def tighten(self, most_moves: int) -> Counts:
        best, kept, n_moves, n_best = self.earned(), self.counts.copy(), 0, 0
        while n_moves + 2 <= most_moves and n_moves - n_best <= self.deal.patience:
            latest = int(np.argmax(self.busy_s))
            if self.busy_s[latest] <= self.deal.shortest_s:
                break
            if self.give_away(latest):
                n_moves += 1
            elif self.trade(latest):
                n_moves += 2
            else:
                break
            if self.earned() > best or best == -math.inf:
                best, kept, n_best = self.earned(), self.counts.copy(), n_moves
        self.counts = kept
        self.cheapen(most_moves)
        return self.counts

    def cheapen(self, most_moves: int) -> None:
        limit_s, n_moves, n_before = max(self.busy_s), 0, -1
        while n_before < n_moves < most_moves:
            n_before = n_moves
            for m, task, p in product(*map(range, self.counts.shape)):
                if self.counts[m, task, p]:
                    n_moves += self.send_cheaper(m, task, p, limit_s)

    def send_cheaper(self, machine: int, task: int, p: int, limit_s: float) -> bool:
        cost, exec_s, busy_s = self.costs.cost, self.costs.exec_s, self.busy_s
        best, found = cost[task, self.column(machine, p)] * _SHORTER, None
        for m, to_p in self.places():
            to = self.column(m, to_p)
            if m != machine and busy_s[m] + exec_s[task, to] <= limit_s and cost[task, to] < best:
                best, found = cost[task, to], (m, to_p)
        if found is not None:
            self.move(task, machine, p, *found)
        return found is not None

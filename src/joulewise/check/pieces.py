"""What tasks that may be preempted gain at prices, task by task in plain Python.

A task needs the seconds of one option, any between its arrival and its completion. Completions are looked at slot by
slot of the prices: one in a slot counts with the utility at the slot's start and may use all of the slot.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from joulewise.check.priced import SMALL, PricedMarket
from joulewise.model import Workload
from joulewise.model.arrays import Floats

_Part = tuple[float, float]
"""A price per second, and for how many seconds it can be had."""


class _Slots(NamedTuple):
    """Slots of equal length: prices per machine-second by machine type, the least per joule, whether seconds earn."""

    slot_s: float
    per_s: list[list[float]]
    per_j: list[float]
    earns: list[bool]
    least_s: list[list[float]]
    least_j: list[float]


class _PieceNeed(NamedTuple):
    """What an option of a task needs."""

    machine_type: int
    nodes: float
    time_s: float
    cost_w: float

    def price(self, per_s: list[list[float]], per_j: list[float], j: int) -> float:
        """What a second costs in slot j."""
        return self.nodes * per_s[self.machine_type][j] + self.cost_w * per_j[j]


def gains_in_pieces(market: PricedMarket, per_s: Floats) -> Floats:
    """The most that each task gains over all options and completions, or what it may earn after the window."""
    work, slots, choices = market.work, _slots(market, per_s), market.choices
    columns = (choices.machine_type, choices.nodes, choices.exec_s, choices.cost_w)
    needs = [_PieceNeed(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    gains, stretch = market.later.copy(), np.ones(work.n_tasks) if work.stretch is None else work.stretch
    for task in np.flatnonzero(work.arrival_s < work.end_s).tolist():
        kind = int(work.task_type[task])
        for need in needs[choices.first[kind] : choices.first[kind + 1]]:
            own = need._replace(time_s=need.time_s * float(stretch[task]))
            gains[task] = _best_gain(work, slots, task, own, float(gains[task]))
    return gains


def _slots(market: PricedMarket, per_s: Floats) -> _Slots:
    """The prices slot by slot; energy costs nothing in a slot that is not all in the window."""
    work, n_slots = market.work, per_s.shape[1]
    slot_s = work.end_s / n_slots
    slack_s = 1e-9 * work.end_s
    rates = np.diff(market.paid_j) / np.diff(market.at_s)
    edges_s = slot_s * np.arange(n_slots + 1)
    per_j = []
    for from_s, to_s in zip(edges_s[:-1] + slack_s, edges_s[1:] - slack_s, strict=True):
        inside = (market.at_s[:-1] < to_s) & (market.at_s[1:] > from_s)
        per_j.append(float(rates[inside].min()) if from_s >= work.start_s else 0.0)
    earns = [not work.is_prorated or bool(end_s > work.start_s + slack_s) for end_s in edges_s[1:]]
    rows = per_s.tolist()
    return _Slots(slot_s, rows, per_j, earns, [_least_from(row) for row in rows], _least_from(per_j))


def _least_from(prices: list[float]) -> list[float]:
    return list(accumulate(reversed(prices), min))[::-1]


def _best_gain(work: Workload, slots: _Slots, task: int, need: _PieceNeed, best: float) -> float:
    """The most that an option gains, or the best so far."""
    arrival_s, slack_s, n_slots = float(work.arrival_s[task]), SMALL * max(work.end_s, 1.0), len(slots.per_j)
    soonest_s = arrival_s + need.time_s
    first = min(int(arrival_s / slots.slot_s), n_slots - 1)
    least = need.time_s * need.price(slots.least_s, slots.least_j, first)
    if _utility_before(work, task, max(soonest_s, work.start_s), slack_s) - least <= best:
        return best
    parts: tuple[list[_Part], list[_Part]] = ([], [])
    for j in range(first, n_slots):
        end_s = (j + 1) * slots.slot_s
        length_s = end_s - max(arrival_s, j * slots.slot_s)
        insort(parts[0 if slots.earns[j] else 1], (need.price(slots.per_s, slots.per_j, j), length_s))
        if end_s < soonest_s - slack_s or end_s <= work.start_s:
            continue
        utility = _utility_before(work, task, max(j * slots.slot_s, soonest_s, work.start_s), slack_s)
        if utility - least <= best:
            return best
        best = max(best, _gain(parts, need.time_s, utility, must_fill=True))
    if work.is_prorated:
        utility = _utility_before(work, task, max(work.end_s, soonest_s), slack_s)
        best = max(best, _gain(parts, need.time_s, utility, must_fill=False))
    return best


def _utility_before(work: Workload, task: int, at_s: float, slack_s: float) -> float:
    return float(work.most_from(task, at_s - slack_s))


def _gain(parts: tuple[list[_Part], list[_Part]], time_s: float, utility: float, *, must_fill: bool) -> float:
    """What the best seconds gain; all of them must be had, or only those that gain something."""
    left_s, gain = time_s, 0.0
    for value, length_s in _best_first(parts, utility / time_s):
        if left_s <= 0 or (value <= 0 and not must_fill):
            break
        gain += min(left_s, length_s) * value
        left_s -= length_s
    return gain


def _best_first(parts: tuple[list[_Part], list[_Part]], per_second: float) -> Iterator[_Part]:
    """Seconds by what each gains: those that earn and the others, each cheapest first, merged."""
    earning, others = parts
    a = b = 0
    while a < len(earning) or b < len(others):
        value_a = per_second - earning[a][0] if a < len(earning) else -math.inf
        value_b = -others[b][0] if b < len(others) else -math.inf
        if value_a >= value_b:
            yield value_a, earning[a][1]
            a += 1
        else:
            yield value_b, others[b][1]
            b += 1

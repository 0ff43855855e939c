"""Choices of tasks at prices: one grid of instants at which a price changes, and what has been paid by each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from joulewise.errors import InputError, Problem
from joulewise.model import Workload
from joulewise.model.arrays import Counts, Floats
from joulewise.model.horizon import closed, earned_later, idle_from_s
from joulewise.model.supply import Supply

SMALL = 1e-12
"""Relative to the window's end: instants closer than this count as one."""


class PricedChoices(NamedTuple):
    """What tasks may choose, by task type: rows from `first[task type]` on.

    A run takes this many machines of a type for this many seconds, and adds this many watts to standby.
    """

    first: Counts
    machine_type: Counts
    nodes: Floats
    exec_s: Floats
    cost_w: Floats


@dataclass(frozen=True, eq=False)
class PricedMarket:
    """Prices between the instants `at_s` at which one changes, and what has been paid by each of them.

    `paid` is by [machine type, instant] per machine, `paid_j` by instant per watt. `work` has a window that ends, and
    tasks may earn `later` after it.
    """

    work: Workload
    later: Floats
    at_s: Floats
    paid: Floats
    paid_j: Floats
    per_j: Floats
    choices: PricedChoices

    def paid_by(self, machine_type: Counts, nodes: Floats, cost_w: Floats, at_s: Floats) -> Floats:
        """What runs that never stop have paid by these instants; nothing is paid after the last price."""
        at = np.minimum(at_s, self.at_s[-1])
        j = np.clip(np.searchsorted(self.at_s, at, side="right") - 1, 0, self.at_s.size - 2)
        part = (at - self.at_s[j]) / (self.at_s[j + 1] - self.at_s[j])
        for_time, for_energy = self.paid[machine_type, j], self.paid_j[j]
        for_time = for_time + part * (self.paid[machine_type, j + 1] - for_time)
        for_energy = for_energy + part * (self.paid_j[j + 1] - for_energy)
        return np.asarray(nodes * for_time + cost_w * for_energy)


def priced(
    work: Workload, supply: Supply, counts: Counts, choices: PricedChoices, prices: tuple[Floats, ArrayLike]
) -> PricedMarket:
    """The choices at prices on one grid of instants; InputError when they do not fit."""
    per_s, per_j = prices[0], np.atleast_1d(np.asarray(prices[1], float))
    share_s = choices.nodes * choices.exec_s / counts[choices.machine_type]
    idle_s = idle_from_s(work, choices.first, choices.machine_type, share_s, choices.exec_s)
    asked, work = work, closed(work, idle_s)
    if per_s.ndim != 2 or per_s.shape[0] != counts.size or per_s.shape[1] == 0:
        allowed = f"must be [{counts.size} machine types, at least one slot]"
        raise InputError(Problem("prices", f"found the shape {per_s.shape}", allowed))
    periods_s = period_edges_s(work, supply)
    if per_j.shape != (periods_s.size - 1,):
        allowed = f"must be one for each of the {periods_s.size - 1} energy periods"
        raise InputError(Problem("prices", f"found {per_j.size} prices of energy", allowed))
    edges_s = np.linspace(0.0, work.end_s, per_s.shape[1] + 1)
    at_s = np.unique(np.concatenate((edges_s, periods_s)))
    at_s = at_s[np.append(np.diff(at_s) > SMALL * max(work.end_s, 1.0), True)]  # what rounding has moved apart is one
    at_s[0] = 0.0
    paid = np.pad(np.cumsum(per_s, axis=1) * (work.end_s / per_s.shape[1]), ((0, 0), (1, 0)))
    paid_j = np.pad(np.cumsum(per_j * np.diff(periods_s)), (1, 0))
    paid = np.stack([np.interp(at_s, edges_s, row) for row in paid])
    later = earned_later(asked, work.end_s, choices.first)
    return PricedMarket(work, later, at_s, paid, np.interp(at_s, periods_s, paid_j), per_j, choices)


def period_edges_s(work: Workload, supply: Supply) -> Floats:
    """Where energy periods begin and end: the counted days of a daily budget, or the counted window."""
    if supply.is_total or not math.isfinite(supply.budget_j):
        return np.array([work.start_s, work.end_s])
    n_days = max(math.ceil((work.end_s - work.start_s) / supply.day_s), 1)
    return np.append(work.start_s + supply.day_s * np.arange(n_days), work.end_s)


def energy_income(market: PricedMarket, left_j: Floats) -> float:
    """What the owner gets for this many joules in each period; energy without a limit has no price."""
    return float(sum(price * joules for price, joules in zip(market.per_j, left_j, strict=True) if price > 0))

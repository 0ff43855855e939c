"""What the facility's meter shows over the counted window, whatever drew the power: energy, peak, cost and budget."""

from __future__ import annotations

import math

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S, Supply
from joulewise.model.workload import Workload
from joulewise.simulate.power import Draws

Metrics = dict[str, float | int]
"""Measures of a run by the names of their columns."""

EXHAUSTED = 0.99
"""Energy counts as used up from this part of a day's budget on; the rest may be too little for any task."""

NAMES = (
    "energy_j",
    "standby_energy_j",
    "energy_peak_w",
    "energy_cost",
    "budget_j",
    "budget_percent",
    "exhausted_s",
)
"""Every measure of energy."""


def energy_measures(work: Workload, supply: Supply, runs: Draws, standby: Draws, last_s: float) -> dict[str, float]:
    """Energy in a counted window that ends at `last_s`: what was used, of which budget, how evenly, at what cost."""
    draws = together(work, last_s, runs, standby)
    energy_j, budget_j = float(draws.energy_j.sum()), _budget_j(supply, work, last_s)
    values = (
        energy_j,
        float(together(work, last_s, standby).energy_j.sum()),
        draws.peak_w,
        draws.cost(supply),
        budget_j,
        100 * energy_j / budget_j,
        _exhausted_at_s(supply, work, draws, last_s),
    )
    return dict(zip(NAMES, values, strict=True))


def together(work: Workload, last_s: float, *parts: Draws) -> Draws:
    """What of several draws lies in the counted window, which ends at `last_s`."""
    return joined(*parts).within(work.start_s, last_s)


def joined(*parts: Draws) -> Draws:
    """Several draws as one."""
    columns = zip(*((part.start_s, part.end_s, part.power_w) for part in parts), strict=True)
    return Draws(*(np.concatenate(column) for column in columns))


def inside_s(work: Workload, start_s: Floats, end_s: Floats) -> Floats:
    """How many seconds of intervals lie in the counted window."""
    return np.asarray(np.maximum(np.minimum(end_s, work.end_s) - np.maximum(start_s, work.start_s), 0.0))


def budget_until_j(supply: Supply, work: Workload, at_s: Floats, last_s: float) -> Floats:
    """The budget of all counted days up to those of these instants, in a window that ends at `last_s`."""
    n_days = np.maximum(np.ceil((at_s - work.start_s) / supply.day_s), 1.0)
    day_j = supply.budget_j / _n_days(supply, work, last_s) if supply.is_total else supply.budget_j
    return np.asarray(n_days * day_j)


def mean_cap_w(cap_w: Floats, edge_s: Floats) -> Floats:
    """A power cap by the hour, mean over the steps between these instants."""
    total_j = _cap_until_j(cap_w, edge_s)
    return np.asarray(np.diff(total_j) / np.maximum(np.diff(edge_s), np.finfo(float).tiny))


def _cap_until_j(cap_w: Floats, at_s: Floats) -> Floats:
    """What a cap by the hour, which starts again at its end, allows in all from instant 0 on."""
    hours, until_w = np.floor(at_s / HOUR_S), np.concatenate(([0.0], np.cumsum(cap_w)))
    n_cycles, hour = np.divmod(hours.astype(np.int64), cap_w.size)
    return np.asarray(HOUR_S * (n_cycles * until_w[-1] + until_w[hour]) + (at_s - HOUR_S * hours) * cap_w[hour])


def _n_days(supply: Supply, work: Workload, last_s: float) -> int:
    """How many days the counted window has, a day that is cut counted as one."""
    return max(1, math.ceil((last_s - work.start_s) / supply.day_s))


def _budget_j(supply: Supply, work: Workload, last_s: float) -> float:
    """The budget of all counted days together; NaN without one."""
    budget_j = float(budget_until_j(supply, work, np.asarray(last_s), last_s))
    return budget_j if math.isfinite(budget_j) else math.nan


def _exhausted_at_s(supply: Supply, work: Workload, draws: Draws, last_s: float) -> float:
    """When the first counted day had used up its budget; NaN if it never had."""
    day_j = float(budget_until_j(supply, work, np.asarray(work.start_s), last_s))
    return draws.within(work.start_s, work.start_s + supply.day_s).reached_at_s(EXHAUSTED * day_j)

"""What all assignments of a world earn at most once machine time and energy have prices, and the search for prices.

Give every machine-second a price by machine type and slot of time, and every joule one. Let each task choose the run
that gains it most after paying, and pay the owner for all machine time there is: whatever the prices, no assignment
has more utility less energy at its price than both sums together. A slot is free of charge from the horizon on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from joulewise.kernels.assignment_prices import BLOCK, Bidders, Bids, Quote, answer_quote, quote_runs
from joulewise.kernels.layout import Utilities
from joulewise.model.arrays import Floats
from joulewise.model.world import World
from joulewise.policies.layout import layout_of

_answer_quote: Any = answer_quote
_quote_runs: Any = quote_runs
_ROUNDING = 1e-9
_STEP = 0.1
_LATER = 1.5
_RUNS_AFTER = 4.0


class Auction:
    """The tasks of a world that answer prices; remembers their last choices, which only speeds up the next answer."""

    def __init__(self, world: World, drop_below: float, n_slots: int) -> None:
        layout, n = layout_of(world), world.workload.n_tasks
        idle_gain = 0.0 if drop_below > 0 else -math.inf
        self.bidders = Bidders(*layout, _values_before(layout.utilities), idle_gain)
        self.energy_j = world.supply.pue * layout.options.energy_j
        self.counts = world.system.counts.astype(np.float64)[:, None]
        self.slot_s = _horizon_s(world) / n_slots
        n_starts = 2 * n_slots + 1
        self.room = (
            np.empty((self.energy_j.size, n_starts)),
            np.empty((self.energy_j.size, math.ceil(n_starts / BLOCK))),
        )
        self.choices = (np.zeros(n), np.full(n, -1), np.zeros(n))
        scale = layout.tasks.scale
        typical = 0.3 * (float(scale.mean()) or 1.0) / float(layout.options.exec_s.mean())
        self.typical = typical * np.linspace(1.0, 0.0, n_slots) * np.ones_like(self.counts)

    def answer(self, per_s: Floats, per_j: float) -> tuple[float, float, Floats]:
        """The value that prices prove, how much of it rounding may be off, and the machine-seconds that are left."""
        paid = np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1) * self.slot_s
        quote = Quote(self.slot_s, np.pad(per_s, ((0, 0), (0, 1))), paid, per_j * self.energy_j, *self.room)
        _quote_runs(quote, self.bidders.options)
        bids = Bids(*self.choices, np.zeros_like(paid))
        gains, size = _answer_quote(bids, self.bidders, quote, 0, 1)
        income = float(self.counts[:, 0] @ paid[:, -1])
        left_s = self.counts * self.slot_s - bids.busy_s[:, :-1]
        return income + gains, _ROUNDING * (income + size), left_s

    def proven(self, per_s: Floats, per_j: float) -> float:
        """The value that prices prove, rounded up by more than floating point can be off."""
        value, off, _ = self.answer(per_s, per_j)
        return value + off

    def used_j(self) -> float:
        """The energy of what tasks chose last."""
        option = self.choices[1]
        return float(self.energy_j[option[option >= 0]].sum())

    def descend(self, per_s: Floats, per_j: float, evaluations: int) -> Floats:
        """Follow the slope of the value, which is the machine time that is left; returns the best prices seen."""
        unit = max(float(per_s.mean()), 1e-3 * float(self.typical.mean())) * _STEP * math.sqrt(per_s.size)
        unit = unit / np.sqrt(np.maximum(self.counts, 1.0) / max(float(self.counts.mean()), 1.0))
        best, least = per_s, math.inf

        def value_and_slope(scaled: Floats) -> tuple[float, Floats]:
            nonlocal best, least
            tried = np.maximum(scaled.reshape(per_s.shape), 0.0) * unit
            value, _, left_s = self.answer(tried, per_j)
            if value < least:
                best, least = tried, value
            return value, (left_s * unit).ravel()

        limit = {"maxfun": evaluations, "maxiter": evaluations, "ftol": 0.0, "gtol": 0.0}
        start = (per_s / unit).ravel()
        minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=limit)
        return best


def _values_before(utilities: Utilities) -> Floats:
    """The value with which the segment before each one ends; with which it begins where there is none before."""
    start_s, level, span, rate_per_s, slope_per_s, floor = utilities.segments.T
    value = level + span
    for first, last in zip(utilities.first[:-1], utilities.first[1:], strict=True):
        inner = slice(first, last - 1)
        length_s = np.diff(start_s[first:last])
        ends = level[inner] + span[inner] * np.exp(-rate_per_s[inner] * length_s) + slope_per_s[inner] * length_s
        value[first + 1 : last] = np.maximum(ends, floor[inner])
    return np.asarray(value)


def _horizon_s(world: World) -> float:
    """From when on machine time is for nothing: by then, all tasks could have been run."""
    work, system = world.workload, world.system
    options = layout_of(world).options
    fastest_s = float(options.exec_s[options.first[work.task_type]].sum()) / system.n_machines
    return max(float(work.arrival_s[-1]), _LATER * fastest_s) + _RUNS_AFTER * float(options.exec_s.mean())

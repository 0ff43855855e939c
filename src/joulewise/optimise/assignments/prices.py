"""What all assignments of a world earn at most once machine time and energy have prices, and the search for prices.

Give every machine-second a price by machine type and slot of time, and every joule one. Let each task choose the run
that gains it most after paying, and pay the owner for all machine time there is: whatever the prices, no assignment
has more utility less energy at its price than both sums together. A slot is free of charge from the horizon on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from joulewise.kernels.assignments.prices import BLOCK, Bidders, Bids, Quote, answer_quote, quote_runs
from joulewise.kernels.layout import Utilities
from joulewise.model.arrays import Floats
from joulewise.model.assignment import from_begin
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.policies.layout import layout_of

_answer_quote: Any = answer_quote
_quote_runs: Any = quote_runs
_ROUNDING = 1e-9
_DRIFT, _FORCE, _LAST_STEP = 0.9, 0.99, 0.01
_TINY = 1e-18
_FOREVER_S, _HALVINGS = 1e15, 80
_LATER = 1.5
_RUNS_AFTER = 4.0


class Auction:
    """The tasks of a world that answer prices, with times counted from `begin_s`.

    It remembers their last choices, which only speeds up the next answer.
    """

    def __init__(self, world: World, drop_below: float, n_slots: int) -> None:
        world = from_begin(world)
        layout, n = layout_of(world), world.workload.n_tasks
        idle_gain = 0.0 if drop_below > 0 else -math.inf
        self.bidders = Bidders(
            *layout, _values_before(layout.utilities), _latest_s(world.workload, drop_below), idle_gain
        )
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
        self.typical = 0.3 * (float(scale.mean()) or 1.0) / float(layout.options.exec_s.mean())
        self.first_guess = self.typical * np.linspace(1.0, 0.0, n_slots) * np.ones_like(self.counts)

    def answer(self, per_s: Floats, per_j: float) -> tuple[float, float, Floats]:
        """The value that prices prove, how much of it rounding may be off, and the machine-seconds that are left."""
        paid = np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1) * self.slot_s
        quote = Quote(self.slot_s, np.pad(per_s, ((0, 0), (0, 1))), paid, per_j * self.energy_j, *self.room)
        _quote_runs(quote, self.bidders.options)
        bids = Bids(*self.choices, np.zeros_like(paid))
        gains, size = _answer_quote(bids, self.bidders, quote)
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

    def descend(self, per_s: Floats, per_j: float, evaluations: int, step: float) -> Floats:
        """Step against the slope, which is the machine time that is left; returns the best prices seen.

        Every price takes steps of about one length (Adam): at first `step` of a typical price, in the end a hundredth
        of that.
        """
        best, least = per_s, math.inf
        drift, force = np.zeros_like(per_s), np.zeros_like(per_s)
        for turn in range(1, evaluations + 1):
            value, _, left_s = self.answer(per_s, per_j)
            if value < least:
                best, least = per_s, value
            drift += (1 - _DRIFT) * (left_s - drift)
            force += (1 - _FORCE) * (left_s**2 - force)
            length = step * self.typical * _LAST_STEP ** (turn / evaluations) / (1 - _DRIFT**turn)
            per_s = np.maximum(per_s - length * drift / np.sqrt(force / (1 - _FORCE**turn) + _TINY), 0.0)
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


def _latest_s(work: Workload, drop_below: float) -> Floats:
    """The latest completion of each task that earns as much as `drop_below`, rounded up; infinite without a limit."""
    tasks, enough = np.arange(work.n_tasks), drop_below * (1 - _ROUNDING)
    low_s, high_s = work.arrival_s.copy(), np.full(work.n_tasks, _FOREVER_S)
    for _ in range(_HALVINGS):
        middle_s = 0.5 * (low_s + high_s)
        is_worth_it = work.utility(tasks, middle_s) >= enough
        low_s, high_s = np.where(is_worth_it, middle_s, low_s), np.where(is_worth_it, high_s, middle_s)
    return np.where(work.utility(tasks, high_s) >= enough, np.inf, high_s)


def _horizon_s(world: World) -> float:
    """From when on machine time is for nothing: by then, all tasks could have been run."""
    work, system = world.workload, world.system
    options = layout_of(world).options
    fastest_s = float(options.exec_s[options.first[work.task_type]].sum()) / system.n_machines
    return max(float(work.arrival_s[-1]), _LATER * fastest_s) + _RUNS_AFTER * float(options.exec_s.mean())

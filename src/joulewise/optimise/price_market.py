"""Prices that find a tight bound: what tasks gain at given prices, and a search for better prices.

Give every machine-second and every joule a price, pay the owner for all there are, and let each task choose
the run that gains it most after paying. Whatever the prices, no schedule earns more than the two sums together:
Lagrangian duality over "never more machines in use than there are of the type" and "no more energy than the
budget". Better prices give a tighter bound; any prices give a valid one, so the prices are the certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.prices import Answer, SlotPrices, TaskMarket, answer_prices, find_cheapest
from joulewise.model.arrays import Counts, Floats, freeze_fields
from joulewise.model.clusters import NodeStandby
from joulewise.model.supply import Supply
from joulewise.model.system import Standby
from joulewise.model.workload import Workload
from joulewise.visible import Visible

_find_cheapest: Any = find_cheapest
_answer_prices: Any = answer_prices
_ROUNDING = 1e-9
_ENOUGH_TASKS = 2500
MOST_CHEAPEST = 20_000_000
"""This many numbers are kept that prune the search, whatever that does to the length of slots."""


@dataclass(frozen=True)
class Stage:
    """A part of the search: slots of about `slot_s`, this many evaluations of the bound on every `stride`-th task.

    The first step changes a typical machine price by `step` of their mean and energy prices by up to `step_j`.
    """

    slot_s: float
    evaluations: int
    stride: int
    step: float
    step_j: float


MOST_FIRST_SLOTS = 336
"""Windows that are longer get longer slots: memory and time stay bounded, only tightness is lost."""

STAGES = (Stage(3600.0, 20, 4, 0.05, 0.3), Stage(300.0, 16, 1, 0.2, 0.1))


@dataclass(frozen=True, eq=False)
class Certificate(Visible, looks="tasks"):
    """Prices that prove a bound: per machine-second by [machine type, slot], and per joule by energy period.

    Slots of equal length cover the time from 0 to the end of the counted window. Energy periods are the counted
    days of a daily budget; without one there is a single period, the counted window.
    """

    per_s: Floats
    per_j: Floats = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        freeze_fields(self, {"per_s": np.float64, "per_j": np.float64})
        shaped = self.per_s.ndim == 2 and self.per_j.ndim == 1 and self.per_s.shape[1] > 0 and self.per_j.size > 0
        if not (shaped and all(((p >= 0) & np.isfinite(p)).all() for p in (self.per_s, self.per_j))):
            raise InputError(Problem("certificate", "found prices below 0 or not finite", "must be 0 or more"))

    def as_json(self) -> dict[str, Any]:
        """The prices as JSON values."""
        return {"per_s": self.per_s.tolist(), "per_j": self.per_j.tolist()}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Certificate:
        """The prices that JSON values hold; InputError when they are none."""
        return Certificate(np.asarray(stored["per_s"], float), np.asarray(stored["per_j"], float))


@dataclass(frozen=True, eq=False)
class PriceBound(Visible, looks="tasks"):
    """A bound on utility and the prices that prove it."""

    value: float
    certificate: Certificate


class PriceMarket:
    """Tasks that answer prices; remembers their last choices, which only speeds up the next answer.

    There are `counts` machines of each type, and runs may add `budget_j` to standby in each energy period. From
    `idle_s` on nothing need be left to do.
    """

    def __init__(self, facts: TaskMarket, counts: Counts, budget_j: Floats, idle_s: float) -> None:
        n = facts.tasks.arrival_s.size
        self.facts, self.counts, self.budget_j, self.idle_s = facts, counts[:, None], budget_j, idle_s
        self.choices = (np.zeros(n), np.full(n, -1), np.zeros(n))
        self.mean_scale = float(facts.tasks.scale.mean()) or 1.0

    def search(self, stages: tuple[Stage, ...]) -> PriceBound:
        """Prices for a tight bound, found in stages, and what they prove."""
        facts = (self.facts.window.end_s, self.idle_s, self.facts.options.exec_s.size)
        certificate = self.first_guess(slots_of(*facts, stages[0]))
        for stage in stages:
            certificate = self.improve(_split(certificate, slots_of(*facts, stage)), stage)
        return PriceBound(self.bound(certificate), certificate)

    def for_nothing(self) -> PriceBound:
        """The bound that prices of 0 prove."""
        certificate = Certificate(np.zeros((self.counts.size, 1)), np.zeros(self.budget_j.size))
        return PriceBound(self.bound(certificate), certificate)

    def certified(self, certificate: Certificate) -> float:
        """The bound that prices prove; InputError when they are for another world."""
        fits = {
            "machine types": (certificate.per_s.shape[0], self.counts.size),
            "energy periods": (certificate.per_j.size, self.budget_j.size),
        }
        for what, (given, wanted) in fits.items():
            if given != wanted:
                raise InputError(Problem("certificate", f"found prices of {given} {what}", f"the world has {wanted}"))
        return self.bound(certificate)

    def first_guess(self, n_slots: int) -> Certificate:
        """One price while there is work, at which a typical task would pay half of what it is worth."""
        per_s = 0.5 * self.mean_scale / float((self.facts.runs.nodes * self.facts.options.exec_s).mean())
        per_j = np.where(np.isfinite(self.budget_j), self.typical_per_j(), 0.0)
        is_busy = np.arange(n_slots) < self.idle_s / self.facts.window.end_s * n_slots
        return Certificate(np.tile(per_s * is_busy, (self.counts.size, 1)), per_j)

    def typical_per_j(self) -> float:
        """A price per joule at which a typical task would pay a fifth of what it is worth."""
        energy_j = float((self.facts.runs.cost_w * self.facts.options.exec_s).mean())
        return 0.2 * self.mean_scale / energy_j if energy_j > 0 else 1.0

    def answer(self, certificate: Certificate, stride: int = 1) -> tuple[float, Answer]:
        """The sum of what tasks gain, and what they ask for; with a stride, scaled up from a part of them."""
        prices = self.prices(certificate)
        _find_cheapest(prices, self.facts)
        answer = Answer(*self.choices, np.zeros_like(certificate.per_s), np.zeros_like(certificate.per_j))
        gains = float(_answer_prices(answer, self.facts, prices, 0, stride))
        return stride * gains, answer._replace(busy_s=stride * answer.busy_s, energy_j=stride * answer.energy_j)

    def prices(self, certificate: Certificate) -> SlotPrices:
        """Prices as the kernel wants them, with room for what it finds out about them."""
        per_s, per_j, window = certificate.per_s.copy(), certificate.per_j.copy(), self.facts.window
        slot_s = window.end_s / per_s.shape[1]
        paid = np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1) * slot_s
        paid_j = np.cumsum(np.pad(per_j, (1, 0))) * window.period_s
        n_levels, n_options = self.facts.runs.level_stretch.size, self.facts.options.exec_s.size
        return SlotPrices(slot_s, per_s, paid, per_j, paid_j, np.empty((n_levels, per_s.shape[1], n_options)))

    def income(self, certificate: Certificate) -> float:
        """What the owner gets for every machine-second and every joule there is."""
        slot_s = self.facts.window.end_s / certificate.per_s.shape[1]
        priced = certificate.per_j > 0  # energy without a limit has no price
        energy = float(certificate.per_j[priced] @ self.budget_j[priced])
        return float((self.counts * certificate.per_s).sum() * slot_s + energy)

    def bound(self, certificate: Certificate) -> float:
        """The bound, rounded up by more than floating point can be off."""
        gains, _ = self.answer(certificate)
        return float((self.income(certificate) + gains) * (1 + _ROUNDING))

    def improve(self, certificate: Certificate, stage: Stage) -> Certificate:
        """Follow the slope of the bound, which is what there is less what is asked for; keep the best prices seen."""
        from scipy.optimize import Bounds, minimize  # 15 MB that a trivial bound does without

        shape, unit = certificate.per_s.shape, self._units(certificate, stage)
        stride = max(min(stage.stride, self.facts.tasks.arrival_s.size // _ENOUGH_TASKS), 1)
        there_is_s = self.counts * (self.facts.window.end_s / shape[1])
        best, least = certificate, math.inf

        def value_and_slope(prices: Floats) -> tuple[float, Floats]:
            nonlocal best, least
            per_s, per_j = np.split(np.maximum(prices, 0.0) * unit, [certificate.per_s.size])
            tried = Certificate(per_s.reshape(shape), per_j)
            gains, answer = self.answer(tried, stride)
            value = self.income(tried) + gains
            if value < least:
                best, least = tried, value
            left_j = np.where(np.isfinite(self.budget_j), self.budget_j - answer.energy_j, 0.0)
            return value, np.concatenate(((there_is_s - answer.busy_s).ravel(), left_j)) * unit

        start = np.concatenate((certificate.per_s.ravel(), certificate.per_j)) / unit
        limit = {"maxfun": stage.evaluations, "maxiter": stage.evaluations, "ftol": 0.0, "gtol": 0.0}
        minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=limit)
        return best

    def _units(self, certificate: Certificate, stage: Stage) -> Floats:
        """How much each price changes in a step of length 1, which is the first that the search takes."""
        per_s, per_j = self.first_guess(1).per_s.mean(), self.typical_per_j()
        level = max(float(certificate.per_s.mean()), 1e-3 * per_s) * stage.step * math.sqrt(certificate.per_s.size)
        by_type = level / np.sqrt(np.maximum(self.counts, 1) / max(float(self.counts.mean()), 1.0))
        by_period = stage.step_j * np.maximum(certificate.per_j, 1e-2 * per_j)
        return np.concatenate((np.broadcast_to(by_type, certificate.per_s.shape).ravel(), by_period))


def energy_periods(work: Workload, supply: Supply) -> tuple[float, Floats]:
    """How long an energy period lasts, and the edges of them all: days of a daily budget, else the counted window."""
    is_daily = math.isfinite(supply.budget_j) and not supply.is_total
    period_s = supply.day_s if is_daily else work.end_s - work.start_s
    n_periods = max(math.ceil((work.end_s - work.start_s) / period_s), 1)
    return period_s, np.minimum(work.start_s + period_s * np.arange(n_periods + 1), work.end_s)


def least_standby_w(standby: Standby | NodeStandby | None, n_kinds: int) -> Floats:
    """What a machine of each kind draws at least while it runs nothing: asleep or booting, or idle, if always on."""
    if standby is None:
        return np.zeros(n_kinds)
    least_w = np.where(standby.boot_s > 0, np.minimum(standby.sleep_w, standby.boot_w), standby.sleep_w)
    return np.where(np.isfinite(standby.sleep_after_s), least_w, standby.idle_w)


def slots_of(end_s: float, idle_s: float, n_options: int, stage: Stage) -> int:
    """How many slots of about the stage's length cover the time; each stage splits the one before.

    Where all is done sooner than in a first slot, that is as short, as far as there may be so many.
    """
    times = round(STAGES[0].slot_s / stage.slot_s)
    most = min(MOST_FIRST_SLOTS, max(MOST_CHEAPEST // (round(STAGES[0].slot_s / STAGES[-1].slot_s) * n_options), 1))
    first_s = max(min(STAGES[0].slot_s, idle_s), end_s / most)
    return max(math.ceil(end_s / first_s), 1) * times


def _split(certificate: Certificate, n_slots: int) -> Certificate:
    """The same prices on finer slots."""
    times = n_slots // certificate.per_s.shape[1]
    return Certificate(np.repeat(certificate.per_s, times, axis=1), certificate.per_j)

"""A proven bound on what any policy, even one that knows the future, can earn in a day.

Give every machine-second and every joule a price, pay the owner for all there are, and let each task choose
the run that gains it most after paying. Whatever the prices, nobody earns more than the two sums together:
Lagrangian duality over "never more tasks running than machines of the type" and "no more energy than the
budget". Better prices give a tighter bound; any prices give a valid one, so the prices are the certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.prices import Answer, Prices, Window, answer_prices, find_cheapest
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.world import World
from joulewise.policies.layout import layout_of

_find_cheapest: Any = find_cheapest
_answer_prices: Any = answer_prices
_ROUNDING = 1e-9
_MOMENTUM = 0.6


@dataclass(frozen=True)
class Stage:
    """A part of the search: slots of about `slot_s`, iterations on every `stride`-th task, the first step."""

    slot_s: float
    iterations: int
    stride: int
    step: float


MOST_FIRST_SLOTS = 336
"""Windows of more than two weeks get longer slots: memory and time stay bounded, only tightness is lost."""

STAGES = (Stage(3600.0, 25, 4, 0.3), Stage(1800.0, 8, 1, 0.2), Stage(600.0, 14, 1, 0.15))


@dataclass(frozen=True, eq=False)
class Certificate:
    """Prices that prove a bound: per machine-second by [machine type, slot], and per joule.

    Slots of equal length cover the time from 0 to the end of the counted window.
    """

    per_s: Floats
    per_j: float = 0.0

    def __post_init__(self) -> None:
        freeze_fields(self, {"per_s": np.float64})
        valid = self.per_s.ndim == 2 and self.per_s.shape[1] > 0 and np.isfinite(self.per_s).all()
        if not (valid and (self.per_s >= 0).all() and self.per_j >= 0 and math.isfinite(self.per_j)):
            raise InputError(Problem("certificate", "found prices below 0 or not finite", "must be 0 or more"))


@dataclass(frozen=True, eq=False)
class PriceBound:
    """A bound on utility and the prices that prove it."""

    value: float
    certificate: Certificate


def price_bound(world: World, budget_j: float = math.inf) -> PriceBound:
    """Search prices for a tight bound on the utility of the counted window, within an energy budget.

    Takes a second or two for a day of 50,000 tasks. Raises InputError for a window without an end.
    """
    market = _Market(world, budget_j)
    certificate = market.first_guess(_slots(world, STAGES[0]))
    for stage in STAGES:
        certificate = market.improve(_split(certificate, _slots(world, stage)), stage)
    for_nothing = Certificate(np.zeros((world.system.n_machine_types, 1)))  # the best where nothing is scarce
    found = [PriceBound(market.bound(prices), prices) for prices in (certificate, for_nothing)]
    return min(found, key=lambda bound: bound.value)


def certified_bound(world: World, certificate: Certificate, budget_j: float = math.inf) -> float:
    """The bound that prices prove, in one pass; it is valid for any prices. Raises InputError on a misfit."""
    if certificate.per_s.shape[0] != world.system.n_machine_types:
        found = f"found prices of {certificate.per_s.shape[0]} machine types"
        raise InputError(Problem("certificate", found, f"the system has {world.system.n_machine_types}"))
    return _Market(world, budget_j).bound(certificate)


class _Market:
    """Tasks that answer prices; remembers their last choices, which only speeds up the next answer."""

    def __init__(self, world: World, budget_j: float) -> None:
        work, n = world.workload, world.workload.n_tasks
        if not math.isfinite(work.end_s):
            found = "found a counted window without an end"
            raise InputError(Problem("workload", found, "must end, for prices to cover it", "set its end"))
        self.counts, self.budget_j = world.system.counts[:, None], budget_j
        self.layout, self.window = layout_of(world), Window(work.start_s, work.end_s)
        self.choices = (np.zeros(n), np.full(n, -1), np.zeros(n))
        self.mean_scale = float(work.scale.mean())

    def first_guess(self, n_slots: int) -> Certificate:
        """One price everywhere, at which a typical task would pay half of what it is worth."""
        options = self.layout.options
        per_s = 0.5 * self.mean_scale / float(options.exec_s.mean())
        per_j = 0.2 * self.mean_scale / max(float(options.energy_j.mean()), 1e-300)
        prices = np.full((self.counts.size, n_slots), per_s)
        return Certificate(prices, per_j if math.isfinite(self.budget_j) else 0.0)

    def answer(self, certificate: Certificate, stride: int = 1) -> tuple[float, Answer]:
        """The sum of what tasks gain, and what they ask for; with a stride, scaled up from a part of them."""
        slot_s = self.window.end_s / certificate.per_s.shape[1]
        paid = np.cumsum(np.pad(certificate.per_s, ((0, 0), (1, 0))), axis=1) * slot_s
        cheapest = np.empty((self.layout.options.exec_s.size, certificate.per_s.shape[1]))
        prices = Prices(slot_s, certificate.per_s.copy(), paid, cheapest, certificate.per_j)
        _find_cheapest(prices, self.layout.options)
        answer = Answer(*self.choices, np.zeros_like(certificate.per_s), np.zeros(1))
        gains = float(_answer_prices(answer, *self.layout, prices, self.window, 0, stride))
        return stride * gains, answer._replace(busy_s=stride * answer.busy_s, energy_j=stride * answer.energy_j)

    def income(self, certificate: Certificate) -> float:
        """What the owner gets for every machine-second and every joule there is."""
        slot_s = self.window.end_s / certificate.per_s.shape[1]
        energy = certificate.per_j * self.budget_j if certificate.per_j > 0 else 0.0
        return float((self.counts * certificate.per_s).sum() * slot_s + energy)

    def bound(self, certificate: Certificate) -> float:
        """The bound, rounded up by more than floating point can be off."""
        gains, _ = self.answer(certificate)
        return float((self.income(certificate) + gains) * (1 + _ROUNDING))

    def improve(self, certificate: Certificate, stage: Stage) -> Certificate:
        """Raise prices where more is asked for than there is, lower them where less; keep the best seen."""
        best, least, speed = certificate, math.inf, np.zeros_like(certificate.per_s)
        there_is_s = self.counts * (self.window.end_s / certificate.per_s.shape[1])
        for iteration in range(stage.iterations):
            gains, answer = self.answer(certificate, stage.stride)
            value = self.income(certificate) + gains
            if value < least:
                best, least = certificate, value
            speed = _MOMENTUM * speed + np.clip(answer.busy_s / np.maximum(there_is_s, 1e-300) - 1, -1, 1)
            step = stage.step / (1 + iteration / 6)
            level = certificate.per_s.mean(axis=1, keepdims=True)
            per_s = np.maximum(0.0, certificate.per_s + step * level * speed)
            excess = min(float(answer.energy_j[0]) / self.budget_j - 1, 1.0) if certificate.per_j > 0 else 0.0
            certificate = Certificate(per_s, certificate.per_j * math.exp(step * excess))
        return best


def _slots(world: World, stage: Stage) -> int:
    """How many slots of about the stage's length cover the time; each stage splits the one before."""
    hours = min(max(math.ceil(world.workload.end_s / STAGES[0].slot_s), 1), MOST_FIRST_SLOTS)
    return hours * round(STAGES[0].slot_s / stage.slot_s)


def _split(certificate: Certificate, n_slots: int) -> Certificate:
    """The same prices on finer slots."""
    times = n_slots // certificate.per_s.shape[1]
    return Certificate(np.repeat(certificate.per_s, times, axis=1), certificate.per_j)

"""A proven bound on what any policy, even one that knows the future, can earn in the counted window.

Give every machine-second and every joule a price, pay the owner for all there are, and let each task choose
the run that gains it most after paying. Whatever the prices, nobody earns more than the two sums together:
Lagrangian duality over "never more tasks running than machines of the type" and "no more energy than the
budget". Better prices give a tighter bound; any prices give a valid one, so the prices are the certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import Bounds, minimize

from joulewise.errors import InputError, Problem
from joulewise.kernels.prices import Answer, Market, Prices, Runs, Window, answer_prices, find_cheapest
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.system import System
from joulewise.model.world import World
from joulewise.optimise.bounds import maximum_utility
from joulewise.policies.layout import layout_of

_find_cheapest: Any = find_cheapest
_answer_prices: Any = answer_prices
_ROUNDING = 1e-9
_MOST_LEVELS = 8
_MOST_CHEAPEST = 20_000_000
_ENOUGH_TASKS = 2500


@dataclass(frozen=True)
class Stage:
    """A part of the search: slots of about `slot_s`, so many evaluations of the bound on every `stride`-th task.

    The first step changes a typical machine price by `step` of their mean and energy prices by up to `step_j`.
    """

    slot_s: float
    evaluations: int
    stride: int
    step: float
    step_j: float


MOST_FIRST_SLOTS = 336
"""Windows of more than two weeks get longer slots: memory and time stay bounded, only tightness is lost."""

STAGES = (Stage(3600.0, 20, 4, 0.05, 0.3), Stage(300.0, 16, 1, 0.2, 0.1))


@dataclass(frozen=True, eq=False)
class Certificate:
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


@dataclass(frozen=True, eq=False)
class PriceBound:
    """A bound on utility and the prices that prove it."""

    value: float
    certificate: Certificate


def price_bound(world: World) -> PriceBound:
    """Search prices for a tight bound on the utility of the counted window, within the energy budget.

    Takes a few seconds for a day of 50,000 tasks. Raises InputError for a window without an end.
    """
    market = _Market(world)
    certificate = market.first_guess(_slots(world, STAGES[0]))
    for stage in STAGES:
        certificate = market.improve(_split(certificate, _slots(world, stage)), stage)
    found = PriceBound(market.bound(certificate), certificate)
    if found.value <= maximum_utility(world):  # what free machines would let tasks earn, at least
        return found
    for_nothing = Certificate(np.zeros((world.system.n_machine_types, 1)), np.zeros(market.budget_j.size))
    return min(found, PriceBound(market.bound(for_nothing), for_nothing), key=lambda bound: bound.value)


def certified_bound(world: World, certificate: Certificate) -> float:
    """The bound that prices prove, in one pass; it is valid for any prices. Raises InputError on a misfit."""
    market = _Market(world)
    fits = {
        "machine types": (certificate.per_s.shape[0], world.system.n_machine_types),
        "energy periods": (certificate.per_j.size, market.budget_j.size),
    }
    for what, (found, wanted) in fits.items():
        if found != wanted:
            raise InputError(Problem("certificate", f"found prices of {found} {what}", f"the world has {wanted}"))
    return market.bound(certificate)


def least_standby_w(system: System) -> Floats:
    """What a machine of each type draws at least while it runs nothing: asleep, or idle where it never sleeps."""
    standby = system.standby
    if standby is None:
        return np.zeros(system.n_machine_types)
    return np.where(np.isfinite(standby.sleep_after_s), standby.sleep_w, standby.idle_w)


class _Market:
    """Tasks that answer prices; remembers their last choices, which only speeds up the next answer."""

    def __init__(self, world: World) -> None:
        work, n = world.workload, world.workload.n_tasks
        if not math.isfinite(work.end_s):
            found = "found a counted window without an end"
            raise InputError(Problem("workload", found, "must end, for prices to cover it", "set its end"))
        layout, period_s = layout_of(world), _period_s(world)
        window = Window(work.start_s, work.end_s, period_s, work.is_prorated)
        self.facts = Market(*layout, _runs(world), window)
        self.counts, self.budget_j = world.system.counts[:, None], _budgets_j(world, period_s)
        self.choices = (np.zeros(n), np.full(n, -1), np.zeros(n))
        self.mean_scale = float(work.scale.mean()) or 1.0

    def first_guess(self, n_slots: int) -> Certificate:
        """One price everywhere, at which a typical task would pay half of what it is worth."""
        per_s = 0.5 * self.mean_scale / float(self.facts.options.exec_s.mean())
        per_j = np.where(np.isfinite(self.budget_j), self.typical_per_j(), 0.0)
        return Certificate(np.full((self.counts.size, n_slots), per_s), per_j)

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

    def prices(self, certificate: Certificate) -> Prices:
        """Prices as the kernel wants them, with room for what it finds out about them."""
        per_s, per_j, window = certificate.per_s.copy(), certificate.per_j.copy(), self.facts.window
        slot_s = window.end_s / per_s.shape[1]
        paid = np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1) * slot_s
        paid_j = np.cumsum(np.pad(per_j, (1, 0))) * window.period_s
        n_levels, n_options = self.facts.runs.level_stretch.size, self.facts.options.exec_s.size
        return Prices(slot_s, per_s, paid, per_j, paid_j, np.empty((n_levels, per_s.shape[1], n_options)))

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


def _period_s(world: World) -> float:
    """How long an energy period lasts: a day of a daily budget, else the whole counted window."""
    supply, work = world.supply, world.workload
    is_daily = math.isfinite(supply.budget_j) and not supply.is_total
    return supply.day_s if is_daily else work.end_s - work.start_s


def _budgets_j(world: World, period_s: float) -> Floats:
    """What runs may add to the least standby energy in each period."""
    supply, work = world.supply, world.workload
    n_periods = max(math.ceil((work.end_s - work.start_s) / period_s), 1)
    edges_s = np.minimum(work.start_s + period_s * np.arange(n_periods + 1), work.end_s)
    up_s = world.system.counts * np.diff(edges_s)[:, None] - _down_s(world, edges_s)
    return np.asarray(np.maximum(supply.budget_j - supply.pue * up_s @ least_standby_w(world.system), 0.0))


def _down_s(world: World, edges_s: Floats) -> Floats:
    """The seconds for which machines are down, and so draw nothing, by [period, machine type]."""
    outages, system = world.outages, world.system
    kind = system.machine_type[outages.machine]
    inside_s = (
        np.maximum(np.minimum(outages.end_s, until_s) - np.maximum(outages.start_s, from_s), 0.0)
        for from_s, until_s in pairwise(edges_s)
    )
    return np.array([np.bincount(kind, seconds, system.n_machine_types) for seconds in inside_s])


def _runs(world: World) -> Runs:
    """What runs add to standby power, and how tasks stretch, in a few levels."""
    system, options = world.system, layout_of(world).options
    least_w = least_standby_w(system)[options.machine_type]
    has_power = system.power_w is not None
    cost_w = world.supply.pue * (options.energy_j / options.exec_s - least_w) if has_power else 0 * options.exec_s
    return Runs(cost_w, *_stretches(world))


def _stretches(world: World) -> tuple[Floats, Any, Floats]:
    """The stretch of each task, its level, and the least stretch of each level: as many as memory is spent on."""
    work, n_options = world.workload, layout_of(world).options.exec_s.size
    if work.stretch is None:
        return np.ones(work.n_tasks), np.zeros(work.n_tasks, np.int64), np.ones(1)
    n_levels = min(max(_MOST_CHEAPEST // (n_options * _slots(world, STAGES[-1])), 1), _MOST_LEVELS)
    least = np.unique(np.quantile(work.stretch, np.arange(n_levels) / n_levels, method="lower"))
    return work.stretch.copy(), np.searchsorted(least, work.stretch, side="right") - 1, least


def _slots(world: World, stage: Stage) -> int:
    """How many slots of about the stage's length cover the time; each stage splits the one before."""
    hours = min(max(math.ceil(world.workload.end_s / STAGES[0].slot_s), 1), MOST_FIRST_SLOTS)
    return hours * round(STAGES[0].slot_s / stage.slot_s)


def _split(certificate: Certificate, n_slots: int) -> Certificate:
    """The same prices on finer slots."""
    times = n_slots // certificate.per_s.shape[1]
    return Certificate(np.repeat(certificate.per_s, times, axis=1), certificate.per_j)

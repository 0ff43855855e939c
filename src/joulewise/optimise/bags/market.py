"""What a bag of tasks earns and what it costs: the price, energy, wear, and the limits that must be kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import Bag
from joulewise.model.supply import HOUR_S


@dataclass(frozen=True, eq=False)
class Market:
    """The terms of a bag; power, energy and their costs are those of the facility, `pue` times the machines'.

    The customer pays `price` for the bag, of which `overhead` goes into handling it. A joule costs `cost_per_j`, or
    `cost_by_hour` hour by hour from the start on, starting again at its end: then every joule above idle costs the
    mean of the makespan, and every idle one that of the time to the next bag. A machine of each type wears by
    `wear_per_s` while it computes, and all machines together lose `depreciation_per_s` in any case. The mean power
    stays within `power_cap_w`, the makespan within `deadline_s`. `must_run` stands for an agreement: the bag runs even
    at a loss. Raises InputError with every problem.
    """

    price: float
    cost_per_j: float | None = None
    power_cap_w: float = math.inf
    pue: float = 1.0
    overhead: float = 0.0
    wear_per_s: Floats | None = None
    depreciation_per_s: float = 0.0
    deadline_s: float = math.inf
    cost_by_hour: Floats | None = None
    must_run: bool = False

    def __post_init__(self) -> None:
        freeze_fields(self, {"wear_per_s": np.float64, "cost_by_hour": np.float64})
        raise_if_any(_problems(self))

    @property
    def income(self) -> float:
        """What is left of the price before the bag runs."""
        return self.price - self.overhead

    @cached_property
    def has_wear(self) -> bool:
        return self.wear_per_s is not None and bool(self.wear_per_s.any())

    @cached_property
    def _paid(self) -> Floats:
        """The sum of the costs of all hours before each full hour of one round of the costs by hour."""
        assert self.cost_by_hour is not None
        return np.concatenate([[0.0], np.cumsum(self.cost_by_hour)])

    def joule_cost(self, makespan_s: float) -> float:
        """What a joule of the machines costs in a bag that takes this long, the facility's share included."""
        if self.cost_per_j is not None:
            return self.cost_per_j * self.pue
        return float(self.mean_costs(np.array([makespan_s / HOUR_S]))[0]) * self.pue

    def mean_costs(self, hours: Floats) -> Floats:
        """The mean of the costs by hour over this many hours from the start on."""
        assert self.cost_by_hour is not None
        n_hours = self.cost_by_hour.size
        hours = np.minimum(hours, _MOST_HOURS)
        rounds = np.floor(hours / n_hours)
        paid = rounds * self._paid[-1] + np.interp(hours - rounds * n_hours, np.arange(n_hours + 1), self._paid)
        return np.asarray(paid / hours)

    def least_mean_cost(self, first_s: float, last_s: float) -> float:
        """The least mean of the costs by hour that a bag with a makespan in this range can have.

        The mean is monotone within an hour, and one round later it has come nearer to the mean of a round.
        """
        assert self.cost_by_hour is not None
        first, n_hours = first_s / HOUR_S, self.cost_by_hour.size
        last = min(last_s / HOUR_S, first + n_hours)
        marks = np.concatenate([[first], np.arange(math.floor(first) + 1.0, last), [last]])
        least = float(self.mean_costs(marks).min())
        return least if last_s / HOUR_S <= last else min(least, float(self._paid[-1]) / n_hours)

    def ends_of_hours(self, first_s: float, last_s: float) -> list[float]:
        """The times between two others at which a mean of the costs by hour may be least or most.

        Within an hour it only rises or falls, and one round later it has come nearer to the mean of a round: the full
        hours of the first and of the last round.
        """
        if self.cost_by_hour is None:
            return []
        first, last, n_hours = math.ceil(first_s / HOUR_S), min(last_s / HOUR_S, _MOST_HOURS), self.cost_by_hour.size
        ends = [*range(first, first + n_hours), *range(max(int(last) - n_hours, first), int(last))]
        return [end * HOUR_S for end in ends if first_s < end * HOUR_S < last_s]

    def extra_power_w(self, bag: Bag) -> float:
        """What the cap leaves to computing beyond the idle power of all machines; InputError if that is nothing."""
        left_w = self.power_cap_w / self.pue - bag.total_idle_w
        if left_w > 0:
            return left_w
        idle_w = bag.total_idle_w * self.pue
        raise InputError(
            Problem(
                "market.power_cap",
                f"found {self.power_cap_w:g} W, and idle machines alone draw {idle_w:g} W",
                f"must be more than {idle_w - self.power_cap_w:g} W higher",
                "raise the cap, or take machines away or switch them off when done",
            )
        )

    def wear_of(self, bag: Bag) -> Floats:
        """Wear by machine type for the bag's system; InputError when it is for another number of types."""
        n_types = bag.system.n_machine_types
        wear_per_s = np.zeros(n_types) if self.wear_per_s is None else self.wear_per_s
        if wear_per_s.shape == (n_types,):
            return wear_per_s
        found = f"found values of the shape {wear_per_s.shape}"
        raise InputError(Problem("market.wear", found, f"must be one for each of the {n_types} machine types"))


_MOST_HOURS = 2.0**50
_LEAST = {"overhead": 0.0, "depreciation_per_s": 0.0, "pue": 1.0}


def _problems(market: Market) -> Iterator[Problem]:
    if not math.isfinite(market.price):
        yield Problem("market.price", f"found {market.price:g}", "must be finite")
    elif market.price <= 0 and not market.must_run:
        advice = "or say with must_run that an agreement requires the bag"
        yield Problem("market.price", f"found {market.price:g}", "must be above 0", advice)
    for name, least in _LEAST.items():
        value = getattr(market, name)
        if not (value >= least and math.isfinite(value)):
            yield Problem(f"market.{name}", f"found {value:g}", f"must be {least:g} or more, and finite")
    for name in ("power_cap_w", "deadline_s"):
        if not getattr(market, name) > 0:
            advice = "leave it out for no limit"
            yield Problem(f"market.{name}", f"found {getattr(market, name):g}", "must be above 0", advice)
    yield from _cost_problems(market)


def _cost_problems(market: Market) -> Iterator[Problem]:
    if (market.cost_per_j is None) == (market.cost_by_hour is None):
        yield Problem("market.cost_per_j", "found both or none of cost_per_j and cost_by_hour", "must be one of them")
    for name in ("cost_per_j", "cost_by_hour", "wear_per_s"):
        values = getattr(market, name)
        if values is None:
            continue
        costs = np.asarray(values)
        if not costs.size or not ((costs >= 0) & np.isfinite(costs)).all():
            yield Problem(f"market.{name}", f"found {costs.tolist()}", "must be 0 or more, and finite")
    if market.cost_by_hour is not None and market.cost_by_hour.ndim != 1:
        shape = f"found the shape {market.cost_by_hour.shape}"
        yield Problem("market.cost_by_hour", shape, "must be a list, one cost for each hour")

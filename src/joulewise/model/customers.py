"""Customers who each bring the same bag: when they come, what it is worth to them, and what waiting takes of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import Bag

Quoting: TypeAlias = Callable[[float, float], tuple[float, int]]
"""From an instant and the backlog, in seconds of sold work that is not done, to a price and the number of a schedule.

No bag is for sale where the price is infinite.
"""


@dataclass(frozen=True)
class Law:
    """How worths differ among customers, in units of their mean.

    `quantile` gives the worth below which a share of customers lies. Of all prices that are asked where a sale costs
    so much, `asked` is the one of most expected gain, and `gain` is that gain. `virtual` is what a worth counts for
    whoever cannot see it (Myerson 1981). Hardly a worth is more than `reach`.
    """

    quantile: Callable[[Floats], Floats]
    asked: Callable[[Floats], Floats]
    gain: Callable[[Floats], Floats]
    virtual: Callable[[Floats], Floats]
    reach: float


LAWS = {
    "uniform": Law(
        lambda share: 2 * share,
        lambda cost: 1 + cost / 2,
        lambda cost: np.maximum(2 - cost, 0.0) ** 2 / 8,
        lambda worth: 2 * worth - 2,
        reach=2.0,
    ),
    "exponential": Law(
        lambda share: -np.log1p(-share),
        lambda cost: 1 + cost,
        lambda cost: np.exp(-1 - cost),
        lambda worth: worth - 1,
        reach=6.0,
    ),
}
"""How worths may differ: alike from 0 to twice the mean, or exponentially."""


@dataclass(frozen=True)
class Demand:
    """What is known of customers before they come: `per_s` of them until `until_s`, on average.

    Their worths follow the law of that name. Until a bag is done, every second takes as much of its worth as takes away
    the mean within `patience_s`. Raises InputError with every problem.
    """

    law: str
    per_s: float
    until_s: float
    patience_s: float

    def __post_init__(self) -> None:
        raise_if_any(_demand_problems(self))


@dataclass(frozen=True, eq=False)
class Customers:
    """Who came in one trial, in order: `arrival_s`, and `worth` of a bag done at once, in units of the mean.

    That mean is `value_ratio` times what the least energy of the bag costs. Raises InputError with every problem.
    """

    bag: Bag
    demand: Demand
    arrival_s: Floats
    worth: Floats
    value_ratio: float

    def __post_init__(self) -> None:
        freeze_fields(self, {"arrival_s": np.float64, "worth": np.float64})
        raise_if_any(_customer_problems(self))


def _demand_problems(demand: Demand) -> Iterator[Problem]:
    if demand.law not in LAWS:
        yield unknown_name("demand.law", demand.law, LAWS)
    for name in ("per_s", "until_s", "patience_s"):
        value = getattr(demand, name)
        if not 0 < value < np.inf:
            yield Problem(f"demand.{name}", f"found {value:g}", "must be above 0, and finite")


def _customer_problems(customers: Customers) -> Iterator[Problem]:
    arrival_s, worth = customers.arrival_s, customers.worth
    if arrival_s.ndim != 1 or arrival_s.shape != worth.shape:
        yield Problem("customers.worth", f"found the shape {worth.shape}", "must be one for each arrival, in a list")
    if not ((arrival_s >= 0) & (arrival_s < np.inf)).all() or (np.diff(arrival_s) < 0).any():
        yield Problem("customers.arrival_s", "found instants out of order", "must be 0 or more, finite, and not fall")
    if not ((worth >= 0) & (worth < np.inf)).all():
        yield Problem("customers.worth", f"found {worth.min():g} to {worth.max():g}", "must be 0 or more, and finite")
    if not 0 < customers.value_ratio < np.inf:
        yield Problem("customers.value_ratio", f"found {customers.value_ratio:g}", "must be above 0, and finite")

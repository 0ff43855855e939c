"""Customers who come at random, each with the same bag (a demand for the outlook of Tarplee, VII)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.model.customers import LAWS, Customers, Demand
from joulewise.model.supply import DAY_S
from joulewise.rng import generator
from joulewise.worlds.bags.bag import BagParameters, bag_problems, generate_bag
from joulewise.worlds.parameters import broken_rules, explained, is_positive

Values = Literal["uniform", "exponential"]

MOST_CUSTOMERS = 20_000


@dataclass(frozen=True)
class CustomerParameters(BagParameters):
    """The bag, how many customers come with one, and what it is worth to them. Raises InputError with every problem.

    They come independently of each other, at the same rate all the time.
    """

    customers_per_day: float = explained(75.0, "expected number of customers that come in a day")
    days: int = explained(2, "number of days on which customers come; what was sold is done afterwards")
    values: Values = explained(
        "uniform", "how the worth of a bag differs among customers: alike from 0 to twice the mean, or exponentially"
    )
    value_ratio: float = explained(2.0, "mean worth of a bag over the cost of its least energy at the mean tariff")
    patience_s: float = explained(DAY_S, "time until a bag is done that takes the mean worth away, second by second")

    def __post_init__(self) -> None:
        raise_if_any((*bag_problems(self), *_customer_problems(self)))

    @property
    def n_customers(self) -> float:
        """Expected number of customers."""
        return self.customers_per_day * self.days


def generate_customers(parameters: CustomerParameters, system: System, seed: int, trial: int) -> Customers:
    """The customers of one trial, with its bag."""
    p, until_s = parameters, parameters.days * DAY_S
    stream = generator(seed, trial, "customers")
    arrival_s = np.sort(stream.uniform(0.0, until_s, stream.poisson(p.n_customers)))
    worth = LAWS[p.values].quantile(stream.random(arrival_s.size))
    demand = Demand(p.values, p.customers_per_day / DAY_S, until_s, p.patience_s)
    return Customers(generate_bag(p, system, seed, trial), demand, arrival_s, worth, p.value_ratio)


def _customer_problems(p: CustomerParameters) -> Iterator[Problem]:
    rules = (
        ("customers_per_day", is_positive(p.customers_per_day), "must be above 0, and finite"),
        ("customers_per_day", not p.n_customers > MOST_CUSTOMERS, f"there may be up to {MOST_CUSTOMERS:,} in all days"),
        ("days", p.days >= 1, "must be 1 or more"),
        ("values", p.values in LAWS, f"must be one of {', '.join(LAWS)}"),
        ("value_ratio", is_positive(p.value_ratio), "must be above 0, and finite"),
        ("patience_s", is_positive(p.patience_s), "must be above 0 s, and finite"),
    )
    yield from broken_rules("workload", p, rules)

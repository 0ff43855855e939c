"""Small random bags with customers, for tests of prices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.customers import LAWS, Demand
from joulewise.optimise.bags.bound import BoundFront, bound_front
from joulewise.optimise.bags.pricing import Trade, extra_j_of, schedules_of
from joulewise.rng import generator
from tests.strategies.random_bags import random_bag


class Fair(NamedTuple):
    """A trade with the bound front of its bag, and the customers who come."""

    front: BoundFront
    trade: Trade
    arrival_s: Floats
    worth: Floats


def random_fair(seed: int, law: str = "uniform", n_customers: int = 12) -> Fair:
    """A bag that takes a part of an hour to some hours, a tariff with free hours, and customers within a day."""
    rng = generator(seed, "tests.random_trades")
    front = bound_front(random_bag(seed, "real"))
    points = np.array([(extra_j_of(made), made.makespan_s) for made in schedules_of(front)])
    cost = rng.choice([0.0, 1.0, 2.0, 5.0], int(rng.integers(1, 30))) + (rng.random() < 0.5)
    mean = float(max(cost.mean(), 0.1) * max(points[0, 0], 1.0) * rng.uniform(1.0, 4.0))
    demand = Demand(law, n_customers / 86_400, 86_400.0, float(rng.uniform(1.0, 20.0)) * 3600)
    trade = Trade(demand, mean, cost, *points.T)
    arrival_s = np.sort(rng.uniform(0, 86_400, n_customers))
    return Fair(front, trade, arrival_s, mean * LAWS[law].quantile(rng.random(n_customers)))

"""Prices that prove how much a bag earns at most, so that the bound can be checked without a solver."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.optimise.bags.bound import BoundFront
from joulewise.optimise.bags.profit_bound import Optimum, ProfitTerms

_ROUNDING = 1e-12


class ProfitPrices(NamedTuple):
    """What a task of each type, a second of each machine type, and a joule on top under the power cap are worth."""

    task_price: Floats
    machine_price: Floats
    cap_price: float


def profit_prices(terms: ProfitTerms, optimum: Optimum) -> ProfitPrices | None:
    """The prices that prove the bound of an optimum; None with costs by hour, where each span would have its own."""
    market = terms.market
    if market.cost_per_j is None:
        return None
    joule_cost = market.cost_per_j * market.pue
    cap_price = optimum.cap_price if market.has_wear else _cap_price(terms, optimum, joule_cost)
    front, scale = terms.curve(joule_cost + cap_price).front, joule_cost + cap_price
    if scale == 0.0 and not market.has_wear:
        per_s = max(market.income, 0.0) / front.least_makespan_s * np.maximum(front.price_per_s[-1], 0.0)
        return ProfitPrices(front.cheapest(per_s, is_free=True), per_s, 0.0)
    scale = scale or 1.0
    per_s = front.prices_at(_weight(front, market.income / scale, market.deadline_s))
    return ProfitPrices(scale * front.cheapest(per_s), scale * per_s, cap_price)


def _weight(front: BoundFront, income_j: float, deadline_s: float) -> float:
    """The least weight at which tasks are worth the income, and nothing later than the deadline is best."""
    in_time = int(np.argmax(front.makespan_s <= deadline_s * (1 + _ROUNDING)))
    values = front.extra_j + front.weight_w[:-1] * front.makespan_s
    k = max(int(np.searchsorted(values, income_j, side="right")) - 1, 0)
    worth = (income_j - front.extra_j[k]) / front.makespan_s[k]
    return float(max(front.weight_w[in_time], min(worth, front.weight_w[k + 1]), 0.0))


def _cap_price(terms: ProfitTerms, optimum: Optimum, joule_cost: float) -> float:
    """What a joule is worth on top of its cost where the power cap cuts the front: tasks then are worth the income."""
    front = terms.front
    if math.isinf(terms.extra_limit_w) or optimum.extra_w < terms.extra_limit_w * (1 - _ROUNDING):
        return 0.0
    slower = int(np.searchsorted(-front.makespan_s, -optimum.makespan_s, side="right"))
    value_j = front.value_at(float(front.weight_w[min(slower, len(front) - 1)]))
    return max(terms.market.income / value_j - joule_cost, 0.0) if value_j > 0 else 0.0

"""Prices for bags: equal to slow twins, best for each demand, and below a bound that nothing exceeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.bags.sales import certified_makespan, certified_sales
from joulewise.model.customers import LAWS, Demand, Quoting
from joulewise.optimise.bags import pricing
from joulewise.optimise.bags.pricing import (
    Trade,
    fixed_price,
    place_values,
    price_alone,
    price_by_backlog,
    schedules_of,
)
from joulewise.optimise.bags.sales_bound import sales_bound
from joulewise.simulate.bags.sales import Sales, sell
from tests.strategies.cases import cases
from tests.strategies.random_trades import Fair, random_fair
from tests.twins.bags.pricing import energy_cost, most_of_all, values_of_places

SEEDS = st.integers(0, 2**30)
LAW_NAMES = st.sampled_from(list(LAWS))
SHARES = (np.arange(20_000) + 0.5) / 20_000


def sold(fair: Fair, quoting: Quoting) -> Sales:
    return sell(fair.arrival_s, fair.worth, fair.trade.loss_per_s, fair.trade.makespan_s, quoting)


def profit_of(fair: Fair, sales: Sales) -> float:
    return math.fsum(
        price - energy_cost(fair.trade, schedule, start_s)
        for price, schedule, start_s, _, is_bought in zip(*map(np.ndarray.tolist, sales))
        if is_bought
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("cost", [0.0, 0.3, 1.5])
def test_the_price_asked_is_the_best_for_the_law(law: str, cost: float) -> None:
    worths = LAWS[law].quantile(SHARES)
    assert worths.mean() == pytest.approx(1.0, rel=1e-3)
    prices = np.linspace(0.0, 6.0, 2001)
    gains = (prices - cost) * (worths[:, None] >= prices).mean(axis=0)
    assert LAWS[law].gain(np.array(cost)) == pytest.approx(gains.max(), rel=2e-3)
    assert LAWS[law].asked(np.array(cost)) == pytest.approx(prices[gains.argmax()], rel=0.05)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("price", [0.0, 0.4, 1.0, 1.7])
def test_virtual_worths_of_buyers_are_what_they_pay_on_average(law: str, price: float) -> None:
    worths = LAWS[law].quantile(SHARES)
    buys = worths >= price
    assert (LAWS[law].virtual(worths) * buys).mean() == pytest.approx(price * buys.mean(), abs=2e-3)


@cases(20)
@given(seed=SEEDS, start_s=st.floats(0, 3e5))
def test_energy_costs_are_those_of_the_hours(seed: int, start_s: float) -> None:
    trade = random_fair(seed).trade
    slow = [energy_cost(trade, schedule, start_s) for schedule in range(trade.makespan_s.size)]
    assert trade.energy_costs(np.array([start_s]))[:, 0] == pytest.approx(slow, rel=1e-9, abs=1e-9)


@cases(5)
@given(seed=SEEDS, law=LAW_NAMES)
def test_values_of_places_equal_the_twin(seed: int, law: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pricing, "_MOST_STEPS", 12)
        trade = random_fair(seed, law).trade
        trade = replace(trade, extra_j=trade.extra_j[:3], makespan_s=trade.makespan_s[:3])
        fast = place_values(trade)
    n_times, n_backlogs = fast.profit.shape
    slow = values_of_places(trade, fast.step_s, n_times - 1, n_backlogs)
    assert fast.profit == pytest.approx(np.array(slow), rel=1e-9, abs=1e-12 * trade.mean_value)


@cases(10)
@given(seed=SEEDS, law=LAW_NAMES)
def test_work_takes_more_of_later_sales_the_longer_it_is(seed: int, law: str) -> None:
    trade = replace(random_fair(seed, law).trade, cost_per_j=np.array([1.0]))
    taken = place_values(trade).taken(1000.0, 500.0, np.array([0.0, 600.0, 6000.0]))
    assert taken[0] == 0.0
    assert (np.diff(taken) >= -1e-9 * trade.mean_value).all()


def test_a_price_by_backlog_rises_with_the_backlog_and_with_the_cost_of_energy() -> None:
    demand = Demand("exponential", 1 / 1800, 86_400.0, 1e6)
    trade = Trade(demand, 10.0, np.array([1e-3, 2e-3]), np.array([1000.0, 1020.0]), np.array([3600.0, 1800.0]))
    asked, alone = price_by_backlog(trade), price_alone(trade)
    prices = [asked(0.0, 7200.0 * n)[0] for n in range(4)]
    assert (np.diff(prices) > 0).all()
    assert alone(0.0, 0.0)[0] < alone(3600.0, 0.0)[0]
    assert alone(0.0, 7200.0)[0] == pytest.approx(alone(0.0, 0.0)[0])
    assert alone(0.0, 0.0)[1] == 0
    assert asked(0.0, 0.0)[1] == 1, "with others to come, the faster schedule is worth its energy"


def test_no_bag_is_sold_at_a_fixed_price_below_what_its_energy_costs() -> None:
    trade = Trade(Demand("uniform", 1e-3, 1e5, 1e5), 5.0, np.array([1.0, 9.0]), np.array([2.0]), np.array([60.0]))
    asked = fixed_price(trade, 3.0)
    assert asked(0.0, 0.0) == (3.0, 0)
    assert asked(3600.0, 0.0)[0] == math.inf


@cases(10)
@given(seed=SEEDS)
def test_schedules_on_offer_are_a_front(seed: int) -> None:
    front = random_fair(seed).front
    made = [(pricing.extra_j_of(allocation), allocation.makespan_s) for allocation in schedules_of(front)]
    extra_j, makespan_s = np.array(made).T
    assert (np.diff(extra_j) > 0).all()
    assert (np.diff(makespan_s) < 0).all()
    assert makespan_s[-1] >= front.least_makespan_s * (1 - 1e-9)


@cases(15)
@given(seed=SEEDS, law=LAW_NAMES)
def test_nothing_earns_more_than_the_bound(seed: int, law: str) -> None:
    fair = random_fair(seed, law)
    bound = sales_bound(fair.front, fair.trade, fair.arrival_s, fair.worth)
    rng = np.random.default_rng(seed)
    n = fair.trade.makespan_s.size
    ways = [
        price_by_backlog(fair.trade),
        price_alone(fair.trade),
        fixed_price(fair.trade, fair.trade.mean_value),
        lambda _at_s, _backlog_s: (float(rng.uniform(0, 2)) * fair.trade.mean_value, int(rng.integers(n))),
    ]
    for way in ways:
        assert profit_of(fair, sold(fair, way)) <= bound.profit * (1 + 1e-9) + 1e-9


@cases(15)
@given(seed=SEEDS, law=LAW_NAMES)
def test_even_who_knows_all_worths_earns_no_more_than_the_bound(seed: int, law: str) -> None:
    fair = random_fair(seed, law, n_customers=3)
    trade = replace(fair.trade, extra_j=fair.trade.extra_j[[0, -1]], makespan_s=fair.trade.makespan_s[[0, -1]])
    bound = sales_bound(fair.front, trade, fair.arrival_s, fair.worth)
    most = most_of_all(trade, fair.arrival_s.tolist(), fair.worth.tolist())
    assert most <= bound.profit * (1 + 1e-9) + 1e-9 * trade.mean_value


@cases(15)
@given(seed=SEEDS, law=LAW_NAMES)
def test_stored_prices_prove_the_bound(seed: int, law: str) -> None:
    fair = random_fair(seed, law)
    bag, trade = fair.front.bag, fair.trade
    bound = sales_bound(fair.front, trade, fair.arrival_s, fair.worth)
    least_s = certified_makespan(bag, fair.front.duals(len(fair.front))[1])
    assert least_s == pytest.approx(fair.front.least_makespan_s, rel=1e-9)
    customers = list(zip(fair.arrival_s.tolist(), fair.worth.tolist(), strict=True))
    proven = certified_sales(bag, trade.cost_per_j, bound.machine_price, customers, trade.loss_per_s, least_s)
    assert bound.profit == pytest.approx(proven, rel=1e-8, abs=1e-9 * trade.mean_value)


def test_without_customers_nothing_can_be_earned() -> None:
    fair = random_fair(3)
    assert sales_bound(fair.front, fair.trade, np.empty(0), np.empty(0)).profit == 0.0
    assert not sell(np.empty(0), np.empty(0), 1.0, fair.trade.makespan_s, price_alone(fair.trade)).is_bought.size

"""The validator of bags: every kind of wrong allocation or price is found, and nothing is said of right ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from joulewise.check.bags.allocation import certified_front, certified_profit, check_bag
from joulewise.errors import InputError
from joulewise.model import Bag, BagAllocation
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.profit import most_profit
from joulewise.optimise.bags.recovery import recover
from tests.strategies.random_bags import system_of


def a_bag() -> Bag:
    """Two machines; the second type cannot run the second task type."""
    etc_s = np.array([[[1.0], [2.0]], [[3.0], [math.inf]]])
    return Bag(system_of(np.array([1, 1]), etc_s, np.full((2, 2, 1), 10.0), np.array([1.0, 2.0])), np.array([3, 2]))


def an_allocation() -> BagAllocation:
    bag = a_bag()
    return recover(bag, bound_front(bag).split(0))


def changed(cells: dict[tuple[int, int, int], int]) -> BagAllocation:
    allocation = an_allocation()
    counts = allocation.counts.copy()
    for cell, n_tasks in cells.items():
        counts[cell] += n_tasks
    return BagAllocation(allocation.bag, counts)


def test_nothing_is_wrong_with_a_right_one() -> None:
    assert check_bag(an_allocation()) == []


def test_what_is_wrong_is_said() -> None:
    assert "expected 3" in check_bag(changed({(0, 0, 0): 1}))[0]
    assert "cannot run t1" in check_bag(changed({(0, 1, 0): -1, (1, 1, 0): 1}))[0]
    assert "expected 0 or more" in check_bag(changed({(1, 0, 0): -9, (0, 0, 0): 9}))[0]


@pytest.mark.parametrize("name", ["makespan_s", "energy_j"])
def test_values_are_computed_again(name: str) -> None:
    allocation = an_allocation()
    allocation.__dict__[name] = 0.99 * getattr(allocation, name)
    assert any(line.startswith(name) for line in check_bag(allocation))


def test_any_prices_bound_the_profit() -> None:
    """Poor ones prove less, ones that are none are refused, and none proves less than an allocation earns."""
    bag, front = a_bag(), bound_front(a_bag())
    market = Market(2.0 * front.least_energy_j, 1.0)
    found = most_profit(bag, market, "best")
    assert found.certificate is not None
    best = certified_profit(bag, market, *found.certificate)
    assert best == pytest.approx(found.bound_per_s, rel=1e-12)
    task_price, machine_price, _ = found.certificate
    for poor in (0.9 * task_price, 0.0 * task_price):
        assert certified_profit(bag, market, poor, machine_price) > best
    with pytest.raises(InputError, match="task_price"):
        certified_profit(bag, market, 1.1 * task_price, machine_price)
    with pytest.raises(InputError, match="machine_price"):
        certified_profit(bag, market, task_price, -machine_price)
    with pytest.raises(InputError, match="costs by hour"):
        certified_profit(bag, Market(1.0, cost_by_hour=np.ones(2)), task_price, machine_price)


def test_prices_that_prove_nothing_are_refused() -> None:
    front = bound_front(a_bag())
    task_price, machine_price = front.duals(1)
    weight_w = front.weight_w[1]
    assert certified_front(front.bag, weight_w, task_price, machine_price)[0] == pytest.approx(front.value_at(weight_w))
    assert certified_front(front.bag, weight_w, 0.5 * task_price, machine_price)[0] < front.value_at(weight_w)
    with pytest.raises(InputError, match="task_price"):
        certified_front(front.bag, weight_w, 1.1 * task_price, machine_price)
    for wrong in (2.0 * machine_price, -machine_price, math.nan * machine_price):
        with pytest.raises(InputError, match="machine_price"):
            certified_front(front.bag, weight_w, task_price, wrong)


def test_allocations_of_parts_of_tasks_or_of_another_shape_are_refused() -> None:
    bag = a_bag()
    shape = (bag.system.n_machines, bag.system.n_task_types, bag.system.n_pstates)
    with pytest.raises(InputError, match="whole numbers"):
        BagAllocation(bag, np.full(shape, 1.5))
    with pytest.raises(InputError, match="found the shape"):
        BagAllocation(bag, np.zeros((1, 1, 1), np.int64))

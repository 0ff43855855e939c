"""The validator of sales says what is wrong with them, and takes no prices that prove nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from joulewise.check.bags.sales import Sale, certified_makespan, certified_sales, check_sales, sales_profit
from joulewise.errors import InputError
from joulewise.model import Bag
from tests.strategies.random_bags import system_of

SALES = [
    Sale(0.0, 9.0, 5.0, 0, 0.0, 10.0, True),
    Sale(1.0, 5.0, 5.0, 1, 10.0, 14.0, False),
    Sale(2.0, 9.0, 5.0, 1, 10.0, 14.0, True),
]
BAG = Bag(system_of(np.array([1, 2]), np.array([[[10.0], [20.0]]]), np.array([[[100.0], [40.0]]])), np.array([6]))


def test_sales_that_hold_have_nothing_wrong() -> None:
    assert check_sales(SALES, 0.1, [10.0, 4.0]) == []
    assert sales_profit(SALES, [2.0, 3.0], [0.5, 9.0]) == pytest.approx(10.0 - 1.0 - 1.5)
    late = SALES[0]._replace(start_s=3599.0, done_s=3609.0)
    assert sales_profit([late], [2.0], [0.5, 9.0]) == pytest.approx(5.0 - 2.0 * (0.1 * 0.5 + 0.9 * 9.0))


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        (0, {"start_s": 1.0}, "customer 0: start_s: found 1.0; expected 0.0"),
        (2, {"done_s": 15.0}, "customer 2: done_s: found 15.0; expected 14.0"),
        (1, {"is_bought": True}, "customer 1: bought for 5.0; the bag is worth 3.7"),
        (2, {"is_bought": False}, "customer 2: did not buy for 5.0; the bag is worth 7.8"),
        (0, {"price": math.inf}, "customer 0: bought for inf"),
    ],
)
def test_what_does_not_hold_is_said(number: int, change: dict[str, Any], words: str) -> None:
    changed = [sale._replace(**change) if i == number else sale for i, sale in enumerate(SALES)]
    assert check_sales(changed, 0.1, [10.0, 4.0])[0].startswith(words)


def test_prices_prove_what_they_can() -> None:
    assert certified_makespan(BAG, [0.5, 0.25]) == pytest.approx(30.0)
    assert certified_makespan(BAG, [0.0, 0.0]) == 0.0
    free = certified_sales(BAG, [1e-3], [[0.0, 0.0]], [(0.0, 10.0)], 0.01, 30.0)
    assert free == pytest.approx(10.0 - 0.3 - 6 * 0.8)
    priced = certified_sales(BAG, [1e-3], [[0.01, 0.005]], [(0.0, 10.0)], 0.01, 30.0)
    assert priced == pytest.approx(3600 * 0.02 + 10.0 - 0.3 - 6 * 0.9)


@pytest.mark.parametrize("price", [[[-1.0, 0.0]], [[0.0]], [[math.nan, 0.0]]])
def test_what_are_no_prices_is_refused(price: list[list[float]]) -> None:
    with pytest.raises(InputError, match="must be one for each of 2 machine types, 0 or more"):
        certified_sales(BAG, [1e-3], price, [(0.0, 10.0)], 0.01, 30.0)


def test_hours_must_last_until_nothing_is_left_of_a_worth() -> None:
    with pytest.raises(InputError, match="must be more: a later sale may pay"):
        certified_sales(BAG, [1e-3], [[0.0, 0.0]], [(0.0, 37.0)], 0.01, 30.0)

"""Customers who are asked for prices: who buys, and when bags run."""

from __future__ import annotations

import numpy as np

from joulewise.simulate.bags.sales import sell


def test_bags_run_one_after_the_other_in_the_order_of_sale() -> None:
    asked: list[tuple[float, float]] = []

    def quoting(at_s: float, backlog_s: float) -> tuple[float, int]:
        asked.append((at_s, backlog_s))
        return 5.0, len(asked) % 2

    sales = sell(np.array([0.0, 1.0, 2.0, 100.0]), np.array([9.0, 5.9, 9.0, 9.0]), 0.1, np.array([10.0, 4.0]), quoting)
    assert asked == [(0.0, 0.0), (1.0, 3.0), (2.0, 2.0), (100.0, 0.0)]
    assert sales.is_bought.tolist() == [True, False, True, True]
    assert sales.start_s.tolist() == [0.0, 4.0, 4.0, 100.0]
    assert sales.done_s.tolist() == [4.0, 14.0, 8.0, 110.0]


def test_who_gets_as_much_as_he_pays_buys_and_nobody_pays_an_infinite_price() -> None:
    sales = sell(
        np.array([0.0, 0.0]), np.array([6.0, 6.0]), 0.5, np.array([2.0]), lambda _at_s, left_s: (5.0 - left_s, 0)
    )
    assert sales.is_bought.tolist() == [True, True]
    sales = sell(np.array([0.0]), np.array([1e300]), 0.0, np.array([2.0]), lambda _at_s, _left_s: (np.inf, 0))
    assert sales.is_bought.tolist() == [False]

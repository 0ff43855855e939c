"""Customers that are drawn: as many as expected, worth what the law says, and alike for the same seed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.customers import Customers, Demand
from joulewise.worlds.bags.customers import CustomerParameters, Values, generate_customers
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines

SYSTEM = generate_nine_machines(NineMachineParameters(counts=(1,) * 9), 1)
MANY = CustomerParameters(n_tasks=50, customers_per_day=2000, days=3)


@pytest.mark.parametrize("law", get_args(Values))
def test_customers_come_in_order_and_are_worth_one_on_average(law: Values) -> None:
    customers = generate_customers(replace(MANY, values=law), SYSTEM, 1, 0)
    assert customers.arrival_s.size == pytest.approx(6000, abs=400)
    assert (np.diff(customers.arrival_s) >= 0).all()
    assert customers.arrival_s[-1] < 3 * 86_400
    assert customers.worth.mean() == pytest.approx(1.0, abs=0.06)
    assert customers.demand == Demand(law, 2000 / 86_400, 3 * 86_400.0, 86_400.0)


def test_the_same_trial_has_the_same_customers_and_another_has_others() -> None:
    first, again, other = (generate_customers(MANY, SYSTEM, 1, trial) for trial in (0, 0, 1))
    assert np.array_equal(first.worth, again.worth)
    assert np.array_equal(first.arrival_s, again.arrival_s)
    assert not np.array_equal(first.worth[:10], other.worth[:10])
    patient = generate_customers(replace(MANY, patience_s=1e6), SYSTEM, 1, 0)
    assert np.array_equal(first.worth, patient.worth)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"customers_per_day": 0.0}, "workload.customers_per_day: found 0.0; must be above 0"),
        ({"customers_per_day": 1e6}, "there may be up to 20,000 in all days"),
        ({"days": 0}, "workload.days: found 0; must be 1 or more"),
        ({"values": "normal"}, "workload.values: found 'normal'; must be one of uniform, exponential"),
        ({"value_ratio": math.nan}, "workload.value_ratio: found nan; must be above 0"),
        ({"patience_s": -1.0}, "workload.patience_s: found -1.0; must be above 0 s"),
        ({"n_tasks": 0}, "workload.n_tasks: found 0"),
    ],
)
def test_parameters_that_make_no_customers_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(MANY, **change)  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_customers_that_cannot_be_are_refused() -> None:
    customers = generate_customers(MANY, SYSTEM, 1, 0)
    with pytest.raises(InputError) as caught:
        Customers(customers.bag, customers.demand, np.array([2.0, 1.0]), np.array([1.0, -1.0]), 0.0)
    for words in ("out of order", "customers.worth: found -1 to 1", "customers.value_ratio: found 0"):
        assert words in str(caught.value)
    with pytest.raises(InputError, match="must be one for each arrival"):
        replace(customers, worth=np.array([1.0]))
    with pytest.raises(InputError) as caught:
        Demand("normal", 0.0, math.inf, math.nan)
    assert len(caught.value.problems) == 4

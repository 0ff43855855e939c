"""Supplies from parameters and tables, and limits held against a system."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model import Standby, Supply, System
from joulewise.worlds.supply import SupplyParameters, check_limits, read_supply

SYSTEM = System(
    task_types=("a",),
    machine_types=("x", "y"),
    counts=np.array([1, 2]),
    etc_s=np.array([[[10.0], [20.0]]]),
    power_w=np.array([[[100.0], [60.0]]]),
    standby=Standby(*(np.array([10.0, 5.0]) for _ in range(2)), *(np.zeros(2) for _ in range(3))),
)


def problems(**values: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        SupplyParameters(**values)
    return [str(problem) for problem in caught.value.problems]


def test_nothing_is_limited_unless_asked() -> None:
    supply = read_supply(SupplyParameters())
    assert (supply.budget_j, supply.cap_w, supply.pue, supply.tariff) == (math.inf, None, 1, None)
    check_limits(supply, SYSTEM)


def test_budgets_caps_and_tariffs(tmp_path: Path) -> None:
    (tmp_path / "caps.csv").write_text("hour,w,other\n0,100,1\n1,200,1\n")
    (tmp_path / "prices.csv").write_text("timestamp,eur\n2026-01-01T00:00Z,0.3\n")
    parameters = SupplyParameters(
        budget_total_j=5e9, power_cap_by_hour="caps.csv", power_cap_column="w", pue=1.5, tariff="prices.csv",
        tariff_unit="EUR", day_s=3600.0,
    )  # fmt: skip
    supply = read_supply(parameters, tmp_path)
    assert (supply.budget_j, supply.is_total, supply.day_s, supply.pue) == (5e9, True, 3600.0, 1.5)
    assert supply.cap_w is not None
    assert supply.tariff is not None
    assert (supply.cap_w.tolist(), supply.tariff.tolist(), supply.tariff_unit) == ([100.0, 200.0], [0.3], "EUR")
    constant = read_supply(SupplyParameters(budget_j=1e9, power_cap_w=5.0)).cap_w
    assert constant is not None
    assert constant.tolist() == [5.0]


def test_problems_of_both_tables_come_together(tmp_path: Path) -> None:
    (tmp_path / "caps.csv").write_text("hour,w\n0,100\n1,0\n")
    with pytest.raises(InputError) as caught:
        read_supply(SupplyParameters(power_cap_by_hour="caps.csv", tariff="no.csv"), tmp_path)
    assert [str(problem).partition(":")[0] for problem in caught.value.problems] == ["caps.csv", "no.csv"]


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"budget_j": 0.0}, "supply.budget_j: found 0.0; must be above 0 J"),
        ({"budget_total_j": math.nan}, "supply.budget_total_j: found nan; must be above 0 J"),
        ({"power_cap_w": -1.0}, "supply.power_cap_w: found -1.0; must be above 0 W"),
        ({"pue": 0.9}, "supply.pue: found 0.9; must be 1 or more, and finite"),
        ({"day_s": 0.0}, "supply.day_s: found 0.0; must be above 0 s"),
        ({"budget_j": 1.0, "budget_total_j": 1.0}, "supply.budget_total_j: found budget as well"),
        ({"power_cap_w": 1.0, "power_cap_by_hour": "a.csv"}, "supply.power_cap_by_hour: found power_cap as well"),
        ({"tariff_column": "x"}, "supply.tariff_column: found 'x'; needs a table, tariff"),
        ({"tariff_unit": "EUR"}, "supply.tariff_unit: found 'EUR'; needs a table, tariff"),
        ({"power_cap_column": "x"}, "supply.power_cap_column: found 'x'; needs a table, power_cap_by_hour"),
    ],
)
def test_wrong_values(values: dict[str, Any], line: str) -> None:
    (found,) = problems(**values)
    assert found.startswith(line)


def test_limits_must_leave_something_to_run_a_task_with() -> None:
    idle_w = 1.5 * 20.0
    needed_j = 1.5 * 90.0 * 10.0 + idle_w * 3600
    needed_w = 1.5 * 55.0 + idle_w
    check_limits(Supply(needed_j, day_s=3600.0, cap_w=np.array([1.0, needed_w]), pue=1.5), SYSTEM)
    with pytest.raises(InputError) as caught:
        check_limits(Supply(needed_j - 1, day_s=3600.0, cap_w=np.array([1.0, needed_w - 1]), pue=1.5), SYSTEM)
    assert [problem.where for problem in caught.value.problems] == ["supply.budget", "supply.power_cap"]

"""Failures and repairs: their rates, their streams, and rates that leave no machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.worlds import outages
from joulewise.worlds.environment import SystemParameters
from joulewise.worlds.outages import FailureParameters, draw_outages

DAY_S = 86_400.0


@given(
    mtbf_s=st.floats(600, 1e6),
    mttr_s=st.floats(60, 1e5),
    n_machines=st.integers(1, 20),
    end_s=st.floats(1, 1e6),
    seed=st.integers(0, 1000),
)
def test_outages_begin_before_the_end_and_longer_worlds_begin_alike(
    mtbf_s: float, mttr_s: float, n_machines: int, end_s: float, seed: int
) -> None:
    parameters = FailureParameters(mtbf_s=mtbf_s, mttr_s=mttr_s)
    found = draw_outages(parameters, n_machines, end_s, seed, 0)
    assert (found.start_s < end_s).all()
    larger = draw_outages(parameters, n_machines + 1, 2 * end_s, seed, 0)
    same = (larger.machine < n_machines) & (larger.start_s < end_s)
    assert np.array_equal(larger.machine[same], found.machine)
    assert np.array_equal(larger.start_s[same], found.start_s)
    assert np.array_equal(larger.end_s[same], found.end_s)


def test_machines_are_down_as_long_as_asked() -> None:
    found = draw_outages(FailureParameters(mtbf_s=9000.0, mttr_s=1000.0), 50, 100 * DAY_S, 3, 1)
    assert (found.end_s - found.start_s).mean() == pytest.approx(1000.0, rel=0.02)
    assert found.start_s.size / 50 / (100 * DAY_S) == pytest.approx(1e-4, rel=0.02)


def test_trials_differ_and_nothing_fails_unless_asked() -> None:
    parameters = FailureParameters(mtbf_s=9000.0, mttr_s=1000.0)
    one, other = (draw_outages(parameters, 3, DAY_S, 0, trial) for trial in (0, 1))
    assert one.start_s.tolist() != other.start_s.tolist()
    assert draw_outages(FailureParameters(), 3, math.inf, 0, 0).machine.size == 0


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"mtbf_s": 0.0, "mttr_s": 1.0}, "system.mtbf_s: found 0.0; must be above 0 s"),
        ({"mtbf_s": -1.0, "mttr_s": 1.0}, "system.mtbf_s: found -1.0; must be above 0 s"),
        ({"mtbf_s": 1.0, "mttr_s": math.inf}, "system.mttr_s: found inf; must be above 0 s"),
        ({"mtbf_s": 3600.0}, "system.mttr: missing; mtbf and mttr go together"),
        ({"mttr_s": 3600.0}, "system.mtbf: missing; mtbf and mttr go together"),
        (
            {"mtbf_s": 60.0, "mttr_s": 86_400.0},
            "system.mttr: found 1 d: machines would work 0.069 % of the time; must leave them 1 % at least",
        ),
    ],
)
def test_failures_must_leave_machines(values: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        SystemParameters(**values)
    (found,) = caught.value.problems
    assert str(found).startswith(line)


def test_failures_need_an_end_and_a_sane_number(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = FailureParameters(mtbf_s=9000.0, mttr_s=1000.0)
    with pytest.raises(InputError, match="the workload has no end"):
        draw_outages(parameters, 3, math.inf, 0, 0)
    monkeypatch.setattr(outages, "MAX_OUTAGES", 5)
    with pytest.raises(InputError, match="which makes about 26 outages; there may be up to 5; raise mtbf"):
        draw_outages(parameters, 3, DAY_S, 0, 0)

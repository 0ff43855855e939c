"""Low and high task-machine affinity: what changes, what is kept, what cannot be changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from joulewise.errors import InputError
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.worlds.affinity import LEAST_SPEED, affinity_report, with_affinity
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.heterogeneity import heterogeneity, heterogeneity_metrics
from tests.strategies.simple_worlds import simple_system

KEPT = 1e-9
"""How far TDH and MPH may move: the tolerance of the standard form, summed up."""

TIMES = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(1.0, 50.0))
)
CHANGED = st.sampled_from(["low", "high"])
Changed = Literal["low", "high"]


def measures(system: System) -> tuple[float, float, float]:
    found = heterogeneity_metrics(system)
    return found["system_tma"], found["system_tdh"], found["system_mph"]


@settings(deadline=None)
@given(TIMES, CHANGED)
def test_difficulty_and_performance_are_kept(etc_s: Floats, affinity: Changed) -> None:
    before = simple_system(etc_s)
    after = with_affinity(before, affinity)
    tma, tdh, mph = measures(before)
    changed_tma, *others = measures(after)
    assert others == pytest.approx([tdh, mph], abs=KEPT)
    assert changed_tma == pytest.approx(0, abs=1e-9) if affinity == "low" else changed_tma >= tma - KEPT
    for axis in (0, 1):
        assert (1 / after.etc_s).sum(axis=axis) == pytest.approx((1 / before.etc_s).sum(axis=axis))


def test_the_two_printed_matrices() -> None:
    """Fig. 3.3: the one of high affinity loses it, the one without affinity has nothing to enlarge."""
    flat = simple_system(1 / np.array([[25.0, 10, 5]] * 3))
    peaked = simple_system(1 / np.array([[25.0, 10, 5], [5, 25, 10], [10, 5, 25]]))
    assert 1 / with_affinity(peaked, "low").etc_s == pytest.approx(40 / 3)
    assert measures(with_affinity(peaked, "high"))[0] > measures(peaked)[0] + 0.1
    for affinity in ("low", "high"):
        assert with_affinity(flat, affinity).etc_s == pytest.approx(flat.etc_s)


def test_low_affinity_is_the_product_of_difficulty_and_performance() -> None:
    speed = np.array([[1.0, 2.0], [3.0, 2.0]])
    expected = np.outer([3.0, 5.0], [4.0, 4.0]) / 8
    assert 1 / with_affinity(simple_system(1 / speed), "low").etc_s[:, :, 0] == pytest.approx(expected)


@pytest.mark.parametrize("trial", range(4))
def test_high_affinity_leaves_about_the_least_speed_and_uses_it_up(trial: int) -> None:
    before = generate_system(SystemParameters(), 0, trial)
    after = with_affinity(before, "high")
    left = before.etc_s[:, 4:, 0] / after.etc_s[:, 4:, 0]
    assert left.min() == pytest.approx(LEAST_SPEED, rel=0.05)
    assert np.isclose(left, LEAST_SPEED, rtol=0.05).sum() <= 8, "one entry for each direction at most"


def test_special_purpose_machines_are_ten_times_as_fast_as_the_others_on_average() -> None:
    for affinity in ("low", "high"):
        parameters = SystemParameters(affinity=affinity)
        system = generate_system(parameters, 0, 0)
        drawn = generate_system(SystemParameters(), 0, 0)
        mean_speed = (1 / system.etc_s[:, 4:, 0]).mean(axis=1)
        tasks, machines = np.nonzero(system.can_run[:, :4])
        assert tasks.size == 17
        assert 1 / system.etc_s[tasks, machines, 0] == pytest.approx(10 * mean_speed[tasks])
        assert (system.can_run == drawn.can_run).all()


@pytest.mark.parametrize("affinity", ["low", "high"])
def test_pstates_keep_their_factors_and_powers_stay(affinity: Changed) -> None:
    before = generate_system(SystemParameters(pstates=3), 0, 1)
    after = with_affinity(before, affinity)
    possible = before.can_run
    factors = [system.etc_s[possible] / system.etc_s[possible][:, :1] for system in (before, after)]
    assert factors[1] == pytest.approx(factors[0])
    assert (after.etc_s >= after.etc_s[:, :, :1]).all()
    assert before.power_w is not None
    assert after.power_w is not None
    assert (after.power_w == before.power_w).all()


def test_a_missing_pstate_stays_missing() -> None:
    etc_s = np.array([[[1.0, 2.0], [3.0, np.inf]], [[4.0, 8.0], [5.0, np.inf]]])
    after = with_affinity(System(("a", "b"), ("x", "y"), np.array([1, 1]), etc_s), "high")
    assert (np.isinf(after.etc_s) == np.isinf(etc_s)).all()


def test_as_drawn_is_the_system_itself_and_the_draws_are_shared() -> None:
    system = generate_system(SystemParameters(), 0, 3)
    assert with_affinity(system, "as drawn") is system
    low = generate_system(SystemParameters(affinity="low"), 0, 3)
    assert (low.etc_s == with_affinity(system, "low").etc_s).all()


def test_the_report_has_the_measures_before_and_after() -> None:
    rows = affinity_report(generate_system(SystemParameters(), 0, 0))
    assert [row["affinity"] for row in rows] == ["as drawn", "low", "high"]
    drawn, low, high = ([float(row[name]) for name in ("system_tma", "system_tdh", "system_mph")] for row in rows)
    assert low[0] < 1e-15
    assert low[0] < drawn[0] < high[0]
    assert low[1:] == pytest.approx(drawn[1:], abs=KEPT)
    assert high[1:] == pytest.approx(drawn[1:], abs=KEPT)


def test_the_measures_are_those_of_the_general_purpose_part() -> None:
    system = generate_system(SystemParameters(), 0, 0)
    whole = heterogeneity(system.etc_s[:, 4:, 0])
    assert measures(system) == pytest.approx((whole.tma, whole.tdh, whole.mph))
    none = replace(simple_system([[1.0]]), machine_group=("special",))
    assert np.isnan(measures(none)).all()


def test_a_task_type_for_special_purpose_machines_only_is_left_as_it_is() -> None:
    times_s = [[1.0, 4.0, np.inf], [2.0, 3.0, 1.0], [np.inf, np.inf, 7.0]]
    before = replace(simple_system(times_s), machine_group=("general", "general", "special"))
    after = with_affinity(before, "low")
    assert after.etc_s[2, 2, 0] == 7.0
    assert after.etc_s[1, 2, 0] == pytest.approx(1 / (10 * (1 / 2 + 1 / 3) / 2))
    assert measures(after)[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("system", "affinity", "message"),
    [
        (simple_system([[1.0, np.inf], [1.0, 2.0]]), "low", "t0 on m1.*group special"),
        (replace(simple_system([[1.0]]), machine_group=("special",)), "high", "general-purpose machine type"),
        (simple_system([[1.0]]), "hihg", "'high'"),
        (simple_system([[1.0, 1.0], [1e12, 1.0]]), "low", "orders of magnitude"),
    ],
)
def test_what_cannot_be_changed(system: System, affinity: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        with_affinity(system, affinity)


def test_an_unknown_affinity_of_a_generated_system() -> None:
    wrong: Any = "medium"
    with pytest.raises(InputError, match=r"system\.affinity: found 'medium'.*as drawn, low, high"):
        SystemParameters(affinity=wrong)

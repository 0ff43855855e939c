"""Measures of heterogeneity: known matrices, invariances, what cannot be measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from joulewise.errors import InputError
from joulewise.model.arrays import Floats
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.heterogeneity import heterogeneity, moments, standard_form

MATRICES = st.tuples(st.integers(1, 8), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0.1, 10.0))
)


def test_the_two_printed_matrices() -> None:
    """Fig. 3.3: equal task difficulty, very low and high affinity."""
    low = heterogeneity(1 / np.array([[25.0, 10, 5]] * 3))
    high = heterogeneity(1 / np.array([[25.0, 10, 5], [5, 25, 10], [10, 5, 25]]))
    assert low.tma == pytest.approx(0, abs=1e-12)
    assert low.tdh == high.tdh == pytest.approx(1)
    assert high.tma > 0.4


def test_extremes() -> None:
    own_machine = heterogeneity(np.where(np.eye(4) == 1, 5.0, np.inf))
    assert (own_machine.tma, own_machine.tdh, own_machine.mph) == pytest.approx((1, 1, 1))
    single = heterogeneity([[7.0]])
    assert (single.tma, single.tdh, single.mph, single.mean_s, single.cov) == (0, 1, 1, 7, 0)
    assert math.isnan(single.skewness)


def test_homogeneity_is_the_mean_ratio_of_neighbours() -> None:
    result = heterogeneity(1 / np.array([[1.0, 2.0, 8.0]]))
    assert result.mph == pytest.approx((1 / 2 + 2 / 8) / 2)


@settings(deadline=None)
@given(MATRICES)
def test_standard_form_has_equal_sums_and_first_singular_value_1(matrix: Floats) -> None:
    standard = standard_form(matrix)
    assert standard is not None
    n_rows, n_columns = matrix.shape
    assert standard.sum(axis=1) == pytest.approx(math.sqrt(n_columns / n_rows))
    assert standard.sum(axis=0) == pytest.approx(math.sqrt(n_rows / n_columns))
    assert np.linalg.svd(standard, compute_uv=False)[0] == pytest.approx(1)


@settings(deadline=None)
@given(MATRICES, st.data())
def test_affinity_does_not_see_difficulty_or_speed(matrix: Floats, data: st.DataObject) -> None:
    rows = data.draw(arrays(np.float64, (matrix.shape[0], 1), elements=st.floats(0.1, 10)))
    columns = data.draw(arrays(np.float64, (1, matrix.shape[1]), elements=st.floats(0.1, 10)))
    scaled = heterogeneity(matrix * rows * columns)
    assert scaled.tma == pytest.approx(heterogeneity(matrix).tma, abs=1e-6)
    assert -1e-9 <= scaled.tma <= 1 + 1e-9


def test_moments_of_a_known_population() -> None:
    values = np.array([1.0, 1.0, 1.0, 5.0])
    mean, cov, skewness, kurtosis = moments(values)
    assert (mean, cov) == pytest.approx((2.0, math.sqrt(3) / 2))
    assert (skewness, kurtosis) == pytest.approx((2 / math.sqrt(3), 7 / 3))


def test_moments_are_over_what_can_run() -> None:
    assert heterogeneity([[1.0, 3.0, np.inf], [1.0, 3.0, 2.0], [1.0, np.inf, 2.0]]).mean_s == pytest.approx(13 / 7)


@pytest.mark.parametrize(
    "etc_s",
    [
        [[1.0, 1.0], [np.inf, 1.0]],
        [[1.0, 1.0, 1.0], [np.inf, np.inf, 1.0]],
        [[1.0, np.inf], [1.0, np.inf]],
    ],
)
def test_without_a_standard_form_only_the_affinity_is_missing(etc_s: list[list[float]]) -> None:
    result = heterogeneity(etc_s)
    assert math.isnan(result.tma)
    assert 0 <= result.tdh <= 1
    assert 0 <= result.mph <= 1
    assert result.mean_s == 1


def test_the_published_system_is_measured_and_its_general_part_has_an_affinity() -> None:
    system = generate_system(SystemParameters(), 0, 0)
    whole = heterogeneity(system.etc_s[:, :, 0])
    assert math.isnan(whole.tma)
    others = (whole.tdh, whole.mph, whole.mean_s, whole.cov, whole.skewness, whole.kurtosis)
    assert np.isfinite(others).all()
    general = np.array(system.machine_group) == "general"
    assert 0.07 < heterogeneity(system.etc_s[:, general, 0]).tma < 0.1


def test_machine_types_that_run_nothing_are_alike() -> None:
    assert heterogeneity([[1.0, np.inf, np.inf]]).mph == pytest.approx((1 + 0) / 2)


@pytest.mark.parametrize(
    ("etc_s", "message"),
    [
        (np.ones((2, 2, 1)), "choose one P-state"),
        (np.ones((0, 2)), "must be a matrix"),
        ([[1.0, math.nan]], "not above 0 s"),
        ([[1.0, -1.0]], "not above 0 s"),
        ([[1.0, 1.0], [math.inf, math.inf]], "task type number 1 can run nowhere"),
    ],
)
def test_what_is_no_matrix_of_times(etc_s: Floats, message: str) -> None:
    with pytest.raises(InputError, match=message):
        heterogeneity(etc_s)

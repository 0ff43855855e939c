"""The COV method: moments, zero variation, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.rng import generator
from joulewise.worlds.cov import cov_matrix, gamma_values

COVS = st.floats(0.01, 0.6)


@given(cov=COVS, mean=st.floats(1e-3, 1e6), seed=st.integers(0, 2**32))
def test_gamma_values_have_the_asked_mean_and_cov(cov: float, mean: float, seed: int) -> None:
    n = 20_000
    values = gamma_values(generator(seed, "test"), mean, cov, (n,))
    error = cov / np.sqrt(n)
    assert values.mean() == pytest.approx(mean, rel=7 * error)
    assert values.std() / values.mean() == pytest.approx(cov, rel=0.12)
    assert (values > 0).all()


@given(task_cov=COVS, machine_cov=COVS, seed=st.integers(0, 2**32))
def test_rows_vary_around_their_own_mean(task_cov: float, machine_cov: float, seed: int) -> None:
    sizes = {"mean": 600.0, "task_cov": task_cov, "machine_cov": machine_cov}
    matrix = cov_matrix(generator(seed, "test"), 300, 400, **sizes)
    row_means = matrix.mean(axis=1)
    within = (matrix.std(axis=1) / row_means).mean()
    assert within == pytest.approx(machine_cov, rel=0.1)
    expected_between = np.hypot(task_cov, machine_cov / np.sqrt(400))
    assert row_means.std() / row_means.mean() == pytest.approx(expected_between, rel=0.35)
    assert matrix.mean() == pytest.approx(600, rel=7 * expected_between / np.sqrt(300))


def test_zero_variation_gives_the_mean() -> None:
    matrix = cov_matrix(generator(0, "test"), 3, 2, mean=5.0, task_cov=0, machine_cov=0)
    assert np.array_equal(matrix, np.full((3, 2), 5.0))


def test_zero_machine_cov_gives_equal_rows() -> None:
    matrix = cov_matrix(generator(0, "test"), 4, 3, mean=5.0, task_cov=0.3, machine_cov=0)
    assert np.ptp(matrix, axis=1).max() == 0
    assert np.ptp(matrix, axis=0).min() > 0


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty_matrices_are_allowed(shape: tuple[int, int]) -> None:
    assert cov_matrix(generator(0, "test"), *shape, mean=1.0, task_cov=0.1, machine_cov=0.1).shape == shape

"""Downey's speed-up: both branches by hand, their joints, and what must always hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.worlds.jobs.downey import downey_speedup

PARALLELISM = st.floats(1.0, 1e4)
SIGMA = st.floats(0.0, 50.0)


@pytest.mark.parametrize(
    ("n", "parallelism", "sigma", "speedup"),
    [
        (4, 8, 0, 4.0),  # no variation: linear up to A
        (20, 8, 0, 8.0),
        (5, 8, 1, 8 * 5 / (8 + 4 / 2)),
        (10, 8, 0.5, 8 * 10 / (0.5 * 7.5 + 10 * 0.75)),
        (6, 4, 5, 6 * 4 * 6 / (5 * 9 + 4)),
        (19, 4, 5, 4.0),  # the joint, A + A s - s
        (500, 4, 5, 4.0),
    ],
)
def test_by_hand(n: float, parallelism: float, sigma: float, speedup: float) -> None:
    assert downey_speedup(n, parallelism, sigma) == pytest.approx(speedup)


@given(PARALLELISM, SIGMA)
def test_one_processor_is_not_faster(parallelism: float, sigma: float) -> None:
    assert downey_speedup(1, parallelism, sigma) == pytest.approx(1.0)


@given(PARALLELISM, SIGMA)
def test_rises_to_the_average_parallelism_and_never_beyond(parallelism: float, sigma: float) -> None:
    n = np.linspace(1, 2 * parallelism * (1 + sigma) + 2, 500)
    speedup = downey_speedup(n, parallelism, sigma)
    assert (np.diff(speedup) >= -1e-9 * parallelism).all()
    assert speedup.max() <= parallelism * (1 + 1e-9)
    assert speedup[-1] == parallelism
    assert (speedup <= n * (1 + 1e-9)).all()


@given(PARALLELISM, st.floats(0.0, 1.0))
def test_the_pieces_meet(parallelism: float, sigma: float) -> None:
    joints = np.array([parallelism, max(2 * parallelism - 1, 1.0)])
    before, after = (downey_speedup(np.maximum(joints * (1 + sign * 1e-9), 1), parallelism, sigma) for sign in (-1, 1))
    assert before == pytest.approx(after, rel=1e-6)


@given(PARALLELISM, st.floats(1.0, 5e4))
def test_both_branches_agree_at_sigma_1(parallelism: float, n: float) -> None:
    assert downey_speedup(n, parallelism, 1.0) == pytest.approx(downey_speedup(n, parallelism, 1.0 + 1e-12), rel=1e-6)

"""Gaps have a floor: what is only rounding is nothing, whatever it is a share of."""

from __future__ import annotations

import numpy as np

from joulewise.optimise.gap import gap_of


def test_a_gap_is_the_share_of_the_bound_that_is_missing() -> None:
    np.testing.assert_allclose(gap_of([1.0, -1.0, 3.0], [4.0, 4.0, -6.0]), [0.25, -0.25, 0.5])


def test_rounding_is_no_gap() -> None:
    """A difference of large amounts may be a third of a tiny bound, and still be nothing."""
    assert gap_of(-2e-16, 7e-16, 1.0) == 0.0
    assert gap_of(0.0, 0.0) == 0.0
    assert gap_of(3e-10, 1.0) == 0.0
    assert gap_of(3e-9, 1.0) == 3e-9


def test_nothing_has_no_shares() -> None:
    assert np.isnan(gap_of(0.1, 0.0))
    assert np.isnan(gap_of(0.1, 1e-12, 5.0))

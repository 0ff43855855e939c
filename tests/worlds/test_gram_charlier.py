"""The Gram-Charlier expansion: a density it already is, one that must be cut, constants, and whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from joulewise.errors import InputError
from joulewise.model.arrays import Floats
from joulewise.rng import generator
from joulewise.worlds.gram_charlier import expanded, expansion_report, gram_charlier
from joulewise.worlds.heterogeneity import moments
from joulewise.worlds.packaged import packaged_table

VALUES = arrays(np.float64, st.integers(1, 8), elements=st.floats(1e-2, 1e4))


def test_an_expansion_that_is_a_density_is_kept_as_it_is() -> None:
    values = 1000 + 20 * np.random.default_rng(3).standard_normal(400)
    mean, cov, skewness, kurtosis = moments(values)
    density = gram_charlier(values)
    middle = (density.edges[1:] + density.edges[:-1]) / 2
    z = (middle - mean) / (cov * mean)
    series = 1 + skewness / 6 * (z**3 - 3 * z) + (kurtosis - 3) / 24 * (z**4 - 6 * z**2 + 3)
    literal = np.exp(-(z**2) / 2) * np.maximum(series, 0)
    assert density.mass == pytest.approx(literal / literal.sum(), abs=1e-5)
    assert density.moments() == pytest.approx((mean, cov, skewness, kurtosis), rel=1e-3)


@pytest.mark.parametrize(
    ("values", "tolerance"),
    [([28.0, 100, 90, 260, 110], 1e-3), ([1.0, 2, 3, 4, 5], 1e-3), ([1.1, 1.2, 1.6, 1.5, 1.55], 0.1)],
)
def test_five_values_keep_their_moments(values: list[float], tolerance: float) -> None:
    assert gram_charlier(np.array(values)).moments() == pytest.approx(moments(np.array(values)), abs=tolerance)


def test_samples_have_the_moments_of_the_density() -> None:
    density = gram_charlier(np.array([28.0, 100, 90, 260, 110]))
    found = moments(density.sample(generator(0, "test"), 200_000))
    assert found == pytest.approx(density.moments(), rel=0.02)


@given(VALUES, st.integers(0, 2**32))
def test_samples_are_above_0_and_have_the_mean(values: Floats, seed: int) -> None:
    density = gram_charlier(values)
    drawn = density.sample(generator(seed, "test"), 500)
    assert (drawn > 0).all()
    assert density.moments()[0] == pytest.approx(values.mean())
    assert density.mass.sum() == pytest.approx(1)


def test_equal_values_give_that_value() -> None:
    assert (gram_charlier(np.full(5, 7.0)).sample(generator(0, "test"), 9) == 7).all()
    assert np.array_equal(expanded(np.full((2, 3), 4.0), 6, 0, "test"), np.full((6, 3), 4.0))


def test_values_that_differ_in_the_last_digits_only() -> None:
    values = np.array([1.0, 1.0000001, 1.0])
    assert np.abs(gram_charlier(values).sample(generator(0, "test"), 99) - 1).max() < 1e-6


def test_given_rows_come_first_and_more_rows_begin_with_the_same() -> None:
    matrix = packaged_table("nine_machines.csv").etc_s[:, :, 0]
    few, many = (expanded(matrix, n, 0, "test") for n in (30, 40))
    assert np.array_equal(few[:5], matrix)
    assert np.array_equal(many[:30], few)
    assert few.shape == (30, 9)
    assert not np.array_equal(few, expanded(matrix, 30, 1, "test"))
    assert np.array_equal(expanded(matrix, 5, 0, "test"), matrix)


@pytest.mark.parametrize("what", ["etc_s", "power_w"])
def test_heterogeneity_is_like_that_of_the_given_rows(what: str) -> None:
    matrix = getattr(packaged_table("nine_machines.csv"), what)[:, :, 0]
    report = expansion_report(matrix, expanded(matrix, 3000, 0, "test"), [f"m{j}" for j in range(9)])
    assert len(report) == 3 * 10
    given_, density, after = report[:3]
    assert [row["when"] for row in report[:3]] == ["given", "density", "after"]
    for name, tolerance in (("mean", 0.03), ("cov", 0.03), ("skewness", 0.2), ("kurtosis", 0.15)):
        assert density[name] == pytest.approx(given_[name], rel=0.1)
        assert after[name] == pytest.approx(given_[name], rel=tolerance, abs=0.1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.inf, np.nan])
def test_what_cannot_be_expanded(wrong: float) -> None:
    with pytest.raises(InputError, match="every machine type"):
        expanded(np.array([[1.0, wrong]]), 3, 0, "test")

"""Tests, intervals, effects and corrections, held against SciPy, plain arithmetic and simulations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from joulewise.study.answers.inference import ALPHA, Estimates, Floats, Spread, holm, paired, small_sample, welch

RNG_SEED = 20_26


def drawn(*shape: int) -> Floats:
    return np.random.default_rng(RNG_SEED).normal(size=shape)


def paired_of(gaps: Floats) -> Estimates:
    """Of differences, one row for each comparison."""
    n = np.full(gaps.shape[0], float(gaps.shape[1]))
    return paired(gaps.mean(axis=1), Spread.of_draws(n, gaps.std(axis=1, ddof=1)))


def welch_of(values: Floats, base: Floats) -> Estimates:
    spread, of_base = (
        Spread.of_draws(np.full(each.shape[0], float(each.shape[1])), each.std(axis=1, ddof=1))
        for each in (values, base)
    )
    return welch(values.mean(axis=1) - base.mean(axis=1), spread, of_base)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_paired_differences_are_tested_as_scipy_tests_them(n: int) -> None:
    gaps = drawn(5, n) + 0.4
    found, oracle = paired_of(gaps), stats.ttest_1samp(gaps, 0, axis=1)
    assert found.p() == pytest.approx(oracle.pvalue)
    interval = oracle.confidence_interval(0.95)
    assert found.difference - found.half(0.95) == pytest.approx(interval.low)
    assert found.difference + found.half(0.95) == pytest.approx(interval.high)


@pytest.mark.parametrize(("n", "n_base"), [(2, 2), (3, 12), (30, 8)])
def test_independent_means_are_tested_as_scipy_tests_them(n: int, n_base: int) -> None:
    values, base = 3 * drawn(4, n) + 1, drawn(4, n_base + n)[:, n:]
    found, oracle = welch_of(values, base), stats.ttest_ind(values, base, axis=1, equal_var=False)
    assert found.p() == pytest.approx(oracle.pvalue)
    interval = oracle.confidence_interval(0.95)
    assert found.difference - found.half(0.95) == pytest.approx(interval.low)
    assert found.difference + found.half(0.95) == pytest.approx(interval.high)


def test_wide_intervals_are_those_of_bonferroni() -> None:
    found = paired_of(drawn(8, 6))
    for at, half in enumerate(found.half_of_all()):
        assert half == pytest.approx(stats.t.ppf(1 - 0.05 / 8 / 2, 5) * found.error[at])


def test_what_cannot_be_tested_is_not_and_does_not_widen_others() -> None:
    found = paired(np.ones(3), Spread.of_draws(np.array([10.0, 1.0, 5.0]), np.array([2.0, np.nan, 0.0])))
    assert np.isfinite(found.p()).tolist() == [True, False, False]
    assert found.half_of_all()[0] == found.half(0.95)[0]
    spread = Spread.of_draws(np.array([5.0, 1.0, 4.0]), np.array([1.0, np.nan, 0.0]))
    apart = welch(np.ones(3), spread, Spread.of_draws(np.full(3, 4.0), np.zeros(3)))
    assert np.isfinite(apart.p()).tolist() == [True, False, False]
    assert apart.freedom[0] == pytest.approx(4)  # the side without spread adds nothing


def test_effects_are_standardised_and_corrected_for_few_trials() -> None:
    gaps, values, base = drawn(1, 6) + 1, drawn(1, 5), drawn(1, 9)[:, 5:]
    d_z = gaps.mean() / gaps.std(ddof=1)
    assert paired_of(gaps).effect == pytest.approx(d_z * factor(5))
    pooled = math.sqrt((4 * values.var(ddof=1) + 3 * base.var(ddof=1)) / 7)
    assert welch_of(values, base).effect == pytest.approx((values.mean() - base.mean()) / pooled * factor(7))


def factor(freedom: int) -> float:
    return math.gamma(freedom / 2) / math.sqrt(freedom / 2) / math.gamma((freedom - 1) / 2)


def test_an_effect_of_two_differences_is_not_told() -> None:
    assert np.isnan(small_sample(np.array([0.0, 1.0]))).all()
    assert small_sample(np.array([1000.0])) == pytest.approx(1, abs=1e-3)


def test_corrected_effects_are_right_on_the_mean() -> None:
    gaps = drawn(20_000, 6) + 0.5
    assert paired_of(gaps).effect.mean() == pytest.approx(0.5, abs=0.01)
    values, base = drawn(20_000, 11)[:, :4] + 0.8, drawn(20_000, 11)[:, 4:]
    assert welch_of(values, base).effect.mean() == pytest.approx(0.8, abs=0.02)


# --- many comparisons -----------------------------------------------------------------------------------------------


def holm_by_closure(p: Sequence[float]) -> list[float]:
    """Holm as what it is: the closed test in which each set of hypotheses is tested by Bonferroni."""

    def of(hypothesis: int) -> float:
        others = [at for at in range(len(p)) if at != hypothesis]
        sets = itertools.chain.from_iterable(itertools.combinations(others, n) for n in range(len(p)))
        return max(min(1.0, (len(chosen) + 1) * min(p[hypothesis], *(p[at] for at in chosen), 1.0)) for chosen in sets)

    return [of(at) for at in range(len(p))]


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_the_closed_test_by_brute_force(seed: int) -> None:
    p = np.random.default_rng(seed).uniform(size=7) ** 3
    p[3] = p[1]
    assert holm(p) == pytest.approx(holm_by_closure(p.tolist()))


def test_holm_leaves_out_what_was_not_tested() -> None:
    found = holm(np.array([0.01, np.nan, 0.04]))
    assert found == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)
    assert holm(np.array([])).size == 0


def test_holm_finds_all_that_wide_intervals_find() -> None:
    found = paired_of(drawn(40, 5) + np.linspace(0, 4, 40)[:, None])
    is_wide = np.abs(found.difference) > found.half_of_all()
    assert (holm(found.p())[is_wide] <= ALPHA).all()
    assert is_wide.any()


N_SIMULATED, N_FAMILY = 3_000, 8
ALLOWED = 3 * math.sqrt(0.05 * 0.95 / N_SIMULATED)
"""Three standard errors of a share of 5 %."""


def families(n: int) -> Floats:
    """Differences of families that are in step with each other, as policies on the same trials are; none in truth."""
    own, common = drawn(N_SIMULATED, N_FAMILY, n), drawn(N_SIMULATED, N_FAMILY + 1, n)[:, -1:]
    return 0.8 * own + 0.6 * common


def test_intervals_of_pairs_hold_the_truth_as_often_as_they_say() -> None:
    found = paired_of(families(6)[:, 0] + 0.7)
    missed = np.abs(found.difference - 0.7) > found.half(0.95)
    assert missed.mean() == pytest.approx(0.05, abs=ALLOWED)


def test_intervals_of_independent_means_hold_the_truth_as_often_as_they_say() -> None:
    values = drawn(N_SIMULATED, 20)
    found = welch_of(4 * values[:, :6] + 1, values[:, 6:])
    assert (np.abs(found.difference - 1) > found.half(0.95)).mean() == pytest.approx(0.05, abs=ALLOWED + 0.005)


def test_wide_intervals_hold_together_and_errors_of_families_keep_their_bound() -> None:
    gaps = families(6)
    wrong_interval = wrong_verdict = 0
    for family in gaps:
        found = paired_of(family)
        wrong_interval += bool((np.abs(found.difference) > found.half_of_all()).any())
        wrong_verdict += bool((holm(found.p()) <= ALPHA).any())
    assert wrong_interval == wrong_verdict  # where nothing differs, the first step of Holm is Bonferroni's
    assert 0.01 < wrong_verdict / N_SIMULATED <= ALPHA + ALLOWED


def test_uncorrected_tests_would_break_the_bound() -> None:
    wrong = sum(bool((paired_of(family).p() <= ALPHA).any()) for family in families(6)[:500])
    assert wrong / 500 > 0.15


def test_errors_keep_their_bound_where_some_differ() -> None:
    gaps = families(6)
    gaps[:, : N_FAMILY // 2] += 3.0
    corrected = [holm(paired_of(family).p()) for family in gaps]
    wrong = np.mean([(each[N_FAMILY // 2 :] <= ALPHA).any() for each in corrected])
    found = np.mean([(each[: N_FAMILY // 2] <= ALPHA).mean() for each in corrected])
    assert wrong <= ALPHA + ALLOWED
    assert found > 0.8

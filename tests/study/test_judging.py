"""Published claims are judged by one rule, which noise cannot help, and not at all on too few trials."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from joulewise.study.catalogue.judging import interval, number, ordering, per_trial
from joulewise.verdicts import VERDICTS, IntervalEnds, Verdict, Wanted, of_number, of_positive, weakest_of, worst

NO_RUNS = pl.DataFrame()
ABOVE, BELOW, OPEN = IntervalEnds(1.0, 2.0), IntervalEnds(-2.0, -1.0), IntervalEnds(-1.0, 1.0)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((98.5, 101.5), "reproduced"),
        ((98.5, 102.5), "partly"),
        ((93.0, 94.0), "partly"),
        ((85.0, 94.0), "not reproduced"),
        ((50.0, 51.0), "not reproduced"),
        ((85.0, 99.0), "undecided"),
        ((80.0, 120.0), "undecided"),
    ],
)
def test_a_number_is_judged_by_the_whole_interval(ends: tuple[float, float], verdict: Verdict) -> None:
    assert of_number(100.0, IntervalEnds(*ends)) == verdict
    assert of_number(-100.0, IntervalEnds(-ends[1], -ends[0])) == verdict


@pytest.mark.parametrize(
    ("differences", "wanted", "verdict"),
    [
        ([ABOVE, ABOVE], "all", "reproduced"),
        ([ABOVE, OPEN], "all", "partly"),
        ([ABOVE] * 9 + [BELOW], "all", "not reproduced"),
        ([ABOVE, OPEN, OPEN], "all", "undecided"),
        ([ABOVE] * 9 + [BELOW], "almost all", "reproduced"),
        ([ABOVE] * 8 + [BELOW] * 2, "almost all", "not reproduced"),
        ([BELOW], "almost all", "not reproduced"),
        ([ABOVE] * 3 + [BELOW] * 2, "most", "reproduced"),
        ([ABOVE] * 2 + [BELOW] * 2, "most", "not reproduced"),
        ([ABOVE] * 2 + [OPEN] * 2, "most", "partly"),
    ],
)
def test_an_ordering_is_judged_by_what_it_says_of_how_many(
    differences: list[IntervalEnds], wanted: Wanted, verdict: Verdict
) -> None:
    assert of_positive(differences, wanted)[1] == verdict


def test_an_ordering_says_how_many_hold_and_names_its_weakest_difference() -> None:
    found = [("a over b", np.array([3.0, 3.1, 3.0, 3.1, 3.0])), ("a over c", np.array([8.0, 9.0, 8.0, 9.0, 8.0]))]
    ours, verdict = ordering(lambda _: found)(NO_RUNS)
    assert verdict == "reproduced"
    assert ours == "2 of 2 hold; the weakest difference: 3.040 ± 0.068 points (a over b)"
    assert of_positive([ABOVE, BELOW, OPEN, OPEN])[0] == "1 of 4 hold, 1 the other way round, 2 open"


@pytest.mark.parametrize("samples", [[100.0] * 4, [100.0], [100.0, *[np.nan] * 9]])
def test_nothing_is_judged_on_fewer_than_five_trials(samples: list[float]) -> None:
    assert number(100.0, lambda _: np.array(samples))(NO_RUNS)[1] == "not judged"
    many = ("a", np.array([1.0, 1.1, 1.0, 1.1, 1.0]))
    assert ordering(lambda _: [many, ("b", np.array(samples))])(NO_RUNS)[1] == "not judged"


@pytest.mark.parametrize(("off", "verdict"), [(0.02, "reproduced"), (0.10, "partly")])
@pytest.mark.parametrize("n_trials", [5, 12, 48])
def test_noise_does_not_help_a_number(off: float, verdict: Verdict, n_trials: int) -> None:
    """A number that is off by just the margin is called within it in one draw of forty at most."""
    draws = np.random.default_rng(1).normal(100 * (1 + off), 5.0, (1000, n_trials))
    n_better = sum(
        VERDICTS.index(of_number(100.0, interval(samples)[1])) >= VERDICTS.index(verdict) for samples in draws
    )
    assert n_better <= 0.035 * len(draws)


def test_noise_alone_shows_no_ordering() -> None:
    draws = np.random.default_rng(1).normal(0.0, 5.0, (300, 4, 20))
    verdicts = [of_positive([interval(samples)[1] for samples in several])[1] for several in draws]
    assert verdicts.count("reproduced") == 0
    assert verdicts.count("partly") <= 0.01 * len(draws)


def test_the_worst_verdict_counts_and_silence_does_not() -> None:
    assert worst(["reproduced", "partly", "not testable"]) == "partly"
    assert worst(["undecided", "not reproduced"]) == "not reproduced"
    assert worst(["not testable"]) == "not testable"


def test_a_trial_of_which_a_run_failed_has_no_value() -> None:
    runs = pl.DataFrame({"p": ["a", "b", "a", "b"], "trial": [0, 0, 1, 1], "u": [1.0, 3.0, 2.0, None]})
    assert per_trial(runs, "u", {"p": ["a", "b"]}).tolist() == pytest.approx([2.0, np.nan], nan_ok=True)


def test_the_difference_that_speaks_most_against_a_claim_is_shown() -> None:
    sure, wide = IntervalEnds(-0.2, -0.1), IntervalEnds(-5.0, 6.0)
    assert weakest_of([IntervalEnds(1.0, 2.0), wide]) == 1
    assert weakest_of([wide, sure]) == 1

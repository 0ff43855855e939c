"""Published claims are judged by one rule, and not at all on too few trials."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from joulewise.study.catalogue.judging import number, ordering, per_trial
from joulewise.verdicts import Verdict

NO_RUNS = pl.DataFrame()


@pytest.mark.parametrize(
    ("samples", "verdict"),
    [
        ([99.5, 100.5], "reproduced"),
        ([99.0, 101.0], "not judged"),
        ([94.9, 95.1], "partly"),
        ([49.9, 50.1], "not reproduced"),
        ([100.0], "not judged"),
        ([100.0, np.nan], "not judged"),
    ],
)
def test_a_number_is_judged_by_interval_and_distance(samples: list[float], verdict: Verdict) -> None:
    assert number(100.0, lambda _: np.array(samples))(NO_RUNS)[1] == verdict


def test_an_ordering_names_its_smallest_difference() -> None:
    found = [("a over b", np.array([3.0, 3.1])), ("a over c", np.array([8.0, 9.0]))]
    ours, verdict = ordering(lambda _: found)(NO_RUNS)
    assert verdict == "reproduced"
    assert ours == "2 of 2 hold; the smallest difference: 3.05 ± 0.64 points (a over b)"
    assert ordering(lambda _: [*found, ("d", np.array([1.0]))])(NO_RUNS)[1] == "not judged"


def test_a_trial_of_which_a_run_failed_has_no_value() -> None:
    runs = pl.DataFrame({"p": ["a", "b", "a", "b"], "trial": [0, 0, 1, 1], "u": [1.0, 3.0, 2.0, None]})
    assert per_trial(runs, "u", {"p": ["a", "b"]}).tolist() == pytest.approx([2.0, np.nan], nan_ok=True)

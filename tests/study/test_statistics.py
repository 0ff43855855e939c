"""Means, Student intervals and paired differences, held against SciPy and plain arithmetic."""

from __future__ import annotations

import math
import statistics as plain

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import stdtrit

from joulewise.confidence import student_quantile
from joulewise.study.answers.statistics import POLICY, differences, leaders, summary

AXES = ("manager.policy", "load")


VALUES: dict[tuple[str, int], list[float | None]] = {
    ("a", 1): [1.0, 2.0, 4.0],
    ("b", 1): [2.0, 2.5, 9.0],
    ("a", 2): [5.0, 6.0, 7.0],
    ("b", 2): [8.0, None, 9.0],
}


def runs() -> pl.DataFrame:
    rows = [
        {"manager.policy": policy, "load": load, "trial": trial, "utility": value, "tasks": trial}
        for (policy, load), trials in VALUES.items()
        for trial, value in enumerate(trials)
    ]
    return pl.DataFrame(rows)


def interval(values: list[float]) -> tuple[float, float]:
    """Where the mean lies with a chance of 95 %, by Student's distribution."""
    half = stdtrit(len(values) - 1, 0.975) * plain.stdev(values) / math.sqrt(len(values))
    return plain.mean(values) - half, plain.mean(values) + half


@given(n=st.integers(2, 10_000_000), error=st.floats(1e-12, 0.5))
@example(n=2, error=0.05)
@example(n=3, error=0.5)
def test_the_quantile_is_students(n: int, error: float) -> None:
    assert student_quantile(n, error) == pytest.approx(-stdtrit(n - 1, error / 2), rel=1e-12)


def test_a_summary_has_mean_and_interval_of_every_metric_at_every_point() -> None:
    table = summary(runs(), AXES, ["utility", "tasks"])
    assert table.columns == [*AXES, "metric", "mean", "low", "high", "n"]
    assert table.height == 8
    row = table.filter((pl.col("manager.policy") == "b") & (pl.col("load") == 1)).row(0, named=True)
    low, high = interval([2.0, 2.5, 9.0])
    assert (row["mean"], row["low"], row["high"], row["n"]) == pytest.approx((4.5, low, high, 3))


def test_missing_values_are_left_out() -> None:
    table = summary(runs(), AXES, ["utility"])
    assert table.filter((pl.col("manager.policy") == "b") & (pl.col("load") == 2))["n"].to_list() == [2]


def test_one_trial_has_no_interval() -> None:
    row = summary(runs().filter(pl.col("trial") == 0), AXES, ["utility"]).row(0, named=True)
    assert (row["mean"], row["low"], row["high"], row["n"]) == (1.0, None, None, 1)


def test_differences_are_paired_on_equal_trials() -> None:
    table = differences(runs(), AXES, ["utility"])
    row = table.filter((pl.col("manager.policy") == "b") & (pl.col("load") == 1)).row(0, named=True)
    assert row["against"] == "a"
    low, high = interval([1.0, 0.5, 5.0])
    assert (row["mean"], row["low"], row["high"]) == pytest.approx((6.5 / 3, low, high))
    assert row["percent"] == pytest.approx(100 * (6.5 / 3) / (7 / 3))


def test_a_percentage_of_a_negative_mean_has_the_sign_of_its_difference() -> None:
    table = differences(runs().with_columns(-pl.col("utility")), AXES, ["utility"])
    assert (table["percent"].sign() == table["mean"].sign()).all()


def test_a_trial_that_one_side_lacks_is_left_out_of_both() -> None:
    table = differences(runs(), AXES, ["utility"])
    row = table.filter((pl.col("manager.policy") == "a") & (pl.col("load") == 2)).row(0, named=True)
    assert (row["n"], row["mean"], row["percent"]) == pytest.approx((2, -2.5, -100 * 2.5 / 8.5))


def test_differences_of_missing_axes_pair_nulls() -> None:
    table = differences(runs().with_columns(load=pl.lit(None, pl.Int64)), ("manager.policy", "load"), ["tasks"])
    assert set(table["against"]) == {"a", "b"}


def test_nothing_is_compared_with_itself_or_with_zero() -> None:
    zero = runs().with_columns(utility=pl.lit(0.0))
    table = differences(zero, AXES, ["utility"])
    assert (table["manager.policy"] != table["against"]).all()
    assert table["percent"].to_list() == [None] * table.height


CONTEST: dict[tuple[str, int], list[float | None]] = {
    ("a", 1): [1.0, 2.0, 4.0],
    ("b", 1): [2.0, 3.1, 5.0],
    ("c", 1): [2.5, 2.6, 4.9],
    ("a", 2): [8.0, 6.0, 9.0],
    ("b", 2): [5.0, 3.0, 6.1],
    ("c", 2): [8.0, 6.0, 9.0],
    ("a", 3): [5.0, None, 6.1],
    ("b", 3): [5.0, 3.0, 6.0],
    ("a", 4): [5.0, 5.0, 5.0],
    ("b", 4): [5.0, 5.0, 5.0],
    ("a", 5): [5.0, 6.0, 7.0],
}
STANDINGS = [("b", 1, "best"), ("c", 1, "tied"), ("a", 2, "best"), ("c", 2, "tied")]


def contest(worlds: bool = True) -> pl.DataFrame:
    rows = [
        {"manager.policy": policy, "load": load, "trial": trial, "utility": value, "world": f"{worlds * load} {trial}"}
        for (policy, load), trials in CONTEST.items()
        for trial, value in enumerate(trials)
    ]
    return pl.DataFrame(rows)


def test_each_world_has_its_best_and_those_that_trials_do_not_tell_from_it() -> None:
    table = leaders(contest(), AXES, "utility")
    assert list(table.iter_rows()) == STANDINGS


def test_points_of_one_world_have_one_best_however_many_axes_they_have() -> None:
    one_world = contest(worlds=False).filter(pl.col("load") < 3)
    table = leaders(one_world, AXES, "utility")
    assert list(table.iter_rows()) == [("a", 2, "best"), ("c", 2, "tied")]


def test_one_trial_ties_what_is_equal_alone() -> None:
    table = leaders(contest().filter(pl.col("trial") == 0), AXES, "utility")
    assert list(table.iter_rows()) == [("c", 1, "best"), ("a", 2, "best"), ("c", 2, "tied")]


LONE: dict[str, list[float]] = {"fixed": [5.0], "shaky": [4.0, 7.0, 4.6], "worse": [4.5, 4.6, 4.4]}


def lone(only: float = 5.0) -> pl.DataFrame:
    """One world, in which one policy has nothing random and is run once."""
    values = LONE | {"fixed": [only]}
    rows = [
        {"manager.policy": policy, "trial": trial, "utility": value, "world": "w"}
        for policy, trials in values.items()
        for trial, value in enumerate(trials)
    ]
    return pl.DataFrame(rows)


def test_the_only_run_of_a_point_without_chance_stands_for_every_trial() -> None:
    table = differences(lone(), [POLICY], ["utility"])
    row = table.row(by_predicate=(pl.col(POLICY) == "shaky") & (pl.col("against") == "fixed"), named=True)
    low, high = interval([-1.0, 2.0, -0.4])
    assert (row["mean"], row["low"], row["high"], row["n"]) == pytest.approx((0.2, low, high, 3))
    standings = [("fixed", "tied"), ("shaky", "best"), ("worse", "tied")]
    assert list(leaders(lone(), [POLICY], "utility").iter_rows()) == standings


def test_trials_are_told_from_the_one_run_that_is_best() -> None:
    table = leaders(lone(5.5), [POLICY], "utility")
    assert list(table.iter_rows()) == [("fixed", "best"), ("shaky", "tied")]

"""Figures of a log and how surely it tells them, by its resamples: by hand, and how often intervals hold the truth."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.special import stdtrit

from joulewise.model.supply import DAY_S
from joulewise.study.answers.inference import Floats
from joulewise.study.answers.statistics import differences, gaps, means_over_trials, of_resamples, summary
from joulewise.study.spec.trials import BLOCKS, SAMPLE
from joulewise.worlds.jobs.resample import LOGGED_TRIAL, Blocks

AXES = ("variant", "load")
N_BLOCKS = 5
VALUES = {
    ("a", 1): [10.0, 8.0, 12.0, 13.0],
    ("b", 1): [15.0, 10.0, 17.0, 17.0],
    ("a", 2): [30.0, 31.0, 33.0, 29.0],
    ("b", 2): [30.5, 31.0, 33.0, 30.0],
}
FREEDOM = 1 / (1 / (3 - 1) + 1 / (N_BLOCKS - 1))
"""Of the deviation of three resamples and of the means of five blocks, together."""


def runs(n_trials: int = 4, n_blocks: int | None = N_BLOCKS) -> pl.DataFrame:
    rows = [
        {"variant": variant, "load": load, "trial": trial, "world": f"{load} {trial}", "wait_s": value}
        for (variant, load), values in VALUES.items()
        for trial, value in enumerate(values[:n_trials])
    ]
    return pl.DataFrame(rows).with_columns(pl.lit(n_blocks, pl.Int64).alias(BLOCKS))


def half_of(variance: float, freedom: float = FREEDOM, n_blocks: int = N_BLOCKS) -> float:
    """Half of an interval by resamples of this variance."""
    return float(stdtrit(freedom, 0.975) * math.sqrt(variance * n_blocks / (n_blocks - 1)))


def told(table: pl.DataFrame) -> tuple[float | None, ...]:
    assert table.height == 1
    return table.select("mean", "low", "high").row(0)


def around(value: float, half: float) -> object:
    return pytest.approx((value, value - half, value + half))


def test_the_log_that_is_told_of_is_the_first_trial() -> None:
    assert SAMPLE == LOGGED_TRIAL


def test_a_summary_has_the_figure_of_the_log_and_the_spread_of_its_resamples() -> None:
    table = summary(runs(), AXES, ["wait_s"], of_resamples)
    assert told(table.filter(variant="a", load=1)) == around(10, half_of(7))  # (9 + 1 + 4) / 2
    assert table["n"].to_list() == [4] * 4


def test_more_resamples_of_the_same_spread_do_not_narrow_an_interval_below_that_of_its_blocks() -> None:
    values = [0.0, *(100 * [-1.0, 1.0])]
    table = pl.DataFrame({"trial": range(len(values)), "wait_s": values, BLOCKS: N_BLOCKS, "variant": "a"})
    least = half_of(200 / 199, N_BLOCKS - 1)
    low, high = summary(table, ["variant"], ["wait_s"], of_resamples).select("low", "high").row(0)
    assert least < (high - low) / 2 < 1.03 * least


def test_resamples_of_a_mean_give_students_interval_of_its_blocks() -> None:
    means = np.random.default_rng(2).normal(size=6)
    drawn = means[np.random.default_rng(3).integers(6, size=(200_000, 6))].mean(axis=1)
    table = pl.DataFrame({"trial": range(drawn.size + 1), "wait_s": [means.mean(), *drawn], BLOCKS: 6, "variant": "a"})
    half = stdtrit(5, 0.975) * means.std(ddof=1) / math.sqrt(6)
    mean, low, high = told(summary(table, ["variant"], ["wait_s"], of_resamples))
    assert (mean, low, high) == pytest.approx((means.mean(), means.mean() - half, means.mean() + half), rel=0.01)


def test_differences_are_those_of_the_log_with_the_spread_of_differences_of_resamples() -> None:
    table = differences(runs(), AXES, ["wait_s"], "variant", of_resamples)
    row = table.filter(variant="b", load=1, against="a")
    assert told(row) == around(5, half_of(7 / 3))  # in resamples 2, 5 and 4
    assert row["percent"].item() == 50


def test_the_best_is_that_of_the_log_and_ties_are_by_its_resamples() -> None:
    found = gaps(runs(), AXES, "wait_s", of_resamples).select(*AXES, "mean", "high", "standing")
    assert found.filter(load=1).rows() == [("a", 1, -5, pytest.approx(-5 + half_of(7 / 3)), "tied"),
                                           ("b", 1, 0, 0, "best")]  # fmt: skip
    assert found.filter(load=2)["standing"].to_list() == ["tied", "best"]


def test_means_over_points_are_taken_trial_by_trial() -> None:
    table = means_over_trials(runs().lazy(), ["variant"], "wait_s", of_resamples)
    assert told(table.filter(variant="a")) == around(20, half_of(9 / 4))  # resamples of 19.5, 22.5 and 21


@pytest.mark.parametrize(("n_trials", "n_blocks"), [(1, N_BLOCKS), (2, N_BLOCKS), (4, 1)])
def test_too_few_resamples_or_blocks_have_no_interval(n_trials: int, n_blocks: int) -> None:
    table = summary(runs(n_trials, n_blocks), AXES, ["wait_s"], of_resamples)
    assert told(table.filter(variant="a", load=1)) == (10, None, None)


def test_a_log_without_a_value_has_none_whatever_its_resamples_have() -> None:
    wait_s = pl.when((pl.col("trial") > 0) | (pl.col("variant") == "b")).then("wait_s").alias("wait_s")
    table = summary(runs().with_columns(wait_s), AXES, ["wait_s"], of_resamples)
    assert table["variant"].to_list() == ["b", "b"]


def test_points_of_drawn_worlds_in_the_same_study_keep_their_means() -> None:
    table = summary(runs(n_blocks=None), AXES, ["wait_s"], of_resamples)
    assert table.equals(summary(runs(), AXES, ["wait_s"]))


def test_the_log_alone_is_held_against_resamples_by_their_spread() -> None:
    alone = pl.col("variant") == "a"
    lone = runs().filter(~alone | (pl.col("trial") == 0)).with_columns(pl.when(~alone).then(BLOCKS).alias(BLOCKS))
    table = differences(lone, AXES, ["wait_s"], "variant", of_resamples).filter(load=1)
    assert told(table.filter(variant="a")) == around(-5, half_of(49 / 3))  # 10 less 10, 17 and 17
    assert told(table.filter(variant="b")) == around(5, half_of(49 / 3))


# --- how often intervals hold the truth ---------------------------------------------------------------------------

N_LOGS, N_QUEUES, N_RESAMPLES, N_JOBS = 1_000, 300, 49, 20
Drawn = npt.NDArray[np.int64]


def held(figure: Callable[[Drawn], Floats], n_logs: int, n_days: int, length: int, truth: float) -> float:
    """The share of logs whose interval holds the truth; each has this figure where it is made of these of its days."""
    blocks = Blocks.of(n_days * DAY_S, length * DAY_S)
    trials = [figure(np.tile(np.arange(n_days), (n_logs, 1)))]
    for trial in range(1, N_RESAMPLES + 1):
        rng = np.random.default_rng((n_days, trial))
        begins = rng.choice(np.array(blocks.first_days), size=(n_logs, len(blocks.places)))
        trials.append(figure((begins[:, :, None] + np.arange(length)).reshape(n_logs, -1)[:, :n_days]))
    table = pl.concat(
        pl.DataFrame({"log": range(n_logs), "trial": trial, BLOCKS: blocks.n_apart, "value": values})
        for trial, values in enumerate(trials)
    )
    low, high = summary(table, ["log"], ["value"], of_resamples).select("low", "high").to_numpy().T
    return float(((low <= truth) & (high >= truth)).mean())


def loads_of(n_logs: int, n_days: int, memory: float, *, is_skewed: bool = False) -> Floats:
    """Loads of the days of many logs, each day a share of the day before and something new; 0 on the mean."""
    rng = np.random.default_rng(n_days)
    new = rng.exponential(size=(n_logs, n_days + 50)) - 1 if is_skewed else rng.normal(size=(n_logs, n_days + 50))
    for day in range(1, new.shape[1]):
        new[:, day] += memory * new[:, day - 1]
    return new[:, 50:]


@pytest.mark.thorough("thousands of logs")
@pytest.mark.parametrize(
    ("n_days", "length", "memory", "is_skewed", "least", "most"),
    [
        (8, 1, 0.0, False, 0.93, 0.97),
        (8, 1, 0.3, False, 0.84, 0.91),  # blocks shorter than what days remember
        (28, 7, 0.3, False, 0.93, 0.98),
        (21, 7, 0.0, False, 0.92, 0.97),
        (100, 5, 0.3, False, 0.92, 0.96),
        (100, 1, 0.3, False, 0.82, 0.88),
        (365, 7, 0.3, False, 0.92, 0.97),
        (30, 1, 0.0, True, 0.91, 0.96),
    ],
)
def test_intervals_hold_the_truth_about_as_often_as_they_say(
    n_days: int, length: int, memory: float, is_skewed: bool, least: float, most: float
) -> None:
    loads = loads_of(N_LOGS, n_days, memory, is_skewed=is_skewed)
    share = held(lambda drawn: np.take_along_axis(loads, drawn, axis=1).mean(axis=1), N_LOGS, n_days, length, 0.0)
    assert least < share < most


def queues(n_logs: int, n_days: int) -> Floats:
    """Of each job of each day of many logs, when it comes on that day, and how long it needs: half of a day in all."""
    rng = np.random.default_rng((n_logs, n_days))
    come = np.sort(rng.uniform(0.2, 0.8, size=(n_logs, n_days, N_JOBS)), axis=2)
    needs = rng.exponential(0.5 / N_JOBS, size=come.shape)
    return np.stack([come, needs * np.exp(0.3 * loads_of(n_logs, n_days, 0.3))[:, :, None]])


def mean_waits(logs: Floats, drawn: Drawn) -> Floats:
    """The mean wait of the jobs of these days, set behind each other, at a server that takes one after the other."""
    come, needs = np.take_along_axis(logs, drawn[None, :, :, None], axis=2).reshape(2, drawn.shape[0], -1)
    come = come + np.repeat(np.arange(drawn.shape[1]), N_JOBS)
    free, waited = np.zeros(drawn.shape[0]), np.zeros(drawn.shape[0])
    for job in range(come.shape[1]):
        start = np.maximum(free, come[:, job])
        waited += start - come[:, job]
        free = start + needs[:, job]
    return np.asarray(waited / come.shape[1])


@pytest.mark.thorough("thousands of queues")
@pytest.mark.parametrize(("n_days", "length", "least", "most"), [(28, 1, 0.78, 0.90), (84, 7, 0.80, 0.92)])
def test_intervals_of_waits_hold_the_truth_less_often(n_days: int, length: int, least: float, most: float) -> None:
    """A few full days decide how long jobs wait, and the day behind a full one begins with its queue."""
    n_many = 2_000
    truth = float(mean_waits(queues(n_many, n_days), np.tile(np.arange(n_days), (n_many, 1))).mean())
    logs = queues(N_QUEUES, n_days)
    assert least < held(lambda drawn: mean_waits(logs, drawn), N_QUEUES, n_days, length, truth) < most

"""Results of a study as the screen shows them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from joulewise.cli.result import show_summary
from joulewise.study import Results
from joulewise.study.spec.column import amount
from joulewise.study.store.store import FAILED
from tests.strategies.small import run_small, with_runs

Capture = pytest.CaptureFixture[str]
LOADS = ("tasks_per_day = 150", "tasks_per_day = [150, 33000.0]")


@pytest.fixture(scope="module")
def two_loads(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two policies at two loads; the second load is made up of the first."""
    results = run_small(tmp_path_factory.mktemp("loads"), change=lambda text: text.replace("[0, 0.5]", "[0]"))
    key, second = "workload.tasks_per_day", results.runs.with_columns(pl.col("world") + "b")
    runs = pl.concat(
        [results.runs.with_columns(pl.lit(150.0).alias(key)), second.with_columns(pl.lit(33000.0).alias(key))]
    )
    return replace(with_runs(results, runs), study=replace(results.study, axes=(key, "manager.policy")))


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if "max-max-upt" in line or "random" in line]


def test_each_load_has_its_best_and_loads_are_read_as_people_write_them(two_loads: Results, capsys: Capture) -> None:
    show_summary(two_loads, None)
    text = capsys.readouterr().out
    assert "mean and 95 % interval over trials" in text
    assert "33,000 " in text
    assert "33000.0" not in text
    assert "tasks per day" in text
    marked = [line for line in rows_of(text) if line.rstrip().endswith("best")]
    assert [line.split()[0] for line in marked] == ["150", "33,000"], text


def test_what_trials_do_not_tell_apart_is_tied(two_loads: Results, capsys: Capture) -> None:
    noisy = (
        pl.when(pl.col("trial") == 0)
        .then(50.0)
        .otherwise(pl.when(pl.col("manager.policy") == "random").then(60.0).otherwise(40.0))
    )
    show_summary(with_runs(two_loads, two_loads.runs.with_columns(possible_percent=noisy)), None)
    text = capsys.readouterr().out
    assert [line.split()[-1] for line in rows_of(text)] == ["best", "tied"] * 2
    assert "the trials do not tell those that are tied from it" in text


def test_an_interval_wider_than_any_share_is_said_to_come_of_too_few_trials(
    two_loads: Results, capsys: Capture
) -> None:
    show_summary(two_loads, None)
    assert "too few" not in capsys.readouterr().out
    apart = pl.when(pl.col("trial") == 0).then(0.0).otherwise(23.5)
    show_summary(with_runs(two_loads, two_loads.runs.with_columns(possible_percent=apart)), None)
    assert "more `trials` in the study narrow it" in capsys.readouterr().out


def test_sentences_and_tables_keep_to_the_columns_that_are_asked_for(
    two_loads: Results, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    show_summary(two_loads, None)
    lines = capsys.readouterr().out.splitlines()
    told = " ".join(line.strip() for line in lines)
    assert "What is possible is proven by prices for time: no schedule of these tasks earns more." in told
    assert max(map(len, lines[:-1])) <= 60


def test_one_trial_is_said_to_have_no_intervals(two_loads: Results, capsys: Capture) -> None:
    show_summary(with_runs(two_loads, two_loads.runs.filter(pl.col("trial") == 0)), None)
    text = capsys.readouterr().out
    assert "one trial: no intervals" in text
    assert "95 %" not in text


def test_nobody_is_best_where_a_run_failed(two_loads: Results, capsys: Capture) -> None:
    is_lost = (pl.col("trial") == 0) & (pl.col("workload.tasks_per_day") == 150.0)
    status, utility = (
        pl.when(is_lost).then(pl.lit(lost)).otherwise(name).alias(name)
        for name, lost in (("status", FAILED), ("possible_percent", None))
    )
    show_summary(with_runs(two_loads, two_loads.runs.with_columns(status, utility)), None)
    marked = [line for line in rows_of(capsys.readouterr().out) if line.rstrip().endswith("best")]
    assert [line.split()[0] for line in marked] == ["33,000"]


def test_half_of_an_interval_has_the_unit_of_its_mean() -> None:
    from joulewise.cli.result import _half
    from joulewise.units import energy

    assert _half({"mean": 12e9, "high": 12e9 + 170e3}, energy) == "0.00017 GJ"
    assert _half({"mean": 12e9, "high": None}, energy) is None
    assert _half({"mean": 61.2, "high": 61.61}, "{:.2f}".format) == "0.41"
    assert _half({"mean": 61.2, "high": 61.61}, "≥ {:.2f} %".format) == "≥ 0.41 %"


def test_cost_is_shown_where_there_is_a_tariff(two_loads: Results, capsys: Capture) -> None:
    show_summary(two_loads, None)
    assert "cost" not in capsys.readouterr().out
    show_summary(with_runs(two_loads, two_loads.runs.with_columns(energy_cost=12345.6)), None)
    assert "12,346" in capsys.readouterr().out
    assert amount(1.2345) == "1.23"

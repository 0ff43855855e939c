"""The report of very many runs: means over points and trials, and the best points, without all rows in memory."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from joulewise.present.results import write_figures, write_report
from joulewise.study import open_results
from joulewise.study.answers import overview
from joulewise.study.answers.overview import Overview
from tests.strategies.calling import call
from tests.strategies.made_results import made_results
from tests.strategies.small import TEXT

Capture = pytest.CaptureFixture[str]
SWEPT = TEXT.replace("[0, 0.5]", "[0, 0.25, 0.5]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of twelve runs."""
    from joulewise.study import parse_study, run_study

    out = tmp_path_factory.mktemp("many")
    run_study(parse_study(SWEPT, "study.toml", out), out / "results", workers=1)
    return out / "results"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if twelve runs were very many."""
    monkeypatch.setattr(overview, "LARGE", 11)


def test_means_are_over_points_and_intervals_over_trials(folder: Path) -> None:
    results = open_results(folder)
    means = Overview(results).means_over_trials(["manager.dropping_threshold"], "utility")
    for row in means.iter_rows(named=True):
        runs = results.runs.filter(pl.col("manager.dropping_threshold") == row["manager.dropping_threshold"])
        assert row["mean"] == pytest.approx(runs["utility"].mean())
        assert row["n"] == 2
        assert row["low"] < row["mean"] < row["high"]


def test_the_best_points_come_first(folder: Path) -> None:
    results = open_results(folder)
    found = Overview(results)
    summary = results.summary().filter(pl.col("metric") == found.metrics[0].name).sort("mean", descending=True)
    best = found.best(2).filter(pl.col("metric") == found.metrics[0].name)
    assert best["mean"].to_list() == pytest.approx(summary["mean"].head(2).to_list())


def test_intervals_of_trials_that_stopped_by_themselves_are_sequential() -> None:
    stops = {"trials = 10": 'trials = "until 0.5 %, at most 8"'}
    results = made_results(lambda run: {"possible_percent": run.trial + run.seed}, stops)
    summary, found = results.summary().sort(results.axes), Overview(results)
    assert found.means_over_trials(results.axes, "possible_percent").equals(summary.drop("metric"))
    assert found.best().sort(results.axes).equals(summary)


@pytest.mark.usefixtures("few")
def test_very_many_runs_have_a_report_of_means(folder: Path, tmp_path: Path) -> None:
    page = write_report(open_results(folder)).read_text()
    assert "This is an overview of 12 runs" in page
    assert "The best points" in page
    assert "Mean by dropping threshold" in page
    assert "All metrics at every point" not in page
    figures = write_figures(open_results(folder), tmp_path)
    assert [path.name for path in figures] == ["possible_percent-by-manager.dropping_threshold.png"]


@pytest.mark.usefixtures("few")
def test_figures_of_very_many_runs_are_those_against_numbers(folder: Path, tmp_path: Path) -> None:
    results = open_results(folder)
    names = ["energy_j-by-manager.dropping_threshold", "fates"]
    assert [path.stem for path in write_figures(results, tmp_path, ["svg"], names=names)] == names[:1]
    page = write_report(results, names).read_text()
    assert "Left out: What became of the tasks: it needs a study of 20,000 runs or fewer." in page


@pytest.mark.usefixtures("few")
def test_the_screen_shows_the_best_of_very_many(folder: Path, capsys: Capture) -> None:
    shown = call(capsys, "run", folder / "study.toml", "--out", folder, "--no-report").out
    assert "the best points" in shown
    assert "12 runs" in shown

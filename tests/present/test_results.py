"""From the results of a study to its report and figures, without the command line."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from joulewise.present.export import render, spec_of
from joulewise.present.kept import current_report
from joulewise.present.page import drawable
from joulewise.present.results import records_of, schedule_figures, write_figures, write_report
from joulewise.study import Results, open_results
from tests.strategies.small import run_small, small, with_runs


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The small study, of one threshold, run once."""
    return run_small(tmp_path_factory.mktemp("small"), change=lambda text: text.replace("[0, 0.5]", "0.5"))


def test_records_are_those_of_the_study(results: Results) -> None:
    records = records_of(results)
    assert records.runs.height == results.runs.height
    assert (records.study.name, records.study.kind, records.study.axes) == ("small", "managed", results.study.axes)
    assert records.study.deterministic
    assert records.titles["max-max-upt"] == "Max-Max UPT"
    assert set(records.frames) == {"traces", "records"}
    assert records.frame("fronts").is_empty()


def test_schedules_are_drawn_without_all_columns_of_all_runs(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    records = records_of(results)
    wanted = {f.name: render(spec_of(f.draw(records).chart), "png") for f in drawable(records) if f.is_schedule}
    monkeypatch.setattr(Results, "runs", property(lambda _: pytest.fail("all columns of all runs were read")))
    assert dict(schedule_figures(open_results(results.folder))) == wanted != {}


def test_report_and_figures_are_written_beside_the_runs(results: Results) -> None:
    assert write_report(results) == results.folder / "report.html"
    assert (results.folder / "report.html").is_file()
    seen: list[tuple[int, int]] = []
    paths = write_figures(results, formats=["svg"], on_progress=lambda done, total: seen.append((done, total)))
    assert {path.parent for path in paths} == {results.folder / "figures"}
    assert seen[-1] == (len(paths), len(paths))


def test_a_report_is_current_until_the_results_or_the_version_change(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_report(results)
    assert current_report(results) == path
    with monkeypatch.context() as patch:
        patch.setattr("joulewise.present.kept.__version__", "another")
        assert current_report(results) is None
    more = run_small(results.folder, change=lambda text: text.replace("[0, 0.5]", "0.5") + "# a remark\n")
    assert current_report(more) is None
    path.write_bytes(b"")
    assert current_report(results) is None
    path.unlink()
    assert current_report(results) is None


def test_runs_of_measured_time_are_not_the_same_again(results: Results) -> None:
    measured = small(lambda text: text.replace("[manager]", '[manager]\nmapping_time = "measured"'))
    assert not records_of(replace(results, study=measured)).study.deterministic


def test_a_kind_says_whether_time_decides(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(results.study.kind), "is_timed", lambda _kind, _point: True)
    assert not records_of(results).study.deterministic


def test_the_time_is_that_of_the_runs_shown(results: Results) -> None:
    runs = pl.DataFrame({"run": ["a", "b", "b", "c"], "run_s": [1.0, 2.0, 2.0, None]})
    assert with_runs(results, runs).seconds == 3.0
    assert with_runs(results, runs.drop("run_s")).seconds == 0.0  # all failed

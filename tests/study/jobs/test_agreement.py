"""Logged waits beside simulated ones, on a log where both can be told by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from joulewise.present.export import spec_of
from joulewise.present.jobs.agreement import agreement_tables
from joulewise.present.jobs.logged import logged_waits
from joulewise.present.jobs.view import job_view
from joulewise.present.page import drawable
from joulewise.present.results import records_of
from joulewise.study import Results, read_study, run_study
from tests.strategies.vega import is_vega_lite

HEADER = "; MaxProcs: 16\n; MaxNodes: 16\n; UnixStartTime: 0\n"
ROWS = ((0, 0, 100, 16, 1), (0, 130, 50, 1, 2), (10, 100, 50, 2, 1), (20, -1, 50, 1, 2))
"""Submission, wait, run time, processors and user: FCFS lets jobs wait for 0, 100, 90 and 80 s."""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return replayed(ROWS, tmp_path)


def replayed(rows: Sequence[tuple[int, ...]], tmp_path: Path) -> Results:
    lines = [
        f"{i + 1} {at} {wait} {run} {n} -1 -1 {n} {run} -1 1 {user} 1 -1 1 1 -1 -1"
        for i, (at, wait, run, n, user) in enumerate(rows)
    ]
    (tmp_path / "log.swf").write_text(HEADER + "\n".join(lines) + "\n")
    (tmp_path / "study.toml").write_text('name = "log"\n[workload]\ntrace = "log.swf"\n[scheduler]\npolicy = "fcfs"\n')
    return run_study(read_study(tmp_path / "study.toml"), tmp_path / "out", workers=1)


def test_waits_are_held_against_those_of_the_log(results: Results) -> None:
    table = results.details("logged")
    rows = {(row["by"], row["name"]): row for row in table.iter_rows(named=True)}
    everything = rows["all", ""]
    assert everything["jobs"] == 3, "the wait of the last job is not logged"
    assert everything["mean_logged_wait_s"] == pytest.approx(230 / 3)
    assert everything["mean_wait_s"] == pytest.approx(190 / 3)
    assert everything["within_minute_percent"] == 100
    assert [name for by, name in rows if by == "size"] == ["1", "2 to 15", "16 to 127"]
    assert {name: row["jobs"] for (by, name), row in rows.items() if by == "user"} == {"1": 2, "2": 1}


def test_each_job_has_both_waits_and_the_reason_of_their_difference(results: Results) -> None:
    found = results.details("waits").sort("job")
    assert found["job_id"].to_list() == ["1", "2", "3"]
    assert found["difference_s"].to_list() == [0, -30, -10]
    assert found["first_start_s"].to_list() == [0, 100, 100]
    assert found["size"].to_list() == ["16 to 127", "1", "2 to 15"]
    assert found["reason"].to_list() == [None, None, None], "a minute apart at most"


def test_the_report_has_a_table_of_them(results: Results) -> None:
    (table,) = agreement_tables(job_view(records_of(results))[0])
    cells = {name: [cell.text for cell in row] for name, row in table.rows}
    assert list(cells) == ["all", "processors: 1", "processors: 2 to 15", "processors: 16 to 127"]
    assert cells["all"][0] == "3"
    assert cells["all"][-1] == "100.0 %"


HELD = ((0, 0, 1000, 16, 1), (1, 9_999, 50, 16, 2), (2, 20_000, 50, 1, 3), (3, 0, 100, 1, 3))
"""FCFS lets jobs wait for 0, 999, 1,048 and 1,047 s; the log has all four at once, and then some that wait alone."""


def test_the_report_says_why_waits_differ_and_of_which_jobs_most(tmp_path: Path) -> None:
    seen = job_view(records_of(replayed(HELD, tmp_path)))[0]
    _, why, largest, first = agreement_tables(seen)
    reasons = {name: [cell.text for cell in row] for name, row in why.rows}
    assert list(reasons) == [
        "Log had more than the nodes have", "Waited in the log: behind others", "Waited in the log: room"
    ]  # fmt: skip
    assert reasons["Log had more than the nodes have"][:4] == ["1", "1", "0", "+17.45 min"]
    assert [name for name, _ in largest.rows] == ["3", "2", "4"]
    assert [name for name, _ in first.rows] == ["4", "2", "3"]
    assert [cell.text for cell in largest.rows[0][1]] == [
        "3", "1", "5.556 h", "17.47 min", "\N{MINUS SIGN}5.264 h", "waited in the log: behind others"
    ]  # fmt: skip


def test_both_figures_are_drawn_of_a_log_that_tells_waits(tmp_path: Path) -> None:
    records = records_of(replayed(HELD, tmp_path))
    drawn = {figure.name: figure for figure in drawable(records)}
    boxes, differences = (spec_of(drawn[name].draw(records).chart) for name in ("logged-waits", "wait-differences"))
    for spec in (boxes, differences):
        assert is_vega_lite(spec)
    rows = [row for rows in boxes["datasets"].values() for row in rows]
    assert {row["group"] for row in rows} == {
        "all jobs (4)", "1 (2)", "16 to 127 (2)", "3 (2)", "1 (1)", "2 (1)"
    }  # fmt: skip
    assert {row["name"] for row in rows} == {"logged", "FCFS"}
    places = [row["x"] for rows in differences["datasets"].values() for row in rows if "name" in row]
    assert min(places) == pytest.approx(-math.log10(1 + 18_952 / 10))
    assert max(places) == pytest.approx(math.log10(1 + 1047 / 10))


def test_users_with_few_jobs_are_taken_together(tmp_path: Path) -> None:
    rows = [(i, 0, 10, 1, 1 + i % 9) for i in range(19)]
    drawing = logged_waits(records_of(replayed(rows, tmp_path)))
    groups = [row["group"] for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]
    assert {name for name in groups if "others" in name} == {"3 others (6)"}
    assert {"1 (3)", "2 (2)", "6 (2)"} <= set(groups)


def test_a_log_without_waits_has_none_of_this(tmp_path: Path) -> None:
    records = records_of(replayed([(0, -1, 10, 1, 1), (5, -1, 10, 1, 2)], tmp_path))
    assert not {"logged-waits", "wait-differences"} & {figure.name for figure in drawable(records)}
    assert agreement_tables(job_view(records)[0]) == []

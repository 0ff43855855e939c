"""Logged waits beside simulated ones, on a log where both can be told by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.present.jobs.agreement import agreement_tables
from joulewise.present.jobs.view import job_view
from joulewise.present.results import records_of
from joulewise.study import Results, read_study, run_study

HEADER = "; MaxProcs: 16\n; MaxNodes: 16\n; UnixStartTime: 0\n"
ROWS = ((0, 0, 100, 16, 1), (0, 130, 50, 1, 2), (10, 100, 50, 2, 1), (20, -1, 50, 1, 2))
"""Submission, wait, run time, processors and user: FCFS lets jobs wait for 0, 100, 90 and 80 s."""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    lines = [
        f"{i + 1} {at} {wait} {run} {n} -1 -1 {n} {run} -1 1 {user} 1 -1 1 1 -1 -1"
        for i, (at, wait, run, n, user) in enumerate(ROWS)
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


def test_the_report_has_a_table_of_them(results: Results) -> None:
    (table,) = agreement_tables(job_view(records_of(results))[0])
    cells = {name: [cell.text for cell in row] for name, row in table.rows}
    assert list(cells) == ["all", "processors: 1", "processors: 2 to 15", "processors: 16 to 127"]
    assert cells["all"][0] == "3"
    assert cells["all"][-1] == "100.0 %"

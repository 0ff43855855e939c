"""Every column that is written is documented, and every key of a study file is."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from joulewise.study.column import MANAGED, RECORDS, RUNS, TRACES
from joulewise.study.columns import COLUMNS, metrics
from joulewise.study.kinds import KINDS
from joulewise.study.schema import study_keys
from joulewise.study.store import Store
from tests.strategies.small import run_small


def documented(table: str, kind: str = MANAGED) -> list[str]:
    return [column.name for column in COLUMNS if column.table == table and column.is_of(kind)]


def test_every_column_that_is_written_is_documented(tmp_path: Path) -> None:
    results = run_small(tmp_path)
    run = results.runs["run"][0]
    keys = {key.column for key in study_keys()}
    assert {name for name in results.runs.columns if "." in name} <= keys
    written = {name for name in results.runs.columns if "." not in name}
    assert {next(filter(partial(fnmatchcase, name), documented(RUNS)), name) for name in written} == set(
        documented(RUNS)
    )
    assert results.records(run).columns == documented(RECORDS)
    assert Store(tmp_path).read_table(Store(tmp_path).detail_file(TRACES, run)).columns == documented(TRACES)
    found = metrics(results.runs.columns)
    assert found[0] == "utility"
    assert found[-6:-2] == [f"priority_percent:{level}" for level in ("critical", "high", "medium", "low")]
    assert set(found[-2:]) == {"group_percent:special", "group_percent:general"}


def test_no_column_is_documented_twice() -> None:
    for kind in KINDS:
        names = [(column.table, column.name) for column in COLUMNS if column.is_of(kind)]
        assert len(set(names)) == len(names)


def test_every_column_and_every_key_is_explained() -> None:
    assert all(column.meaning for column in COLUMNS)
    assert all(key.meaning and key.kind for key in study_keys())

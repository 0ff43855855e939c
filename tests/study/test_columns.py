"""Every column that is written is documented, and every key of a study file is."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.kinds.columns import all_columns
from joulewise.study.kinds.systems import all_kinds, built_in
from joulewise.study.parsing.schema import study_keys
from joulewise.study.spec.column import RECORDS, RUNS, TRACES
from joulewise.study.store.store import Store
from joulewise.study.tasks.day import ManagedKind
from tests.strategies.small import run_small


def documented(table: str) -> list[str]:
    return [column.name for column in ManagedKind().all_columns() if column.table == table]


def test_every_column_that_is_written_is_documented(tmp_path: Path) -> None:
    results = run_small(tmp_path)
    run = results.runs["run"][0]
    keys = {key.column for key in study_keys()}
    assert {name for name in results.runs.columns if "." in name} <= keys
    written = {name for name in results.runs.columns if "." not in name}
    found = {next(filter(partial(fnmatchcase, name), documented(RUNS)), name) for name in written}
    assert found == {*documented(RUNS)} - {"runs_preempted", "stage"}  # nobody is suspended, and nothing is tuned
    assert results.records(run).columns == documented(RECORDS)
    assert Store(tmp_path).read_table(Store(tmp_path).detail_file(TRACES, run)).columns == documented(TRACES)
    metrics = results.study.kind.metrics(results.runs.columns)
    assert metrics[0] == "utility"
    assert metrics[-7:-3] == [f"priority_percent:{level}" for level in ("critical", "high", "medium", "low")]
    assert set(metrics[-3:-1]) == {"group_percent:special", "group_percent:general"}
    assert metrics[-1] == "run_s"


def test_no_column_is_documented_twice() -> None:
    for kind in all_kinds().values():
        names = [(column.table, column.name) for column in kind.all_columns()]
        assert len(set(names)) == len(names)
    described = [each.column for each in all_columns()]
    assert len({(each.table, each.name, each.meaning) for each in described}) == len(described)


def test_what_people_see_first_has_a_title_of_its_own_and_is_averaged() -> None:
    for kind in all_kinds().values():
        shown = kind.shown()
        assert shown, kind.name
        assert all(column.is_metric and column.title for column in shown)
        assert len({column.title for column in shown}) == len({column.rank for column in shown}) == len(shown)


def test_the_table_of_systems_says_what_they_say() -> None:
    for name, kinds in BUILT_IN.items():
        system = built_in(name)
        assert system.name == name
        assert {kind.name: (kind.section.name, kind.decision.name) for kind in system.kinds} == kinds


def test_the_methods_that_parameters_allow_are_those_of_the_table() -> None:
    allowed = {key.source: key.kind for key in study_keys() if key.path == "optimise.method"}
    searches = [kind for kind in all_kinds().values() if kind.methods]
    assert len(searches) == 4
    for kind in searches:
        assert allowed[kind.decision.name] == " or ".join(f'"{name}"' for name in kind.methods)


def test_every_column_and_every_key_is_explained() -> None:
    assert all(described.column.meaning for described in all_columns())
    assert all(key.meaning and key.kind for key in study_keys())

"""No value of any table of any kind of study can be changed without a word of `verify`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.study import Results, to_verify
from joulewise.study.store.store import Store
from tests.strategies.every_kind import TEXTS, Alteration, alterations, remembering, results_of, tables_of

EVERY_DAY = ("managed", "log", "profit")
LATER = [pytest.param(name, marks=pytest.mark.thorough("more kinds")) for name in TEXTS if name not in EVERY_DAY]


@pytest.fixture(scope="module", params=[*EVERY_DAY, *LATER])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    return results_of(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def remembered(results: Results) -> Iterator[None]:
    """What comes out of runs is computed once, as nothing that is altered here may change it."""
    with remembering(results.study.kind):
        yield


def is_refused(results: Results) -> bool:
    try:
        return any(verdict.problems for verdict in to_verify(results.folder, files=results.study.folder).verdicts())
    except InputError:
        return True


def unnoticed(results: Results, chosen: Callable[[int, list[Alteration]], list[Alteration]]) -> list[str]:
    """The columns of which `verify` says nothing though a value was altered, or something though it is measured."""
    kind, store, wrong = results.study.kind, Store(results.folder), []
    for table, path in tables_of(results).items():
        whole, content = store.read_table(path), path.read_bytes()
        for place, column in enumerate(whole):
            for alter in chosen(place, list(alterations(column))):
                store.write_table(path, whole.with_columns(alter(column)))
                if is_refused(results) == kind.is_measured(table, column.name):
                    wrong.append(f"{table}: {column.name}")
        path.write_bytes(content)
    return wrong


@pytest.mark.thorough("damages whole results")
def test_every_eighth_column_is_checked_or_measures_the_computer(results: Results, remembered: None) -> None:
    assert not is_refused(results)
    assert not unnoticed(results, lambda place, ways: [] if place % 8 else [ways[place // 8 % len(ways)]])


@pytest.mark.thorough("verifies thousands of times")
def test_every_column_is_checked_however_it_is_altered(results: Results, remembered: None) -> None:
    assert not unnoticed(results, lambda _, ways: ways)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_every_table_and_row_must_be_there(results: Results, remembered: None) -> None:
    store = Store(results.folder)
    for path in tables_of(results).values():
        whole, content = store.read_table(path), path.read_bytes()
        store.write_table(path, whole.head(whole.height - 1))
        assert is_refused(results)
        path.unlink()
        assert is_refused(results)
        path.write_bytes(content)


def test_tables_and_columns_that_nobody_computes_are_refused(results: Results, remembered: None) -> None:
    store, run = Store(results.folder), results.runs["run"][0]
    runs = store.read_table(store.runs_file)
    store.write_table(store.runs_file, runs.with_columns(pl.lit(1.0).alias("invented")))
    assert is_refused(results)
    store.write_table(store.runs_file, runs)
    store.write_table(store.detail_file("invented", run), runs)
    assert is_refused(results)
    store.detail_file("invented", run).unlink()
    assert not is_refused(results)

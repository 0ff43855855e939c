"""Questions in SQL: what they give, that nothing else is read or written, and what is told of mistakes."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import polars as pl
import pytest

import joulewise as jw
from joulewise.errors import InputError
from joulewise.study.answers.query import MOST_CHARACTERS, MOST_NESTED, ask
from joulewise.study.answers.tables import StoredTables, stored_tables
from joulewise.study.store.store import Store
from tests.strategies.every_kind import TEXTS, made, results_of
from tests.strategies.proofs import alter_texts

SECRET = "canary-7141"


@pytest.fixture(scope="module")
def folder() -> Path:
    """The results of a managed day, to be read only."""
    return made("managed").folder


@pytest.fixture(scope="module")
def tables(folder: Path) -> StoredTables:
    return stored_tables(folder)


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with files of every format that hold a secret."""
    frame = pl.DataFrame({SECRET: [SECRET]})
    frame.write_csv(tmp_path / "canary.csv")
    frame.write_parquet(tmp_path / "canary.parquet")
    frame.write_ipc(tmp_path / "canary.ipc")
    frame.write_json(tmp_path / "canary.json")
    frame.write_ndjson(tmp_path / "canary.ndjson")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(of: Path | StoredTables, sql: str) -> str:
    """What is told of a question that cannot be answered."""
    with pytest.raises(InputError) as caught:
        ask(of if isinstance(of, StoredTables) else stored_tables(of), sql).frame()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- answers -----------------------------------------------------------------------------------------------------


def test_runs_are_those_of_the_folder(folder: Path) -> None:
    found = jw.query(folder, 'SELECT run, "manager.policy", utility FROM runs')
    assert found.equals(made("managed").runs.select("run", "manager.policy", "utility"))


def test_details_of_all_kept_runs_can_be_joined_with_runs(folder: Path) -> None:
    sql = """
        SELECT "manager.policy", count(*) AS n, sum(records.utility) AS earned
        FROM records JOIN runs ON records.run = runs.run WHERE fate = 'ran' GROUP BY "manager.policy" ORDER BY 1
    """
    found = jw.query(folder, sql)
    runs = made("managed").runs.sort("manager.policy")
    assert found["earned"].to_list() == pytest.approx(runs["utility"].to_list())


@pytest.mark.parametrize("name", ["managed", "front", "pricing", "log", "utility"])
def test_every_table_of_every_kind_can_be_asked_and_is_described(name: str) -> None:
    tables = stored_tables(made(name).folder)
    for table in tables.names:
        found = ask(tables, f"SELECT * FROM {table}").frame()
        patterns = [column.column.replace("*", ".*") for column in tables.described(table)]
        unknown = [each for each in found.columns if not any(re.fullmatch(p, each) for p in patterns)]
        assert unknown == [], table
        assert all(column.meaning for column in tables.described(table))


def test_bounds_are_what_is_proven() -> None:
    found = jw.query(made("managed").folder, "SELECT * FROM bounds")
    assert found["value"].to_list() == made("managed").runs["utility_bound"].unique().to_list()
    vertices = jw.query(made("front").folder, "SELECT * FROM bounds")
    assert set(vertices["kind"]) == {"lp"}
    assert vertices["vertex"].to_list() == list(range(vertices.height))
    assert not any(kind.is_nested() for kind in vertices.dtypes)


def test_details_without_kept_runs_are_empty_tables(tables: StoredTables) -> None:
    found = ask(tables, "SELECT * FROM losses").frame()
    assert found.columns[0] == "run"
    assert found.is_empty()


def test_rows_of_runs_that_are_no_longer_asked_for_are_left_out(tmp_path: Path) -> None:
    results = results_of("managed", tmp_path)
    key = results.runs["run"][0]
    store, other = Store(tmp_path), "0" * 32
    store.write_table(store.detail_file("records", other), store.read_table(store.detail_file("records", key)))
    assert other not in jw.query(tmp_path, "SELECT DISTINCT run FROM records")["run"]


def test_an_answer_says_how_many_rows_there_are(tables: StoredTables) -> None:
    first, n = ask(tables, "SELECT task FROM records ORDER BY run, task").first(3)
    assert first["task"].to_list() == [0, 1, 2]
    assert n == tables.scan("records").collect().height


def test_files_hold_the_answer(tables: StoredTables, tmp_path: Path) -> None:
    answer = ask(tables, "SELECT run, task, machine_type, end_s FROM records ORDER BY run, task")
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "csv": pl.read_csv, "parquet": pl.read_parquet, "json": pl.read_json,
    }  # fmt: skip
    for kind, read in readers.items():
        answer.write(tmp_path / f"a.{kind}")
        assert read(tmp_path / f"a.{kind}").equals(answer.frame()), kind
    ask(tables, "SELECT run FROM runs WHERE false").write(tmp_path / "none.json")
    assert json.loads((tmp_path / "none.json").read_text()) == []


@pytest.mark.parametrize("name", ["a.xls", "a", ".csv"])
def test_other_files_are_refused(tables: StoredTables, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"must end with \.csv, \.parquet, \.json"):
        ask(tables, "SELECT 1").write(tmp_path / name)


def test_no_answer_is_written_into_the_results(tmp_path: Path) -> None:
    results_of("managed", tmp_path / "day")
    answer = ask(stored_tables(tmp_path / "day"), "SELECT 1 AS a")
    before = (tmp_path / "day" / "runs.parquet").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "day")
    for place in ("day/runs.parquet", "link/runs.parquet", "day/../day/new.csv"):
        with pytest.raises(InputError, match="is in the results folder"):
            answer.write(tmp_path / place)
    assert (tmp_path / "day" / "runs.parquet").read_bytes() == before


# --- what a question may not do ----------------------------------------------------------------------------------

FUNCTIONS = {
    "read_csv": "csv",
    "read_parquet": "parquet",
    "read_ipc": "ipc",
    "read_json": "json",
    "read_ndjson": "ndjson",
}
FORMS = [
    "SELECT * FROM {f}('{p}')",
    "SELECT * FROM {F}('{p}')",
    "SELECT * FROM \"{f}\"('{p}')",
    "SELECT * FROM `{f}`('{p}')",
    "SELECT * FROM {f}/* a */('{p}')",
    "SELECT * FROM {f} -- a\n ('{p}')",
    "SELECT * FROM runs, {f}('{p}')",
    "SELECT * FROM runs JOIN {f}('{p}') AS x ON true",
    "SELECT * FROM runs CROSS JOIN {f}('{p}')",
    "SELECT * FROM (SELECT * FROM {f}('{p}')) AS x",
    "WITH x AS (SELECT * FROM {f}('{p}')) SELECT * FROM x",
    "SELECT run FROM runs WHERE run IN (SELECT * FROM {f}('{p}'))",
    "SELECT (SELECT max(*) FROM {f}('{p}')) FROM runs",
    "SELECT run FROM runs WHERE EXISTS (SELECT * FROM {f}('{p}'))",
    "SELECT run FROM runs UNION SELECT * FROM {f}('{p}')",
    "SELECT run FROM runs EXCEPT SELECT * FROM {f}('{p}')",
    "FROM {f}('{p}')",
    "(SELECT * FROM {f}('{p}'))",
    "SELECT '' FROM runs /* ' */, {f}('{p}') -- '",
    "SELECT $$ $$ FROM runs, {f}('{p}')",
    "SELECT * FROM '{p}'",
    'SELECT * FROM "{p}"',
    "SELECT * FROM `{p}`",
    "SELECT * FROM {f}.'{p}'",
    "SELECT * FROM runs JOIN '{p}' ON true",
    "SELECT * FROM LATERAL {f}('{p}')",
    "SELECT * FROM TABLE({f}('{p}'))",
    "SELECT * FROM [{f}]('{p}')",
    "SELECT {f}('{p}') FROM runs",
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_outside_the_folder_is_read(tables: StoredTables, outside: Path, function: str) -> None:
    for form in FORMS:
        for path in (f"canary.{FUNCTIONS[function]}", str(outside / f"canary.{FUNCTIONS[function]}")):
            sql = form.format(f=function, F=function.upper(), p=path)
            assert SECRET not in told(tables, sql), sql


def test_no_file_is_opened_for_a_question_that_reads_one(tables: StoredTables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polars.SQLContext", None)  # what would open it
    assert "reads files" in told(tables, "SELECT * FROM READ_CSV('canary.csv')")


PLACES = [
    "SELECT * FROM {f}",
    "SELECT run FROM runs WHERE run IN (SELECT * FROM {f})",
    "SELECT (SELECT MAX(run) FROM {f}) AS a FROM runs",
    "SELECT run FROM runs WHERE EXISTS (SELECT 1 FROM {f})",
]


@pytest.mark.parametrize("function", sorted(FUNCTIONS.keys() - {"read_json"}))
def test_the_plan_tells_whatever_reads_a_file(
    tables: StoredTables, outside: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    monkeypatch.setattr("joulewise.study.answers.query._READERS", re.compile("(?!)"))
    for place in PLACES:
        sql = place.format(f=f"{function}('{outside}/canary.{FUNCTIONS[function]}')").replace("MAX(run)", f'"{SECRET}"')
        assert "a function that reads files" in told(tables, sql), sql


def test_functions_that_polars_may_get_are_known_by_the_plan(
    tables: StoredTables, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.study.answers.query._READERS", re.compile("(?!)"))
    assert "a function that reads files" in told(tables, "SELECT * FROM read_csv('canary.csv')")
    assert "a function that reads files" in told(
        tables, "SELECT run FROM runs UNION SELECT * FROM read_csv('canary.csv')"
    )


STATEMENTS = [
    "SHOW TABLES", "show tables", "EXPLAIN SELECT * FROM runs", "DROP TABLE runs", "TRUNCATE TABLE runs",
    "DELETE FROM runs", "DELETE FROM runs WHERE trial = 0", "CREATE TABLE x AS SELECT * FROM runs",
    "INSERT INTO runs VALUES (1)", "UPDATE runs SET trial = 1", "COPY runs TO 'x.csv'", "ATTACH 'x' AS y",
    "SET x = 1", "PRAGMA x", "VALUES (1)", "TABLE runs", "INSTALL x", "LOAD x", "CALL x()", "EXPORT DATABASE 'x'",
    "SELECT * INTO x FROM runs", "SELECT * FROM runs INTO OUTFILE 'x.csv'", "SELECT 1; DROP TABLE runs",
    "SELECT 1; SELECT 2", "WITH x AS (DELETE FROM runs) SELECT 1", "WITH x AS (SELECT 1) DELETE FROM runs",
    "WITH x AS (SELECT 1) INSERT INTO runs SELECT * FROM x", "(DROP TABLE runs)", "SELECT * FROM (DROP TABLE runs)",
    "/* SELECT */ DROP TABLE runs", "-- SELECT\nDROP TABLE runs", "/* /* */ SELECT */ DROP TABLE runs", "", " \n ",
    ";", "\x00", "\ufeffSELECT 1", "SELECT", "(", "((((((", "selectx 1", "\uff33elect 1", "SELECT ''' FROM runs",
]  # fmt: skip


@pytest.mark.parametrize("sql", STATEMENTS)
def test_only_a_select_is_a_question(folder: Path, tables: StoredTables, sql: str) -> None:
    before = sorted(path.stat().st_mtime_ns for path in folder.rglob("*"))
    assert told(tables, sql)
    assert sorted(path.stat().st_mtime_ns for path in folder.rglob("*")) == before


def test_variables_of_python_are_no_tables(tables: StoredTables) -> None:
    secrets = pl.DataFrame({SECRET: [SECRET]})
    assert "table" in told(tables, "SELECT * FROM secrets")
    assert secrets.height == 1


def _deep() -> Iterator[str]:
    for before, piece, after in (
        ("SELECT ", "trial||", "trial FROM runs"), ("SELECT ", "1+", "1"), ("SELECT 1", " UNION ALL SELECT 1", ""),
        ("SELECT ", "(", "1"), ("SELECT ", "NOT ", "true"), ("SELECT ", "- ", "1"),
        ("SELECT ", "CASE WHEN true THEN ", "1"),
    ):  # fmt: skip
        for n in (MOST_CHARACTERS, MOST_CHARACTERS // 16):
            yield (before + piece * (n // len(piece)))[: n - len(after)] + after


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("sql", list(_deep()))
def test_deep_questions_are_answered_or_refused(tables: StoredTables, sql: str) -> None:
    with suppress(InputError):
        ask(tables, sql).frame()


AGAIN = [
    "CAST(", "CEIL(", "POSITION(", "SUBSTRING(", "OVERLAY(", "CONVERT(", "NOT(", "INTERVAL ", "ARRAY[", "CASE(",
    "CASE WHEN 1 THEN ", "INTERVAL CAST(", "CAST (\")\"||CAST(", "CAST(')'||", "CAST(/*)*/", "CAST(--)\n",
    "CAST(E'\\')'||", "CAST($$)$$||", "CAST(`)`||",
]  # fmt: skip
"""What Polars reads twice or thrice where it finds a mistake behind it."""


@pytest.mark.parametrize("piece", AGAIN)
def test_questions_that_would_be_read_for_ever_are_refused(tables: StoredTables, piece: str) -> None:
    assert "must be 16 at most" in told(tables, "SELECT " + piece * (MOST_NESTED + 1))


def test_brackets_side_by_side_are_not_inside_each_other(tables: StoredTables) -> None:
    sums = ", ".join(f'SUM(CAST(trial AS INT)) AS "({i}"' for i in range(MOST_NESTED + 1))
    assert ask(tables, f"SELECT {sums} FROM runs").frame().width == MOST_NESTED + 1


def test_long_questions_are_refused(tables: StoredTables) -> None:
    assert "must be 2,000 at most" in told(tables, "SELECT 1 --" + "x" * MOST_CHARACTERS)


# --- mistakes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT utilty FROM runs", "SQL: column: found 'utilty'; no such column in runs; did you mean utility"),
        ("SELECT manager.policy FROM runs", 'in double quotes; did you mean "manager.policy"?'),
        ("SELECT * FROM runs WHERE manager.policy = 'x'", 'did you mean "manager.policy"?'),
        ("SELECT runs.utilty FROM runs", "did you mean utility"),
        ("SELECT a.zzzzz FROM runs a", "`joulewise query FOLDER` lists tables and columns"),
        ("SELECT * FROM record", "SQL: table: found 'record'; must be one of runs, records, traces"),
        ("SELECT * FROM record", "did you mean 'records'?"),
        ("SELECT * FROM other.runs", "table: found 'other.runs'"),
        ("SELECT run FROM runs WHERE", "found: EOF"),
        ("SELECT run,, FROM runs", "SQL, line 1, character 12: Expected: an expression, found: ,"),
        ("SELECT foo(run) FROM runs", "found the function 'foo'"),
        ("SELECT * FROM foo(run)", "found the function 'foo'"),
        ("SELECT sum(status) FROM runs", "`sum` operation not supported"),
        ("SELECT run FROM runs WHERE trial > 'x'", "cannot compare string with numeric type"),
        ("SELECT CAST(run AS INT) FROM runs", "conversion from `str` to `i32` failed"),
        ("SELECT run, run FROM runs", "duplicate"),
        ("SELECT \x1b[31m FROM runs", "Expected: an expression"),
    ],
)
def test_mistakes_are_told_in_one_line(tables: StoredTables, sql: str, words: str) -> None:
    assert words in told(tables, sql)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".json"])
def test_what_goes_wrong_while_writing_is_told_and_leaves_nothing(
    tables: StoredTables, tmp_path: Path, kind: str
) -> None:
    with pytest.raises(InputError, match="conversion from"):
        ask(tables, "SELECT CAST(run AS INT) AS a FROM runs").write(tmp_path / f"a{kind}")
    assert list(tmp_path.iterdir()) == []


# --- folders -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "none", "file"])
def test_other_places_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    assert str(tmp_path / name) in told(tmp_path / name, "SELECT 1")


def _changed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _another(path: Path) -> None:
    pl.DataFrame({"run": [SECRET]}).write_parquet(path)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("harm", [_changed, _another, _cut, Path.unlink])
@pytest.mark.parametrize("table", ["runs", "records"])
def test_a_folder_that_was_changed_is_refused(tmp_path: Path, table: str, harm: object) -> None:
    results = results_of("managed", tmp_path)
    store = Store(tmp_path)
    path = store.runs_file if table == "runs" else store.detail_file(table, results.runs["run"][0])
    assert callable(harm)
    harm(path)
    said = told(tmp_path, f"SELECT * FROM {table}")
    assert SECRET not in said
    assert str(tmp_path) in said


def test_an_unfinished_study_is_refused(tmp_path: Path) -> None:
    results_of("managed", tmp_path)
    marker = json.loads((tmp_path / "study.json").read_text())
    (tmp_path / "study.json").write_text(json.dumps({**marker, "is_finished": False}))
    assert "holds an unfinished study" in told(tmp_path, "SELECT 1")


def test_another_study_is_refused(tmp_path: Path) -> None:
    results_of("managed", tmp_path)
    (tmp_path / "study.toml").write_text(TEXTS["front"])
    assert "column 'optimise.method': is missing" in told(tmp_path, "SELECT 1")


def test_a_damaged_proof_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    results_of("managed", tmp_path)
    alter_texts(Store(tmp_path), lambda _: "{")
    assert str(tmp_path / "bounds.parquet") in told(tmp_path, "SELECT * FROM bounds")
    assert jw.query(tmp_path, "SELECT run FROM runs").height == 2


def test_no_lock_is_needed_and_no_file_changes(tmp_path: Path) -> None:
    results_of("managed", tmp_path / "a*[0]=b")
    place = tmp_path / "a*[0]=b"
    (place / ".lock").unlink(missing_ok=True)
    for path in chain([place], place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    names = sorted(path.name for path in place.rglob("*"))
    assert jw.query(place, "SELECT DISTINCT run FROM records").height == 2
    assert sorted(path.name for path in place.rglob("*")) == names
    for path in chain([place], place.rglob("*")):
        path.chmod(0o755)
    shutil.rmtree(place)

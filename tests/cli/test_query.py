"""`joulewise query` and `joulewise export` on the command line, and the how-to about them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from joulewise.cli.query import MOST_ROWS
from joulewise.study import Cancelled, CancelToken, Progress, run_study
from joulewise.study.answers.query import query
from joulewise.study.answers.tables import stored_tables
from joulewise.study.store.store import Store
from tests.strategies.calling import call
from tests.strategies.every_kind import TEXTS, made
from tests.strategies.small import QUICKLY, small
from tests.test_project import ROOT

Capture = pytest.CaptureFixture[str]
FIRST, *OTHERS = TEXTS
LATER = pytest.mark.thorough("makes results of every kind")
HOW_TO = ROOT / "docs" / "how-to" / "ask-results.md"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The results of a managed day, to be read only, from a working folder that is empty."""
    monkeypatch.chdir(tmp_path)
    return str(made("managed").folder)


@pytest.mark.parametrize("kind", [FIRST, *(pytest.param(kind, marks=LATER) for kind in OTHERS)])
def test_tables_are_listed_with_questions_that_they_answer(kind: str, capsys: Capture) -> None:
    results = made(kind)
    said = call(capsys, "query", str(results.folder))
    assert said.code == 0
    assert len(said.out.splitlines()) < 40
    assert all(axis.split(".")[-1] in said.out for axis in results.axes)
    questions = [line for line in said.out.splitlines() if line.startswith("  joulewise query ")]
    assert len(questions) == 3
    for question in questions:
        _, _, folder, sql = shlex.split(question)
        assert not query(folder, sql).is_empty()


def test_what_has_no_rows_is_told_in_a_line(folder: str, capsys: Capture) -> None:
    said = call(capsys, "query", folder)
    assert re.search(r"records +[\d,]+ +run, task,", said.out)
    assert "Without rows: losses" in said.out


def test_columns_are_listed(folder: str, capsys: Capture) -> None:
    said = call(capsys, "query", folder, "--columns")
    assert said.code == 0
    assert "records: of 2 kept runs" in said.out
    assert "losses: of 0 kept runs" in said.out
    assert re.search(r"utility_percent +% +100 x utility / maximum_utility", said.out)
    columns = json.loads(call(capsys, "query", folder, "--json").out)
    assert {"table": "records", "column": "arrival_s", "unit": "s", "meaning": "instant of arrival"} in columns


def test_an_answer_is_a_table_of_some_rows(folder: str, capsys: Capture) -> None:
    said = call(capsys, "query", folder, "SELECT task, machine_type FROM records ORDER BY run, task")
    n = made("managed").details("records").height
    assert said.code == 0
    assert "machine_type" in said.out
    assert f"... and {n - MOST_ROWS} more rows. --out FILE writes all of them" in said.out
    assert "No rows; the columns are run." in call(capsys, "query", folder, "SELECT run FROM runs WHERE false").out


def test_an_answer_is_json(folder: str, capsys: Capture) -> None:
    found = json.loads(call(capsys, "query", folder, "SELECT trial, 'é' AS e FROM runs", "--json").out)
    assert found == [{"trial": 0, "e": "é"}] * 2
    assert json.loads(call(capsys, "query", folder, "SELECT run FROM runs WHERE false", "--json").out) == []


def test_a_study_that_was_interrupted_answers_from_what_is_there(tmp_path: Path, capsys: Capture) -> None:
    token = CancelToken()

    def look(now: Progress) -> None:
        if now.n_done == 2:
            token.cancel()

    folder, sql = str(tmp_path), 'SELECT run, "manager.policy", utility, status FROM runs ORDER BY run'
    with pytest.raises(Cancelled):
        run_study(small(QUICKLY.__add__), tmp_path, 1, look, token)
    said = call(capsys, "query", folder, sql, "--json")
    assert said.err == "2 of at most 8 runs are there; the study is running or was interrupted.\n"
    found = pl.DataFrame(json.loads(said.out))
    assert "utility" in call(capsys, "query", folder).out
    assert "holds an unfinished study" in call(capsys, "export", folder).err
    whole = run_study(small(QUICKLY.__add__), tmp_path, 1).runs.select(found.columns)
    assert found.equals(whole.filter(pl.col("run").is_in(found["run"].implode())).unique("run").sort("run"))
    said = call(capsys, "query", folder, sql, "--json")
    assert (said.err, len(json.loads(said.out))) == ("", 8)


def test_rows_of_fragments_and_the_journal_are_told_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.study.store.journal._FRAGMENT_ROWS", 3)
    with monkeypatch.context() as patch:
        patch.setattr("joulewise.study.running.running.merge", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run_study(small(QUICKLY.__add__), tmp_path, 1)
    store, tables = Store(tmp_path), stored_tables(tmp_path, so_far=True)
    assert store.fragment_files()
    found, runs = tables.runs.collect(), run_study(small(QUICKLY.__add__), tmp_path, 1).runs
    assert found.sort("run")["utility"].equals(runs.unique("run").sort("run")["utility"])
    assert set(found.columns) == set(runs.columns)


def test_an_answer_goes_to_a_file(folder: str, capsys: Capture) -> None:
    sql = "SELECT run, utility FROM runs"
    assert call(capsys, "query", folder, sql, "--out", "new/a.csv").out == "new/a.csv\n"
    assert pl.read_csv("new/a.csv").equals(made("managed").runs.select("run", "utility"))
    assert json.loads(call(capsys, "query", folder, sql, "--out", "a.json", "--json").out) == "a.json"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["SELECT * FROM read_csv('x')"], "found read_csv, which reads files"),
        (["DROP TABLE runs"], "starts with 'DROP'"),
        (["SELECT zz\x1b[31m FROM runs"], "SQL"),
        (['SELECT * FROM "\x1b[31m"'], r"\x1b[31m"),
        (["SELECT 1", "--out", "a.xls"], "must end with .csv, .parquet, .json"),
        (["SELECT nothing FROM runs", "--out", "a.csv"], "found 'nothing'"),
        (["--out", "a.csv"], "give a SELECT"),
        (["SELECT 1", "--columns"], "give one of them"),
    ],
)
def test_mistakes_are_told(folder: str, capsys: Capture, arguments: list[str], words: str) -> None:
    said = call(capsys, "query", folder, *arguments)
    assert said.code == 2
    assert words in said.err
    assert "\x1b" not in said.err
    assert list(Path.cwd().iterdir()) == []


def test_names_and_cells_steer_no_terminal(folder: str, capsys: Capture) -> None:
    said = call(capsys, "query", folder, "SELECT '\x1b[31m\u202ered' AS \"\x1b]0;title\x07\" FROM runs")
    assert said.code == 0
    assert not set(said.out) & {"\x1b", "\x07", "\u202e"}


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_export_writes_tables_meanings_and_the_schedule(folder: str, capsys: Capture) -> None:
    said = call(capsys, "export", folder, "--out", "files", "--json")
    assert said.code == 0
    assert json.loads(said.out) == [
        f"files/{name}" for name in ("records.csv", "traces.csv", "columns.csv", "task-gantt.png")
    ]
    assert Path("files/task-gantt.png").read_bytes().startswith(b"\x89PNG")
    assert call(capsys, "export", folder, "--out", "files").out.splitlines()[0] == "files/records.csv"


def test_large_exports_are_told_beforehand(folder: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.cli.export._LARGE_BYTES", 1000.0)
    n = sum(made("managed").details(name).height for name in ("records", "traces"))
    assert f"Writing {n} rows, about " in call(capsys, "export", folder, "--out", "files").err


def test_export_refuses_what_is_not_its_own(folder: str, capsys: Capture) -> None:
    Path("files").mkdir()
    Path("files/records.csv").write_text("mine")
    said = call(capsys, "export", folder, "--out", "files")
    assert said.code == 2
    assert "is not as an export wrote it" in said.err
    assert call(capsys, "export", folder, "--format", "xls").code == 2
    assert Path("files/records.csv").read_text() == "mine"


def commands() -> list[list[str]]:
    """The commands of the how-to, of which some go over several lines."""
    blocks = "".join(re.findall(r"```sh\n(.*?)```", HOW_TO.read_text(), re.DOTALL))
    return [
        shlex.split(line, comments=True)
        for line in re.findall(r"^joulewise [^']*?(?:'[^']*'.*?)?$", blocks, re.M | re.S)
    ]


def test_the_commands_of_the_how_to_work(folder: str, capsys: Capture) -> None:
    (Path.cwd() / "results").mkdir()
    (Path.cwd() / "results" / "day").symlink_to(folder)
    found = commands()
    assert len(found) == HOW_TO.read_text().count("\njoulewise ")
    assert len(found) >= 6
    for _joulewise, *arguments in found:
        where = arguments if "--out" in arguments or arguments[0] != "export" else [*arguments, "--out", "files"]
        said = call(capsys, *where)
        assert said.code == 0, (arguments, said.err)

"""`joulewise query`: ask a results folder in SQL."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.output import AsJson, FolderPath, note, print_json, print_table, say, working
from joulewise.study.spec.column import BOUNDS, RUNS
from joulewise.units import count

if TYPE_CHECKING:
    import polars as pl

    from joulewise.study.answers.query import Answer
    from joulewise.study.answers.tables import StoredTables

MOST_ROWS = 40
"""A table on the screen has no more."""


def query(
    folder: FolderPath,
    sql: Annotated[
        str | None, typer.Argument(metavar="SQL", help="A SELECT; left out, tables and some questions are listed.")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="List every column of all tables.")] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all rows to a file: .csv, .parquet or .json.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask stored results in SQL.

    The tables are `runs`, the detail tables of all kept runs with a column `run`, and `bounds`, what is proven of
    worlds. Nothing but the results folder is read, and nothing in it is written. Of a study that is running or was
    interrupted, there is what is stored so far.
    """
    from joulewise.errors import InputError, Problem
    from joulewise.study.answers.query import ask, check_place
    from joulewise.study.answers.tables import stored_tables

    if out and sql is None:
        raise InputError(Problem("--out", "found no question to write the answer of", advice="give a SELECT"))
    if columns and sql is not None:
        raise InputError(Problem("options", "found --columns and a question", advice="give one of them"))
    if out:
        check_place(out, folder)
    tables = stored_tables(folder, so_far=True)
    if not tables.is_finished:
        there = f"{tables.keys.height:,} of at most {tables.study.most_runs:,} runs"
        note(f"{there} are there; the study is running or was interrupted.")
    if sql is None:
        _show_columns(tables, as_json=as_json) if columns or as_json else _show_tables(tables)
        return
    with working("Asking", quiet=as_json):
        answer = ask(tables, sql)
    if out:
        with working(f"Writing {out}", quiet=as_json):
            answer.write(out)
        print_json(str(out)) if as_json else print(out)
    elif as_json:
        sys.stdout.writelines(_for_terminal(answer.json()))
    else:
        _show(answer)


def _show_tables(tables: StoredTables) -> None:
    """The tables that have rows, with the columns to start from, and some questions that they answer."""
    import polars as pl

    with working("Counting rows", quiet=False):
        n_rows = {name: int(tables.scan(name).select(pl.len()).collect().item()) for name in tables.names}
    rows = [
        {"table": name, "rows": f"{n:,}", "columns, such as": ", ".join(tables.main_columns(name))}
        for name, n in n_rows.items()
        if n
    ]
    print_table(f"Tables of {tables.study.name}", rows, numbers=("rows",), as_named=True)
    if empty := [name for name, n in n_rows.items() if not n]:
        say(f"Without rows: {', '.join(empty)}.")
    say("--columns lists every column with its unit and meaning. Questions to start from:")
    for sql in examples(tables, [name for name, n in n_rows.items() if n]):
        print(f"  joulewise query {shlex.quote(str(tables.store.folder))} {shlex.quote(sql)}")


def examples(tables: StoredTables, filled: Sequence[str]) -> list[str]:
    """Three questions that the tables with rows answer: of runs, of details, and of bounds, as far as there are any."""
    study, there = tables.study, tables.main_columns(RUNS)
    metric = next((column.name for column in study.first_columns if column.name in there), "run_s")
    axis = f'"{study.axes[0]}"' if study.axes else "trial"
    order = "DESC" if study.kind.sense_of(metric) > 0 else "ASC"
    best = f'SELECT {axis}, avg("{metric}") AS mean FROM runs GROUP BY {axis} ORDER BY mean {order}'
    slowest = "SELECT run, status, run_s FROM runs ORDER BY run_s DESC LIMIT 5"
    others = [f"SELECT * FROM {name} LIMIT 5" for name in filled if name != RUNS]
    return [best, slowest, *others[:1]] if others else [best, slowest, "SELECT count(*) AS runs FROM runs"]


def _show_columns(tables: StoredTables, *, as_json: bool) -> None:
    """Every column of every table, with its unit and meaning."""
    columns = {name: [column._asdict() for column in tables.described(name)] for name in tables.names}
    if as_json:
        print_json([column for found in columns.values() for column in found])
        return
    whole = {RUNS: "a row for each point and trial", BOUNDS: "what is proven of the worlds of runs"}
    for name, found in columns.items():
        told = whole.get(name) or f"of {count(len(tables.kept(name)), 'kept run')}"
        rows = [{key: value for key, value in column.items() if key != "table"} for column in found]
        print_table(f"{name}: {told}", rows, as_named=True)


def _for_terminal(pieces: Iterator[str]) -> Iterator[str]:
    """Pieces of JSON in characters that standard output can show."""
    if sys.stdout.encoding.lower().startswith("utf"):
        return pieces
    return (re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], piece) for piece in pieces)


def _show(answer: Answer) -> None:
    """The first rows, and how many more there are."""
    with working("Asking", quiet=False):
        found, n_rows = answer.first(MOST_ROWS)
    rows = [{name: _cell(value) for name, value in row.items()} for row in found.iter_rows(named=True)]
    if rows and found.width:
        print_table("", rows, numbers=_numbers(found), as_named=True)
    else:
        print(f"No rows; the columns are {', '.join(found.columns)}.")
    if n_rows > len(rows):
        say(f"... and {count(n_rows - len(rows), 'more row')}. --out FILE writes all of them, LIMIT asks for fewer.")


def _numbers(found: pl.DataFrame) -> list[str]:
    return [name for name, kind in found.schema.items() if kind.is_numeric()]


def _cell(value: Any) -> Any:
    """A value as people read it: numbers with six figures, and whole ones in full."""
    return f"{value:.6g}" if isinstance(value, float) else value

"""Questions to a results folder in SQL. A question reads the tables of its folder and nothing else, and writes nothing.

Polars' SQL has functions that read files. Those that there are today are refused by name. Against those that may come,
a question is planned on empty tables first: a plan that reads any file is refused as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path

import polars as pl
from polars.exceptions import PanicException, PolarsError

from joulewise.errors import InputError, JoulewiseError, Problem, unknown_name
from joulewise.files import replacing
from joulewise.study.answers.tables import StoredTables, stored_tables

MOST_CHARACTERS = 2_000
"""Polars follows questions to any depth, and longer ones could take more stack than there is."""

MOST_NESTED = 16
"""Polars reads what is inside CAST( and many others twice or thrice where it finds a mistake in it, and so do CASE,
INTERVAL and POSITION: with some thirty of them inside each other it would read for ever."""

_WHERE = "SQL"
_READ_AGAIN = re.compile(r"\b(?:case|interval|position)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_HIDING = re.compile(r"--|/\*|[\\$`]")
"""What may hide brackets in other ways than plain quotes do."""
_SELECTS = re.compile(r"[\s(]*(?:select|with|from)\b", re.IGNORECASE)
_READERS = re.compile(r"(?:read|scan)_(?:csv|parquet|ipc|nd_?json|json|avro|delta|excel|lines|iceberg)")
_READS = re.compile(r"^\s*\w+ SCAN \[", re.MULTILINE)
_ALLOWED = "a question is one SELECT from the tables of the folder, and neither writes nor reads anything else"

_OWN_ADVICE = "`joulewise query FOLDER` lists tables and columns"


def query(folder: Path | str, sql: str) -> pl.DataFrame:
    """What a SELECT in SQL gives of the tables of a results folder: `runs`, its detail tables, and `bounds`.

    InputError where the folder holds no finished study, or the question is none that can be answered.
    """
    return ask(stored_tables(folder), sql).frame()


@dataclass(frozen=True)
class Answer:
    """What comes out of a question, computed when it is asked for; InputError where it cannot be."""

    _rows: pl.LazyFrame
    _question: _Question
    _folder: Path

    def frame(self) -> pl.DataFrame:
        """All rows."""
        with self._question.told():
            return self._rows.collect(engine="streaming")

    def first(self, n: int) -> tuple[pl.DataFrame, int]:
        """The first rows, and how many there are in all."""
        with self._question.told():
            first, height = pl.collect_all([self._rows.head(n), self._rows.select(pl.len())], engine="streaming")
            return first, int(height.item())

    def json(self) -> Iterator[str]:
        """The pieces of a JSON text: a list with an object for each row."""
        before = "["
        with self._question.told():
            for batch in self._rows.collect_batches(engine="streaming"):
                for line in batch.write_ndjson().splitlines():
                    yield f"{before}\n{line}"
                    before = ","
        yield "[]\n" if before == "[" else "\n]\n"

    def write(self, path: Path) -> None:
        """Write the rows as what the name of the file ends with; InputError where that is none of FORMATS."""
        check_place(path, self._folder)
        with self._question.told(), replacing(path) as temporary:
            _WRITERS[path.suffix.lower()](self, temporary)

    def _write_json(self, path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(self.json())


_WRITERS: Mapping[str, Callable[[Answer, Path], object]] = {
    ".csv": lambda answer, path: answer._rows.sink_csv(path, engine="streaming"),
    ".parquet": lambda answer, path: answer._rows.sink_parquet(path, engine="streaming"),
    ".json": Answer._write_json,
}
FORMATS = tuple(_WRITERS)
"""How the names of files end that answers are written to."""


def check_place(path: Path, folder: Path) -> None:
    """InputError where an answer cannot be written to a file: by its name, or as it would be among the results."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(Problem(str(path), f"ends with {path.suffix!r}", f"must end with {', '.join(FORMATS)}"))
    if path.resolve().is_relative_to(folder.resolve()):
        advice = "choose a place beside it"
        raise InputError(Problem(str(path), "is in the results folder", "which questions leave as it is", advice))
    if path.is_dir():
        raise InputError(Problem(str(path), "is a folder", "must be a file"))


def ask(tables: StoredTables, sql: str) -> Answer:
    """The answer of a question; InputError where it is none, or names what there is not."""
    _check_text(sql)
    scans = {name: tables.scan(name) for name in tables.names if name in sql.casefold()}
    question = _Question(sql, tables.names, {name: scan.collect_schema() for name, scan in scans.items()})
    with question.told():
        empty = {name: pl.LazyFrame(schema=schema) for name, schema in question.schemas.items()}
        if _READS.search(_planned(empty, sql).explain(optimized=False)):
            raise InputError(Problem(_WHERE, "found a function that reads files", _ALLOWED))
        return Answer(_planned(scans, sql), question, tables.store.folder)


def _planned(frames: Mapping[str, pl.LazyFrame], sql: str) -> pl.LazyFrame:
    return pl.SQLContext(frames, register_globals=False, eager=False).execute(sql)


def _check_text(sql: str) -> None:
    """InputError where a text is too long, does not select, or names a function that reads files, anywhere in it."""
    if len(sql) > MOST_CHARACTERS:
        raise InputError(Problem(_WHERE, f"found {len(sql):,} characters", f"must be {MOST_CHARACTERS:,} at most"))
    if not sql.strip():
        raise InputError(Problem(_WHERE, "found no question", _ALLOWED, _OWN_ADVICE))
    if not _SELECTS.match(sql):
        raise InputError(Problem(_WHERE, f"starts with {sql.split()[0][:40]!r}", _ALLOWED, "start with SELECT or WITH"))
    if (n_nested := len(_READ_AGAIN.findall(sql)) + _depth(sql)) > MOST_NESTED:
        found = f"found {n_nested} of brackets inside each other, CASE, INTERVAL and POSITION together"
        raise InputError(Problem(_WHERE, found, f"must be {MOST_NESTED} at most", "ask in several questions"))
    if reader := _READERS.search(sql.casefold()):
        raise InputError(Problem(_WHERE, f"found {reader[0]}, which reads files", _ALLOWED))


def _depth(sql: str) -> int:
    """How deep brackets lie in each other, or more: where some may be hidden, as if none was closed."""
    is_hidden = bool(_HIDING.search(sql))
    text = sql if is_hidden else _QUOTED.sub("", sql)
    steps = ((character in "([{") - (character in ")]}" and not is_hidden) for character in text)
    return max(accumulate(steps, lambda depth, step: max(depth + step, 0), initial=0))


# --- what is told of mistakes ------------------------------------------------------------------------------------

_RELATION = re.compile(r"relation '(.*)' was not found")
_COLUMN = re.compile(r"(?:unable to find column \"(.*?)\"|no (?:table or struct )?column named '(.*?)')")
_FUNCTION = re.compile(r"(?:unsupported function '(.*?)'|'(.*?)' is not a supported table function)")
_PLACE = re.compile(r" at Line: (\d+), Column: (\d+)")
_NEAREST = 5


@dataclass(frozen=True)
class _Question:
    """A question, the tables that there are, and the columns of those that it names."""

    sql: str
    tables: Sequence[str]
    schemas: Mapping[str, pl.Schema]

    @contextmanager
    def told(self) -> Iterator[None]:
        """What Polars finds wrong with the question, as an InputError in one line."""
        try:
            yield
        except JoulewiseError:
            raise
        except (PolarsError, PanicException, ValueError, OverflowError, MemoryError) as error:
            words = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(self._problem(words.removeprefix("sql parser error: "))) from None

    def _problem(self, words: str) -> Problem:
        """What is wrong, with the nearest names where one is not known, or the place."""
        if relation := _RELATION.search(words):
            return unknown_name(f"{_WHERE}: table", relation[1], self.tables)
        if column := _COLUMN.search(words):
            return self._unknown_column(column[1] or column[2])
        if function := _FUNCTION.search(words):
            return Problem(_WHERE, f"found the function {function[1] or function[2]!r}", "there is none of that name")
        if place := _PLACE.search(words):
            return Problem(f"{_WHERE}, line {place[1]}, character {place[2]}", words[: place.start()])
        return Problem(_WHERE, words, advice=_OWN_ADVICE)

    def _unknown_column(self, name: str) -> Problem:
        """The problem of a name that is no column of the tables in question; one with a dot must stand in quotes."""
        columns = list(dict.fromkeys(column for schema in self.schemas.values() for column in schema))
        dotted = [column for column in columns if column.startswith(f"{name}.") and column in self.sql]
        close = dotted or _close(name, columns)
        advice = f"did you mean {' or '.join(map(_quoted, close))}?" if close else _OWN_ADVICE
        there = f"no such column in {', '.join(self.schemas)}" if self.schemas else "no table of the folder is named"
        allowed = "names with a dot stand in double quotes" if dotted else there
        return Problem(f"{_WHERE}: column", f"found {name!r}", allowed, advice)


def _close(name: str, columns: Sequence[str]) -> list[str]:
    """Columns that a typo may have meant."""
    by_fold = {column.casefold(): column for column in columns}
    return [by_fold[close] for close in get_close_matches(name.casefold(), by_fold, _NEAREST)]


def _quoted(column: str) -> str:
    """A column as SQL writes it."""
    return column if re.fullmatch(r"\w+", column) else '"' + column.replace('"', '""') + '"'

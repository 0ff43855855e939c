"""Tables from CSV and Parquet files, in which every problem is located by line and column."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import CONTROL, InputError, Problem, raise_if_any, unknown_name, with_article
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.parquet import ParquetError, reading_parquet

MAX_LISTED = 5
"""How many problems of one kind are listed before the rest is counted."""
MAX_BYTES = 2**31
MAX_UNPACKED_BYTES = 2**28
MAX_ROWS = 20_000_000
MOST_WHOLE = 100_000_000

_MAX_CHOICES = 8
_PACKED = ".gz"


class InputColumn(NamedTuple):
    """One column of a table as the reference and the errors describe it."""

    name: str
    unit: str
    meaning: str
    required: bool = False


class Numbers(NamedTuple):
    """A column as numbers: NaN where a cell is empty or no number."""

    values: Floats
    is_empty: Bools
    is_unreadable: Bools

    @property
    def is_given(self) -> Bools:
        return np.asarray(~(self.is_empty | self.is_unreadable))


@dataclass(frozen=True, eq=False)
class InputTable:
    """A table without its blank rows, and the problems found in it so far.

    `numbers_of_rows` are the places of the rows in the file, counted in `row_word`s.
    """

    name: str
    frame: pl.DataFrame
    row_word: str
    numbers_of_rows: Counts
    problems: list[Problem] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return self.frame.columns

    def where(self, row: int | None = None, column: str | None = None) -> str:
        """The place of a cell, a row, a column or the table, as a user finds it."""
        place = [] if row is None else [f"{self.row_word} {self.numbers_of_rows[row]}"]
        place += [] if column is None else [column]
        return f"{self.name}: {', '.join(place)}" if place else self.name

    def add(
        self,
        found: str,
        allowed: str = "",
        advice: str = "",
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        """Note one problem."""
        self.problems.append(Problem(self.where(row, column), found, allowed, advice))

    def report(self, cells: Sequence[tuple[int, str]], allowed: str, advice: str = "") -> None:
        """Note that these cells are wrong: the first few with what they hold, the others by their number."""
        for row, column in cells[:MAX_LISTED]:
            value = self.frame[column][row]
            self.add("found nothing" if value is None else f"found {value!r}", allowed, advice, row, column)
        if len(cells) > MAX_LISTED:
            self.add(f"{len(cells) - MAX_LISTED} more cells of this kind", allowed, advice)

    def report_rows(self, column: str, wrong: Bools, allowed: str, advice: str = "") -> None:
        """Note that a column is wrong in these rows; of one that is missing, `check_columns` has told."""
        if column in self.columns:
            self.report([(int(row), column) for row in np.flatnonzero(wrong)], allowed, advice)

    def check_columns(self, columns: Sequence[InputColumn]) -> None:
        """Note the columns that are not known and those that are missing."""
        names = [column.name for column in columns]
        for name in self.columns:
            if name not in names:
                self.problems.append(unknown_name(self.where(column="header"), name, names))
        for column in columns:
            if column.required and column.name not in self.columns:
                self.add(f"has no column {column.name!r}", f"it holds the {column.meaning}", column="header")

    def numbers(self, column: str) -> Numbers:
        """A column as numbers; what is not a number is marked, not reported."""
        series = self.frame[column]
        is_empty = series.is_null().to_numpy()
        if not (series.dtype.is_numeric() or series.dtype == pl.String):
            return Numbers(np.full(len(series), np.nan), is_empty, ~is_empty)
        parsed = series.cast(pl.Float64, strict=False)
        is_unreadable = parsed.is_null().to_numpy() & ~is_empty
        return Numbers(parsed.fill_null(float("nan")).to_numpy(), is_empty, is_unreadable)

    def quantity(self, column: InputColumn, default: float | None = None, *, positive: bool = False) -> Floats:
        """A column of finite numbers of 0 or more (or above 0); NaN, and a report, for every other cell.

        An absent column and an empty cell give the default; without a default an empty cell is reported.
        """
        missing = np.nan if default is None else default
        if column.name not in self.columns:
            return np.full(self.frame.height, missing)
        numbers = self.numbers(column.name)
        fine = np.isfinite(numbers.values) & (numbers.values > 0 if positive else numbers.values >= 0)
        allowed = f"must be a finite number {'above 0' if positive else 'of 0 or more'}"
        unit = f", in {column.unit} and without a unit" if column.unit else ""
        self.report_rows(column.name, ~(fine | (numbers.is_empty & (default is not None))), allowed + unit)
        return np.where(fine, numbers.values, np.where(numbers.is_empty, missing, np.nan))

    def whole(self, column: InputColumn, least: int, default: float | None = None) -> Counts:
        """A column of whole numbers from `least` to the most that there may be; every other cell is noted, and -1."""
        values = self.quantity(column, default)
        fine = (values == np.floor(values)) & (values >= least) & (values <= MOST_WHOLE)
        if column.name in self.columns:
            allowed = f"must be a whole number from {least} to {MOST_WHOLE:,}"
            self.report_rows(column.name, np.isfinite(values) & ~fine, allowed)
        return np.where(fine, values, -1).astype(np.int64)

    def texts(self, column: str) -> pl.Series:
        """A column as text, null where it is empty."""
        series = self.frame[column]
        return series if series.dtype == pl.String else series.cast(pl.String, strict=False)

    def codes(self, column: str, choices: Sequence[str], what: str, default: int | None = None) -> Ints:
        """The positions of a column's names among the choices; -1, and a report, for any other.

        An empty cell gives the default; without one it is reported.
        """
        texts = self.texts(column)
        is_empty = texts.is_null().to_numpy()
        if default is None:
            self.report_rows(column, is_empty, f"the {what} must be given")
        positions = {name: position for position, name in enumerate(choices)}
        codes = texts.replace_strict(positions, default=-1, return_dtype=pl.Int32).fill_null(-1).to_numpy()
        self._report_unknown(column, texts.filter(pl.Series(codes == -1)), choices, what)
        return np.where(is_empty, -1 if default is None else default, codes)

    def _report_unknown(self, column: str, names: pl.Series, choices: Sequence[str], what: str) -> None:
        """Note every distinct unknown name where it first stands."""
        unknown = names.drop_nulls().unique(maintain_order=True).to_list()
        texts = self.texts(column)
        for name in unknown[:MAX_LISTED]:
            row = int((texts == name).arg_max() or 0)
            self.problems.append(unknown_choice(self.where(row, column), name, choices, what))
        if len(unknown) > MAX_LISTED:
            self.add(f"{len(unknown) - MAX_LISTED} more unknown names ({what})", column=column)


def unknown_choice(where: str, name: str, choices: Sequence[str], what: str) -> Problem:
    """The problem of an unknown name; a long list of choices is counted, not printed."""
    problem = unknown_name(where, name, choices)
    if len(choices) > _MAX_CHOICES:
        allowed = f"must be {with_article(what)}: one of {len(choices)} names, such as {choices[0]!r}"
        problem = dataclasses.replace(problem, allowed=allowed)
    return problem


def read_table(name: str, folder: Path) -> InputTable:
    """The table in the file `name` of the folder; InputError when there is none that can be read."""
    path = folder / name
    ending = "".join(path.suffixes[-2:] if path.suffix.lower() == _PACKED else path.suffixes[-1:])
    read = _READERS.get(ending.lower())
    if read is None:
        raise _unreadable(name, f"found the ending {ending!r}", "must be one of " + ", ".join(_READERS))
    if not path.is_file():
        raise _unreadable(name, "there is no such file", advice=f"looked in {folder.resolve()}")
    try:
        n_bytes = path.stat().st_size
        if n_bytes > MAX_BYTES:
            raise _unreadable(name, f"found {n_bytes:,} bytes", f"a table may have up to {MAX_BYTES:,}")
        table = read(name, path)
    except OSError as error:
        raise _unreadable(name, f"cannot be read: {error.strerror or error}") from error
    return _without_control_characters(_without_blanks(table))


def _unreadable(name: str, found: str, allowed: str = "", advice: str = "") -> InputError:
    return InputError(Problem(name, found, allowed, advice))


def _without_blanks(table: InputTable) -> InputTable:
    """The table with text trimmed, empty text as null, and rows without any value left out."""
    text = pl.col(pl.String).str.strip_chars()
    frame = table.frame.with_columns(text).with_columns(
        pl.when(pl.col(pl.String) != "").then(pl.col(pl.String)).name.keep()
    )
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
    if not filled.any():
        raise _unreadable(table.name, "has no rows", advice="a table needs a header and at least one row")
    return dataclasses.replace(
        table, frame=frame.filter(pl.Series(filled)), numbers_of_rows=table.numbers_of_rows[filled]
    )


def _without_control_characters(table: InputTable) -> InputTable:
    """The table as it is; InputError where a name or a text in it has control characters."""
    allowed = "must be text that can be printed"
    for column in table.columns:
        if CONTROL.search(column):
            table.add(f"found control characters in the column {column!r}", allowed, column="header")
    for column in columns_with_control(table.frame):
        table.report_rows(column, has_control(table.frame[column]).to_numpy(), allowed)
    raise_if_any(table.problems)
    return table


def columns_with_control(frame: pl.DataFrame) -> list[str]:
    """The columns of text with a control character somewhere, other than tabs and line ends."""
    texts = frame.select(pl.col(pl.String).str.contains(_CONTROL).any())
    return [column for column in texts.columns if texts[column][0]]


def has_control(texts: pl.Series) -> pl.Series:
    """Whether each text has a control character, other than tabs and line ends."""
    return texts.str.contains(_CONTROL).fill_null(False)


_CONTROL = CONTROL.pattern.replace("\x00-\x1f", r"\x00-\x08\x0b\x0c\x0e-\x1f").replace("\ud800-\udfff", "")
"""Without tabs and line ends, which a cell may have, and what no text of a table can have."""


def _unpacked(name: str, path: Path) -> bytes:
    """The bytes of a file, unpacked where it is gzip; InputError where that fails, or would fill the memory."""
    if path.suffix.lower() != _PACKED:
        return path.read_bytes()
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_UNPACKED_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        advice = "the file may be truncated: get it again; a name that ends in .gz is for packed files alone"
        raise _unreadable(name, "cannot be unpacked", "must be a file packed by gzip", advice) from error
    if len(data) > MAX_UNPACKED_BYTES:
        allowed = "a packed table may have up to that many"
        raise _unreadable(name, f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes", allowed, "give it unpacked")
    return data


def _read_csv(name: str, path: Path) -> InputTable:
    data = _unpacked(name, path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"byte {error.start} is not UTF-8 text", advice="save it as UTF-8") from error
    if not text.strip():
        raise _unreadable(name, "is empty", advice="a table needs a header and at least one row")
    header, lines = _structure(name, text)
    try:
        frame = pl.read_csv(io.BytesIO(text.encode()), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise _unreadable(name, f"cannot be read as CSV: {_first_line(error)}") from error
    if frame.shape != (len(lines), len(header)):
        raise _unreadable(name, "cannot be read as CSV", "needs commas between cells and a line for each row")
    frame.columns = header
    return InputTable(name, frame, "line", np.array(lines))


def _structure(name: str, text: str) -> tuple[list[str], list[int]]:
    """The header and the line of every row, blank ones included; InputError names rows of another width.

    Polars fills short rows up in silence, which in a table of times would read as "cannot run".
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(reader)]
        rows = [(reader.line_num, len(row)) for row in reader]
    except csv.Error as error:
        raise _unreadable(name, f"line {reader.line_num} cannot be read as CSV: {error}") from error
    problems = [
        *_header_problems(name, header),
        *_width_problems(name, [row for row in rows if row[1] not in (0, len(header))], len(header)),
    ]
    if problems:
        raise InputError(*problems)
    return header, [line for line, _ in rows]


def _header_problems(name: str, header: list[str]) -> Iterator[Problem]:
    where = f"{name}: header"
    if not header:
        yield Problem(where, "the first line is blank", "it must hold the names of the columns")
    if len(header) == 1:
        advice = "separate the columns by commas" if set(header[0]) & set(";\t|") else ""
        yield Problem(where, f"found one column, {header[0]!r}", "a table needs two or more", advice)
    for column in sorted({column for column in header if header.count(column) > 1 and column}):
        yield Problem(where, f"found the column {column!r} more than once", "names must be unique")
    if "" in header[1:]:
        yield Problem(where, f"column {header.index('', 1) + 1} has no name", "every column needs one")


def _width_problems(name: str, rows: list[tuple[int, int]], width: int) -> Iterator[Problem]:
    allowed = f"must be {width}, as in the header"
    for line, n_cells in rows[:MAX_LISTED]:
        yield Problem(f"{name}: line {line}", f"found {n_cells} cells", allowed, "the file may be truncated")
    if len(rows) > MAX_LISTED:
        yield Problem(name, f"{len(rows) - MAX_LISTED} more lines of another width", allowed)


def _read_parquet(name: str, path: Path) -> InputTable:
    try:
        with reading_parquet(path) as table:
            n_rows = table.select(pl.len()).collect().item()
            if n_rows > MAX_ROWS:
                raise _unreadable(name, f"found {n_rows:,} rows", f"a table may have up to {MAX_ROWS:,}")
            frame = table.collect()
    except ParquetError as error:
        raise _unreadable(name, f"cannot be read as Parquet: {error.why}", advice="the file may be truncated") from None
    raise_if_any(_type_problems(name, frame))
    texts = [column for column, dtype in frame.schema.items() if dtype in (pl.Categorical, pl.Enum)]
    frame = frame.with_columns(pl.col(texts).cast(pl.String))
    return InputTable(name, frame, "row", np.arange(1, frame.height + 1))


def _type_problems(name: str, frame: pl.DataFrame) -> Iterator[Problem]:
    """Columns that hold something else than numbers, text, yes or no, and instants."""
    for column, dtype in frame.schema.items():
        if not (dtype.is_numeric() or isinstance(dtype, _TYPES)):
            found = f"found cells of the type {dtype}"
            yield Problem(f"{name}: {column}", found, "must be numbers, text, true or false, or instants")
        if isinstance(dtype, _INSTANTS) and not _in_calendar(frame[column].drop_nulls()):
            yield Problem(f"{name}: {column}", "found an instant beyond the calendar", "must be in the years 2 to 9998")


def _in_calendar(instants: pl.Series) -> bool:
    """Whether Python has dates for all of these, in any zone."""
    return instants.dt.year().is_between(2, 9998).fill_null(False).all()


_INSTANTS = (pl.Date, pl.Datetime)
_TYPES = (*_INSTANTS, pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


_READERS: dict[str, Callable[[str, Path], InputTable]] = {
    ".csv": _read_csv, ".parquet": _read_parquet, f".csv{_PACKED}": _read_csv,
}  # fmt: skip

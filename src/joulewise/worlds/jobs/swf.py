"""Logs in the Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, comments behind ";"."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.worlds.jobs.logs import LARGEST, Log, LogAbout, frame_of, text_of

FIELDS = (
    "job_id", "submit_s", "wait_s", "run_s", "cores", "cpu_s", "memory_kb", "requested_cores", "requested_s",
    "requested_memory_kb", "status", "user", "group", "application", "queue", "partition", "after_job", "think_s",
)  # fmt: skip
"""What stands in each of the fields of a line, from the left."""

STATUSES = {0: "failed", 1: "completed", 2: "part", 3: "last part", 4: "last part failed", 5: "cancelled"}
_PARTS = (2, 3, 4)

_N = len(FIELDS)
_WHOLE = ("submit_s", "wait_s", "run_s", "requested_s", "think_s")
_UP = ("run_s", "requested_s", "think_s")
_COUNTS = ("cores", "requested_cores")
_NUMBERS = ("cpu_s", "memory_kb", "requested_memory_kb")
_NAMES = ("user", "group", "application", "queue", "partition")
_HEADER = re.compile(r";\s*([A-Za-z]+)\s*:\s*(.*)")
_NAMED = re.compile(r"(\d{1,15})\b\s*(.*)")
_MOST_COMMENTS = 1000
_MOST_COLUMNS = 100
_MOST_DIGITS = 15
_NUMERIC = np.zeros(256, np.bool_)
_NUMERIC[list(b"0123456789.-+eE \t\r\n\f\v")] = True


def is_swf(start: str) -> bool:
    """Whether a text starts as one of this format does: with a comment, or with a line of 18 numbers."""
    line = next((line for line in start.splitlines() if line.strip()), "")
    return line.lstrip().startswith(";") or re.fullmatch(r"[-+.\d\seE]+", " ".join(line.split()[:_N])) is not None


def read_swf(texts: Iterable[bytes]) -> Log:
    """The log in pieces of text, each of whole lines; what cannot be read is left out and counted."""
    reader = _SwfReader(Log(LogAbout("SWF")))
    reader.log.pieces = reader.frames(texts)
    return reader.log


@dataclass
class _SwfReader:
    """What is carried from piece to piece: the header so far, names of queues and partitions, the last job."""

    log: Log
    names: dict[str, dict[int, str]] = field(default_factory=lambda: {"queue": {}, "partition": {}})
    last_job: float = -1.0

    def frames(self, texts: Iterable[bytes]) -> Iterator[pl.DataFrame]:
        for text in texts:
            values = self._without_parts(self._numbers(text))
            if len(values):
                yield self._frame(values)

    def _numbers(self, text: bytes) -> Floats:
        """The lines of a piece as rows of 18 numbers; comments go to the header."""
        lines = _SwfLines.of(text if text.endswith(b"\n") else text + b"\n")
        first_line, self.log.n_lines = self.log.n_lines + 1, self.log.n_lines + lines.end.size
        for row in np.flatnonzero(lines.is_comment):
            self._comment(lines.text(row))
        is_job = (lines.n_fields > 0) & ~lines.is_comment
        wrong = {
            "short line": is_job & lines.is_numeric & (lines.n_fields < _N),
            "no numbers": is_job & ~lines.is_numeric & (lines.n_fields <= _N),
            "long line": is_job & (lines.n_fields > _N),
        }
        for key, rows in wrong.items():
            self.log.note(key, int(rows.sum()), first_line + int(rows.argmax()))
        self._beyond(int(lines.n_fields[is_job].max(initial=0)))
        good = is_job & (lines.n_fields >= _N) & (lines.is_numeric | (lines.n_fields > _N))
        return self._parsed(lines, good, first_line)

    def _beyond(self, n_fields: int) -> None:
        """Note the columns behind the 18th, which no standard explains."""
        unread = tuple(f"column {number}" for number in range(_N + 1, min(n_fields, _MOST_COLUMNS) + 1))
        if len(unread) > len(self.log.about.unread):
            self.log.about = replace(self.log.about, unread=unread)

    def _parsed(self, lines: _SwfLines, good: Bools, first_line: int) -> Floats:
        """The good lines as numbers, without those that have something else, or too large a number, after all."""
        rows = np.flatnonzero(good)
        if rows.size == good.size and (lines.n_fields == _N).all():
            text = lines.data
        else:
            text = b"\n".join(b" ".join(lines.text(row).split()[:_N]) for row in rows)
        values = _at_once(text, rows.size)
        if values is None:
            values = _one_by_one(lines.text(row) for row in rows)
        is_wrong = ~(np.abs(values) <= LARGEST).all(axis=1)
        if is_wrong.any():
            self.log.note("no numbers", int(is_wrong.sum()), first_line + int(rows[is_wrong.argmax()]))
        return np.asarray(values[~is_wrong])

    def _without_parts(self, values: Floats) -> Floats:
        """The rows without those that describe a part of the job in the row before (checkpoints, swapping)."""
        if not len(values):
            return values
        jobs = values[:, 0]
        follows = jobs == np.concatenate(([self.last_job], jobs[:-1]))
        is_part = follows & np.isin(values[:, FIELDS.index("status")], _PARTS)
        self.last_job = float(jobs[-1])
        self.log.note("part of a job", int(is_part.sum()))
        return np.asarray(values[~is_part])

    def _frame(self, values: Floats) -> pl.DataFrame:
        column = dict(zip(FIELDS, values.T, strict=True))
        broken = np.zeros(len(values), np.bool_)
        for name in _WHOLE:
            broken |= column[name] != np.floor(column[name])
            column[name] = np.ceil(column[name]) if name in _UP else np.floor(column[name])
        self.log.note("fraction of a second", int(broken.sum()))
        columns: dict[str, Any] = {name: _known(column[name], column[name] >= 0, pl.Int64) for name in _WHOLE}
        columns |= {name: _known(column[name], column[name] > 0, pl.Int64) for name in _COUNTS}
        columns |= {name: _known(column[name], column[name] >= 0, pl.Float64) for name in _NUMBERS}
        columns |= {name: self._named(name, column[name]) for name in _NAMES}
        columns["job_id"] = pl.Series(column["job_id"]).cast(pl.Int64).cast(pl.String)
        columns["after_job"] = _known(column["after_job"], column["after_job"] > 0, pl.Int64).cast(pl.String)
        columns["status"] = (
            pl.Series(column["status"]).cast(pl.Int64).replace_strict(STATUSES, default=None, return_dtype=pl.String)
        )
        return frame_of(columns, len(values))

    def _named(self, name: str, codes: Floats) -> pl.Series:
        """A column of numbers as text, by the names that the header has for them."""
        numbers = _known(codes, codes >= 0, pl.Int64)
        names = self.names.get(name)
        if not names:
            return numbers.cast(pl.String)
        return numbers.replace_strict(names, default=numbers.cast(pl.String), return_dtype=pl.String)

    def _comment(self, line: bytes) -> None:
        """Take what a comment says about the log."""
        text, is_utf8 = text_of(line.strip())
        self.log.note("comment in another code", int(not is_utf8))
        about = self.log.about
        if len(about.comments) < _MOST_COMMENTS:
            self.log.about = about = replace(about, comments=(*about.comments, text))
        match = _HEADER.match(text)
        if match is None:
            return
        key, value = match[1].casefold(), match[2].strip()
        if key in self.names:
            self.log.note("name without a number", int(not self._has_named(self.names[key], value)))
        elif key in _ABOUT and value:
            name, convert = _ABOUT[key]
            converted = convert(value)
            if converted and not getattr(about, name):
                self.log.about = replace(about, **{name: converted})

    @staticmethod
    def _has_named(names: dict[int, str], value: str) -> bool:
        """Note the name of a queue or partition, if it has a number; one that several have, or none, gets that."""
        match = _NAMED.match(value)
        if match is not None:
            number, name = int(match[1]), match[2].strip()
            is_taken = name in (other for code, other in names.items() if code != number)
            names[number] = f"{name} ({number})" if name and is_taken else name or match[1]
        return match is not None


@dataclass(frozen=True)
class _SwfLines:
    """The lines of a piece of text, one row each: where they start and end, their fields, and what they are."""

    data: bytes
    start: Counts
    end: Counts
    n_fields: Counts
    is_comment: Bools
    is_numeric: Bools

    @staticmethod
    def of(data: bytes) -> _SwfLines:
        text = np.frombuffer(data, np.uint8)
        end = np.flatnonzero(text == ord("\n"))
        is_field = text > ord(" ")
        is_field[1:] &= text[:-1] <= ord(" ")
        fields = np.flatnonzero(is_field)
        before = np.concatenate(([0], np.searchsorted(fields, end)))
        n_fields = np.diff(before)
        starts_with = text[fields[np.minimum(before[:-1], fields.size - 1)]] if fields.size else np.zeros(end.size)
        is_numeric = np.ones(end.size, np.bool_)
        is_numeric[np.searchsorted(end, np.flatnonzero(~_NUMERIC[text]))] = False
        start = np.concatenate(([0], end[:-1] + 1))
        return _SwfLines(data, start, end, n_fields, (n_fields > 0) & (starts_with == ord(";")), is_numeric)

    def text(self, row: int | np.intp) -> bytes:
        return self.data[self.start[row] : self.end[row]]


def _at_once(text: bytes, n: int) -> Floats | None:
    """n rows of 18 numbers, or None where something in the text is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy stops at what is no number, and warns
        try:
            values = np.fromstring(text, sep=" ") if n else np.empty(0)
        except (DeprecationWarning, ValueError):
            return None
    return values.reshape(n, _N) if values.size == n * _N else None


def _one_by_one(lines: Iterable[bytes]) -> Floats:
    """Rows of 18 numbers, infinite where one is none."""
    rows = [[_number(word) for word in line.split()[:_N]] for line in lines]
    return np.array(rows, np.float64).reshape(-1, _N)


def _number(word: bytes) -> float:
    try:
        return float(word)
    except ValueError:
        return np.inf


def _known(values: Floats, is_known: Bools, dtype: type[pl.DataType]) -> pl.Series:
    """The values, empty where they are not known."""
    return pl.Series(np.where(is_known, values, np.nan)).fill_nan(None).cast(dtype)


def _first_number(text: str) -> int | None:
    """The first number in a text; none if it is below 0, which says that it is not known, or beyond all reason."""
    match = re.search(r"(?:(?<!\S)-)?\d[\d,]*", text)
    digits = match[0].replace(",", "") if match else "-"
    return None if digits.startswith("-") or len(digits) > _MOST_DIGITS else int(digits)


_ABOUT: dict[str, tuple[str, Any]] = {
    "installation": ("name", str),
    "acknowledge": ("acknowledge", str),
    "maxnodes": ("nodes", _first_number),
    "maxprocs": ("cores", _first_number),
    "maxrecords": ("records", _first_number),
    "unixstarttime": ("start_unix_s", _first_number),
    "timezonestring": ("zone", str),
}
"""Where a line of the header goes, and how its text becomes a value."""

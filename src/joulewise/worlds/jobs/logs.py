"""What logs of parallel jobs have in common, whatever wrote them: columns, what is odd in them, and their text."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

import polars as pl

from joulewise.errors import InputError, Problem

PIECE_BYTES = 2**21
"""How much text is read at once."""
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
LARGEST = 1e12
"""No number of a log is larger: beyond it seconds lose the precision that ties rely on."""


class LogColumn(NamedTuple):
    """A column of a table of jobs: its type, unit and meaning. A cell is empty where the log does not tell."""

    name: str
    dtype: type[pl.DataType]
    unit: str
    meaning: str


LOG_COLUMNS = (
    LogColumn("job_id", pl.String, "", "number or name of the job in the log"),
    LogColumn("submit_s", pl.Int64, "s", "instant of submission, from the log's own zero on; rows are in this order"),
    LogColumn(
        "eligible_s", pl.Int64, "s", "how long after its submission it could first start: a begin time, a dependency"
    ),
    LogColumn("wait_s", pl.Int64, "s", "how long the job waited, as logged"),
    LogColumn("run_s", pl.Int64, "s", "how long it ran, as logged; 0 where it never did"),
    LogColumn("requested_s", pl.Int64, "s", "how long it might have run: the requested time"),
    LogColumn("cores", pl.Int64, "", "processors that it was given"),
    LogColumn("requested_cores", pl.Int64, "", "processors that it asked for"),
    LogColumn("nodes", pl.Int64, "", "nodes that it was given"),
    LogColumn("requested_nodes", pl.Int64, "", "nodes that it asked for"),
    LogColumn("cpu_s", pl.Float64, "s", "mean processor time used, of each processor"),
    LogColumn("memory_kb", pl.Float64, "kB", "memory used, of each processor"),
    LogColumn("requested_memory_kb", pl.Float64, "kB", "memory asked for, of each processor"),
    LogColumn("gpus", pl.Float64, "", "GPUs that it was given, of all kinds; a fraction of one that it shares"),
    LogColumn("gpu_kind", pl.String, "", "kind of these GPUs; of several kinds how many of each: a100=2,v100=1"),
    LogColumn(
        "requested_gpus", pl.Float64, "", "GPUs that it asked for, of all kinds; a fraction of one that it shares"
    ),
    LogColumn("requested_gpu_kind", pl.String, "", "kind that it asked for, in the same way; a|b is one or the other"),
    LogColumn("licences", pl.String, "", "licences that it asked for, and how many of each: matlab=1,ansys=2"),
    LogColumn("features", pl.String, "", "features that its nodes had to have, as it asked for them: zen3&ib"),
    LogColumn("energy_j", pl.Float64, "J", "energy that it used, as measured"),
    LogColumn("status", pl.String, "", "how it ended: completed, failed, cancelled, ..."),
    LogColumn("user", pl.String, "", "who submitted it"),
    LogColumn("group", pl.String, "", "group or account of the user"),
    LogColumn("queue", pl.String, "", "queue, or quality of service"),
    LogColumn("partition", pl.String, "", "partition of the machine"),
    LogColumn("cluster", pl.String, "", "cluster where it ran"),
    LogColumn("application", pl.String, "", "program that it ran"),
    LogColumn("reservation", pl.String, "", "reservation in which it ran"),
    LogColumn("after_job", pl.String, "", "job_id of the job that it had to wait for"),
    LogColumn("think_s", pl.Int64, "s", "time between the end of that job and the submission of this one"),
    LogColumn(
        "dependency", pl.String, "", "what it waits for, as Slurm writes it: afterok:17:18, afterany:5?after:6+10, ..."
    ),
    LogColumn(
        "begin_s", pl.Int64, "s", "how long after its submission its begin time is, before which it cannot start"
    ),
    LogColumn("array_limit", pl.Int64, "", "how many tasks of its array may run together; 17_3 is task 3 of array 17"),
)
"""The columns of our Parquet files of jobs, which is also how every log is read."""

SCHEMA: dict[str, type[pl.DataType]] = {column.name: column.dtype for column in LOG_COLUMNS}


Part = Literal["changed", "guessed", "lost"]
"""What becomes of something odd: it is put right, taken for what it most likely is, or not there any more."""


class Oddity(NamedTuple):
    """Something that is not as it should be in a log: what it is, what happens to what is so, and its part."""

    reason: str
    done: str
    part: Part


READING: dict[str, Oddity] = {
    "short line": Oddity("lines with fewer than 18 numbers", "left out", "lost"),
    "long line": Oddity("lines with more than 18 numbers", "read as far as the 18th", "lost"),
    "no numbers": Oddity("lines with something else than numbers, or too large ones", "left out", "lost"),
    "part of a job": Oddity("lines about a part of the job in the line before", "left out", "lost"),
    "name without a number": Oddity(
        "lines of the header that name a queue or a partition without its number", "left out", "lost"
    ),
    "fraction of a second": Oddity(
        "jobs with times in fractions of a second", "lengths rounded up, instants down", "changed"
    ),
    "fraction of a processor": Oddity("jobs that ask for a fraction of a processor", "rounded up", "changed"),
    "added processors": Oddity("processors, of all these jobs together", "added by rounding up", "changed"),
    "comment in another code": Oddity("comments that are not UTF-8", "read as Latin-1", "guessed"),
    "wrong number of cells": Oddity("lines with more or fewer cells than the first line has names", "left out", "lost"),
    "bar in a name": Oddity(
        'lines with a "|" in what people write, such as a name', "put together: only one way fits", "changed"
    ),
    "unreadable cell": Oddity("cells in a form that is not known", "taken as empty", "lost"),
    "text in another code": Oddity("lines that are not UTF-8", "read as Latin-1", "guessed"),
    "job in another code": Oddity("jobs with text that is not UTF-8", "read as Latin-1", "guessed"),
    "no record of a job": Oddity("records that are no jobs", "left out", "lost"),
    "job step": Oddity("lines about a step of a job", "left out: the job has a line of its own", "lost"),
    "waiting array": Oddity("arrays of jobs that have not started", "left out", "lost"),
    "part of a mixed job": Oddity(
        "parts of heterogeneous jobs", "kept as jobs of their own, which start together on sites alone", "changed"
    ),
    "begin in another zone": Oddity(
        "jobs of which either the begin time or the submission tells a zone", "the other is read as UTC", "guessed"
    ),
    "odd begin time": Oddity(
        "jobs submitted with a begin time that is neither an instant nor like now+2hours", "not read", "lost"
    ),
    "not ended": Oddity(
        "jobs that had not ended, or were put back into the queue", "left out: how long they run is not known", "lost"
    ),
    "ends with the log": Oddity(
        "jobs that were running when the log ends", "kept as if they had ended then", "guessed"
    ),
    "no submission": Oddity("jobs without an instant of submission", "left out", "lost"),
    "no zone": Oddity("jobs with times that have no zone, in a log in which others have one", "read as UTC", "guessed"),
    "other resource": Oddity(
        "jobs with resources that are neither processors, memory, GPUs nor licences", "these are not read", "lost"
    ),
    "memory as given": Oddity("jobs that do not tell the memory they asked for", "taken at what they got", "guessed"),
    "out of order": Oddity("jobs submitted before one in an earlier line", "put in order", "changed"),
    "repeated line": Oddity("lines that tell the same as an earlier one", "left out", "changed"),
    "number used again": Oddity("jobs with the number of an earlier one", "kept as jobs of their own", "guessed"),
}
"""What can be odd when a log is read, whatever the conventions."""


@dataclass(frozen=True)
class LogAbout:
    """What a log says of itself and of its machine; None and "" where it does not tell.

    `start_unix_s` is the zero of its instants by the `clock` (UTC, or the local time of a machine in no known zone).
    `unread` are the names of its columns that are not read.
    """

    form: str
    name: str = ""
    nodes: int | None = None
    cores: int | None = None
    records: int | None = None
    start_unix_s: int | None = None
    zone: str = ""
    clock: str = "UTC"
    acknowledge: str = ""
    comments: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass
class Log:
    """A log while it is read: `pieces` are its jobs as the log has them, `about` and `odd` fill up on the way.

    `odd` counts lines or jobs by the key of an oddity. `at` are the first lines that are odd, by the same key.
    """

    about: LogAbout
    pieces: Iterator[pl.DataFrame] = field(default_factory=lambda: iter(()))
    odd: Counter[str] = field(default_factory=Counter)
    at: dict[str, int] = field(default_factory=dict)
    n_lines: int = 0

    def note(self, key: str, n: int, line: int | None = None) -> None:
        """Count this many lines or jobs that are odd; `line` is where the first of them stands."""
        if n:
            self.odd[key] += n
            if line is not None:
                self.at.setdefault(key, line)


def frame_of(columns: dict[str, Any], height: int) -> pl.DataFrame:
    """A table of jobs with all columns of the schema; those that are not given are empty."""
    given = pl.DataFrame(columns, schema={name: SCHEMA[name] for name in columns}, strict=False)
    empty = {name: pl.Series(name, [], dtype).extend_constant(None, height) for name, dtype in SCHEMA.items()}
    return pl.DataFrame({name: given[name] if name in columns else cells for name, cells in empty.items()})


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where it is gzip; InputError where they cannot be read to their end."""
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
    except EOFError as error:
        advice = "get it again, or unpack what is there (gzip -dc) and import that"
        raise InputError(
            Problem(path.name, "the packed file ends too early: it is truncated", advice=advice)
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(Problem(path.name, "cannot be unpacked: it is damaged", advice="get it again")) from error
    except IsADirectoryError:
        raise InputError(Problem(str(path), "found a folder", "must be a log, in a file")) from None
    except FileNotFoundError:
        raise InputError(Problem(path.name, "there is no such file", advice=f"looked in {path.parent}")) from None
    except OSError as error:
        raise InputError(Problem(path.name, f"cannot be read: {error.strerror or error}")) from error


def pieces_of(start: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file piece by piece, of which `start` has been read."""
    return chain([start], iter(lambda: file.read(PIECE_BYTES), b""))


def pieces_of_text(path: Path, start: bytes, file: IO[bytes]) -> Iterator[bytes]:
    """A text piece by piece, each of whole lines, of which `start` has been read; InputError for what is no text.

    Only the last piece may have no line end behind it.
    """
    rest, n_lines = b"", 1
    for data in pieces_of(start, file):
        if odd := _NO_TEXT.search(data):
            n_lines += data.count(b"\n", 0, odd.start())
            advice = "a log is plain text in UTF-8, or that packed by gzip"
            raise InputError(
                Problem(f"{path.name}: line {n_lines:,}", "found control characters, which no text has", advice=advice)
            )
        n_lines += data.count(b"\n")
        whole, newline, tail = (rest + data).rpartition(b"\n")
        if not newline and len(tail) > 2 * PIECE_BYTES:
            raise InputError(Problem(path.name, f"found no line end in {len(tail):,} bytes", "must be lines of text"))
        if newline:
            yield whole + b"\n"
        rest = tail
    if rest:
        yield rest


def text_of(line: bytes) -> tuple[str, bool]:
    """A line as text, and whether it is UTF-8; any other is read as Latin-1."""
    try:
        return line.decode("utf-8"), True
    except UnicodeDecodeError:
        return line.decode("latin-1"), False

"""Files of jobs: logs in any format that is known, and the Parquet files that they are imported to."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple, get_type_hints

import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.files import replacing
from joulewise.parquet import ParquetError, reading_parquet
from joulewise.worlds.frames import InputColumn, columns_with_control, has_control
from joulewise.worlds.jobs.logs import (
    LOG_COLUMNS,
    READING,
    SCHEMA,
    Log,
    LogAbout,
    frame_of,
    opened,
    pieces_of,
    pieces_of_text,
    text_of,
)
from joulewise.worlds.jobs.pods import is_pods, read_pods
from joulewise.worlds.jobs.sacct import is_sacct, read_sacct
from joulewise.worlds.jobs.sacct_json import is_sacct_json, read_sacct_json
from joulewise.worlds.jobs.swf import is_swf, read_swf

SCHEMA_VERSION = 3
"""Of the Parquet files; files of another version are refused."""

TRACE_COLUMNS = tuple(InputColumn(column.name, column.unit, column.meaning, True) for column in LOG_COLUMNS)
"""The columns of the Parquet files, as the reference describes them; all are there, though cells may be empty."""

_METADATA = "joulewise_jobs"
_LISTS = ("comments", "unread")
_PARQUET = b"PAR1"
_START_BYTES = 2**16
_ROWS_IN_A_GROUP = 100_000


class Format(NamedTuple):
    """A format of logs: how to tell it from the start of the text, and how to read it."""

    name: str
    recognises: Callable[[str], bool]
    read: Callable[[Path, bytes, IO[bytes]], Log]


FORMATS = (
    Format("SWF", is_swf, lambda path, start, file: read_swf(pieces_of_text(path, start, file))),
    Format("sacct --json", is_sacct_json, lambda path, start, file: read_sacct_json(path, pieces_of(start, file))),
    Format(
        "Alibaba's list of pods", is_pods, lambda path, start, file: read_pods(path, pieces_of_text(path, start, file))
    ),
    Format(
        "sacct --parsable2", is_sacct, lambda path, start, file: read_sacct(path, pieces_of_text(path, start, file))
    ),
)
"""All formats of logs, in the order in which they are tried."""


@dataclass(frozen=True)
class TraceTable:
    """The jobs of a file in order of submission, what it says of its machine, and what was odd in it.

    `odd` counts lines or jobs by the key of an oddity, `at` are the first lines of each.
    """

    about: LogAbout
    jobs: pl.DataFrame
    odd: dict[str, int]
    at: dict[str, int]
    source: str


def read_trace_table(name: str, folder: Path = Path(), columns: Iterable[str] = SCHEMA) -> TraceTable:
    """The jobs of a log, or of a Parquet file that one was imported to; InputError when there are none."""
    path, wanted = folder / name, list(columns)
    if _is_parquet(path):
        return _read_parquet(path, wanted)
    with _log(path) as (log, frames):
        order = _ArrivalOrder()
        jobs = pl.concat([frame_of({}, 0), *order.watched(log, frames)]).lazy()
        ordered, odd = order.put_right(jobs)
        table = ordered.select(wanted).collect()
    return _checked(TraceTable(log.about, table, dict(log.odd + odd), log.at, path.name))


def import_log(path: Path, out: Path) -> TraceTable:
    """Write a log's jobs to a Parquet file, piece by piece; InputError when it has none. The jobs stay in the file."""
    with _log(path) as (log, frames), _written(out), TemporaryDirectory(dir=out.parent) as folder:
        order, parts = _ArrivalOrder(), []
        for number, frame in enumerate(order.watched(log, frames)):
            parts.append(Path(folder) / f"{number}.parquet")
            frame.write_parquet(parts[-1], compression="lz4")
        if not parts:
            raise _no_jobs(path.name, log.odd)
        ordered, odd = order.put_right(pl.scan_parquet(parts, glob=False))
        table = TraceTable(log.about, frame_of({}, 0), dict(log.odd + odd), log.at, path.name)
        with replacing(out) as temporary:
            said = {_METADATA: _as_json(table)}
            ordered.sink_parquet(temporary, metadata=said, engine="streaming", row_group_size=_ROWS_IN_A_GROUP)
    return table


@contextmanager
def _written(out: Path) -> Iterator[None]:
    """InputError where a file cannot be written."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except (pl.exceptions.PolarsError, OSError) as error:
        found = f"cannot be written: {getattr(error, 'strerror', None) or error}"
        raise InputError(Problem(str(out), found, advice="name another file, or make room")) from error


@dataclass
class _ArrivalOrder:
    """Whether jobs came in order of submission, each with a number above that of the one before."""

    last_submit_s: int = 0
    last_id: int = -1
    n_late: int = 0
    ids_rise: bool = True

    def watched(self, log: Log, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The frames, without jobs that were never submitted."""
        for frame in frames:
            kept = frame.filter(pl.col("submit_s").is_not_null())
            log.note("no submission", frame.height - kept.height)
            if kept.height:
                self._see(kept)
                yield kept

    def _see(self, frame: pl.DataFrame) -> None:
        submit_s, ids = frame["submit_s"], frame["job_id"].cast(pl.Int64, strict=False)
        latest_s = submit_s.cum_max().shift(1).fill_null(self.last_submit_s).clip(self.last_submit_s)
        self.n_late += int((submit_s < latest_s).sum())
        self.last_submit_s = max(self.last_submit_s, int(submit_s.max()))  # type: ignore[arg-type]
        before = ids.shift(1)
        before[0] = self.last_id
        self.ids_rise &= bool((ids > before).fill_null(False).all())
        self.last_id = ids[-1] or 0

    def put_right(self, jobs: pl.LazyFrame) -> tuple[pl.LazyFrame, Counter[str]]:
        """The jobs without repeated lines and in order of submission, and how many were not so."""
        odd = Counter({"out of order": self.n_late} if self.n_late else {})
        if not self.ids_rise:
            n_before, n_ids = jobs.select(pl.len(), pl.col("job_id").n_unique()).collect().row(0)
            if n_ids < n_before:
                jobs = jobs.unique(keep="first", maintain_order=True)
                n_after = jobs.select(pl.len()).collect().item()
                odd += Counter({"repeated line": n_before - n_after, "number used again": n_after - n_ids})
        return (jobs.sort("submit_s", maintain_order=True) if self.n_late else jobs), odd


@contextmanager
def _log(path: Path) -> Iterator[tuple[Log, Iterator[pl.DataFrame]]]:
    """The log in a file, in the format that it is in."""
    if _is_parquet(path):
        raise InputError(Problem(path.name, "found a Parquet file", "must be a log", "a study takes it as it is"))
    with opened(path) as file:
        start = file.read(_START_BYTES)
        text, _ = text_of(start.removeprefix(b"\xef\xbb\xbf"))
        form = next((form for form in FORMATS if form.recognises(text)), None)
        if form is None:
            found = f"found a text that starts {text[:40]!r}" if text.strip() else "is empty"
            allowed = f"must be one of {', '.join(form.name for form in FORMATS)}, plain or packed by gzip"
            advice = "`sacct` needs --parsable2 or --json"
            raise InputError(Problem(path.name, found, allowed, advice))
        log = form.read(path, start.removeprefix(b"\xef\xbb\xbf"), file)
        yield log, (_printed(path.name, piece) for piece in log.pieces)


def _printed(name: str, jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs as they are; InputError where a text of theirs has control characters."""
    for column in columns_with_control(jobs):
        found = f"found control characters in {jobs[column].filter(has_control(jobs[column]))[0]!r}"
        raise InputError(Problem(f"{name}: {column}", found, "must be text that can be printed"))
    return jobs


def holds_jobs(path: Path) -> bool:
    """Whether a file is one that a log was imported to."""
    try:
        with reading_parquet(path):
            return _METADATA in pl.read_parquet_metadata(path)
    except ParquetError:
        return False


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except OSError:
        return False  # `opened` tells why


def _read_parquet(path: Path, columns: list[str]) -> TraceTable:
    try:
        with reading_parquet(path) as table:
            about = _said(path.name, pl.read_parquet_metadata(path).get(_METADATA))
            raise_if_any(_schema_problems(path.name, table.collect_schema()))
            jobs = table.select(columns).collect()
    except ParquetError as error:
        found = f"cannot be read as Parquet: {error.why}"
        raise InputError(Problem(path.name, found, advice=f"the file may be truncated; {_AGAIN}")) from None
    return _checked(replace(about, jobs=_printed(path.name, jobs)))


_AGAIN = "import the log again"


def _said(name: str, text: str | None) -> TraceTable:
    """What a file of jobs says of itself, without the jobs; InputError where this version did not write it."""
    if text is None:
        advice = "make one by `joulewise import LOG`"
        raise InputError(Problem(name, "found a Parquet file of something else", "must hold jobs of a log", advice))
    damaged = InputError(Problem(name, "found a file of jobs that does not tell where they are from", advice=_AGAIN))
    try:
        said = json.loads(text)
        version = said["schema_version"]
    except (ValueError, RecursionError, TypeError, KeyError):
        raise damaged from None
    if version != SCHEMA_VERSION:
        found = f"found version {version!r} of our files of jobs"
        raise InputError(Problem(name, found, f"must be {SCHEMA_VERSION}", _AGAIN))
    try:
        about = LogAbout(**{**said["about"], **{name: tuple(said["about"][name]) for name in _LISTS}})
        table = TraceTable(about, frame_of({}, 0), said["odd"], said["at"], said["source"])
        is_sound = _is_sound(table)
    except (TypeError, KeyError, AttributeError):
        raise damaged from None
    if not is_sound:
        raise damaged
    return table


def _is_sound(table: TraceTable) -> bool:
    """Whether what a file says of itself is of the kinds that we write."""
    about = {**vars(table.about), **{name: "".join(getattr(table.about, name)) for name in _LISTS}}
    kinds = {**get_type_hints(LogAbout), **dict.fromkeys(_LISTS, str)}
    counts = [*table.odd.items(), *table.at.items()]
    return (
        all(isinstance(about[name], kind) for name, kind in kinds.items())
        and all(key in READING and isinstance(n, int) for key, n in counts)
        and isinstance(table.source, str)
    )


def _schema_problems(name: str, schema: Mapping[str, pl.DataType]) -> Iterator[Problem]:
    for column, dtype in SCHEMA.items():
        if schema.get(column) != dtype:
            found = f"found {schema.get(column) or 'no such column'}"
            yield Problem(f"{name}: {column}", found, f"must be {dtype.__name__}", _AGAIN)


def _as_json(table: TraceTable) -> str:
    said = {"about": dataclasses.asdict(table.about), "odd": table.odd, "at": table.at, "source": table.source}
    return json.dumps({"schema_version": SCHEMA_VERSION, **said})


def _checked(table: TraceTable) -> TraceTable:
    if table.jobs.is_empty():
        raise _no_jobs(table.source, table.odd)
    return table


def _no_jobs(name: str, odd: Mapping[str, int]) -> InputError:
    why = "; ".join(f"{READING[key].reason}: {n:,}, {READING[key].done}" for key, n in odd.items())
    found = "has no jobs that can be read" + (f" ({why})" if why else "")
    return InputError(Problem(name, found, advice="a log needs one line at least for a job"))

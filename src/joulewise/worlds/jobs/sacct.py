"""Logs of Slurm's accounting, `sacct --parsable2`: a line of names, then a line for each job, cells between "|"."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.worlds.jobs.bars import BAR_IN_A_CELL, FREE, Columns, mended
from joulewise.worlds.jobs.logs import Log, LogAbout, text_of
from joulewise.worlds.jobs.sacct_records import FORMS, NAMES, PLAIN_DATE, frame_of_records

COMMAND = (
    "sacct --allusers --allocations --parsable2 --starttime=2026-01-01 --format=JobID,Submit,Eligible,Start,End,"
    "ElapsedRaw,TimelimitRaw,AllocCPUS,ReqCPUS,AllocNodes,ReqNodes,ReqMem,AllocTRES,ReqTRES,ConsumedEnergyRaw,State,"
    "User,Account,QOS,Partition,Cluster,Reservation,Constraints"
)
"""What gives a log with everything that is read; names of resources are long, so no width is given."""

_NEEDED = (("id",), ("submit",), ("elapsed_s", "elapsed", "end"), ("cores", "given", "requested_cores", "asked"))
_ZONED = r"(?:^[0-9]+|Z|[+-][0-9]{2}:?[0-9]{2})$"
_SHOWN = 60


def is_sacct(start: str) -> bool:
    """Whether a text starts as sacct's does: with a line of names between "|"."""
    return "|" in next((line for line in start.splitlines() if line.strip()), "")


def read_sacct(path: Path, texts: Iterable[bytes]) -> Log:
    """The log in pieces of text, each of whole lines; InputError where it is cut off, or in no layout that is known."""
    reader = _SacctReader(path, Log(LogAbout("sacct --parsable2", start_unix_s=0, clock="local time")))
    reader.log.pieces = reader.frames(texts)
    return reader.log


@dataclass
class _Seen:
    """How many cells of a column are filled, how many of them cannot be read, and the first of these."""

    n: int = 0
    n_wrong: int = 0
    line: int = 0
    text: str = ""


@dataclass
class _SacctReader:
    """What is carried from piece to piece: the names of the cells, from the first line, and what was seen in them."""

    path: Path
    log: Log
    header: bytes = b""
    names: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    seen: dict[str, _Seen] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    n_good: int = 0
    n_plain: int = 0
    n_zoned: int = 0

    def frames(self, texts: Iterable[bytes]) -> Iterator[pl.DataFrame]:
        for text in texts:
            numbers, lines = self._lines(text)
            if lines:
                records = self._records(lines)
                self._look_at(records, numbers)
                yield frame_of_records(self.log, records)
        raise_if_any((*self.problems, *self._of_layout()))
        self._set_clock()

    def _lines(self, text: bytes) -> tuple[list[int], list[bytes]]:
        """The lines of a piece with as many cells as the first line has names, or made so, behind their numbers."""
        lines = text.splitlines()
        first, self.log.n_lines = self.log.n_lines + 1, self.log.n_lines + len(lines)
        if not self.header:
            self._take_header(next((line for line in lines if line.strip()), b""))
        n_bars = self.header.count(b"|")
        filled = [i for i, line in enumerate(lines) if (bare := line.strip()) and bare != self.header]
        wrong = [i for i in filled if lines[i].count(b"|") != n_bars]
        columns = Columns(self.names, {self.places[key]: FORMS[key] for key in self._formed})
        whole = {i: line for i in wrong if (line := mended(lines[i], columns)) is not None}
        broken = [i for i in wrong if i not in whole]
        if broken and broken[-1] == filled[-1] and not text.endswith(b"\n") and lines[broken[-1]].count(b"|") < n_bars:
            self._cut_off(first + broken[-1], lines[broken.pop()])
        for key, rows in (("bar in a name", list(whole)), ("wrong number of cells", broken)):
            self.log.note(key, len(rows), first + rows[0] if rows else None)
        good = [i for i in filled if i in whole or lines[i].count(b"|") == n_bars] if wrong else filled
        self.n_good += len(good)
        return [first + i for i in good], [whole.get(i, lines[i]) for i in good]

    def _take_header(self, line: bytes) -> None:
        self.header = line.strip()
        said = [name.strip() for name in text_of(self.header)[0].split("|")]
        self.names = [name.casefold() for name in said]
        for key, choices in NAMES.items():
            name_here = next((name.casefold() for name in choices if name.casefold() in self.names), None)
            if name_here is not None:
                self.places[key] = self.names.index(name_here)
        missing = [keys for keys in _NEEDED if not any(key in self.places for key in keys)]
        if missing:
            words = ("one of " * (len(keys) > 1) + ", ".join(NAMES[key][0] for key in keys) for keys in missing)
            found = f"the first line does not name {' and '.join(words)}: {text_of(self.header)[0][:_SHOWN]!r}"
            advice = f"made by `{COMMAND}`, without --noheader"
            raise InputError(Problem(self.path.name, found, "it must name what the cells are", advice))
        read = {said[place] for place in self.places.values()}
        self.log.about = replace(self.log.about, unread=tuple(name for name in said if name and name not in read))

    def _records(self, lines: Sequence[bytes]) -> pl.DataFrame:
        data = b"\n".join(lines)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            decoded = [text_of(line) for line in lines]
            self.log.note("text in another code", sum(not is_utf8 for _, is_utf8 in decoded))
            data = "\n".join(text for text, _ in decoded).encode()
        names = [f"column_{place + 1}" for place in range(len(self.names))]
        cells = pl.read_csv(
            io.BytesIO(data), separator="|", has_header=False, infer_schema=False, quote_char=None, new_columns=names
        )
        return cells.select(self._cell(key, names).alias(key) for key in NAMES)

    def _cell(self, key: str, columns: Sequence[str]) -> pl.Expr:
        if key not in self.places:
            return pl.lit(None, pl.String)
        cell = pl.col(columns[self.places[key]]).str.strip_chars()
        is_free = self.names[self.places[key]] in FREE
        return cell.str.replace_all(BAR_IN_A_CELL, "|", literal=True) if is_free else cell

    def _look_at(self, records: pl.DataFrame, numbers: Sequence[int]) -> None:
        """Count cells that are in no form that is known, and instants of submission that have no zone."""
        n_wrong, rows = 0, []
        for key in self._formed:
            seen, cells = self.seen.setdefault(key, _Seen()), records[key]
            wrong = (~cells.str.contains(FORMS[key])).fill_null(False).arg_true()
            if wrong.len() and not seen.n_wrong:
                seen.line, seen.text = numbers[wrong[0]], cells[wrong[0]]
            seen.n += cells.len() - cells.null_count()
            seen.n_wrong += wrong.len()
            n_wrong += wrong.len()
            rows += wrong[:1].to_list()
        self.log.note("unreadable cell", n_wrong, numbers[min(rows)] if rows else None)
        self.n_plain += int(records["submit"].str.contains(PLAIN_DATE).sum())
        self.n_zoned += int(records["submit"].str.contains(_ZONED).sum())

    @property
    def _formed(self) -> list[str]:
        """The columns that are there whose cells have a form."""
        return [key for key in FORMS if key in self.places]

    def _cut_off(self, number: int, line: bytes) -> None:
        n_cells = line.count(b"|") + 1
        found = f"the file ends within this line, after {n_cells} of {len(self.names)} cells: it is cut off"
        advice = "get the file again, or take this line out to import what is there"
        self.problems.append(Problem(f"{self.path.name}: line {number:,}", found, "", advice))

    def _of_layout(self) -> Iterator[Problem]:
        """What makes a file unreadable: most of its lines, or all cells of a column that is needed, are in no form."""
        n_wrong = self.log.odd["wrong number of cells"]
        if n_wrong > self.n_good:
            where = f"{self.path.name}: line {self.log.at['wrong number of cells']:,}"
            found = f"{n_wrong:,} of {n_wrong + self.n_good:,} lines, of which this is the first, have other cells"
            allowed = f"must have {len(self.names)}, as many as the first line has names"
            advice = "leave JobName and comments out of --format, and set no --delimiter"
            yield Problem(where, found, allowed, advice)
        for keys in _NEEDED:
            of_keys = [(key, self.seen[key]) for key in keys if key in self.seen]
            is_lost = of_keys and len(of_keys) == len([key for key in keys if key in self.places])
            if is_lost and all(0 < seen.n == seen.n_wrong for _, seen in of_keys):
                key, seen = of_keys[0]
                where = f"{self.path.name}: line {seen.line:,}, {NAMES[key][0]}"
                yield Problem(where, f"found {seen.text[:_SHOWN]!r}, as in all lines", *_WANTED[FORMS[key]])

    def _set_clock(self) -> None:
        """Instants with a zone, and seconds since 1970, are in UTC."""
        if self.n_zoned:
            self.log.note("no zone", self.n_plain)
            self.log.about = replace(self.log.about, clock="UTC")


_WANTED = {
    FORMS["submit"]: (
        "must be like 2026-03-01T09:00:00, with +0100 behind it or not, or seconds since 1970",
        "set SLURM_TIME_FORMAT to standard, or unset it",
    ),
    FORMS["elapsed"]: ("must be like 1-02:03:04, which is days-hours:minutes:seconds", f"made by `{COMMAND}`"),
    FORMS["cores"]: ("must be a number", f"made by `{COMMAND}`"),
}
"""What is allowed, and what to do, by the form of a cell."""

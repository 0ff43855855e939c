"""Logs of Slurm's accounting, `sacct --parsable2`: a line of names, then a line for each job, cells between "|"."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.worlds.jobs.logs import LARGEST, SCHEMA, Log, LogAbout, frame_of, text_of

COMMAND = (
    "sacct --allusers --allocations --parsable2 --starttime=2026-01-01 --format=JobID,Submit,Start,End,ElapsedRaw,"
    "TimelimitRaw,AllocCPUS,ReqCPUS,AllocNodes,ReqNodes,ReqMem,ConsumedEnergyRaw,State,User,Account,QOS,Partition,"
    "Cluster,Reservation"
)
"""What gives a log with everything that is read."""

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("JobID", "JobIDRaw"),
    "submit": ("Submit",),
    "start": ("Start",),
    "end": ("End",),
    "elapsed_s": ("ElapsedRaw",),
    "elapsed": ("Elapsed",),
    "limit_min": ("TimelimitRaw",),
    "limit": ("Timelimit",),
    "cores": ("AllocCPUS", "NCPUS"),
    "given": ("AllocTRES",),
    "requested_cores": ("ReqCPUS",),
    "asked": ("ReqTRES",),
    "nodes": ("AllocNodes", "NNodes"),
    "requested_nodes": ("ReqNodes",),
    "memory": ("ReqMem",),
    "energy_j": ("ConsumedEnergyRaw",),
    "state": ("State",),
    "user": ("User",),
    "group": ("Account", "Group"),
    "queue": ("QOS",),
    "partition": ("Partition",),
    "cluster": ("Cluster",),
    "application": ("JobName",),
    "reservation": ("Reservation",),
}
"""What is read, and by which names versions of sacct call it; the first that is there counts."""

_NEEDED = (("id",), ("submit",), ("elapsed_s", "elapsed", "end"), ("cores", "given", "requested_cores", "asked"))
_GOING_ON = (
    "running",
    "suspended",
    "pending",
    "requeued",
    "resizing",
    "completing",
    "configuring",
    "signaling",
    "stopped",
)
_KILO = {"": 2**10, "K": 1, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}
_DURATION = r"^(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?$"
_WEIGHTS = (86_400, 3_600, 60, 1)


def is_sacct(start: str) -> bool:
    """Whether a text starts as sacct's does: with a line of names between "|"."""
    return "|" in next((line for line in start.splitlines() if line.strip()), "")


def read_sacct(path: Path, texts: Iterable[bytes]) -> Log:
    """The log in pieces of text, each of whole lines; InputError where its first line does not name what is needed."""
    reader = _SacctReader(path, Log(LogAbout("sacct --parsable2", start_unix_s=0, clock="local time")))
    reader.log.pieces = reader.frames(texts)
    return reader.log


def frame_of_records(log: Log, records: pl.DataFrame) -> pl.DataFrame:
    """A table of jobs from records of text, by the keys of `NAMES`; steps and what never was a job are left out."""
    for key, pattern in (("job step", r"\."), ("waiting array", r"\[")):
        is_odd = records["id"].str.contains(pattern).fill_null(False)
        log.note(key, int(is_odd.sum()))
        records = records.filter(~is_odd)
    log.note("part of a mixed job", int(records["id"].str.contains(r"\+").sum()))
    records = records.with_columns(state=pl.col("state").str.extract(r"^(\w+)").str.to_lowercase())
    is_going_on = records["state"].is_in(_GOING_ON).fill_null(False)
    log.note("not ended", int(is_going_on.sum()))
    jobs = records.filter(~is_going_on).select(**_columns())
    return frame_of({name: jobs[name] for name in jobs.columns}, jobs.height)


@dataclass
class _SacctReader:
    """What is carried from piece to piece: the names of the cells, once the first line has been read."""

    path: Path
    log: Log
    header: bytes = b""
    places: dict[str, int] = field(default_factory=dict)

    def frames(self, texts: Iterable[bytes]) -> Iterator[pl.DataFrame]:
        for text in texts:
            lines = self._lines(text)
            if lines:
                yield frame_of_records(self.log, self._records(lines))

    def _lines(self, text: bytes) -> list[bytes]:
        """The lines of a piece that have as many cells as the first line has names."""
        lines = text.splitlines()
        first_line, self.log.n_lines = self.log.n_lines + 1, self.log.n_lines + len(lines)
        if not self.header:
            at = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
            lines, first_line = lines[at:], first_line + at
            self._take_header(lines[0] if lines else b"")
        n_bars = self.header.count(b"|")
        filled = [(i, line) for i, line in enumerate(lines) if line.strip() and line.strip() != self.header]
        good = [line for _, line in filled if line.count(b"|") == n_bars]
        wrong = [i for i, line in filled if line.count(b"|") != n_bars]
        self.log.note("wrong number of cells", len(wrong), first_line + (wrong[0] if wrong else 0))
        return good

    def _take_header(self, line: bytes) -> None:
        self.header = line.strip()
        names = [name.strip().casefold() for name in text_of(self.header)[0].split("|")]
        for key, choices in NAMES.items():
            name_here = next((name.casefold() for name in choices if name.casefold() in names), None)
            if name_here is not None:
                self.places[key] = names.index(name_here)
        missing = [keys for keys in _NEEDED if not any(key in self.places for key in keys)]
        if missing:
            words = ("one of " * (len(keys) > 1) + ", ".join(NAMES[key][0] for key in keys) for keys in missing)
            found = f"the first line does not name {' and '.join(words)}"
            raise InputError(Problem(self.path.name, found, "it must name what the cells are", f"made by `{COMMAND}`"))

    def _records(self, lines: Sequence[bytes]) -> pl.DataFrame:
        data = b"\n".join(lines)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            decoded = [text_of(line) for line in lines]
            self.log.note("text in another code", sum(not is_utf8 for _, is_utf8 in decoded))
            data = "\n".join(text for text, _ in decoded).encode()
        names = [f"column_{place + 1}" for place in range(self.header.count(b"|") + 1)]
        cells = pl.read_csv(
            io.BytesIO(data), separator="|", has_header=False, infer_schema=False, quote_char=None, new_columns=names
        )
        return cells.select(
            (
                pl.col(names[self.places[key]]).str.strip_chars() if key in self.places else pl.lit(None, pl.String)
            ).alias(key)
            for key in NAMES
        )


def _columns() -> dict[str, pl.Expr]:
    """Each column of a table of jobs, from records of text."""
    submit_s, start_s, end_s = (_instant_s(name) for name in ("submit", "start", "end"))
    elapsed_s = pl.coalesce(_number("elapsed_s"), _length_s("elapsed"), end_s - start_s)
    cores = _positive(pl.coalesce(_number("cores"), _tres("given", "cpu")))
    requested_cores = _positive(pl.coalesce(_number("requested_cores"), _tres("asked", "cpu")))
    nodes = _positive(pl.coalesce(_number("nodes"), _tres("given", "node")))
    requested_nodes = _positive(pl.coalesce(_number("requested_nodes"), _tres("asked", "node")))
    wait_s = start_s - submit_s
    exact = {
        "submit_s": submit_s,
        "wait_s": pl.when(wait_s >= 0).then(wait_s),
        "run_s": pl.when(elapsed_s >= 0).then(elapsed_s.ceil()),
        "requested_s": _positive(pl.coalesce(_number("limit_min") * 60, _length_s("limit"))),
        "cores": cores,
        "requested_cores": requested_cores,
        "nodes": nodes,
        "requested_nodes": requested_nodes,
        "requested_memory_kb": _memory_kb(pl.coalesce(requested_cores, cores), pl.coalesce(requested_nodes, nodes)),
        "energy_j": _positive(pl.coalesce(_number("energy_j"), _tres("given", "energy"))),
    }
    texts = ("user", "group", "queue", "partition", "cluster", "application", "reservation")
    return {
        "job_id": pl.col("id"),
        "status": pl.col("state"),
        **{name: _told(name) for name in texts},
        **{name: value.cast(SCHEMA[name], strict=False) for name, value in exact.items()},
    }


def _told(name: str) -> pl.Expr:
    """Text that tells something; none where it is empty."""
    return pl.when(~pl.col(name).is_in(["", "Unknown", "None", "None assigned"])).then(pl.col(name))


def _number(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite() & (number.abs() <= LARGEST)).then(number)


def _positive(value: pl.Expr) -> pl.Expr:
    return pl.when(value > 0).then(value)


def _instant_s(name: str) -> pl.Expr:
    """An instant as seconds: from a date and time, or from seconds themselves; none where it never came."""
    date = pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False, time_unit="ms").dt.epoch("s")
    return _positive(pl.coalesce(date.cast(pl.Float64), _number(name)))


def _length_s(name: str) -> pl.Expr:
    """A length of time as seconds, from days-hours:minutes:seconds."""
    parts = [pl.col(name).str.extract(_DURATION, group).cast(pl.Float64, strict=False) for group in (1, 2, 3, 4)]
    length_s = pl.sum_horizontal(part.fill_null(0) * weight for part, weight in zip(parts, _WEIGHTS, strict=True))
    return pl.when(pl.col(name).str.contains(_DURATION)).then(length_s)


def _tres(name: str, kind: str) -> pl.Expr:
    """One of the trackable resources in text such as cpu=4,mem=16G,node=1."""
    return pl.col(name).str.extract(rf"(?:^|,){kind}=(\d+)").cast(pl.Float64, strict=False)


def _memory_kb(cores: pl.Expr, nodes: pl.Expr) -> pl.Expr:
    """Memory asked for of each processor, from text such as 4000Mc (of each processor), 16Gn (node) or 64G (job)."""
    parts = r"^([\d.]+)([KMGTP]?)([cn]?)$"
    value, unit, of = (pl.col("memory").str.extract(parts, group) for group in (1, 2, 3))
    kb = value.cast(pl.Float64, strict=False) * unit.replace_strict(_KILO, default=None, return_dtype=pl.Float64)
    share = pl.when(of == "c").then(1.0).when(of == "n").then(nodes / cores).otherwise(1.0 / cores)
    return kb * share

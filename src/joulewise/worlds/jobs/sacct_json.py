"""Logs of Slurm's accounting, `sacct --json`, in the forms that versions of it have written."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.worlds.jobs.logs import Log, LogAbout
from joulewise.worlds.jobs.sacct_records import NAMES, frame_of_records

_JOBS = re.compile(r'"jobs"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_STRAY, _FIRST_STRAY = re.compile("[\ud800-\udfff]"), 0xDC00
"""What Python makes of bytes that are not UTF-8, and of escapes that are no characters."""
_ROWS_AT_ONCE = 20_000
_LONGEST_JOB = 2**26


def is_sacct_json(start: str) -> bool:
    """Whether a text starts as JSON of sacct does."""
    return start.lstrip().startswith("{")


def read_sacct_json(path: Path, pieces: Iterable[bytes]) -> Log:
    """The log in pieces of JSON, cut anywhere; InputError where it is no JSON, or ends too early."""
    log = Log(LogAbout("sacct --json", start_unix_s=0))
    log.pieces = _frames(path, log, _jobs(path, pieces))
    return log


def _frames(path: Path, log: Log, jobs: Iterable[Any]) -> Iterator[pl.DataFrame]:
    records: list[dict[str, str | None]] = []
    for job in jobs:
        if isinstance(job, dict) and "time" not in job and "submit_time" in job:
            found = (
                "found jobs in the layout of squeue and scontrol, which have the time of submission in `submit_time`"
            )
            raise InputError(
                Problem(path.name, found, "must be what `sacct --json` writes", "use sacct: it tells the past")
            )
        record = _record(job)
        if record is None:
            log.note("no record of a job", 1)
        else:
            records.append(_in_utf_8(log, record))
        if len(records) == _ROWS_AT_ONCE:
            yield _frame(log, records)
            records = []
    if records:
        yield _frame(log, records)


def _in_utf_8(log: Log, record: dict[str, str | None]) -> dict[str, str | None]:
    """The record with bytes that were not UTF-8 read as Latin-1; that there were some is counted."""
    mended = {key: _STRAY.sub(_latin_1, text) for key, text in record.items() if text and _STRAY.search(text)}
    log.note("job in another code", int(bool(mended)))
    return record | mended


def _latin_1(stray: re.Match[str]) -> str:
    """The letter that a byte is in Latin-1; what is no byte is no letter."""
    byte = ord(stray[0]) - _FIRST_STRAY
    return chr(byte) if 0x80 <= byte <= 0xFF else "\ufffd"


def _frame(log: Log, records: list[dict[str, str | None]]) -> pl.DataFrame:
    return frame_of_records(log, pl.DataFrame(records, schema=dict.fromkeys(NAMES, pl.String)))


def _jobs(path: Path, pieces: Iterable[bytes]) -> Iterator[Any]:
    """The jobs in a text of JSON, one by one, without the text as a whole."""
    decode, text, at = json.JSONDecoder().raw_decode, "", -1
    for piece in _texts(pieces):
        text += piece
        if at < 0:
            opening = _JOBS.search(text)
            at = opening.end() if opening else -1
        while at >= 0:
            at = _after(_BETWEEN, text, at)
            if text[at : at + 1] == "]":
                return
            try:
                job, at = decode(text, at)
            except json.JSONDecodeError:
                break  # the rest of it comes with the next piece, or never
            except (RecursionError, ValueError) as error:  # lists without an end, numbers of thousands of digits
                found = f"found a job that cannot be read: {error}"
                raise InputError(Problem(path.name, found, "must be what `sacct --json` writes")) from None
            yield job
        if at >= 0:
            text, at = text[at:], 0
        if len(text) > _LONGEST_JOB:
            break
    what = "no list of jobs" if at < 0 else "the list of jobs ends too early, or is no JSON"
    found_text = f"found {what}" + (f" near {text[at : at + 40]!r}" if at >= 0 else "")
    raise InputError(Problem(path.name, found_text, "must be what `sacct --json` writes", "get it again"))


def _texts(pieces: Iterable[bytes]) -> Iterator[str]:
    """Pieces of UTF-8 as text, wherever they are cut; bytes of something else stand as strays in it."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _record(job: Any) -> dict[str, str | None] | None:
    """A job as a record of text by the keys of `NAMES`; None where it is no job."""
    if not isinstance(job, dict) or "job_id" not in job:
        return None
    time, tres = _table(job, "time"), _table(job, "tres")
    given, asked = (_tres(tres.get(name)) for name in ("allocated", "requested"))
    fields: dict[str, Any] = {
        "id": _id(job),
        "submit": _number(time.get("submission")),
        "eligible": _number(time.get("eligible")),
        "start": _number(time.get("start")),
        "end": _number(time.get("end")),
        "elapsed_s": _number(time.get("elapsed")),
        "limit_min": _number(time.get("limit")),
        "given": given,
        "nodes": None if "node=" in given else _number(job.get("allocation_nodes")),
        "asked": asked,
        "requested_cores": None if "cpu=" in asked else _number(_table(job, "required").get("CPUs")),
        "memory": _memory(_table(job, "required")),
        "licences": job.get("licenses"),
        "features": job.get("constraints"),
        "state": _state(job),
        "user": job.get("user") or _table(job, "association").get("user"),
        "group": job.get("account") or job.get("group"),
        "queue": job.get("qos"),
        "partition": job.get("partition"),
        "cluster": job.get("cluster"),
        "application": job.get("name"),
        "reservation": _table(job, "reservation").get("name") or None,
        "dependency": job.get("dependency"),
        "array_limit": _array_limit(job) or None,
        "submit_line": job.get("submit_line"),
    }
    return {key: None if fields.get(key) in (None, "") else str(fields[key]) for key in NAMES}


def _table(job: dict[str, Any], key: str) -> dict[str, Any]:
    value = job.get(key)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | int | None:
    """A number; newer versions wrap one in whether it is set, and whether it is infinite."""
    if isinstance(value, dict):
        if value.get("set") is False or value.get("infinite"):
            return None
        value = value.get("number")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _tres(listed: Any) -> str:
    """Trackable resources as sacct's tables have them: cpu=4,mem=1024M,gres/gpu:a100=2."""
    rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
    named = ((row, "/".join(str(part) for part in (row.get("type"), row.get("name")) if part)) for row in rows)
    amounts = ((name, _number(row.get("count")), "M" if name == "mem" else "") for row, name in named)
    return ",".join(f"{name}={int(n)}{unit}" for name, n, unit in amounts if n is not None and math.isfinite(n))


def _id(job: dict[str, Any]) -> str:
    """What sacct calls the job in its tables: of an array, or of a mixed job, with its number in it."""
    for key, number, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        table = _table(job, key)
        first, place = _number(table.get("job_id")), _number(table.get(number))
        if first and place is not None:
            return f"{first}{mark}{place}"
    return str(job["job_id"])


def _array_limit(job: dict[str, Any]) -> float | int | None:
    """How many tasks of an array may run together; 0 stands for all."""
    limits = _table(_table(job, "array"), "limits")
    return _number(_table(_table(limits, "max"), "running").get("tasks"))


def _state(job: dict[str, Any]) -> Any:
    current = _table(job, "state").get("current")
    return current[0] if isinstance(current, list) and current else current


def _memory(required: dict[str, Any]) -> str | None:
    of_core, of_node = (_number(required.get(f"memory_per_{what}")) for what in ("cpu", "node"))
    if of_core:
        return f"{of_core}Mc"
    return f"{of_node}Mn" if of_node else None

"""The jobs that wait and run on a Slurm now, as squeue prints them: text in all versions, JSON where there is some."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem


class Cell(NamedTuple):
    """A thing that is known of a job: what squeue calls it in text and in JSON, and how its text is read."""

    text: str
    json: str
    read: Callable[[str], Any]


_NOTHING = ("", "N/A", "(null)", "None", "Unknown", "NONE")
_LONGEST = {"UNLIMITED": math.inf, "INFINITE": math.inf, "NOT_SET": None, "INVALID": None, "Partition_Limit": None}
_WEIGHTS_S = (1, 60, 3_600)
_LAST_S = 2.0**40
_NO_VALUES = (2**16 - 2, 2**32 - 2, 2**64 - 2)
_INFINITE = (2**16 - 1, 2**32 - 1, 2**64 - 1)
"""What stands for no value, and for no limit, in JSON of versions that write bare numbers."""


def _word(text: str) -> str | None:
    return None if text in _NOTHING else text


def _count(text: str) -> int:
    """A number of things; of 4-8 the least."""
    return int(text.split("-")[0])


def _number(text: str) -> float | None:
    return None if text in _NOTHING else float(text)


def _instant(text: str) -> float | None:
    """Seconds since 1970 of an instant that is written in UTC."""
    if text in _NOTHING:
        return None
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def _length(text: str) -> float | None:
    """Seconds of days-hours:minutes:seconds, of which the first ones may be left out; inf without a limit."""
    if text in _LONGEST or text in _NOTHING:
        return _LONGEST.get(text)
    days, dash, rest = text.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash and len(parts) < len(_WEIGHTS_S):  # days-hours and days-hours:minutes
        parts += [0] * (len(_WEIGHTS_S) - len(parts))
    seconds = sum(weight * part for weight, part in zip(_WEIGHTS_S, reversed(parts), strict=False))
    return float(int(days or 0) * 86_400 + seconds)


CELLS: Mapping[str, Cell] = {
    "job": Cell("JobID", "job_id", int),
    "array": Cell("ArrayJobID", "array_job_id", _word),
    "task": Cell("ArrayTaskID", "array_task_id", _word),
    "part_of": Cell("HetJobID", "het_job_id", _word),
    "state": Cell("State", "job_state", str),
    "reason": Cell("Reason", "state_reason", str),
    "user": Cell("UserName", "user_name", _word),
    "account": Cell("Account", "account", _word),
    "qos": Cell("QOS", "qos", _word),
    "partition": Cell("Partition", "partition", str),
    "priority": Cell("PriorityLong", "priority", _number),
    "submit_at_s": Cell("SubmitTime", "submit_time", _instant),
    "eligible_at_s": Cell("EligibleTime", "eligible_time", _instant),
    "start_at_s": Cell("StartTime", "start_time", _instant),
    "limit_s": Cell("TimeLimit", "time_limit", _length),
    "nodes": Cell("NumNodes", "node_count", _count),
    "cores": Cell("NumCPUs", "cpus", _count),
    "tres": Cell("tres-alloc", "tres_req_str", _word),
    "tres_per_job": Cell("tres-per-job", "tres_per_job", _word),
    "tres_per_node": Cell("tres-per-node", "tres_per_node", _word),
    "features": Cell("Feature", "features", _word),
    "wanted_nodes": Cell("ReqNodes", "required_nodes", _word),
    "on_nodes": Cell("NodeList", "nodes", _word),
    "sharing": Cell("OverSubscribe", "shared", _word),
    "licences": Cell("Licenses", "licenses", _word),
    "reservation": Cell("Reservation", "resv_name", _word),
    "dependency": Cell("Dependency", "dependency", _word),
    "restarts": Cell("RestartCnt", "restart_cnt", _count),
    "name": Cell("Name", "name", _word),
    "admin_comment": Cell("admin_comment", "admin_comment", _word),
    "comment": Cell("Comment", "comment", _word),
}
"""What is asked of the queue. What people may write as they like comes last."""

_INSTANTS = tuple(name for name, cell in CELLS.items() if cell.read is _instant)
_MINUTES = ("limit_s",)


class QueuedJob(NamedTuple):
    """A job of the queue. Instants are seconds since 1970, None where there is none yet; a limit may be inf."""

    job: int
    array: str | None
    task: str | None
    part_of: str | None
    state: str
    reason: str
    user: str | None
    account: str | None
    qos: str | None
    partition: str
    priority: float | None
    submit_at_s: float | None
    eligible_at_s: float | None
    start_at_s: float | None
    limit_s: float | None
    nodes: int
    cores: int
    tres: str | None
    tres_per_job: str | None
    tres_per_node: str | None
    features: str | None
    wanted_nodes: str | None
    on_nodes: str | None
    sharing: str | None
    licences: str | None
    reservation: str | None
    dependency: str | None
    restarts: int
    name: str | None
    admin_comment: str | None
    comment: str | None


class Asked(NamedTuple):
    """A question to squeue, and what ends each cell of its answer: nobody who submits a job can know it."""

    command: tuple[str, ...]
    mark: str


def ask_queue() -> Asked:
    """Ask for all jobs that wait or run, the tasks of an array one by one."""
    mark = f"#{secrets.token_hex(6)}#"
    columns = ",".join(f"{cell.text}:{mark}" for cell in CELLS.values())
    return Asked(("squeue", "--noheader", "--all", "--array", f"--Format={columns}"), mark)


def queue_of_text(text: str, mark: str) -> list[QueuedJob]:
    """The jobs in an answer of squeue; InputError where it is none, or is cut off."""
    cells = text.split(mark)
    n, rest = divmod(len(cells) - 1, len(CELLS))
    if rest or cells[-1].strip():
        raise InputError(Problem("squeue", f"printed {len(cells) - 1:,} cells", f"must be {len(CELLS)} for each job"))
    rows = (cells[at * len(CELLS) : (at + 1) * len(CELLS)] for at in range(n))
    return [_job(dict(zip(CELLS, (row[0].removeprefix("\n"), *row[1:]), strict=True))) for row in rows]


def _job(texts: Mapping[str, str]) -> QueuedJob:
    try:
        return QueuedJob(**{name: cell.read(texts[name].strip()) for name, cell in CELLS.items()})
    except (ValueError, OverflowError) as error:
        raise InputError(Problem("squeue", f"printed what cannot be read of job {texts['job']!r}: {error}")) from None


# --- JSON ---------------------------------------------------------------------------------------------------


def queue_of_json(answer: Any) -> list[QueuedJob]:
    """The jobs in what `squeue --json` and slurmrestd answer, in the shapes of all versions; InputError for others."""
    jobs = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(jobs, list):
        raise InputError(Problem("squeue --json", "found no list of jobs", 'must have "jobs": [...]'))
    return [_job(dict(_texts(job))) for job in jobs if isinstance(job, dict)]


def _texts(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The cells of a job as squeue prints them in text."""
    for name, cell in CELLS.items():
        value = _plain(job.get(cell.json))
        if name in _INSTANTS:
            yield name, "" if not value else datetime.fromtimestamp(min(value, _LAST_S), UTC).isoformat()[:19]
        elif name in _MINUTES:
            yield name, "" if value is None else "UNLIMITED" if value == math.inf else f"{value:.0f}:00"
        else:
            is_none = value is None or (value == 0 and name in ("array", "part_of"))
            yield name, "0" if value is None and cell.read is _count else "" if is_none else str(value)


def _plain(value: Any) -> Any:
    """A value of JSON without the wrappings that newer versions put around it."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return math.inf
        return value.get("number") if value.get("set", True) else None
    if isinstance(value, list):
        return _plain(value[0]) if value else None
    if isinstance(value, int) and not isinstance(value, bool) and value in (*_NO_VALUES, *_INFINITE):
        return math.inf if value in _INFINITE else None
    return value

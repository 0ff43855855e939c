"""The jobs that wait and run on a Slurm now, as squeue prints them: text in all versions, JSON where there is some."""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem

# --- what a state means -------------------------------------------------------------------------------------

WAITS, RUNS, ENDS, OVER, UNKNOWN = "waits", "runs", "ends", "over", "unknown"
"""Stages of a job. One that ends has its nodes still; of one in a state that nobody knows nothing is decided."""

STAGES: Mapping[str, str] = {
    "PENDING": WAITS, "REQUEUED": WAITS, "REQUEUE_FED": WAITS, "REQUEUE_HOLD": WAITS, "SPECIAL_EXIT": WAITS,
    "RESV_DEL_HOLD": WAITS,
    "CONFIGURING": RUNS, "POWER_UP_NODE": RUNS, "RUNNING": RUNS, "SUSPENDED": RUNS, "STOPPED": RUNS, "SIGNALING": RUNS,
    "RESIZING": RUNS, "EXPEDITING": RUNS,
    "COMPLETING": ENDS, "STAGE_OUT": ENDS, "UPDATE_DB": ENDS,
    "COMPLETED": OVER, "CANCELLED": OVER, "FAILED": OVER, "TIMEOUT": OVER, "NODE_FAIL": OVER, "PREEMPTED": OVER,
    "BOOT_FAIL": OVER, "DEADLINE": OVER, "OUT_OF_MEMORY": OVER, "REVOKED": OVER, "LAUNCH_FAILED": OVER,
    "RECONFIG_FAIL": OVER,
}  # fmt: skip
"""The stage that each state of Slurm 20.11 to 25.05 means."""

US, USER, ADMINISTRATOR, SLURM = "Joulewise", "the user", "an administrator", "Slurm"

MARK = "joulewise"
"""How the administrator's comment of a job begins that `job_submit.lua` held for us."""
MARK_USER = "joulewise: held by its user"
"""The same of a job whose user wants it held."""

_HELD_BY: Mapping[str, str] = {
    "JobHeldUser": USER,
    "JobHeldAdmin": ADMINISTRATOR,
    "job requeued in held state": ADMINISTRATOR,
    "JobHoldMaxRequeue": SLURM,
    "launch failed requeued held": SLURM,
}
"""Who holds a job back for each reason; for reasons that are not here it is Slurm, which we never overrule.

A hold by `job_submit.lua` is a user's for Slurm, and so are our own (`scontrol uhold`): the mark tells them apart.
"""

# --- how a cell is read -------------------------------------------------------------------------------------

_KEPT = 10_000
"""So many texts are read once: those of one column are much alike."""
_NOTHING = frozenset({"", "N/A", "(null)", "None", "Unknown", "NONE"})
_LONGEST = {"UNLIMITED": math.inf, "INFINITE": math.inf, "NOT_SET": None, "INVALID": None, "Partition_Limit": None}
_LENGTH = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_DAY_S = 86_400
_WEIGHTS_S = (1, 60, 3_600)
_COUNT = re.compile(r"(\d{1,15})([KMG]?)(?:-\d{1,15}[KMG]?)?", re.ASCII)
_FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_JOB = re.compile(r"[1-9]\d{0,11}", re.ASCII)
_WHOLE = {
    "NO": "nobody", "NONE": "nobody", "TRUE": "nobody", "EXCLUSIVE": "nobody", "USER": "user", "MCS": "label",
    "TOPO": "topology", "YES": "all", "OVERSUBSCRIBE": "all",
}  # fmt: skip


def _word(text: str) -> str | None:
    return None if text in _NOTHING else text


def _needed(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _job_number(text: str) -> int:
    if not _JOB.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is no number of a job")
    return int(text)


@lru_cache(maxsize=_KEPT)
def _count(text: str) -> int:
    """A number of things, in units of 1,024 with a K behind it; of 4-8 the least."""
    found = _COUNT.fullmatch(text)
    if not found:
        raise ValueError(f"{text[:40]!r} is no number of things")
    return int(found[1]) * _FACTORS[found[2]]


def _number(text: str) -> float | None:
    if text in _NOTHING:
        return None
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]!r} is no number")
    return value


@lru_cache(maxsize=_KEPT)
def _instant(text: str) -> float | None:
    """Seconds since 1970 of an instant that is written in UTC."""
    if text in _NOTHING:
        return None
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@lru_cache(maxsize=_KEPT)
def _length(text: str) -> float | None:
    """Seconds of days-hours:minutes:seconds, of which the first ones may be left out; inf without a limit."""
    if text in _LONGEST or text in _NOTHING:
        return _LONGEST.get(text)
    found = _LENGTH.fullmatch(text)
    if not found:
        raise ValueError(f"{text[:40]!r} is no length of time")
    days, *given = found.groups()
    parts = [int(part) for part in given if part is not None]
    if days is not None:  # days-hours and days-hours:minutes
        parts += [0] * (len(_WEIGHTS_S) - len(parts))
    seconds = sum(weight * part for weight, part in zip(_WEIGHTS_S, reversed(parts), strict=False))
    return float(int(days or 0) * _DAY_S + seconds)


def _whole(text: str) -> str | None:
    """With whom a job shares its nodes, if not as its partition has it: nobody, jobs of its user, of its label, all."""
    return _WHOLE.get(text.upper())


class Cell(NamedTuple):
    """A thing that is known of a job: what squeue calls it in text, what JSON does, and how its text is read."""

    text: str
    json: tuple[str, ...]
    read: Callable[[str], Any]


CELLS: Mapping[str, Cell] = {
    "job": Cell("JobID", ("job_id",), _job_number),
    "array": Cell("ArrayJobID", ("array_job_id",), _word),
    "task": Cell("ArrayTaskID", ("array_task_id",), _word),
    "part_of": Cell("HetJobID", ("het_job_id",), _word),
    "state": Cell("State", ("job_state",), _needed),
    "reason": Cell("Reason", ("state_reason",), str),
    "user": Cell("UserName", ("user_name",), _word),
    "account": Cell("Account", ("account",), _word),
    "qos": Cell("QOS", ("qos",), _word),
    "partition": Cell("Partition", ("partition",), str),
    "priority": Cell("PriorityLong", ("priority",), _number),
    "submit_at_s": Cell("SubmitTime", ("submit_time",), _instant),
    "eligible_at_s": Cell("EligibleTime", ("eligible_time",), _instant),
    "start_at_s": Cell("StartTime", ("start_time",), _instant),
    "end_at_s": Cell("EndTime", ("end_time",), _instant),
    "limit_s": Cell("TimeLimit", ("time_limit",), _length),
    "nodes": Cell("NumNodes", ("node_count",), _count),
    "cores": Cell("NumCPUs", ("cpus",), _count),
    "tres": Cell("tres-alloc", ("tres_alloc_str", "tres_req_str"), _word),
    "tres_per_job": Cell("tres-per-job", ("tres_per_job",), _word),
    "tres_per_node": Cell("tres-per-node", ("tres_per_node",), _word),
    "features": Cell("Feature", ("features",), _word),
    "wanted_nodes": Cell("ReqNodes", ("required_nodes",), _word),
    "on_nodes": Cell("NodeList", ("nodes",), _word),
    "shares_with": Cell("OverSubscribe", ("exclusive", "shared"), _whole),
    "licences": Cell("Licenses", ("licenses",), _word),
    "reservation": Cell("Reservation", ("resv_name",), _word),
    "dependency": Cell("Dependency", ("dependency",), _word),
    "restarts": Cell("RestartCnt", ("restart_cnt",), _count),
    "name": Cell("Name", ("name",), _word),
    "admin_comment": Cell("admin_comment", ("admin_comment",), _word),
    "comment": Cell("Comment", ("comment",), _word),
}
"""What is asked of the queue. What people may write as they like comes last."""


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
    end_at_s: float | None
    limit_s: float | None
    nodes: int
    cores: int
    tres: str | None
    tres_per_job: str | None
    tres_per_node: str | None
    features: str | None
    wanted_nodes: str | None
    on_nodes: str | None
    shares_with: str | None
    licences: str | None
    reservation: str | None
    dependency: str | None
    restarts: int
    name: str | None
    admin_comment: str | None
    comment: str | None

    @property
    def key(self) -> str:
        """What Slurm and we call the job as long as it lives: its number, or array_task, whose number may change."""
        return str(self.job) if self.task is None else f"{self.array}_{self.task}"

    @property
    def told_as(self) -> str:
        """What orders call it: parts are told by the first of them, since they start together."""
        return self.part_of or self.key

    @property
    def stage(self) -> str:
        """Whether it waits, runs, ends or is over."""
        return STAGES.get(self.state, UNKNOWN)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions in any of which it may run."""
        return tuple(self.partition.split(","))

    @property
    def held_by(self) -> str | None:
        """Who holds it back: we, its user, an administrator, or Slurm itself; None if nobody does."""
        if self.stage != WAITS or self.priority != 0:
            return None
        holder = _HELD_BY.get(self.reason, SLURM)
        return US if holder == USER and self.is_marked and not self.is_kept_by_user else holder

    @property
    def is_marked(self) -> bool:
        """Whether it came to us at submission, or later."""
        return (self.admin_comment or "").startswith(MARK)

    @property
    def is_kept_by_user(self) -> bool:
        """Whether its user submitted it held."""
        return (self.admin_comment or "").startswith(MARK_USER)


# --- text ---------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A question to squeue, and what ends each cell of its answer: nobody who submits a job can know it."""

    command: tuple[str, ...]
    mark: str


def ask_queue(states: str = "") -> Asked:
    """Ask for all jobs that wait or run, or for those in these states; the tasks of an array one by one."""
    mark = f"#{secrets.token_hex(6)}#"
    columns = ",".join(f"{cell.text}:{mark}" for cell in CELLS.values())
    chosen = (f"--states={states}",) if states else ()
    return Asked(("squeue", "--noheader", "--all", "--array", "--noconvert", *chosen, f"--Format={columns}"), mark)


def queue_of_text(text: str, mark: str) -> list[QueuedJob]:
    """The jobs in an answer of squeue; InputError where it is none, or is cut off."""
    cells = text.split(mark)
    n, rest = divmod(len(cells) - 1, len(CELLS))
    if rest or cells[-1].strip():
        found, advice = f"printed {len(cells) - 1:,} cells", "see that squeue --version is 20.11 to 25.05"
        raise InputError(Problem("squeue", found, f"must be {len(CELLS)} for each job", advice))
    rows = (cells[at * len(CELLS) : (at + 1) * len(CELLS)] for at in range(n))
    return [_job(dict(zip(CELLS, (row[0].removeprefix("\n"), *row[1:]), strict=True))) for row in rows]


def _job(texts: Mapping[str, str]) -> QueuedJob:
    try:
        values = {name: cell.read(texts[name].strip()) for name, cell in CELLS.items()}
    except (ValueError, OverflowError) as error:
        raise InputError(
            Problem("squeue", f"printed what cannot be read of job {texts['job'][:40]!r}: {error}")
        ) from None
    if values["task"] is None:
        values["array"] = None  # squeue repeats the number of the job there
    return QueuedJob(**values)


# --- JSON ---------------------------------------------------------------------------------------------------

_INSTANTS = tuple(name for name, cell in CELLS.items() if cell.read is _instant)
_NONE_IF_0 = ("array", "part_of")
_NO_VALUES = (2**16 - 2, 2**32 - 2, 2**64 - 2)
_INFINITE = (2**16 - 1, 2**32 - 1, 2**64 - 1)
"""What stands for no value, and for no limit, in JSON of versions that write bare numbers."""

_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)
_MOST_TASKS = 1_000_000


def queue_of_json(text: str) -> list[QueuedJob]:
    """The jobs in what `squeue --json` and slurmrestd answer, in the shapes of all versions; InputError for others.

    They tell jobs that are over, too. Waiting tasks of an array, which they tell as one, are taken one by one.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(Problem("squeue --json", "printed what is no JSON")) from None
    jobs = answer.get("jobs") if isinstance(answer, dict) else None
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        raise InputError(Problem("squeue --json", "found no list of jobs", 'must have "jobs": [{...}, ...]'))
    return [_job(texts) for job in jobs for texts in _each_task(job)]


def _each_task(job: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The cells of a job as squeue prints them in text, once for each task that waits in it."""
    try:
        texts = {name: _as_text(name, _first(job, cell)) for name, cell in CELLS.items()}
        waiting = str(_plain(job.get("array_task_string")) or "")
        tasks = _tasks(waiting) if waiting and not texts["task"] else [texts["task"]]
    except (ValueError, OverflowError) as error:
        found = f"printed what cannot be read of job {str(job.get('job_id'))[:40]!r}: {error}"
        raise InputError(Problem("squeue --json", found)) from None
    return ({**texts, "task": task} for task in tasks)


def _first(job: Mapping[str, Any], cell: Cell) -> Any:
    """The first of what may tell a thing that tells something."""
    values = (_plain(job.get(name)) for name in cell.json)
    return next((value for value in values if value not in (None, "")), None)


def _as_text(name: str, value: Any) -> str:
    """A value of JSON as squeue prints it in text."""
    if value is None or (value == 0 and name in _NONE_IF_0):
        return "0" if CELLS[name].read is _count else ""
    if name in _INSTANTS:
        return datetime.fromtimestamp(_real(value), UTC).isoformat()[:19] if value else ""
    if name == "limit_s":
        return "UNLIMITED" if value == math.inf else f"{_real(value):.0f}:00"
    return str(value)


def _real(value: Any) -> float:
    if not isinstance(value, int | float) or not 0 <= value < 2**40:
        raise ValueError(f"{str(value)[:40]!r} is no time")
    return value


def _plain(value: Any) -> Any:
    """A value of JSON without the wrappings that newer versions put around it; ValueError for any others."""
    if isinstance(value, dict):
        value = math.inf if value.get("infinite") else value.get("number") if value.get("set", True) else None
    elif isinstance(value, list):
        value = _last_state(value)
    if isinstance(value, dict | list):
        raise ValueError("a value lies too deep")
    if isinstance(value, int) and value in (*_NO_VALUES, *_INFINITE):
        return math.inf if value in _INFINITE else None
    return value


def _last_state(values: list[Any]) -> Any:
    """Of several states that hold together the one that squeue prints in text: what changes comes behind what is."""
    states = [value for value in values if isinstance(value, str) and value in STAGES]
    return states[-1] if states else values[0] if values else None


def _tasks(text: str) -> list[str]:
    """The numbers of tasks in 1,4-8%2 and 0-10:5; ValueError for what is no such list, or was cut off."""
    tasks: list[str] = []
    for part in text.partition("%")[0].split(","):
        found = _TASKS.fullmatch(part)
        if not found:
            raise ValueError(f"{text[:40]!r} is no list of tasks, or a part of one")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        numbers = range(first, last + 1, max(step, 1))
        if len(numbers) + len(tasks) > _MOST_TASKS:
            raise ValueError(f"{text[:40]!r} is more than {_MOST_TASKS:,} tasks")
        tasks += map(str, numbers)
    return tasks

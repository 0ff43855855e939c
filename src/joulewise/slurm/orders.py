"""What Slurm is told: commands as tuples of words. Each value is of a strict pattern, or no command is made of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from joulewise.slurm.queue import MARK
from joulewise.worlds.jobs.sites.hostlists import compacted

MOST_TOLD = 200
"""So many jobs are told to Slurm in one command: it takes locks for each, and others want to be heard too."""

LONGEST_COMMENT = 200
_KEY = re.compile(r"[1-9]\d{0,9}(?:_\d{1,9})?", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_FEATURES = re.compile(r"[A-Za-z0-9_.:=&|*()\[\],-]{1,200}")
_COMMENT = re.compile(r"[A-Za-z0-9 _.,:;/()%+=<>-]*")
_LAST_S = 2.0**33
_LONGEST_LIMIT_S = 10 * 365 * 86_400.0


class Order(NamedTuple):
    """A command that changes something, and the keys of the jobs that it is about."""

    words: tuple[str, ...]
    jobs: tuple[str, ...]


class Setting(NamedTuple):
    """A thing that may be changed of a waiting job: what Slurm calls it, and how its value is written."""

    word: str
    write: Callable[[Any], str]


def _fitting(pattern: re.Pattern[str], value: object, what: str) -> str:
    """The value, if it is text of a pattern; ValueError of ours otherwise."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{value!r:.80} is no {what}, and is not told to Slurm")
    return value


def _names(values: Sequence[str], what: str) -> list[str]:
    if isinstance(values, str):
        raise ValueError(f"{values!r:.80} must be a list of names")
    return [_fitting(_NAME, value, what) for value in values]


def _partitions(values: Sequence[str]) -> str:
    names = _names(values, "name of a partition")
    if not names:
        raise ValueError("a job needs a partition")
    return ",".join(names)


def _nodes(values: Sequence[str]) -> str:
    """Names of nodes, in Slurm's short way; none at all means that any will do."""
    return compacted(_names(values, "name of a node"))


def _features(value: str) -> str:
    return _fitting(_FEATURES, value, "list of features") if value else ""


def _instant(value: float) -> str:
    """An instant in UTC, for callers whose time zone that is."""
    if not 0 <= value < _LAST_S:
        raise ValueError(f"{value!r} is no instant, and is not told to Slurm")
    return datetime.fromtimestamp(value, UTC).isoformat()[:19]


def _length(value: float) -> str:
    """A length as days-hours:minutes:seconds, in whole minutes, as Slurm keeps it."""
    if not 0 < value <= _LONGEST_LIMIT_S:
        raise ValueError(f"{value!r} is no limit of time, and is not told to Slurm")
    hours, minutes = divmod(math.ceil(value / 60), 60)
    return f"{hours // 24}-{hours % 24:02d}:{minutes:02d}:00"


def _comment(value: str) -> str:
    """A comment of ours, which begins with our mark; what is not plain text in it is left out, as people may have
    written it."""
    plain = "".join(_COMMENT.findall(value))[:LONGEST_COMMENT]
    if not plain.startswith(MARK):
        raise ValueError(f"{value!r:.80} does not begin with {MARK!r}")
    return plain


SETTINGS: Mapping[str, Setting] = {
    "partitions": Setting("Partition", _partitions),
    "nodes": Setting("ReqNodeList", _nodes),
    "excluded_nodes": Setting("ExcNodeList", _nodes),
    "features": Setting("Features", _features),
    "start_at_s": Setting("StartTime", _instant),
    "limit_s": Setting("TimeLimit", _length),
    "admin_comment": Setting("AdminComment", _comment),
}
"""What may be changed of a job."""


def release(keys: Iterable[str]) -> Iterator[Order]:
    """Let held jobs run when Slurm has room for them. The parts of a job are released with the first of them."""
    return _told("release", keys)


def hold(keys: Iterable[str]) -> Iterator[Order]:
    """Hold jobs that wait, as their user would: a hold by an administrator is never one of ours."""
    return _told("uhold", keys)


def requeue_hold(keys: Iterable[str]) -> Iterator[Order]:
    """Have running jobs give up what they did, and wait held."""
    return _told("requeuehold", keys)


def update(key: str, **changes: Any) -> Order:
    """Change what is asked for a waiting job, by the names of `SETTINGS`; ValueError for what may not be told."""
    if not changes:
        raise ValueError("nothing is changed")
    words = [f"{SETTINGS[name].word}={SETTINGS[name].write(value)}" for name, value in changes.items()]
    job = _fitting(_KEY, key, "job")
    return Order(("scontrol", "update", f"JobId={job}", *words), (job,))


def _told(verb: str, keys: Iterable[str]) -> Iterator[Order]:
    jobs = [_fitting(_KEY, key, "job") for key in dict.fromkeys(keys)]
    batches = (tuple(jobs[at : at + MOST_TOLD]) for at in range(0, len(jobs), MOST_TOLD))
    return (Order(("scontrol", verb, ",".join(batch)), batch) for batch in batches)

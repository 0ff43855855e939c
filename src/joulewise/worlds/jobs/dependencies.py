"""Dependencies of jobs as Slurm writes them: afterok:17:18_3,singleton or after:5+10?afterany:6."""

from __future__ import annotations

import re
from typing import NamedTuple

from joulewise.model.conditions import Kind

SINGLETON, CORRESPONDING = "singleton", "aftercorr"
KINDS = {
    "after": Kind.STARTED,
    "afterany": Kind.ENDED,
    "afterok": Kind.ENDED_WELL,
    "afternotok": Kind.ENDED_BADLY,
    CORRESPONDING: Kind.ENDED_WELL,
    "afterburstbuffer": Kind.ENDED,
    "expand": Kind.STARTED,
}
"""What the other job must have done, by Slurm's word for it."""

TAKEN_AS = {
    "afterburstbuffer": (
        "jobs that wait for what others write from a burst buffer",
        "wait for the ends of these, as if that took no time",
    ),
    "expand": ("jobs that add what they get to another job", "jobs of their own, once the other one has started"),
}
"""Kinds that are not replayed as they are: of which jobs they are, and what becomes of these."""

_KNOWN = ", ".join((*KINDS, SINGLETON))
_JOB = re.compile(r"(\d+(?:_(?:\d+|\*))?)(?:\+(\d+))?")
_STATE = re.compile(r"\((?:un)?fulfilled\)|\(failed\)")
_MINUTE_S = 60.0


class OddDependencyError(Exception):
    """What is wrong with a text, and what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(found)
        self.found, self.allowed = found, allowed


class Dependency(NamedTuple):
    """What a job waits for: the word for it, the other job as it is written, and how long after."""

    word: str
    job: str = ""
    delay_s: float = 0.0


class Dependencies(NamedTuple):
    """All of these must be met or, where it `is_any`, one of them."""

    each: tuple[Dependency, ...]
    is_any: bool


def dependencies_in(text: str) -> Dependencies:
    """What a text says; OddDependencyError where that is nothing that Slurm would take."""
    text = _STATE.sub("", text).strip()
    if "," in text and "?" in text:
        raise OddDependencyError(f'found both "," and "?" in {text!r}', 'must be "," (all) or "?" (any), not both')
    each = [found for part in re.split(r"[,?]", text) for found in _part(part, text)]
    return Dependencies(tuple(each), "?" in text)


def _part(part: str, text: str) -> list[Dependency]:
    word, *jobs = part.split(":")
    if word == SINGLETON and not jobs:
        return [Dependency(SINGLETON)]
    if word == SINGLETON:
        raise OddDependencyError(
            f"found {part!r}", f"must be {SINGLETON} alone: it is for all jobs of one name and user"
        )
    if word not in KINDS:
        raise OddDependencyError(f"found {word!r} in {text!r}", f"must be of {_KNOWN}")
    matches = [_JOB.fullmatch(job) for job in jobs]
    if not matches or None in matches:
        allowed = f"must be like {word}:17, or {word}:17:18_3 for two jobs"
        raise OddDependencyError(f"found {part!r}" + (f" in {text!r}" if part != text else ""), allowed)
    return [_of_job(word, match[1], match[2]) for match in matches if match]


def _of_job(word: str, job: str, plus: str | None) -> Dependency:
    """Behind "+" stand minutes after a start, else the number of a part of a mixed job."""
    if word == "after":
        return Dependency(word, job, _MINUTE_S * int(plus or 0))
    return Dependency(word, job if plus is None else f"{job}+{plus}")

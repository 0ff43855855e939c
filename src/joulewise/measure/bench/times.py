"""When the members of a group started, began and ended, and how long each of them had company."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class MemberRun:
    """One run of a member, in seconds of time.monotonic(); NaN is what has not happened, or was not said."""

    started_s: float
    begun_s: float = math.nan
    ended_s: float = math.nan
    cpu_s: float = math.nan


@dataclass
class MemberTimes:
    """All runs of a member; the first is the one that is measured."""

    runs: list[MemberRun] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended once."""
        return bool(self.runs) and not math.isnan(self.runs[0].ended_s)

    @property
    def window_s(self) -> tuple[float, float]:
        """From its beginning to its first end."""
        return self.busy_s()[0]

    def busy_s(self) -> list[tuple[float, float]]:
        """From when to when it was running past its set-up; the last time may have no end."""
        says_when = not math.isnan(self.runs[0].begun_s)
        begins = [run.begun_s if says_when else run.started_s for run in self.runs]
        ends = [math.inf if math.isnan(run.ended_s) else run.ended_s for run in self.runs]
        return [(begin, end) for begin, end in zip(begins, ends) if begin <= end]


@dataclass
class GroupTimes:
    """What happened in a group; `problem` says what went wrong, `notes` what did not, and is worth knowing."""

    members: tuple[MemberTimes, ...]
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def started_s(self) -> float:
        """When the first of them was started."""
        return min(member.runs[0].started_s for member in self.members)


def company_share(members: Sequence[MemberTimes], place: int) -> float:
    """The share of a member's time in which another was running past its set-up, as a mean over the others.

    It is 1 for one alone. If each of the others slows a member by itself, this is the share of the whole slowdown that
    it suffered, to first order.
    """
    window = members[place].window_s
    others = (*members[:place], *members[place + 1 :])
    if not others:
        return 1.0
    length_s = window[1] - window[0]
    there_s = sum(_overlap_s(window, busy) for other in others for busy in other.busy_s())
    return there_s / (length_s * len(others)) if length_s > 0 else math.nan


def _overlap_s(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(0.0, min(one[1], other[1]) - max(one[0], other[0]))

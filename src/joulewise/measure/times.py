"""When the members of a group started, began and ended, and how long each of them had company."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Stay:
    """One run of a member, in seconds of time.monotonic(); NaN is what has not happened, or was not said."""

    started_s: float
    begun_s: float = math.nan
    ended_s: float = math.nan
    cpu_s: float = math.nan


@dataclass
class MemberTimes:
    """All runs of a member; the first is the one that is measured."""

    stays: list[Stay] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether it has ended once."""
        return bool(self.stays) and not math.isnan(self.stays[0].ended_s)

    @property
    def setup_s(self) -> float:
        """From its start to its beginning; 0 where it does not say when it begins."""
        first = self.stays[0]
        return 0.0 if math.isnan(first.begun_s) else first.begun_s - first.started_s

    @property
    def window_s(self) -> tuple[float, float]:
        """From its beginning to its first end."""
        return self.busy_s()[0]

    def busy_s(self) -> list[tuple[float, float]]:
        """From when to when it was running past its set-up; the last time may have no end."""
        says_when = not math.isnan(self.stays[0].begun_s)
        begins = [stay.begun_s if says_when else stay.started_s for stay in self.stays]
        ends = [math.inf if math.isnan(stay.ended_s) else stay.ended_s for stay in self.stays]
        return [(begin, end) for begin, end in zip(begins, ends) if begin <= end]


@dataclass
class GroupTimes:
    """What happened in a group; `problem` says what went wrong."""

    members: tuple[MemberTimes, ...]
    problem: str = ""


def company_share(members: Sequence[MemberTimes], place: int) -> float:
    """The share of a member's time in which all the others were running past their set-up; 1 for one alone."""
    window = members[place].window_s
    together = [window]
    for other in (*members[:place], *members[place + 1 :]):
        together = list(_in_both(together, other.busy_s()))
    length_s = window[1] - window[0]
    return sum(end - begin for begin, end in together) / length_s if length_s > 0 else math.nan


def _in_both(these: list[tuple[float, float]], those: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The times that are in both lists, each of them in order of time."""
    i = j = 0
    while i < len(these) and j < len(those):
        begin, end = max(these[i][0], those[j][0]), min(these[i][1], those[j][1])
        if begin < end:
            yield begin, end
        if these[i][1] < those[j][1]:
            i += 1
        else:
            j += 1

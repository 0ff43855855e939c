"""Energy over time: what a meter has counted at some moments, and what was used between any two."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from typing import Protocol

from joulewise.measure.machine.availability import Availability


class EnergyMeter(Protocol):
    """What reads energy: joules since any origin, never falling. NaN says that some went uncounted since the last."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def availability(self) -> Availability:
        """Whether it can be read."""
        ...

    def read_j(self) -> float:
        """The joules counted so far."""
        ...


class EnergyLog:
    """The readings of a meter, with breaks where energy went uncounted."""

    def __init__(self) -> None:
        self._times_s = array("d")
        self._joules = array("d")
        self._breaks_s = array("d")

    @property
    def covers_s(self) -> tuple[float, float]:
        """From when to when there are readings; NaN where there are none."""
        return (self._times_s[0], self._times_s[-1]) if self._times_s else (math.nan, math.nan)

    def append(self, time_s: float, joules_so_far: float) -> None:
        """Add a later reading; NaN is a break. A reading that is not later than the last one is left out."""
        if math.isnan(joules_so_far):
            self._breaks_s.append(time_s)
        elif not self._times_s or time_s > self._times_s[-1]:
            self._times_s.append(time_s)
            self._joules.append(joules_so_far)

    def between(self, from_s: float, to_s: float) -> float:
        """Joules used from one time to another, readings joined by lines; NaN where readings do not cover it."""
        first_s, last_s = self.covers_s
        if not first_s <= from_s <= to_s <= last_s or self._is_broken(from_s, to_s):
            return math.nan
        return self._joules_at(to_s) - self._joules_at(from_s)

    def mean_w(self, from_s: float, to_s: float) -> float:
        """Mean power between two times; NaN where readings do not cover it."""
        return self.between(from_s, to_s) / (to_s - from_s) if to_s > from_s else math.nan

    def _is_broken(self, from_s: float, to_s: float) -> bool:
        """Whether there is a break between the readings around two times."""
        before_s = self._times_s[bisect_right(self._times_s, from_s) - 1]
        after_s = self._times_s[bisect_left(self._times_s, to_s)]
        next_break = bisect_right(self._breaks_s, before_s)
        return next_break < len(self._breaks_s) and self._breaks_s[next_break] <= after_s

    def _joules_at(self, time_s: float) -> float:
        right = bisect_left(self._times_s, time_s)
        if self._times_s[right] == time_s:
            return self._joules[right]
        width_s = self._times_s[right] - self._times_s[right - 1]
        share = (time_s - self._times_s[right - 1]) / width_s
        return self._joules[right - 1] + share * (self._joules[right] - self._joules[right - 1])

"""When mapping events happen, as far as that follows from the manager's settings and the arrivals alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.model.arrays import Bools, Floats


class EventClock(Protocol):
    """When mapping events happen."""

    def first_from(self, at_s: Floats) -> Floats:
        """The first event at or after these instants, or an instant before it; inf if there is none."""
        ...

    def last_until(self, at_s: float) -> float:
        """The last event up to this instant, or an instant after it."""
        ...

    def happens_at(self, at_s: Floats) -> Bools:
        """Whether there may be an event at these instants, up to rounding."""
        ...


@dataclass(frozen=True)
class EveryInterval:
    """Events at 0, 1, 2, ... times an interval."""

    interval_s: float

    def number_from(self, at_s: Floats) -> Floats:
        """The number of the first event at or after these instants."""
        event = np.ceil(at_s / self.interval_s)
        event -= (event - 1) * self.interval_s >= at_s  # the quotient may have been rounded up past an event
        event += event * self.interval_s < at_s  # or down to one
        return np.asarray(event)

    def number_until(self, at_s: float) -> float:
        """The number of the last event up to this instant."""
        event = float(self.number_from(np.asarray(at_s)))
        return event if event * self.interval_s == at_s else event - 1

    def first_from(self, at_s: Floats) -> Floats:
        return np.asarray(self.number_from(at_s) * self.interval_s)

    def last_until(self, at_s: float) -> float:
        return self.number_until(at_s) * self.interval_s

    def happens_at(self, at_s: Floats) -> Bools:
        nearest_s = np.rint(at_s / self.interval_s) * self.interval_s
        return np.asarray(np.abs(at_s - nearest_s) <= rounding_s(at_s))


@dataclass(frozen=True, eq=False)
class ListedEvents:
    """Events at these instants, in order of time."""

    events_s: Floats

    def first_from(self, at_s: Floats) -> Floats:
        return np.asarray(np.append(self.events_s, math.inf)[np.searchsorted(self.events_s, at_s)])

    def last_until(self, at_s: float) -> float:
        return float(self.events_s[self.events_s <= at_s].max(initial=-math.inf))

    def happens_at(self, at_s: Floats) -> Bools:
        slack_s = rounding_s(at_s)
        return np.asarray(self.first_from(at_s - slack_s) <= at_s + slack_s)


class Unknown:
    """Events at any instant: they depend on how long mapping takes."""

    def first_from(self, at_s: Floats) -> Floats:
        return at_s

    def last_until(self, at_s: float) -> float:
        return at_s

    def happens_at(self, at_s: Floats) -> Bools:
        return np.ones(at_s.shape, bool)


def by_arrivals(arrival_s: Floats, n: int, interval_s: float, until_s: float) -> ListedEvents:
    """Events at 0, as soon as n tasks have arrived since the last one, and after each interval from then on."""
    return ListedEvents(np.array(list(_events(arrival_s, n, interval_s, until_s)), float))


def _events(arrival_s: Floats, n: int, interval_s: float, until_s: float) -> Iterator[float]:
    origin_s, n_intervals, n_seen = 0.0, 0, 0
    regular_s = 0.0
    while True:
        last = n_seen + n - 1
        crowd_s = float(arrival_s[last]) if last < arrival_s.size else math.inf
        event_s = min(regular_s, crowd_s)
        if event_s > until_s or math.isinf(event_s):
            return
        yield event_s
        origin_s, n_intervals = (origin_s, n_intervals + 1) if regular_s <= crowd_s else (crowd_s, 1)
        regular_s = origin_s + n_intervals * interval_s
        n_seen = int(np.searchsorted(arrival_s, event_s, side="right"))

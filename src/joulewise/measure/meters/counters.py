"""Instructions, cycles and last-level cache misses of a program: by the kernel's counters, or through perf stat."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from joulewise.measure.machine.availability import Availability
from joulewise.measure.machine.processor import read_processor
from joulewise.measure.meters.perf_events import (
    CYCLES,
    INSTRUCTIONS,
    Event,
    Opening,
    Tally,
    counting_units,
    miss_events,
    on_unit,
    perf_event_open,
    read_tally,
    refusal,
)

NO_FILE = Path(os.devnull)


class CounterReads(NamedTuple):
    """What was counted in user mode; NaN where nothing was, estimated where the counter was shared with others."""

    instructions: float = math.nan
    cycles: float = math.nan
    cache_misses: float = math.nan


class OpenCounters(Protocol):
    """Counters of one process and all that it starts."""

    def begin(self) -> None:
        """Count from here on: what was counted until now is taken off."""
        ...

    def read(self) -> CounterReads:
        """What was counted so far, also after the process has ended."""
        ...

    def close(self) -> None:
        """Give the counters back."""
        ...


class CounterSource(Protocol):
    """What can count for a program that has not begun yet: `file` is one that no other program uses."""

    def availability(self) -> Availability:
        """Whether it can count here."""
        ...

    def wrapped(self, command: Sequence[str], file: Path = NO_FILE) -> tuple[str, ...]:
        """The command line to start, so that the program is counted."""
        ...

    def attach(self, pid: int, file: Path = NO_FILE) -> OpenCounters:
        """Count for a process from its next exec on."""
        ...


def scaled(tallies: Sequence[Tally]) -> float:
    """The count of one event, over all counting units: for the whole time, where it was counted in a part of it.

    A program is on one unit at a time, so their running times add up. NaN where it never counted.
    """
    running_ns = sum(tally.running_ns for tally in tallies)
    enabled_ns = max((tally.enabled_ns for tally in tallies), default=0)
    if running_ns == 0:
        return math.nan
    return sum(tally.value for tally in tallies) * max(1.0, enabled_ns / running_ns)


def _since(then: Tally, now: Tally) -> Tally:
    """What was counted between two readings, and in how much of that time."""
    return Tally(*(after - before for before, after in zip(then, now)))


class _PerfCounters:
    """Open counters of one process, one descriptor for each event and counting unit."""

    def __init__(self, descriptors: list[list[int]]) -> None:
        self._descriptors = descriptors
        self._begun = [[Tally(0, 0, 0) for _ in event] for event in descriptors]

    def begin(self) -> None:
        self._begun = self._tallies()

    def read(self) -> CounterReads:
        return CounterReads(*(scaled(list(map(_since, *both))) for both in zip(self._begun, self._tallies())))

    def _tallies(self) -> list[list[Tally]]:
        return [[read_tally(one) for one in event] for event in self._descriptors]

    def close(self) -> None:
        for event in self._descriptors:
            for descriptor in event:
                os.close(descriptor)
        self._descriptors = [[] for _ in self._descriptors]


class PerfEvents:
    """The kernel's own counters, by perf_event_open; needs no root where kernel.perf_event_paranoid is 2 or less."""

    def __init__(self, root: Path = Path("/"), opening: Opening = perf_event_open) -> None:
        self.root = root
        self._opening = opening
        self._units = counting_units(root)
        self._misses = miss_events(read_processor(root))

    def availability(self) -> Availability:
        """Whether this process may count for its own children, found out by opening counters of itself."""
        try:
            for descriptor in self._open(INSTRUCTIONS, os.getpid()):
                os.close(descriptor)
        except OSError as error:
            return Availability("counters", False, *refusal(error, self.root))
        event = self._miss_event()
        if event is None:
            return Availability(
                "counters",
                True,
                "instructions and cycles; this processor's kernel counts no last-level cache misses",
                "a newer kernel may; without it, programs are classified by how they slow each other",
            )
        return Availability("counters", True, f"instructions, cycles and last-level cache misses ({event.name})")

    def wrapped(self, command: Sequence[str], file: Path = NO_FILE) -> tuple[str, ...]:  # noqa: ARG002
        """The command itself."""
        return tuple(command)

    def attach(self, pid: int, file: Path = NO_FILE) -> OpenCounters:  # noqa: ARG002
        """Open all counters that this machine has for a process; what it does not have reads as NaN."""
        return _PerfCounters([self._try(INSTRUCTIONS, pid), self._try(CYCLES, pid), self._first(self._misses, pid)])

    def _miss_event(self) -> Event | None:
        for event in self._misses:
            descriptors = self._try(event, os.getpid())
            for descriptor in descriptors:
                os.close(descriptor)
            if descriptors:
                return event
        return None

    def _first(self, events: Sequence[Event], pid: int) -> list[int]:
        return next(filter(None, (self._try(event, pid) for event in events)), [])

    def _try(self, event: Event, pid: int) -> list[int]:
        with suppress(OSError):
            return self._open(event, pid)
        return []

    def _open(self, event: Event, pid: int) -> list[int]:
        """One descriptor for each counting unit; none stays open when one is refused."""
        opened: list[int] = []
        try:
            for unit in self._units:
                opened.append(self._opening(*on_unit(event, unit), pid))
        except OSError:
            for descriptor in opened:
                os.close(descriptor)
            raise
        return opened

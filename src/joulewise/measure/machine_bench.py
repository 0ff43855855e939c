"""This machine as a bench: groups of real programs, and what can be read of them here."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Protocol

from joulewise.errors import InputError
from joulewise.measure.bench import Clock, Experiment, GroupRead, Member, MemberRead, Program
from joulewise.measure.runner import GroupTimes, run_group

_STEP_S = 0.05
"""From here on a step of the time of day is worth a note."""


class CounterReads(Protocol):
    """What was counted; NaN where it was not."""

    @property
    def instructions(self) -> float: ...
    @property
    def cycles(self) -> float: ...
    @property
    def cache_misses(self) -> float: ...


class OpenCounters(Protocol):
    """Counters of one process and those below it."""

    def read(self) -> CounterReads: ...
    def close(self) -> None: ...


class CounterSource(Protocol):
    """Opens counters for a process that waits to become a program."""

    def attach(self, pid: int, /) -> OpenCounters: ...


class Watching(Protocol):
    """What is seen of the whole machine; times are those of time.monotonic()."""

    def sample(self) -> None: ...
    def energy_j(self, from_s: float, to_s: float, /) -> float: ...
    def hottest_c(self, from_s: float, to_s: float, /) -> float: ...
    def mean_mhz(self, from_s: float, to_s: float, /) -> float: ...


class ClockHolder(Protocol):
    """Sets the clock of cores for a while."""

    def holding(self, clock: Clock, cores: Sequence[int], /) -> AbstractContextManager[None]: ...


class MachineBench:
    """Runs experiments on the cores of this machine; what is None is not read, or cannot be set."""

    def __init__(
        self,
        cores: Sequence[int],
        watch: Watching | None = None,
        counters: CounterSource | None = None,
        clocks: ClockHolder | None = None,
        energy_meter: str = "",
    ) -> None:
        self._cores = frozenset(cores)
        self._watch, self._counters, self._clocks = watch, counters, clocks
        self._energy_meter = energy_meter

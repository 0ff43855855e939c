"""What is read all along while programs run, by a thread of its own: energy, temperature and clock."""

from __future__ import annotations

import math
import statistics
import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from joulewise.measure.meters.energy_log import EnergyLog, EnergyMeter
from joulewise.measure.meters.heat import Heat
from joulewise.measure.meters.seen_clocks import clock_reader


class _Track:
    """Values of one kind over time; what could not be read is left out."""

    def __init__(self) -> None:
        self.times_s = array("d")
        self.values = array("d")

    def append(self, time_s: float, value: float) -> None:
        if not math.isnan(value):
            self.values.append(value)
            self.times_s.append(time_s)

    def within(self, from_s: float, to_s: float) -> array[float]:
        return self.values[bisect_left(self.times_s, from_s) : bisect_right(self.times_s, to_s)]


class Watch:
    """Reads every `every_s` inside its block, and whenever it is asked to; all times are of one clock, `now_s`.

    Its thread keeps away from `cores`, which are those that are measured, where it has others.
    """

    def __init__(
        self,
        meter: EnergyMeter | None = None,
        heat: Heat | None = None,
        cores: Iterable[int] = (),
        every_s: float = 0.5,
        root: Path = Path("/"),
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.meter = meter
        self.cores = tuple(cores)
        self.every_s = every_s
        self._heat = heat
        self._now_s = now_s
        self._read_clocks = clock_reader(root, self.cores)
        self._lock = threading.Lock()
        self.forget()
        self._reached_s = -math.inf
        self._wake = threading.Event()
        self._is_ending = False
        self._thread: threading.Thread | None = None

    @property
    def meter_name(self) -> str:
        """The name of the energy meter; empty without one."""
        return self.meter.name if self.meter is not None else ""

    def __enter__(self) -> Self:
        self._is_ending = False
        self.sample()
        self._thread = threading.Thread(target=self._keep_reading, name="watch", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_ending = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def forget(self) -> None:
        """Drop what was read until now: days of readings would fill the memory."""
        with self._lock:
            self._energy = EnergyLog()
            self._heats = _Track()
            self._clocks = {core: _Track() for core in self.cores}

    def sample(self) -> None:
        """Read everything now; takes as long as the meter does, which may be a second for a user's command."""
        with self._lock:
            before_s = self._now_s()
            joules = self.meter.read_j() if self.meter is not None else math.nan
            after_s = self._now_s()
            self._reached_s = (before_s + after_s) / 2
            if self.meter is not None:
                self._energy.append(self._reached_s, joules)
            self._heats.append(after_s, self._heat.read_c() if self._heat is not None else math.nan)
            for core, mhz in self._read_clocks().items():
                self._clocks[core].append(after_s, mhz)

    def nudge(self) -> None:
        """Ask for a sample soon, without waiting for it: at beginnings and ends, where reading often counts."""
        self._wake.set()

    def energy_j(self, from_s: float, to_s: float) -> float:
        """Joules used between two times; NaN where no meter read them."""
        self._reach(to_s)
        with self._lock:
            return self._energy.between(from_s, to_s)

    def hottest_c(self, from_s: float, to_s: float) -> float:
        """The hottest temperature seen between two times; NaN where none was."""
        with self._lock:
            return max(self._heats.within(from_s, to_s), default=math.nan)

    def mean_mhz(self, from_s: float, to_s: float, cores: Iterable[int]) -> float:
        """The mean frequency seen between two times at some of the watched cores; NaN where none was."""
        with self._lock:
            tracks = [self._clocks[core] for core in cores if core in self._clocks]
            seen = [mhz for track in tracks for mhz in track.within(from_s, to_s)]
        return statistics.fmean(seen) if seen else math.nan

    def _reach(self, to_s: float) -> None:
        """Read once more where the last sample was before a time; a time to come is not waited for."""
        with self._lock:
            reached_s = self._reached_s
        if reached_s < to_s:
            self.sample()

    def _keep_reading(self) -> None:
        while not self._is_ending:
            self._wake.wait(self.every_s)
            self._wake.clear()
            if not self._is_ending:
                self.sample()

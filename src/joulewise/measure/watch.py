"""What is read all along while programs run, by a thread of its own: energy, temperature, clock and time of day."""

from __future__ import annotations

import math
import os
import threading
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from joulewise.measure.energy_log import EnergyLog, EnergyMeter
from joulewise.measure.heat import Heat
from joulewise.measure.processor import read_processor
from joulewise.measure.system_files import core_folder, number_of, text_of

_CLOCK_FILES = ("cpuinfo_avg_freq", "scaling_cur_freq", "cpuinfo_cur_freq")
_KHZ_PER_MHZ = 1000.0


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

    def at(self, time_s: float) -> float:
        """The last value up to a time, or the first one of all; NaN where there is none."""
        place = max(0, bisect_right(self.times_s, time_s) - 1)
        return self.values[place] if self.values else math.nan


class Watch:
    """Reads every `every_s` inside its block, and whenever it is asked to; all times are of time.monotonic().

    Its thread keeps away from `cores`, which are those that are measured, where it has others.
    """

    def __init__(
        self,
        meter: EnergyMeter | None = None,
        heat: Heat | None = None,
        cores: Iterable[int] = (),
        every_s: float = 0.5,
        root: Path = Path("/"),
    ) -> None:
        self.meter = meter
        self.cores = tuple(cores)
        self.every_s = every_s
        self._heat = heat
        self._read_mhz = clock_reader(root, self.cores)
        self._energy = EnergyLog()
        self._heats, self._clocks, self._offsets = _Track(), _Track(), _Track()
        self._lock = threading.Lock()
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

    def sample(self) -> None:
        """Read everything now; takes as long as the meter does, which may be a second for a user's command."""
        with self._lock:
            before_s = time.monotonic()
            joules = self.meter.read_j() if self.meter is not None else math.nan
            after_s = time.monotonic()
            if self.meter is not None:
                self._energy.append((before_s + after_s) / 2, joules)
            self._heats.append(after_s, self._heat.read_c() if self._heat is not None else math.nan)
            self._clocks.append(after_s, self._read_mhz())
            self._offsets.append(after_s, time.time() - time.monotonic())

    def nudge(self) -> None:
        """Ask for a sample soon, without waiting for it: at beginnings and ends, where reading often counts."""
        self._wake.set()

    def energy_j(self, from_s: float, to_s: float) -> float:
        """Joules used between two times; NaN where no meter read them."""
        self._reach(to_s)
        with self._lock:
            return self._energy.between(from_s, to_s)

    def mean_w(self, from_s: float, to_s: float) -> float:
        """Mean power between two times; NaN where no meter read it."""
        self._reach(to_s)
        with self._lock:
            return self._energy.mean_w(from_s, to_s)

    def hottest_c(self, from_s: float, to_s: float) -> float:
        """The hottest temperature seen between two times; NaN where none was."""
        with self._lock:
            return max(self._heats.within(from_s, to_s), default=math.nan)

    def mean_mhz(self, from_s: float, to_s: float) -> float:
        """The mean frequency seen at the measured cores between two times; NaN where none was."""
        with self._lock:
            seen = self._clocks.within(from_s, to_s)
        return sum(seen) / len(seen) if seen else math.nan

    def clock_step_s(self, from_s: float, to_s: float) -> float:
        """How far the time of day moved between two times beyond the time that passed: 0 but for corrections."""
        self._reach(to_s)
        with self._lock:
            return self._offsets.at(to_s) - self._offsets.at(from_s)

    def epoch_s(self, time_s: float) -> float:
        """The time of day at a time, in seconds since 1970 in UTC."""
        with self._lock:
            return time_s + self._offsets.at(time_s)

    def _reach(self, to_s: float) -> None:
        """Read once more where the last sample was before a time; a time to come is not waited for."""
        with self._lock:
            last_s = self._offsets.times_s[-1] if self._offsets.times_s else -math.inf
        if last_s < to_s:
            self.sample()

    def _keep_reading(self) -> None:
        self._step_aside()
        while not self._is_ending:
            self._wake.wait(self.every_s)
            self._wake.clear()
            if not self._is_ending:
                self.sample()

    def _step_aside(self) -> None:
        others = os.sched_getaffinity(0) - set(self.cores)
        if others:
            os.sched_setaffinity(0, others)  # of this thread only


def clock_reader(root: Path, cores: tuple[int, ...]) -> Callable[[], float]:
    """A function that reads the mean frequency of cores now; NaN where the machine does not show it.

    A virtual machine's /proc/cpuinfo shows one number for ever, which is not a reading.
    """
    files = [path for core in cores if (path := _clock_file(root, core)) is not None]
    if files:
        return lambda: _mean(number_of(path) / _KHZ_PER_MHZ for path in files)
    flags = read_processor(root).flags
    if cores and "aperfmperf" in flags and "hypervisor" not in flags:
        return lambda: _mean(_listed_mhz(root, cores))
    return lambda: math.nan


def _clock_file(root: Path, core: int) -> Path | None:
    paths = (core_folder(root, core) / "cpufreq" / name for name in _CLOCK_FILES)
    return next((path for path in paths if number_of(path) > 0), None)


def _listed_mhz(root: Path, cores: tuple[int, ...]) -> list[float]:
    lines = (line.partition(":") for line in text_of(root / "proc/cpuinfo").splitlines())
    pairs = [(key.strip(), value.strip()) for key, _, value in lines]
    numbers = [int(value) for key, value in pairs if key == "processor"]
    speeds = [float(value) for key, value in pairs if key == "cpu MHz"]
    return [speed for number, speed in zip(numbers, speeds) if number in cores]


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan

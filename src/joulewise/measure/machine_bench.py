"""This machine as a bench: groups of real programs, and what can be read of them here."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Protocol

from joulewise.errors import InputError, Problem
from joulewise.measure.bench import Clock, Experiment, GroupRead, Member, MemberRead, Program
from joulewise.measure.runner import GroupTimes, company_share, run_group

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

    def warm_up(self, program: Program, cores: tuple[int, ...]) -> str:
        """One unmeasured run; why it failed, or nothing."""
        return self.run(Experiment((Member(program, cores),), way="once"), 0).problem

    def run(self, experiment: Experiment, repetition: int) -> GroupRead:  # noqa: ARG002
        """One run of an experiment."""
        started = datetime.now(UTC).isoformat(timespec="milliseconds")
        reading = _Reading(self._watch, self._counters, len(experiment.members))
        offset_s = _time_of_day_offset_s()
        try:
            self._check_cores(experiment)
            with self._holding(experiment):
                times = run_group(experiment.members, experiment.way, reading)
        except (InputError, OSError) as error:
            times = GroupTimes((), f"could not be run: {error}")
        finally:
            reading.close()
        if times.problem:
            return GroupRead(started, (MemberRead(),) * len(experiment.members), problem=times.problem)
        step_s = _time_of_day_offset_s() - offset_s
        notes = (f"the time of day stepped by {step_s:+.3g} s meanwhile",) if abs(step_s) > _STEP_S else ()
        return self._read(started, times, reading, notes)

    def idle_w(self, clock: Clock, seconds: float) -> float:
        """The mean power with nothing running; NaN where no meter reads energy."""
        if self._watch is None:
            return math.nan
        with self._held(clock, sorted(self._cores)):
            self._watch.sample()
            from_s = time.monotonic()
            time.sleep(seconds)
            to_s = time.monotonic()
            self._watch.sample()
        return self._watch.energy_j(from_s, to_s) / (to_s - from_s)

    def _check_cores(self, experiment: Experiment) -> None:
        asked = {core for member in experiment.members for core in member.cores}
        if beyond := sorted(asked - self._cores):
            found = f"found {', '.join(map(str, beyond))}"
            raise InputError(Problem("cores", found, f"must be among {', '.join(map(str, sorted(self._cores)))}"))

    def _holding(self, experiment: Experiment) -> AbstractContextManager[None]:
        return self._held(experiment.clock, sorted({core for member in experiment.members for core in member.cores}))

    def _held(self, clock: Clock, cores: Sequence[int]) -> AbstractContextManager[None]:
        """The clock held at cores, for a block."""
        if clock == Clock():
            return nullcontext()
        if self._clocks is None:
            raise InputError(Problem("clock", f"found {clock.label}", "clocks of this machine cannot be set"))
        return self._clocks.holding(clock, cores)

    def _read(self, started: str, times: GroupTimes, reading: _Reading, notes: tuple[str, ...]) -> GroupRead:
        windows = [member.window_s for member in times.members]
        whole = min(begin for begin, _ in windows), max(end for _, end in windows)
        members = []
        for place, (member, (begin, end)) in enumerate(zip(times.members, windows)):
            counted = reading.counted[place]
            members.append(
                MemberRead(
                    wall_s=end - begin,
                    cpu_s=member.stays[0].cpu_s,
                    setup_s=member.setup_s,
                    company_share=company_share(times.members, place),
                    restarts=len(member.stays) - 1,
                    energy_j=reading.energy_j(begin, end),
                    **({} if counted is None else _by_name(counted)),
                )
            )
        return GroupRead(
            started,
            tuple(members),
            group_s=whole[1] - whole[0],
            energy_j=reading.energy_j(*whole),
            energy_meter=self._energy_meter,
            measured_mhz=math.nan if self._watch is None else self._watch.mean_mhz(*whole),
            hottest_c=math.nan if self._watch is None else self._watch.hottest_c(*whole),
            notes=notes,
        )


def _time_of_day_offset_s() -> float:
    """The time of day against the clock that never steps."""
    return time.time() - time.monotonic()


def _by_name(counted: CounterReads) -> dict[str, float]:
    names = ("instructions", "cycles", "cache_misses")
    return {name: getattr(counted, name) for name in names}


class _Reading:
    """Reads counters and the whole machine while a group runs."""

    def __init__(self, watch: Watching | None, counters: CounterSource | None, n_members: int) -> None:
        self._watch, self._counters = watch, counters
        self._open: list[OpenCounters] = []
        self.counted: list[CounterReads | None] = [None] * n_members

    def ready(self, processes: Sequence[int]) -> None:
        """Open counters of processes that wait."""
        if self._counters is not None:
            for pid in processes:
                self._open.append(self._counters.attach(pid))
        self.changed()

    def changed(self) -> None:
        """Energy is read where a member begins or ends, so that little is interpolated."""
        if self._watch is not None:
            self._watch.sample()

    def ended(self, place: int) -> None:
        """Counters are those of the first run."""
        if self._open:
            self.counted[place] = self._open[place].read()

    def close(self) -> None:
        """Close what was opened."""
        for counters in self._open:
            counters.close()

    def energy_j(self, from_s: float, to_s: float) -> float:
        """Energy of the whole machine; NaN without a meter."""
        return math.nan if self._watch is None else self._watch.energy_j(from_s, to_s)

"""This machine as a bench: groups of real programs, and what can be read of them here."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from joulewise.errors import InputError, Problem
from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, GroupRead, MeasuredProgram, Member, MemberRead
from joulewise.measure.bench.runner import run_group
from joulewise.measure.bench.times import GroupTimes, company_share
from joulewise.measure.meters.counters import NO_FILE, CounterReads, CounterSource, OpenCounters
from joulewise.measure.meters.seen_clocks import clock_notes

_STEP_S = 0.05
"""From here on a step of the time of day is worth a note."""


class Watching(Protocol):
    """What is seen of the whole machine; times are those of time.monotonic()."""

    @property
    def meter_name(self) -> str:
        """The meter that reads energy; empty without one."""
        ...

    def forget(self) -> None:
        """Nothing that was read until now is asked for again."""
        ...

    def sample(self) -> None:
        """Read everything now."""
        ...

    def nudge(self) -> None:
        """Read everything soon, without waiting for it."""
        ...

    def energy_j(self, from_s: float, to_s: float) -> float:
        """Energy between two times; NaN where it is not known, as everywhere here."""
        ...

    def hottest_c(self, from_s: float, to_s: float) -> float:
        """The hottest temperature."""
        ...

    def mean_mhz(self, from_s: float, to_s: float, cores: Iterable[int]) -> float:
        """The mean frequency of cores."""
        ...


class ClockHolder(Protocol):
    """What sets the clock of cores for a while."""

    def holding(self, clock: ClockSetting, cores: Iterable[int], others: Iterable[int]) -> AbstractContextManager[None]:
        """The clock, inside a block, and others no faster; InputError or OSError where it cannot be set."""
        ...


class MachineBench:
    """Runs experiments on these cores of this machine; what is None is not read, or cannot be set."""

    def __init__(
        self,
        cores: Sequence[int],
        watch: Watching | None = None,
        counters: CounterSource | None = None,
        clocks: ClockHolder | None = None,
    ) -> None:
        self._cores = frozenset(cores)
        self._watch, self._counters, self._clocks = watch, counters, clocks

    def warm_up(self, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
        """One unmeasured run; why it failed, or nothing."""
        return self.run(GroupExperiment((Member(program, cores),), way="once"), 0).problem

    def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:  # noqa: ARG002
        """One run of an experiment; what goes wrong with it is its `problem`."""
        offset_s = _time_of_day_offset_s()
        try:
            self._check_cores(experiment)
            with self._holding(experiment.clock, _cores_of(experiment)), self._reading() as reading:
                times = run_group(reading.counted_members(experiment.members), experiment.way, reading)
        except (InputError, OSError) as error:
            times = GroupTimes((), f"could not be run: {error}")
        if times.problem:
            now = _time_of_day(offset_s + time.monotonic())
            return GroupRead(now, (MemberRead(),) * len(experiment.members), problem=times.problem)
        started = _time_of_day(offset_s + times.started_s)
        notes = (*times.notes, *_step_note(_time_of_day_offset_s() - offset_s))
        return self._group_read(started, times, reading.counts, experiment, notes)

    def idle_w(self, clock: ClockSetting, seconds: float, number: int) -> float:  # noqa: ARG002 (made up ones need it)
        """The mean power with nothing running; NaN where no meter reads energy."""
        if self._watch is None or not self._watch.meter_name:
            return math.nan
        with self._holding(clock, ()):
            self._watch.sample()
            from_s = time.monotonic()
            time.sleep(seconds)
            to_s = time.monotonic()
            return self._watch.energy_j(from_s, to_s) / (to_s - from_s)

    def _check_cores(self, experiment: GroupExperiment) -> None:
        if beyond := set(_cores_of(experiment)) - self._cores:
            allowed = f"must be among {', '.join(map(str, sorted(self._cores)))}"
            raise InputError(Problem("cores", f"found {', '.join(map(str, sorted(beyond)))}", allowed))

    def _holding(self, clock: ClockSetting, cores: Sequence[int]) -> AbstractContextManager[None]:
        if clock == ClockSetting():
            return nullcontext()
        if self._clocks is None:
            raise InputError(Problem("clock", f"found {clock.label}", "clocks of this machine cannot be set"))
        return self._clocks.holding(clock, cores, sorted(self._cores.difference(cores)))

    @contextmanager
    def _reading(self) -> Iterator[_MachineReading]:
        with TemporaryDirectory(prefix="joulewise-") if _writes(self._counters) else nullcontext() as folder:
            reading = _MachineReading(self._watch, self._counters, Path(folder) if folder else None)
            try:
                yield reading
            finally:
                reading.close()

    def _group_read(
        self,
        started: str,
        times: GroupTimes,
        counts: dict[int, CounterReads],
        experiment: GroupExperiment,
        notes: tuple[str, ...],
    ) -> GroupRead:
        windows = [member.window_s for member in times.members]
        seen = [self._seen_mhz(member.cores, *window) for member, window in zip(experiment.members, windows)]
        whole = min(begin for begin, _ in windows), max(end for _, end in windows)
        return GroupRead(
            started,
            tuple(self._member_read(times, place, counts.get(place)) for place in range(len(windows))),
            group_s=whole[1] - whole[0],
            energy_j=self._energy_j(*whole),
            energy_meter="" if self._watch is None else self._watch.meter_name,
            measured_mhz=statistics.fmean(chain.from_iterable(seen)) if any(seen) else math.nan,
            hottest_c=math.nan if self._watch is None else self._watch.hottest_c(*whole),
            notes=(*notes, *clock_notes(experiment.clock, seen)),
        )

    def _seen_mhz(self, cores: Sequence[int], from_s: float, to_s: float) -> list[float]:
        """The frequencies that were seen at cores of a member while it ran, as far as they show them."""
        means_mhz = [math.nan if self._watch is None else self._watch.mean_mhz(from_s, to_s, [core]) for core in cores]
        return [mhz for mhz in means_mhz if not math.isnan(mhz)]

    def _member_read(self, times: GroupTimes, place: int, counted: CounterReads | None) -> MemberRead:
        member = times.members[place]
        begin_s, end_s = member.window_s
        return MemberRead(
            wall_s=end_s - begin_s,
            cpu_s=member.runs[0].cpu_s,
            setup_s=begin_s - times.started_s,
            company_share=company_share(times.members, place),
            restarts=len(member.runs) - 1,
            energy_j=self._energy_j(begin_s, end_s),
            **(counted or CounterReads())._asdict(),
        )

    def _energy_j(self, from_s: float, to_s: float) -> float:
        return math.nan if self._watch is None else self._watch.energy_j(from_s, to_s)


def _writes(counters: CounterSource | None) -> bool:
    """Whether counts are written to files: only by what stands before the command line."""
    return counters is not None and counters.wrapped(()) != ()


def _cores_of(experiment: GroupExperiment) -> list[int]:
    return sorted({core for member in experiment.members for core in member.cores})


def _time_of_day_offset_s() -> float:
    """The time of day against the clock that never steps."""
    return time.time() - time.monotonic()


def _time_of_day(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")


def _step_note(step_s: float) -> tuple[str, ...]:
    return (f"the time of day stepped by {step_s:+.3g} s meanwhile",) if abs(step_s) > _STEP_S else ()


class _MachineReading:
    """Reads counters and the whole machine while a group runs; `counts` are those of first runs, by place."""

    def __init__(self, watch: Watching | None, counters: CounterSource | None, folder: Path | None) -> None:
        self._watch, self._counters, self._folder = watch, counters, folder
        self._open: list[OpenCounters] = []
        self.counts: dict[int, CounterReads] = {}

    def counted_members(self, members: Sequence[Member]) -> list[Member]:
        """The members with command lines that are counted."""
        return [self._counted(place, member) for place, member in enumerate(members)]

    def _counted(self, place: int, member: Member) -> Member:
        if self._counters is None:
            return member
        command = self._counters.wrapped(member.program.command, self._file(place))
        return replace(member, program=replace(member.program, command=command))

    def _file(self, place: int) -> Path:
        return self._folder / f"{place}.counts" if self._folder else NO_FILE

    def ready(self, processes: Sequence[int]) -> None:
        """Open counters of processes that wait, and begin to watch."""
        if self._counters is not None:
            for place, pid in enumerate(processes):
                self._open.append(self._counters.attach(pid, self._file(place)))
        if self._watch is not None:
            self._watch.forget()
            self._watch.sample()

    def changed(self) -> None:
        """Look where a member begins or ends, so that little is interpolated."""
        if self._watch is not None:
            self._watch.nudge()

    def set_up(self, place: int) -> None:
        """What was counted until now is not the program's work."""
        if self._open:
            self._open[place].begin()

    def ended(self, place: int) -> None:
        """Read the counters, before anything is started again."""
        if self._open:
            self.counts[place] = self._open[place].read()

    def close(self) -> None:
        """Give the counters back."""
        for counters in self._open:
            counters.close()

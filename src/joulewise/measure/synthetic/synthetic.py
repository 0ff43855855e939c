"""A synthetic machine: slowdowns, clocks and powers that are known, read with noise through the same door as real ones.

Nothing is slept through: a run is computed. What it reads depends on the seed, the experiment and the repetition alone,
so that a laboratory that was ended and goes on reads what it would have read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, GroupRead, MeasuredProgram, MemberRead, Way
from joulewise.measure.synthetic.machine import MADE_UP, SyntheticMachine, SyntheticProgram
from joulewise.rng import generator

METER = "synthetic"
"""What tables call the meter of a synthetic machine."""

_STARTED = "2000-01-01T00:00:00+00:00"
_FAR, _FARTHEST = 1.5, 3.0
"""An outlier takes this many times as long, at least and at most."""


@dataclass(frozen=True)
class _Course:
    """When members end for the first time, the energy until then, and when each of them was gone for good."""

    end_s: tuple[float, ...]
    energy_j: tuple[float, ...]
    gone_s: tuple[float, ...]

    def company_share(self, place: int) -> float:
        """The share of a member's time in which another was there, as a mean over the others."""
        others = self.gone_s[:place] + self.gone_s[place + 1 :]
        return fmean(min(gone_s / self.end_s[place], 1.0) for gone_s in others) if others else 1.0


@dataclass(frozen=True)
class SyntheticBench:
    """The bench of a synthetic machine."""

    machine: SyntheticMachine

    def warm_up(self, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
        """Nothing to do: says if the machine does not have the program or the cores."""
        return _unfit(self.machine, program, cores)

    def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
        """Compute what a run takes."""
        machine, members = self.machine, experiment.members
        problem = _problem(machine, experiment)
        if problem:
            return GroupRead(_STARTED, tuple(MemberRead() for _ in members), problem=problem)
        random = generator(machine.seed, experiment.group, experiment.clock.label, experiment.way, repetition)
        programs = [program for member in members if (program := machine.program(member.program.name))]
        factors = _time_factors(random, machine, len(programs))
        company = _Company(machine, programs, factors, machine.mhz(experiment.clock))
        course = _COURSES[experiment.way](company)
        meter = _factors(random, machine.energy_noise, 1)[0] if machine.has_energy else math.nan
        timed = (_timed(course, place, experiment.way, meter) for place in range(len(programs)))
        reads = tuple(_counted(random, company, place, read) for place, read in enumerate(timed))
        return GroupRead(
            _STARTED,
            reads,
            group_s=max(course.end_s),
            energy_j=max(course.energy_j) * meter,
            energy_meter=METER if machine.has_energy else "",
            measured_mhz=company.mhz,
            notes=(MADE_UP,),
        )

    def idle_w(self, clock: ClockSetting, seconds: float, number: int) -> float:  # noqa: ARG002 (a door of every bench)
        """Static power, read with noise of its own each time; NaN where the machine reads no energy."""
        if not self.machine.has_energy:
            return math.nan
        random = generator(self.machine.seed, "idle", clock.label, number)
        return self.machine.static_w * _factors(random, self.machine.energy_noise, 1)[0]


def _factors(random: np.random.Generator, noise: float, n: int) -> list[float]:
    """Factors around 1 by which readings are off."""
    factors: list[float] = np.exp(noise * random.standard_normal(n) - noise**2 / 2).tolist()
    return factors


def _time_factors(random: np.random.Generator, machine: SyntheticMachine, n: int) -> list[float]:
    """Those of times, one of which may be far off."""
    factors = _factors(random, machine.time_noise, n)
    if random.random() < machine.outlier_share:
        factors[int(random.integers(n))] *= random.uniform(_FAR, _FARTHEST)
    return factors


@dataclass(frozen=True)
class _Company:
    """Programs that run together, and by which factors their times are off."""

    machine: SyntheticMachine
    programs: Sequence[SyntheticProgram]
    factors: Sequence[float]
    mhz: float

    def others(self, place: int, running: Iterable[int]) -> list[SyntheticProgram]:
        return [self.programs[other] for other in running if other != place]

    def whole_s(self, place: int, running: Iterable[int]) -> float:
        """How long a member would take if just these ran all the time."""
        program = self.programs[place]
        slowdown = self.machine.slowdown(program, self.others(place, running), self.mhz)
        return self.machine.alone_s(program, self.mhz) * self.factors[place] * (1 + slowdown)

    def power_w(self, running: Iterable[int]) -> float:
        return self.machine.power_w([self.programs[place] for place in running], self.mhz)


def _restarted(company: _Company) -> _Course:
    """All run until every one has ended once."""
    everybody = range(len(company.programs))
    end_s = tuple(company.whole_s(place, everybody) for place in everybody)
    power_w = company.power_w(everybody)
    return _Course(end_s, tuple(power_w * end for end in end_s), (max(end_s),) * len(end_s))


def _once(company: _Company) -> _Course:
    """Those that have ended leave the others more room."""
    running = list(range(len(company.programs)))
    left = dict.fromkeys(running, 1.0)
    end_s, energy_j = dict.fromkeys(running, 0.0), dict.fromkeys(running, 0.0)
    now_s = used_j = 0.0
    while running:
        whole_s = {place: company.whole_s(place, running) for place in running}
        first = min(running, key=lambda place: left[place] * whole_s[place])
        step_s = left[first] * whole_s[first]
        left = {place: left[place] - step_s / whole_s[place] for place in running}
        now_s, used_j = now_s + step_s, used_j + step_s * company.power_w(running)
        end_s[first], energy_j[first] = now_s, used_j
        running.remove(first)
    ends_s = tuple(end_s.values())
    return _Course(ends_s, tuple(energy_j.values()), ends_s)


_COURSES = {"restart": _restarted, "once": _once}


def _timed(course: _Course, place: int, way: Way, meter: float) -> MemberRead:
    """Time and energy of a member."""
    end_s = course.end_s[place]
    n_ends = math.ceil(max(course.end_s) / end_s) if way == "restart" else 1
    share = course.company_share(place)
    return MemberRead(end_s, end_s, company_share=share, restarts=n_ends - 1, energy_j=course.energy_j[place] * meter)


def _counted(random: np.random.Generator, company: _Company, place: int, read: MemberRead) -> MemberRead:
    """What was read of a member with its counters, if there are any."""
    machine, program = company.machine, company.programs[place]
    noise = _factors(random, machine.counter_noise, 2)
    if not machine.has_counters:
        return read
    crowd = program.sensitivity * sum(other.pressure for other in company.others(place, range(len(company.programs))))
    return replace(
        read,
        instructions=program.instructions * noise[0],
        cycles=read.wall_s * company.mhz * 1e6,
        cache_misses=program.instructions * program.intensity * (1 + machine.miss_rise * crowd) * noise[1],
    )


def _problem(machine: SyntheticMachine, experiment: GroupExperiment) -> str:
    """Why the machine cannot run an experiment, or nothing."""
    problems = [
        _unknown(machine, member.program.name) or _misplaced(machine, member.cores) for member in experiment.members
    ]
    mhz = experiment.clock.frequency_mhz
    if mhz is not None and mhz not in machine.frequencies_mhz:
        offered = ", ".join(f"{known_mhz:g}" for known_mhz in machine.frequencies_mhz)
        problems.append(f"found {mhz:g} MHz; the synthetic machine has {offered} MHz")
    return "; ".join(filter(None, dict.fromkeys(problems)))


def _unfit(machine: SyntheticMachine, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
    return _unknown(machine, program.name) or _misplaced(machine, cores)


def _unknown(machine: SyntheticMachine, name: str) -> str:
    if machine.program(name):
        return ""
    names = ", ".join(program.name for program in machine.programs)
    return f"found the program {name!r}; the synthetic machine has {names}"


def _misplaced(machine: SyntheticMachine, cores: tuple[int, ...]) -> str:
    beyond = [core for core in cores if not 0 <= core < machine.cores]
    return f"found core {beyond[0]}; the synthetic machine has cores 0 to {machine.cores - 1}" if beyond else ""

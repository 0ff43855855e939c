"""What the laboratory runs and what it reads: programs, experiments, and one result for every member of a group.

A bench is anything that can run an experiment: this machine, or a synthetic one whose slowdowns and powers are known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

Way = Literal["restart", "once"]
"""What happens to members that end early.

With "restart" they are started again until every member has ended once, so that no member is ever alone; with "once"
they are not, as published, so that the energy until the last has ended is that of running each of them once.
"""


@dataclass(frozen=True)
class MeasuredProgram:
    """A command line to be measured, with the name that tables give it.

    `warm_up` runs are made before the first measured one. `time_limit_s` ends a run that hangs. A program that writes a
    byte to the file descriptor in the variable JOULEWISE_BEGIN is measured from that moment, without its set-up. One
    that `waits` then reads a byte from the one in JOULEWISE_GO, works, and does both again until it reads nothing: it
    begins together with the others, and starting it again costs nothing. `content` tells builds of a user's own program
    apart; it is empty for programs of the system.
    """

    name: str
    command: tuple[str, ...]
    folder: str = "."
    environment: tuple[tuple[str, str], ...] = ()
    warm_up: int = 1
    time_limit_s: float = 3600.0
    waits: bool = False
    content: str = ""


@dataclass(frozen=True)
class Member:
    """A program of a group and the cores it is pinned to."""

    program: MeasuredProgram
    cores: tuple[int, ...]


@dataclass(frozen=True)
class ClockSetting:
    """How fast cores are asked to run: a frequency, or a governor of the system; as they are where both are missing."""

    frequency_mhz: float | None = None
    governor: str | None = None

    @property
    def label(self) -> str:
        """What tables call it."""
        if self.frequency_mhz is not None:
            return f"{self.frequency_mhz:g} MHz"
        return self.governor or "as is"


def group_name(programs: Iterable[str]) -> str:
    """What tables call programs that run together, sorted: "canneal + streamcluster", "2 canneal + bodytrack"."""
    counts = sorted(Counter(programs).items())
    return " + ".join(name if n == 1 else f"{n} {name}" for name, n in counts)


@dataclass(frozen=True)
class GroupExperiment:
    """A group of programs at one clock in one way; one member alone is a baseline."""

    members: tuple[Member, ...]
    clock: ClockSetting = ClockSetting()
    way: Way = "restart"

    @property
    def group(self) -> str:
        """The name of its group."""
        return group_name(member.program.name for member in self.members)


@dataclass(frozen=True)
class MemberRead:
    """What was read of one member, from its beginning to its first end; NaN is what could not be read.

    `setup_s` reaches from the start of the run to the member's beginning: its set-up, and that of others it waits for.
    `energy_j` is what the meter counted meanwhile, `company_share` the share of that time in which another member
    was running past its set-up, as a mean over the others (1 for a baseline).
    """

    wall_s: float = math.nan
    cpu_s: float = math.nan
    setup_s: float = 0.0
    company_share: float = math.nan
    restarts: int = 0
    instructions: float = math.nan
    cycles: float = math.nan
    cache_misses: float = math.nan
    energy_j: float = math.nan


@dataclass(frozen=True)
class GroupRead:
    """What was read of one run of an experiment; `problem` says why it does not count, if it does not.

    `started` is the time of day in UTC (ISO 8601), `group_s` and `energy_j` reach from the first member's beginning to
    the last one's first end. `notes` are remarks that leave the run valid, such as a machine that was not idle.
    """

    started: str
    members: tuple[MemberRead, ...]
    group_s: float = math.nan
    energy_j: float = math.nan
    energy_meter: str = ""
    measured_mhz: float = math.nan
    hottest_c: float = math.nan
    problem: str = ""
    notes: tuple[str, ...] = field(default=())


class MeasuringBench(Protocol):
    """What can run experiments."""

    def warm_up(self, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
        """One unmeasured run; why it failed, or nothing."""
        ...

    def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
        """One run of an experiment. Never raises for what a program does: that is its `problem`."""
        ...

    def idle_w(self, clock: ClockSetting, seconds: float, number: int) -> float:
        """The mean power with nothing running; NaN where no meter reads energy. `number` counts such readings."""
        ...

"""The keys of a plan file, one class for each of its sections: types, bounds, defaults and meaning."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from joulewise import units
from joulewise.errors import as_written
from joulewise.measure.bench.bench import Way
from joulewise.measure.bench.bundled import KERNELS, LEAST_BYTES, USUAL_SECONDS

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
PROGRAM = r"^[A-Za-z][A-Za-z0-9._-]*$"
"""Program names begin with a letter, so that "2 canneal" always means two of them."""


@dataclass(frozen=True)
class PlanQuantity:
    """Marks a number that a plan gives as text with a unit."""

    kind: str
    example: str
    parse: Callable[[str], float]
    show: Callable[[float], str]

    def read(self, value: object) -> float:
        """The number in SI, MHz or bytes; ValueError says what is allowed."""
        if isinstance(value, str):
            return self.parse(value)
        allowed = f'must be text with one, for example "{self.example}"'
        raise ValueError(f"found {as_written(value)} without a unit; {allowed}")


_DURATION = PlanQuantity("duration", "10 min", units.seconds, units.duration)
_FREQUENCY = PlanQuantity("frequency", "2.4 GHz", units.megahertz, lambda mhz: f"{mhz:g} MHz")
_SIZE = PlanQuantity("size", "64 MB", units.n_bytes, units.size)
_POWER = PlanQuantity("power", "55 W", units.watts, units.power)

AnyDuration = Annotated[float, _DURATION, BeforeValidator(_DURATION.read), Field(ge=0)]
Duration = Annotated[float, _DURATION, BeforeValidator(_DURATION.read), Field(gt=0)]
Frequency = Annotated[float, _FREQUENCY, BeforeValidator(_FREQUENCY.read), Field(gt=0)]
Size = Annotated[float, _SIZE, BeforeValidator(_SIZE.read)]
Power = Annotated[float, _POWER, BeforeValidator(_POWER.read), Field(gt=0)]
ProgramName = Annotated[str, Field(pattern=PROGRAM, max_length=60)]
Core = Annotated[int, Field(ge=0)]
CoreSet = Annotated[list[Core], Field(min_length=1)]
CoreSets = Annotated[list[CoreSet], Field(min_length=1)]
Group = Annotated[list[str], Field(min_length=2)]


class PlanSection(BaseModel):
    """A table of a plan file: exact types, and no key that means nothing."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class PlanHeading(PlanSection):
    """What a plan says outside its sections."""

    name: Annotated[str, Field(pattern=NAME, max_length=100)] = Field(
        description="name of the plan and of its folder: letters, digits, '.', '_' and '-'"
    )
    description: str = Field("", description="what is measured and why, shown in the report")
    seed: Annotated[int, Field(ge=0)] = Field(0, description="the order of runs and the sampled groups follow from it")
    repetitions: Annotated[int, Field(ge=1, le=1000)] = Field(
        5, description="how often each experiment is run; intervals need 2, the rule for outliers 5"
    )
    ways: Annotated[list[Way], Field(min_length=1)] = Field(
        ["restart"],
        description='members that end early are started again ("restart"), or are not ("once": Friese 2015, chapter 8)',
    )
    cores: Literal["separate", "siblings", "any"] | CoreSet | CoreSets = Field(
        "separate",
        description=(
            "where members are pinned: separate physical cores (and their siblings where these run out, with a note), "
            "siblings of the same ones (both only of the fastest kind), not at all (any), or a list with a core, or a "
            "list of cores, for each of them"
        ),
    )


class ProgramSection(PlanSection):
    """A program: a command line, or a bundled kernel."""

    name: ProgramName = Field(description="what tables call it")
    command: str | list[str] | None = Field(None, description="its command line: text, or a list of its words")
    folder: str = Field(".", description="where it runs, relative to the plan")
    environment: dict[str, str] = Field({}, description="variables on top of those of the laboratory")
    kernel: str | None = Field(None, description=f"a bundled kernel in place of a command: {', '.join(KERNELS)}")
    footprint: Size | None = Field(
        None, description=f"memory that the kernel works on, {LEAST_BYTES} B or more; follows the caches by default"
    )
    seconds: Duration | None = Field(None, description="about how long the kernel runs alone; 5 s by default")
    takes: Duration | None = Field(
        None, description="about how long it runs alone, for the estimate before anything has run"
    )
    warm_up: Annotated[int, Field(ge=0, le=100)] = Field(1, description="unmeasured runs before the first one")
    time_limit: Duration = Field(3600.0, description="a run that takes longer is ended and does not count")
    cores: CoreSet | None = Field(None, description="cores of its own, in place of those of its place in a group")

    @property
    def words(self) -> tuple[str, ...]:
        """The command line as words; ValueError where quotes do not match."""
        return tuple(shlex.split(self.command) if isinstance(self.command, str) else self.command or ())

    @property
    def identity(self) -> str:
        """What a calibration of a bundled kernel is for."""
        return f"{self.kernel} on {self.footprint or 'its caches'} for {self.seconds or USUAL_SECONDS:g} s"


class Sample(PlanSection):
    """How many groups of one size to choose."""

    size: Annotated[int, Field(ge=2, le=64)] = Field(description="programs in each group")
    n: Annotated[int, Field(ge=1)] | None = Field(
        None, description="how many groups, no more than there are to choose from; as many as pairs by default"
    )


class Together(PlanSection):
    """Which programs run together; each runs alone as well."""

    pairs: Literal["all", "none"] | list[Group] = Field(
        "all", description="every pair, also of a program with itself (all); none; or a list of pairs"
    )
    groups: list[Group] = Field([], description='chosen groups: [["a", "b", "b", "c"], ...]')
    all_of_size: list[Annotated[int, Field(ge=2, le=64)]] = Field(
        [], description="sizes of which every group is run, also those that hold a program more than once"
    )
    sampled: list[Sample] = Field(
        [],
        description=(
            "sizes of which some groups are run, chosen so that they show the effect of every program on every "
            "other: [{ size = 4, n = 20 }]"
        ),
    )


class ClockSection(PlanSection):
    """The clocks at which everything is run; left out, as the machine has it."""

    frequencies: Literal["all"] | list[Frequency] = Field(
        [], description='frequencies: ["1.6 GHz", "3.4 GHz"], or all that every core offers, without turbo'
    )
    governors: list[str] = Field([], description='governors of the system: ["performance", "powersave"]')


class Meter(PlanSection):
    """What reads energy; left out, RAPL where the machine has it and lets us."""

    command: str | list[str] | None = Field(
        None, description='a command that prints watts, such as "ipmitool dcmi power reading"'
    )
    csv: str | None = Field(None, description="a table of an external meter, relative to the plan, aligned by time")
    column: str = Field(
        "", description="the heading of watts in the table (or of J, Wh, kWh counted so far), where it is not found"
    )
    time_zone: str = Field("UTC", description="of the times in the table that do not say theirs: Europe/Berlin, +02:00")
    ahead: float = Field(0.0, description="seconds by which the meter's clock is ahead of the machine's")
    every: Duration = Field(1.0, description="time between two readings of the command")
    idle: Duration = Field(
        5.0,
        description="how long the power of the idle machine is read at each clock, in parts spread over the runs",
    )


class Idle(PlanSection):
    """When the machine is quiet enough for a run."""

    most_busy: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="share of processor time that others may use before a run, of all cores and of each member's"
    )
    wait: AnyDuration = Field(
        10.0, description="how long to wait for that at most (0 s: not at all); then the run is made, with a note"
    )

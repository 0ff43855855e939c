"""The section [synthetic] of a plan: the keys of a machine that is made up, and the machine that they give."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from joulewise.measure.plan.keys import Duration, PlanSection, Power, ProgramName
from joulewise.measure.synthetic.machine import LIKE_PUBLISHED, SyntheticMachine, SyntheticProgram

_USUAL = SyntheticMachine()

Share = Annotated[float, Field(ge=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]


class SyntheticProgramSection(PlanSection):
    """A program of the machine: everything must be said of it."""

    name: ProgramName = Field(description="name of the program, as in [[program]]")
    alone: Duration = Field(description="time alone at the highest clock")
    share_scaled: Share = Field(description="share of that time that goes with one over the clock")
    dynamic: Power = Field(description="power that it adds at the highest clock")
    instructions: Annotated[float, Field(ge=1)] = Field(description="instructions of one run")
    intensity: Share = Field(description="cache misses per instruction alone")
    sensitivity: NotNegative = Field(description="slowdown beside a program with the pressure 1")
    pressure: NotNegative = Field(description="slowdown of a program with the sensitivity 1 beside it")


class SyntheticSection(PlanSection):
    """A machine that is simulated in place of this one."""

    seed: Annotated[int, Field(ge=0)] = Field(_USUAL.seed, description="seed of the noise")
    cores: Annotated[int, Field(ge=1, le=4096)] = Field(_USUAL.cores, description="number of cores")
    frequencies: Annotated[list[Annotated[float, Field(ge=1)]], Field(min_length=1)] = Field(
        list(_USUAL.frequencies_mhz), description="frequencies in MHz"
    )
    static: Power = Field(_USUAL.static_w, description="power that is drawn whatever runs")
    power_exponent: NotNegative = Field(
        _USUAL.power_exponent, description="dynamic power goes with the clock to this power"
    )
    curvature: Annotated[float, Field(ge=-1, le=10)] = Field(
        _USUAL.curvature, description="0: slowdowns add up; above: several are worse than their sum"
    )
    miss_rise: NotNegative = Field(
        _USUAL.miss_rise, description="how much more often caches miss for each slowdown of 1"
    )
    time_noise: Share = Field(_USUAL.time_noise, description="relative noise of times")
    energy_noise: Share = Field(_USUAL.energy_noise, description="relative noise of energies")
    counter_noise: Share = Field(_USUAL.counter_noise, description="relative noise of counters")
    outlier_share: Share = Field(_USUAL.outlier_share, description="share of runs that take far longer")
    counters: bool = Field(_USUAL.has_counters, description="whether counters can be read")
    energy: bool = Field(_USUAL.has_energy, description="whether energy can be read")
    program: list[SyntheticProgramSection] = Field(
        [], description="its programs, each as [[synthetic.program]]; left out, four like the published ones"
    )


_FIELDS = {"alone": "alone_s", "dynamic": "dynamic_w", "static": "static_w", "counters": "has_counters",
           "energy": "has_energy"}  # fmt: skip
"""What the machine and its programs call a key, where that is another name."""


def synthetic_machine(section: SyntheticSection) -> SyntheticMachine:
    """The machine that a section describes."""
    programs = tuple(SyntheticProgram(**_fields(program)) for program in section.program)
    steps = tuple(sorted(set(section.frequencies)))
    rest = _fields(section, but=("program", "frequencies"))
    return SyntheticMachine(programs=programs or LIKE_PUBLISHED, frequencies_mhz=steps, **rest)


def _fields(section: PlanSection, but: tuple[str, ...] = ()) -> dict[str, Any]:
    return {_FIELDS.get(key, key): getattr(section, key) for key in type(section).model_fields if key not in but}

"""A machine of which everything is known: how its programs slow each other, what clocks do, what power is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from joulewise.measure.bench.bench import ClockSetting

MADE_UP = "read of a synthetic machine"
"""The note on every run of such a machine, so that it is not taken for evidence."""
_SLOW_GOVERNOR = "powersave"
GOVERNORS = ("performance", _SLOW_GOVERNOR)
"""The governors of such a machine."""


@dataclass(frozen=True)
class SyntheticProgram:
    """A program of which everything is known.

    It takes `alone_s` at the highest clock, of which `share_scaled` is in proportion to one over the clock. Beside a
    program it takes its own sensitivity times the other's pressure longer, as a share of `alone_s`. `dynamic_w` is what
    it adds to the power at the highest clock, `intensity` its cache misses per instruction.
    """

    name: str
    alone_s: float
    share_scaled: float
    dynamic_w: float
    instructions: float
    intensity: float
    sensitivity: float
    pressure: float


LIKE_PUBLISHED = (
    SyntheticProgram("canneal", 131.0, 0.45, 5.0, 1.6e11, 2.25e-2, 1.0, 0.10),
    SyntheticProgram("streamcluster", 377.0, 0.50, 5.0, 6.4e11, 1.64e-2, 1.0, 0.15),
    SyntheticProgram("blackscholes", 151.0, 0.97, 7.0, 7.7e11, 2.29e-5, 0.10, 0.010),
    SyntheticProgram("bodytrack", 152.0, 0.95, 8.0, 6.2e11, 7.44e-6, 0.12, 0.010),
)
"""Programs like the four of the published quad-core i7: their intensities, and about their energies alone."""


@dataclass(frozen=True)
class SyntheticMachine:
    """A machine of which everything is known; frequencies are in MHz.

    Slowdowns of several neighbours add up if `curvature` is 0; a sum x of them becomes x (1 + curvature x). What others
    cost a program are seconds in memory, the same at every clock. Dynamic power is in proportion to the clock to the
    power of `power_exponent`. A program misses the cache `1 + miss_rise x` times as often beside others. Times,
    energies and counters are read with relative noise; `outlier_share` of all runs take far longer. A machine without
    counters or energy reads none.
    """

    programs: tuple[SyntheticProgram, ...] = LIKE_PUBLISHED
    frequencies_mhz: tuple[float, ...] = (1700.0, 2100.0, 2500.0, 3000.0, 3400.0)
    cores: int = 4
    static_w: float = 55.0
    power_exponent: float = 2.5
    curvature: float = 0.0
    miss_rise: float = 2.0
    time_noise: float = 0.01
    energy_noise: float = 0.01
    counter_noise: float = 0.01
    outlier_share: float = 0.0
    has_counters: bool = True
    has_energy: bool = True
    seed: int = 0

    @property
    def names(self) -> list[str]:
        """The names of its programs."""
        return [program.name for program in self.programs]

    @property
    def highest_mhz(self) -> float:
        return max(self.frequencies_mhz)

    def program(self, name: str) -> SyntheticProgram | None:
        """The program of this name, if there is one."""
        return next((program for program in self.programs if program.name == name), None)

    def mhz(self, clock: ClockSetting) -> float:
        """The frequency that a clock comes to: the lowest of all for the governor powersave, else the highest."""
        if clock.frequency_mhz is not None:
            return clock.frequency_mhz
        return min(self.frequencies_mhz) if clock.governor == _SLOW_GOVERNOR else self.highest_mhz

    def alone_s(self, program: SyntheticProgram, mhz: float) -> float:
        """How long a program takes alone."""
        return program.alone_s * (1 - program.share_scaled + program.share_scaled * self.highest_mhz / mhz)

    def slowdown(self, program: SyntheticProgram, beside: Sequence[SyntheticProgram], mhz: float) -> float:
        """How much longer than alone it takes beside others, as a share of its time alone at that clock."""
        total = program.sensitivity * sum(other.pressure for other in beside)
        return total * (1 + self.curvature * total) * program.alone_s / self.alone_s(program, mhz)

    def power_w(self, running: Sequence[SyntheticProgram], mhz: float) -> float:
        """The power of the whole machine while these run."""
        return self.static_w + self.dynamic_share(mhz) * sum(program.dynamic_w for program in running)

    def dynamic_share(self, mhz: float) -> float:
        """Dynamic power as a share of that at the highest clock."""
        return float((mhz / self.highest_mhz) ** self.power_exponent)

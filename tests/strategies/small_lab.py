"""A small laboratory without a machine: programs that take no time, on a bench that only says what it was asked.

And one with a machine, to be killed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, GroupRead, MeasuredProgram, MemberRead
from joulewise.measure.bench.laboratory import Setting, measure
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.machine.machine import Machine
from joulewise.measure.plan.plan import Plan, parse_plan

MACHINE = Machine("small", (0, 1, 2, 3), ((0, 1), (2, 3)))

SYNTHETIC = """
name = "syn"
description = "Two made-up programs."
repetitions = 2
[[program]]
name = "canneal"
[[program]]
name = "bodytrack"
[synthetic]
"""
TEXT = """
name = "small"
repetitions = 3
[[program]]
name = "a"
command = "true"
[[program]]
name = "b"
command = ["true", "-x"]
"""
N_RUNS = 15  # a, b, 2 a, a + b, 2 b; three times


def small_plan(more: str = "", text: str = TEXT, folder: Path = Path()) -> Plan:
    """The small plan, with more lines at its end."""
    return parse_plan(text + more, "small.toml", folder)


@dataclass
class FakeBench:
    """Runs nothing; `problem` says which runs fail, `pause_s` how long each takes."""

    problem: Callable[[GroupExperiment], str] = lambda _: ""
    pause_s: float = 0.0
    made: list[tuple[str, int]] = field(default_factory=list)
    warmed: list[str] = field(default_factory=list)

    def warm_up(self, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
        self.warmed.append(program.name)
        return ""

    def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
        time.sleep(self.pause_s)
        self.made.append((experiment.group, repetition))
        reads = tuple(MemberRead(wall_s=1.0 + repetition, company_share=1.0) for _ in experiment.members)
        return GroupRead("2026-01-01T00:00:00.000+00:00", reads, 1.0, problem=self.problem(experiment))

    def idle_w(self, clock: ClockSetting, seconds: float, number: int) -> float:
        return 50.0


def main() -> None:
    """Measure the small plan into a folder, slowly enough to be killed meanwhile."""
    measure(small_plan(), Path(sys.argv[1]), Setting(MACHINE, FakeBench(pause_s=0.02)))


REAL = """
name = "real"
repetitions = 4
cores = "any"
[[program]]
name = "one"
command = ["sh", "-c", "sleep 0.05"]
[[program]]
name = "many"
command = ["sh", "-c", "setsid sleep 60 & sleep 0.03 & wait $!"]
"""
N_REAL_RUNS = 20


def real_main() -> None:
    """Measure programs that really run, some of which leave others behind."""
    cores = tuple(sorted(os.sched_getaffinity(0)))[:2]
    machine = Machine("real", cores, tuple((core,) for core in cores))
    measure(small_plan(text=REAL), Path(sys.argv[1]), Setting(machine, MachineBench(cores)))


if __name__ == "__main__":
    main()

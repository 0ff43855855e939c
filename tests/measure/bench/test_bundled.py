"""Bundled kernels: against plain Python, sized by caches, with the work that takes as long as asked."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.kernels.bundled import STEPS
from joulewise.measure.bench.bench import ClockSetting, GroupExperiment, GroupRead, MeasuredProgram, Member, MemberRead
from joulewise.measure.bench.bundled import (
    KERNELS,
    kernel_program,
    rounds_for,
    usual_bytes,
)
from joulewise.measure.bench.bundled_kernels import KERNELS as BODIES
from joulewise.measure.bench.bundled_kernels import prepared
from joulewise.measure.bench.machine_bench import MachineBench
from joulewise.measure.machine.machine import Cache, Machine
from tests.twins import bundled

CORES = tuple(sorted(os.sched_getaffinity(0)))
ROUNDS_AND_CORES = ((10_000, CORES[0]), (40_000, CORES[-1]))
CACHES = (
    Cache(1, "Data", 32 << 10, (0,)),
    Cache(1, "Instruction", 64 << 10, (0,)),
    Cache(2, "Unified", 1 << 20, (0,)),
    Cache(3, "Unified", 16 << 20, (0, 1)),
)
MACHINE = Machine("M", (0, 1), ((0,), (1,)), CACHES, memory_bytes=8 << 30)
TWINS: dict[str, Any] = {
    "triad": lambda _, b, c, rounds: bundled.triad(b, c, rounds),
    "chase": lambda next_of, rounds: bundled.chase(next_of, rounds * STEPS),
    "stencil": lambda cells, _, rounds: bundled.stencil(cells, rounds),
    "black_scholes": lambda spot, strike, _, rounds: bundled.black_scholes(spot, strike, rounds),
    "matmul": lambda a, b, _, rounds: bundled.matmul(a, b, rounds),
    "branchy": bundled.branchy,
}


def lists_of(arrays: tuple[np.ndarray[Any, Any], ...]) -> list[Any]:
    return [array.tolist() for array in arrays]


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_does_the_work_of_its_twin(name: str) -> None:
    _, filled = BODIES[name]
    n_bytes = 4096
    twin = TWINS[name](*lists_of(filled(n_bytes // 8)), 5)
    assert prepared(name, n_bytes)(5) == pytest.approx(twin, rel=1e-9)


def test_a_chase_visits_every_line() -> None:
    (next_of,) = BODIES["chase"][1](800)
    at, seen = 0, set()
    while at not in seen:
        seen.add(at)
        at = int(next_of[at])
    assert seen == set(range(0, 800, 8))


def test_sizes_follow_the_caches_and_the_memory() -> None:
    sizes = {name: usual_bytes(name, MACHINE) for name in KERNELS}
    assert sizes["triad"] == sizes["chase"] == 4 * sizes["stencil"] == 64 << 20
    assert sizes["matmul"] == 512 << 10
    assert sizes["branchy"] == sizes["black_scholes"] == 16 << 10
    small = Machine("M", (0,), ((0,),), CACHES, memory_bytes=64 << 20)
    assert usual_bytes("triad", small) == 8 << 20
    assert usual_bytes("triad", Machine("M", (0,), ((0,),))) == 128 << 20


class Steady:
    """A bench on which every round takes the same time."""

    def __init__(self, round_s: float, problem: str = "") -> None:
        self.round_s, self.problem, self.n_runs = round_s, problem, 0

    def warm_up(self, program: MeasuredProgram, cores: tuple[int, ...]) -> str:
        return self.problem

    def run(self, experiment: GroupExperiment, repetition: int) -> GroupRead:
        self.n_runs += 1
        (member,) = experiment.members
        return GroupRead("", (MemberRead(int(member.program.command[-1]) * self.round_s),), problem=self.problem)

    def idle_w(self, clock: ClockSetting, seconds: float, number: int) -> float:
        return math.nan


@pytest.mark.parametrize("round_s", [1e-6, 1e-3, 0.7, 30.0])
def test_rounds_take_as_long_as_asked(round_s: float) -> None:
    bench = Steady(round_s)
    rounds = rounds_for("triad", 64 << 20, 2.0, bench, (0,))
    assert rounds == max(1, round(2.0 / round_s))
    assert bench.n_runs <= 5


def test_a_kernel_that_does_not_run_is_told() -> None:
    with pytest.raises(InputError, match=r"triad: ended with code 3; run the command by hand: .*triad --bytes 4096"):
        rounds_for("triad", 4096, 1.0, Steady(1.0, "ended with code 3"), (0,))


@pytest.mark.thorough("starts processes and takes seconds")
def test_kernels_run_as_programs_that_begin_together_and_are_never_alone() -> None:
    members = tuple(Member(kernel_program("branchy", 4096, rounds), (core,)) for rounds, core in ROUNDS_AND_CORES)
    read = MachineBench(CORES).run(GroupExperiment(members), 0)
    assert read.problem == ""
    assert sum(member.restarts for member in read.members) > 0
    assert all(member.company_share > 0 and member.setup_s > 0 and member.wall_s > 0 for member in read.members)

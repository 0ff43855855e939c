"""The bundled kernels: what they are, how large they are on a machine, and how much work takes how long."""

from __future__ import annotations

import sys
from typing import Literal, NamedTuple

from joulewise.errors import InputError, Problem
from joulewise.measure.bench.bench import GroupExperiment, MeasuredProgram, MeasuringBench, Member
from joulewise.measure.machine.machine import Machine

Level = Literal["first", "second", "last"]


class Kernel(NamedTuple):
    """A bundled kernel: its size as a multiple of a cache, and about how long a round takes for each byte of it."""

    name: str
    meaning: str
    level: Level
    multiple: float
    round_ns_per_byte: float
    round_ns: float = 0.0

    @property
    def usual_size(self) -> str:
        """How large it is where a plan does not say, in words."""
        return f"{self.multiple:g} x the {self.level} cache, at most 1/{_MEMORY_SHARE} of the memory"


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("triad", "a = b + scale * c over long arrays: bound by how much memory can deliver", "last", 4.0, 0.1),
        Kernel("chase", "a pointer followed in random order: bound by how soon memory answers", "last", 4.0, 0.0, 5e5),
        Kernel("stencil", "means of neighbours on a grid as large as the last cache: bound by it", "last", 1.0, 0.3),
        Kernel("matmul", "a product of matrices in the second cache: bound by the core", "second", 0.5, 5.0),
        Kernel("black_scholes", "prices of options in the first cache: bound by the core", "first", 0.5, 5.0),
        Kernel("branchy", "integer choices that nobody can foresee, in the first cache", "first", 0.5, 2.0),
    )
}
"""By name, from bound by memory to bound by the core."""

USUAL_SECONDS = 5.0
"""How long a run takes where a plan does not say."""

_USUAL_CACHE_BYTES: dict[Level, int] = {"first": 32 << 10, "second": 512 << 10, "last": 32 << 20}
"""Sizes where the system does not tell them."""

LEAST_BYTES = 4096
"""No kernel works on less."""

_MEMORY_SHARE = 8
"""No kernel takes more than this part of the memory: eight run beside each other."""

_ENOUGH_S = 0.1
"""A run that is shorter tells too little of how long a longer one takes."""

_GROWTH = 16
_MOST_TRIES = 8


def usual_bytes(kernel: str, machine: Machine) -> int:
    """The size of a kernel on a machine, by its caches."""
    of = KERNELS[kernel]
    most = machine.memory_bytes // _MEMORY_SHARE if machine.memory_bytes else sys.maxsize
    return max(min(int(of.multiple * _cache_bytes(machine, of.level)), most), LEAST_BYTES)


def _cache_bytes(machine: Machine, level: Level) -> int:
    """The largest cache of a level that data goes through; the usual one where the system tells none."""
    data = [cache for cache in machine.caches if cache.kind != "Instruction"]
    caches = {
        "first": [cache for cache in data if cache.level == 1],
        "second": [cache for cache in data if cache.level == 2],
        "last": list(machine.last_level),
    }
    return max((cache.size_bytes for cache in caches[level]), default=_USUAL_CACHE_BYTES[level])


def kernel_program(kernel: str, n_bytes: int, rounds: int) -> MeasuredProgram:
    """A kernel as a program."""
    program = (sys.executable, "-P", "-m", "joulewise.measure.bench.bundled_program")
    sizes = ("--bytes", str(n_bytes), "--rounds", str(rounds))
    return MeasuredProgram(kernel, (*program, kernel, *sizes), waits=True)


def rounds_for(kernel: str, n_bytes: int, seconds: float, bench: MeasuringBench, cores: tuple[int, ...]) -> int:
    """How many rounds take about this long alone on some cores; found by short runs and one as long as asked for.

    InputError when it does not run.
    """
    of = KERNELS[kernel]
    rounds = max(1, round(2e9 * _ENOUGH_S / (of.round_ns + of.round_ns_per_byte * n_bytes)))
    for _ in range(_MOST_TRIES):
        wall_s = _seconds_of(kernel_program(kernel, n_bytes, rounds), bench, cores)
        if wall_s >= min(_ENOUGH_S, seconds):
            break
        rounds *= _GROWTH
    rounds = max(1, round(rounds * seconds / wall_s))
    return max(1, round(rounds * seconds / _seconds_of(kernel_program(kernel, n_bytes, rounds), bench, cores)))


def _seconds_of(program: MeasuredProgram, bench: MeasuringBench, cores: tuple[int, ...]) -> float:
    read = bench.run(GroupExperiment((Member(program, cores),), way="once"), 0)
    if read.problem:
        advice = "run the command by hand: " + " ".join(program.command)
        raise InputError(Problem(program.name, read.problem, advice=advice))
    return read.members[0].wall_s

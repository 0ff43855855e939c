"""Four models of GPU that train six networks, as measured; P-states are power limits.

The table is made by `tools/gpus.py` from the traces of Zeus. P-states are sorted by the time of the task, and those
that draw no less power than a faster one are left out, so that a P-state may be another limit for another task type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.worlds.environment import MAX_MACHINES
from joulewise.worlds.idle import IdleParameters, idle_problems, with_idle_power
from joulewise.worlds.outages import FailureParameters, failure_problems
from joulewise.worlds.packaged import packaged_table
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative
from joulewise.worlds.uncertain import UncertainParameters, uncertain_problems

TABLE = "gpus.csv"
GPU_TYPES = ("P100", "V100", "RTX 6000", "A40")


@dataclass(frozen=True)
class GpuParameters(FailureParameters, IdleParameters, UncertainParameters):
    """How many GPUs of each model there are. Raises InputError with every problem found."""

    counts: tuple[int, ...] = explained((8,) * len(GPU_TYPES), f"number of GPUs of each model: {', '.join(GPU_TYPES)}")

    def __post_init__(self) -> None:
        problems = (_value_problems(self), idle_problems(self), failure_problems(self), uncertain_problems(self))
        raise_if_any(problem for group in problems for problem in group)


def gpu_system(parameters: GpuParameters) -> System:
    """The measured system, the same for every seed."""
    table = packaged_table(TABLE)
    system = System(table.task_types, table.machine_types, np.array(parameters.counts), table.etc_s, table.power_w)
    return with_idle_power(system, parameters.idle_percent)


def _value_problems(p: GpuParameters) -> Iterator[Problem]:
    rules = [
        ("counts", len(p.counts) == len(GPU_TYPES), f"must be {len(GPU_TYPES)} numbers, for {', '.join(GPU_TYPES)}"),
        ("counts", is_not_negative(*p.counts), "must be 0 or more GPUs of each model"),
        ("counts", 1 <= sum(p.counts) <= MAX_MACHINES, f"must be from 1 to {MAX_MACHINES:,} in all"),
    ]
    yield from broken_rules("system", p, rules)

"""Special-purpose machine types that run a few task types much faster than the others (Friese 5.3.4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem
from joulewise.model import System
from joulewise.model.arrays import Counts, Floats
from joulewise.worlds.groups import SPECIAL
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive, numbered


@dataclass(frozen=True, kw_only=True)
class SpecialParameters:
    """Special-purpose machine types beside the others; by default there are none."""

    special_counts: tuple[int, ...] = explained((), "number of machines of each special-purpose machine type")
    special_per_machine_type: tuple[int, int] = explained(
        (2, 3), "least and most task types that one special-purpose machine type runs; no two run the same"
    )
    special_speed_up: float = explained(
        10.0, "mean time on the other machine types over the time on a special-purpose one, at their mean power"
    )


def special_problems(p: SpecialParameters, n_task_types: int) -> Iterator[Problem]:
    """What is wrong with these parameters of a system with this many task types."""
    least, most = p.special_per_machine_type
    n_needed = len(p.special_counts) * most
    rules = [
        ("special_counts", is_not_negative(*p.special_counts), "must be 0 or more machines of each type"),
        ("special_per_machine_type", 1 <= least <= most, "must be (least, most), least first and 1 or more"),
        (
            "special_counts",
            n_needed <= n_task_types,
            f"{most} task types for each need {n_needed}; there are {n_task_types}",
        ),
        ("special_speed_up", is_positive(p.special_speed_up), "must be above 0"),
    ]
    yield from broken_rules("system", p, rules)


def with_special_types(system: System, parameters: SpecialParameters, stream: np.random.Generator) -> System:
    """The system with special-purpose machine types after its own, each for task types drawn for it alone.

    They have one P-state: that many times as fast as the others on average in P-state 0, at their average power.
    """
    n_special = len(parameters.special_counts)
    if n_special == 0:
        return system
    assert system.power_w is not None
    task_types, homes = _drawn_homes(parameters, system.n_task_types, stream)
    etc_s = np.full((system.n_task_types, n_special, system.n_pstates), np.inf)
    power_w = np.zeros(etc_s.shape)
    etc_s[task_types, homes, 0] = system.mean_etc_s[task_types] / parameters.special_speed_up
    power_w[task_types, homes, 0] = _mean_power_w(system)[task_types]
    return System(
        task_types=system.task_types,
        machine_types=(*system.machine_types, *numbered("special-machine", n_special)),
        counts=np.concatenate((system.counts, parameters.special_counts)),
        etc_s=np.concatenate((system.etc_s, etc_s), axis=1),
        power_w=np.concatenate((system.power_w, power_w), axis=1),
        machine_group=(*system.machine_group, *(SPECIAL,) * n_special),
    )


def _drawn_homes(
    parameters: SpecialParameters, n_task_types: int, stream: np.random.Generator
) -> tuple[Counts, Counts]:
    """The task types that are special, and the special-purpose machine type of each."""
    least, most = parameters.special_per_machine_type
    n_special = len(parameters.special_counts)
    homes = np.repeat(np.arange(n_special), stream.integers(least, most, n_special, endpoint=True))
    return stream.permutation(n_task_types)[: homes.size], homes


def _mean_power_w(system: System) -> Floats:
    """Mean power of each task type in P-state 0 over the machine types that can run it."""
    assert system.power_w is not None
    total_w = np.where(system.can_run, system.power_w[:, :, 0], 0.0).sum(axis=1)
    return np.asarray(total_w / system.can_run.sum(axis=1))

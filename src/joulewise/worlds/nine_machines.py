"""Nine desktop machines and five benchmarks, and more task types like them (Friese 5.3.4, 6.6; Tarplee V).

The published measurements are not available; the table is a stand-in of ours, made by `tools/nine_machines.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.rng import generator
from joulewise.worlds.environment import MAX_CELLS, MAX_MACHINES
from joulewise.worlds.gram_charlier import expanded
from joulewise.worlds.idle import IdleParameters, idle_problems, with_idle_power
from joulewise.worlds.outages import FailureParameters, failure_problems
from joulewise.worlds.packaged import packaged_table
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive, numbered
from joulewise.worlds.special import SpecialParameters, special_problems, with_special_types
from joulewise.worlds.uncertain import UncertainParameters, uncertain_problems

TABLE = "nine_machines.csv"
N_MACHINE_TYPES = 9
N_TASK_TYPES = 5


@dataclass(frozen=True)
class NineMachineParameters(FailureParameters, IdleParameters, SpecialParameters, UncertainParameters):
    """How many machines of which types, and how many task types; the defaults are those of Friese 6.6.

    Raises InputError with every problem found.
    """

    counts: tuple[int, ...] = explained(
        (4,) * N_MACHINE_TYPES, "number of machines of each machine type; fewer numbers than nine use the first types"
    )
    task_types: int = explained(30, "number of task types: the five benchmarks, and others that are like them")
    mean_etc_s: float | None = explained(
        None,
        "mean execution time on general-purpose machine types, to which all times are scaled; left out: as measured",
    )

    def __post_init__(self) -> None:
        own = (_value_problems(self), special_problems(self, self.task_types))
        shared = (idle_problems(self), failure_problems(self), uncertain_problems(self))
        raise_if_any(problem for group in (*own, *shared) for problem in group)


def generate_nine_machines(parameters: NineMachineParameters, seed: int) -> System:
    """The system, the same in every trial; the machine types that are used do not change the task types."""
    table = packaged_table(TABLE)
    used = slice(len(parameters.counts))
    etc_s, power_w = (
        expanded(values[:, :, 0], parameters.task_types, seed, "system.expanded", name)[:, used, None]
        for name, values in (("etc_s", table.etc_s), ("power_w", table.power_w))
    )
    general = System(
        task_types=(*table.task_types, *numbered("synthetic-task", parameters.task_types - N_TASK_TYPES)),
        machine_types=table.machine_types[used],
        counts=np.array(parameters.counts),
        etc_s=etc_s,
        power_w=power_w,
    )
    system = with_special_types(_scaled(general, parameters.mean_etc_s), parameters, generator(seed, "system.special"))
    return with_idle_power(system, parameters.idle_percent)


def _scaled(system: System, mean_s: float | None) -> System:
    """The system with all times multiplied so that their mean is this, as it is if none is given."""
    return system if mean_s is None else replace(system, etc_s=system.etc_s * (mean_s / system.etc_s.mean()))


def _value_problems(p: NineMachineParameters) -> Iterator[Problem]:
    n_machines = sum(p.counts) + sum(p.special_counts)
    n_cells = p.task_types * (N_MACHINE_TYPES + len(p.special_counts))
    rules = [
        ("counts", 1 <= len(p.counts) <= N_MACHINE_TYPES, f"must be from 1 to {N_MACHINE_TYPES} numbers"),
        ("counts", is_not_negative(*p.counts), "must be 0 or more machines of each type"),
        ("counts", sum(p.counts) >= 1, "must be one machine at least in all"),
        ("counts", n_machines <= MAX_MACHINES, f"there may be up to {MAX_MACHINES:,} machines in all"),
        ("task_types", p.task_types >= N_TASK_TYPES, f"must be {N_TASK_TYPES} or more"),
        ("mean_etc_s", p.mean_etc_s is None or is_positive(p.mean_etc_s), "must be above 0 s"),
        ("task_types", n_cells <= MAX_CELLS, f"task types x machine types may be up to {MAX_CELLS:,}"),
    ]
    yield from broken_rules("system", p, rules)

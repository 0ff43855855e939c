"""A system of a few general-purpose machine types, all drawn by the COV method (Friese 6.5.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Counts, Floats
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV, cov_matrix
from joulewise.worlds.environment import MAX_CELLS, MAX_MACHINES
from joulewise.worlds.idle import IdleParameters, idle_problems, with_idle_power
from joulewise.worlds.outages import FailureParameters, failure_problems
from joulewise.worlds.parameters import broken_rules, explained, is_positive, numbered
from joulewise.worlds.uncertain import UncertainParameters, uncertain_problems


@dataclass(frozen=True)
class CovSystemParameters(FailureParameters, IdleParameters, UncertainParameters):
    """The size and the heterogeneity of a system; the defaults are the published ones.

    What is printed as variance is read as coefficient of variation (COV). Raises InputError with every problem found.
    """

    task_types: int = explained(50, "number of task types")
    machine_types: int = explained(10, "number of machine types")
    machines: int = explained(50, "number of machines, one at least of each type, the others of types drawn at random")
    mean_s: float = explained(10.0, "mean execution time")
    task_cov: float = explained(0.1, "COV of execution times over task types")
    machine_cov: float = explained(0.25, "COV of execution times over machine types")
    mean_power_w: float = explained(200.0, "mean power of a machine that runs a task")
    power_task_cov: float = explained(0.1, "COV of powers over task types")
    power_machine_cov: float = explained(0.2, "COV of powers over machine types")

    def __post_init__(self) -> None:
        problems = (_value_problems(self), idle_problems(self), failure_problems(self), uncertain_problems(self))
        raise_if_any(problem for group in problems for problem in group)


def generate_cov_system(parameters: CovSystemParameters, seed: int, trial: int) -> System:
    """The system of one trial: times, powers and machines are all drawn."""
    p = parameters
    drawn = System(
        task_types=numbered("task", p.task_types),
        machine_types=numbered("machine", p.machine_types),
        counts=_counts(p, generator(seed, trial, "system.counts")),
        etc_s=_matrix(p, generator(seed, trial, "system.etc"), p.mean_s, p.task_cov, p.machine_cov),
        power_w=_matrix(
            p, generator(seed, trial, "system.power"), p.mean_power_w, p.power_task_cov, p.power_machine_cov
        ),
    )
    return with_idle_power(drawn, p.idle_percent)


def _matrix(
    p: CovSystemParameters, stream: np.random.Generator, mean: float, task_cov: float, machine_cov: float
) -> Floats:
    matrix = cov_matrix(stream, p.task_types, p.machine_types, mean=mean, task_cov=task_cov, machine_cov=machine_cov)
    return matrix[:, :, None]


def _counts(p: CovSystemParameters, stream: np.random.Generator) -> Counts:
    shares = np.full(p.machine_types, 1 / p.machine_types)
    return 1 + stream.multinomial(p.machines - p.machine_types, shares)


def _value_problems(p: CovSystemParameters) -> Iterator[Problem]:
    covs = ("task_cov", "machine_cov", "power_task_cov", "power_machine_cov")
    rules = [
        ("task_types", p.task_types >= 1, "must be 1 or more"),
        ("machine_types", p.machine_types >= 1, "must be 1 or more"),
        ("task_types", p.task_types * p.machine_types <= MAX_CELLS, f"task types x machine types: up to {MAX_CELLS:,}"),
        (
            "machines",
            max(p.machine_types, 1) <= p.machines <= MAX_MACHINES,
            f"must be from {max(p.machine_types, 1)} (one of each machine type) to {MAX_MACHINES:,}",
        ),
        ("mean_s", is_positive(p.mean_s), "must be above 0 s"),
        ("mean_power_w", is_positive(p.mean_power_w), "must be above 0 W"),
    ]
    cov = f"must be a coefficient of variation from 0 to {MAX_COV:g}"
    rules += [(name, 0 <= getattr(p, name) <= MAX_COV, cov) for name in covs]
    yield from broken_rules("system", p, rules)

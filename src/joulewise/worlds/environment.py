"""The published system (Friese, app. E, 3.5.3.1): special- and general-purpose machines, P-states, power."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Counts, Floats
from joulewise.rng import generator
from joulewise.worlds.affinity import AFFINITIES, Affinity, with_affinity
from joulewise.worlds.cov import MAX_COV, cov_matrix, gamma_values
from joulewise.worlds.groups import GENERAL, SPECIAL
from joulewise.worlds.outages import FailureParameters, failure_problems
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive, numbered
from joulewise.worlds.standby import StandbyParameters, standby_of, standby_problems
from joulewise.worlds.uncertain import UncertainParameters, uncertain_problems

MAX_CELLS = 20_000_000
MAX_MACHINES = 1_000_000


@dataclass(frozen=True)
class SystemParameters(FailureParameters, StandbyParameters, UncertainParameters):
    """The size and the heterogeneity of a generated system; the defaults are the published ones.

    Every special-purpose task type runs on one special-purpose machine type and on all general-purpose ones.
    COV is the coefficient of variation. Raises InputError with every problem found.
    """

    task_types: int = explained(100, "number of task types")
    special_task_types: int = explained(17, "how many of them are special-purpose")
    special_counts: tuple[int, ...] = explained((2, 2, 3, 3), "number of machines of each special-purpose machine type")
    general_counts: tuple[int, ...] = explained(
        (5, 5, 5, 10, 10, 10, 10, 15, 20), "number of machines of each general-purpose machine type"
    )
    special_per_machine_type: tuple[int, int] = explained(
        (3, 5), "least and most task types that are special on one special-purpose machine type"
    )
    general_mean_s: float = explained(600.0, "mean execution time on general-purpose machines")
    special_mean_s: float = explained(60.0, "mean execution time on special-purpose machines")
    task_cov: float = explained(0.1, "COV of execution times over task types")
    general_machine_cov: float = explained(0.25, "COV of execution times over general-purpose machine types")
    special_machine_cov: float = explained(0.1, "COV of execution times over special-purpose machine types")
    affinity: Affinity = explained(
        "as drawn", "task-machine affinity of the general-purpose machine types; TDH and MPH stay as drawn"
    )
    pstates: int = explained(1, "number of P-states, the first ones of dynamic_power_fractions")
    dynamic_power_fractions: tuple[float, ...] = explained(
        (1.0, 0.75, 0.5), "dynamic power of each P-state relative to P-state 0"
    )
    static_power_w: float = explained(66.0, "mean static power of a machine type")
    dynamic_power_w: float = explained(133.0, "mean dynamic power in P-state 0")
    power_cov: float = explained(0.1, "COV of static power, and of dynamic power over task and machine types")
    time_factor_cov: float = explained(
        0.1, "COV of how much longer a slower P-state takes; the mean is 1 / sqrt(power fraction)"
    )

    def __post_init__(self) -> None:
        problems = (_value_problems(self), standby_problems(self), failure_problems(self), uncertain_problems(self))
        raise_if_any(problem for group in problems for problem in group)
        raise_if_any(_special_problems(self))

    @property
    def counts(self) -> tuple[int, ...]:
        """Machines of each machine type, special-purpose ones first."""
        return (*self.special_counts, *self.general_counts)


def generate_system(parameters: SystemParameters, seed: int, trial: int) -> System:
    """The system of one trial; power and further P-states never change the times in P-state 0."""
    n_special = len(parameters.special_counts)
    n_general = len(parameters.general_counts)
    fastest_s = _fastest_etc_s(parameters, seed, trial)
    drawn = System(
        task_types=(
            *numbered("special-task", parameters.special_task_types),
            *numbered("general-task", parameters.task_types - parameters.special_task_types),
        ),
        machine_types=(*numbered("special-machine", n_special), *numbered("general-machine", n_general)),
        counts=np.array(parameters.counts),
        etc_s=fastest_s[:, :, None] * _time_factors(parameters, seed, trial),
        power_w=_power_w(parameters, seed, trial),
        machine_group=(SPECIAL,) * n_special + (GENERAL,) * n_general,
        standby=standby_of(parameters, n_special + n_general),
    )
    return with_affinity(drawn, parameters.affinity)


def _fastest_etc_s(parameters: SystemParameters, seed: int, trial: int) -> Floats:
    """Times in P-state 0 as [task type, machine type]; special-purpose rows and columns come first."""
    n_special = len(parameters.special_counts)
    etc_s = np.full((parameters.task_types, len(parameters.counts)), np.inf)
    etc_s[:, n_special:] = cov_matrix(
        generator(seed, trial, "system.etc.general"),
        parameters.task_types,
        len(parameters.general_counts),
        mean=parameters.general_mean_s,
        task_cov=parameters.task_cov,
        machine_cov=parameters.general_machine_cov,
    )
    special_s = cov_matrix(
        generator(seed, trial, "system.etc.special"),
        parameters.special_task_types,
        n_special,
        mean=parameters.special_mean_s,
        task_cov=parameters.task_cov,
        machine_cov=parameters.special_machine_cov,
    )
    rows = np.arange(parameters.special_task_types)
    homes = np.repeat(np.arange(n_special), _special_per_machine_type(parameters, seed, trial))
    etc_s[rows, homes] = special_s[rows, homes]
    return etc_s


def _special_per_machine_type(parameters: SystemParameters, seed: int, trial: int) -> Counts:
    """How many task types are special on each special-purpose machine type, summing to what was asked.

    Each machine type has room for `most - least` beyond its least number; the places are filled at random.
    """
    least, most = parameters.special_per_machine_type
    n_machine_types = len(parameters.special_counts)
    extra = parameters.special_task_types - least * n_machine_types
    stream = generator(seed, trial, "system.special")
    places = np.full(n_machine_types, most - least)
    return least + stream.multivariate_hypergeometric(places, extra, method="marginals")


def _fractions(parameters: SystemParameters) -> Floats:
    return np.array(parameters.dynamic_power_fractions[: parameters.pstates])


def _time_factors(parameters: SystemParameters, seed: int, trial: int) -> Floats:
    """How much longer each choice takes than in P-state 0, as [task type, machine type, P-state]."""
    stream = generator(seed, trial, "system.pstates")
    shape = (parameters.task_types, len(parameters.counts))
    factors = [np.ones(shape)]
    for fraction in _fractions(parameters)[1:]:
        drawn = gamma_values(stream, 1 / math.sqrt(fraction), parameters.time_factor_cov, shape)
        factors.append(np.maximum(drawn, 1.0))
    return np.stack(factors, axis=2)


def _power_w(parameters: SystemParameters, seed: int, trial: int) -> Floats:
    """Static power by machine type plus dynamic power, as [task type, machine type, P-state]."""
    stream = generator(seed, trial, "system.power")
    n_machine_types = len(parameters.counts)
    static_w = gamma_values(stream, parameters.static_power_w, parameters.power_cov, (n_machine_types,))
    dynamic_w = cov_matrix(
        stream,
        parameters.task_types,
        n_machine_types,
        mean=parameters.dynamic_power_w,
        task_cov=parameters.power_cov,
        machine_cov=parameters.power_cov,
    )
    return static_w[None, :, None] + dynamic_w[:, :, None] * _fractions(parameters)


def _value_problems(p: SystemParameters) -> Iterator[Problem]:
    cov = f"must be a coefficient of variation from 0 to {MAX_COV:g}"
    covs = ("task_cov", "general_machine_cov", "special_machine_cov", "power_cov", "time_factor_cov")
    fractions = p.dynamic_power_fractions
    falling = all(a >= b for a, b in pairwise(fractions))
    n_cells = p.task_types * len(p.counts) * max(p.pstates, 1)
    rules = [
        ("task_types", p.task_types >= 1, "must be 1 or more"),
        (
            "task_types",
            n_cells <= MAX_CELLS,
            f"task types x machine types x P-states may be up to {MAX_CELLS:,}",
        ),
        ("special_counts", is_not_negative(*p.special_counts), "must be 0 or more machines of each type"),
        ("general_counts", is_not_negative(*p.general_counts), "must be 0 or more machines of each type"),
        ("general_counts", sum(p.general_counts) >= 1, "must be one machine at least in all"),
        (
            "general_counts",
            sum(p.counts) <= MAX_MACHINES,
            f"there may be up to {MAX_MACHINES:,} machines in all",
        ),
        ("general_mean_s", is_positive(p.general_mean_s), "must be above 0 s"),
        ("special_mean_s", is_positive(p.special_mean_s), "must be above 0 s"),
        ("static_power_w", is_not_negative(p.static_power_w), "must be 0 W or more"),
        ("dynamic_power_w", is_not_negative(p.dynamic_power_w), "must be 0 W or more"),
        ("affinity", p.affinity in AFFINITIES, f"must be one of {', '.join(AFFINITIES)}"),
        ("pstates", 1 <= p.pstates <= len(fractions), f"must be from 1 to {len(fractions)}"),
        (
            "dynamic_power_fractions",
            is_positive(*fractions) and falling and fractions[:1] == (1.0,),
            "must start with 1 and fall, each above 0",
        ),
    ]
    rules += [(name, 0 <= getattr(p, name) <= MAX_COV, cov) for name in covs]
    yield from broken_rules("system", p, rules)


def _special_problems(p: SystemParameters) -> Iterator[Problem]:
    least, most = p.special_per_machine_type
    n_machine_types = len(p.special_counts)
    if not 0 <= least <= most:
        found = f"found {p.special_per_machine_type!r}"
        yield Problem("system.special_per_machine_type", found, "must be (least, most), least first")
        return
    low, high = least * n_machine_types, min(most * n_machine_types, p.task_types)
    if not low <= p.special_task_types <= high:
        yield Problem(
            "system.special_task_types",
            f"found {p.special_task_types}",
            f"must be from {low} to {high}: {n_machine_types} special-purpose machine types "
            f"with {least} to {most} each, of {p.task_types} task types",
            "change special_task_types, special_counts, special_per_machine_type or task_types",
        )

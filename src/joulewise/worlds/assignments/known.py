"""Tasks that are all known in advance, as a look back at a stretch of time shows them (Friese 5.5.1, 7.3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System, Workload
from joulewise.model.arrays import Floats, Ints
from joulewise.rng import generator
from joulewise.worlds.parameters import broken_rules, explained
from joulewise.worlds.rates import DailyLoad, is_special, rate_patterns, thin
from joulewise.worlds.utilities import UtilityParameters, draw_levels, utility_problems, workload_of_levels

Pattern: TypeAlias = Literal["even", "rates"]
_DAY_S = 86_400.0
MOST_TASKS = 10_000_000


@dataclass(frozen=True)
class KnownParameters(UtilityParameters):
    """How many tasks arrived within how long; every completion counts, however late. Raises InputError."""

    n_tasks: int = explained(4000, 'number of tasks; approximate with pattern = "rates"')
    span_s: float = explained(3600.0, "time within which they arrived")
    pattern: Pattern = explained(
        "even", "arrivals as likely at any instant, all task types as often; or at the rates of a day's first hours"
    )

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *_value_problems(self)))


def _value_problems(p: KnownParameters) -> Iterator[Problem]:
    longest_s = _DAY_S if p.pattern == "rates" else 1e9
    rules = [
        ("n_tasks", 1 <= p.n_tasks <= MOST_TASKS, f"must be from 1 to {MOST_TASKS:,}"),
        ("span_s", 0 < p.span_s <= longest_s, f"must be above 0 s, {longest_s:g} s at most"),
        ("pattern", p.pattern in get_args(Pattern), f"must be one of {', '.join(get_args(Pattern))}"),
    ]
    yield from broken_rules("workload", p, rules)


def generate_known(parameters: KnownParameters, system: System, seed: int, trial: int) -> Workload:
    """The tasks of one trial, by arrival, then task type, tagged with their levels."""
    draw = _at_rates if parameters.pattern == "rates" else _evenly
    arrival_s, task_type = draw(parameters, system, seed, trial)
    levels = draw_levels(parameters, generator(seed, trial, "workload.levels"), arrival_s.size)
    return workload_of_levels(arrival_s, task_type, levels, system, parameters, 0.0, math.inf)


def _evenly(p: KnownParameters, system: System, seed: int, trial: int) -> tuple[Floats, Ints]:
    draws = generator(seed, trial, "workload.known")
    task_type = draws.integers(0, system.n_task_types, p.n_tasks, np.int32)
    arrival_s = draws.uniform(0.0, p.span_s, p.n_tasks)
    order = np.lexsort((task_type, arrival_s))
    return arrival_s[order], task_type[order]


def _at_rates(p: KnownParameters, system: System, seed: int, trial: int) -> tuple[Floats, Ints]:
    """What arrives in the first hours of a day of Friese app. F, at mean rates that bring this many tasks."""
    load = DailyLoad(p.n_tasks * _DAY_S / p.span_s, _DAY_S)
    patterns = rate_patterns(load, is_special(system), generator(seed, trial, "workload.rates"))
    task_type, arrival_s = thin(patterns, 0.0, p.span_s, generator(seed, trial, "workload.known"))
    order = np.lexsort((task_type, arrival_s))
    return arrival_s[order], task_type[order]

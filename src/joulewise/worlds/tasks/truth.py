"""How long tasks really run, and how runs across the ends of the counted window count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import Problem
from joulewise.model import Workload
from joulewise.rng import generator
from joulewise.worlds.cov import MAX_COV, gamma_values
from joulewise.worlds.parameters import broken_rules, explained

LEAST_STRETCH = 1e-6
"""Draws below this are raised to it, so that every run takes time."""


@dataclass(frozen=True, kw_only=True)
class TruthParameters:
    """What happens to runs; by default they take their estimated time and count where they complete."""

    time_spread: float = explained(
        0.0, "COV of how long a task really runs over its estimated time (gamma, mean 1); 0: exactly as estimated"
    )
    prorated: bool = explained(
        False, "whether a run counts by its share inside the counted window, not by when it completes"
    )


def truth_problems(p: TruthParameters) -> Iterator[Problem]:
    """What is wrong with these parameters."""
    allowed = f"must be a coefficient of variation from 0 to {MAX_COV:g}"
    yield from broken_rules("workload", p, [("time_spread", 0 <= p.time_spread <= MAX_COV, allowed)])


def truth_stream(seed: int, trial: int) -> np.random.Generator:
    """The random numbers of a trial's true times, for all of its tasks in their order."""
    return generator(seed, trial, "workload.stretch")


def with_truth(workload: Workload, parameters: TruthParameters, stream: np.random.Generator) -> Workload:
    """The workload with the true times of its tasks, drawn if they spread, and runs counted as asked."""
    if parameters.time_spread == 0 and not parameters.prorated:
        return workload
    stretch = workload.stretch
    if parameters.time_spread > 0:
        drawn = gamma_values(stream, 1.0, parameters.time_spread, (workload.n_tasks,))
        stretch = np.maximum(drawn, LEAST_STRETCH)
    return replace(workload, stretch=stretch, is_prorated=parameters.prorated)

"""Fronts of utility and energy when execution times and powers are uncertain (Friese 7.2)."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from joulewise.kernels.chances import EXPECTED, LANES, MEAN_COMPLETIONS, PERCENTILE, ChanceFacts
from joulewise.model.arrays import Floats
from joulewise.model.chances import Chances
from joulewise.model.world import World
from joulewise.optimise.assignments import assignment_facts
from joulewise.rng import generator

StochasticObjective: TypeAlias = Literal["mean-times", "mean-completions", "expected", "percentile"]
DropBy: TypeAlias = Literal["sampled", "expected"]
_CODES = {"mean-completions": MEAN_COMPLETIONS, "expected": EXPECTED, "percentile": PERCENTILE}


def chance_facts(
    world: World,
    chances: Chances,
    *,
    objective: StochasticObjective,
    percentile: tuple[float, float] = (50, 50),
    n_samples: int = 100,
    drop_below: float = 0.5,
    drop_by: DropBy = "sampled",
    seed: int = 0,
) -> ChanceFacts:
    """A world and its chances as samples of assignments are evaluated, with the points that each sample has."""
    stored = -(-n_samples // LANES) * LANES
    draws = generator(seed, "chances.samples")
    time_point, power_point = draws.integers(0, chances.n_points, (2, world.workload.n_tasks, stored), np.uint8)
    facts = assignment_facts(world, drop_below)
    utility_rank, energy_rank = (rank_of(percent, n_samples) for percent in percentile)
    return ChanceFacts(
        facts,
        _by_choice(chances.time_s),
        _by_choice(world.supply.pue * chances.power_w),
        time_point,
        power_point,
        facts.utilities.segments.astype(np.float32),
        n_samples,
        _CODES[objective],
        utility_rank,
        energy_rank,
        drop_by == "expected",
    )


def _by_choice(points: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    n_task_types, _, _, n_points = points.shape
    return points.reshape(n_task_types, -1, n_points).astype(np.float32)


def rank_of(percent: float, n: int) -> int:
    """The place, from 1, of a percentile among n sorted values."""
    return math.ceil(percent * n / 100)

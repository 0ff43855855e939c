"""Fronts of utility and energy when execution times and powers are uncertain (Friese 7.2)."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.chances import EXPECTED, LANES, MEAN_COMPLETIONS, PERCENTILE, ChanceFacts
from joulewise.model.arrays import Floats
from joulewise.model.chances import Chances
from joulewise.model.workload import Workload
from joulewise.model.world import World
from joulewise.optimise.assignments import assignment_facts
from joulewise.rng import generator

StochasticObjective: TypeAlias = Literal["mean-times", "mean-completions", "expected", "percentile"]
DropBy: TypeAlias = Literal["sampled", "expected"]
Floats32: TypeAlias = NDArray[np.float32]
_FOREVER_S = 1e12
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
        latest_ends(world.workload, drop_below),
    )


def latest_ends(work: Workload, drop_below: float) -> Floats32:
    """How long after its hold each task may end to earn so much: -inf for never, +inf for whenever it ends."""
    pairs, pair_of = np.unique(np.stack([work.shape, work.scale]), axis=1, return_inverse=True)
    shape, scale = pairs[0].astype(np.int64), pairs[1]
    low, high = np.zeros(scale.size), np.full(scale.size, _FOREVER_S)
    while (high - low > np.spacing(high)).any():
        middle = low + (high - low) / 2
        earns = scale * work.shapes.value(shape, middle) >= drop_below
        low, high = np.where(earns, middle, low), np.where(earns, high, middle)
    below = low.astype(np.float32)
    latest = np.where(below > low, np.nextafter(below, np.float32(-1)), below)
    latest[scale * work.shapes.value(shape, 0.0) < drop_below] = -np.inf
    latest[scale * work.shapes.value(shape, _FOREVER_S) >= drop_below] = np.inf
    return latest.astype(np.float32)[pair_of.ravel()]


def _by_choice(points: Floats) -> Floats32:
    n_task_types, _, _, n_points = points.shape
    return points.reshape(n_task_types, -1, n_points).astype(np.float32)


def rank_of(percent: float, n: int) -> int:
    """The place, from 1, of a percentile among n sorted values."""
    return math.ceil(percent * n / 100)

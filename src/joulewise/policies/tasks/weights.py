"""What weighted policies divide by, so that utility and energy are parts of the most they can be (Friese 3.3.2)."""

from __future__ import annotations

import numpy as np

from joulewise.model.world import World
from joulewise.policies.tasks.objectives import UTILITY, UTILITY_PER_ENERGY, UTILITY_PER_TIME
from joulewise.policies.tasks.policy import Objective


def highest_energy_j(world: World) -> float:
    """The most energy that any possible choice uses; 1 where none uses any."""
    return float(world.system.eec_j[_possible(world)].max()) or 1.0


def least_energy_j(world: World) -> float:
    """The least energy that any possible choice uses."""
    return float(world.system.eec_j[_possible(world)].min())


def highest_value(world: World, objective: Objective) -> float:
    """The most that an objective of the weighted policies can be, by the highest utility and the least denominator.

    1 where no task is worth anything.
    """
    work = world.workload
    most = float(np.max(work.most_from(np.arange(work.n_tasks), work.arrival_s), initial=0.0))
    least = {
        UTILITY: lambda: 1.0,
        UTILITY_PER_TIME: lambda: float(world.system.etc_s[_possible(world)].min()),
        UTILITY_PER_ENERGY: lambda: least_energy_j(world),
    }
    return most / least[objective]() if most > 0 else 1.0


def _possible(world: World) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    system = world.system
    return np.isfinite(system.etc_s) & (system.counts > 0)[None, :, None]

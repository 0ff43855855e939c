"""What policies ask of a world beyond tasks and machines: power figures to look at, and an end of the window."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from joulewise.model import World
from joulewise.policies.tasks.compile import looks_at_energy
from joulewise.policies.tasks.policy import Policy

LEAST_W = 1.0


def fit_for(policy: Policy, world: World) -> World:
    """The world with what the policy needs, and otherwise as it is."""
    if _needs_powers(policy):
        world = with_powers(world)
    return with_end(world) if policy.declines else world


def with_powers(world: World) -> World:
    """The world with power figures, all of them above 0 W, so that utility per joule is a number."""
    system = world.system
    power_w = np.zeros(system.etc_s.shape) if system.power_w is None else system.power_w
    return replace(world, system=replace(system, power_w=np.maximum(power_w, LEAST_W)))


def with_end(world: World) -> World:
    """The world with a window that ends, if it does not, when one machine could have done all its tasks."""
    system, work = world.system, world.workload
    if math.isfinite(work.end_s):
        return world
    longest_s = float(system.etc_s[np.isfinite(system.etc_s)].max())
    end_s = max(float(work.arrival_s[-1]), work.start_s) + work.n_tasks * longest_s
    return replace(world, workload=replace(work, end_s=end_s))


def _needs_powers(policy: Policy) -> bool:
    return policy.is_weighted or (policy.objective is not None and looks_at_energy(policy.objective))

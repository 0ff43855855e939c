"""What policies do in simulation, for those who search from there: the one place where systems meet."""

from __future__ import annotations

from joulewise.model import World
from joulewise.model.assignment import Assignment


def simulated(policy: str, world: World, dropping_threshold: float) -> Assignment:
    """What a policy of tasks does with the tasks of a world as they arrive."""
    from joulewise.policies.tasks.heuristic import find_policy
    from joulewise.simulate.tasks.manager import Manager
    from joulewise.simulate.tasks.serial import simulate

    return Assignment.of(simulate(world, Manager(find_policy(policy), dropping_threshold)).allocation)

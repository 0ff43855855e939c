"""A day of serial tasks: its world and the switches of its manager."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from joulewise.errors import Problem, raise_if_any
from joulewise.model.world import World
from joulewise.optimise.tasks.proof import prove
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from joulewise.simulate.tasks.window import sight_of
from joulewise.simulate.window import Sight
from joulewise.study.parsing.study import Study
from joulewise.study.spec.source import Draw


@dataclass(frozen=True, eq=False)
class TaskDay:
    """A world, the manager without its policy, and what nobody can earn more than there."""

    world: World
    manager: Manager
    utility_bound: float
    draw: Draw

    @property
    def sight(self) -> Sight:
        """What is seen of it."""
        return sight_of(self.world.system)

    def managed_by(self, policy: Policy) -> Manager:
        """The manager with a policy; one without an objective has nothing to decline."""
        declines = self.manager.declines if policy.objective else None
        return replace(self.manager, policy=policy, declines=declines)

    @property
    def most(self) -> float:
        """The highest scale of its work; 1 where none is worth anything."""
        return float(self.world.workload.scale.max()) or 1.0

    def earned_by(self, policy: Policy) -> float:
        """What a policy earns on this day."""
        outcome = simulate(self.world, self.managed_by(policy), self.draw.seed, self.draw.trial)
        return float(measures(self.world, outcome)["utility"])


def day_of(study: Study, draw: Draw) -> TaskDay:
    """The day of a trial. Raises InputError for managers that no agent can be."""
    (point,) = study.points
    world, manager = study.kind.build_world(point.world, draw), study.kind.build(point.decision, draw)
    raise_if_any(_problems(manager))
    return TaskDay(world, manager, prove(world, study.heading.bound or "prices").utility_bound, draw)


def _problems(manager: Manager) -> Iterator[Problem]:
    if manager.groups > 1:
        yield Problem("manager.groups", f"found {manager.groups}", "must be 1 where an agent decides")
    if manager.preempts:
        yield Problem("manager.preempts", "found true", "must be false: an agent suspends no task", "leave it out")

"""A day of parallel jobs: its world and the switches of its scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from joulewise.errors import Problem, raise_if_any
from joulewise.model.jobs import JobWorld
from joulewise.optimise.jobs.bound import job_bound
from joulewise.policies.jobs.policy import JobPolicy
from joulewise.simulate.jobs.measures import earned_utility
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.window import sight_of
from joulewise.simulate.window import Sight
from joulewise.study.jobs.schedule import scheduler_of
from joulewise.study.parsing.study import Study
from joulewise.study.spec.source import Draw


@dataclass(frozen=True, eq=False)
class JobDay:
    """A world, the scheduler without its policy, and what nobody can earn more than there."""

    world: JobWorld
    scheduler: Scheduler
    utility_bound: float
    sight: Sight
    draw: Draw

    def scheduled_by(self, policy: JobPolicy) -> Scheduler:
        """The scheduler with a policy. Raises InputError where its switches do not go with that."""
        return replace(self.scheduler, policy=policy)

    @property
    def most(self) -> float:
        """The highest scale of its work; 1 where none is worth anything."""
        return float(self.world.jobs.work.scale.max()) or 1.0

    def earned_by(self, policy: JobPolicy) -> float:
        """What a policy earns on this day."""
        outcome = simulate_jobs(self.world, self.scheduled_by(policy), self.draw.seed, self.draw.trial)
        return float(earned_utility(self.world, outcome.allocation).sum())


def day_of(study: Study, draw: Draw) -> JobDay:
    """The day of a trial. Raises InputError for schedulers that no agent can be."""
    (point,) = study.points
    world = study.kind.build_world(point.world, draw).world
    scheduler = scheduler_of(point.workload, study.kind.build(point.decision, draw))
    raise_if_any(_problems(world, scheduler))
    return JobDay(world, scheduler, job_bound(world, study.heading.bound or "prices").value, sight_of(world), draw)


def _problems(world: JobWorld, scheduler: Scheduler) -> Iterator[Problem]:
    if scheduler.preempts:
        yield Problem("scheduler.preempts", "found true", "must be false: an agent suspends no job", "leave it out")
    if not world.types.n_options:
        yield Problem("workload", "found no job that fits on a cluster", "must have one where an agent decides")

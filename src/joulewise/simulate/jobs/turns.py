"""The events of a run of parallel jobs one at a time, for who decides between them, and what came of each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from joulewise.errors import raise_if_any
from joulewise.kernels.jobs.events import run_jobs
from joulewise.kernels.jobs.window import Tally, newly_settled
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.simulate.jobs.measures import SHORTEST_S, arrived_inside, window_end_s
from joulewise.simulate.jobs.misfits import job_misfits
from joulewise.simulate.jobs.run import JobEngine, JobOutcome
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.turns import bound


class Settled(NamedTuple):
    """What jobs earn in the counted window, and the sum of their bounded slowdowns."""

    utility: float
    slowdown: float


class JobTurns:
    """A run that goes on when it is told to: `go_on` closes the event that is open, and returns whether there is one
    more.
    """

    def __init__(self, world: JobWorld, scheduler: Scheduler, seed: int, trial: int) -> None:
        raise_if_any(job_misfits(world, scheduler))
        self.world, self.scheduler = world, scheduler
        self.engine = JobEngine(world, scheduler, seed, trial)
        self.go_on = bound(run_jobs, self.engine.state, world.jobs.work.end_s, 1)
        self._settled = self.looking(newly_settled, _tally(world, self.engine), rest=(False,))

    def looking(self, kernel: Callable[..., Any], *others: Any, rest: tuple[Any, ...] = ()) -> Callable[..., Any]:
        """A kernel on the arrays of this run; it asks for no order or objective, which would be looked up each time."""
        return bound(kernel, self.engine.state._replace(priority=None, value=None), *others, rest=rest)

    def settled(self, *, is_over: bool) -> Settled:
        """What has been settled since it was asked last: by jobs that started or, where nodes may fail, that ended.

        Once all is over, jobs without nodes have the slowdown that they would have if they started then.
        """
        utility, slowdown = self._settled(is_over)
        return Settled(utility, slowdown + (_without_nodes(self.world, self.engine.allocation()) if is_over else 0.0))

    def outcome(self) -> JobOutcome:
        """What came of it so far."""
        return self.engine.outcome()


def _tally(world: JobWorld, engine: JobEngine) -> Tally:
    """Nothing is counted yet; jobs that come outside the counted window have no slowdown that counts."""
    work = world.jobs.work
    options = engine.state.facts.options
    is_sure = bool(world.outages.is_planned.all()) and bool((options.time_s == options.planned_s).all())
    is_killed = engine.is_killed[engine.numbers]
    has_earned = np.zeros(world.n_jobs, np.bool_)
    return Tally(
        work.start_s, work.end_s, work.is_prorated, is_sure, SHORTEST_S, is_killed, has_earned, ~arrived_inside(world)
    )  # fmt: skip


def _without_nodes(world: JobWorld, allocation: JobAllocation) -> float:
    """The bounded slowdowns of jobs that came in the counted window and had no nodes, if they started when it ends."""
    jobs = np.flatnonzero(arrived_inside(world) & ~allocation.used & (allocation.fate != Fate.IMPOSSIBLE))
    arrival_s, ready_s = world.jobs.work.arrival_s[jobs], allocation.ready_s[jobs]
    needs_s = world.types.fastest_s[world.jobs.work.task_type[jobs]]
    waited_s = window_end_s(world, allocation) - np.where(np.isfinite(ready_s), ready_s, arrival_s)
    return float(np.maximum((waited_s + needs_s) / np.maximum(needs_s, SHORTEST_S), 1.0).sum())

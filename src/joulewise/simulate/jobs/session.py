"""Jobs of a world that are started from outside, event by event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from joulewise.errors import raise_if_any
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.table import BY_HAND
from joulewise.simulate.jobs.event import JobEvent
from joulewise.simulate.jobs.misfits import job_misfits
from joulewise.simulate.jobs.run import JobEngine, JobOutcome
from joulewise.simulate.jobs.scheduler import Scheduler


class JobSession:
    """The events of a world, to be gone through once, and what came of what was started in them.

    ```python
    session = jw.jobs.Session(world)
    for event in session:
        event.start(jobs, options)
    session.outcome()
    ```
    """

    def __init__(self, world: JobWorld, scheduler: Scheduler | None = None, seed: int = 0, trial: int = 0) -> None:
        """The scheduler's switches hold, all but its policy, which is not asked."""
        self.world = world
        self.scheduler = Scheduler(BY_HAND) if scheduler is None else replace(scheduler, policy=BY_HAND)
        raise_if_any(job_misfits(world, self.scheduler))
        self._engine = JobEngine(world, self.scheduler, seed, trial)
        self._events = self._engine.events(world.jobs.work.end_s)

    def __iter__(self) -> Iterator[JobEvent]:
        return self._events

    def outcome(self) -> JobOutcome:
        """What came of it; events that were not gone through pass without starts."""
        for _ in self._events:
            pass
        return self._engine.outcome()

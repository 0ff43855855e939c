"""A day that is decided from outside, event by event."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from joulewise.model.world import World
from joulewise.policies.tasks.table import BY_HAND
from joulewise.simulate.tasks.event import Event
from joulewise.simulate.tasks.managed import start
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, outcome_of


class Session:
    """The events of a world, to be gone through once, and what came of what was assigned in them.

    ```python
    session = Session(world, dropping_threshold=0.5)
    for event in session:
        event.assign(tasks, machines, pstates)
    session.outcome()
    ```
    """

    def __init__(self, world: World, manager: Manager | None = None, seed: int = 0, trial: int = 0) -> None:
        """The manager's switches hold, all but its policy, which is not asked."""
        self.world = world
        self.manager = Manager(BY_HAND) if manager is None else replace(manager, policy=BY_HAND)
        self._engine = start(world, self.manager, seed, trial)
        self._events = self._engine.events(world.workload.end_s)

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def outcome(self) -> Outcome:
        """What came of it; events that were not gone through pass without assignments."""
        for _ in self._events:
            pass
        return outcome_of(self.world, self.manager, self._engine.managed(0.0))

"""The events of a run one at a time, for who decides between them, and what each of them earned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joulewise.kernels.tasks.managed import finish_run
from joulewise.kernels.tasks.window import newly_earned
from joulewise.model.world import World
from joulewise.simulate.tasks.managed import Engine, start
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, outcome_of
from joulewise.simulate.turns import bound


class Turns:
    """A run that goes on when it is told to.

    `earned(is_over)` counts what became known since it was asked last, and in the end all.
    """

    def __init__(self, world: World, manager: Manager, seed: int, trial: int) -> None:
        self.world, self.manager, work = world, manager, world.workload
        self.engine: Engine = start(world, manager, seed, trial)
        self.finish = self.bound(finish_run)
        is_counted = np.zeros(work.n_tasks, np.bool_)
        self.earned = self.looking(newly_earned, work.start_s, work.end_s, work.is_prorated, is_counted, rest=(False,))

    def bound(self, kernel: Callable[..., Any], *others: Any) -> Callable[..., Any]:
        """A kernel on the arrays of this run."""
        return bound(kernel, self.engine.world, self.engine.state, *others)

    def looking(self, kernel: Callable[..., Any], *others: Any, rest: tuple[Any, ...] = ()) -> Callable[..., Any]:
        """A kernel that asks for no objective, whose address would be looked up at every call."""
        return bound(kernel, self.engine.world._replace(value=None), self.engine.state, *others, rest=rest)

    def outcome(self) -> Outcome:
        """What came of it so far."""
        return outcome_of(self.world, self.manager, self.engine.managed(0.0))

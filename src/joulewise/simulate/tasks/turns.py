"""The events of a run one at a time, for who decides between them, and what each of them earned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joulewise.kernels.jit import bound
from joulewise.kernels.layout import RAN
from joulewise.kernels.tasks.managed import close_last_event, finish_run, map_managed, open_next_event
from joulewise.model.world import World
from joulewise.simulate import meter
from joulewise.simulate.tasks.managed import Engine, start
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, outcome_of


class Turns:
    """A run that goes on when it is told to. `earned` counts what was fixed since it was asked last."""

    def __init__(self, world: World, manager: Manager, seed: int, trial: int) -> None:
        self.world, self.manager = world, manager
        self.engine: Engine = start(world, manager, seed, trial)
        until_s = world.workload.end_s
        self.open_next, self.map_next = self.bound(open_next_event, until_s), self.bound(map_managed, until_s, 1, False)
        self.close_last, self.finish = self.bound(close_last_event), self.bound(finish_run)
        self._is_counted = np.zeros(world.workload.n_tasks, np.bool_)

    def bound(self, kernel: Callable[..., Any], *others: Any, rest: tuple[Any, ...] = ()) -> Callable[..., Any]:
        """A kernel on the arrays of this run."""
        return bound(kernel, self.engine.world, self.engine.state, *others, rest=rest)

    def earned(self) -> float:
        """What tasks earn in the counted window that were fixed since this was asked last."""
        plan, work = self.engine.state.plan, self.world.workload
        new = np.flatnonzero((plan.status == RAN) & ~self._is_counted)
        self._is_counted[new] = True
        start_s, end_s = plan.start_s[new], plan.end_s[new]
        share = meter.inside_s(work, start_s, end_s) / (end_s - start_s) if work.is_prorated else work.in_window(end_s)
        return float((share * work.utility(new, end_s)).sum())

    def outcome(self) -> Outcome:
        """What came of it so far."""
        return outcome_of(self.world, self.manager, self.engine.managed(0.0))

"""What the rules of managers look at: an allocation and the manager that is said to have made it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from joulewise.check.runs import Runs
from joulewise.model import Allocation, World
from joulewise.model.arrays import Floats


class PolicyLike(Protocol):
    """Of a policy the validator needs the mode alone."""

    @property
    def mode(self) -> str: ...


class ManagerLike(Protocol):
    """The settings of a manager that an allocation must respect."""

    @property
    def policy(self) -> PolicyLike: ...
    @property
    def dropping_threshold(self) -> float: ...
    @property
    def mapping_interval_s(self) -> float: ...


@dataclass(frozen=True, eq=False)
class Case:
    """An allocation and the manager that is said to have made it."""

    world: World
    allocation: Allocation
    runs: Runs
    manager: ManagerLike

    def event_from(self, at_s: Floats) -> Floats:
        """The number of the first mapping event at or after these instants."""
        interval_s = self.manager.mapping_interval_s
        event = np.ceil(at_s / interval_s)
        event -= (event - 1) * interval_s >= at_s  # the quotient may have been rounded up past an event
        event += event * interval_s < at_s  # or down to one
        return np.asarray(event)

    def event_until(self, at_s: float) -> float:
        """The number of the last mapping event up to this instant."""
        event = float(self.event_from(np.asarray(at_s)))
        return event if event * self.manager.mapping_interval_s == at_s else event - 1

    def seen_at_s(self) -> Floats:
        """When batch mode first considers each run's task: the first mapping event from its arrival on."""
        return np.asarray(self.event_from(self.runs.arrival_s) * self.manager.mapping_interval_s)


Rule: TypeAlias = Callable[[Case], Iterator[str]]

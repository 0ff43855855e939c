"""What is seen at a mapping event whatever is mapped: its limits, and the prices of what runs short."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joulewise.kernels.jit import prepared
from joulewise.kernels.layout import Tasks, Utilities
from joulewise.kernels.ledger import HOUR_S, NOW
from joulewise.kernels.outside import earn
from joulewise.model.arrays import Floats, seen


class MappingEvent:
    """A mapping event of a world while it is open; `_state` is that of the kernels of its system."""

    world: Any
    number: int
    _state: Any

    @property
    def now_s(self) -> float:
        """When the event happens."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """Where messages say that something happened."""
        return place_of(self.number, self.now_s)

    def _earned(self, who: ArrayLike, at_s: ArrayLike) -> Floats:
        """What tasks or jobs by number, row by row, earn when completed at these instants."""
        rows, at = np.asarray(who), np.asarray(at_s, np.float64)
        if rows.shape != at.shape:
            rows, at = np.broadcast_arrays(rows.reshape(rows.shape + (1,) * (at.ndim - rows.ndim)), at)
        numbers, instants = np.ascontiguousarray(rows, np.int64).ravel(), np.ascontiguousarray(at).ravel()
        earned, (tasks, utilities) = np.empty(numbers.size), self._worth
        if not _prepared_earn()(tasks, utilities, numbers, instants, earned):
            raise IndexError(f"tasks and jobs have numbers from 0 to {tasks.scale.size - 1}")
        return earned.reshape(rows.shape)

    @property
    def _worth(self) -> tuple[Tasks, Utilities]:
        """What the kernels know of what is earned."""
        raise NotImplementedError

    # Limits

    @property
    def left_j(self) -> float:
        """What is left of the day's energy for what is decided now; infinite without a budget."""
        return float(self._state.ledger.left_j[NOW])

    @property
    def day_end_s(self) -> float:
        """When the budget's day ends; never without a budget."""
        return float(self._state.ledger.day_end_s[0])

    @property
    def cap_w(self) -> float:
        """The most power that may be drawn now."""
        return self._at_hour(self.world.supply.cap_w, np.inf)

    @property
    def tariff(self) -> float:
        """What a unit of energy costs now."""
        return self._at_hour(self.world.supply.tariff, 1.0)

    def _at_hour(self, values: Floats | None, otherwise: float) -> float:
        return otherwise if values is None else float(values[int(self.now_s // HOUR_S) % values.size])

    # Prices

    @property
    def price_per_s(self) -> Floats:
        """What a second of each kind of machine, or a node's of each cluster, costs; NaN until something has waited.

        Prices are in utility and find themselves, as those of the policy Prices do.
        """
        per_s = self._state.prices.per_s
        return seen(np.where(per_s < 0.0, np.nan, per_s))

    @property
    def price_per_j(self) -> float:
        """What a joule costs; 0 without a budget."""
        return float(self._state.prices.per_j[0])


@cache
def _prepared_earn() -> Callable[..., bool]:
    """The kernel that finds utilities, whose arguments are of the same types in all worlds."""
    none, nobody = np.empty(0), np.empty(0, np.int64)
    kind, first = np.empty(0, np.int32), np.zeros(1, np.int64)
    tasks, utilities = Tasks(none, kind, kind, none, none, none), Utilities(first, np.empty((0, 6)))
    return prepared(earn, tasks, utilities, nobody, none, none)


def place_of(number: int, now_s: float) -> str:
    """Where messages say that something happened."""
    return f"event {number} at {now_s:g} s"

"""What is seen at a mapping event whatever is mapped: its limits, and the prices of what runs short."""

from __future__ import annotations

from typing import Any

import numpy as np

from joulewise.kernels.ledger import HOUR_S, NOW
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


def place_of(number: int, now_s: float) -> str:
    """Where messages say that something happened."""
    return f"event {number} at {now_s:g} s"

"""What every technique that plans a facility gives back."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from joulewise.model.facility import FacilityPlan
from joulewise.visible import Visible


@dataclass
class History:
    """The highest co-located reward rate so far of the plans that a search kept.

    `rows` has one for each that was higher: seconds since the start, and the rate. A search that maximises another rate
    may end with a plan of less than the last one.
    """

    start_s: float = field(default_factory=time.perf_counter)
    rows: list[tuple[float, float]] = field(default_factory=list)

    @property
    def highest(self) -> float:
        """The last rate; that of no plan is below all others."""
        return self.rows[-1][1] if self.rows else -math.inf

    def note(self, slowed_per_s: float) -> None:
        """Count a plan that is kept."""
        if slowed_per_s > self.highest:
            self.rows.append((time.perf_counter() - self.start_s, slowed_per_s))


@dataclass(frozen=True, eq=False)
class FoundPlan(Visible, looks="facility"):
    """The best plan that a technique found, and how it got there.

    `history` is that of `History.rows`.
    """

    plan: FacilityPlan
    history: tuple[tuple[float, float], ...]
    why_stopped: str

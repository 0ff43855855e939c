"""What every technique that plans a facility gives back."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.model.facility import FacilityPlan


@dataclass(frozen=True, eq=False)
class Found:
    """The best plan that a technique found, and how it got there.

    `history` has one row for each improvement: seconds since the start, and the co-located reward rate from then on.
    """

    plan: FacilityPlan
    history: tuple[tuple[float, float], ...]
    why_stopped: str

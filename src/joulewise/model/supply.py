"""What the facility gives its machines: energy by day, power at every instant, and what energy costs by hour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.visible import Visible

DAY_S = 86_400.0
HOUR_S = 3_600.0


@dataclass(frozen=True, eq=False)
class Supply(Visible, looks="tasks"):
    """Limits and costs of energy, as the facility's meter sees it: all of it `pue` times what machines draw.

    `budget_j` is for each day, or for all counted days together when `is_total`: then each day gets its share of
    what is left. Days are `day_s` long and counted from the start of the counted window, back into the warm-up.
    `cap_w` limits the power at every instant and `tariff` is a cost per kWh; both are by the hour from instant 0
    on, and start again from the beginning at their end. `tariff_unit` names what is paid, "EUR" or "kg CO2".
    """

    budget_j: float = math.inf
    is_total: bool = False
    day_s: float = DAY_S
    cap_w: Floats | None = None
    pue: float = 1.0
    tariff: Floats | None = None
    tariff_unit: str = ""

    def __post_init__(self) -> None:
        for name in ("cap_w", "tariff"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.atleast_1d(getattr(self, name)))
        freeze_fields(self, {"cap_w": np.float64, "tariff": np.float64})
        raise_if_any(_problems(self))

    @property
    def is_limited(self) -> bool:
        """Whether energy or power can run short."""
        return math.isfinite(self.budget_j) or self.cap_w is not None


def summed_until(by_hour: Floats, at_s: Floats) -> Floats:
    """The sum over the hours from 0 to these instants of what a series says by the hour, from the beginning again."""
    hours = at_s / HOUR_S
    whole = np.floor(hours).astype(np.int64)
    rounds, hour = np.divmod(whole, by_hour.size)
    before = np.concatenate(([0.0], np.cumsum(by_hour)))
    return np.asarray(rounds * before[-1] + before[hour] + (hours - whole) * by_hour[hour])


def _problems(supply: Supply) -> Iterator[Problem]:
    if not supply.budget_j > 0:
        advice = "leave it out for no limit"
        yield Problem("supply.budget", f"found {supply.budget_j:g} J", "must be above 0 J", advice)
    if not (supply.day_s > 0 and math.isfinite(supply.day_s)):
        yield Problem("supply.day", f"found {supply.day_s:g} s", "must be above 0 s, and finite")
    if not (supply.pue >= 1 and math.isfinite(supply.pue)):
        yield Problem("supply.pue", f"found {supply.pue:g}", "must be 1 or more: all energy over that of machines")
    if supply.cap_w is not None and not (supply.cap_w.size and (supply.cap_w > 0).all()):
        yield Problem("supply.power_cap", f"found {supply.cap_w.tolist()}", "must be above 0 W at every hour")
    if supply.tariff is not None and not (supply.tariff.size and (supply.tariff >= 0).all() and supply.tariff.max() > 0
                                          and np.isfinite(supply.tariff).all()):  # fmt: skip
        found = (
            f"found values from {supply.tariff.min():g} to {supply.tariff.max():g}" if supply.tariff.size else "empty"
        )
        yield Problem("supply.tariff", found, "must be finite, 0 or more at every hour, and above 0 at some")


NO_LIMITS = Supply()

"""The schedule of a bag that earns most per second, with a proven bound and a plain verdict (Tarplee, IV-VI)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from joulewise import units
from joulewise.errors import InputError, Problem, unknown_name
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.model.bag import Bag, BagAllocation
from joulewise.optimise.bag_bound import BoundFront
from joulewise.optimise.bag_recovery import recover
from joulewise.optimise.market import Market
from joulewise.optimise.profit_bound import Optimum, Terms, split_at

Recovery: TypeAlias = Literal["one", "best"]
Verdict: TypeAlias = Literal[
    "profit",
    "covers part of the depreciation",
    "loss under agreement",
    "better not to run",
    "deadline missed",
    "infeasible",
]

_MOST_RETRIES = 12


@dataclass(frozen=True, eq=False)
class Profit:
    """What a bag earns at most: the allocation found, what it earns per second, and a bound that none exceeds.

    Energy is the facility's, and `makespan_s` the time from one bag to the next: `wait_s` of it all machines wait on
    purpose after the last task, to keep the power cap or, at a loss, because waiting loses less. Without an allocation
    nothing runs, and `bound_per_s` tells what running would have earned at most (-inf where nothing is feasible).
    """

    verdict: Verdict
    allocation: BagAllocation | None
    profit_per_s: float
    bound_per_s: float
    energy_j: float = 0.0
    makespan_s: float = 0.0
    wait_s: float = 0.0
    why: str = ""

    @property
    def gap(self) -> float:
        """How far, as a share of the bound, the profit is from it; 0 where nothing runs."""
        if self.allocation is None or self.profit_per_s == self.bound_per_s:
            return 0.0
        return (self.bound_per_s - self.profit_per_s) / abs(self.bound_per_s) if self.bound_per_s else math.inf

    @property
    def mean_power_w(self) -> float:
        return self.energy_j / self.makespan_s if self.makespan_s > 0 else 0.0

    def sentence(self) -> str:
        """The verdict in words."""
        return _SENTENCES[self.verdict](self)


def _ran(profit: Profit) -> str:
    waits = f", {units.duration(profit.wait_s)} of it waiting on purpose" if profit.wait_s > 0 else ""
    return (
        f"{profit.profit_per_s:.6g} per second (at most {profit.bound_per_s:.6g}) with "
        f"{units.energy(profit.energy_j)} in {units.duration(profit.makespan_s)}{waits}"
    )


_SENTENCES = {
    "profit": lambda p: f"The bag earns {_ran(p)}.",
    "covers part of the depreciation": lambda p: (
        f"The bag earns {_ran(p)}: less than the depreciation, which is lost in any case, so it pays to run."
    ),
    "loss under agreement": lambda p: f"The bag runs at a loss because an agreement requires it: {_ran(p)}.{p.why}",
    "better not to run": lambda p: f"Better not to run: {p.why}.",
    "deadline missed": lambda p: f"No allocation found keeps the deadline: {p.why}.",
    "infeasible": lambda p: f"Infeasible: {p.why}.",
}

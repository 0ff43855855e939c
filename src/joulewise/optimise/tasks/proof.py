"""What is known of a world before any policy runs: the published yardstick and a proven bound, with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from joulewise.model.world import World
from joulewise.optimise.bounds import BoundKind, maximum_utility, utility_ceiling
from joulewise.optimise.price_market import Certificate
from joulewise.optimise.tasks.prices import price_bound


@dataclass(frozen=True, eq=False)
class Proof:
    """The yardstick and the bound of a world; prices prove a bound of kind "prices", reasoning a trivial one."""

    kind: BoundKind
    maximum_utility: float
    utility_bound: float
    certificate: Certificate | None = None

    def as_json(self) -> dict[str, Any]:
        """The proof as JSON values."""
        return {
            "kind": self.kind,
            "maximum_utility": self.maximum_utility,
            "utility_bound": self.utility_bound,
            "certificate": self.certificate and self.certificate.as_json(),
        }

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Proof:
        """The proof that JSON values hold; InputError when its prices are none."""
        certificate = stored["certificate"] and Certificate.from_json(stored["certificate"])
        most, bound = float(stored["maximum_utility"]), float(stored["utility_bound"])
        return Proof(stored["kind"], most, bound, certificate)


def prove(world: World, kind: BoundKind, *, preempts: bool = False) -> Proof:
    """The proof of a world by prices, where tasks may run in pieces or not, or by reasoning on each task alone."""
    if kind == "prices":
        bound = price_bound(world, preempts=preempts)
        return Proof("prices", maximum_utility(world), bound.value, bound.certificate)
    return Proof("trivial", maximum_utility(world), utility_ceiling(world))

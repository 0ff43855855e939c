"""How certain the execution times and powers of a system are: the keys that every source of systems has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from joulewise.errors import Problem
from joulewise.worlds.cov import MAX_COV
from joulewise.worlds.parameters import broken_rules, explained

KEYS = ("time_cov_range", "power_cov_range", "samples")


@dataclass(frozen=True, kw_only=True)
class UncertainParameters:
    """What times and powers may turn out to be; by default they are exactly as estimated."""

    time_cov_range: tuple[float, float] | None = explained(
        None,
        "least and most COV, from 0 to 3, of the execution time of a choice, a gamma distribution; left out: certain",
    )
    power_cov_range: tuple[float, float] | None = explained(
        None, "least and most COV, from 0 to 3, of the power of a choice, a gamma distribution; left out: certain"
    )
    samples: str | None = explained(
        None, "table of execution times and powers that were observed, in place of both ranges", file=True
    )

    @property
    def draws_chances(self) -> bool:
        """Whether trials differ in what times and powers may turn out to be."""
        return self.time_cov_range is not None or self.power_cov_range is not None

    @property
    def is_uncertain(self) -> bool:
        """Whether times or powers may turn out otherwise than estimated."""
        return self.draws_chances or self.samples is not None


def uncertain_problems(p: UncertainParameters) -> Iterator[Problem]:
    """What is wrong with these keys."""
    ranges = [(name, getattr(p, name)) for name in KEYS[:2]]
    given = [(name, span) for name, span in ranges if span is not None]
    allowed = f"must be [least, most], coefficients of variation from 0 to {MAX_COV:g}"
    yield from broken_rules(
        "system", p, [(name, 0 <= least <= most <= MAX_COV, allowed) for name, (least, most) in given]
    )
    if p.samples is not None and given:
        found = f"found {given[0][0]} as well"
        yield Problem("system.samples", found, "stand for themselves", "leave out the ranges, or samples")

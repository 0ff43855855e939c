"""How claims are judged on measurements: by the rule of the catalogue, with the intervals of an analysis.

A claim is a list of differences that it says are positive, and not judged without intervals. A number that holds for
the machine of its authors is not testable: ours is shown beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from joulewise.verdicts import IntervalEnds, Verdict, of_positive, weakest_of, worst


class Difference(NamedTuple):
    """What a claim says is positive, with the half width of its interval, if it has one."""

    name: str
    mean: float
    width: float | None


def ordering(differences: Sequence[Difference], why_none: str) -> tuple[str, Verdict]:
    """Judge differences; those without an interval are not looked at."""
    measured = [(name, mean, width) for name, mean, width in differences if width is not None]
    if not measured:
        return why_none, "not judged"
    ends = [IntervalEnds(mean - width, mean + width) for _, mean, width in measured]
    held, verdict = of_positive(ends)
    name, mean, width = measured[weakest_of(ends)]
    weakest = f"the weakest difference: {100 * mean:.2f} ± {100 * width:.2f} points ({name})"
    return f"{held}; {weakest}", verdict


def at_most(best: Verdict, verdict: Verdict) -> Verdict:
    """A verdict that cannot be better than another; what says nothing stays."""
    return verdict if verdict == "not testable" else worst([best, verdict])

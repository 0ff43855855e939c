"""What became of published claims: one shape of a finding and one rule, for studies and for measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["reproduced", "partly", "not reproduced", "not judged", "not testable"]


@dataclass(frozen=True)
class ClaimFinding:
    """What came out of one claim: the published figure, ours with its interval, and the verdict."""

    claim: str
    says: str
    published: str
    ours: str
    verdict: Verdict
    note: str = ""


def of_positive(means_and_lows: Sequence[tuple[float, float]]) -> tuple[str, Verdict]:
    """How many of some differences are positive, as claimed, and the verdict, by their means and lower ends.

    It is reproduced when every interval is above zero, partly when at least half of the differences are positive.
    """
    n_right, n = sum(mean > 0 for mean, _ in means_and_lows), len(means_and_lows)
    held = f"{n_right} of {n} hold"
    if all(low > 0 for _, low in means_and_lows):
        return held, "reproduced"
    return held, "partly" if 2 * n_right >= n else "not reproduced"

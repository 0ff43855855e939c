"""What became of published claims: one rule, for studies and for measurements, that is never bent for a claim.

A number is *reproduced* when our whole 95 % interval lies within 2 % of it, and *partly* when it lies within 10 %. Of
the others it is *not reproduced* when it keeps out of these 2 %, and *undecided* when it is too wide for that. So noise
never helps a claim: of numbers that are 2 % off or more at most one in forty is called reproduced. An ordering is a
list of differences claimed to be positive, each paired on equal trials. A difference holds when its interval lies above
zero, is the other way round when it lies below, and is open else. An ordering is reproduced when all of them hold, not
reproduced when one is the other way round, partly when half of them hold and the others are open, and undecided else. A
claim that speaks of most or of almost all needs more than half, or all but one, to hold, in each setting that it speaks
of. The weakest difference is shown: the one most surely the other way round, or whose interval reaches lowest. Where
the words of a claim need a bar ("alike", "many more"), the claim says which one, and differences are what lies beyond
it. Nothing is judged on fewer than five trials of a study, or where a trial lacks a result. A claim about the machine
or the mapper of its authors is not testable: our figure, if there is one, is shown beside it. Figures by a value that
the text does not print are shown and not judged. Intervals are over trials: where a stand-in is drawn once for all of
them, they do not tell what another draw would give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

Verdict: TypeAlias = Literal[
    "not reproduced", "undecided", "not judged", "partly", "reproduced", "not testable", "shown"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""From the worst to the best, and what says nothing."""
SILENT: tuple[Verdict, ...] = ("not testable", "shown")
"""What is said where there is nothing to judge: our figures are shown, if there are any."""
Standing: TypeAlias = Literal["", "calibrated", "constructed", "stand-in", "post hoc", "ours"]
STANDINGS: Mapping[Standing, str] = {
    "calibrated": "what the text leaves open was chosen by this very number, so that it can hardly fail any more",
    "constructed": "it follows from definitions: it holds our code to the model, and the model to nothing",
    "stand-in": "data of ours take the place of data that were not published, and may decide it",
    "post hoc": "a reading that was made when the outcome was known, and is left out of the counts of verdicts",
    "ours": "no published claim but one of ours, with a bar that we set beside our own results",
}
"""What verdicts that are no test of a published claim by published data are worth."""
Wanted: TypeAlias = Literal["all", "almost all", "most"]
CLOSE, NEAR = 0.02, 0.10
LEAST_TRIALS = 5


class IntervalEnds(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True)
class ClaimFinding:
    """What came out of one claim: the published figure, ours with its interval, and the verdict."""

    claim: str
    says: str
    published: str
    ours: str
    verdict: Verdict
    note: str = ""
    standing: Standing = ""

    @property
    def words(self) -> str:
        """The verdict, with its standing where that makes it worth less."""
        is_worth_less = self.standing and self.verdict not in SILENT
        return f"{self.verdict} ({self.standing})" if is_worth_less else self.verdict


def of_number(published: float, ours: IntervalEnds) -> Verdict:
    """The verdict on a published number, by the ends of our interval."""
    near, far = sorted(abs(end - published) / abs(published) for end in ours)
    if far <= CLOSE:
        return "reproduced"
    if far <= NEAR:
        return "partly"
    holds_it = ours.low <= published <= ours.high
    return "undecided" if holds_it or near <= CLOSE else "not reproduced"


_LEAST_OF: Mapping[Wanted, Callable[[int], int]] = {
    "all": lambda n: n,
    "almost all": lambda n: max(n - 1, n // 2 + 1),
    "most": lambda n: n // 2 + 1,
}


def of_positive(differences: Sequence[IntervalEnds], wanted: Wanted = "all") -> tuple[str, Verdict]:
    """How many of some differences are positive, as claimed, and the verdict, by the ends of their intervals."""
    n, least = len(differences), _LEAST_OF[wanted](len(differences))
    n_right, n_wrong = sum(low > 0 for low, _ in differences), sum(high < 0 for _, high in differences)
    others = {"the other way round": n_wrong, "open": n - n_right - n_wrong}
    held = ", ".join([f"{n_right} of {n} hold", *(f"{count} {name}" for name, count in others.items() if count)])
    if n_right >= least:
        return held, "reproduced"
    if n - n_wrong < least:
        return held, "not reproduced"
    return held, "partly" if 2 * n_right >= n else "undecided"


def weakest_of(ends: Sequence[IntervalEnds]) -> int:
    """Which difference speaks most against a claim: the one that is most surely negative, or may be most negative."""
    highest = [end.high for end in ends]
    lowest = highest if min(highest) < 0 else [end.low for end in ends]
    return lowest.index(min(lowest))


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; what is not testable counts only where there is nothing else."""
    return min(verdicts, key=VERDICTS.index)


def best(verdicts: Iterable[Verdict]) -> Verdict:
    """The best of some verdicts; those that say nothing count only where there are no others."""
    return max(verdicts, key=lambda verdict: (verdict not in ("not judged", *SILENT), VERDICTS.index(verdict)))

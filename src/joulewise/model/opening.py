"""A site in the midst of its work: what runs already when decisions begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Floats, freeze_fields

if TYPE_CHECKING:
    from joulewise.model.site import Places


@dataclass(frozen=True, eq=False)
class Opening:
    """Who runs already at instant `at_s`, at which decisions begin, and where.

    Job i runs since `since_s[i]`, NaN for one that does not; `places` has the pieces of those that do. All others that
    came before wait, since they came. Jobs that are over have used `used_j` of what budgets leave now.
    """

    at_s: float
    since_s: Floats
    places: Places
    used_j: float = 0.0

    def __post_init__(self) -> None:
        freeze_fields(self, {"since_s": np.float64})
        raise_if_any(_problems(self))

    @property
    def runs(self) -> Bools:
        """Which jobs run already."""
        return np.isfinite(self.since_s)


def _problems(opening: Opening) -> Iterator[Problem]:
    where = "opening"
    if not 0 <= opening.at_s < np.inf:
        yield Problem(f"{where}.at_s", f"found {opening.at_s:g} s", "must be 0 s or later")
    if not (opening.since_s[opening.runs] < opening.at_s).all():
        yield Problem(f"{where}.since_s", "found jobs that start at the opening or later", "must run already")
    if not opening.used_j >= 0:
        yield Problem(f"{where}.used_j", f"found {opening.used_j:g} J", "must be 0 J or more")
    if set(opening.places.job.tolist()) != set(np.flatnonzero(opening.runs).tolist()):
        yield Problem(f"{where}.places", "found places of other jobs than those that run", "must be of these")

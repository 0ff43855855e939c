"""What becomes of a front when times and powers turn out one way or another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from joulewise.study.optimising import UtilityFrontParameters
from joulewise.study.uncertain import KnownWorld
from joulewise.study.utility_tables import Spread

if TYPE_CHECKING:
    from joulewise.model.assignment import Assignment
    from joulewise.study.planning import Run


def fresh_seed(run: Run) -> int:
    """The seed of the samples in which the fronts of one trial are evaluated again, whatever found them."""
    from joulewise.rng import generator

    return int(generator(run.seed, run.trial, "fresh").integers(2**63))


def spread_of(known: KnownWorld, p: UtilityFrontParameters, assignments: Sequence[Assignment], seed: int) -> Spread:
    """What assignments come to in fresh samples."""
    from joulewise.optimise.fuzzy import fuzzy

    assert known.chances is not None, "there is chance in this world"
    found = fuzzy(
        known.world,
        known.chances,
        assignments,
        p.fresh_samples,
        seed,
        drop_below=p.drop_below,
        drop_by=p.drop_by,
    )
    return Spread(found.energy_j, found.utility, found.dropped.astype(np.float64))

"""The seeds that searches draw from."""

from __future__ import annotations

from joulewise.rng import generator
from joulewise.study.spec.run import Run


def search_seed(run: Run) -> int:
    """The seed of the search of a run."""
    return seed_of(run.seed, run.trial)


def rehearsal_seed(run: Run) -> int:
    """The seed of what a run tries before it counts."""
    return int(generator(run.seed, run.trial, "rehearsal").integers(2**63))


def seed_of(seed: int, trial: int) -> int:
    """The seed of the searches of one trial."""
    return int(generator(seed, trial, "optimise").integers(2**63))

"""Evolution on islands: a population on each, spread over processes, with the best moving on from time to time."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from joulewise.optimise.genetic import Evolution, GeneticProblem, Ranks
from joulewise.optimise.population import Population


def evolve_islands(
    make_problem: Callable[[], GeneticProblem],
    seeds: Sequence[Any] = (),
    *,
    generations: int,
    islands: int = 4,
    exchange_every: int = 50,
    n_exchanged: int = 5,
    workers: int | None = None,
    population: int | None = None,
    mutation: float = 0.5,
    archive: bool = True,
    ranks: Ranks = "peeling",
    seed: int = 0,
    snapshots: Collection[int] = (),
    seconds: float = math.inf,
    start: Population | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Evolution:
    """Evolve a population on each island and send copies of its best to the next island, in a ring."""
    raise NotImplementedError

"""What studies say of NSGA-II, whatever it evolves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from joulewise.errors import Problem
from joulewise.optimise.ways import Ranks, Ways
from joulewise.study.methods import Uses

NSGA2: Final = "nsga2"
MOST_GENERATIONS = 10_000_000
GENETIC_KEYS = ("population", "generations", "mutation", "archive", "ranks", "snapshots")
"""What parameters say of it."""
ISLAND_USES: Uses = {"exchange_every": (lambda p: p.islands > 1, "two islands or more")}
"""What keys of islands need."""


class GeneticParameters(Protocol):
    """Parameters with those of NSGA-II among them."""

    @property
    def population(self) -> int: ...
    @property
    def generations(self) -> int: ...
    @property
    def mutation(self) -> float: ...
    @property
    def archive(self) -> bool: ...
    @property
    def ranks(self) -> Ranks: ...
    @property
    def snapshots(self) -> tuple[int, ...]: ...


def genetic_ways(p: GeneticParameters) -> dict[str, Any]:
    """How NSGA-II evolves, as `evolve` takes it."""
    ways = Ways(p.mutation, p.ranks, p.archive, p.snapshots)
    return {"population": p.population, "generations": p.generations, "ways": ways}


def genetic_problems(p: GeneticParameters) -> Iterator[Problem]:
    """Populations that cannot be paired, and snapshots that will never be."""
    if p.population % 2:
        yield Problem("optimise.population", f"found {p.population}", "must be even: chromosomes are paired")
    wrong = [n for n in p.snapshots if not 0 <= n <= p.generations]
    if wrong:
        yield Problem("optimise.snapshots", f"found {wrong[0]}", f"must be from 0 to generations, {p.generations}")
    if len(set(p.snapshots)) < len(p.snapshots):
        yield Problem("optimise.snapshots", f"found {list(p.snapshots)}", "must differ from each other")

"""How evolution goes, apart from what carries it out: whoever only reads a study loads no kernels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

Ranks: TypeAlias = Literal["peeling", "dominators"]

POPULATION = 100
"""How many chromosomes a population has unless asked otherwise."""


@dataclass(frozen=True)
class Ways:
    """How evolution goes: the chance of a mutation, how ranks are counted, if an archive is kept, fronts on the way.

    Ranks are fronts taken off one by one, or as in the text the number of dominators. Without an archive the front is
    that of the final population, as published. `snapshots` are the generations at which the front is kept.
    """

    mutation: float = 0.5
    ranks: Ranks = "peeling"
    archive: bool = True
    snapshots: Collection[int] = ()

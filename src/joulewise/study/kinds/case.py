"""One run while it is computed or judged, and what comes out of it, whatever the kind of study."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from joulewise.study.spec.parts import Part, WorldParts
from joulewise.study.spec.run import Run
from joulewise.study.store.store import Store, Tables

NOT_CHECKED = "not checked"
"""How notes on runs begin that could not be judged; why follows."""
FAILS_AGAIN = "it fails again, as stored"
"""The note on a run without a result."""
FAILED_BEFORE = "it failed, and was not computed again"
"""The note on one that was not drawn to be computed again."""


class Note(str):
    """What a judge says about a run besides problems."""


def unstored(hindrance: str) -> str:
    """The note on a run that cannot be computed again, and of which nothing is stored that could be judged."""
    return f'{NOT_CHECKED}: {hindrance}, and is not stored; keep = "all" stores it'


@dataclass(frozen=True)
class Case:
    """A run with its world, what decides in it, and the store that holds the proof of the world's bound."""

    run: Run
    world: Any
    decision: Any
    store: Store


@dataclass(frozen=True)
class Outcome:
    """What came out of a run: its columns, and its detail tables, made when they are asked for."""

    columns: dict[str, Any]
    tables: Callable[[], Tables]


class Candidates(NamedTuple):
    """What a study file asks for, as far as it could be read: decisions, worlds, both together, and trials of each.

    `decided` has worlds with all that decides in them, in the order of points; a world may be there several times.
    `world_of` makes the world of the first trial, once for all who ask; InputError when there is none.
    """

    decisions: tuple[Part, ...]
    worlds: tuple[WorldParts, ...]
    decided: tuple[tuple[WorldParts, Sequence[Part]], ...]
    trials: int
    world_of: Callable[[WorldParts], Any]

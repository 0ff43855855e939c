"""The days of a study: each trial is a world, the switches of who decides in it, and the bound on what it can earn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from joulewise.errors import Problem, raise_if_any
from joulewise.gym.modes import Game, Look
from joulewise.simulate.window import Sight
from joulewise.study.parsing.file import read_study
from joulewise.study.parsing.study import Study
from joulewise.study.spec.source import Draw

EXAMPLES = Path(__file__).parents[1] / "examples"

_KEPT = 8
"""So many days are kept, for who comes back to them."""


class Day(Protocol):
    """A world, who decides there but for the policy, and what nobody can earn more than there."""

    @property
    def world(self) -> Any:
        """The machines or clusters, and the work."""

    @property
    def utility_bound(self) -> float:
        """What nobody can exceed."""

    @property
    def sight(self) -> Sight:
        """What is seen of it."""

    @property
    def most(self) -> float:
        """The highest scale of its work."""

    def earned_by(self, policy: Any) -> float:
        """What a policy of the system earns there."""


class System(NamedTuple):
    """What days of a system are: the kind of study that has them, how they are made, played and drawn.

    `tallies` are what a day adds up, by name, and whether rewards are it (1) or the negative of it (-1).
    """

    kind: str
    section: str
    day: Callable[[Study, Draw], Day]
    games: dict[str, Callable[[Any, Look, int, int], Game]]
    tallies: dict[str, int]
    figure: str
    must_be_alike: str


class Days:
    """The days of a study file, by trial."""

    def __init__(self, path: Path, system: System) -> None:
        self.study, self.system = read_study(path), system
        raise_if_any(_problems(self.study, system))
        self.of = lru_cache(_KEPT)(self._made)

    def _made(self, trial: int) -> Day:
        return self.system.day(self.study, Draw(self.study.heading.seed, trial, self.study.folder))


def _problems(study: Study, system: System) -> Iterator[Problem]:
    where = study.file_name
    if study.kind.name != system.kind:
        yield Problem(where, f"found a study of the kind {study.kind.name}", f"must have a {system.section}")
    elif len(study.points) != 1:
        found = f"found {len(study.points)} points"
        yield Problem(where, found, "must be one, whose trials are the days", "give single values, no lists")

"""The days of a study: each trial is a world, the manager's switches in it, and the bound on what it can earn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from joulewise.errors import Problem, raise_if_any
from joulewise.model.world import World
from joulewise.optimise.tasks.proof import prove
from joulewise.policies.tasks.policy import Policy
from joulewise.simulate.tasks.manager import Manager
from joulewise.study.parsing.study import Study, read_study
from joulewise.study.spec.source import Draw

BUNDLED = Path(__file__).parents[2] / "examples" / "training.toml"
"""The study whose days there are where nobody names another."""

_KIND = "managed"
_KEPT = 8
"""So many days are kept, for who comes back to them."""


@dataclass(frozen=True, eq=False)
class Day:
    """A world, the manager without its policy, and what nobody can earn more than there."""

    world: World
    manager: Manager
    utility_bound: float

    def managed_by(self, policy: Policy) -> Manager:
        """The manager with a policy; one without an objective has nothing to decline."""
        declines = self.manager.declines if policy.objective else None
        return replace(self.manager, policy=policy, declines=declines)


class Days:
    """The days of a study file, by trial."""

    def __init__(self, path: Path) -> None:
        self.study = read_study(path)
        raise_if_any(_problems(self.study))
        self.of = lru_cache(_KEPT)(self._made)

    def _made(self, trial: int) -> Day:
        study, (point,) = self.study, self.study.points
        draw = Draw(study.heading.seed, trial, study.folder)
        world, manager = study.kind.build_world(point.world, draw), study.kind.build(point.decision, draw)
        raise_if_any(_manager_problems(manager))
        return Day(world, manager, prove(world, study.heading.bound).utility_bound)


def _problems(study: Study) -> Iterator[Problem]:
    where = study.file_name
    if study.kind.name != _KIND:
        yield Problem(where, f"found a study of the kind {study.kind.name}", "must have a [manager]")
    elif len(study.points) != 1:
        found = f"found {len(study.points)} points"
        yield Problem(where, found, "must be one, whose trials are the days", "give single values, no lists")


def _manager_problems(manager: Manager) -> Iterator[Problem]:
    if manager.groups > 1:
        yield Problem("manager.groups", f"found {manager.groups}", "must be 1 where an agent decides")
    if manager.preempts:
        yield Problem("manager.preempts", "found true", "must be false: an agent suspends no task", "leave it out")

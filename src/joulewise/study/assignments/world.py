"""Worlds of tasks known in advance, with what times and powers may turn out to be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joulewise.errors import Problem
from joulewise.study.parameters import shown
from joulewise.study.source import Draw
from joulewise.study.sources import build_supply, build_system, build_workload
from joulewise.study.spec import Part, WorldParts
from joulewise.worlds.uncertain import KEYS, UncertainParameters

if TYPE_CHECKING:
    from joulewise.model import System, World
    from joulewise.model.chances import Chances

_CERTAIN = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class KnownWorld:
    """Tasks known in advance on their machines; `chances` is None where times and powers are certain."""

    world: World
    chances: Chances | None


def build_world(parts: WorldParts, draw: Draw) -> KnownWorld:
    """The tasks of one trial and what may become of them; InputError when tables do not describe them."""
    from joulewise.model import World

    system, chances = _with_chances(build_system(parts.system, draw), parts.system.parameters, draw)
    workload = build_workload(parts.workload, system, draw)
    return KnownWorld(World(system, workload, build_supply(parts.supply, draw)), chances)


def _with_chances(system: System, p: UncertainParameters, draw: Draw) -> tuple[System, Chances | None]:
    """The system, at the means of samples where these are given, and its chances."""
    from joulewise.worlds.assignments.chance_tables import read_chances
    from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances

    if p.samples is not None:
        chances, at_means = read_chances(p.samples, system, draw.folder)
        return at_means, chances
    if not p.draws_chances:
        return system, None
    covs = ChanceParameters(p.time_cov_range or _CERTAIN, p.power_cov_range or _CERTAIN)
    return system, gamma_chances(system, covs, draw.seed, draw.trial)


def chances_refused(system: Part, allowed: str, advice: str) -> Iterator[Problem]:
    """The keys of a system that make it uncertain, where it may not be."""
    for key in KEYS:
        value = getattr(system.parameters, key)
        if value is not None:
            yield Problem(f"system.{key}", f"found {shown(key, value)}", allowed, advice)

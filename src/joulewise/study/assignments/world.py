"""Worlds of tasks known in advance, with what times and powers may turn out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from joulewise.study.spec.source import Draw
from joulewise.worlds.uncertain import UncertainParameters

if TYPE_CHECKING:
    from joulewise.model import System, World
    from joulewise.model.chances import Chances

_CERTAIN = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class KnownWorld:
    """Tasks known in advance on their machines; `chances` is None where times and powers are certain."""

    world: World
    chances: Chances | None


def with_chances(system: System, p: UncertainParameters, draw: Draw) -> tuple[System, Chances | None]:
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

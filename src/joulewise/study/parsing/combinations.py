"""The sections of a study combined: its points, its worlds, and what was swept."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from joulewise.study.kinds.case import Candidates
from joulewise.study.kinds.kind import Kind
from joulewise.study.parsing.study import VARIANT
from joulewise.study.spec import parameters
from joulewise.study.spec.parts import Part, Point, WorldParts
from joulewise.study.spec.source import SUPPLY, SYSTEM, WORKLOAD


@dataclass
class Parts:
    """One section of one variant: its resolved values, each once, and the columns that were swept."""

    values: list[Part]
    swept: list[str]
    n_points: int
    sampled: list[list[Part]] = field(default_factory=list)

    def of(self, sample: int) -> list[Part]:
        """Those of a sample, where values are drawn; else all."""
        return self.sampled[sample] if self.sampled else self.values


@dataclass
class Combination:
    """The sections of one variant (or of the file, when it has none)."""

    variant: str | None
    kind: Kind
    sections: dict[str, Parts]

    @property
    def n_samples(self) -> int:
        """How many samples are drawn of its ranges; one where it has none."""
        return max(len(parts.sampled) for parts in self.sections.values()) or 1

    @property
    def decisions(self) -> list[Part]:
        """What its section that decides stands for."""
        return self.sections[self.kind.section.name].values


def n_points_of(combination: Combination) -> int:
    total = 1
    for parts in combination.sections.values():
        total *= parts.n_points
    return total * combination.n_samples


def _worlds(combination: Combination, sample: int) -> Iterator[WorldParts]:
    sections = (combination.sections[name].of(sample) for name in (SYSTEM, WORKLOAD, SUPPLY))
    return itertools.starmap(WorldParts, itertools.product(*sections))


def _all_worlds(combination: Combination) -> Iterator[WorldParts]:
    return itertools.chain.from_iterable(_worlds(combination, sample) for sample in range(combination.n_samples))


def _decided(combination: Combination) -> Iterator[tuple[WorldParts, list[Part]]]:
    """The worlds of a variant, sample by sample, with what decides in each."""
    deciding = combination.sections[combination.kind.section.name]
    for sample in range(combination.n_samples):
        decisions = deciding.of(sample)
        yield from ((parts, decisions) for parts in _worlds(combination, sample))


def points_of(combination: Combination) -> Iterator[Point]:
    """The points of a variant, each once: sample by sample, and those of a world together."""
    of_worlds = (itertools.product((combination.variant,), (parts,), each) for parts, each in _decided(combination))
    points = map(Point._make, itertools.chain.from_iterable(of_worlds))
    return iter(dict.fromkeys(points)) if combination.n_samples > 1 else points


def candidates_of(combinations: list[Combination], trials: int, world_of: Callable[[WorldParts], Any]) -> Candidates:
    """The decisions and worlds of combinations, each once, and both together."""
    return Candidates(
        tuple(dict.fromkeys(part for found in combinations for part in found.decisions)),
        tuple(dict.fromkeys(itertools.chain.from_iterable(map(_all_worlds, combinations)))),
        tuple(itertools.chain.from_iterable(map(_decided, combinations))),
        trials,
        world_of,
    )


def axes_of(combinations: list[Combination]) -> tuple[str, ...]:
    """The columns that tell points apart; the kind's main one is among them unless it follows from the variant."""
    swept = [name for found in combinations for parts in found.sections.values() for name in parts.swept]
    if combinations and combinations[0].variant is not None:
        return tuple(dict.fromkeys([VARIANT, *swept]))
    return tuple(dict.fromkeys([*swept, *(found.kind.main_axis for found in combinations[:1])]))


def key_as_written(combinations: list[Combination], axis: str) -> str:
    """A swept column as a study file writes its key."""
    section, _, name = axis.partition(".")
    parts = (part for found in combinations if section in found.sections for part in found.sections[section].values)
    owners: dict[type, None] = dict.fromkeys(type(part.parameters) for part in parts)
    hints = [found[name] for owner in owners for found in [parameters.hints_of(owner)] if name in found]
    return f"{section}.{parameters.key_of(name, hints[0])}" if hints else axis

"""Switches that a study sets and that do nothing in its worlds."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from joulewise.errors import Problem
from joulewise.study.kinds.deciders import Deciders
from joulewise.study.spec.parameters import shown
from joulewise.study.spec.parts import WorldParts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Decider = TypeVar("Decider", bound="DataclassInstance")
"""What has the switches: a manager, or a scheduler."""


@dataclass(frozen=True)
class Use(Generic[Decider]):
    """Where a switch does something, and what to say where it does nothing."""

    has_effect: Callable[[WorldParts, Decider], bool]
    allowed: str
    advice: str


def idle_switches(section: str, uses: Mapping[str, Use[Decider]], deciders: Deciders[Decider]) -> Iterator[Problem]:
    """Switches of a section that a study sets and that change nothing at any of its points.

    Nothing is said while some of the deciders cannot be made: they may be those who use a switch.
    """
    made = list(deciders.of.values()) if not deciders.problems else []
    for name, use in uses.items():
        found = [decider for decider in made if getattr(decider, name) != _default(type(decider), name)]
        if found and not _has_effect(use, set(map(id, found)), deciders):
            value = getattr(found[0], name)
            told = shown(name, dict(value) if isinstance(value, Mapping) else value)
            where = f"{section}.{name.removesuffix('_s')}"
            yield Problem(where, f"found {told}", use.allowed, f"{use.advice}, or leave it out")


def _has_effect(use: Use[Decider], ids: Container[int], deciders: Deciders[Decider]) -> bool:
    """Whether a switch does something at any of the points of these deciders."""
    pairs = ((parts, decider) for parts, made in deciders.by_world() for decider in made if id(decider) in ids)
    return any(itertools.starmap(use.has_effect, pairs))


@cache
def _default(decider: type[DataclassInstance], name: str) -> object:
    found = next(field for field in dataclasses.fields(decider) if field.name == name)
    factory = found.default_factory
    return found.default if factory is dataclasses.MISSING else factory()

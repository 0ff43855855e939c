"""Switches that a study sets and that do nothing in its worlds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from joulewise.errors import Problem
from joulewise.study.parameters import shown
from joulewise.study.spec import WorldParts

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


def idle_switches(
    section: str, uses: Mapping[str, Use[Decider]], points: Iterable[tuple[WorldParts, Decider]]
) -> Iterator[Problem]:
    """Switches of a section that a study sets and that change nothing at any of its points."""
    points = list(points)
    for name, use in uses.items():
        found = [point for point in points if getattr(point[1], name) != _default(type(point[1]), name)]
        if found and not any(use.has_effect(*point) for point in found):
            value = getattr(found[0][1], name)
            told = shown(name, dict(value) if isinstance(value, Mapping) else value)
            where = f"{section}.{name.removesuffix('_s')}"
            yield Problem(where, f"found {told}", use.allowed, f"{use.advice}, or leave it out")


@cache
def _default(decider: type[DataclassInstance], name: str) -> object:
    found = next(field for field in dataclasses.fields(decider) if field.name == name)
    factory = found.default_factory
    return found.default if factory is dataclasses.MISSING else factory()

"""The ways to search that studies choose from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from joulewise.errors import Problem
from joulewise.study.spec.parameters import shown


@dataclass(frozen=True)
class Method:
    """One way to search; `draws`: it draws from the seed and the trial.

    `seconds` is about how long it takes for a world of some size, `keys` are the parameters that it uses.
    """

    title: str
    summary: str
    source: str
    search: Callable[..., Any]
    seconds: Callable[[Any, float], float]
    draws: bool
    keys: tuple[str, ...]


def idle_keys(owner: type, parameters: Sequence[Any], methods: Mapping[str, Method]) -> Iterator[Problem]:
    """Parameters of a class that a study sets and that none of the methods it sets them for uses."""
    for entry in dataclasses.fields(owner):
        given = [p for p in parameters if getattr(p, entry.name) != entry.default]
        users = [name for name, method in methods.items() if entry.name in method.keys]
        if given and users and not any(p.method in users for p in given):
            found = f"found {shown(entry.name, getattr(given[0], entry.name))} with method {given[0].method!r}"
            allowed = f"is for {' and '.join(map(repr, users))}"
            yield Problem(f"optimise.{entry.name}", found, allowed, "use such a method as well, or leave it out")


Uses: TypeAlias = Mapping[str, tuple[Callable[[Any], bool], str]]
"""By key: which parameters it matters to, and what those are."""


def unused_keys(owner: type, parameters: Sequence[Any], uses: Uses) -> Iterator[Problem]:
    """Parameters of a class that a study sets for searches that know nothing of them."""
    for entry in dataclasses.fields(owner):
        given = [p for p in parameters if entry.name in uses and getattr(p, entry.name) != entry.default]
        if given and not any(map(uses[entry.name][0], given)):
            found = f"found {shown(entry.name, getattr(given[0], entry.name))}"
            yield Problem(f"optimise.{entry.name}", found, f"is for {uses[entry.name][1]}", "leave it out")

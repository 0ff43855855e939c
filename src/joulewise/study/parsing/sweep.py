"""Sweeps: a list where one value may stand; several lists make the product; variants are laid over."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Axis:
    """One swept key of a section and its values as the file gives them."""

    key: str
    values: tuple[Any, ...]


def depth(value: Any) -> int:
    """How many lists deep a value is; an empty list counts as one deep."""
    if not isinstance(value, list):
        return 0
    return 1 + max(map(depth, value), default=0)


def is_sweep(value: Any, depths: frozenset[int]) -> bool:
    """Whether a value is a list of what a key takes, given how deep one value of that key may be."""
    return isinstance(value, list) and depth(value) not in depths


def axes(section: Raw, depths: Mapping[str, frozenset[int]]) -> list[Axis]:
    """The swept keys of a section, in the order of the file; unknown keys take plain values."""
    plain = frozenset({0})
    return [Axis(key, tuple(value)) for key, value in section.items() if is_sweep(value, depths.get(key, plain))]


def n_points(swept: list[Axis]) -> int:
    """How many combinations the axes make."""
    return prod(len(axis.values) for axis in swept)


def product(section: Raw, swept: list[Axis]) -> Iterator[dict[str, Any]]:
    """Every combination of the swept values as a section without sweeps; the last axis varies fastest."""
    for values in itertools.product(*(axis.values for axis in swept)):
        yield {**section, **dict(zip((axis.key for axis in swept), values, strict=True))}


def one_at_a_time(section: Raw, swept: list[Axis]) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Sections in which every swept value occurs at least once, with the position of each swept value.

    There are as many as values, not as combinations: enough to judge every value on its own.
    """
    first = {axis.key: 0 for axis in swept}
    positions = [{**first, axis.key: i} for axis in swept for i in range(len(axis.values))] or [first]
    for position in positions:
        chosen = {axis.key: axis.values[position[axis.key]] for axis in swept}
        yield {**section, **chosen}, position


def lay_over(section: Raw, override: Raw, selector: str, tables: Collection[str]) -> dict[str, Any]:
    """The section with a variant's keys laid over it.

    Where the variant takes its values from elsewhere (another generator, tables in place of one), the keys of
    the section mean nothing any more and the variant's stand alone.
    """
    if changes_source(section, override, selector, tables):
        return dict(override)
    return {**section, **override}


def changes_source(section: Raw, override: Raw, selector: str, tables: Collection[str]) -> bool:
    """Whether an override names a source of values, by the selector's key or one of a table, that the section lacks."""
    if selector in override:
        return bool(override[selector] != section.get(selector))
    return selector in section and any(key in override for key in tables)

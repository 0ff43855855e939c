"""Every column of every table that studies write, with the kinds of studies that have it."""

from __future__ import annotations

from typing import NamedTuple

from joulewise.study.kinds.systems import all_kinds
from joulewise.study.spec.column import FIRST_COLUMNS, LAST_COLUMNS, Column


class Described(NamedTuple):
    """A column, and the names of the kinds of studies that have it; none: all of them have it."""

    column: Column
    kinds: tuple[str, ...]

    @property
    def studies(self) -> str:
        """The kinds in words."""
        return ", ".join(self.kinds) or "all"


def all_columns() -> list[Described]:
    """Every column once, also where kinds share it, in the order of kinds."""
    shared: dict[tuple[str, ...], list[tuple[Column, str]]] = {}
    for kind in all_kinds().values():
        for column in kind.columns:
            said = (column.table, column.name, column.unit, column.meaning)
            shared.setdefault(said, []).append((column, kind.name))
    own = [Described(same[0][0], tuple(kind for _, kind in same)) for same in shared.values()]
    return [*_of_all(FIRST_COLUMNS), *own, *_of_all(LAST_COLUMNS)]


def _of_all(columns: tuple[Column, ...]) -> list[Described]:
    return [Described(column, ()) for column in columns]

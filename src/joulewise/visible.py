"""Objects that show themselves: as one line, as key figures in a notebook, in figures, and as tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import polars as pl

ALONE = "this one"
"""What an object is called in a figure of its own."""


class Visible:
    """Shows itself as the room `looks` says, which is loaded when an object is looked at.

    A class names the module of that room in which its look is: `class Bag(Visible, looks="bags")`.
    """

    _looks: ClassVar[str]

    def __init_subclass__(cls, looks: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        cls._looks = looks or cls._looks
        cls.__repr__ = Visible.__repr__  # type: ignore[method-assign]  # where one is, a dataclass makes none

    def __repr__(self) -> str:
        return str(look_of(self).line(self))

    def _repr_html_(self) -> str:
        return str(look_of(self).html(self))

    def figures(self, bound: object = None) -> list[str]:
        """The names of the figures that `plot` can draw, the usual one first."""
        return list(look_of(self).figures({ALONE: self}, bound))

    def plot(self, figure: str = "", bound: object = None) -> Any:
        """A figure as a chart of Altair: the usual one, or another by its name; beside a proven bound, if one is given.

        Raises InputError where there is no such figure.
        """
        return look_of(self).chart({ALONE: self}, figure, bound)

    def to_polars(self) -> pl.DataFrame | dict[str, pl.DataFrame]:
        """What it holds as a table of Polars, or as several by their names."""
        tables: dict[str, pl.DataFrame] = look_of(self).all_tables(self)
        return next(iter(tables.values())) if len(tables) == 1 else tables

    def to_pandas(self) -> Any:
        """The same as `to_polars` as tables of pandas. Raises InputError where pandas is not installed."""
        tables: dict[str, Any] = look_of(self).pandas_tables(self)
        return next(iter(tables.values())) if len(tables) == 1 else tables

    def _place(self) -> str:
        """The module of `looks` that has its look."""
        return self._looks


def look_of(shown: Visible) -> Any:
    """How an object shows itself: the look of its class, or else of the nearest one that it is made from."""
    looks = import_module(f"joulewise.looks.{shown._place()}").LOOKS
    return next(looks[kind.__name__] for kind in type(shown).__mro__ if kind.__name__ in looks)

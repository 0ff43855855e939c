"""What a look is: the key figures, the tables and the figures of the objects of one class."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from textwrap import shorten
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, check_kinds, printable, unknown_name
from joulewise.visible import ALONE, Visible, look_of

if TYPE_CHECKING:
    import polars as pl

    from joulewise.present.layout import Drawing
    from joulewise.study.store.store import Tables

    Pictures: TypeAlias = Mapping[str, Callable[[], Drawing]]
    """Figures by name, each drawn when it is asked for."""

Facts: TypeAlias = Mapping[str, str]
"""What is told by what it is told of, the most important first; nothing is said of what is empty."""

_LINE = 160
"""So many characters of key figures are one line."""
_CALLER = 3
"""Warnings are told of whoever called `plot`."""
_FEW = 12
"""So many names of figures are listed below a picture."""


def _no_pictures(_named: Mapping[str, Any], _bound: Any) -> Pictures:
    return {}


@dataclass(frozen=True)
class Look:
    """How objects of one class show themselves.

    `pictures` are of one or several named objects of the class, beside a proof of the class `bound` where there is one;
    of one object the `usual` one comes first.
    """

    title: str
    facts: Callable[[Any], Facts]
    tables: Callable[[Any], Tables]
    pictures: Callable[[Mapping[str, Any], Any], Pictures] = _no_pictures
    usual: str = ""
    bound: str = ""

    def figures(self, named: Mapping[str, Visible], bound: Any) -> Pictures:
        """The figures that can be drawn, by name. Raises InputError for what is no bound of these objects."""
        if bound is not None and type(bound).__name__ != self.bound:
            allowed = f"must be a {self.bound}" if self.bound else "these are drawn beside no bound"
            raise InputError(Problem("plot: bound", f"found a {type(bound).__name__}", allowed))
        found = self.pictures(named, bound)
        return {self.usual: found[self.usual], **found} if len(named) == 1 and self.usual in found else found

    def line(self, shown: Visible) -> str:
        """The key figures as one line."""
        told = ", ".join(f"{name} {value}" for name, value in self._told(shown).items())
        return f"<{type(shown).__name__}: {shorten(printable(told), _LINE, placeholder=' ...')}>"

    def html(self, shown: Visible) -> str:
        """The key figures and the usual figure for a notebook, escaped; what cannot be drawn is left out."""
        from joulewise.present.html import filled

        try:
            figures = self.figures({ALONE: shown}, None)
            names, picture = list(figures), self._picture(next(iter(figures.values()))()) if figures else {}
        except Exception:  # whatever cannot be drawn still has its key figures
            names, picture = [], {}
        return filled("look.html", title=self.title, facts=self._told(shown), picture=picture, others=names[1:_FEW])

    def chart(self, named: Mapping[str, Visible], figure: str, bound: Any) -> Any:
        """A figure as a chart of Altair, with its caption as description; warns of a bound that it does not show."""
        from joulewise.looks.charts import chart_of
        from joulewise.present.export import spec_of

        drawing = self._drawing(named, figure, bound)
        if bound is not None and figure:
            without = self._drawing(named, figure, None)
            if spec_of(without.chart) == spec_of(drawing.chart):
                warnings.warn(f"the figure {figure} shows no bound: it is as without one", stacklevel=_CALLER)
        return chart_of(drawing)

    def all_tables(self, shown: Visible) -> dict[str, pl.DataFrame]:
        """The tables of Polars by name."""
        return dict(self.tables(shown))

    def pandas_tables(self, shown: Visible) -> dict[str, Any]:
        """The tables of pandas by name. Raises InputError where pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            advice = "install it (pip install pandas), or use to_polars()"
            raise InputError(Problem("to_pandas", "pandas is not installed", advice=advice)) from None
        tables = self.all_tables(shown).items()
        return {name: pd.DataFrame({each.name: each.to_numpy() for each in table}) for name, table in tables}

    def _told(self, shown: Visible) -> Facts:
        """The key figures that are known; none where they cannot be found, as looking at an object must never fail."""
        try:
            return {name: value for name, value in self.facts(shown).items() if value}
        except Exception:
            return {}

    def _drawing(self, named: Mapping[str, Visible], figure: str, bound: Any) -> Drawing:
        pictures = self.figures(named, bound)
        if not pictures:
            what, advice = type(first(named)).__name__, "to_polars() has what each holds"
            found = f"found nothing to draw of {f'this {what}' if len(named) == 1 else f'several {what} together'}"
            raise InputError(Problem("plot", found, advice=advice))
        if figure and figure not in pictures:
            raise InputError(unknown_name("figure", figure, pictures))
        return pictures[figure or next(iter(pictures))]()

    def _picture(self, drawing: Drawing) -> Mapping[str, str]:
        """A drawing as a still image, with its caption."""
        from joulewise.looks.charts import image_of

        return {"source": image_of(drawing), "caption": drawing.caption}


def plot(shown: Visible | Mapping[str, Any], figure: str = "", bound: object = None) -> Any:
    """A figure of an object, or of several of a kind by their names, side by side: `plot({"EASY": one, "FCFS": two})`.

    The figure is the usual one, or another by its name; beside a proven bound, if one is given. Raises InputError where
    there is no such figure, or objects are not of one kind.
    """
    if isinstance(shown, Visible):
        return shown.plot(figure, bound)
    check_kinds(("plot", shown, Mapping, 'give one object, or several by name: {"EASY": one, "FCFS": two}'))
    kinds = sorted({type(each).__name__ for each in shown.values()})
    looks = [look_of(each) for each in shown.values() if isinstance(each, Visible)]
    if len(looks) < max(len(shown), 1) or len({look.pictures for look in looks}) > 1:
        found = f"found {', '.join(kinds) or 'nothing'}"
        raise InputError(Problem("plot", found, "must be one object, or objects of one kind by name"))
    return looks[0].chart(shown, figure, bound)


def of_one(pictures: Callable[[Any], Pictures]) -> Callable[[Mapping[str, Any], Any], Pictures]:
    """The figures of objects that are not drawn together."""
    return lambda named, _bound: pictures(first(named)) if len(named) == 1 else {}


def first(named: Mapping[str, Any]) -> Any:
    """The first of named objects."""
    return next(iter(named.values()))


def known(form: Callable[[float], str], value: float) -> str:
    """A number in words; nothing where it is not known or has no end."""
    return form(value) if math.isfinite(value) else ""


def counted(codes: NDArray[Any], names: type[IntEnum]) -> Facts:
    """How many there are of each of these codes, but for those of which there are none."""
    counts = np.bincount(codes, minlength=len(names))
    return {each.name.lower(): f"{counts[each]:,}" for each in names if counts[each]}


def table_of(shown: object, *names: str) -> pl.DataFrame:
    """These arrays of an object as a table."""
    import polars as pl

    return pl.DataFrame({name: getattr(shown, name) for name in names})


def whole(value: float) -> str:
    """A number with separators of thousands: "1,234"; small ones with three figures."""
    return f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.3g}"


def percent(value: float) -> str:
    """A percentage."""
    return f"{value:.1f} %"

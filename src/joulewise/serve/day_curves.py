"""Utility and energy over a window of a day, which days of all systems have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.present import theme
from joulewise.present.formats import energy_unit, number
from joulewise.present.lines import BUDGET
from joulewise.present.records import BOUND, BOUND_NAMES
from joulewise.serve.answer import Plot
from joulewise.serve.day import Bins, Curves
from joulewise.serve.timeline import Figure, Quantity, curve
from joulewise.study.searches.bounds import TRIVIAL
from joulewise.units import energy


def earned_and_used(curves: Curves) -> Iterator[tuple[str, str]]:
    """The utility that a window earned, and the energy that it used where that is known, in words."""
    yield "utility earned", number(float(curves.utility[-1] - curves.utility[0]), 5)
    if np.isfinite(curves.energy_j).all():
        yield "energy used", energy(float(curves.energy_j[-1] - curves.energy_j[0]))


def curve_plots(bins: Bins, curves: Curves, columns: Mapping[str, Any], *, is_whole: bool) -> Iterator[Plot]:
    """Utility with its bound, and energy with its budget where it is known; `columns` are those of the run."""
    yield _utility(bins, curves.utility, columns, is_whole=is_whole)
    if np.isfinite(curves.energy_j).all():
        yield _energy(bins, curves, is_whole=is_whole)


def _utility(bins: Bins, utility: Floats, columns: Mapping[str, Any], *, is_whole: bool) -> Plot:
    bound, name = columns.get(BOUND), BOUND_NAMES[columns.get("bound") == TRIVIAL]
    limits = {name: float(bound)} if bound is not None and np.isfinite(bound) else {}
    said = f" Nobody can have earned more by the end than the {name}." if limits else ""
    caption = f"Utility earned since the start of the counted time; its slope is the rate of earning.{said}"
    quantity = Quantity("utility earned", "", 1.0, theme.PALETTE[0], limits)
    return curve(Figure("utility", "Utility earned", caption), bins, utility, quantity, is_whole=is_whole)


def _energy(bins: Bins, curves: Curves, *, is_whole: bool) -> Plot:
    limits = {BUDGET: curves.budget_j} if np.isfinite(curves.budget_j).all() else {}
    unit, size = energy_unit(float(max(each.max() for each in (curves.energy_j, *limits.values()))))
    said = " A line that meets the budget of the days that have begun ran out of energy." if limits else ""
    caption = f"Energy at the meter since the start of the counted time.{said}"
    quantity = Quantity("energy used", unit, size, theme.PALETTE[2], limits)
    return curve(Figure("energy", "Energy used", caption), bins, curves.energy_j, quantity, is_whole=is_whole)

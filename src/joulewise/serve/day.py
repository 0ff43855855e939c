"""Days by the bin: what happened in a window of time, cut into as many pieces as a screen can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Counts, Floats
from joulewise.present.windows import Window

_Heights = Floats | float


@dataclass(frozen=True)
class Bins:
    """A stretch from `start` to `end` cut into `n` pieces of equal length; the stretch is not empty."""

    start: float
    end: float
    n: int

    @property
    def width(self) -> float:
        """The length of a piece."""
        return (self.end - self.start) / self.n

    @cached_property
    def edges(self) -> Floats:
        """Where pieces begin and end, all `n + 1` of them."""
        return np.linspace(self.start, self.end, self.n + 1)

    def _ramps(self, at: Floats) -> tuple[tuple[Counts, Floats], tuple[Counts, Floats]]:
        """By piece, what of it comes after an instant, as two steps of which the sums over pieces are that part."""
        place = np.clip((at - self.start) / self.width, 0.0, self.n)
        whole = np.floor(place).astype(np.int64)
        return (whole, 1.0 - (place - whole)), (whole + 1, place - whole)


def held(bins: Bins, start: Floats, end: Floats, height: _Heights = 1.0) -> Floats:
    """How high intervals stand on each other, mean over each piece."""
    heights = np.broadcast_to(np.asarray(height, float), start.shape)
    steps = np.zeros(bins.n + 2)
    for ends, sign in ((start, 1.0), (end, -1.0)):
        for at, part in bins._ramps(ends):
            steps += np.bincount(at, sign * heights * part, steps.size)
    return np.cumsum(steps)[: bins.n]


def counted(bins: Bins, at: Floats, weight: _Heights = 1.0) -> Floats:
    """The sum of what came in each piece; its end is part of it, and the start of all of the first one."""
    inside = (at >= bins.start) & (at <= bins.end)
    weights = np.broadcast_to(np.asarray(weight, float), at.shape)[inside]
    place = np.clip(np.searchsorted(bins.edges, at[inside], side="left") - 1, 0, bins.n - 1)
    return np.asarray(np.bincount(place, weights, bins.n), np.float64)


class Boxes(NamedTuple):
    """Rectangles, each from `x` to `x2` along and from `y` to `y2` upright, with what stands on it."""

    x: Floats
    x2: Floats
    y: Floats
    y2: Floats
    height: _Heights = 1.0


def covered(columns: Bins, rows: Bins, boxes: Boxes) -> Floats:
    """What stands on each cell of a grid: the sum over rectangles of their height times the area that they share.

    The grid has a line for each of the rows, and in it a number for each of the columns.
    """
    shape = (rows.n + 2, columns.n + 2)
    steps = np.zeros(shape[0] * shape[1])
    heights = np.broadcast_to(np.asarray(boxes.height, float), boxes.x.shape)
    along = [(*ramp, sign) for ends, sign in ((boxes.x, 1.0), (boxes.x2, -1.0)) for ramp in columns._ramps(ends)]
    upright = [(*ramp, sign) for ends, sign in ((boxes.y, 1.0), (boxes.y2, -1.0)) for ramp in rows._ramps(ends)]
    for column, part, sign in along:
        signed = sign * heights * part
        for row, other, turn in upright:
            steps += np.bincount(row * shape[1] + column, turn * signed * other, steps.size)
    sums = steps.reshape(shape).cumsum(axis=0).cumsum(axis=1)
    return np.asarray(sums[: rows.n, : columns.n] * columns.width * rows.width)


class Sums(NamedTuple):
    """What came up to now, at instants in order."""

    at: Floats
    total: Floats

    def until(self, at: Floats) -> Floats:
        """All that came up to each of these instants, what came at it included."""
        return np.asarray(np.concatenate(([0.0], self.total))[np.searchsorted(self.at, at, side="right")])


def sums_of(at: Floats, values: Floats) -> Sums:
    """What comes at instants, summed up."""
    order = np.argsort(at, kind="stable")
    return Sums(at[order], np.cumsum(values[order]))


class Curves(NamedTuple):
    """Cumulative utility, energy and budget at the edges of bins; NaN where something is not known."""

    utility: Floats
    energy_j: Floats
    budget_j: Floats


class Trace(NamedTuple):
    """The energy used in the counted window, and its budget, up to instants in order."""

    at_s: Floats
    energy_j: Floats
    budget_j: Floats

    def curves(self, earned: Sums, bins: Bins) -> Curves:
        """What was earned, used and allowed up to each edge of bins; the budget is that of the days begun."""
        place = np.clip(np.searchsorted(self.at_s, bins.edges, side="left"), 0, self.at_s.size - 1)
        energy_j = np.interp(bins.edges, self.at_s, self.energy_j)
        return Curves(earned.until(bins.edges), energy_j, self.budget_j[place])


def column(table: pl.DataFrame, name: str) -> Floats:
    """A column of numbers; NaN where one is missing."""
    return table[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def waiting(bins: Bins, ready: Floats, until: Floats, runs: tuple[Floats, Floats]) -> Floats:
    """How many are there from when they are ready until they are done, and do not run; mean over each piece."""
    return np.maximum(held(bins, ready, until) - held(bins, *runs), 0.0)


def cut(window: Window, whole: Window, n: int) -> Bins:
    """A window within the whole as bins, at most `n`; of a second or more each, if the window is that long."""
    start_s, end_s = max(window.start_s, whole.start_s), min(window.end_s, whole.end_s)
    return Bins(start_s, end_s, int(np.clip(end_s - start_s, 1, n)))


def grouped(n: int, most: int) -> Bins:
    """Things numbered from 0 as at most so many rows of as many each, of which the last may lack some."""
    each = -(-n // most)
    n_rows = -(-n // each)
    return Bins(0.0, float(n_rows * each), n_rows)


def sizes(rows: Bins, n: int) -> Floats:
    """How many things each row of `grouped` has."""
    return np.minimum(rows.edges[1:], n) - rows.edges[:-1]


def named_ranges(rows: Bins, n: int) -> Sequence[str]:
    """What rows of `grouped` are called: by the first and the last number that they have."""
    ends = ((int(first), int(min(last, n)) - 1) for first, last in zip(rows.edges, rows.edges[1:], strict=False))
    return [f"{first}" if first == last else f"{first} to {last}" for first, last in ends]

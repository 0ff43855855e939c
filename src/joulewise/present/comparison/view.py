"""A comparison as people read it: what points, metrics and differences are called, and in which units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from joulewise.present import layout
from joulewise.present.findings import half_width
from joulewise.present.formats import (
    MISSING,
    THIN,
    UNITS_OF,
    decimals_for,
    fixed,
    metric_form,
    metric_title,
    number,
    signed,
)
from joulewise.present.layout import scaled, sentence
from joulewise.present.page import page_of
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tables import plus_minus
from joulewise.study.answers.comparison import (
    FEW_RESAMPLES,
    NO_CHANCE,
    NO_SPREAD,
    NO_VALUES,
    ONE_TRIAL,
    SAME,
    Comparison,
)
from joulewise.study.answers.points import AGAINST, STUDY
from joulewise.study.answers.trials import FIXED, SAME_DRAWS, SAME_WORLDS, UNPAIRED

Row = Mapping[str, Any]

PAIRINGS = {
    SAME_WORLDS: "same worlds",
    SAME_DRAWS: "same seed and trial, other worlds",
    FIXED: "with the only run where nothing is random",
    UNPAIRED: "not paired",
}
"""How runs meet, in a few words."""
REASONS = {
    ONE_TRIAL: "one trial",
    FEW_RESAMPLES: "too few resamples or blocks",
    NO_CHANCE: "nothing is random",
    NO_SPREAD: "no spread",
    NO_VALUES: "no values to compare",
}
"""Why a difference has no interval."""
_LEAST_P, _LEAST_HALF = 1e-3, 1e-5


class Amount(NamedTuple):
    """A metric with the unit of its numbers: its title, the unit's size, and what differences are counted in."""

    title: str
    size: float
    of_differences: str


@dataclass(frozen=True)
class View:
    """A comparison and the words of its kind of study."""

    comparison: Comparison

    @cached_property
    def words(self) -> Records:
        """How keys and their values are spoken of; the pairs of points stand for runs."""
        kind = self.comparison.sides[0].results.study.kind
        titles = {
            name: row["title"] for side in self.comparison.sides for name, row in side.results.about["policies"].items()
        }
        about = StudyInfo(kind.name, 0, 1, (), "", "")
        empty = pl.DataFrame()
        keys = page_of(kind.name).keys
        return Records(about, self._spoken, empty, empty, titles, keys=keys, headings=kind.headings())

    @cached_property
    def _spoken(self) -> pl.DataFrame:
        """The keys with the values that they have on either side."""
        pairs, keys = self.comparison.pairs, self.comparison.keys
        own = [key for key in keys if not key.startswith(AGAINST)]
        theirs = {key: f"{AGAINST}{key}" if f"{AGAINST}{key}" in keys else key for key in own}
        base = pairs.select(pl.col(name).alias(key) for key, name in theirs.items())
        return pl.concat([pairs.select(own), base]) if own else pl.DataFrame()

    @property
    def base(self) -> str:
        """What is subtracted."""
        return self.comparison.labels[0]

    @property
    def is_many(self) -> bool:
        """Whether several studies are held against the base."""
        return len(self.comparison.labels) > 2

    def point(self, row: Row) -> str:
        """The point that a row is of, without its study; nothing where there is one."""
        parts = []
        for key in (key for key in self.comparison.keys if not key.startswith(AGAINST)):
            own, theirs = row[key], row.get(f"{AGAINST}{key}", row[key])
            of_base = f" against {self.words.phrase(key, theirs)}" if own != theirs else ""
            parts.append(f"{self.words.phrase(key, own)}{of_base}")
        return ", ".join(parts)

    def name(self, row: Row) -> str:
        """The study and the point that a row is of, as far as they need be told."""
        point = self.point(row)
        return ", ".join(part for part in (row[STUDY] if self.is_many or not point else "", point) if part)

    def amount(self, metric: str) -> Amount:
        """A metric with the unit that suits all its numbers."""
        title, form = sentence(metric_title(metric, self.words.headings)), metric_form(metric)
        if form is None:
            return Amount(title, 1.0, "percentage points" if "(%" in title else "")
        values = self.rows(metric).select("mean", "base_mean").unpivot()["value"].drop_nulls().abs()
        unit, size = UNITS_OF[form](float(values.max() or 0.0))  # type: ignore[arg-type]
        return Amount(f"{title} ({unit})", size, unit)

    def rows(self, metric: str) -> pl.DataFrame:
        """The differences in a metric."""
        return self.comparison.differences.filter(pl.col("metric") == metric)


# --- numbers --------------------------------------------------------------------------------------------------------


def in_unit(row: Row, size: float) -> dict[str, float | None]:
    """The difference of a row with the ends of its interval, in units of this size."""
    return {as_: scaled(row[name], size) for as_, name in (("mean", "difference"), ("low", "low"), ("high", "high"))}


def _with_sign(value: float | None, _decimals: int = 0) -> str:
    return f"+{number(value)}" if value is not None and value > 0 else number(value)


def _decimals(gap: Row) -> int | None:
    """With how many decimals a difference is written; None where its interval is missing or too small for any."""
    half = half_width(gap)
    return None if half is None or half < _LEAST_HALF else decimals_for(half)


def difference_text(row: Row, size: float) -> str:
    """A difference with half of its 95 % interval."""
    gap = in_unit(row, size)
    return _with_sign(gap["mean"]) if gap["low"] is None else plus_minus(gap, signed)


def interval_text(row: Row, size: float) -> str:
    """A difference with the ends of its 95 % interval."""
    gap = in_unit(row, size)
    return layout.interval_text(gap, _with_sign if _decimals(gap) is None else signed, _with_sign)


def mean_text(row: Row, name: str, size: float) -> str:
    """The mean of one side, with as many decimals as the interval of the difference has."""
    value, decimals = scaled(row[name], size), _decimals(in_unit(row, size))
    return number(value) if decimals is None else fixed(value, decimals)


def percent_text(row: Row) -> str:
    """A difference in percent of the base."""
    value = row["percent"]
    if value is None:
        return MISSING
    text = signed(value, 1 if abs(value) < 100 else 0)
    return f"{text}{THIN}%"


def p_text(value: float | None) -> str:
    """A chance with two digits that matter; what is less than a thousandth is told so."""
    if value is None:
        return MISSING
    return f"<{THIN}0.001" if value < _LEAST_P else fixed(value, 3 if value < 0.1 else 2)


def effect_text(value: float | None) -> str:
    """A standardised effect."""
    return MISSING if value is None else signed(value, 2)


def n_text(row: Row) -> str:
    """How many trials a difference is of."""
    return fixed(row["n"], 0) if row["n"] == row["n_base"] else f"{row['n']:,} and {row['n_base']:,}"


def verdict_text(row: Row) -> str:
    """How the study stands to the base, and why there is no interval where there is none."""
    if row["verdict"] == SAME:
        return SAME
    return ": ".join(part for part in (row["verdict"], REASONS.get(row["reason"])) if part)

"""A comparison as people read it: what points, metrics and differences are called, and in which units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

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
from joulewise.present.layout import sentence
from joulewise.present.page import page_of
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tables import plus_minus
from joulewise.study.answers.comparison import NO_CHANCE, NO_SPREAD, NO_VALUES, ONE_TRIAL, SAME, Comparison
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


def in_unit(row: Row, size: float, names: Sequence[str]) -> list[float | None]:
    """Numbers of a row in units of this size."""
    return [None if row[name] is None else row[name] / size for name in names]


def _half(row: Row, size: float) -> float | None:
    """Half of the 95 % interval; None where there is none, or it is too small to be written with decimals."""
    low, high = in_unit(row, size, ("low", "high"))
    half = None if low is None or high is None else (high - low) / 2
    return None if half is None or half < _LEAST_HALF else half


def _with_sign(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def difference_text(row: Row, size: float) -> str:
    """A difference with half of its 95 % interval."""
    gap, low, high = in_unit(row, size, ("difference", "low", "high"))
    if gap is None:
        return MISSING
    if low is None or high is None:
        return _with_sign(gap)
    return plus_minus({"mean": gap, "low": low, "high": high}, signed)


def interval_text(row: Row, size: float) -> str:
    """A difference with the ends of its 95 % interval."""
    half = _half(row, size)
    texts = [
        MISSING if value is None else _with_sign(value) if half is None else signed(value, decimals_for(half))
        for value in in_unit(row, size, ("difference", "low", "high"))
    ]
    return texts[0] if row["low"] is None else f"{texts[0]} ({texts[1]} to {texts[2]})"


def mean_text(row: Row, name: str, size: float) -> str:
    """The mean of one side, with as many decimals as the interval of the difference has."""
    value, half = in_unit(row, size, (name,))[0], _half(row, size)
    return number(value) if value is None or half is None else fixed(value, decimals_for(half))


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

"""Studies held against each other: what differs between them, what can be paired, and how sure each difference is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np
import polars as pl

from joulewise.confidence import share_at_look
from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.study.answers import inference, trials
from joulewise.study.answers.inference import ALPHA, Estimates, Spread
from joulewise.study.answers.notes import notes_of
from joulewise.study.answers.points import AGAINST, STUDY, matched, points_of
from joulewise.study.answers.settings import settings_of
from joulewise.study.answers.sides import Side, Studied, axes_of, sides_of
from joulewise.study.answers.statistics import ROUNDING, TIED, percent_of
from joulewise.study.answers.trials import PAIR, PAIRING, UNPAIRED, Met

HIGHER, LOWER, SAME = "higher", "lower", "same"
"""How a study stands to the base, or `TIED`: the trials do not tell them apart."""
ONE_TRIAL, NO_CHANCE, NO_SPREAD, NO_VALUES = "one trial", "nothing is random", "no spread over trials", "no values"
FEW_RESAMPLES = "too few resamples or blocks"
"""Why a difference has no interval."""


@dataclass(frozen=True)
class Comparison:
    """Studies against the first of them, their base.

    `settings` are those in which not all are alike, as `settings_of` gives them. `pairs` are the points that are held
    against each other, and how their runs meet: `study`, the keys that vary within a study, `against:` and a key where
    the base has another value, `pairing`, `n_pairs`, `n_same_world`, `n_runs` and `n_base_runs`.

    `differences` has a row for each pair of points and metric: the same keys, `metric`, `pairing`, the `mean` of the
    study and the `base_mean` over `n` and `n_base` trials, their `difference` with its 95 % interval, `low` and `high`;
    `all_low` and `all_high`, so wide that all such intervals hold together with 95 %; the difference in `percent` of
    the base, a standardised `effect` (of resamples there is none), the chance `p` alone and `holm_p` among all rows,
    `verdict`, and `reason` where there is no interval. Where trials stop by themselves, intervals and chances hold at
    all looks together. Of a log that is resampled, means are its own figures. `notes` say what a reader has to know.
    """

    sides: tuple[Side, ...]
    metrics: tuple[str, ...]
    settings: pl.DataFrame = field(repr=False)
    pairs: pl.DataFrame = field(repr=False)
    differences: pl.DataFrame = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    met: tuple[Met, ...] = field(repr=False)

    @property
    def labels(self) -> list[str]:
        """What the studies are called, the base first."""
        return [side.label for side in self.sides]

    @property
    def keys(self) -> list[str]:
        """The columns of `pairs` that tell them apart beside the study."""
        return self.pairs.columns[1 : self.pairs.columns.index(PAIRING)]

    @property
    def n_corrected(self) -> int:
        """For how many differences at once chances and wide intervals are corrected."""
        return self.differences["p"].count()

    def values(self, metric: str) -> pl.LazyFrame:
        """The values behind the means: `pair`, the row of `pairs`; `is_base`, `trial`, `value`, and its blocks."""
        return pl.concat([met.values(metric) for met in self.met])


def compare(*studies: Studied, metrics: Sequence[str] = ()) -> Comparison:
    """Studies, or points of them, against the first: paired where trials are common, else as independent samples.

    Each is results, their folder, or a text such as "results/day:policy=easy". `metrics` are names or patterns such as
    "tasks_*"; without them, those that a summary shows. InputError for what cannot be compared.
    """
    sides = sides_of(studies)
    chosen = _metrics(sides, metrics)
    base, *others = points_of(sides)
    met: list[Met] = []
    for side, points in zip(sides[1:], others, strict=True):
        n_before = sum(meeting.pairs.height for meeting in met)
        met.append(trials.meet(sides[0], side, matched(sides[0], side, base, points), n_before))
    table = pl.concat(meeting.pairs for meeting in met)
    found = pl.concat([meeting.measured(metric) for meeting in met for metric in chosen])
    differences = _told(found.join(table, on=PAIR, maintain_order="left"), chosen, sides)
    told = _keys_told(sides, [base, *others], table)
    shown = table.select(STUDY, *told, PAIRING, "n_pairs", "n_same_world", "n_runs", "n_base_runs")
    notes = tuple(notes_of(sides, table, [base, *others]))
    columns = [STUDY, *told, "metric", PAIRING, *_RESULTS]
    return Comparison(sides, chosen, settings_of(sides), shown, differences.select(columns), notes, tuple(met))


_RESULTS = ("mean", "base_mean", "n", "n_base", "difference", "low", "high", "all_low", "all_high", "percent", "effect",
            "p", "holm_p", "verdict", "reason")  # fmt: skip


# --- what is compared ---------------------------------------------------------------------------------------------


def _metrics(sides: Sequence[Side], wanted: Sequence[str]) -> tuple[str, ...]:
    """The metrics that are meant, in the order of the kind, of those that every side has; InputError for others."""
    kind = sides[0].results.study.kind
    common = [set(side.results.columns) for side in sides]
    there = [name for name in kind.metrics(sides[0].results.columns) if all(name in names for names in common)]
    firsts = [side.results.study.first_columns for side in sides]
    first = [column for column in firsts[0] if all(column in columns for columns in firsts)]
    patterns = wanted or [column.name for column in first if column.is_metric]
    raise_if_any(
        unknown_name("metric", pattern, there) for pattern in wanted if not any(fnmatchcase(m, pattern) for m in there)
    )
    chosen = [name for pattern in patterns for name in there if fnmatchcase(name, pattern)]
    found = tuple(dict.fromkeys(chosen))
    known = tuple(name for name in found if wanted or _is_known(sides, name))
    if not known:
        raise InputError(Problem("compare", "found no metric that every study has", "at least one must be there",
                                 "name one with --metric"))  # fmt: skip
    return known


def _is_known(sides: Sequence[Side], metric: str) -> bool:
    """Whether every side has a value of a metric."""
    return all(side.runs.select(pl.col(metric).is_not_null().any()).collect().item() for side in sides)


def _keys_told(sides: Sequence[Side], points: Sequence[pl.DataFrame], table: pl.DataFrame) -> list[str]:
    """The swept keys that vary within a study, and those of the base where they are others at some pair."""
    told = []
    swept = [key for key in axes_of(sides) if key in points[0].columns]
    for key in [key for key in swept if any(each[key].n_unique() > 1 for each in points)]:
        against = f"{AGAINST}{key}"
        is_other = not table[key].equals(table[against].alias(key), null_equal=True)
        told += [key, against] if is_other else [key]
    return told


# --- how sure it is -----------------------------------------------------------------------------------------------


def _told(found: pl.DataFrame, metrics: Sequence[str], sides: Sequence[Side]) -> pl.DataFrame:
    """What was measured, with intervals, effects, chances and verdicts; by metric, then by pair."""
    place = {metric: at for at, metric in enumerate(metrics)}
    rows = found.with_columns(_share(sides), _at=pl.col("metric").replace_strict(place, return_dtype=pl.Int64))
    rows = rows.sort("_at", PAIR).with_columns(_no_rounding())
    estimates = _estimates(rows)
    p, half, half_of_all = estimates.p(), estimates.half(1 - ALPHA), estimates.half_of_all()
    difference = rows["difference"].to_numpy()
    numbers = {
        "low": difference - half, "high": difference + half,
        "all_low": difference - half_of_all, "all_high": difference + half_of_all,
        "effect": estimates.effect, "p": p, "holm_p": inference.holm(p),
    }  # fmt: skip
    columns = (pl.Series(name, values, dtype=pl.Float64).fill_nan(None) for name, values in numbers.items())
    percent = percent_of("difference", "base_mean")
    return rows.with_columns(*columns, percent=percent).with_columns(_reason()).with_columns(_verdict())


def _share(sides: Sequence[Side]) -> pl.Expr:
    """The share of the error that an interval gets: that of the look at which trials stopped by themselves, or all.

    Pairs have one number of trials. Independent trials may stop at any two looks, each of which has its share.
    """
    stopping = [side.label for side in sides if side.results.study.until]
    if not stopping:
        return pl.lit(1.0).alias("_share")
    stops = pl.col(STUDY).is_in(stopping) & ~pl.col("is_fixed")
    base_stops = pl.lit(sides[0].label in stopping) & ~pl.col("is_base_fixed")
    share, base_share = (
        pl.when(is_stopped).then(pl.col(n).map_elements(share_at_look, pl.Float64)).otherwise(1.0)
        for n, is_stopped in (("n", stops), ("n_base", base_stops))
    )
    of_pairs = pl.min_horizontal(share, base_share)
    return pl.when(pl.col(PAIRING) == UNPAIRED).then(share * base_share).otherwise(of_pairs).alias("_share")


def _no_rounding() -> Iterator[pl.Expr]:
    """Differences and how they spread, zero where that is no more than rounding."""
    least = ROUNDING * pl.col("scale")
    for name in ("difference", "error", "deviation", "base_error", "base_deviation"):
        yield pl.when(pl.col(name).abs() > least).then(pl.col(name)).when(pl.col(name).is_not_null()).then(0.0)


def _estimates(rows: pl.DataFrame) -> Estimates:
    """Of each row, paired or not."""

    def numbers(name: str) -> inference.Floats:
        return rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    spread, base = (Spread(*(numbers(f"{of}{name}") for name in Spread._fields)) for of in ("", "base_"))
    difference = numbers("difference")
    both, apart = inference.paired(difference, spread), inference.welch(difference, spread, base)
    is_apart = (rows[PAIRING] == UNPAIRED).to_numpy()
    error, freedom, effect = (
        np.where(is_apart, getattr(apart, name), getattr(both, name)) for name in ("error", "freedom", "effect")
    )
    return Estimates(difference, error, freedom, effect, rows["_share"].to_numpy())


def _reason() -> pl.Expr:
    """Why a difference has no interval."""
    fewest = pl.min_horizontal("n", "n_base")
    reasons = (
        pl.when(pl.col("p").is_not_null())
        .then(None)
        .when((fewest == 0) | pl.col("difference").is_null())
        .then(pl.lit(NO_VALUES))
        .when(pl.col("is_fixed") & pl.col("is_base_fixed"))
        .then(pl.lit(NO_CHANCE))
        .when(fewest == 1)
        .then(pl.lit(ONE_TRIAL))
        .when(~(pl.min_horizontal("freedom", "base_freedom") > 0))
        .then(pl.lit(FEW_RESAMPLES))
        .otherwise(pl.lit(NO_SPREAD))
    )
    return reasons.alias("reason")


def _verdict() -> pl.Expr:
    """How the study stands to the base: by the corrected chance, or as it is where there is no chance in it."""
    difference, is_sure = pl.col("difference"), pl.col("reason").is_in([NO_CHANCE, NO_SPREAD])
    direction = pl.when(difference > 0).then(pl.lit(HIGHER)).otherwise(pl.lit(LOWER))
    verdict = (
        pl.when(is_sure & (difference == 0))
        .then(pl.lit(SAME))
        .when(is_sure | (pl.col("holm_p") <= ALPHA))
        .then(direction)
        .when(pl.col("holm_p").is_not_null())
        .then(pl.lit(TIED))
    )
    return verdict.alias("verdict")

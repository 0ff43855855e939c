"""How many trials each point has, round by round: what came out of one says whether there is another, and of what.

All is a function of the study and of what came out. So a study that was interrupted goes through the same rounds again,
and whoever reads its results can, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

import polars as pl

from joulewise.confidence import looks
from joulewise.study.answers.statistics import BEST, ROUNDING, TIED, at_looks, gaps, summary
from joulewise.study.answers.tuned import first_tuning, halved, tuning_means
from joulewise.study.parsing.study import Study
from joulewise.study.spec.column import Column
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.trials import FIRST_TUNING, Share, Until
from joulewise.study.spec.tuning import Tuning
from joulewise.units import count

Shares = tuple[Share, ...]
"""The trials of each point of a study."""
Told = Callable[[], pl.DataFrame]
"""Gives what came out: `point`, the number of a point in its study, `trial`, `world` and the columns of the runs."""

_POINT, _VALUE = "point", "sought"
_UNSEEN = 0.1
"""What came out the same is known when all that happens in a larger share of trials would have been seen."""
_Rows = Mapping[int, Mapping[str, Any]]
"""Rows of a table by the numbers of their points."""


def first_shares(study: Study) -> Shares:
    """The trials of the first round."""
    n_judging = _first_look(study)
    return first_tuning(study, study.tuning, n_judging) if study.tuning else (Share(n_judging),) * len(study.points)


def next_shares(study: Study, shares: Shares, told: Told) -> Shares | None:
    """The trials of the round after that of these trials, given what came out; None where that was the last."""
    if not study.grows:
        return None
    out, found = told(), shares
    if study.tuning:
        means = tuning_means(out, shares, tuning_metric(study, study.tuning, out))
        found = halved(study, study.tuning, shares, means, _first_look(study))
    if study.until and found == shares:
        found = _until(study, study.until, shares, out)
    return None if found == shares else found


def decided_shares(study: Study, shares: Shares) -> Shares:
    """The trials when all is tuned, after the round of these trials: of which points, is not known."""
    further = shares
    while study.tuning:
        shares, further = further, halved(study, study.tuning, further, {}, _first_look(study))
        if further == shares:
            break
    return further


def most_shares(study: Study, shares: Shares) -> Shares:
    """The trials of the last round after that of these trials if nothing is ever known surely enough."""
    most = study.heading.trials
    return tuple(share._replace(judging=most if share.judging else 0) for share in decided_shares(study, shares))


def tuning_metric(study: Study, tuning: Tuning, told: pl.DataFrame) -> str:
    """The column whose means choose."""
    return tuning.metric or headline(study, told).name


def shares_of(study: Study, told: pl.DataFrame) -> Shares:
    """How many trials of each kind points have in results."""
    is_tuning = (pl.col("trial") >= FIRST_TUNING).alias("tunes")
    counts = {(point, tunes): n for point, tunes, n in told.group_by(_POINT, is_tuning).len().iter_rows()}
    return tuple(
        Share(counts.get((point, False), 0), counts.get((point, True), 0)) for point in range(len(study.points))
    )


def headline(study: Study, runs: pl.DataFrame) -> Column:
    """The first of the columns that people see first of those that most runs have."""
    shown = study.first_columns
    n_valued = {each.name: runs[each.name].count() for each in shown if each.name in runs.columns}
    most = max(n_valued.values(), default=0)
    return next(each for each in shown if n_valued.get(each.name, 0) == most)


def points_of(trials: Sequence[int]) -> list[int]:
    """The number of the point of each row of a table of runs, as trials rise from row to row of one point."""
    begins = pl.Series(trials, dtype=pl.Int64, strict=False).diff() <= 0
    return begins.fill_null(False).cum_sum().to_list()


# --- trials that stop by themselves ------------------------------------------------------------------------------


def _first_look(study: Study) -> int:
    """How many trials judge a point at first."""
    return _looks(study.until)[0] if study.until else study.heading.trials


def _looks(until: Until) -> list[int]:
    """At how many trials it is looked."""
    return list(takewhile(until.most.__ge__, looks()))


def _until(study: Study, until: Until, shares: Shares, told: pl.DataFrame) -> Shares:
    """The trials with the next look at worlds in which what is sought is not known surely enough."""
    later, grown = dict(pairwise(_looks(until))), list(shares)
    for world in worlds_of(study, shares, told):
        if not world.is_known(until):
            for point in world.points:
                share = shares[point]
                grown[point] = share._replace(judging=later.get(share.judging, until.most))
    return tuple(grown)


class WorldSoFar(NamedTuple):
    """The points of a world, how many trials they have, and how large the doubt is that is left.

    Where something came out the same in all trials, what happens in a smaller share of trials may be `unseen`.
    """

    points: tuple[int, ...]
    n_trials: int
    doubt_percent: float
    unseen: float

    def is_known(self, until: Until) -> bool:
        """Whether no more trials are needed."""
        return self.doubt_percent <= until.percent and self.unseen <= _UNSEEN


def worlds_of(study: Study, shares: Shares, told: pl.DataFrame) -> list[WorldSoFar]:
    """How surely the best of each world is known, the others held against it.

    The doubt is half of the widest interval of a difference from the best, of points that are not told apart from it:
    in percent of the mean of the best, or in points where the metric is a percentage. What is clearly worse need not be
    known. Where a world has one point, or none can be best, the doubt is that of means. Points of which a run failed
    are left out.
    """
    points: dict[WorldParts, list[int]] = {}
    for number, (point, share) in enumerate(zip(study.points, shares, strict=True)):
        if share.judging:
            points.setdefault(point.world, []).append(number)
    column = headline(study, told)
    rows = _whole(told, shares, column.name)
    means = _by_point(summary(rows, [_POINT], [_VALUE], at_looks))
    sense = study.kind.sense_of(column.name)
    ranked = rows.with_columns(pl.col(_VALUE) * sense)
    behind = _by_point(gaps(ranked, [_POINT], _VALUE, at_looks)) if study.kind.has_best else None
    return [
        WorldSoFar(
            tuple(here),
            max(shares[point].judging for point in here),
            *_doubt(here, means, behind, sense, is_share=column.unit == "%"),
        )
        for here in points.values()
    ]


def stopping_words(study: Study, until: Until, shares: Shares, told: pl.DataFrame) -> Iterator[str]:
    """When trials stopped and why, for people; nothing where no run came out."""
    worlds, column = worlds_of(study, shares, told), headline(study, told)
    if column.name not in told.columns or not told[column.name].count():
        return
    sure = [world for world in worlds if world.is_known(until)]
    unit = "points" if column.unit == "%" else "%"
    known = "means are" if not study.kind.has_best else "the best is told from the others, or its lead is"
    if sure:
        least, most = min(world.n_trials for world in sure), max(world.n_trials for world in sure)
        n_trials = f"{most:,}" if least == most else f"{least:,} to {most:,}"
        where = f"In {len(sure):,} of {count(len(worlds), 'world')}, trials" if len(worlds) > 1 else "Trials"
        aim = f"{known} known to {until.percent:g} {unit}"
        yield f"{where} stopped by themselves after {n_trials} of {until.most:,} at most: {aim}."
    if len(sure) < len(worlds):
        where = f"In {len(worlds) - len(sure):,} of {count(len(worlds), 'world')}, all" if len(worlds) > 1 else "All"
        doubt = max(world.doubt_percent for world in worlds)
        known = "means are" if not study.kind.has_best else "a lead that is left open is"
        aim = f": {known} known to {doubt:.2g} {unit} only, where {until.percent:g} was asked for"
        yield f"{where} {until.most:,} trials were made that there may be{aim if doubt > until.percent else ''}."
    rarest = max(worlds, key=lambda world: world.unseen)
    if rarest.unseen:
        yield (
            f"Some values or differences came out the same in all {rarest.n_trials:,} trials; what happens in fewer "
            f"than {100 * rarest.unseen:.2g} % of trials may be unseen."
        )
    yield "Intervals are sequential: all of one mean or one difference, at every look, hold together with 95 %."


def _doubt(
    points: Sequence[int], means: _Rows, behind: _Rows | None, sense: int, *, is_share: bool
) -> tuple[float, float]:
    """The doubt that is left of these points, in percent of a mean, or in points where the metric `is_share`.

    The best mean is the highest, or, of a `sense` of -1, the lowest. Then the share of trials in
    which something may be unseen, of the points that came out the same in all.
    """
    spans = [means[point] for point in points if point in means]
    bases, n_among = [row["mean"] for row in spans], 2
    if behind is not None and len(spans) > 1:
        best, n_among = max(bases, key=lambda mean: sense * mean), len(spans)
        spans = [row for row in (behind[point] for point in points if point in behind) if row["standing"] != BEST]
        bases = [best] * len(spans)
    doubts, unseen = [0.0], [0.0]
    for row, base in zip(spans, bases, strict=True):
        half = 0.0 if row["high"] is None else row["high"] - row["mean"]
        if row["n"] > 1 and half <= ROUNDING * abs(base):
            unseen.append(1 - at_looks.chance(row["n"], n_among) ** (1 / row["n"]))
        elif half and row.get("standing", TIED):
            doubts.append(half if is_share else _percent(half, base))
    return max(doubts), max(unseen)


def _percent(half: float, base: float) -> float:
    return 100 * half / abs(base) if base else math.inf


def _whole(told: pl.DataFrame, shares: Shares, metric: str) -> pl.DataFrame:
    """The values by which points with these trials are judged, but for points that lack one."""
    there = pl.col(metric).cast(pl.Float64) if metric in told.columns else pl.lit(None, pl.Float64)
    n_trials = pl.DataFrame({_POINT: range(len(shares)), "_n": [share.judging for share in shares]})
    rows = told.select(_POINT, "trial", "world", there.alias(_VALUE)).join(n_trials, on=_POINT, maintain_order="left")
    is_whole = pl.col(_VALUE).is_finite().fill_null(False).all().over(_POINT)
    return rows.filter(pl.col("trial") < pl.col("_n")).filter(is_whole).drop("_n")


def _by_point(table: pl.DataFrame) -> dict[int, dict[str, Any]]:
    return {row[_POINT]: row for row in table.iter_rows(named=True)}

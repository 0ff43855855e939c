"""Successive halving: of points that differ in tuned keys alone, the better go on with more trials until one is left.

That one is judged by trials that tuned nothing. The trials by which a value is chosen flatter it: of many means, the
highest is more likely too high than too low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from joulewise.study.parsing.study import VARIANT, Study
from joulewise.study.spec.parts import Part
from joulewise.study.spec.trials import FIRST_TUNING, Share
from joulewise.study.spec.tuning import Tuning

_POINT, _MEAN = "point", "mean"


def groups_of(study: Study, tuning: Tuning) -> list[list[int]]:
    """The points of which one is chosen each: those that differ in tuned keys alone."""
    cells: dict[Part, tuple[tuple[str, object], ...]] = {}
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, point in enumerate(study.points):
        for part in point.parts:
            if part not in cells:
                cells[part] = (
                    ("", part.source),
                    *(cell for cell in part.cells().items() if cell[0] not in tuning.keys),
                )
        variant = None if VARIANT in tuning.keys else point.variant
        groups.setdefault((variant, *(cells[part] for part in point.parts)), []).append(number)
    return list(groups.values())


def first_tuning(study: Study, tuning: Tuning, n_judging: int) -> tuple[Share, ...]:
    """The trials of the first round; where there is nothing to choose from, points are judged at once."""
    shares = [Share(n_judging)] * len(study.points)
    for group in groups_of(study, tuning):
        if len(group) > 1:
            for point in group:
                shares[point] = Share(0, tuning.trials)
    return tuple(shares)


def halved(
    study: Study, tuning: Tuning, shares: Sequence[Share], means: Mapping[int, float], n_judging: int
) -> tuple[Share, ...]:
    """The trials of the next round: more for the better points of each group, and those that judge for the last one.

    `means` are those of the last round, where all runs of a point came out; of equals the first goes on.
    """
    found, sign = list(shares), 1 if tuning.best == "highest" else -1
    for group in groups_of(study, tuning):
        if any(shares[point].judging for point in group):
            continue
        n_trials = max(shares[point].tuning for point in group)
        there = [point for point in group if shares[point].tuning == n_trials]
        there.sort(key=lambda point: -sign * means[point] if point in means else math.inf)
        better = there[: math.ceil(len(there) / tuning.growth)]
        for point in better:
            found[point] = Share(n_judging, n_trials) if len(better) == 1 else Share(0, n_trials * tuning.growth)
    return tuple(found)


def tuning_means(told: pl.DataFrame, shares: Sequence[Share], metric: str) -> dict[int, float]:
    """The means of the trials that tune, of points whose runs all came out."""
    if metric not in told.columns:
        return {}
    value = pl.col(metric).cast(pl.Float64)
    n_trials = pl.DataFrame({_POINT: range(len(shares)), "_n": [share.tuning for share in shares]})
    rows = told.filter(pl.col("trial") >= FIRST_TUNING).join(n_trials, on=_POINT, maintain_order="left")
    rows = rows.filter(pl.col("trial") - FIRST_TUNING < pl.col("_n"))
    whole = rows.filter(value.is_finite().fill_null(False).all().over(_POINT))
    return dict(whole.group_by(_POINT, maintain_order=True).agg(value.mean().alias(_MEAN)).iter_rows())


def tuning_words(study: Study, tuning: Tuning, shares: Sequence[Share], metric: str) -> Iterator[str]:
    """Which trials tuned and which judged, for people."""
    groups = [group for group in groups_of(study, tuning) if len(group) > 1]
    most = max((share.tuning for share in shares), default=0)
    n_judging = max(share.judging for share in shares)
    last = FIRST_TUNING + most - 1
    keys = ", ".join(tuning.keys)
    yield (
        f"{keys} tuned by the {tuning.best} mean of {metric}: {sum(map(len, groups)):,} points began with "
        f"{tuning.trials:,} trials each, {tuning.survivors} of them went on after each round, and the last of each "
        f"group had up to {most:,} (numbers {FIRST_TUNING:,} to {last:,})."
    )
    yield f"What was chosen is judged by up to {n_judging:,} other trials (numbers from 0 on), which tuned nothing."

"""What a reader of a comparison has to know of it: how runs meet, what is left out, what else may differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from joulewise.study.answers.points import AGAINST, STUDY
from joulewise.study.answers.sides import Side, chosen_of_all, in_words
from joulewise.study.answers.trials import FIXED, PAIRING, SAME_DRAWS, SAME_WORLDS, UNPAIRED
from joulewise.units import count

HOW = {
    SAME_WORLDS: "paired: trials of one number met the same worlds",
    SAME_DRAWS: (
        "paired by seed and trial: the worlds are not the same, but what the settings do not change is drawn by the "
        "same random numbers"
    ),
    FIXED: "held against the only run of a point where nothing is random",
    UNPAIRED: "not paired: means of independent trials are compared (Welch)",
}
"""What each way to meet means."""


OF_ONE_SAMPLE = (
    "resamples of one log: means and differences are those of the log itself, intervals and p come of how resamples "
    "spread, and a standardised effect would say nothing. More trials hardly narrow intervals, a longer log does."
)


def notes_of(sides: Sequence[Side], pairs: pl.DataFrame, points: Sequence[pl.DataFrame]) -> Iterator[str]:
    """Sentences on a comparison, given the pairs of points and the points of each side."""
    if of_all := chosen_of_all(sides):
        yield f"Of every study: {in_words(of_all)}."
    for side in sides[1:]:
        own = pairs.filter(pl.col(STUDY) == side.label)
        yield from _how(sides[0], side, own)
        yield from _left_out(sides[0], side, own)
        yield from _alone(sides[0], side, own, points[0], points[sides.index(side)])
    yield from _failed(sides)
    yield from _tuned(sides)
    yield from _stopped(sides)
    yield from _resampled(sides)
    yield from _versions(sides)


def _how(base: Side, side: Side, pairs: pl.DataFrame) -> Iterator[str]:
    """How the runs of two sides meet."""
    for pairing, n in pairs.group_by(PAIRING, maintain_order=True).len().iter_rows():
        of = "" if n == pairs.height else f", at {n:,} of {count(pairs.height, 'pair')} of points"
        yield f"{side.label} and {base.label} are {HOW[pairing]}{of}."
        yield from _caution(base, side, pairing)


def _caution(base: Side, side: Side, pairing: str) -> Iterator[str]:
    """What a way to meet does not rule out."""
    seeds = [_one(each, "seed") for each in (base, side)]
    if pairing == UNPAIRED and seeds[0] != seeds[1]:
        yield (
            f"Their seeds are others ({seeds[1]} and {seeds[0]}): what a study draws once for all its trials is part "
            "of the difference."
        )
    sources = [name for name in ("system.generator", "workload.generator") if _one(base, name) != _one(side, name)]
    if pairing == SAME_DRAWS and sources:
        yield f"They have another {' and '.join(sources)}, so few draws are the same: pairs are no closer than others."


def _one(side: Side, name: str) -> str:
    """The values of a column, as text."""
    return ", ".join(sorted(str(value) for value in side.said.get(name, ()) if value is not None))


def _left_out(base: Side, side: Side, pairs: pl.DataFrame) -> Iterator[str]:
    """Trials that have no partner."""
    paired = pairs.filter(pl.col(PAIRING).is_in([SAME_WORLDS, SAME_DRAWS]))
    for each, name in ((side, "n_runs"), (base, "n_base_runs")):
        most = paired.select((pl.col(name) - pl.col("n_pairs")).max()).item()
        if most:
            yield f"Left out, without a partner: {count(most, 'trial')} of a point of {each.label}, at most."


def _alone(
    base: Side, side: Side, pairs: pl.DataFrame, base_points: pl.DataFrame, points: pl.DataFrame
) -> Iterator[str]:
    """Points that are compared with nothing."""
    keys = [name for name in points.columns if name != "is_fixed"]
    for each, table, prefix in ((side, points, ""), (base, base_points, AGAINST)):
        on = [f"{prefix}{key}" for key in keys]
        n = table.join(pairs, left_on=keys, right_on=on, how="anti", nulls_equal=True).height if keys else 0
        if n:
            yield f"Left out, without a partner: {n:,} of {count(table.height, 'point')} of {each.label}."


def _failed(sides: Sequence[Side]) -> Iterator[str]:
    """Runs without a result."""
    for side in sides:
        if side.n_failed:
            yield (
                f"Left out, as they failed: {count(side.n_failed, 'run')} of {side.label}. If they failed for what is "
                "compared, the rest is no fair sample."
            )


def _tuned(sides: Sequence[Side]) -> Iterator[str]:
    """Trials that chose values, which judge nothing."""
    for side in sides:
        if n := side.n_tuning:
            yield (
                f"Values of {side.label} were tuned by {count(n, 'run')}, which are left out: what was chosen is "
                "compared by other trials."
            )


def _stopped(sides: Sequence[Side]) -> Iterator[str]:
    """Trials whose number follows from what came out."""
    if stopped := [side.label for side in sides if side.results.study.until]:
        yield (
            f"The trials of {' and '.join(stopped)} stopped by themselves. Intervals and p are sequential: they hold "
            "at every look together, and are wider for it."
        )


def _resampled(sides: Sequence[Side]) -> Iterator[str]:
    """Trials that are made of one sample."""
    if resampled := [side.label for side in sides if side.is_resampled]:
        yield f"The trials of {' and '.join(resampled)} are {OF_ONE_SAMPLE}"


def _versions(sides: Sequence[Side]) -> Iterator[str]:
    """Bounds, versions and machines that are not the same."""
    if len({_one(side, "bound") for side in sides}) > 1:
        yield "Their bounds are proven in other ways: what is held against a bound cannot be compared."
    abouts = [side.results.about for side in sides]
    if len({about["results_version"] for about in abouts}) > 1:
        yield (
            "Their versions of results differ: the same study gives other numbers with them, and worlds of one "
            "are never told to be those of another."
        )
    if len({about["machine"] for about in abouts}) > 1:
        yield "They were computed on other machines: what measures the computer, such as run_s, cannot be compared."

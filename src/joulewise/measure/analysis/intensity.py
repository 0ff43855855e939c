"""How hard programs press on memory, and the classes that follow: by cache misses, or by what they do to each other."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from joulewise.measure.analysis.columns import PROGRAMS, shaped
from joulewise.measure.analysis.estimates import means
from joulewise.model.arrays import Floats

N_CLASSES = 3
"""As published: Intensity I, II and III."""
MISSES, MUTUAL = "misses per instruction", "sensitivity and pressure"
SAME_FACTOR = 1.25
"""Classes whose geometric means differ by no more than this factor are one, however many are asked for."""
_LEAST_INTENSITY, _LEAST_SLOWDOWN = 1e-9, 0.01
"""What lies below counts as this: nothing to speak of."""


def program_table(rows: pl.DataFrame, pairs: pl.DataFrame, n_classes: int) -> pl.DataFrame:
    """Programs with their intensity alone, sensitivity and pressure, and their class."""
    names = rows.select(pl.col("program").unique().sort())
    intensity = means(rows.filter(pl.col("size") == 1), ["program"], {"intensity": "intensity_ci"}).drop("n")
    programs = names.join(intensity, on="program", how="left", maintain_order="left")
    for side, name in (("program", "sensitivity"), ("beside", "pressure")):
        mean = pairs.group_by(pl.col(side).alias("program")).agg(pl.col("slowdown").mean().alias(name))
        programs = programs.join(mean, on="program", how="left", maintain_order="left")
    basis, scores = _scores(programs)
    named = classes(scores, n_classes)
    kept = pl.col("program").replace_strict(named, default=None, return_dtype=pl.String)
    classed = programs.with_columns(kept.alias("class"), pl.when(kept.is_not_null()).then(pl.lit(basis)).alias("basis"))
    return shaped(classed, PROGRAMS)


def classes(scores: Mapping[str, float], n_classes: int) -> dict[str, str]:
    """Names divided so that logarithms of scores differ least within classes; I is the lowest class.

    There are fewer classes than asked for where the means of two would be within SAME_FACTOR.
    """
    ordered = sorted(scores, key=lambda name: scores[name])
    logs = np.log([scores[name] for name in ordered])
    borders = next(
        (apart for k in range(min(n_classes, logs.size), 1, -1) if _are_apart(logs, apart := _borders(logs, k))), ()
    )
    return {name: roman(1 + sum(at <= i for at in borders)) for i, name in enumerate(ordered)}


def _borders(logs: Floats, n_classes: int) -> tuple[int, ...]:
    """Where each class but the first begins, so that the squares of distances to the means of classes are least."""
    n = logs.size
    spread = np.full((n + 1, n + 1), np.inf)
    for i in range(n):
        for j in range(i + 1, n + 1):
            spread[i, j] = logs[i:j].var() * (j - i)
    least, begins = spread[0], []
    for _ in range(n_classes - 1):
        costs = least[:, None] + spread
        begins.append(costs.argmin(axis=0))
        least = costs.min(axis=0)
    borders, end = [], n
    for begin in reversed(begins):
        end = int(begin[end])
        borders.append(end)
    return tuple(reversed(borders))


def _are_apart(logs: Floats, borders: tuple[int, ...]) -> bool:
    """Whether the means of neighbouring classes differ by more than SAME_FACTOR."""
    means_of = np.array([part.mean() for part in np.split(logs, borders)])
    return bool((np.diff(means_of) > math.log(SAME_FACTOR)).all())


def roman(number: int) -> str:
    """1, 2, 3, 4 as I, II, III, IV."""
    letters = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    text = ""
    for value, letter in letters:
        text += letter * (number // value)
        number %= value
    return text


def class_order(name: str) -> int:
    """The number of a class, for sorting: III is 3."""
    return next(number for number in range(1, 1000) if roman(number) == name)


def _scores(programs: pl.DataFrame) -> tuple[str, dict[str, float]]:
    """What classes are made by, and it: misses where all programs have them, else slowdowns suffered and caused."""
    intensity = dict(programs.select("program", pl.col("intensity").clip(_LEAST_INTENSITY)).iter_rows())
    if all(value is not None for value in intensity.values()):
        return MISSES, intensity
    both = programs.select("program", (pl.col("sensitivity") + pl.col("pressure")).clip(_LEAST_SLOWDOWN))
    return MUTUAL, {name: value for name, value in both.iter_rows() if value is not None}

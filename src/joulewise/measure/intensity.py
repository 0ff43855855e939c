"""How hard programs press on memory, and the classes that follow: by cache misses, or by what they do to each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import polars as pl

from joulewise.measure.analysis_columns import PROGRAMS, shaped
from joulewise.measure.estimates import means

MISSES, MUTUAL = "misses per instruction", "sensitivity and pressure"
SAME_FACTOR = 1.1
"""Programs that differ by no more than this factor are of one class, however many classes are asked for."""
_LEAST_INTENSITY, _LEAST_SLOWDOWN = 1e-9, 0.01
"""What lies below counts as this: nothing to speak of."""


def program_table(rows: pl.DataFrame, pairs: pl.DataFrame, n_classes: int) -> pl.DataFrame:
    """Programs with their intensity alone, sensitivity and pressure, and their class."""
    names = rows.select(pl.col("program").unique().sort())
    intensity = means(rows.filter(pl.col("size") == 1), ["program"], {"intensity": "intensity_ci"}).drop("n")
    found = names.join(intensity, on="program", how="left", maintain_order="left")
    for side, name in (("program", "sensitivity"), ("beside", "pressure")):
        mean = pairs.group_by(pl.col(side).alias("program")).agg(pl.col("slowdown").mean().alias(name))
        found = found.join(mean, on="program", how="left", maintain_order="left")
    basis, scores = _scores(found)
    named = classes(scores, n_classes)
    kept = pl.col("program").replace_strict(named, default=None, return_dtype=pl.String)
    told = found.with_columns(kept.alias("class"), pl.when(kept.is_not_null()).then(pl.lit(basis)).alias("basis"))
    return shaped(told, PROGRAMS)


def classes(scores: Mapping[str, float], n_classes: int) -> dict[str, str]:
    """Names divided where the logarithms of their scores have their largest gaps; I is the lowest class."""
    ordered = sorted(scores, key=lambda name: scores[name])
    gaps = [(math.log(scores[b] / scores[a]), i + 1) for i, (a, b) in enumerate(pairwise(ordered))]
    wide = sorted((gap for gap in gaps if gap[0] > math.log(SAME_FACTOR)), key=lambda gap: (-gap[0], gap[1]))
    cuts = {at for _, at in wide[: max(n_classes, 1) - 1]}
    found, number = {}, 1
    for i, name in enumerate(ordered):
        number += i in cuts
        found[name] = roman(number)
    return found


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

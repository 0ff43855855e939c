"""Records seen another way: with other axes, or split by the keys that vary beside some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from joulewise.present import theme
from joulewise.present.records import MODES, VARIANT, Records, is_policy
from joulewise.study.answers import statistics


def beside(records: Records, keys: Sequence[str], *telling: str) -> tuple[str, ...]:
    """The keys that vary beside these; not the variant where the others, or `telling` keys, tell all variants apart."""
    swept = [key for key in records.varying if key not in keys and key != VARIANT]
    if VARIANT not in records.varying or VARIANT in keys:
        return tuple(swept)
    named = list(dict.fromkeys([*(key for key in telling if records.varies(key) and key not in keys), *swept]))
    columns = [key for key in dict.fromkeys([*named, *keys]) if key in records.runs.columns]
    is_told = records.runs.n_unique(columns) == records.runs.n_unique([*columns, VARIANT]) if columns else False
    return tuple(named) if is_told else (VARIANT, *swept)


def reshaped(records: Records, runs: pl.DataFrame, axes: Sequence[str]) -> Records:
    """The records of these runs with other axes; runs that are alike in them count once per trial."""
    once = runs.unique(subset=[*axes, "trial"], keep="first", maintain_order=True)
    metrics = [name for name in records.headings if name in once.columns]
    summary = statistics.summary(once, axes, metrics, records.error)
    seen = replace(records, study=replace(records.study, axes=tuple(axes)), runs=once, summary=summary)
    if seen.main is None or seen.share not in once.columns:
        return replace(seen, differences=pl.DataFrame())
    found = statistics.differences(once, axes, [seen.share], seen.main, records.error)
    return replace(seen, differences=found)


def first_kept(records: Records, name: str, columns: Sequence[str], named: Sequence[str] = ()) -> pl.DataFrame:
    """These columns of a detail table with the keys that vary and those `named`, of the first kept trial.

    Empty where it lacks one of them.
    """
    table = records.frame(name)
    if not {"run", *columns} <= set(table.columns):
        return pl.DataFrame()
    keys = [key for key in dict.fromkeys([*named, *records.varying]) if key in records.runs.columns]
    there = records.runs.select("run", "trial", *keys).join(table.select("run").unique(), on="run", how="semi")
    trial = pl.col("trial").min()
    first = there.filter(pl.col("trial") == (trial.over(keys) if keys else trial)).drop("trial")
    return first.join(table.select("run", *columns), on="run", maintain_order="left_right")


def looks_of(records: Records, key: str) -> theme.Looks:
    """Colour and dash of the line of each value of a key, by label; immediate mode is dashed."""
    labels, own = records.labels(key), records.words(key).lines
    if own:
        return dict(zip(labels.values(), own(records), strict=True))
    if len(labels) > 1 and all(isinstance(value, int | float) for value in labels):
        ramp = theme.ordered_lines(len(labels))
        return {label: (colour, [1, 0]) for label, colour in zip(labels.values(), ramp, strict=True)}
    return {label: theme.line_style(i, _family(records, key, value)) for i, (value, label) in enumerate(labels.items())}


def _family(records: Records, key: str, value: object) -> int:
    return int(is_policy(key) and records.mode(str(value)) == MODES[0])


def dash_note(records: Records, key: str) -> str:
    """What a caption says of dashes, where lines of both modes are drawn."""
    modes = {records.mode(str(value)) for value in records.values(key)} if is_policy(key) else set()
    return " Dashed lines are immediate mode, solid lines batch mode." if set(MODES) <= modes else ""

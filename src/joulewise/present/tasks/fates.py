"""What became of the tasks: completed, dropped or still open at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.fates import FATES
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, wrapped
from joulewise.present.parts import concat, layer
from joulewise.present.records import Records
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, POLICY, PRIORITY, SETTING, THRESHOLD
from joulewise.present.tasks.levels import by_level
from joulewise.present.tasks.settings import at_best, managed_view, with_setting

COUNTS = ("tasks_arrived", "tasks_completed", "tasks_dropped", "tasks_killed")
_WIDTH_PX = 700
_MAX_WIDTH_PX = 100
_HEIGHT_PX = 150
_GAP_PX = 12
_PER_ROW = 8
_CHARACTERS_ACROSS = 11
_BLANK = "\N{NO-BREAK SPACE}"
"""A label that is not seen: titles stand over labels, so that charts without any would have theirs lower."""


def fates(records: Records) -> Drawing:
    """What became of the arrived tasks, in percent: a small chart per policy, a bar per threshold or setting."""
    seen, best = managed_view(records)
    drawing = _draw(seen, THRESHOLD if THRESHOLD in seen.varying else SETTING)
    return Drawing(drawing.chart, f"{drawing.caption}{best}")


def fates_by_priority(records: Records) -> Drawing:
    """What became of the arrived tasks of each priority level: a small chart per policy, a bar per level."""
    tuned, best = at_best(records)
    drawing = _draw(by_level(with_setting(tuned, (ENVIRONMENT, FILTER)), PRIORITY, COUNTS), PRIORITY)
    return Drawing(drawing.chart, f"{drawing.caption}{best}")


def _draw(records: Records, across: str) -> Drawing:
    """The small charts, with a bar for each value of one key where it varies."""
    main = POLICY if records.main in (None, across) else str(records.main)
    bars = across if across in records.varying else None
    keys = [key for key in records.varying if key not in (main, bars)]
    panels, note = panels_of(records, shares(records), keys)
    parts = [_panel(records, main, bars, panel) for panel in panels]
    by = f", at each {records.words(bars).name}" if bars else ""
    caption = (
        f"What became of the tasks that arrived, for each {records.words(main).name}{by}: completed in "
        "the counted time, dropped, or still open when it ended. In percent of the tasks that arrived, means over the "
        f"trials.{note}"
    )
    return Drawing(assemble(parts), caption)


def shares(records: Records) -> pl.DataFrame:
    """Mean number of tasks with each fate in percent of those that arrived, one row per point and fate.

    Empty where the runs have no such counts. Tasks that arrived before the counted time and completed in it stand for
    as many that arrived in it and were open at its end, but not for more: the shares are 100 % together.
    """
    keys = list(dict.fromkeys([*records.varying, records.main or POLICY, POLICY]))
    if not {*COUNTS, *keys} <= set(records.runs.columns):
        return pl.DataFrame()
    arrived, completed, dropped, killed = map(pl.col, COUNTS)
    not_lost = arrived - dropped - killed
    done = pl.min_horizontal(completed, not_lost).clip(0)
    rest = (not_lost - done).clip(0)
    counts = {"completed": done, "dropped": dropped, "killed": killed, "open": rest}
    share = [(100 * pl.when(arrived > 0).then(n / arrived)).mean().alias(name) for name, n in counts.items()]
    means = records.runs.group_by(keys, maintain_order=True).agg(share)
    long = means.unpivot(on=list(FATES), index=keys, variable_name="fate", value_name="share").drop_nulls("share")
    return long.filter((pl.col("share") > 0).any().over("fate"))


def _panel(records: Records, main: str, across: str | None, panel: Panel) -> Any:
    """Small charts side by side, at most `_PER_ROW` in a row, and as many in each."""
    labels = {value: label for value, label in records.labels(main).items() if value in set(panel.rows[main])}
    per_row = math.ceil(len(labels) / math.ceil(len(labels) / _PER_ROW))
    width_px = min(_MAX_WIDTH_PX, _WIDTH_PX / per_row - _GAP_PX)
    charts = [
        {
            **_small(records, main, across, panel.rows.filter(pl.col(main) == value), is_first=i % per_row == 0),
            "title": _title(wrapped(label, int(width_px / 6.2))),
            "width": width_px,
            "height": _HEIGHT_PX,
        }
        for i, (value, label) in enumerate(labels.items())
    ]
    title = ", ".join(part for part in (panel.title, f"by {records.words(across).name}" if across else "") if part)
    return concat(*charts, columns=per_row, spacing=_GAP_PX, title=title)


def _title(text: str) -> dict[str, Any]:
    return {"text": text.split("\n"), "fontSize": theme.LABEL_PX, "fontWeight": "normal", "anchor": "middle"}


def _small(records: Records, main: str, across: str | None, rows: pl.DataFrame, *, is_first: bool) -> Any:
    """The fates of one value of the main key; the first of a row carries the axis."""
    import altair as alt

    label = "datum.label" if is_first else f"'{_BLANK}'"
    axis = alt.Axis(title="% of arrived tasks" if is_first else None, labelExpr=label)
    bars = alt.Chart(inline(_rows(records, main, across, rows))).mark_bar()
    return layer(
        bars.encode(
            x=_x(list(records.labels(across).values()) if across else []),
            y=alt.Y("share:Q", stack="zero", scale=alt.Scale(domain=[0, 100]), axis=axis),
            color=_colour(rows["fate"].unique().to_list()),
            order=alt.Order("rank:Q"),
            tooltip=_tooltip(records, main, across),
        )
    )


def _rows(records: Records, main: str, across: str | None, rows: pl.DataFrame) -> list[dict[str, Any]]:
    names = records.labels(main)
    bars = records.labels(across) if across else {}
    rank = {name: i for i, name in enumerate(FATES)}
    return [
        {
            "name": names[row[main]],
            "fate": FATES[row["fate"]][0],
            "rank": rank[row["fate"]],
            "share": row["share"],
            "bar": bars[row[across]] if across else "",
        }
        for row in rows.iter_rows(named=True)
    ]


def _x(labels: list[str]) -> Any:
    """The labels along the axis, upright where they are many or long; no axis without labels."""
    import altair as alt

    if not labels:
        return alt.X("bar:N", axis=None)
    angle = 0 if sum(map(len, labels)) < _CHARACTERS_ACROSS else -90
    axis = alt.Axis(labelAngle=angle, labelFontSize=theme.LABEL_PX - 2, labelOverlap=True, ticks=False)
    return alt.X("bar:N", sort=labels, title=None, axis=axis)


def _colour(present: Sequence[str]) -> Any:
    import altair as alt

    names, colours = zip(*(look for fate, look in FATES.items() if fate in present), strict=True)
    legend = alt.Legend(title=None, symbolType="square", labelLimit=300)
    return alt.Color("fate:N", scale=alt.Scale(domain=list(names), range=list(colours)), sort=None, legend=legend)


def _tooltip(records: Records, main: str, across: str | None) -> list[Any]:
    import altair as alt

    bar = [alt.Tooltip("bar:N", title=records.title(across))] if across else []
    return [
        alt.Tooltip("name:N", title=records.words(main).name),
        *bar,
        alt.Tooltip("fate:N", title="tasks"),
        alt.Tooltip("share:Q", title="% of arrived", format=".1f"),
    ]

"""What became of the tasks: completed, dropped or still open at the end."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import key_title, key_words
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, wrapped
from joulewise.present.records import POLICY, THRESHOLD, Records

FATES = {
    "completed": ("completed", theme.PALETTE[0]),
    "dropped": ("dropped", theme.PALETTE[5]),
    "open": ("not completed when the time ended", theme.NOTHING),
}
_COUNTS = ("tasks_arrived", "tasks_completed", "tasks_dropped")
_WIDTH_PX = 700
_MAX_WIDTH_PX = 100
_HEIGHT_PX = 150
_GAP_PX = 12
_PER_ROW = 7


def fates(records: Records) -> Drawing:
    """What became of the arrived tasks, in percent: a small chart per policy, a bar per threshold."""
    main = records.main or POLICY
    keys = [key for key in records.others if key != THRESHOLD]
    panels, note = panels_of(records, shares(records), keys)
    parts = [_panel(records, main, panel) for panel in panels]
    by = ", at each dropping threshold" if THRESHOLD in records.others else ""
    caption = (
        f"What became of the tasks that arrived, for each {key_words(main).name}{by}: completed in "
        "the counted time, dropped, or neither when it ended; in percent of the tasks that arrived. Means "
        f"over the trials.{note}"
    )
    return Drawing(assemble(parts), caption)


def shares(records: Records) -> pl.DataFrame:
    """Mean number of tasks with each fate in percent of those that arrived, one row per point and fate.

    Empty where the runs have no such counts. Tasks that arrived before the counted time and completed in it
    are counted as completed, so that the shares can pass 100 %.
    """
    keys = list(dict.fromkeys([*records.varying, records.main or POLICY]))
    if not {*_COUNTS, *keys} <= set(records.runs.columns):
        return pl.DataFrame()
    arrived, completed, dropped = map(pl.col, _COUNTS)
    counts = {"completed": completed, "dropped": dropped, "open": (arrived - completed - dropped).clip(0)}
    share = [(100 * pl.when(arrived > 0).then(n / arrived)).mean().alias(name) for name, n in counts.items()]
    means = records.runs.group_by(keys, maintain_order=True).agg(share)
    return means.unpivot(on=list(FATES), index=keys, variable_name="fate", value_name="share").drop_nulls("share")


def _panel(records: Records, main: str, panel: Panel) -> Any:
    """Small charts side by side, at most `_PER_ROW` in a row."""
    import altair as alt

    by_threshold = THRESHOLD in records.others
    per_row = min(panel.rows[main].n_unique(), _PER_ROW)
    width_px = min(_MAX_WIDTH_PX, _WIDTH_PX / per_row - _GAP_PX)
    heads = {value: wrapped(label, int(width_px / 6.2)) for value, label in records.labels(main).items()}
    chart = alt.Chart(inline(_rows(records, main, panel.rows, heads))).mark_bar()
    chart = chart.encode(
        x=_x(list(records.labels(THRESHOLD).values()) if by_threshold else []),
        y=alt.Y("share:Q", title="% of arrived tasks", stack="zero", scale=alt.Scale(domainMin=0)),
        color=_colour(),
        order=alt.Order("rank:Q"),
        tooltip=_tooltip(main, by_threshold),
    )
    facet = alt.Facet("main:N", sort=list(heads.values()), title=None, header=_header())
    title = _panel_title(panel.title, by_threshold)
    sized = chart.properties(width=width_px, height=_HEIGHT_PX)
    return sized.facet(facet=facet, columns=per_row, spacing=_GAP_PX, title=title)


def _rows(records: Records, main: str, rows: pl.DataFrame, heads: Mapping[Hashable, str]) -> list[dict[str, Any]]:
    names = records.labels(main)
    thresholds = records.labels(THRESHOLD) if THRESHOLD in records.others else {}
    rank = {name: i for i, name in enumerate(FATES)}
    return [
        {
            "main": heads[row[main]],
            "name": names[row[main]],
            "fate": FATES[row["fate"]][0],
            "rank": rank[row["fate"]],
            "share": row["share"],
            "threshold": thresholds[row[THRESHOLD]] if thresholds else "",
        }
        for row in rows.iter_rows(named=True)
    ]


def _x(thresholds: list[str]) -> Any:
    """The thresholds along the axis, upright where they are many; no axis without thresholds."""
    import altair as alt

    if not thresholds:
        return alt.X("threshold:N", axis=None)
    angle = 0 if len(thresholds) < 4 else -90
    axis = alt.Axis(labelAngle=angle, labelFontSize=theme.LABEL_PX - 2, labelOverlap=True, ticks=False)
    return alt.X("threshold:N", sort=thresholds, title=None, axis=axis)


def _panel_title(title: str, by_threshold: bool) -> str:
    return ", ".join(part for part in (title, "by dropping threshold" if by_threshold else "") if part)


def _header() -> Any:
    import altair as alt

    return alt.Header(labelOrient="top", labelExpr="split(datum.label, '\\n')", labelFontWeight="normal")


def _colour() -> Any:
    import altair as alt

    names, colours = zip(*FATES.values(), strict=True)
    legend = alt.Legend(title=None, symbolType="square")
    return alt.Color("fate:N", scale=alt.Scale(domain=list(names), range=list(colours)), sort=None, legend=legend)


def _tooltip(main: str, by_threshold: bool) -> list[Any]:
    import altair as alt

    threshold = [alt.Tooltip("threshold:N", title=key_title(THRESHOLD))] if by_threshold else []
    return [
        alt.Tooltip("name:N", title=key_words(main).name),
        *threshold,
        alt.Tooltip("fate:N", title="tasks"),
        alt.Tooltip("share:Q", title="% of arrived", format=".1f"),
    ]

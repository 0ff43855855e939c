"""What became of the tasks: completed, dropped or still open at the end."""

from __future__ import annotations

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
_GAP_PX = 12


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
    return means.unpivot(on=list(FATES), index=keys, variable_name="fate", value_name="share").drop_nulls(
        "share"
    )


def _panel(records: Records, main: str, panel: Panel) -> Any:
    import altair as alt

    labels = records.labels(main)
    n_main = panel.rows[main].n_unique()
    by_threshold = THRESHOLD in records.others
    width_px = min(100, max(30, _WIDTH_PX / n_main - _GAP_PX))
    heads = {value: wrapped(label, int(width_px / 6.2)) for value, label in labels.items()}
    thresholds = records.labels(THRESHOLD) if by_threshold else {}
    rank = {name: i for i, name in enumerate(FATES)}
    rows = [
        {
            "main": heads[row[main]], "name": labels[row[main]], "fate": FATES[row["fate"]][0],
            "rank": rank[row["fate"]], "share": row["share"],
            "threshold": thresholds[row[THRESHOLD]] if by_threshold else "",
        }
        for row in panel.rows.iter_rows(named=True)
    ]  # fmt: skip
    x = alt.X(
        "threshold:N",
        sort=list(thresholds.values()),
        title=None,
        axis=alt.Axis(
            labelAngle=0 if len(thresholds) < 4 else -90, labelFontSize=theme.LABEL_PX - 2, ticks=False
        )
        if by_threshold
        else None,
    )
    chart = alt.Chart(inline(rows)).mark_bar().encode(
        x=x,
        y=alt.Y("share:Q", title="% of arrived tasks", stack="zero", scale=alt.Scale(domainMin=0)),
        color=_colour(),
        order=alt.Order("rank:Q"),
        tooltip=_tooltip(main, by_threshold),
    )  # fmt: skip
    column = alt.Column("main:N", sort=list(heads.values()), title=None, header=_header())
    return chart.properties(width=width_px, height=150).facet(
        column=column, spacing=_GAP_PX, title=_panel_title(panel.title, by_threshold)
    )


def _panel_title(title: str, by_threshold: bool) -> str:
    return ", ".join(part for part in (title, "by dropping threshold" if by_threshold else "") if part)


def _header() -> Any:
    import altair as alt

    return alt.Header(labelOrient="top", labelExpr="split(datum.label, '\\n')", labelFontWeight="normal")


def _colour() -> Any:
    import altair as alt

    names, colours = zip(*FATES.values(), strict=True)
    legend = alt.Legend(title=None, symbolType="square")
    return alt.Color(
        "fate:N", scale=alt.Scale(domain=list(names), range=list(colours)), sort=None, legend=legend
    )


def _tooltip(main: str, by_threshold: bool) -> list[Any]:
    import altair as alt

    threshold = [alt.Tooltip("threshold:N", title=key_title(THRESHOLD))] if by_threshold else []
    return [
        alt.Tooltip("name:N", title=key_words(main).name),
        *threshold,
        alt.Tooltip("fate:N", title="tasks"),
        alt.Tooltip("share:Q", title="% of arrived", format=".1f"),
    ]

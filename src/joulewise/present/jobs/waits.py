"""Who waits how long: all jobs by scheduler, and the jobs of each queue and each user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.formats import fixed
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.logs import count_axis, log_of, time_axis
from joulewise.present.jobs.view import JOBS, QUEUES, USERS, job_view, kept, node_word
from joulewise.present.layout import Drawing, Panel, assemble, inline, panels_of, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines, encoded
from joulewise.present.records import Records
from joulewise.present.views import looks_of

WAIT, SLOWDOWN = "wait_s", "bounded_slowdown"
MEANS = ("mean_wait_s", "mean_bounded_slowdown")
_LEAST_S = 1.0
_QUANTILES = np.linspace(0.0, 1.0, 201)
_MOST_QUEUES, _MOST_USERS = 14, 3000
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_AXES = {WAIT: ("wait", time_axis, _LEAST_S), SLOWDOWN: ("bounded slowdown", count_axis, 1.0)}
"""How waits and slowdowns are drawn: their name, their axis, and the least that is told apart."""


def has_waits(records: Records) -> bool:
    """Whether waits of jobs were kept."""
    return records.keeps(JOBS, WAIT, SLOWDOWN)


def has_several(records: Records, table: str, key: str) -> bool:
    """Whether there is a summary of several queues or users with their waits."""
    return records.keeps(table, key, *MEANS) and records.frame(table)[key].drop_nulls().n_unique() > 1


def wait_distribution(records: Records) -> Drawing:
    """The waits and slowdowns of all jobs in order, a line for each scheduler."""
    seen, best = job_view(records)
    frame = kept(seen, JOBS, [WAIT, SLOWDOWN]).drop_nulls([WAIT, SLOWDOWN])  # who was cancelled has no slowdown
    keys = [key for key in seen.varying if key != SCHEDULER]
    panels, note = panels_of(seen, frame, keys)
    parts = [draw_lines(_distribution(seen, panel, name)) for panel in panels for name in _AXES]
    caption = (
        "Waits and bounded slowdowns of all jobs that ran, from the shortest to the longest: nine of ten jobs stay "
        "below the value at 90 %. Both scales are logarithmic; waits under 1 s are drawn as 1 s. First kept trial."
        f"{best}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _distribution(seen: Records, panel: Panel, name: str) -> Plot:
    title, axis, least = _AXES[name]
    labels = seen.labels(SCHEDULER)
    parts = {part[SCHEDULER][0]: part for part in panel.rows.drop_nulls(name).partition_by(SCHEDULER)}
    lines = {label: _quantiles(parts[value][name], least) for value, label in labels.items() if value in parts}
    y = axis(title, [point.y for points in lines.values() for point in points])
    x = LineAxis("jobs (%, in order)", 0.0, 100.0, {tick: f"{tick:g}" for tick in (0.0, 25.0, 50.0, 75.0, 90.0, 100.0)})
    legend = sentence(seen.title(SCHEDULER))
    return Plot(lines, looks_of(seen, SCHEDULER), x, y, panel.title, 300, has_bands=True, legend=legend)


def _quantiles(values: pl.Series, least: float) -> list[LinePoint]:
    levels = np.quantile(values.to_numpy(), _QUANTILES)
    return [LinePoint(100 * float(part), log_of(float(y), least)) for part, y in zip(_QUANTILES, levels, strict=True)]


# --- by queue -------------------------------------------------------------------------------------------


def waits_by_queue(records: Records) -> Drawing:
    """Mean wait and mean bounded slowdown of the jobs of each queue, a mark for each scheduler."""
    seen, best = job_view(records)
    frame = _sorted_queues(kept(seen, QUEUES, ["queue", "jobs", *MEANS]).drop_nulls(["queue", *MEANS]))
    keys = [key for key in seen.varying if key != SCHEDULER]
    panels, note = panels_of(seen, frame, keys)
    parts = [_queue_part(seen, panel, name) for panel in panels for name in _AXES]
    n_queues = frame["queue"].n_unique()
    most = f" Of {n_queues} queues, the {_MOST_QUEUES} with most jobs are shown." if n_queues > _MOST_QUEUES else ""
    caption = (
        "Mean wait and mean bounded slowdown of the jobs of each queue that ran, on logarithmic scales; the queue with "
        f"most jobs is on top.{most} First kept trial.{best}{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _sorted_queues(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the queue with most jobs first."""
    queue = pl.col("queue").cast(pl.String)
    return frame.with_columns(queue).sort(pl.col("jobs").sum().over("queue"), "queue", descending=[True, False])


def _queue_part(seen: Records, panel: Panel, name: str) -> Any:
    import altair as alt

    title, axis, least = _AXES[name]
    labels = seen.labels(SCHEDULER)
    queues = panel.rows["queue"].unique(maintain_order=True).to_list()[:_MOST_QUEUES]
    rows = [
        {"queue": row["queue"], "name": labels[row[SCHEDULER]], "x": log_of(row[f"mean_{name}"], least),
         "mean": row[f"mean_{name}"], "jobs": row["jobs"]}
        for row in panel.rows.iter_rows(named=True)
        if row["queue"] in queues
    ]  # fmt: skip
    x = axis(f"mean {title}", [row["x"] for row in rows])
    looks = alt.Axis(grid=True, labelLimit=160, domain=False)
    marks = alt.Chart(inline(rows)).mark_point(filled=True, size=70, opacity=0.9).encode(
        x=encoded(alt.X, "x:Q", x),
        y=alt.Y("queue:N", sort=queues, title=None, axis=looks),
        **_looks(list(labels.values())),
        tooltip=["queue:N", "name:N", alt.Tooltip("mean:Q", title=x.title, format=",.4~r"), "jobs:Q"],
    )  # fmt: skip
    return marks.properties(width=270, height=alt.Step(24), title=panel.title)


def _looks(labels: Sequence[str]) -> dict[str, Any]:
    """Colour and shape of each scheduler, in one legend."""
    import altair as alt

    colours = [theme.line_style(i)[0] for i in range(len(labels))]
    shapes = [_SHAPES[i % len(_SHAPES)] for i in range(len(labels))]
    legend = alt.Legend(title="Scheduler", symbolOpacity=1, columns=4)
    names = list(labels)
    return {
        "color": alt.Color("name:N", sort=None, scale=alt.Scale(domain=names, range=colours), legend=legend),
        "shape": alt.Shape("name:N", sort=None, scale=alt.Scale(domain=names, range=shapes), legend=legend),
    }


# --- by user --------------------------------------------------------------------------------------------


def slowdown_by_user(records: Records) -> Drawing:
    """How much each user was slowed down by what they used, a panel for each scheduler."""
    seen, best = job_view(records)
    frame = kept(seen, USERS, ["user", "jobs", "node_s", *MEANS]).drop_nulls(["user", *MEANS])
    keys = [*(key for key in seen.varying if key != SCHEDULER), SCHEDULER]
    panels, note = panels_of(seen, frame, keys if seen.varying else [])
    fair = " Fairness is Jain's index of the users' mean slowdowns: 1 if all are alike." if _is_rated(seen) else ""
    caption = (
        "Every point is a user: the mean bounded slowdown of their jobs that ran, against the "
        f"{node_word(seen)}-hours that these used, both on logarithmic scales.{fair} First kept trial.{best}{note}"
    )
    x, y = _user_axes(panels, node_word(seen))
    return Drawing(assemble([_user_part(seen, panel, x, y) for panel in panels], across=2), caption)


def _is_rated(seen: Records) -> bool:
    return seen.measures("fairness")


def _user_axes(panels: Sequence[Panel], node: str) -> tuple[LineAxis, LineAxis]:
    shown = pl.concat([panel.rows for panel in panels])
    used = [log_of(node_s / 3600, 1e-2) for node_s in shown["node_s"]]
    slow = [log_of(value, 1.0) for value in shown[MEANS[1]]]
    return count_axis(f"{node}-hours used", used), count_axis("mean bounded slowdown", slow)


def _user_part(seen: Records, panel: Panel, x: LineAxis, y: LineAxis) -> Any:
    import altair as alt

    rows = [
        {"x": log_of(row["node_s"] / 3600, 1e-2), "y": log_of(row[MEANS[1]], 1.0), "user": row["user"],
         "jobs": row["jobs"], "slowdown": row[MEANS[1]]}
        for row in panel.rows.head(_MOST_USERS).iter_rows(named=True)
    ]  # fmt: skip
    points = alt.Chart(inline(rows)).mark_point(filled=True, size=26, opacity=0.55, color=theme.PALETTE[0])
    drawn = points.encode(
        x=encoded(alt.X, "x:Q", x),
        y=encoded(alt.Y, "y:Q", y),
        tooltip=["user:N", "jobs:Q", alt.Tooltip("slowdown:Q", format=",.3~r")],
    )
    return drawn.properties(width=290, height=210, title=_user_title(seen, panel))


def _user_title(seen: Records, panel: Panel) -> str | dict[str, str]:
    """The title of a panel, with the fairness of its run."""
    if not _is_rated(seen):
        return panel.title
    fairness = seen.runs.filter(pl.col("run") == panel.rows["run"][0])["fairness"][0]
    return {"text": panel.title or "", "subtitle": "" if fairness is None else f"fairness {fixed(fairness, 2)}"}

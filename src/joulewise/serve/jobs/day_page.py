"""The page of a day of parallel jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.present import theme
from joulewise.present.formats import number, percent, power_unit
from joulewise.present.jobs.gantt import gantt_between
from joulewise.present.parts import unchecked
from joulewise.present.windows import Window, inside
from joulewise.serve.answer import Answer, Block, Facts, Plot, Table
from joulewise.serve.asking import Asked, Choice, Wish
from joulewise.serve.day import Bins, cut, grouped, named_ranges
from joulewise.serve.day_curves import curve_plots, earned_and_used
from joulewise.serve.jobs.day import FATES, JobDay, JobFrame, busy_share, day_of, frame_of, power_w, slowed
from joulewise.serve.kept_day import (
    BUSY,
    N_BINS,
    POWER,
    SHADE,
    name_asked,
    numbers_table,
    seen,
    thinned,
    title_of,
    told,
    ways,
    window_asked,
    window_wishes,
)
from joulewise.serve.subject import Subject
from joulewise.serve.timeline import HOUR_S, WIDTH_PX, Figure, Grid, grid, heights, zoomable
from joulewise.units import count, duration

CLUSTER, ALL = "cluster", "all"
"""The key of a query that says which cluster is seen, and what stands for all of them."""
_TITLE = "Day"
_SHADES = {
    BUSY: "The darker, the more of their time nodes had a job.",
    POWER: "The darker, the more power jobs drew; what nodes draw without a job is not in it.",
}
_MOST_ROWS, _MOST_RUNS = 60, 500
_TABLE_ROWS = 24
_SAID = dict(zip(FATES, ("ran", "killed", "cancelled", "dropped", "never started", "can never start"), strict=True))
_COLOURS = dict(
    zip(FATES, (*(theme.PALETTE[i] for i in (0, 3, 4)), theme.NOTHING, theme.PALETTE[5], theme.PALETTE[6]), strict=True)
)
_BUSY = (theme.lighter(theme.PALETTE[0], 0.92), *theme.ordered(3))


def day_wishes(subject: Subject, asked: Asked) -> Sequence[Wish]:
    """What else may be asked of the day that was asked for."""
    day = seen(subject, asked, day_of).day
    clusters = {ALL: "all clusters", **{name: name for name in day.clusters["cluster"]}}
    shades = {BUSY: "time with a job", POWER: "power of jobs"}
    return (
        *window_wishes(day.whole),
        Choice(CLUSTER, "Nodes of", options=clusters),
        Choice(SHADE, "Nodes by", options=shades),
    )


def day_page(subject: Subject, asked: Asked) -> Answer:
    """A window of the day of a run: what was earned, used and waited for, and which nodes ran what."""
    day, columns = seen(subject, asked, day_of)
    window = window_asked(asked, day.whole)
    frame = frame_of(day, cut(window, day.whole, N_BINS))
    blocks: list[Block] = [
        *told(subject, asked),
        _facts(day, frame, window),
        ways(asked, window, day.whole),
        *curve_plots(frame.bins, frame.curves, columns, is_whole=window == day.whole),
        _arrivals(frame),
        _waiting(frame),
        _nodes_busy(day, frame),
        _slowdown(frame),
        _nodes(day, frame.bins, window, asked),
        _numbers(frame),
    ]
    return Answer(f"{_TITLE}: {subject.title}", blocks, name_asked(asked))


def _facts(day: JobDay, frame: JobFrame, window: Window) -> Facts:
    wait_s, slowdown = slowed(day, window)
    arrived = sum(float(values.sum()) for values in frame.arrived.values())
    fates = [(f"of these {_SAID[name]}", f"{values.sum():,.0f}") for name, values in frame.arrived.items()]
    waited = [("mean wait", duration(wait_s)), ("mean bounded slowdown", number(slowdown, 4))]
    pairs = [
        ("jobs that arrived", f"{arrived:,.0f}"),
        *((name, value) for name, value in fates if value != "0"),
        ("jobs completed", f"{frame.completed.sum():,.0f}"),
        *(waited if np.isfinite(slowdown) else []),
        *earned_and_used(frame.curves),
        ("cores busy", percent(float(frame.busy_percent.mean()))),
        ("most nodes busy", f"{frame.nodes.max():,.0f}"),
    ]
    return Facts(pairs, title_of(window))


def _arrivals(frame: JobFrame) -> Plot:
    caption = (
        f"Jobs that arrived in each {duration(frame.bins.width)}, by what became of them in the end; when a job "
        "was dropped is not recorded."
    )
    series = {_SAID[name]: (values, _COLOURS[name]) for name, values in frame.arrived.items()}
    figure = Figure("arrivals", "Jobs by what became of them", caption)
    return heights(figure, frame.bins, series, "jobs that arrived")


def _waiting(frame: JobFrame) -> Plot:
    caption = "Jobs that could run and did not, mean over each bin; those that were dropped in the end are not in it."
    series = {"waiting": (frame.waiting, theme.PALETTE[1])}
    return heights(Figure("waiting", "Queue", caption), frame.bins, series, "jobs waiting")


def _nodes_busy(day: JobDay, frame: JobFrame) -> Plot:
    n_nodes = int(day.clusters["n_nodes"].sum())
    caption = (
        f"Nodes with a job, mean over each bin, of {count(n_nodes, 'node')} in all. Of all core time in the window "
        f"{percent(float(frame.busy_percent.mean()))} is busy."
    )
    series = {"busy": (frame.nodes, theme.PALETTE[0])}
    return heights(Figure("nodes", "Nodes busy", caption), frame.bins, series, "nodes busy", n_nodes)


def _slowdown(frame: JobFrame) -> Plot:
    caption = (
        "Mean bounded slowdown of the jobs that arrived in each bin and had nodes: their time in the system over the "
        "time that they need, or over 10 s if that is shorter; 1 at least."
    )
    series = {"bounded slowdown": (frame.slowdown, theme.PALETTE[3])}
    return heights(Figure("slowdown", "Bounded slowdown", caption), frame.bins, series, "bounded slowdown")


def _nodes(day: JobDay, bins: Bins, window: Window, asked: Asked) -> Plot:
    """A Gantt chart where few enough jobs run in the window, else how busy nodes are, or what power they draw."""
    is_asked = asked[CLUSTER] == ALL or pl.col("cluster") == asked[CLUSTER]
    clusters = day.clusters.filter(is_asked)
    sizes = {str(name): int(n) for name, n in clusters.select("cluster", "n_nodes").iter_rows()}
    shown = inside(day.runs, window).filter(pl.col("cluster").is_in(list(sizes)))
    lowest = "Nodes of a cluster are alike, so a job is drawn on the lowest that are free when it starts."
    if 0 < shown.height <= _MOST_RUNS:
        caption = (
            f"{count(shown.height, 'run')} of jobs: the more nodes, the higher; the longer the job had waited, the "
            f"darker. {lowest}"
        )
        with unchecked():
            return zoomable(Figure("machines", "Nodes", caption), gantt_between(shown, window, sizes, WIDTH_PX))
    caption = (
        f"{_SHADES[asked[SHADE]]} {lowest} {count(shown.height, 'run')} are in the window; "
        f"where there are at most {_MOST_RUNS:,}, each is drawn."
    )
    return grid(Figure("machines", "Nodes", caption), bins, _grids(day, bins, sizes, asked[SHADE]))


def _grids(day: JobDay, bins: Bins, sizes: Mapping[str, int], shade: str) -> list[Grid]:
    """The nodes of clusters, each in as many rows as is its share of all that are shown, and one at least."""
    n_nodes = sum(sizes.values())
    rows = {name: grouped(n, max(1, round(_MOST_ROWS * n / n_nodes))) for name, n in sizes.items()}
    if shade == POWER:
        powers = {name: power_w(day, name, bins, rows[name]) for name in sizes}
        most_w = max(float(each.max()) for each in powers.values())
        unit, size = power_unit(most_w)
        values = {name: each / size for name, each in powers.items()}
        shown, most, colours = f"power of jobs by node ({unit})", most_w / size, theme.warmth(5)
    else:
        values = {name: 100 * busy_share(day, name, bins, rows[name]) for name in sizes}
        shown, most, colours = "time with a job (%)", 100.0, list(_BUSY)
    return [
        Grid(values[name], np.minimum(rows[name].edges, n), named_ranges(rows[name], n), name, shown, most, colours)
        for name, n in sizes.items()
    ]


def _numbers(frame: JobFrame) -> Table:
    """The figures as numbers, a row for several bins."""
    parts = list(thinned(frame.bins.n, _TABLE_ROWS))
    ends = [part.stop for part in parts]

    def means(values: Floats) -> list[float]:
        return [float(values[part].mean()) for part in parts]

    counts: dict[str, Any] = {
        "Jobs that arrived": [sum(float(each[part].sum()) for each in frame.arrived.values()) for part in parts],
        "Completed": [float(frame.completed[part].sum()) for part in parts],
    }
    columns = {
        "Until (h)": (frame.bins.edges[ends] / HOUR_S).tolist(),
        "Utility earned by then": frame.curves.utility[ends].tolist(),
        "Energy used by then (MJ)": (frame.curves.energy_j[ends] / 1e6).tolist(),
        **counts,
        "Mean waiting": means(frame.waiting),
        "Mean nodes busy": means(frame.nodes),
        "Cores busy (%)": means(frame.busy_percent),
    }
    return numbers_table("The figures as numbers", columns, {**dict.fromkeys(counts, 0), "Until (h)": 2})

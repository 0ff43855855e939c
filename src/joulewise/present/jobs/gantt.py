"""Which nodes ran what: a lively window of a schedule as a Gantt chart of its clusters."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.formats import number
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import CLUSTERS, JOBS, PIECES, is_sited, job_view, kept, node_word
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, all_panels, assemble, inline, sentence
from joulewise.present.parts import Part, vconcat
from joulewise.present.records import Records
from joulewise.present.windows import Limits, Window, chosen, inside, lively, time_axis
from joulewise.units import count, duration

COLUMNS = ("job", "cluster", "nodes", "ready_s", "start_s", "end_s", "wait_s", "fate")
_RAN = ("ran", "killed", "cancelled")
_PIECES = ("job", "cluster", "nodes", "start_s", "end_s")
_MOST_PANELS = 4
_LIMITS = Limits(most_runs=1500, most_starts=250)
_WAITS = {
    60.0: "up to 1 min", 600.0: "up to 10 min", 3600.0: "up to 1 h", 21600.0: "up to 6 h", 86400.0: "up to 1 d",
}  # fmt: skip
_LONGER, _UNFINISHED = "longer", "did not complete"
_LOOKS = {
    **dict(zip((*_WAITS.values(), _LONGER), theme.ordered(len(_WAITS) + 1), strict=True)),
    _UNFINISHED: theme.PALETTE[1],
}
_WIDTHS_PX, _HEIGHT_PX, _LEAST_PX = (720, 430), 340, 40  # of one panel, of several
_SEEN_PX = 0.25  # what is lower is left out unless it is all of a job
_EDGE_PX, _EDGED_PX = 0.6, 3.0  # the width of white edges, and what must be as high and long to have them

_TIPS = {"job": "job", "user": "user", "nodes": "nodes", "shown": "wait"}

Range = tuple[int, int]
"""Nodes from the first up to, but without, the last."""
_RANGES = pl.List(pl.List(pl.Int64))


@dataclass(frozen=True)
class _Chart:
    """What all panels share: the window, the nodes of every cluster, and the width."""

    window: Window
    sizes: Mapping[str, int]
    width_px: int

    def height_px(self, cluster: str) -> int:
        """The height of a cluster by its share of all nodes."""
        return max(_LEAST_PX, round(_HEIGHT_PX * self.sizes[cluster] / sum(self.sizes.values())))


_OF_CLUSTERS = "Those of a cluster are alike, so a job is drawn on the lowest that are free when it starts."
_OF_SITES = (
    "All those of the site are drawn as one row of lines, and a job on the lowest that are free when it starts, not on "
    "those of its nodes; the table `places` has these."
)


def has_runs(records: Records) -> bool:
    """Whether the runs of some schedule were kept, and there are any."""
    jobs = records.frame(JOBS)
    return set(COLUMNS) <= set(jobs.columns) and bool(jobs["fate"].cast(pl.String).is_in(_RAN).any())


def gantt(records: Records) -> Drawing:
    """The nodes of every cluster over the same window of time, one panel per scheduler."""
    seen, best = job_view(records)
    runs = _runs(seen)
    keys = [*(key for key in seen.varying if key != SCHEDULER), SCHEDULER]
    shown = chosen(seen, all_panels(seen, runs, keys if seen.varying else []), _MOST_PANELS)
    window = lively([panel.rows for panel in shown], _LIMITS)
    shown = [panel for panel in shown if not inside(panel.rows, window).is_empty()]
    sizes = _sizes(seen, shown)
    n_left, node = runs["run"].n_unique() - len(shown), node_word(seen)
    left = f" {sentence(count(n_left, 'further schedule'))} not shown." if n_left else ""
    caption = (
        f"Which {node}s ran jobs during {duration(window.end_s - window.start_s)} in which many arrived. Every "
        f"rectangle is a job: the more {node}s it has, the higher; the longer it had waited, the darker. "
        f"{_OF_SITES if is_sited(seen) else _OF_CLUSTERS} It may be in several pieces; "
        f"those too thin to be seen are left out. First kept trial.{best}{left}"
    )
    chart = _Chart(window, sizes, _WIDTHS_PX[len(shown) > 1])
    seen_runs = [with_nodes(inside(panel.rows, window)) for panel in shown]
    looks = _looks(pl.concat(seen_runs))
    parts = [_panel(panel.title, runs, chart, looks) for panel, runs in zip(shown, seen_runs, strict=True)]
    return Drawing(assemble(parts, across=2), caption)


def gantt_between(runs: pl.DataFrame, window: Window, sizes: Mapping[str, int], width_px: int) -> Part:
    """The nodes of clusters of these sizes over a window: the stretches `with_nodes` in it, which should be few."""
    shown = inside(runs, window)
    return _panel("", shown, _Chart(window, sizes, width_px), _looks(shown))


def _runs(seen: Records) -> pl.DataFrame:
    """Every stretch of running with the keys of its schedule and how long its job had waited; pieces have no wait."""
    named = ["user"] if "user" in seen.frame(JOBS).columns else []
    return stretches(kept(seen, JOBS, [*COLUMNS, *named]), kept(seen, PIECES, _PIECES))


def stretches(jobs: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """Every stretch of running, of a table of jobs and of one of pieces, which have no wait and may be none."""
    ran = jobs.filter(pl.col("fate").cast(pl.String).is_in(_RAN)).drop("fate")
    parts = [ran, *([] if pieces.is_empty() else [pieces])]
    return pl.concat([part.with_columns(pl.col("cluster").cast(pl.String)) for part in parts], how="diagonal_relaxed")


def with_nodes(runs: pl.DataFrame) -> pl.DataFrame:
    """Stretches with the nodes that each may have had, as `ranges` of its cluster: those of `name_nodes`."""
    parts = [_named(part) for part in runs.partition_by("cluster", maintain_order=True)]
    return pl.concat(parts) if parts else runs.with_columns(ranges=pl.lit([], _RANGES))


def _named(runs: pl.DataFrame) -> pl.DataFrame:
    """Stretches on one cluster with their nodes; ranges are put together in Polars, as there may be very many."""
    named = name_nodes(*(runs[column].to_list() for column in ("start_s", "end_s", "nodes")))
    ends = np.array([end for ranges in named for pair in ranges for end in pair], np.int64).reshape(-1, 2)
    flat = pl.DataFrame({
        "row": np.repeat(np.arange(runs.height), [len(ranges) for ranges in named]), "first": ends[:, 0],
        "last": ends[:, 1],
    })  # fmt: skip
    rows = flat.group_by("row", maintain_order=True).agg(ranges=pl.concat_list("first", "last"))
    return runs.with_columns(rows["ranges"])


def name_nodes(start_s: Sequence[float], end_s: Sequence[float], nodes: Sequence[int]) -> list[list[Range]]:
    """The nodes of each run, as few ranges: those with the lowest numbers that are free when it starts."""
    free: list[Range] = [(0, sys.maxsize)]
    running: list[tuple[float, list[Range]]] = []
    named: list[list[Range]] = [[] for _ in nodes]
    for i in sorted(range(len(nodes)), key=lambda i: start_s[i]):
        while running and running[0][0] <= start_s[i]:
            for part in heapq.heappop(running)[1]:
                heapq.heappush(free, part)
        named[i] = _lowest(free, nodes[i])
        heapq.heappush(running, (end_s[i], named[i]))
    return named


def _lowest(free: list[Range], n: int) -> list[Range]:
    """Takes the lowest n nodes out of a heap of free ranges."""
    taken: list[Range] = []
    while n:
        first, last = heapq.heappop(free)
        cut = min(last, first + n)
        n -= cut - first
        if cut < last:
            heapq.heappush(free, (cut, last))
        if taken and taken[-1][1] == first:
            first = taken.pop()[0]
        taken.append((first, cut))
    return taken


def _sizes(seen: Records, panels: Sequence[Panel]) -> dict[str, int]:
    """The nodes of every cluster; of one that is not known the most that a run has."""
    used = pl.concat([panel.rows.select("cluster", "nodes") for panel in panels])
    sizes = {str(name): int(nodes) for name, nodes in used.group_by("cluster").agg(pl.col("nodes").max()).iter_rows()}
    if not seen.keeps(CLUSTERS):
        return sizes
    clusters = seen.frame(CLUSTERS).select("cluster", "n_nodes").unique("cluster", keep="first", maintain_order=True)
    return {str(name): int(n) for name, n in clusters.iter_rows()}


def _panel(title: str, runs: pl.DataFrame, frame: _Chart, looks: Any) -> Part:
    import altair as alt

    clusters = list(frame.sizes)
    parts = []
    for name in clusters:
        here = runs.filter(pl.col("cluster") == name)
        x, y = time_axis(frame.window, named=name == clusters[-1]), _node_axis(name, frame.sizes[name])
        bars = _bars(here, frame, name).encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), color=looks)
        parts.append(bars.properties(width=frame.width_px, height=frame.height_px(name)))
    return vconcat(*parts, spacing=6, title=title)


def _bars(runs: pl.DataFrame, frame: _Chart, cluster: str) -> Any:
    """The rectangles of the runs on a cluster, with edges unless they are too small."""
    import altair as alt

    node_px = frame.height_px(cluster) / frame.sizes[cluster]
    rows = [
        row
        for run in runs.iter_rows(named=True)
        for row in _rectangles(run, _seen(run["ranges"], node_px), frame.window)
    ] or [dict.fromkeys(("x", "x2", "y", "y2", "wait", *_TIPS))]
    hour_px = 3600 * frame.width_px / (frame.window.end_s - frame.window.start_s)
    has_edge = f"(datum.x2 - datum.x) * {hour_px} > {_EDGED_PX} && (datum.y2 - datum.y) * {node_px} > {_EDGED_PX}"
    return alt.Chart(inline(rows)).mark_rect(stroke="white", clip=True).encode(
        strokeWidth=alt.condition(has_edge, alt.value(_EDGE_PX), alt.value(0)),
        tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS.items()],
    )  # fmt: skip


def _seen(parts: Sequence[Sequence[int]], node_px: float) -> list[Sequence[int]]:
    """Those of the ranges of a job that are high enough to be seen, and always the largest."""
    largest = max(parts, key=lambda part: part[1] - part[0])
    return [part for part in parts if part == largest or (part[1] - part[0]) * node_px >= _SEEN_PX]


def _node_axis(name: str, n_nodes: int) -> Any:
    import altair as alt

    looks = alt.Axis(
        values=[0, n_nodes], format=AXIS_FORMAT, grid=False, titleAngle=0, titleAlign="right", titlePadding=12,
        titleBaseline="middle", domain=True, labelBaseline="middle", labelFontSize=theme.LABEL_PX - 2,
    )  # fmt: skip
    return alt.Y("y:Q", title=name, scale=alt.Scale(domain=[0, n_nodes], nice=False), axis=looks)


def _rectangles(run: dict[str, Any], parts: Sequence[Sequence[int]], window: Window) -> list[dict[str, Any]]:
    x = max(run["start_s"], window.start_s) / 3600
    x2 = min(run["end_s"], window.end_s) / 3600
    tip = {"job": run["job"], "user": run.get("user"), "nodes": run["nodes"], "wait": _wait(run["wait_s"])}
    tip["shown"] = _UNFINISHED if run["wait_s"] is None else f"{number(run['wait_s'])} s"
    return [{"x": x, "x2": x2, "y": first, "y2": last, **tip} for first, last in parts]


def _wait(wait_s: float | None) -> str:
    """The class of a wait; a piece, which has none, did not complete its job."""
    if wait_s is None:
        return _UNFINISHED
    return next((name for most_s, name in _WAITS.items() if wait_s <= most_s), _LONGER)


def _looks(runs: pl.DataFrame) -> Any:
    """The colours of the waits that runs have."""
    import altair as alt

    waits = {_wait(wait_s) for wait_s in runs["wait_s"]}
    looks = {name: colour for name, colour in _LOOKS.items() if name in waits}
    scale = alt.Scale(domain=list(looks), range=list(looks.values()))
    return alt.Color("wait:N", title="Wait", scale=scale, sort=None, legend=alt.Legend(symbolType="square"))

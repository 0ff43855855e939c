"""Which machines ran what: a lively window of a day as a Gantt chart of its machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import number
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, all_panels, assemble, inline, pixels
from joulewise.present.parts import Part, layer
from joulewise.present.records import Records
from joulewise.present.views import first_kept
from joulewise.present.windows import Limits, Window, chosen, inside, lively, time_axis
from joulewise.units import count, duration

_RECORDS, _LOSSES = "records", "losses"
BROKEN = (_LOSSES, "pieces")
"""The detail tables of runs that did not complete their task."""
_RUN = ("task", "task_type", "machine", "machine_type", "start_s", "end_s")
_COLUMNS = (*_RUN, "arrival_s", "utility", "fate")
GLIMPSES = {_RECORDS: _COLUMNS, **dict.fromkeys(BROKEN, _RUN)}
"""The detail tables that are read, with their columns."""
_RAN = ("ran", "killed")
_LIMITS = Limits(most_runs=1500, most_starts=1200)
_MOST_PANELS, _MOST_MACHINES = 4, 120
_WIDTHS_PX, _HEIGHTS_PX, _ROW_PX = (640, 330), (400, 260), 16  # of one panel, of several; of a machine at most
_LEAST_PX = 80
_EDGE_PX, _EDGED_PX = 0.5, 2.5  # the width of white edges, and how high and long at least what has them is
_NAME_PX, _NAME_LIMIT_PX = 11, 120
_NOTHING, _UNFINISHED = "nothing", "did not complete"
_N_CLASSES, _NICE = 4, (1.0, 2.0, 2.5, 5.0, 10.0)
_TIPS = {"task": "task", "type": "task type", "machine": "machine", "on": "machine type", "told": "earned"}


@dataclass(frozen=True)
class _Chart:
    """What all panels share: the window, how many machines there are, of how many one is shown, the size, the colours.

    `edges` are where classes of what tasks earned end.
    """

    window: Window
    n_machines: int
    stride: int
    width_px: int
    height_px: int
    edges: Sequence[float]

    @property
    def machine_px(self) -> float:
        return self.height_px / self.n_machines

    def earned(self, utility: float | None) -> str:
        """The class of what a run earned."""
        if utility is None:
            return _UNFINISHED
        return next((name for name, most in zip(self.classes, self.edges, strict=True) if utility <= most), _NOTHING)

    @property
    def classes(self) -> list[str]:
        """The names of the classes, the lowest first, which holds what earned nothing."""
        return [_NOTHING, *(f"up to {number(most)}" for most in self.edges[1:])]


def has_runs(records: Records) -> bool:
    """Whether the records of some day were kept, and a task ran."""
    return not _runs(records).is_empty()


def task_gantt(records: Records) -> Drawing:
    """The machines over a window of time, one panel for each of a few points."""
    panels = all_panels(records, _runs(records), list(records.varying))
    shown = chosen(records, panels, _MOST_PANELS)
    runs = pl.concat([panel.rows for panel in shown])
    n_machines = 1 + max(runs["machine"].unique().to_list())
    stride = math.ceil(n_machines / _MOST_MACHINES)
    rows = [panel.rows.filter(pl.col("machine") % stride == 0) for panel in shown]
    window = lively([part for part in rows if part.height] or [runs], _LIMITS)
    several = len(shown) > 1
    height_px = min(_HEIGHTS_PX[several], _ROW_PX * n_machines)
    chart = _Chart(window, n_machines, stride, _WIDTHS_PX[several], height_px, _seen_edges(rows, window))
    colour = _colour(chart, rows)
    parts = [_panel(Panel(panel.title, part), chart, colour) for panel, part in zip(shown, rows, strict=True)]
    return Drawing(assemble(parts, across=2), _caption(chart, n_left=records.runs["run"].n_unique() - len(shown)))


def gantt_between(runs: pl.DataFrame, window: Window, n_machines: int, width_px: int) -> Part:
    """All machines of one day over a window: the `stretches` of running in it, of which there should be few."""
    rows, height_px = [runs], min(_HEIGHTS_PX[0], max(_ROW_PX * n_machines, _LEAST_PX))
    chart = _Chart(window, n_machines, 1, width_px, height_px, _seen_edges(rows, window))
    return _panel(Panel("", runs), chart, _colour(chart, rows))


def _seen_edges(rows: Sequence[pl.DataFrame], window: Window) -> list[float]:
    return _edges(inside(pl.concat(rows), window)["utility"])


def _caption(chart: _Chart, n_left: int) -> str:
    length = duration(chart.window.end_s - chart.window.start_s)
    every = f" One of {chart.stride} machines is shown." if chart.stride > 1 else ""
    left = f" {count(n_left, 'further run')} not shown." if n_left else ""
    return (
        f"Which machines ran tasks during {length} in which many arrived that earned something. Every rectangle is a "
        "run of a task; the more utility it earned, the darker. What completed outside the counted time earned "
        "nothing. Tasks that were dropped have no rectangle. Machines are numbered by their type, named beside them "
        f"where there is room.{every}{left}"
    )


def _runs(records: Records) -> pl.DataFrame:
    """Every stretch of running of tasks with the keys of its point; those that did not complete have no utility.

    A window is chosen by those that earned something, as nothing that completes before the counted time does.
    """
    tasks = first_kept(records, _RECORDS, _COLUMNS)
    if tasks.is_empty():
        return tasks
    return stretches(tasks, {name: first_kept(records, name, _RUN) for name in BROKEN})


def stretches(tasks: pl.DataFrame, broken: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Every stretch of running, of records of tasks and of tables of runs that did not complete theirs, by name.

    Those that did not complete have no utility; `is_lost` tells those that an outage ended.
    """
    utility, has_run = pl.col("utility"), pl.col("fate").cast(pl.String) == "ran"
    ran = tasks.filter(pl.col("fate").cast(pl.String).is_in(_RAN)).with_columns(
        pl.when(has_run).then(utility), ready_s=pl.when((utility > 0) | (utility.max() <= 0)).then("arrival_s")
    )
    parts = {"": ran.drop("fate", "arrival_s"), **{name: part for name, part in broken.items() if not part.is_empty()}}
    texts = pl.col("task_type", "machine_type").cast(pl.String)
    told = [part.with_columns(texts, is_lost=pl.lit(name == _LOSSES)) for name, part in parts.items()]
    return pl.concat(told, how="diagonal_relaxed")


def _edges(utility: pl.Series) -> list[float]:
    """The ends of even classes of what was earned, in round numbers; the first holds nothing."""
    most = float(utility.max() or 0.0)  # type: ignore[arg-type]
    if most <= 0:
        return [0.0]
    size = 10.0 ** math.floor(math.log10(most / _N_CLASSES))
    step = next(size * nice for nice in _NICE if size * nice * _N_CLASSES >= most * (1 - 1e-9))
    n = math.ceil(most / step * (1 - 1e-9))
    return [0.0, *(step * (i + 1) for i in range(n))]


def _colour(chart: _Chart, rows: Sequence[pl.DataFrame]) -> Any:
    import altair as alt

    present = {chart.earned(utility) for utility in inside(pl.concat(rows), chart.window)["utility"]}
    names = [_NOTHING, *chart.classes[1:], _UNFINISHED]
    looks = dict(zip(names, [theme.NOTHING, *theme.ordered(len(names) - 2), theme.PALETTE[1]], strict=True))
    looks = {name: colour for name, colour in looks.items() if name in present or name in chart.classes[1:]}
    scale = alt.Scale(domain=list(looks), range=list(looks.values()))
    return alt.Color("earned:N", title="Utility earned", scale=scale, sort=None, legend=alt.Legend(symbolType="square"))


def _panel(panel: Panel, chart: _Chart, colour: Any) -> Part:
    import altair as alt

    rows = [_bar(run, chart) for run in inside(panel.rows, chart.window).iter_rows(named=True)]
    x, y = time_axis(chart.window, named=True), _machine_axis(chart)
    hour_px = 3600 * chart.width_px / (chart.window.end_s - chart.window.start_s)
    is_high = chart.stride * chart.machine_px > _EDGED_PX
    has_edge = f"{str(is_high).lower()} && (datum.x2 - datum.x) * {hour_px} > {_EDGED_PX}"
    bars = alt.Chart(inline(rows or [dict.fromkeys(("x", "x2", "y", "y2", "earned", *_TIPS))])).mark_rect(
        stroke="white", clip=True
    )
    drawn = bars.encode(
        x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), color=colour,
        strokeWidth=alt.condition(has_edge, alt.value(_EDGE_PX), alt.value(0)),
        tooltip=[alt.Tooltip(f"{name}:N", title=title) for name, title in _TIPS.items()],
    )  # fmt: skip
    title = {"title": panel.title} if panel.title else {}
    size = {"width": chart.width_px, "height": chart.height_px}
    return layer(drawn, *_types(panel.rows, chart), **size, **title)


def _bar(run: dict[str, Any], chart: _Chart) -> dict[str, Any]:
    utility = run["utility"]
    return {
        "x": max(run["start_s"], chart.window.start_s) / 3600,
        "x2": min(run["end_s"], chart.window.end_s) / 3600,
        "y": run["machine"],
        "y2": min(run["machine"] + chart.stride, chart.n_machines),
        "earned": chart.earned(utility),
        "task": run["task"],
        "type": run["task_type"],
        "machine": run["machine"],
        "on": run["machine_type"],
        "told": _UNFINISHED if utility is None else number(utility),
    }


def _machine_axis(chart: _Chart) -> Any:
    import altair as alt

    looks = alt.Axis(format=AXIS_FORMAT, grid=False, domain=True, ticks=True, tickCount=5)
    scale = alt.Scale(domain=[0, chart.n_machines], reverse=True, nice=False, zero=False)
    return alt.Y("y:Q", title="machine", scale=scale, axis=looks)


def _types(rows: pl.DataFrame, chart: _Chart) -> Iterator[Any]:
    """Lines between machines of different types, and their names where there is room."""
    import altair as alt

    ranges = rows.group_by("machine_type").agg(pl.col("machine").min()).sort("machine").rows()
    starts = [(name, 0 if not i else first) for i, (name, first) in enumerate(ranges)]
    ends = [first for _, first in starts[1:]] + [chart.n_machines]
    named = [
        {"y": (first + end) / 2, "name": name}
        for (name, first), end in zip(starts, ends, strict=True)
        if (end - first) * chart.machine_px >= _NAME_PX
    ]
    if len(starts) > 1:
        lines = alt.Chart(inline([{"y": first} for _, first in starts[1:]]))
        yield lines.mark_rule(color=theme.MUTED, strokeWidth=0.5, opacity=0.6).encode(y="y:Q")
    if named:
        names = alt.Chart(inline(named))
        looks = names.mark_text(
            align="left", baseline="middle", fontSize=_NAME_PX - 1, color=theme.MUTED, limit=_NAME_LIMIT_PX
        )
        yield looks.encode(y="y:Q", x=pixels(chart.width_px + 6), text="name:N")

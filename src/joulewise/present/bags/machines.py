"""Machine by machine, what chosen points of a front do: when each machine finishes and what energy it uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import energy_unit, time_unit
from joulewise.present.fronts import best_run, front_panels
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline
from joulewise.present.lines import LineAxis
from joulewise.present.parts import hconcat, vconcat
from joulewise.present.plane import BOUND, FOUND, FRONTS, Plane, curve_of, plane_of
from joulewise.present.records import METHOD, Records

MACHINES = "machines"
BUSY, ENERGY = "busy_s", "energy_j"
_CHOSEN = "chosen"
_BAR_COLOURS = {BUSY: theme.PALETTE[0], ENERGY: theme.PALETTE[5]}
_MOST_METHODS = 2
_TYPE_GAP = 0.8  # in bars, between machine types
_ENDS = {"a": "least energy", "e": "least makespan"}


@dataclass(frozen=True)
class _ChosenPoints:
    """The chosen points of one front: every machine at each of them, and the axis that all its panels share."""

    rows: pl.DataFrame
    front: pl.DataFrame
    bound: pl.DataFrame
    title: str
    method: str

    @property
    def names(self) -> list[str]:
        return list(self.front[_CHOSEN].drop_nulls().unique().sort())

    def axis(self, metric: str) -> tuple[LineAxis, float]:
        """The axis from zero to the most of any machine at any of the points, and the size of its unit."""
        most = float(self.rows[metric].max() or 0.0)  # type: ignore[arg-type]
        unit, size = time_unit(most) if metric == BUSY else energy_unit(most)
        title = f"finishing time ({unit})" if metric == BUSY else f"energy ({unit})"
        return LineAxis(title, 0.0, 1.03 * most / size or 1.0), size


def has_machines(records: Records) -> bool:
    """Whether the machines of chosen points of some front were kept."""
    if not records.keeps(FRONTS, _CHOSEN) or not records.keeps(MACHINES):
        return False
    chosen = records.frame(FRONTS).filter(pl.col(_CHOSEN).is_not_null())["run"].unique().to_list()
    return bool(records.frame(MACHINES)["run"].is_in(chosen).any())


def finishing_times(records: Records) -> Drawing:
    """When each machine finishes at five points of the front, latest first."""
    return _sorted(records, BUSY, "When each machine finishes", "latest first")


def machine_energies(records: Records) -> Drawing:
    """What energy each machine uses at five points of the front, most first."""
    return _sorted(records, ENERGY, "What energy each machine uses", "most first")


def _sorted(records: Records, metric: str, says: str, order: str) -> Drawing:
    scenes, note = _scenes(records)
    scene = scenes[0]
    parts = [_front_part(scene, 250, 170), *(_sorted_part(scene, name, metric) for name in scene.names)]
    of = f", {scene.title}" if scene.title else ""
    first = f" Of {len(scenes)} settings the first is shown." if len(scenes) > 1 else ""
    caption = (
        f"{says} at the lettered points of the front that {scene.method} found{_chosen(records)}{of}: a is "
        "the least energy, e the least makespan, the others lie evenly between. Machines are sorted in each panel, "
        f"{order}; all panels have the same scale. First trial.{first}{note}"
    )
    return Drawing(assemble(parts, across=3), caption)


def _chosen(records: Records) -> str:
    """Why this method is shown, where there are several."""
    return ", the best of the methods" if records.varies(METHOD) else ""


def _scenes(records: Records) -> tuple[list[_ChosenPoints], str]:
    """One scene for each setting; of several methods the best is shown."""
    panels, note = front_panels(records, FOUND)
    return [_scene(records, panel) for panel in panels], note


def _scene(records: Records, panel: Panel) -> _ChosenPoints:
    run = best_run(records, panel.rows)
    front = curve_of(records, run, FOUND)
    chosen = front.filter(pl.col(_CHOSEN).is_not_null()).select("point", _CHOSEN)
    machines = records.frame(MACHINES).filter(pl.col("run") == run["run"][0]).join(chosen, on="point")
    method = records.label(METHOD, run[METHOD][0])
    return _ChosenPoints(machines, front, curve_of(records, run, BOUND), panel.title, method)


def _front_part(scene: _ChosenPoints, width_px: int, height_px: int) -> Any:
    """The small front on which the chosen points bear their letters."""
    import altair as alt

    plane = plane_of([scene.bound, scene.front], width_px, height_px)
    chosen = scene.front.filter(pl.col(_CHOSEN).is_not_null())
    dots = _points(plane, scene.front).mark_point(filled=True, size=8, color=theme.MUTED, opacity=0.7)
    marked = _points(plane, chosen, _CHOSEN)
    square = marked.mark_point(filled=True, shape="square", size=46, color=theme.PALETTE[1], opacity=1)
    letter = marked.mark_text(dx=8, dy=-8, fontWeight=600, fontSize=theme.LABEL_PX, color=theme.INK)
    line = plane.line(scene.bound, strokeWidth=1.4)
    return plane.sized([line, dots, square, letter.encode(text=alt.Text(f"{_CHOSEN}:N"))], f"front of {scene.method}")


def _points(plane: Plane, curve: pl.DataFrame, *kept: str) -> Any:
    import altair as alt

    return alt.Chart(inline(plane.rows(curve, *kept))).encode(x=plane.x(), y=plane.y())


def _sorted_part(scene: _ChosenPoints, name: str, metric: str) -> Any:
    import altair as alt

    axis, size = scene.axis(metric)
    here = scene.rows.filter(pl.col(_CHOSEN) == name).sort(metric, descending=True)
    rows = [
        {"x": i + 1, "y": row[metric] / size, "machine": row["machine"], "type": row["machine_type"], "n": row["tasks"]}
        for i, row in enumerate(here.iter_rows(named=True))
    ]
    x = alt.X(
        "x:O",
        title="machines, sorted",
        axis=alt.Axis(values=_few(len(rows)), labelAngle=0, ticks=False),
        scale=alt.Scale(paddingInner=0.15, paddingOuter=0.1),
    )
    bars = alt.Chart(inline(rows)).mark_bar(color=_BAR_COLOURS[metric])
    drawn = bars.encode(x=x, y=_height(axis), tooltip=_tooltip(axis))
    return drawn.properties(width=250, height=170, title=_point_title(name))


def _height(axis: LineAxis, *, is_named: bool = True) -> Any:
    import altair as alt

    looks = alt.Axis(format=AXIS_FORMAT, tickCount=4)
    scale = alt.Scale(domain=[axis.low, axis.high], nice=True)
    return alt.Y("y:Q", title=axis.title if is_named else None, scale=scale, axis=looks)


def _few(n: int) -> list[int]:
    """Some of the numbers from 1 to n, for the labels of an axis."""
    step = next(step for step in (1, 5, 10, 25, 50, 100, 250, 500, n) if n / step <= 6)
    return sorted({1, *range(step, n + 1, step)})


def _point_title(name: str) -> str:
    return f"{name}: {_ENDS[name]}" if name in _ENDS else name


def _tooltip(axis: LineAxis) -> list[Any]:
    import altair as alt

    return [
        alt.Tooltip("machine:O", title="machine"),
        alt.Tooltip("type:N", title="machine type"),
        alt.Tooltip("n:Q", title="tasks"),
        alt.Tooltip("y:Q", title=axis.title, format=",.4~g"),
    ]


# --- by machine type ------------------------------------------------------------------------------------


def machines_by_type(records: Records) -> Drawing:
    """The front, and at five points of it the finishing time and the energy of each machine, by machine type.

    Two methods are shown below each other; of more, the best.
    """
    panels, note = front_panels(records, FOUND)
    shows_each = len(records.values(METHOD)) <= _MOST_METHODS
    fronts = [front for panel in panels for front in _by_method(panel)] if shows_each else panels
    parts = [_type_block(scene) for scene in (_scene(records, front) for front in fronts) if scene.names]
    caption = (
        f"The front found by the method named above it{'' if shows_each else _chosen(records)}, and for each of its "
        "lettered points the finishing time (top) and the energy (bottom) of every machine, grouped by machine type; a "
        f"is the least energy, e the least makespan. Panels of one row have the same scale. First trial.{note}"
    )
    return Drawing(assemble(parts), caption)


def _by_method(panel: Panel) -> list[Panel]:
    return [Panel(panel.title, run) for run in panel.rows.partition_by(METHOD, maintain_order=True)]


def _type_block(scene: _ChosenPoints) -> Any:
    """One row: the front at the left, then a column for each chosen point."""

    columns = [_front_part(scene, 190, 190)]
    for i, name in enumerate(scene.names):
        pair = [_type_part(scene, name, metric, first=i == 0) for metric in (BUSY, ENERGY)]
        columns.append(vconcat(*pair, spacing=8))
    return hconcat(*columns, spacing=12, title=scene.title)


def _type_part(scene: _ChosenPoints, name: str, metric: str, *, first: bool) -> Any:
    import altair as alt

    axis, size = scene.axis(metric)
    here = scene.rows.filter(pl.col(_CHOSEN) == name).sort("machine")
    types = here["machine_type"].unique(maintain_order=True).to_list()
    place = {kind: i for i, kind in enumerate(types)}
    rows = [
        {
            "x": i + _TYPE_GAP * place[row["machine_type"]],
            "x2": i + _TYPE_GAP * place[row["machine_type"]] + 0.85,
            "y": row[metric] / size,
            "zero": 0.0,
            "machine": row["machine"],
            "type": row["machine_type"],
            "n": row["tasks"],
        }
        for i, row in enumerate(here.iter_rows(named=True))
    ]
    frame = inline(rows)
    bars = alt.Chart(frame).mark_bar(color=_BAR_COLOURS[metric])
    drawn = bars.encode(
        x=_type_axis(frame, has_names=metric == ENERGY),
        x2=alt.X2("x2:Q"),
        y=_height(axis, is_named=first),
        y2=alt.Y2("zero:Q"),
        tooltip=_tooltip(axis),
    )
    chart = drawn.properties(width=150, height=110)
    return chart.properties(title=_point_title(name)) if metric == BUSY else chart


def _type_axis(frame: pl.DataFrame, *, has_names: bool) -> Any:
    """Machine types under the middle of their bars, upright; none under the upper of two panels."""
    import altair as alt

    middles = frame.group_by("type", maintain_order=True).agg(x=(pl.col("x").min() + pl.col("x2").max()) / 2)
    last = float(frame["x2"].max())  # type: ignore[arg-type]
    scale = alt.Scale(domain=[-0.6, last + 0.6], nice=False, zero=False)
    if not has_names:
        return alt.X("x:Q", title=None, scale=scale, axis=alt.Axis(values=[], grid=False))
    tests = "".join(f"abs(datum.value - {x!r}) < 1e-9 ? {name!r} : " for name, x in middles.iter_rows())
    labels = alt.Axis(
        values=middles["x"].to_list(), labelExpr=f"{tests}''", labelAngle=-90, labelBaseline="middle",
        labelFontSize=10, labelLimit=150, labelOverlap=False, labelFlush=False, grid=False, ticks=False,
    )  # fmt: skip
    return alt.X("x:Q", title=None, scale=scale, axis=labels)

"""Fuzzy fronts: what assignments earn and use when times and powers turn out otherwise than expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.assignments.aims import with_aims
from joulewise.present.assignments.keys import AIM
from joulewise.present.fronts import first_trials
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline, panels_of
from joulewise.present.plane import FOUND, FRONTS, Plane, curve_of, legend_of, planes_of, scale_said, strays_said
from joulewise.present.records import Records
from joulewise.present.views import beside

CLOUDS = "clouds"
_SPREAD = "sd_utility"
_MOST_DOTS = 1000  # in one cloud: more make a page heavy and no clearer
_MOST_CLOUDS, _MOST_ELLIPSES = 50, 40
_WIDE = 3.0  # energies that span a larger factor are drawn on logarithmic axes
_OUTLINE = np.linspace(0.0, 2 * np.pi, 49)
_MARKER, _DOTS, _ELLIPSE = "value of the objective", "fresh samples", "an assignment: mean ± standard deviation"


def has_clouds(records: Records) -> bool:
    """Whether samples of some front were kept."""
    return records.keeps(FRONTS) and records.keeps(CLOUDS)


def has_spread(records: Records) -> bool:
    """Whether means and variances of points of some front were kept."""
    return records.keeps(FRONTS, _SPREAD)


def several_aims(records: Records) -> bool:
    """Whether clouds of several objectives at one setting were kept."""
    if not has_clouds(records):
        return False
    panels, _ = _panels(with_aims(records), records.frame(CLOUDS), by_aim=False)
    return any(panel.rows[AIM].n_unique() > 1 for panel in panels)


def _panels(records: Records, table: pl.DataFrame, *, by_aim: bool) -> tuple[list[Panel], str]:
    """The runs in a table, one panel for each setting, and for each objective if wanted."""
    runs = first_trials(records).filter(pl.col("run").is_in(table["run"].unique().to_list()))
    keys = beside(records, [AIM])
    return panels_of(records, runs, (*keys, AIM) if by_aim and records.varies(AIM) else keys)


# --- clouds ---------------------------------------------------------------------------------------------


def fuzzy_front(records: Records) -> Drawing:
    """Every sample of the assignments of a front, and where the objective sees them."""
    seen = with_aims(records)
    panels, note = _panels(seen, seen.frame(CLOUDS), by_aim=True)
    caption = (
        "Each square is an assignment where its objective sees it; the dots are what the same assignment earns and "
        "uses on fresh samples of all times and powers, which the search has not seen."
    )
    return _clouds_drawn(seen, panels, {_DOTS: theme.PALETTE[4]}, caption, note)


def fuzzy_fronts_compared(records: Records) -> Drawing:
    """The clouds of several objectives in one plane."""
    seen = with_aims(records)
    panels, note = _panels(seen, seen.frame(CLOUDS), by_aim=False)
    aims = [str(aim) for aim in seen.values(AIM)]
    colours = {aim: theme.line_style(i)[0] for i, aim in enumerate(aims)}
    caption = (
        "The small dots are what the assignments found for each objective earn and use on fresh samples of all times "
        "and powers, the same samples for all. Squares are assignments where their objectives see them."
    )
    return _clouds_drawn(seen, panels, colours, caption, note)


def _clouds_drawn(
    records: Records, panels: Sequence[Panel], colours: Mapping[str, str], caption: str, note: str
) -> Drawing:
    """The clouds of all panels, and the caption with what there is to say of all of them."""
    parts = [_clouds_of(records, panel) for panel in panels]
    curves = [[curve for pair in clouds.values() for curve in pair] for clouds in parts]
    planes = planes_of(curves, *((560, 380) if len(panels) == 1 else (320, 260)))
    charts = [
        _cloud_part(panel, clouds, plane, colours) for panel, clouds, plane in zip(panels, parts, planes, strict=True)
    ]
    strays = strays_said(curve for panel in curves for curve in panel)
    said = f"{caption}{_thinning(records)}{scale_said(planes)}{strays} First trial.{note}"
    return Drawing(assemble(charts, across=2), said)


def _thinning(records: Records) -> str:
    """What a caption says where not every sample is drawn."""
    most = records.frame(CLOUDS).group_by("run").len()["len"].max()
    return "" if most <= _MOST_DOTS else " Where there are very many points or samples, every few of them are drawn."  # type: ignore[operator]


def _clouds_of(records: Records, panel: Panel) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """The samples and the points of each run of a panel."""
    return {run: (_dots(records, run), _sampled(records, run, _MOST_CLOUDS)) for run in panel.rows["run"]}


def _cloud_part(
    panel: Panel,
    clouds: Mapping[str, tuple[pl.DataFrame, pl.DataFrame]],
    plane: Plane,
    colours: Mapping[str, str],
) -> Any:
    import altair as alt

    names = {row["run"]: row[AIM] if row[AIM] in colours else next(iter(colours)) for row in panel.rows.to_dicts()}
    dots = [
        {**row, "name": names[run]} for run, (cloud, _) in clouds.items() for row in _short(plane, plane.inside(cloud))
    ]
    squares = [
        {**row, "name": names[run], "kind": _MARKER}
        for run, (_, points) in clouds.items()
        for row in plane.rows(plane.inside(points))
    ]
    colour = legend_of(colours, None, symbolType="circle", symbolOpacity=1, symbolStrokeWidth=0)
    looks: dict[str, Any] = {"size": 9, "opacity": 0.75} if len(colours) > 1 else {"size": 7, "opacity": 0.35}
    base = alt.Chart(inline(_mixed(dots))).mark_point(filled=True, clip=True, aria=False, **looks)
    cloud = base.encode(x=plane.x(), y=plane.y(), color=colour)
    return plane.sized([cloud, *_squares(plane, squares, colours)], panel.title)


def _mixed(dots: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The dots in another order, always the same one, so that no cloud lies above all others."""
    order = np.random.default_rng(0).permutation(len(dots))
    return [dots[i] for i in order]


def _sampled(records: Records, run: str, most: int) -> pl.DataFrame:
    """At most this many points of the front of a run, evenly along it, that were evaluated on fresh samples."""
    front = curve_of(records, records.runs.filter(pl.col("run") == run), FOUND)
    sampled = front.filter(pl.col(_SPREAD).is_not_null())
    return sampled.filter(pl.int_range(pl.len()) % max(1, -(-sampled.height // most)) == 0)


def _dots(records: Records, run: str) -> pl.DataFrame:
    """The samples of a run, fewer of each point where there are very many."""
    points = _sampled(records, run, _MOST_CLOUDS)["point"].to_list()
    cloud = records.frame(CLOUDS).filter(pl.col("run") == run, pl.col("point").is_in(points))
    return cloud.filter(pl.col("sample") % max(1, -(-cloud.height // _MOST_DOTS)) == 0)


def _short(plane: Plane, cloud: pl.DataFrame) -> list[dict[str, float]]:
    """Points of a cloud in the units of the plane, with digits enough for a picture."""
    x = (cloud["energy_j"] / plane.energy_size).round_sig_figs(5)
    y = (cloud[plane.upright] / plane.y_size).round_sig_figs(5)
    return [{"x": a, "y": b} for a, b in zip(x, y, strict=True)]


def _squares(plane: Plane, rows: Sequence[Mapping[str, Any]], colours: Mapping[str, str]) -> list[Any]:
    """Markers with a dark outline; of one objective dark themselves."""
    import altair as alt

    legend = alt.Legend(title=None, symbolFillColor=theme.INK, symbolOpacity=1, symbolStrokeWidth=0)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=[_MARKER], range=["square"]), legend=legend)
    looks: dict[str, Any] = {"filled": True, "size": 26, "opacity": 1, "stroke": theme.INK, "strokeWidth": 0.7}
    base = alt.Chart(inline(rows)).mark_point(**looks).encode(x=plane.x(), y=plane.y(), shape=shape)
    return [base.encode(color=legend_of(colours) if len(colours) > 1 else alt.ColorValue(theme.INK))]


# --- ellipses -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _EllipseAxes:
    """Both axes of the ellipses, one length for one unit on either, or for one doubling where they are logarithmic."""

    x_domain: tuple[float, float]
    y_domain: tuple[float, float]
    px_per_unit: float
    is_log: bool

    def size(self, domain: tuple[float, float]) -> float:
        low, high = _along(domain, is_log=self.is_log)
        return (high - low) * self.px_per_unit


def _along(domain: tuple[float, float], *, is_log: bool) -> tuple[float, float]:
    """Both ends of an axis as lengths along it."""
    return (math.log2(domain[0]), math.log2(domain[1])) if is_log else domain


def spread_of_points(records: Records) -> Drawing:
    """Each assignment as an ellipse of one standard deviation, coloured by how many tasks do not run."""
    seen = with_aims(records)
    sampled = seen.frame(FRONTS).filter(pl.col(_SPREAD).is_not_null())
    panels, note = _panels(seen, sampled, by_aim=True)
    shown = [_sampled(seen, panel.rows["run"][0], _MOST_ELLIPSES) for panel in panels]
    most = max(float(points["tasks_dropped"].max() or 0.0) for points in shown)  # type: ignore[arg-type]
    is_log = any(_factor(points) > _WIDE for points in shown)
    settings = [[panel.rows[key][0] for key in beside(seen, [AIM])] for panel in panels]
    around = [outlines(points, yardsticks(_alike(settings, shown, i))) for i, points in enumerate(shown)]
    rows = [_drawable(outline, is_log=is_log) for outline in around]
    size_px = (640, 460) if len(panels) == 1 else (340, 300)
    frames = [_frame(pl.concat(_alike(settings, rows, i)), *size_px, is_log=is_log) for i in range(len(rows))]
    parts = [
        _ellipse_part(panel.title, outline, most, frame)
        for panel, outline, frame in zip(panels, rows, frames, strict=True)
    ]
    unit = "doubling (the axes are logarithmic)" if is_log else "unit"
    more = "varies more, in parts of itself," if is_log else "varies more"
    caption = (
        "Each ellipse is an assignment: its centre the mean, its outline one standard deviation over fresh samples of "
        "all times and powers, tilted where energy and utility vary together. Energy is in multiples of the least, "
        f"utility in parts of the most of these means{_over_objectives(seen)}; one "
        f"{unit} is equally long on both axes, so that an upright ellipse means that utility {more} than energy. "
        f"First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


_T = TypeVar("_T")


def _alike(settings: Sequence[object], things: Sequence[_T], i: int) -> list[_T]:
    """Those of the things that are of the same setting as the i-th."""
    return [thing for setting, thing in zip(settings, things, strict=True) if setting == settings[i]]


def _over_objectives(records: Records) -> str:
    return ", of all objectives at a setting, whose panels have the same scale" if records.varies(AIM) else ""


def yardsticks(fronts: Sequence[pl.DataFrame]) -> tuple[float, float]:
    """The least mean energy and the greatest mean utility of points."""
    points = pl.concat([front.select("mean_energy_j", "mean_utility") for front in fronts])
    return _least_j(points), float(points["mean_utility"].max() or 0.0) or 1.0  # type: ignore[arg-type]


def _drawable(rows: Sequence[Mapping[str, Any]], *, is_log: bool) -> pl.DataFrame:
    """The points of outlines, on logarithmic axes those that have a place there."""
    frame = inline([{**row, "kind": _ELLIPSE} for row in rows])
    return frame.filter((pl.col("x") > 0) & (pl.col("y") > 0)) if is_log else frame


def _least_j(points: pl.DataFrame) -> float:
    """The least mean energy of points where anything runs; 1 where nothing ever does."""
    return float(points.filter(pl.col("mean_energy_j") > 0)["mean_energy_j"].min() or 1.0)  # type: ignore[arg-type]


def _factor(points: pl.DataFrame) -> float:
    """The factor between the most and the least mean energy."""
    return float(points["mean_energy_j"].max()) / _least_j(points)  # type: ignore[arg-type]


def outlines(ellipses: pl.DataFrame, yardsticks: tuple[float, float]) -> list[dict[str, float]]:
    """Points around the ellipse of each row, energies over the first yardstick, utilities over the second."""
    least_j, most = yardsticks
    rows = []
    for row in ellipses.iter_rows(named=True):
        tilt = row["correlation"] or 0.0
        turn = tilt * np.cos(_OUTLINE) + np.sqrt(max(0.0, 1 - tilt**2)) * np.sin(_OUTLINE)
        x = (row["mean_energy_j"] + row["sd_energy_j"] * np.cos(_OUTLINE)) / least_j
        y = (row["mean_utility"] + row["sd_utility"] * turn) / most
        about = {"point": row["point"], "dropped": row["tasks_dropped"]}
        rows += [{**about, "order": i, "x": float(a), "y": float(b)} for i, (a, b) in enumerate(zip(x, y, strict=True))]
    return rows


def _ellipse_part(title: str, rows: pl.DataFrame, most_dropped: float, frame: _EllipseAxes) -> Any:
    import altair as alt

    ramp = alt.Scale(domain=[0.0, most_dropped or 1.0], range=theme.ordered_lines(5))
    legend = alt.Legend(
        title="Tasks that do not run", gradientLength=160, gradientThickness=10, format=AXIS_FORMAT, tickCount=4
    )
    said = alt.Legend(
        title=None, symbolType="circle", symbolFillColor="transparent", symbolStrokeColor=theme.INK, labelLimit=400
    )
    kind = alt.StrokeDash("kind:N", scale=alt.Scale(domain=[_ELLIPSE], range=[[1, 0]]), legend=said)
    line = alt.Chart(rows).mark_line(strokeWidth=1.2, opacity=0.9, clip=True)
    chart = line.encode(
        x=_normalised(alt.X, "x:Q", "energy (1 = the least)", frame.x_domain, is_log=frame.is_log),
        y=_normalised(alt.Y, "y:Q", "utility (1 = the most)", frame.y_domain, is_log=frame.is_log),
        detail=alt.Detail("point:N"), order=alt.Order("order:Q"),
        color=alt.Color("dropped:Q", scale=ramp, legend=legend), strokeDash=kind,
    )  # fmt: skip
    return chart.properties(width=frame.size(frame.x_domain), height=frame.size(frame.y_domain), title=title)


def _normalised(channel: Any, field: str, title: str, domain: tuple[float, float], *, is_log: bool) -> Any:
    import altair as alt

    kind: dict[str, Any] = {"type": "log", "base": 2} if is_log else {"zero": False}
    scale = alt.Scale(domain=list(domain), nice=False, **kind)
    return channel(field, title=title, scale=scale, axis=alt.Axis(format=AXIS_FORMAT, tickCount=5, grid=True))


def _frame(rows: pl.DataFrame, most_width_px: int, most_height_px: int, *, is_log: bool) -> _EllipseAxes:
    """Axes around the outlines, each at least a third as long as the picture may be high."""
    ends = [(float(rows[name].min()), float(rows[name].max())) for name in ("x", "y")]  # type: ignore[arg-type]
    along = [_along(domain, is_log=is_log) for domain in ends]
    spans = [1.06 * (high - low) or 0.1 for low, high in along]
    scale = min(most_width_px / spans[0], most_height_px / spans[1])
    least = most_height_px / 3 / scale
    x, y = (
        _around((low + high) / 2, max(span, least), is_log=is_log)
        for (low, high), span in zip(along, spans, strict=True)
    )
    return _EllipseAxes(x, y, scale, is_log)


def _around(middle: float, length: float, *, is_log: bool) -> tuple[float, float]:
    """The axis of this much length around a place along it."""
    low, high = middle - length / 2, middle + length / 2
    return (2.0**low, 2.0**high) if is_log else (low, high)

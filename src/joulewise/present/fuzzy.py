"""Fuzzy fronts: what assignments earn and use when times and powers turn out otherwise than expected."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from joulewise.present import theme
from joulewise.present.aims import with_aims
from joulewise.present.fronts import first_trials
from joulewise.present.layout import AXIS_FORMAT, Drawing, Panel, assemble, inline, panels_of
from joulewise.present.plane import FOUND, Plane, curve_of, legend_of, plane_of
from joulewise.present.records import AIM, Records
from joulewise.present.settings import beside

_SPREAD = "sd_utility"
_MOST_DOTS = 1000  # in one cloud: more make a page heavy and no clearer
_MOST_CLOUDS, _MOST_ELLIPSES = 50, 40
_WIDE = 3.0  # energies that span a larger factor are drawn on logarithmic axes
_OUTLINE = np.linspace(0.0, 2 * np.pi, 49)
_MARKER = "value of the objective"


def has_clouds(records: Records) -> bool:
    """Whether samples of some front were kept."""
    return records.fronts is not None and records.clouds is not None and not records.clouds.is_empty()


def has_spread(records: Records) -> bool:
    """Whether means and variances of points of some front were kept."""
    fronts = records.fronts
    return fronts is not None and _SPREAD in fronts.columns and fronts[_SPREAD].count() > 0


def several_aims(records: Records) -> bool:
    """Whether clouds of several objectives at one setting were kept."""
    if not has_clouds(records):
        return False
    panels, _ = _panels(with_aims(records), records.clouds, by_aim=False)
    return any(panel.rows[AIM].n_unique() > 1 for panel in panels)


def _panels(records: Records, table: pl.DataFrame | None, *, by_aim: bool) -> tuple[list[Panel], str]:
    """The runs in a table, one panel for each setting, and for each objective if wanted."""
    assert table is not None
    runs = first_trials(records).filter(pl.col("run").is_in(table["run"].unique().to_list()))
    keys = beside(records, [AIM])
    return panels_of(records, runs, (*keys, AIM) if by_aim and records.varies(AIM) else keys)


# --- clouds ---------------------------------------------------------------------------------------------


def fuzzy_front(records: Records) -> Drawing:
    """Every sample of the assignments of a front, and where the objective sees them."""
    seen = with_aims(records)
    panels, note = _panels(seen, seen.clouds, by_aim=True)
    parts = [_cloud_part(seen, panel, {"samples": theme.PALETTE[4]}, alone=len(panels) == 1) for panel in panels]
    caption = (
        "Each square is an assignment where its objective sees it; the dots are what the same assignment earns and "
        f"uses on fresh samples of all times and powers.{_thinning(seen)} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def fuzzy_fronts_compared(records: Records) -> Drawing:
    """The clouds of several objectives in one plane."""
    seen = with_aims(records)
    panels, note = _panels(seen, seen.clouds, by_aim=False)
    aims = [str(aim) for aim in seen.values(AIM)]
    colours = {aim: theme.LINE_PALETTE[i % len(theme.LINE_PALETTE)] for i, aim in enumerate(aims)}
    parts = [_cloud_part(seen, panel, colours, alone=len(panels) == 1) for panel in panels]
    caption = (
        "What the assignments found for each objective earn and use on fresh samples of all times and powers, the same "
        f"samples for all. Squares are assignments where their objectives see them.{_thinning(seen)} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _thinning(records: Records) -> str:
    """What a caption says where not every sample is drawn."""
    assert records.clouds is not None
    most = records.clouds.group_by("run").len()["len"].max()
    return "" if most <= _MOST_DOTS else " Where there are very many points or samples, every few of them are drawn."  # type: ignore[operator]


def _cloud_part(records: Records, panel: Panel, colours: Mapping[str, str], *, alone: bool) -> Any:
    import altair as alt

    clouds = {row["run"]: _dots(records, row["run"]) for row in panel.rows.iter_rows(named=True)}
    markers = {run: _sampled(records, run, _MOST_CLOUDS) for run in clouds}
    names = {row["run"]: row[AIM] if row[AIM] in colours else next(iter(colours)) for row in panel.rows.to_dicts()}
    plane = plane_of([*clouds.values(), *markers.values()], *((560, 380) if alone else (320, 260)))
    dots = [{**row, "name": names[run]} for run, cloud in clouds.items() for row in _short(plane, cloud)]
    squares = [
        {**row, "name": names[run], "kind": _MARKER} for run, found in markers.items() for row in plane.rows(found)
    ]
    colour = legend_of(colours, None, symbolType="circle", symbolOpacity=1)
    base = alt.Chart(inline(dots)).mark_point(filled=True, size=7, opacity=0.35, clip=True, aria=False)
    cloud = base.encode(x=plane.x(), y=plane.y(), color=colour)
    return plane.sized([cloud, *_squares(plane, squares, colours)], panel.title)


def _sampled(records: Records, run: str, most: int) -> pl.DataFrame:
    """At most so many points of the front of a run, evenly along it, that were evaluated on fresh samples."""
    assert records.fronts is not None
    front = curve_of(records, records.runs.filter(pl.col("run") == run), FOUND)
    known = front.filter(pl.col(_SPREAD).is_not_null())
    return known.filter(pl.int_range(pl.len()) % max(1, -(-known.height // most)) == 0)


def _dots(records: Records, run: str) -> pl.DataFrame:
    """The samples of a run, fewer of each point where there are very many."""
    assert records.clouds is not None
    points = _sampled(records, run, _MOST_CLOUDS)["point"].to_list()
    cloud = records.clouds.filter(pl.col("run") == run, pl.col("point").is_in(points))
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
    return [base.encode(color=legend_of(colours) if len(colours) > 1 else alt.value(theme.INK))]


# --- ellipses -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Frame:
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
    assert seen.fronts is not None
    known = seen.fronts.filter(pl.col(_SPREAD).is_not_null())
    panels, note = _panels(seen, known, by_aim=True)
    shown = [_sampled(seen, panel.rows["run"][0], _MOST_ELLIPSES) for panel in panels]
    most = max(float(found["tasks_dropped"].max() or 0.0) for found in shown)  # type: ignore[arg-type]
    is_log = any(_factor(found) > _WIDE for found in shown)
    parts = [
        _ellipse_part(panel.title, found, most, is_log=is_log, alone=len(panels) == 1)
        for panel, found in zip(panels, shown, strict=True)
    ]
    unit = "doubling (the axes are logarithmic)" if is_log else "unit"
    more = "varies more, in parts of itself," if is_log else "varies more"
    caption = (
        "Each ellipse is an assignment: its centre the mean, its outline one standard deviation over fresh samples of "
        "all times and powers. Energy is in multiples of the least, utility in parts of the most of these means; one "
        f"{unit} is equally long on both axes, so that an upright ellipse means that utility {more} than energy. "
        f"First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)


def _least_j(found: pl.DataFrame) -> float:
    """The least mean energy of points where anything runs; 1 where nothing ever does."""
    return float(found.filter(pl.col("mean_energy_j") > 0)["mean_energy_j"].min() or 1.0)  # type: ignore[arg-type]


def _factor(found: pl.DataFrame) -> float:
    """The factor between the most and the least mean energy."""
    return float(found["mean_energy_j"].max()) / _least_j(found)  # type: ignore[arg-type]


def outlines(ellipses: pl.DataFrame) -> list[dict[str, float]]:
    """Points around the ellipse of each row, energies over the least mean, utilities over the greatest."""
    least_j, most = _least_j(ellipses), float(ellipses["mean_utility"].max())  # type: ignore[arg-type]
    rows = []
    for row in ellipses.iter_rows(named=True):
        tilt = row["correlation"] or 0.0
        turn = tilt * np.cos(_OUTLINE) + np.sqrt(max(0.0, 1 - tilt**2)) * np.sin(_OUTLINE)
        x = (row["mean_energy_j"] + row["sd_energy_j"] * np.cos(_OUTLINE)) / least_j
        y = (row["mean_utility"] + row["sd_utility"] * turn) / (most or 1.0)
        about = {"point": row["point"], "dropped": row["tasks_dropped"]}
        rows += [{**about, "order": i, "x": float(a), "y": float(b)} for i, (a, b) in enumerate(zip(x, y, strict=True))]
    return rows


def _ellipse_part(title: str, found: pl.DataFrame, most_dropped: float, *, is_log: bool, alone: bool) -> Any:
    import altair as alt

    rows = inline(outlines(found))
    if is_log:
        rows = rows.filter((pl.col("x") > 0) & (pl.col("y") > 0))
    frame = _frame(rows, *((640, 460) if alone else (340, 300)), is_log=is_log)
    ramp = alt.Scale(domain=[0.0, most_dropped or 1.0], range=theme.ordered_lines(5))
    legend = alt.Legend(
        title="Tasks that do not run", gradientLength=160, gradientThickness=10, format=AXIS_FORMAT, tickCount=4
    )
    line = alt.Chart(rows).mark_line(strokeWidth=1.2, opacity=0.9, clip=True)
    chart = line.encode(
        x=_normalised(alt.X, "x:Q", "mean energy (1 = the least)", frame.x_domain, is_log=is_log),
        y=_normalised(alt.Y, "y:Q", "mean utility (1 = the most)", frame.y_domain, is_log=is_log),
        detail="point:N", order="order:Q", color=alt.Color("dropped:Q", scale=ramp, legend=legend),
    )  # fmt: skip
    return chart.properties(width=frame.size(frame.x_domain), height=frame.size(frame.y_domain), title=title)


def _normalised(channel: Any, field: str, title: str, domain: tuple[float, float], *, is_log: bool) -> Any:
    import altair as alt

    kind: dict[str, Any] = {"type": "log", "base": 2} if is_log else {"zero": False}
    scale = alt.Scale(domain=list(domain), nice=False, **kind)
    return channel(field, title=title, scale=scale, axis=alt.Axis(format=AXIS_FORMAT, tickCount=5, grid=True))


def _frame(rows: pl.DataFrame, most_width_px: int, most_height_px: int, *, is_log: bool) -> _Frame:
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
    return _Frame(x, y, scale, is_log)


def _around(middle: float, length: float, *, is_log: bool) -> tuple[float, float]:
    """The axis of so much length around a place along it."""
    low, high = middle - length / 2, middle + length / 2
    return (2.0**low, 2.0**high) if is_log else (low, high)

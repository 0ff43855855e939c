"""Rooms as maps draw them: which plans, where nodes stand, and the rectangles that stand for nodes or racks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from joulewise.present.facility.view import (
    CRACS,
    NODES,
    first_kept,
    ranked_runs,
    settings_beside,
    spread_out,
    technique_key,
)
from joulewise.present.layout import all_panels
from joulewise.present.records import Records
from joulewise.units import AT_LIMIT_K

COLUMNS = ("name", "type", "power_w", "inlet_c", "redline_c")
MOST_STANDING = 60
"""Up to this many racks are drawn standing, with every node; more of them from above."""

PLACES = ("x_m", "y_m", "height_m")
_MOST_ROOMS = 4
_DEPTH = 2.0  # of a rack, in widths
_NAME_LEVELS = 3  # the height of a name between rows
_PER_RACK, _PER_ROW = 20, 10  # where places are not known
_PITCH_M = {"x_m": 0.6, "y_m": 2.4, "height_m": 0.1}
"""How far apart neighbours are where there is but one place, or none is known."""


@dataclass(frozen=True)
class RoomView:
    """The nodes, with places, and the CRAC units of one plan; `is_standing`: racks are drawn standing, row by row.

    Where it is not known where nodes stand, `is_placed` is not set, and their places mean nothing.
    """

    title: str
    nodes: pl.DataFrame
    cracs: pl.DataFrame
    is_standing: bool
    is_placed: bool


@dataclass(frozen=True)
class Cells:
    """The rectangles of a map: x, x2, y, y2 in metres, value, and what tips tell; and how many there are each way.

    `names` says where the names of the rows of racks stand: x, y and name.
    """

    rows: pl.DataFrame
    n_across: int
    n_up: int
    names: tuple[tuple[float, float, str], ...] = ()


def has_nodes(records: Records) -> bool:
    """Whether the nodes of some plan were kept."""
    return records.n_runs > 0 and records.keeps(NODES, *COLUMNS)


def rooms_of(records: Records) -> tuple[list[RoomView], str]:
    """The best plan at each setting, of few of them; and what to say of that."""
    key = technique_key(records)
    settings = settings_beside(records, key)
    panels = all_panels(records, first_kept(records, records.frame(NODES)), settings)
    few = spread_out(panels, _MOST_ROOMS)
    best = [ranked_runs(records, panel.rows)[0] for panel in few]
    names = [records.phrases(run, [*settings, *([key] if records.varies(key) else [])]) for run in best]
    rooms = [_room(records, run["run"], name) for run, name in zip(best, names, strict=True)]
    of_best = " The plan that earned most is shown." if records.varies(key) else ""
    left = f" {len(few)} of {len(panels)} settings are shown." if len(few) < len(panels) else ""
    has_places = is_placed(records.frame(NODES))
    unknown = "" if has_places else " It is not known where nodes stand, so they are drawn in their order."
    return rooms, f"{unknown}{of_best}{left} First kept trial."


def is_placed(nodes: pl.DataFrame) -> bool:
    """Whether the places of all nodes are known."""
    return set(PLACES) <= set(nodes.columns) and not any(nodes[name].null_count() for name in PLACES)


def _room(records: Records, run: object, title: str) -> RoomView:
    nodes = records.frame(NODES).filter(run=run)
    has_places = is_placed(nodes)
    placed = nodes if has_places else _in_order(nodes)
    cracs = records.frame(CRACS).filter(run=run) if records.keeps(CRACS) else pl.DataFrame()
    n_racks, n_levels = placed.n_unique(["x_m", "y_m"]), placed["height_m"].n_unique()
    return RoomView(title, placed, cracs, n_racks <= MOST_STANDING and n_levels > 1, has_places)


def _in_order(nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes in racks one after the other, as they are numbered."""
    rack, level = np.divmod(np.arange(nodes.height), _PER_RACK)
    row, column = np.divmod(rack, _PER_ROW)
    steps = zip(PLACES, (column, row, level), strict=True)
    return nodes.with_columns(pl.Series(name, at * _PITCH_M[name], dtype=pl.Float64) for name, at in steps)


def cells_of(room: RoomView, column: str, of_rack: Callable[[pl.Expr], pl.Expr], most_across: int) -> Cells:
    """What the map of a room draws of a column: every node row by row, or from above one value of each rack.

    Rows of racks that stand are put beside each other while there are not more racks than `most_across` in a line.
    """
    return _standing(room, column, most_across) if room.is_standing else _from_above(room.nodes, column, of_rack)


def _standing(room: RoomView, column: str, most_across: int) -> Cells:
    pitch, level = _pitch(room.nodes, "x_m", "y_m"), _pitch(room.nodes, "height_m", "x_m", "y_m")
    left, n_racks = float(room.nodes["x_m"].min()), _steps(room.nodes["x_m"], pitch)  # type: ignore[arg-type]
    top, n_levels = float(room.nodes["height_m"].max()), _steps(room.nodes["height_m"], level)  # type: ignore[arg-type]
    rows = room.nodes["y_m"].unique().sort().to_list()
    across = max(1, (most_across + 1) // (n_racks + 1))
    n_lines = -(-len(rows) // across)
    right_m, up_m = (n_racks + 1) * pitch, (n_levels + _NAME_LEVELS) * level
    places = {y_m: (i % across * right_m, (n_lines - 1 - i // across) * up_m) for i, y_m in enumerate(rows)}
    moved = room.nodes.with_columns(
        pl.col("x_m") - left + pl.col("y_m").replace_strict({y_m: x for y_m, (x, _) in places.items()}),
        pl.col("height_m") + pl.col("y_m").replace_strict({y_m: up for y_m, (_, up) in places.items()}),
    )
    near = pl.col("redline_c") - pl.col("inlet_c") <= AT_LIMIT_K
    cells = moved.select(
        "name", "type", "inlet_c", "power_w", "redline_c", *_sides("x_m", "x", pitch),
        *_sides("height_m", "y", level), value=pl.col(column), n=pl.lit(1), near=near,
    )  # fmt: skip
    is_named = len(rows) > 1 and room.is_placed
    names = [(x - pitch / 2, up + top + level / 2, f"row {i + 1}") for i, (x, up) in enumerate(places.values())]
    n_across, n_up = min(across, len(rows)) * (n_racks + 1) - 1, n_lines * (n_levels + _NAME_LEVELS) - _NAME_LEVELS
    return Cells(cells, n_across, n_up, tuple(names) if is_named else ())


def _from_above(nodes: pl.DataFrame, column: str, of_rack: Callable[[pl.Expr], pl.Expr]) -> Cells:
    pitches = _pitch(nodes, "x_m", "y_m"), _pitch(nodes, "y_m", "x_m")
    near = (pl.col("redline_c") - pl.col("inlet_c") <= AT_LIMIT_K).any()
    racks = nodes.group_by("x_m", "y_m", maintain_order=True).agg(
        pl.col("name").first(), pl.col("type").unique(maintain_order=True).cast(pl.String).str.join(", "),
        pl.col("inlet_c").max(), pl.col("power_w").sum(), pl.col("redline_c").min(),
        value=of_rack(pl.col(column)), n=pl.len(), near=near,
    )  # fmt: skip
    depth = min(pitches[1], _DEPTH * pitches[0])
    rows = racks.select(pl.exclude("x_m", "y_m"), *_sides("x_m", "x", pitches[0]), *_sides("y_m", "y", depth))
    return Cells(rows, _steps(racks["x_m"], pitches[0]), _steps(racks["y_m"], pitches[1]))


def _sides(column: str, name: str, pitch: float) -> tuple[pl.Expr, pl.Expr]:
    return (pl.col(column) - pitch / 2).alias(name), (pl.col(column) + pitch / 2).alias(f"{name}2")


def _pitch(nodes: pl.DataFrame, column: str, *within: str) -> float:
    """The least distance between neighbours that agree in the other columns."""
    places = nodes.select(column, *within).unique().sort(column)
    gaps = places.select(gap=pl.col(column).diff().over(within))["gap"]
    least = gaps.filter(gaps > 1e-6).min()
    return float(least) if least is not None else _PITCH_M[column]  # type: ignore[arg-type]


def _steps(places: pl.Series, pitch: float) -> int:
    """How many places there are from the first to the last."""
    return round((float(places.max()) - float(places.min())) / pitch) + 1  # type: ignore[arg-type]

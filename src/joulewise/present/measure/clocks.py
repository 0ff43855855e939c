"""Cache misses, time and energy of every program against the clock, alone and in company (figures 8.1 to 8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.present import theme
from joulewise.present.formats import energy_unit, time_unit
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.measure.view import (
    frequencies_mhz,
    in_one_way,
    meter_phrase,
    pm,
    programs_of,
    size_colours,
    size_name,
    whiskers_phrase,
)
from joulewise.present.parts import layer

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis

_WIDTH_PX, _HEIGHT_PX, _STEP_PX = 200, 140, 64
_ACROSS = 3
_PER_INSTRUCTION = 1e-3  # misses are shown per thousand instructions
_MOST_PROGRAMS = 8
_LEGEND, _LEGEND_COLUMNS = "Programs", 5


@dataclass(frozen=True)
class _Measured:
    """A column of panels: its values and half widths, its name, the title of its axis, and what captions call it."""

    value: str
    half: str
    name: str
    title: str
    said: str


_QUANTITIES = (
    _Measured("intensity", "intensity_ci", "misses", "misses / 1,000 instr.",
              "last-level cache misses per 1,000 instructions"),
    _Measured("wall_s", "wall_ci_s", "time", "time ({unit})", "time"),
    _Measured("energy_j", "energy_ci_j", "energy", "energy ({unit})", "energy until its end"),
)  # fmt: skip


@dataclass(frozen=True)
class _SharedLook:
    """What all panels share: colours of sizes, how lines of sizes and companies look, and clocks in their order."""

    colours: Mapping[str, str]
    lines: theme.Looks
    clocks: Sequence[str]


@dataclass(frozen=True)
class _Shown:
    """What was measured: the rows, which quantities they have, and whether at several clocks and in company."""

    rows: pl.DataFrame
    quantities: Sequence[_Measured]
    has_clocks: bool
    has_company: bool


def over_clocks(analysis: Analysis) -> Drawing:
    """A row of panels for each program: misses per instruction, time and energy, as far as they were read."""
    shown, programs = _shown(analysis), programs_of(analysis)
    look, quantities = _look(shown.rows), shown.quantities
    draw = _over_frequency if shown.has_clocks else _by_company
    parts = [
        draw(shown.rows.filter(program=program), quantity, program if quantity is quantities[0] else "", look)
        for program in programs[:_MOST_PROGRAMS]
        for quantity in quantities
    ]
    across = len(quantities) if len(quantities) > 1 else _ACROSS
    return Drawing(assemble(parts, across), _caption(shown, programs, meter_phrase(analysis)))


def clocks_title(analysis: Analysis) -> str:
    """What the figure shows, in its title: "Time of programs, alone and together"."""
    shown = _shown(analysis)
    company = ", alone and together" if shown.has_company else " alone"
    clocks = ", at each clock" if shown.has_clocks else ""
    return f"{sentence(_listed([each.name for each in shown.quantities]))} of programs{company}{clocks}"


def has_times(analysis: Analysis) -> bool:
    """Whether any program was measured alone."""
    return not analysis.alone.is_empty()


def _shown(analysis: Analysis) -> _Shown:
    rows = _rows(analysis)
    quantities = [each for each in _QUANTITIES if rows[each.value].is_not_null().any()]
    return _Shown(rows, quantities, len(frequencies_mhz(rows)) > 1, bool((rows["size"] > 1).any()))


def _rows(analysis: Analysis) -> pl.DataFrame:
    """Baselines and members of groups in one table, with the group of each."""
    names = [name for each in _QUANTITIES for name in (each.value, each.half)]
    keys = ["program", "group", "size", "clock", "clock_mhz", *names]
    alone = analysis.alone.with_columns(group=pl.col("program"), size=pl.lit(1, pl.Int64))
    members = in_one_way(analysis.members)
    return pl.concat([alone.select(keys), members.filter(pl.col("size") > 1).select(keys)])


def _look(rows: pl.DataFrame) -> _SharedLook:
    sizes = rows["size"].unique().sort().to_list()
    companies = rows.group_by("program", "size").agg(pl.col("group").n_unique())
    choosing = set(companies.filter(pl.col("group") > 1)["size"])
    colours = size_colours(sizes)
    solid, dashed = [1, 0], [4, 3]
    lines = {
        name: (colours[size_name(n)], dash)
        for n in sizes
        for name, dash in ((size_name(n), solid), *(((_least(n), dashed),) if n in choosing else ()))
    }
    return _SharedLook(colours, lines, rows["clock"].unique().sort().to_list())


def _caption(shown: _Shown, programs: Sequence[str], meter: str) -> str:
    listed = _listed([f"{each.said}{meter if each.value == 'energy_j' else ''}" for each in shown.quantities])
    row = "row" if len(shown.quantities) > 1 else "panel"
    against = " against the clock" if shown.has_clocks else ""
    company = _company_phrase(shown) if shown.has_company else ", alone."
    whiskers = whiskers_phrase(shown.rows, {each.value: each.half for each in shown.quantities})
    more = (
        f" The first {_MOST_PROGRAMS} of {len(programs)} programs are shown." if len(programs) > _MOST_PROGRAMS else ""
    )
    return f"Each {row} is a program: its {listed}{against}{company}{whiskers}{more}"


def _company_phrase(shown: _Shown) -> str:
    drawn = (
        "Of each size, the company that slows it most is drawn and, dashed, the one that slows it least."
        if shown.has_clocks
        else "Every point of a size is a company, which is told where one points at it."
    )
    return f", alone and with others. {drawn}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


# --- over frequencies -----------------------------------------------------------------------------------


def _over_frequency(rows: pl.DataFrame, quantity: _Measured, title: str, look: _SharedLook) -> Any:
    """Lines of a program over the frequency: alone, and of each size in the worst and in the best company."""
    unit, size = _unit(rows, quantity)
    lines = _lines(rows.drop_nulls([quantity.value, "clock_mhz"]), quantity, size)
    ghz = [mhz / 1000 for mhz in frequencies_mhz(rows)]
    room = 0.06 * (ghz[0] - ghz[-1])
    top = max([point.high or point.y for points in lines.values() for point in points], default=1.0)
    plot = Plot(
        lines,
        look.lines,
        LineAxis("clock (GHz)", ghz[-1] - room, ghz[0] + room),
        LineAxis(quantity.title.format(unit=unit), 0.0, 1.06 * top),
        title,
        _WIDTH_PX,
        legend=_LEGEND,
        least_height_px=_HEIGHT_PX,
        legend_columns=_LEGEND_COLUMNS,
    )
    return draw_lines(plot)


def _lines(rows: pl.DataFrame, quantity: _Measured, size: float) -> dict[str, list[LinePoint]]:
    """For each size the points in the company that slows most and, by another name, in the one that slows least."""
    shown = {}
    for (n,), part in rows.sort("size").partition_by("size", as_dict=True, maintain_order=True).items():
        order = part.group_by("group").agg(pl.col("wall_s").mean()).sort("wall_s", "group")["group"].to_list()
        for name, company in zip((size_name(n), _least(n)), dict.fromkeys((order[-1], order[0]))):
            own = part.filter(pl.col("group") == company).sort("clock_mhz")
            shown[name] = [
                LinePoint(row["clock_mhz"] / 1000, *_ends(row, quantity, size)) for row in own.iter_rows(named=True)
            ]
    return shown


def _least(n: int) -> str:
    return f"{size_name(n)}, least slowed"


def _ends(row: Mapping[str, Any], quantity: _Measured, size: float) -> tuple[float, float | None, float | None]:
    value, half = row[quantity.value] / size, row[quantity.half]
    return (value, None, None) if half is None else (value, value - half / size, value + half / size)


def _unit(rows: pl.DataFrame, quantity: _Measured) -> tuple[str, float]:
    """The unit that suits the values of a panel, with its size."""
    most = float(rows[quantity.value].max() or 1.0)  # type: ignore[arg-type]
    units = {"wall_s": time_unit, "energy_j": energy_unit}
    return units[quantity.value](most) if quantity.value in units else ("", _PER_INSTRUCTION)


# --- where clocks have no frequencies -------------------------------------------------------------------


def _by_company(rows: pl.DataFrame, quantity: _Measured, title: str, look: _SharedLook) -> Any:
    """Points of a program, one for each company: by the clock, or by the number of programs where there is one."""
    import altair as alt

    unit, size = _unit(rows, quantity)
    across = "clock" if len(look.clocks) > 1 else "size"
    kept = rows.drop_nulls(quantity.value).sort("size", "wall_s").with_columns(offset=_place(across))
    data = [_point_row(row, quantity, size, across) for row in kept.iter_rows(named=True)]
    places = list(look.clocks) if across == "clock" else list(look.colours)
    named = quantity.title.format(unit=unit)
    top = max([row["high"] or row["y"] for row in data], default=1.0)
    scale = alt.Scale(domain=list(look.colours), range=list(look.colours.values()))
    blank = dict.fromkeys(("x", "y", "low", "high", "size", "company", "shown", "offset"))
    base = alt.Chart(inline(data or [blank])).encode(
        x=alt.X("x:N", sort=None, title=None, scale=alt.Scale(domain=places),
                axis=alt.Axis(labelAngle=0, ticks=False, labelExpr="split(datum.label, ' ')")),
        xOffset=alt.XOffset("offset:Q", scale=alt.Scale(domain=[-0.5, 0.5])),
        color=alt.Color("size:N", title=_LEGEND, sort=None, scale=scale,
                        legend=alt.Legend(symbolType="circle") if across == "clock" else None),
        tooltip=[alt.Tooltip("company:N", title="together"), alt.Tooltip("shown:N", title=named)],
    )  # fmt: skip
    y = alt.Y("y:Q", title=named, scale=alt.Scale(domain=[0, 1.06 * top], nice=False),
              axis=alt.Axis(format=AXIS_FORMAT, tickCount=4))  # fmt: skip
    layers = [
        base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q")),
        base.mark_point(filled=True, size=34, opacity=1).encode(y=y),
    ]
    width_px = max(_WIDTH_PX, _STEP_PX * len(places))
    return layer(*layers, width=width_px, height=_HEIGHT_PX, title=title)


def _place(across: str) -> pl.Expr:
    """Where in its part of the axis a point stands, from -0.5 to 0.5."""
    return (pl.int_range(pl.len()) + 1).over(across) / (pl.len().over(across) + 1) - 0.5


def _point_row(row: Mapping[str, Any], quantity: _Measured, size: float, across: str) -> dict[str, Any]:
    y, low, high = _ends(row, quantity, size)
    low = None if low is None else max(low, 0.0)  # the axis ends there
    named = size_name(row["size"])
    x = row["clock"] if across == "clock" else named
    return {"x": x, "y": y, "low": low, "high": high, "size": named, "offset": row["offset"], "company": row["group"],
            "shown": pm(row[quantity.value], row[quantity.half], size)}  # fmt: skip

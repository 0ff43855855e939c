"""Cache misses, time and energy of every program against the clock, alone and in company (figures 8.1 to 8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.present.formats import energy_unit, number, time_unit
from joulewise.present.layout import AXIS_FORMAT, Drawing, assemble, inline
from joulewise.present.lines import Axis, Plot, Point, draw_lines
from joulewise.present.measure_view import (
    frequencies_mhz,
    in_one_way,
    meter_phrase,
    programs_of,
    size_colours,
    size_name,
)

if TYPE_CHECKING:
    from joulewise.measure.analysis import Analysis

_WIDTH_PX, _HEIGHT_PX, _STEP_PX = 200, 140, 64
_ACROSS = 3
_PER_INSTRUCTION = 1e-3  # misses are shown per thousand instructions
_MOST_PROGRAMS = 8
_LEGEND = "Programs"


@dataclass(frozen=True)
class _Quantity:
    """A column of panels: the values and half widths it shows, and what they are called, with {unit}."""

    value: str
    half: str
    title: str


_QUANTITIES = (
    _Quantity("intensity", "intensity_ci", "misses / 1,000 instr."),
    _Quantity("wall_s", "wall_ci_s", "time ({unit})"),
    _Quantity("energy_j", "energy_ci_j", "energy ({unit})"),
)


def over_clocks(analysis: Analysis) -> Drawing:
    """A row of panels for each program: misses per instruction, time and energy, as far as they were read."""
    rows = _rows(analysis)
    quantities = [each for each in _QUANTITIES if rows[each.value].is_not_null().any()]
    programs = programs_of(analysis)
    shown = programs[:_MOST_PROGRAMS]
    sizes = rows["size"].unique().sort().to_list()
    has_clocks = len(frequencies_mhz(rows)) > 1
    draw = _over_frequency if has_clocks else _by_company
    parts = [
        draw(rows.filter(pl.col("program") == program), quantity, program if quantity is quantities[0] else "", sizes)
        for program in shown
        for quantity in quantities
    ]
    across = len(quantities) if len(quantities) > 1 else _ACROSS
    return Drawing(assemble(parts, across), _caption(rows, quantities, has_clocks, programs, meter_phrase(analysis)))


def has_times(analysis: Analysis) -> bool:
    """Whether any program was measured alone."""
    return not analysis.alone.is_empty()


def _rows(analysis: Analysis) -> pl.DataFrame:
    """Baselines and members of groups in one table, with the group of each."""
    names = [name for each in _QUANTITIES for name in (each.value, each.half)]
    keys = ["program", "group", "size", "clock", "clock_mhz", *names]
    alone = analysis.alone.with_columns(group=pl.col("program"), size=pl.lit(1, pl.Int64))
    members = in_one_way(analysis.members)
    return pl.concat([alone.select(keys), members.filter(pl.col("size") > 1).select(keys)])


def _caption(
    rows: pl.DataFrame, quantities: Sequence[_Quantity], has_clocks: bool, programs: Sequence[str], meter: str
) -> str:
    said = {
        "intensity": "last-level cache misses",
        "wall_s": "time",
        "energy_j": f"energy until its end{meter}",
    }
    named = [said[each.value] for each in quantities]
    listed = named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"
    against = " against the clock" if has_clocks else ""
    company = (
        " Of each size, the company that slows it most and the one that slows it least are drawn."
        if has_clocks
        else " Every point of a size is a company."
    )
    several = company if rows["size"].max() != 1 else ""
    more = (
        f" Shown are the first {_MOST_PROGRAMS} of {len(programs)} programs." if len(programs) > _MOST_PROGRAMS else ""
    )
    return (
        f"Each row is a program: its {listed}{against}, alone and with others.{several} Whiskers are 95 % intervals."
        f"{more}"
    )


# --- over frequencies -----------------------------------------------------------------------------------


def _over_frequency(rows: pl.DataFrame, quantity: _Quantity, title: str, sizes: Sequence[int]) -> Any:
    """Lines of a program over the frequency: alone, and of each size the slowest and the fastest company."""
    unit, size = _unit(rows, quantity)
    kept = rows.drop_nulls([quantity.value, "clock_mhz"])
    lines = {size_name(n): _points(kept.filter(pl.col("size") == n), quantity, size) for n in sizes}
    looks = {name: (colour, [1, 0]) for name, colour in size_colours(sizes).items()}
    ghz = [mhz / 1000 for mhz in frequencies_mhz(rows)]
    room = 0.06 * (ghz[0] - ghz[-1])
    top = max([point.high or point.y for points in lines.values() for point in points], default=1.0)
    plot = Plot(
        {name: points for name, points in lines.items() if points},
        looks,
        Axis("clock (GHz)", ghz[-1] - room, ghz[0] + room),
        Axis(quantity.title.format(unit=unit), 0.0, 1.06 * top),
        title,
        _WIDTH_PX,
        legend=_LEGEND,
        least_height_px=_HEIGHT_PX,
    )
    return draw_lines(plot)


def _points(rows: pl.DataFrame, quantity: _Quantity, size: float) -> list[Point]:
    order = rows.group_by("group").agg(pl.col("wall_s").mean()).sort("wall_s", "group")["group"].to_list()
    companies = list(dict.fromkeys((*order[:1], *order[-1:])))
    return [
        Point(row["clock_mhz"] / 1000, *_ends(row, quantity, size), piece=piece)
        for piece, company in enumerate(companies)
        for row in rows.filter(pl.col("group") == company).sort("clock_mhz").iter_rows(named=True)
    ]


def _ends(row: Mapping[str, Any], quantity: _Quantity, size: float) -> tuple[float, float | None, float | None]:
    value, half = row[quantity.value] / size, row[quantity.half]
    return (value, None, None) if half is None else (value, value - half / size, value + half / size)


def _unit(rows: pl.DataFrame, quantity: _Quantity) -> tuple[str, float]:
    """The unit that suits the values of a panel, with its size."""
    most = float(rows[quantity.value].max() or 1.0)  # type: ignore[arg-type]
    units = {"wall_s": time_unit, "energy_j": energy_unit}
    return units[quantity.value](most) if quantity.value in units else ("", _PER_INSTRUCTION)


# --- at one clock ---------------------------------------------------------------------------------------


def _by_company(rows: pl.DataFrame, quantity: _Quantity, title: str, sizes: Sequence[int]) -> Any:
    """Points of a program by the number of programs, one for each company and clock."""
    import altair as alt

    unit, size = _unit(rows, quantity)
    place = (pl.int_range(pl.len()) + 1).over("size") / (pl.len().over("size") + 1) - 0.5
    kept = rows.drop_nulls(quantity.value).sort("size", "wall_s").with_columns(offset=place)
    data = [_point_row(row, quantity, size) for row in kept.iter_rows(named=True)]
    colours, named = size_colours(sizes), quantity.title.format(unit=unit)
    top = max([row["high"] or row["y"] for row in data], default=1.0)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    base = alt.Chart(inline(data or [dict.fromkeys(("x", "y", "low", "high", "company", "told", "offset"))])).encode(
        x=alt.X("x:N", sort=None, title=None, scale=alt.Scale(domain=list(colours)),
                axis=alt.Axis(labelAngle=0, ticks=False, labelExpr="split(datum.label, ' ')")),
        xOffset=alt.XOffset("offset:Q", scale=alt.Scale(domain=[-0.5, 0.5])),
        color=alt.Color("x:N", scale=scale, legend=None),
        tooltip=[alt.Tooltip("company:N", title="together"), alt.Tooltip("told:N", title=named)],
    )  # fmt: skip
    y = alt.Y("y:Q", title=named, scale=alt.Scale(domain=[0, 1.06 * top], nice=False),
              axis=alt.Axis(format=AXIS_FORMAT, tickCount=4))  # fmt: skip
    layers = [
        base.mark_rule(strokeWidth=1.2).encode(y="low:Q", y2="high:Q"),
        base.mark_point(filled=True, size=34, opacity=1).encode(y=y),
    ]
    width_px = max(_WIDTH_PX, _STEP_PX * len(sizes))
    return alt.layer(*layers).properties(width=width_px, height=_HEIGHT_PX, title=title)


def _point_row(row: Mapping[str, Any], quantity: _Quantity, size: float) -> dict[str, Any]:
    y, low, high = _ends(row, quantity, size)
    company = (
        row["group"] if row["clock_mhz"] is not None or row["clock"] == "as is" else f"{row['group']}, {row['clock']}"
    )
    ends = {"x": size_name(row["size"]), "y": y, "low": low, "high": high, "offset": row["offset"]}
    return {**ends, "company": company, "told": number(y)}

"""A front, point by point: energy against makespan or utility, with its bound, two points compared, and their work.

What a point's machines do differs by system: a `FrontSide` says where that comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError
from joulewise.serve import drawing
from joulewise.serve.answer import Answer, Block, Cell, File, Link, Links, Plot, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Wish
from joulewise.serve.board import Board
from joulewise.serve.telling import figure_told
from joulewise.serve.whatif import evenly
from joulewise.units import duration, energy

if TYPE_CHECKING:
    import polars as pl

    from joulewise.serve.subject import Subject

RUN, AT, AGAINST = "run", "at", "against"
TASKS_FILE = "tasks.csv"
_FRONTS, _FOUND, _BOUND = "fronts", "front", "bound"
_NONE = ""
_MOST_POINTS = 400
_TURNS = 48
"""Corners of a drawn ellipse."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Clock:
    """A time that is known of each machine: its column, and what stands over it in figures and tables."""

    column: str = "busy_s"
    title: str = "How long each machine computes"
    heading: str = "Computing for"


@dataclass(frozen=True)
class FrontSide:
    """What fronts of a system have upright, how that is told, which table has a point's work, and its machines.

    `machines` gives, for a run and some of its points, `point`, `machine`, `machine_type`, `tasks`, the time that
    the `clock` names, and `energy_j`. `figures` are those of the report that say more about chance.
    """

    upright: str
    title: str
    told: Callable[[float], str]
    work: str
    machines: Callable[[Subject, Row, Sequence[int]], pl.DataFrame]
    figures: tuple[str, ...] = ()
    clock: Clock = Clock()


def front_board(side: FrontSide, kind: str) -> Board:
    """The board of the fronts of a kind of study."""
    return Board(
        "front",
        "Front",
        f"Energy against {side.title}, with the proven bound, and what machines do at a point.",
        lambda subject: subject.kind == kind and _has_front(subject),
        partial(answer, side),
        partial(_wishes, side),
        partial(_further, side),
        files={TASKS_FILE: partial(_tasks_file, side)},
    )


def _has_front(subject: Subject) -> bool:
    return any((subject.folder / _FRONTS).glob("*.parquet"))


# --- what can be asked ----------------------------------------------------------------------------------------------


def _runs(subject: Subject) -> list[Row]:
    """The runs of the first kept trial of each point, the best first."""
    from joulewise.present.fronts import first_trials

    def ranked() -> list[Row]:
        rows = list(first_trials(subject.records).iter_rows(named=True))
        return sorted(rows, key=lambda row: -(row.get("hypervolume_percent") or -math.inf))

    return subject.kept("front runs", ranked)


def _wishes(_side: FrontSide, subject: Subject) -> Sequence[Wish]:
    records = subject.records
    names = {row["run"]: records.phrases(row, list(records.varying)) or "the only one" for row in _runs(subject)}
    return (Choice(RUN, "Front", options=names),)


def _further(side: FrontSide, subject: Subject, asked: Asked) -> Sequence[Wish]:
    points = _points(subject, asked[RUN], _FOUND)
    names = {str(row["point"]): _point_name(side, row) for row in points}
    start = next((row for row in points if row.get("is_knee")), points[len(points) // 2])
    return (
        Choice(AT, "Point", "Or click one in the figure.", names, str(start["point"])),
        Choice(AGAINST, "Against", "A second point beside it.", {_NONE: "no other", **names}),
    )


def _points(subject: Subject, run: str, curve: str) -> list[Row]:
    """The points of a curve of a run, by rising energy."""
    import polars as pl

    def found() -> list[Row]:
        fronts = subject.records.frame(_FRONTS).filter(pl.col("run") == run, pl.col("curve") == curve)
        return fronts.sort("energy_j", maintain_order=True).to_dicts()

    return subject.kept(("points", run, curve), found)


def _point_name(side: FrontSide, row: Row) -> str:
    marks = [word for key, word in _MARKS.items() if row.get(key)]
    named = f" ({', '.join(marks)})" if marks else ""
    return f"{energy(row['energy_j'])}, {side.told(row[side.upright])}{named}"


_MARKS = {"is_knee": "knee", "is_peak": "most utility per energy", "is_cautious": "cautious"}


# --- what is answered -----------------------------------------------------------------------------------------------


def answer(side: FrontSide, subject: Subject, asked: Asked) -> Answer:
    """The front that is asked for, the chosen point, and the one it is held against."""
    points = {str(row["point"]): row for row in _points(subject, asked[RUN], _FOUND)}
    chosen = [points[asked[key]] for key in (AT, AGAINST) if asked[key] != _NONE]
    run = next(row for row in _runs(subject) if row["run"] == asked[RUN])
    blocks: list[Block] = [Sentences(_sentences(side, chosen)), _plane(side, subject, asked, chosen)]
    try:
        machines = side.machines(subject, run, [row["point"] for row in chosen])
    except InputError as error:
        blocks.append(Sentences([Said("What the machines do cannot be told.", str(error))]))
    else:
        blocks += _of_machines(side.clock, chosen, machines)
    blocks.append(_points_table(chosen))
    if subject.results.study.kind.tables and _has_work(side, subject, asked[RUN]):
        link = f"{subject.address}/front/{TASKS_FILE}{asked.query()}"
        blocks.append(Links([Link("The tasks of the chosen point (CSV)", link)], "Download", is_files=True))
    return Answer(f"Front: {subject.title}", [*blocks, *_figures(side, subject)])


def _sentences(side: FrontSide, chosen: Sequence[Row]) -> list[Said]:
    first = chosen[0]
    gap = first.get("gap_percent")
    above = f"; {abs(gap):.2g} % from the proven bound" if gap is not None else ""
    said = [Said(f"The chosen point uses {energy(first['energy_j'])} with {_upright(side, first)}{above}.")]
    if len(chosen) > 1:
        other = chosen[1]
        parts = [
            f"{_percent(other['energy_j'], first['energy_j'])} energy",
            f"{_percent(other[side.upright], first[side.upright])} {side.title}",
        ]
        said.append(Said(f"Against the other point ({_point_name(side, other)}): {' and '.join(parts)}."))
    return said


def _upright(side: FrontSide, row: Row) -> str:
    return f"a {side.title} of {side.told(row[side.upright])}"


def _percent(was: float, now: float) -> str:
    if was == 0:
        return "other"
    change = 100 * (now / was - 1)
    return f"{abs(change):.2f} % {'more' if change > 0 else 'less'}" if abs(change) >= 0.005 else "the same"


_ROWS = {
    "energy_j": ("Energy", energy),
    "makespan_s": ("Makespan", duration),
    "utility": ("Utility", "{:,.4g}".format),
    "utility_per_mj": ("Utility per MJ", "{:,.4g}".format),
    "energy_bound_j": ("Least energy that is proven", energy),
    "utility_bound": ("Most utility that is proven", "{:,.4g}".format),
    "gap_percent": ("Gap to the bound", "{:.3g} %".format),
    "mean_energy_j": ("Mean energy over samples", energy),
    "sd_energy_j": ("Its standard deviation", energy),
    "mean_utility": ("Mean utility over samples", "{:,.4g}".format),
    "sd_utility": ("Its standard deviation", "{:,.4g}".format),
    "tasks_dropped": ("Tasks that do not run", "{:,.4g}".format),
}


def _points_table(chosen: Sequence[Row]) -> Table:
    known = [name for name in _ROWS if any(row.get(name) is not None for row in chosen)]
    rows = [[Cell(_ROWS[name][0]), *(_told(name, row) for row in chosen)] for name in known]
    return Table("The points", ["What", "Chosen", "Other"][: 1 + len(chosen)], rows)


def _told(name: str, row: Row) -> Cell:
    value = row.get(name)
    return Cell("" if value is None else _ROWS[name][1](value), value)


# --- figures --------------------------------------------------------------------------------------------------------


def _plane(side: FrontSide, subject: Subject, asked: Asked, chosen: Sequence[Row]) -> Plot:
    """The front with its bound; a click on a point chooses it."""
    from joulewise.present import theme
    from joulewise.present.formats import energy_unit, time_unit

    points, bound = _points(subject, asked[RUN], _FOUND), _points(subject, asked[RUN], _BOUND)
    unit, size = energy_unit(max(row["energy_j"] for row in points))
    y_unit, y_size = time_unit(max(row[side.upright] for row in points)) if side.upright.endswith("_s") else ("", 1.0)
    titles = f"energy ({unit})", f"{side.title} ({y_unit})" if y_unit else side.title

    def placed(rows: Sequence[Row], **more: Any) -> list[Row]:
        return [
            {"x": row["energy_j"] / size, "y": row[side.upright] / y_size, "i": i, "point": row["point"], **more}
            for i, row in enumerate(rows)
        ]

    most_x = 1.15 * max(row["energy_j"] for row in points)
    near = [row for row in bound if row["energy_j"] <= most_x]
    tips = {"x": titles[0], "y": titles[1]}
    marked = [row for row in points if any(row.get(key) for key in _MARKS)]
    named = [{**place, "label": _mark_of(row)} for row, place in zip(marked, placed(marked), strict=True)]
    layers = [
        drawing.line(placed(near), theme.PALETTE[0], strokeWidth=1.6),
        *(_ellipse(row, side, size, y_size, theme.PALETTE[3]) for row in chosen if row.get("sd_energy_j")),
        drawing.points(placed([points[i] for i in evenly(len(points), _MOST_POINTS)]), theme.PALETTE[1], tips),
        drawing.points(placed(marked), theme.PALETTE[2], tips, "diamond", 110),
        drawing.labels(named),
        drawing.points(placed(chosen[1:]), theme.PALETTE[4], tips, "square", 190),
        drawing.points(placed(chosen[:1]), theme.INK, tips, "circle", 190),
    ]
    caption = (
        "The line is the proven bound. The black circle is the chosen point"
        + (", the blue square the other one" if len(chosen) > 1 else "")
        + "; click a point to choose it."
        + (f" {len(points) - _MOST_POINTS:,} more points are not shown." if len(points) > _MOST_POINTS else "")
        + (" The outline is one standard deviation over fresh samples." if chosen[0].get("sd_energy_j") else "")
    )
    spec = drawing.plane(layers, *titles)
    return Plot("front-plane", f"Energy and {side.title}", caption, spec, AT, "point")


def _mark_of(row: Row) -> str:
    return ", ".join(word for key, word in _MARKS.items() if row.get(key))


def _ellipse(row: Row, side: FrontSide, size: float, y_size: float, colour: str) -> drawing.Spec:
    """One standard deviation around the mean of a point over samples."""
    r = row.get("correlation") or 0.0
    turns = [2 * math.pi * i / _TURNS for i in range(_TURNS + 1)]
    lean = math.sqrt(max(1 - r * r, 0.0))
    rows = [
        {
            "x": (row["mean_energy_j"] + row["sd_energy_j"] * math.cos(a)) / size,
            "y": (row[f"mean_{side.upright}"] + row[f"sd_{side.upright}"] * (r * math.cos(a) + lean * math.sin(a)))
            / y_size,
            "i": i,
        }
        for i, a in enumerate(turns)
    ]
    return drawing.line(rows, colour, strokeWidth=1.5)


def _of_machines(clock: Clock, chosen: Sequence[Row], machines: pl.DataFrame) -> Iterator[Block]:
    """When each machine is done and what it uses, in figures and as a table."""
    import polars as pl

    from joulewise.present.formats import energy_unit, time_unit

    if machines.is_empty():
        return
    names = {row["point"]: name for row, name in zip(chosen, ("chosen", "other"))}
    told = machines.with_columns(which=pl.col("point").replace_strict(names, return_dtype=pl.String))
    for column, title, what, of in (
        (clock.column, clock.heading.lower(), clock.title, time_unit),
        ("energy_j", "energy", "What each machine uses", energy_unit),
    ):
        unit, size = of(float(told[column].max() or 1.0))  # type: ignore[arg-type]
        rows = told.select("machine", "machine_type", "tasks", "which", value=pl.col(column) / size).to_dicts()
        caption = f"{what} at the chosen point{' and at the other' if len(chosen) > 1 else ''}, in {unit}."
        yield Plot(f"machines-{column}", what, caption, _bars(rows, f"{title} ({unit})", list(names.values())))
    yield _machines_table(clock, told)


def _bars(rows: Sequence[Row], title: str, names: Sequence[str]) -> drawing.Spec:
    from joulewise.present import theme

    colours = {"domain": list(names), "range": [theme.PALETTE[1], theme.PALETTE[4]][: len(names)]}
    tips = [("machine", "machine"), ("machine_type", "type"), ("tasks", "tasks"), ("value", title), ("which", "point")]
    return {
        "config": theme.CONFIG,
        "width": 900,
        "height": 190,
        "data": {"values": list(rows)},
        "mark": {"type": "bar"},
        "encoding": {
            "x": {"field": "machine", "type": "ordinal", "title": "machine", "axis": {"labelOverlap": True}},
            "xOffset": {"field": "which", "sort": list(names)},
            "y": {"field": "value", "type": "quantitative", "title": title},
            "color": {"field": "which", "scale": colours, "legend": {"title": "point"} if len(names) > 1 else None},
            "tooltip": [{"field": field, "title": told, "format": ",.4~g"} if field == "value" else
                        {"field": field, "title": told} for field, told in tips],
        },
    }  # fmt: skip


def _machines_table(clock: Clock, told: pl.DataFrame) -> Table:
    rows = [
        [
            Cell(f"{row['machine']}: {row['machine_type']}", row["machine"]),
            Cell(row["which"], kind="words"),
            Cell(f"{row['tasks']:,}", row["tasks"]),
            Cell(duration(row[clock.column]), row[clock.column]),
            Cell(energy(row["energy_j"]), row["energy_j"]),
        ]
        for row in told.sort("machine", "which").iter_rows(named=True)
    ]
    headings = ["Machine", "Point", "Tasks", clock.heading, "Energy"]
    return Table("Machine by machine", headings, rows, folded=True)


def _figures(side: FrontSide, subject: Subject) -> list[Plot]:
    """The figures of the report that show what chance may do."""
    from joulewise.present.page import drawable

    def drawn() -> list[Plot]:
        figures = [figure for figure in drawable(subject.records) if figure.name in side.figures]
        return [figure_told(figure, subject.records, folded=True) for figure in figures]

    return subject.kept("fuzzy", drawn)


# --- the work of a point --------------------------------------------------------------------------------------------


def _has_work(side: FrontSide, subject: Subject, run: str) -> bool:
    return (subject.folder / side.work / f"{run}.parquet").is_file()


def work_of(side_table: str, subject: Subject, run: str, points: Sequence[int]) -> pl.DataFrame:
    """The rows of a detail table that are of some points of a run."""
    import polars as pl

    table = subject.results.details(side_table, None, [run])
    return table.filter(pl.col("point").is_in(list(points))) if "point" in table.columns else table


def _tasks_file(side: FrontSide, subject: Subject, asked: Asked) -> File:
    """Where the tasks of the chosen point run."""
    rows = work_of(side.work, subject, asked[RUN], [int(asked[AT])]).drop("run")
    return File(f"{subject.name}-point-{asked[AT]}.csv", "text/csv", rows.write_csv().encode())

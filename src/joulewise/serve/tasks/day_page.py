"""The page of a day of serial tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.present import theme
from joulewise.present.formats import percent, power_unit
from joulewise.present.parts import unchecked
from joulewise.present.tasks.gantt import gantt_between
from joulewise.present.windows import Window, inside
from joulewise.serve.answer import Answer, Block, Facts, Plot, Table
from joulewise.serve.asking import Asked, Choice, Wish
from joulewise.serve.day import Bins, cut, grouped, named_ranges
from joulewise.serve.day_curves import curve_plots, earned_and_used
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
from joulewise.serve.tasks.day import FATES, TaskDay, TaskFrame, busy_share, day_of, frame_of, power_w
from joulewise.serve.timeline import HOUR_S, WIDTH_PX, Figure, Grid, grid, heights, zoomable
from joulewise.units import count, duration

_TITLE = "Day"
_SHADES = {
    BUSY: "The darker, the more of its time had a run.",
    POWER: "The darker, the more power tasks drew; that of lost runs, and of machines without a run, is not in it.",
}
_MOST_ROWS, _MOST_RUNS, _MOST_MACHINES = 50, 1200, 220
_TABLE_ROWS = 24
_COLOURS = dict(zip(FATES, (theme.PALETTE[0], theme.PALETTE[3], theme.NOTHING, theme.PALETTE[5]), strict=True))
_SAID = dict(zip(FATES, ("ran", "killed", "dropped", "never started"), strict=True))


def day_wishes(subject: Subject, asked: Asked) -> Sequence[Wish]:
    """What else may be asked of the day that was asked for."""
    shades = {BUSY: "time with a run", POWER: "power of runs"}
    return (*window_wishes(seen(subject, asked, day_of).day.whole), Choice(SHADE, "Machines by", options=shades))


def day_page(subject: Subject, asked: Asked) -> Answer:
    """A window of the day of a run: what was earned, used, waited for and dropped, and which machines ran what."""
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
        _machines(day, frame.bins, window, shade=asked[SHADE]),
        _numbers(frame),
    ]
    return Answer(f"{_TITLE}: {subject.title}", blocks, name_asked(asked))


def _facts(day: TaskDay, frame: TaskFrame, window: Window) -> Facts:
    fates = [(f"of these {_SAID[name]}", f"{values.sum():,.0f}") for name, values in frame.arrived.items()]
    arrived = sum(float(values.sum()) for values in frame.arrived.values())
    pairs = [
        ("tasks that arrived", f"{arrived:,.0f}"),
        *((name, value) for name, value in fates if value != "0"),
        ("tasks completed", f"{frame.completed.sum():,.0f}"),
        *earned_and_used(frame.curves),
        ("machines with a run", percent(100 * float(frame.busy.mean()) / day.n_machines)),
    ]
    return Facts(pairs, title_of(window))


def _arrivals(frame: TaskFrame) -> Plot:
    figure = Figure(
        "arrivals",
        "Tasks by what became of them",
        f"Tasks that arrived in each {duration(frame.bins.width)}, by what became of them in the end; when a task "
        "was dropped is not recorded.",
    )
    series = {_SAID[name]: (values, _COLOURS[name]) for name, values in frame.arrived.items()}
    return heights(figure, frame.bins, series, "tasks that arrived")


def _waiting(frame: TaskFrame) -> Plot:
    figure = Figure(
        "waiting",
        "Tasks waiting",
        "Tasks that had arrived and did not run, mean over each bin; those that were dropped in the end are not in it.",
    )
    return heights(figure, frame.bins, {"waiting": (frame.waiting, theme.PALETTE[1])}, "tasks waiting")


def _machines(day: TaskDay, bins: Bins, window: Window, *, shade: str) -> Plot:
    """A Gantt chart where few enough tasks run in the window, else how busy machines are."""
    shown = inside(day.runs, window)
    if 0 < shown.height <= _MOST_RUNS and day.n_machines <= _MOST_MACHINES:
        figure = Figure(
            "machines",
            "Machines",
            f"{count(shown.height, 'run')} of tasks on their machines: the more utility a task earned, the darker. "
            "What completed outside the counted time earned nothing, and dropped tasks have no rectangle.",
        )
        with unchecked():
            return zoomable(figure, gantt_between(shown, window, day.n_machines, WIDTH_PX))
    rows = grouped(day.n_machines, _MOST_ROWS)
    row = "A row is a machine" if rows.width == 1 else f"A row is {rows.width:g} machines"
    figure = Figure(
        "machines",
        "Machines",
        f"{row}, numbered by their type. {_SHADES[shade]} {count(shown.height, 'run')} are in the window; where there "
        f"are at most {_MOST_RUNS:,} on at most {_MOST_MACHINES} machines, each is drawn.",
    )
    draw = _power if shade == POWER else _busy
    return grid(figure, bins, [draw(day, bins, rows)])


def _busy(day: TaskDay, bins: Bins, rows: Bins) -> Grid:
    ramp = (theme.lighter(theme.PALETTE[0], 0.92), *theme.ordered(3))
    return _grid(day, rows, 100 * busy_share(day, bins, rows), "time with a run (%)", 100.0, ramp)


def _power(day: TaskDay, bins: Bins, rows: Bins) -> Grid:
    power = power_w(day, bins, rows)
    unit, size = power_unit(float(power.max()))
    return _grid(day, rows, power / size, f"power of runs ({unit})", float(power.max()) / size, theme.warmth(5))


def _grid(day: TaskDay, rows: Bins, values: Floats, shade: str, most: float, colours: Sequence[str]) -> Grid:
    edges, names = np.minimum(rows.edges, day.n_machines), named_ranges(rows, day.n_machines)
    return Grid(values, edges, names, "machine", shade, most, colours)


def _numbers(frame: TaskFrame) -> Table:
    """The figures as numbers, a row for several bins."""
    parts = list(thinned(frame.bins.n, _TABLE_ROWS))
    ends = [part.stop for part in parts]
    columns: dict[str, Sequence[float]] = {
        "Until (h)": (frame.bins.edges[ends] / HOUR_S).tolist(),
        "Utility earned by then": frame.curves.utility[ends].tolist(),
        "Energy used by then (MJ)": (frame.curves.energy_j[ends] / 1e6).tolist(),
        "Tasks that arrived": [sum(float(each[part].sum()) for each in frame.arrived.values()) for part in parts],
        "Of these dropped": [float(frame.arrived["dropped"][part].sum()) for part in parts],
        "Completed": [float(frame.completed[part].sum()) for part in parts],
        "Mean waiting": [float(frame.waiting[part].mean()) for part in parts],
        "Mean machines with a run": [float(frame.busy[part].mean()) for part in parts],
    }
    whole = ("Tasks that arrived", "Of these dropped", "Completed")
    return numbers_table("The figures as numbers", columns, {**dict.fromkeys(whole, 0), "Until (h)": 2})

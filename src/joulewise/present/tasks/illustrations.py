"""Drawings of a world of tasks: what tasks are worth, when they arrive, and the queues of machines at an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.arrivals import arrivals_line
from joulewise.present.formats import key_name
from joulewise.present.layout import AXIS_FORMAT, Drawing, inline
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.page import Illustration
from joulewise.present.parts import hconcat, layer, vconcat, whole
from joulewise.study.parsing.study import Study
from joulewise.study.tasks.illustrated import (
    EXECUTING,
    PENDING,
    VIRTUAL,
    ShownDay,
    TaskLevels,
    arrival_rates,
    arrivals_by_minute,
    interval_starts,
    level_names,
    queues_at,
    shown_day,
    utility_curves,
)
from joulewise.units import count

DAY, FOUR_MACHINES = "published day", "four machines"
"""The variants of the study that is drawn."""
_LEVELS = TaskLevels("high", "high", "B")
_LAST_MIN = 60.0
_N_TYPES = 5
_EVENTS_S = (10_800.0, 11_040.0)
_COLOURS = {EXECUTING: theme.PALETTE[0], PENDING: theme.PALETTE[5], VIRTUAL: "#D5DAE0"}
_WIDTH, _HEIGHT = 330, 230
_ROOM = 1.12
"""How much higher than the most that is worth an axis goes: names of intervals stand there."""
_WIDE = 700
_SINCE_START = "time since the start of the warm-up (h)"
_APART = {"scale": {"color": "independent", "strokeDash": "independent"}}
"""Panels whose lines have legends of their own."""


def _curves(day: ShownDay, key: str, title: str = "") -> Any:
    """Utility functions that differ in one level."""
    values = level_names(day)[key]
    table = utility_curves(day, [_LEVELS._replace(**{key: value}) for value in values], _LAST_MIN)
    lines = {
        value: [LinePoint(*row) for row in table.filter(pl.col(key) == value).select("at_min", "utility").iter_rows()]
        for value in values
    }
    return draw_lines(_utility_plot(lines, title, key_name(key)))


def _utility_plot(lines: Mapping[str, Sequence[LinePoint]], title: str, legend: str) -> Plot:
    most = max(point.y for points in lines.values() for point in points)
    looks = {name: theme.line_style(i) for i, name in enumerate(lines)}
    x, y = LineAxis("time since arrival (min)", 0.0, _LAST_MIN), LineAxis("utility", 0.0, _ROOM * most)
    return Plot(lines, looks, x, y, title, _WIDTH, has_bands=True, legend=legend)


def by_priority_and_urgency(study: Study) -> Drawing:
    """Utility functions that differ in priority, and such that differ in urgency."""
    day = shown_day(study, DAY)
    parts = [
        _curves(day, "priority", f"By priority, at {_LEVELS.urgency} urgency"),
        _curves(day, "urgency", f"By urgency, at {_LEVELS.priority} priority"),
    ]
    caption = (
        f"What a task of utility class {_LEVELS.utility_class} is worth by when it is completed: the priority sets the "
        "most that it can be worth, the urgency how long it stays so and how fast it falls."
    )
    return Drawing(whole(hconcat(*parts, spacing=40, resolve=_APART), theme.CONFIG), caption)


def in_intervals(study: Study) -> Drawing:
    """One utility function with the intervals it is made of."""
    day = shown_day(study, DAY)
    starts = [at for at in interval_starts(day, _LEVELS) if at < _LAST_MIN]
    table = utility_curves(day, [_LEVELS], _LAST_MIN)
    lines = {_LEVELS.utility_class: [LinePoint(*row) for row in table.select("at_min", "utility").iter_rows()]}
    plot = _utility_plot(lines, "", "utility class")
    return Drawing(whole(layer(draw_lines(plot), *_borders(starts, plot)), theme.CONFIG), _intervals_said(starts))


def _intervals_said(starts: Sequence[float]) -> str:
    return (
        f"The utility function of a task of {_LEVELS.priority} priority and {_LEVELS.urgency} urgency: "
        f"{count(len(starts), 'interval')} within {_LAST_MIN:g} min, each with a starting value and a rate of decay; "
        "during the first it stays at its most. Where an interval begins, the utility falls to its starting value."
    )


def _borders(starts: Sequence[float], plot: Plot) -> list[Any]:
    """Dashed lines between intervals, and the name of each over its middle."""
    import altair as alt

    ends = [*starts[1:], plot.x.high]
    rows = [
        {"at": start, "middle": (start + end) / 2, "name": f"t{i + 1}", "top": plot.y.high}
        for i, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    base = alt.Chart(inline(rows))
    rules = alt.Chart(inline(rows[1:])).mark_rule(strokeDash=[3, 3], color=theme.MUTED).encode(x=alt.X("at:Q"))
    names = base.mark_text(dy=10, color=theme.INK, fontSize=theme.LABEL_PX)
    return [rules, names.encode(x=alt.X("middle:Q"), y=alt.Y("top:Q"), text="name:N")]


def by_class(study: Study) -> Drawing:
    """Utility functions that differ in the utility class."""
    day = shown_day(study, DAY)
    first_min = interval_starts(day, _LEVELS)[1]
    caption = (
        f"What tasks of {_LEVELS.priority} priority and {_LEVELS.urgency} urgency are worth in each utility class. The "
        "first interval, F, is the same for all: a multiple of the task type's mean execution time, here "
        f"{first_min:.1f} min."
    )
    chart = _curves(day, "utility_class")
    return Drawing(whole(layer(chart, _first_interval(first_min)), theme.CONFIG), caption)


def _first_interval(first_min: float) -> Any:
    import altair as alt

    base = alt.Chart(inline([{"at": first_min, "name": "F", "zero": 0.0}])).encode(x=alt.X("at:Q"))
    rule = base.mark_rule(strokeDash=[3, 3], color=theme.MUTED)
    name = base.mark_text(dx=9, dy=-8, fontWeight=600, color=theme.INK).encode(y=alt.Y("zero:Q"), text="name:N")
    return layer(rule, name)


def rates(study: Study, *, special: bool) -> Drawing:
    """Arrival rates of a few task types over the warm-up and the day, with their means."""
    table = arrival_rates(shown_day(study, DAY), _N_TYPES, special=special)
    kind, shape = ("special", "in steps") if special else ("general", "like a sine")
    caption = (
        f"The rates at which tasks of the first {_N_TYPES} {kind}-purpose types arrive, which vary {shape} over the "
        "warm-up and the counted day; dashed lines are the means of the counted day."
    )
    return Drawing(whole(_rate_chart(table), theme.CONFIG), caption)


def _rate_chart(table: pl.DataFrame) -> Any:
    import altair as alt

    types = table["task_type"].unique(maintain_order=True).to_list()
    colours = alt.Scale(domain=types, range=theme.LINE_PALETTE[: len(types)])
    base = alt.Chart(inline(table.to_dicts())).encode(
        alt.X("at_h:Q", title=_SINCE_START, scale=_hours(table)),
        color=alt.Color("task_type:N", title="task type", scale=colours, legend=alt.Legend(symbolType="stroke")),
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        y=alt.Y("per_h:Q", title="arrival rate (tasks/h)", axis=alt.Axis(format=AXIS_FORMAT))
    )
    means = base.mark_line(strokeWidth=1.1, strokeDash=[5, 4]).encode(y=alt.Y("mean_per_h:Q"))
    return layer(lines, means, width=_WIDE, height=_HEIGHT)


def _hours(table: pl.DataFrame) -> Any:
    import altair as alt

    return alt.Scale(domain=[0.0, round(float(table["at_h"].max()))], nice=False)  # type: ignore[arg-type]


def arrivals(study: Study) -> Drawing:
    """How many tasks of all types arrive in each minute."""
    day = shown_day(study, DAY)
    chart = arrivals_line(arrivals_by_minute(day), _SINCE_START, "tasks that arrive in a minute")
    caption = (
        f"Arrivals of all types in each minute of one trial at {day.parameters.tasks_per_day:,.0f} tasks a day: "
        f"{day.world.workload.n_tasks:,} tasks in the warm-up and the counted day."
    )
    return Drawing(chart, caption)


# --- queues ---------------------------------------------------------------------------------------------


def queues(study: Study) -> Drawing:
    """What each machine executes, has pending and has in its virtual queue, after two mapping events."""
    day = shown_day(study, FOUR_MACHINES)
    tables = [queues_at(day, event_s) for event_s in _EVENTS_S]
    before = dict(tables[0].select("task", "machine").iter_rows())
    panels = [_boxes(table, event_s, before) for table, event_s in zip(tables, _EVENTS_S, strict=True)]
    x = _planned_minutes([box for boxes in panels for box in boxes])
    parts = [_queue_part(boxes, event_s, x) for boxes, event_s in zip(panels, _EVENTS_S, strict=True)]
    caption = (
        f"The queues of four machines of a simulated day ({day.manager.policy.title}) after a mapping event and after "
        f"one {(_EVENTS_S[1] - _EVENTS_S[0]) / 60:g} min later. A box is a task with its number in order of arrival. "
        "What executes and what is pending stays where it is; virtual queues are mapped again at every event, with "
        "what has arrived. Bold numbers at the later event are tasks that are new or that went to another machine."
    )
    return Drawing(whole(vconcat(*parts, spacing=24), theme.CONFIG), caption)


def _boxes(table: pl.DataFrame, event_s: float, before: Mapping[int, int]) -> list[dict[str, Any]]:
    """The tasks of queues with their minutes since the event, and whether each was elsewhere before."""
    return [
        {
            **row,
            "x": (row["start_s"] - event_s) / 60,
            "x2": (row["end_s"] - event_s) / 60,
            "middle": (row["start_s"] + row["end_s"] - 2 * event_s) / 120,
            "name": f"machine {row['machine'] + 1}",
            "ink": theme.ink_on(_COLOURS[row["slot"]]),
            "moved": before.get(row["task"]) != row["machine"],
        }
        for row in table.iter_rows(named=True)
    ]


def _planned_minutes(boxes: Sequence[Mapping[str, Any]]) -> Any:
    """The axis of all events, as long as the longest queue."""
    import altair as alt

    span = [min(box["x"] for box in boxes) - 1, max(box["x2"] for box in boxes) + 1]
    return alt.X("x:Q", title="planned time after the event (min)", scale=alt.Scale(domain=span, nice=False))


def _queue_part(boxes: Sequence[Mapping[str, Any]], event_s: float, x: Any) -> Any:
    import altair as alt

    base = alt.Chart(inline(boxes)).encode(y=alt.Y("name:N", title=None, axis=alt.Axis(domain=False, ticks=False)))
    slots = alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    slot = alt.Color("slot:N", title="task", scale=slots, legend=alt.Legend(symbolType="square"))
    bars = base.mark_bar(stroke="white", strokeWidth=1.5, height=26).encode(x=x, x2=alt.X2("x2:Q"), color=slot)
    numbers = [_numbers(base, moved=moved) for moved in (False, True)]
    now = alt.Chart(inline([{"x": 0.0}])).mark_rule(color=theme.INK).encode(x=alt.X("x:Q"))
    title = f"After the mapping event at {event_s // 3600:.0f}:{event_s % 3600 / 60:02.0f} h"
    return layer(bars, *numbers, now, width=_WIDE, height=150, title=title)


def _numbers(base: Any, *, moved: bool) -> Any:
    """The numbers of the tasks that moved, in bold, or of the others."""
    import altair as alt

    of_these = base.transform_filter(f"datum.moved === {str(moved).lower()}")
    text = of_these.mark_text(fontWeight="bold" if moved else "normal", fontSize=theme.LABEL_PX - 1)
    return text.encode(x=alt.X("middle:Q"), text="task:Q", color=alt.Color("ink:N", scale=None))


ILLUSTRATIONS = (
    Illustration("fig-2.1", "Utility by priority and by urgency", by_priority_and_urgency),
    Illustration("fig-2.2", "The intervals of a utility function", in_intervals),
    Illustration("fig-2.3", "Queues of machines at mapping events", queues),
    Illustration("fig-2.4", "Utility by utility class", by_class),
    Illustration("fig-f.1", "Arrival rates of general-purpose task types", partial(rates, special=False)),
    Illustration("fig-f.2", "Arrival rates of special-purpose task types", partial(rates, special=True)),
    Illustration("fig-f.3", "Arrivals in each minute of a day", arrivals),
)
"""Friese 2015, by the numbers of its figures."""

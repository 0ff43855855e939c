"""Values by the hour from a table: what energy costs, or how much power there is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S
from joulewise.units import count, duration
from joulewise.worlds.clock import Clock, misfit, read_moments, told
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table

_TIMESTAMP = "timestamp"
_HOUR = "hour"

SERIES_COLUMNS = (
    InputColumn(
        _TIMESTAMP,
        "",
        'instant in ISO 8601, such as "2026-01-31T13:00Z", one hour after the row above, for workloads with dates; or '
        "a column `hour` of whole numbers from 0 on, counted from instant 0; the first column, if none has one of "
        "these names",
        True,
    ),
    InputColumn(
        "<value>", "", "value from that instant on for one hour; one column, or the one that the study names", True
    ),
)

_LOCAL = "local times skip and repeat an hour when clocks change: give times in UTC, or with their offset (+01:00)"


class Hours(NamedTuple):
    """Values by the hour; where they stand, and the calendar's moment of the first, None where they have no dates."""

    values: Floats
    where: str
    begins_s: float | None = None
    is_local: bool = False

    @property
    def ends_s(self) -> float | None:
        """The moment at which the last hour is over."""
        return None if self.begins_s is None else self.begins_s + HOUR_S * self.values.size


def read_series(
    name: str, folder: Path, column: str | None, key: str, zone: tzinfo | None = None, *, positive: bool = False
) -> Hours:
    """The hourly values in a column of a table, 0 or more each (or above 0); InputError with every problem.

    Without a column's name the table must have one column of values; `key` is the study key that would name it.
    Instants without a zone are of this one, if it is known.
    """
    table = read_table(name, folder)
    at = next((heading for heading in (_TIMESTAMP, _HOUR) if heading in table.columns), table.columns[0])
    choices = [heading for heading in table.columns if heading != at]
    raise_if_any(_choice_problems(table, choices, column, key))
    values = table.quantity(InputColumn(column or choices[0], "", ""), positive=positive)
    moments = None
    if table.numbers(at).is_given.all():
        _check_hours(table, at)
    elif moments := read_moments(table, at, zone, is_hourly=True):
        _check_steps(table, at, moments.at_s, is_local=moments.is_local)
    raise_if_any(table.problems)
    where = table.where(column=at)
    return Hours(values, where) if moments is None else Hours(values, where, float(moments.at_s[0]), moments.is_local)


def aligned(hours: Hours, clock: Clock) -> Floats:
    """The values by the hour from instant 0 of a world on, from the first row again at the end of the table.

    One value is for all hours, whatever its date.
    InputError where the hours of the table cannot be held against the clock, or do not cover instant 0.
    """
    if hours.values.size == 1:
        return hours.values
    if hours.begins_s is None:
        if clock.first_s:
            found = "found hours without dates, beside a table with dates"
            raise InputError(Problem(hours.where, found, "must be of one kind", "give dates in both, or in none"))
        return hours.values
    problem = misfit(clock, hours.where, hours.begins_s, is_local=hours.is_local)
    if problem is not None:
        raise InputError(problem)
    assert clock.zero_s is not None
    first_h, rest_s = divmod(clock.zero_s - hours.begins_s, HOUR_S)
    found = f"found hours from {told(hours.begins_s, is_local=hours.is_local)} on"
    if not 0 <= first_h < hours.values.size:
        ends_s = hours.begins_s + HOUR_S * hours.values.size
        is_late = first_h < 0
        away = duration(hours.begins_s - clock.zero_s if is_late else clock.zero_s - ends_s)
        allowed = f"must have the hour of {clock.told(0.0)}, with which the simulation begins"
        found += f", which is {away} later" if is_late else f", for {count(hours.values.size, 'hour')}"
        advice = "begin the table earlier" if is_late else f"it ends {away or '0 s'} before: go on with it"
        raise InputError(Problem(hours.where, found, allowed, advice))
    if rest_s:
        allowed = f"the simulation begins {clock.told(0.0)}, in the middle of one"
        raise InputError(Problem(hours.where, found, allowed, "begin both at the same minute"))
    return np.roll(hours.values, -int(first_h))


def lead_of(tables: Iterable[Hours], clock: Clock) -> float:
    """How long before instant 0 the hour of the tables begins in which it is; InputError where tables differ.

    A simulation that begins so much earlier has whole hours, as tables do.
    """
    dated = [(hours, hours.begins_s) for hours in tables if hours.begins_s is not None and hours.values.size > 1]
    if clock.zero_s is None or not dated:
        return 0.0
    leads = {hours.where: (clock.zero_s - begins_s) % HOUR_S for hours, begins_s in dated}
    if len(set(leads.values())) > 1:
        found = "found hours that begin at another minute than those of " + ", ".join([*leads][1:])
        raise InputError(Problem(next(iter(leads)), found, "hours of all tables must begin at the same minute"))
    return next(iter(leads.values()))


def _choice_problems(table: InputTable, choices: list[str], column: str | None, key: str) -> Iterator[Problem]:
    where = table.where(column="header")
    if column is not None and column not in choices:
        yield unknown_name(where, column, choices)
    if column is None and len(choices) > 1:
        found = f"found {len(choices)} columns of values: {', '.join(choices[:MAX_LISTED])}"
        yield Problem(where, found, "must be one", f'say which, for example {key} = "{choices[0]}"')
    if not choices:
        yield Problem(where, "has no column of values", "needs one beside the instants")


def _check_hours(table: InputTable, at: str) -> None:
    """Report hours that are not whole, do not start at 0, or are not one more than in the row above."""
    hours = table.numbers(at).values
    table.report_rows(at, ~(hours == np.floor(hours)), "must be a whole number")
    if hours[0] != 0:
        advice = "the first row is the start of the simulation: number it 0"
        table.add(f"found {hours[0]:g} in the first row", "must start at 0", advice, column=at)
    steps = np.diff(hours, prepend=hours[0] - 1)
    advice = "hours count on over midnight: 24 comes after 23" if (steps < 0).any() else ""
    table.report_rows(at, steps != 1, "must be one more than in the row above", advice)


def _check_steps(table: InputTable, at: str, at_s: Floats, *, is_local: bool) -> None:
    """Report where the next instant is not one hour later; a whole table of other steps is one problem."""
    steps_s = np.diff(at_s)
    wrong = np.flatnonzero(steps_s != HOUR_S)
    if wrong.size > 1 and (steps_s == steps_s[0]).all() and steps_s[0] > 0:
        found, advice = f"found steps of {duration(float(steps_s[0]))}", "give one mean value for each hour"
        table.add(found, "must be one row for each hour", advice, column=at)
        return
    for row in wrong[:MAX_LISTED]:
        found, advice = _step(float(steps_s[row]), is_local=is_local)
        text = table.frame[at][int(row) + 1]
        allowed = "must be one hour after the row above"
        table.add(f"found {str(text)!r}, {found}", allowed, advice, row=int(row) + 1, column=at)
    if wrong.size > MAX_LISTED:
        table.add(f"{wrong.size - MAX_LISTED} more steps that are not one hour", column=at)


def _step(step_s: float, *, is_local: bool) -> tuple[str, str]:
    """A wrong step in words, and what to do about it."""
    if step_s == 0:
        return "the same instant as in the row above", _LOCAL if is_local else "leave one of the rows out"
    if step_s < 0:
        is_repeat = is_local and step_s > -2 * HOUR_S
        return f"{duration(-step_s)} before the row above", _LOCAL if is_repeat else "sort the table by time"
    if step_s == 2 * HOUR_S and is_local:
        return "which leaves out an hour", f"fill the gap; {_LOCAL}"
    found = f"{duration(step_s)} after the row above"
    return found, "fill the gap" if step_s > HOUR_S else "give one mean value for each hour"

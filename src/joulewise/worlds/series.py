"""Values by the hour from a table: what energy costs, or how much power there is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from pathlib import Path

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Floats
from joulewise.model.supply import HOUR_S
from joulewise.units import duration
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table

_TIMESTAMP = "timestamp"
_HOUR = "hour"

SERIES_COLUMNS = (
    InputColumn(
        _TIMESTAMP,
        "",
        'instant in ISO 8601, such as "2026-01-31T13:00Z", one hour after the row above; or a column `hour` of whole '
        "numbers; the first column, if none has one of these names. The first row is the start of the simulation",
        True,
    ),
    InputColumn(
        "<value>", "", "value from that instant on for one hour; one column, or the one that the study names", True
    ),
)

_LOCAL = "local times skip and repeat an hour when clocks change: give times in UTC, or with their offset (+01:00)"


def read_series(name: str, folder: Path, column: str | None, key: str, *, positive: bool = False) -> Floats:
    """The hourly values in a column of a table, 0 or more each (or above 0); InputError with every problem.

    Without a column's name the table must have one column of values; `key` is the study key that would name it.
    """
    table = read_table(name, folder)
    at = next((heading for heading in (_TIMESTAMP, _HOUR) if heading in table.columns), table.columns[0])
    choices = [heading for heading in table.columns if heading != at]
    raise_if_any(_choice_problems(table, choices, column, key))
    values = table.quantity(InputColumn(column or choices[0], "", ""), positive=positive)
    if table.numbers(at).is_given.all():
        _check_hours(table, at)
    else:
        _check_timestamps(table, at)
    raise_if_any(table.problems)
    return values


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


def _check_timestamps(table: InputTable, at: str) -> None:
    """Report what is no instant, instants with and without a zone, and steps that are not one hour."""
    instants = [_instant(value) for value in table.frame[at]]
    unreadable = np.array([instant is None for instant in instants])
    table.report_rows(at, unreadable, 'must be an instant in ISO 8601, such as "2026-01-31T13:00Z"')
    given = [instant for instant in instants if instant is not None]
    if unreadable.any():
        return
    has_zone = np.array([instant.tzinfo is not None for instant in given])
    if has_zone.any() and not has_zone.all():
        words = ("without", "with") if has_zone[0] else ("with", "without")
        allowed = f"must be {words[1]} a zone or UTC offset, as in the first row"
        table.report_rows(at, has_zone != has_zone[0], allowed, "give all times in UTC, or all with their offset")
        return
    at_s = np.array([_utc(instant).timestamp() for instant in given])
    _check_steps(table, at, at_s, is_local=not has_zone[0])


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


def _instant(value: object) -> datetime | None:
    """A cell as an instant, None if it is none, or within a year of where the calendar ends."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return instant if MINYEAR < instant.year < MAXYEAR else None


def _utc(instant: datetime) -> datetime:
    """The instant in UTC; one without a zone is taken as it is."""
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)

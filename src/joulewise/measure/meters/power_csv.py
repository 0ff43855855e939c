"""The CSV file of an external meter: times of day with watts, or with the energy counted so far.

A power stands for the time since the row before it, so that mean powers of whole seconds are summed, as published.
"""

from __future__ import annotations

import csv
import math
import re
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.measure.meters.energy_log import EnergyLog

_TIMES = ("time", "timestamp", "datetime", "date_time", "epoch", "epoch_s", "unix_time", "time_s", "t", "date")
_POWERS = {
    **dict.fromkeys(("watts", "watt", "w", "power", "power_w", "watts_w", "active_power", "active_power_w"), 1.0),
    **dict.fromkeys(("kw", "kilowatts", "power_kw", "active_power_kw"), 1e3),
    **dict.fromkeys(("mw", "milliwatts", "power_mw"), 1e-3),
}
_ENERGIES = {
    **dict.fromkeys(("joules", "joule", "j", "energy_j", "energy_joules"), 1.0),
    **dict.fromkeys(("wh", "energy_wh", "watt_hours"), 3600.0),
    **dict.fromkeys(("kwh", "energy_kwh", "total_kwh"), 3.6e6),
}
_EMPTY = ("", "-", "nan", "null", "none", "n/a")
_MILLISECONDS_FROM = 1e11
_GAP = 3.0
_SHOWN = 5
_VALUES = "power or energy"
_NAMED = {_VALUES: "name it with `column` in the plan's [meter], or "}


class _Row(NamedTuple):
    line: int
    time_s: float
    value: float


class _CsvLayout(NamedTuple):
    """Where time and value stand, what the value is worth, and whether it is energy counted so far."""

    times: tuple[int, ...]
    value: int
    factor: float
    is_energy: bool
    has_comma: bool


def read_power_csv(path: Path, *, column: str = "", zone: str = "UTC", ahead_s: float = 0.0) -> EnergyLog:
    """The log of an external meter, in seconds since 1970 in UTC.

    `column` names the values where their heading is not known; a heading with J, Wh or kWh is energy counted so far.
    `zone` is that of times without an offset: UTC, +02:00 or Europe/Berlin. `ahead_s` is how far the meter's clock is
    before this machine's (for seconds since the meter's start: minus the time of that start). Rows further apart than
    three times the usual leave a gap.
    """
    headings, lines = _table(path)
    layout = _layout(path, headings, column, lines)
    rows = _rows(path, lines, layout, _known_zone(path, zone))
    raise_if_any(_disorder(path, rows))
    shifted = [row._replace(time_s=row.time_s - ahead_s) for row in rows]
    usual_s = _usual_s(shifted)
    longest_s = _GAP * usual_s
    return _from_energy(shifted, longest_s) if layout.is_energy else _from_power(shifted, usual_s, longest_s)


def has_rows(path: Path) -> bool:
    """Whether the file has more than a line of headings yet."""
    with path.open("rb") as lines:
        return sum(1 for _ in islice(lines, 2)) > 1


def _table(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Headings and numbered lines, whatever stands between their cells."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except UnicodeDecodeError as error:
        raise InputError(Problem(str(path), "is not a text file", advice="export the meter's log as CSV")) from error
    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    mark = max(",;\t", key=head.count)
    reader = csv.reader(text.splitlines(), delimiter=mark)
    try:
        lines = [
            (reader.line_num, cells) for cells in reader if any(map(str.strip, cells)) and not cells[0].startswith("#")
        ]
    except csv.Error as error:
        raise InputError(Problem(f"{path}: line {reader.line_num}", f"cannot be read as CSV: {error}")) from error
    if len(lines) < 2:
        raise InputError(Problem(str(path), "found no rows", "must be a line of headings and one row for each reading"))
    return lines[0][1], lines[1:]


def _heading(text: str) -> str:
    """A heading in the form of the tables above: "Power (W)" is power_w."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _layout(path: Path, headings: list[str], column: str, lines: list[tuple[int, list[str]]]) -> _CsvLayout:
    names = [_heading(text) for text in headings]
    times = tuple(names.index(name) for name in ("date", "time") if {"date", "time"} <= set(names))
    times = times or tuple(names.index(name) for name in _TIMES if name in names)[:1]
    wanted = [_heading(column)] if column else [*_POWERS, *_ENERGIES]
    value = next((names.index(name) for name in wanted if name in names), None)
    problems = []
    if not times:
        problems.append(_no_column(path, headings, "time", _TIMES))
    if value is None:
        problems.append(_no_column(path, headings, _VALUES, [column] if column else [*_POWERS, *_ENERGIES]))
    raise_if_any(problems)
    assert value is not None
    factor = _ENERGIES.get(names[value], _POWERS.get(names[value], _factor_of(names[value])))
    is_energy = names[value] in _ENERGIES or _unit_of(names[value]) in _ENERGIES
    return _CsvLayout(times, value, factor, is_energy, _has_comma(lines, value))


def _unit_of(name: str) -> str:
    return name.rpartition("_")[2]


def _factor_of(name: str) -> float:
    return {**_POWERS, **_ENERGIES}.get(_unit_of(name), 1.0)


def _has_comma(lines: list[tuple[int, list[str]]], value: int) -> bool:
    """Whether numbers have a comma before their fraction: 217,5."""
    cells = [cells[value] for _, cells in lines if value < len(cells)]
    return any("," in cell for cell in cells) and not any("." in cell for cell in cells)


def _no_column(path: Path, headings: list[str], what: str, allowed: Sequence[str]) -> Problem:
    return Problem(
        str(path),
        f"found no column of {what} among {', '.join(headings)}",
        f"must be one of {', '.join(allowed)}",
        f"{_NAMED.get(what, '')}change the heading",
    )


ZONES = "must be UTC, +02:00 or one such as Europe/Berlin"


def zone_of(text: str) -> tzinfo | None:
    """The time zone that a text names; None where it names none that is known here."""
    offset = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", text)
    try:
        if offset:
            sign, hours, minutes = offset.groups()
            return timezone((1 if sign == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
        return UTC if text == "UTC" else ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _known_zone(path: Path, text: str) -> tzinfo:
    zone = zone_of(text)
    if zone is None:
        raise InputError(Problem(str(path), f"found the time zone {text!r}", ZONES))
    return zone


def _rows(path: Path, lines: list[tuple[int, list[str]]], layout: _CsvLayout, zone: tzinfo) -> list[_Row]:
    """The rows; a last line that cannot be read is left out, as the meter may be writing it."""
    rows: list[_Row] = []
    problems: list[Problem] = []
    for line, cells in lines:
        try:
            padded = [*cells, *[""] * (max(*layout.times, layout.value) + 1 - len(cells))]
            time_s = _time_s(" ".join(padded[place].strip() for place in layout.times), zone)
            rows.append(_Row(line, time_s, _value(padded[layout.value].strip(), layout)))
        except ValueError as error:
            problems.append(Problem(f"{path}, line {line}", str(error)))
    is_torn = bool(rows) and len(problems) == 1 and rows[-1].line < lines[-1][0]
    raise_if_any([] if is_torn else _shortened(path, problems))
    return rows


def _shortened(path: Path, problems: list[Problem]) -> list[Problem]:
    more = len(problems) - _SHOWN
    return [*problems[:_SHOWN], *([Problem(str(path), f"{more:,} more lines like these")] if more > 0 else [])]


def _time_s(text: str, zone: tzinfo) -> float:
    """Seconds since 1970 of an ISO time or of a number of seconds (or milliseconds) since then."""
    try:
        number = float(text)
    except ValueError:
        pass
    else:
        return _in_calendar(number / 1000.0 if number >= _MILLISECONDS_FROM else number, text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _no_time(text) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()


def _in_calendar(time_s: float, text: str) -> float:
    """A time as it is, where it is before the year 10000; ValueError else."""
    if not abs(time_s) < _END_OF_CALENDAR_S:
        raise _no_time(text)
    return time_s


_END_OF_CALENDAR_S = 253_402_300_800.0


def _no_time(text: str) -> ValueError:
    allowed = "must be an ISO time such as 2026-03-01T12:00:00+01:00, or seconds since 1970"
    return ValueError(f"found the time {text!r}; {allowed}")


def _value(text: str, layout: _CsvLayout) -> float:
    if text.lower() in _EMPTY:
        return math.nan
    try:
        value = float(text.replace(",", ".") if layout.has_comma else text)
    except ValueError:
        raise ValueError(f"found {text!r}; must be a number, or nothing where it is missing") from None
    if value < 0:
        raise ValueError(f"found {text!r}; must not be negative")
    return value * layout.factor


def _disorder(path: Path, rows: list[_Row]) -> list[Problem]:
    """Rows that go back in time, as when summer time ends in times without an offset."""
    advice = "write times with their offset from UTC, or in UTC"
    problems = [
        Problem(f"{path}, line {row.line}", "goes back in time", "times must not fall", advice)
        for before, row in pairwise(rows)
        if row.time_s < before.time_s
    ]
    return _shortened(path, problems)


def _usual_s(rows: list[_Row]) -> float:
    steps = [row.time_s - before.time_s for before, row in pairwise(rows) if row.time_s > before.time_s]
    return statistics.median(steps) if steps else 1.0


def _from_power(rows: list[_Row], usual_s: float, longest_s: float) -> EnergyLog:
    log, total_j = EnergyLog(), 0.0
    log.append(rows[0].time_s - usual_s, 0.0)
    before_s = rows[0].time_s - usual_s
    for row in rows:
        is_gap = row.time_s - before_s > longest_s
        if is_gap:
            log.append(row.time_s - usual_s, math.nan)
            log.append(row.time_s - usual_s, total_j)
            before_s = row.time_s - usual_s
        total_j += 0.0 if math.isnan(row.value) else row.value * (row.time_s - before_s)
        if math.isnan(row.value):
            log.append(row.time_s, math.nan)
        log.append(row.time_s, total_j)
        before_s = row.time_s
    return log


def _from_energy(rows: list[_Row], longest_s: float) -> EnergyLog:
    log, last = EnergyLog(), rows[0]
    for row in rows:
        if row.time_s - last.time_s > longest_s or row.value < last.value or math.isnan(row.value):
            log.append(row.time_s, math.nan)
        log.append(row.time_s, row.value)
        last = row if not math.isnan(row.value) else last
    return log

"""Axes of powers of ten: quantities as their logarithms, with ticks in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from joulewise.present.formats import plain
from joulewise.present.lines import LineAxis
from joulewise.units import duration

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86_400.0
_TIMES_S = (
    (1.0, _MINUTE_S, _HOUR_S, *(10.0**power * _DAY_S for power in range(4))),
    (0.1, 1.0, 10.0, _MINUTE_S, 10 * _MINUTE_S, _HOUR_S, *(10.0**power * _DAY_S for power in range(4))),
    (
        *(part * unit_s for unit_s in (1.0, _MINUTE_S) for part in (1, 2, 5, 10, 20, 30)),
        *(part * _HOUR_S for part in (1, 2, 5, 10, 15, 20)),
        *(part * 10.0**power * _DAY_S for power in range(4) for part in (1, 1.5, 2, 3, 5)),
    ),
)
_COUNTS = (
    tuple(10.0**power for power in range(-2, 13)),
    tuple(part * 10.0**power for power in range(-2, 13) for part in (1, 2, 5)),
    tuple(part * 10.0**power for power in range(-2, 13) for part in (1, 1.5, 2, 3, 5, 7)),
)
"""Ticks from few to many."""
_ENOUGH = 4
_GAP = 0.14  # the least distance of two ticks as a part of the axis
_LEAST_SPAN = 0.3
_ROOM = 0.04


def log_of(value: float, least: float) -> float:
    """The decimal logarithm of a value, of nothing less than the least."""
    return math.log10(max(value, least))


def time_axis(title: str, logs: Iterable[float]) -> LineAxis:
    """An axis for logarithms of seconds."""
    return _axis(title, logs, _TIMES_S, duration)


def count_axis(title: str, logs: Iterable[float]) -> LineAxis:
    """An axis for logarithms of numbers."""
    return _axis(title, logs, _COUNTS, _in_short)


def _in_short(value: float) -> str:
    """A round number; millions are "M"."""
    size, unit = (1e6, " M") if value >= 1e6 else (1.0, "")
    return f"{plain(float(f'{value / size:.3g}'))}{unit}"


def _axis(
    title: str, logs: Iterable[float], ladders: Sequence[Sequence[float]], named: Callable[[float], str]
) -> LineAxis:
    """The span of the values with a little room; ticks of one ladder after the other until there are enough."""
    values = list(logs)
    low, high = min(values), max(values)
    high = max(high, low + _LEAST_SPAN)
    room = _ROOM * (high - low)
    ticks: dict[float, str] = {}
    for ladder in ladders:
        if len(ticks) < _ENOUGH:
            inside = {math.log10(v): v for v in ladder if low - room <= math.log10(v) <= high + room}
            for place, value in inside.items():
                if all(abs(place - other) >= _GAP * (high - low) for other in ticks):
                    ticks[place] = named(value)
    return LineAxis(title, low - room, high + room, dict(sorted(ticks.items())))

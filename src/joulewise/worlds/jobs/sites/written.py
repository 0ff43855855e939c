"""How the values of a site's file are written, and what each stands for: times, sizes, names, numbers of things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import Any, NamedTuple

from joulewise.units import n_bytes, seconds, watts
from joulewise.worlds.jobs.sites.hours import window_of
from joulewise.worlds.jobs.sites.site import CORES, MEMORY_MIB, NODES, PARTITION_STATES, PREEMPTIONS, SHARINGS, Instant
from joulewise.worlds.parameters import is_not_negative, is_positive

MIB = 2**20
NO_JOB = "it would keep every job from starting; leave it out where nothing is limited"

_MEMORY = "memory"
_WIDEST = 100
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_TIMES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_SIZES = ((2**20, "TiB"), (2**10, "GiB"), (1, "MiB"))


class RefusedError(ValueError):
    """A value that is not as it must be: what is allowed, and what to do."""

    def __init__(self, allowed: str, advice: str = "") -> None:
        super().__init__(allowed)
        self.allowed, self.advice = allowed, advice


class Kind(NamedTuple):
    """A kind of values: what they are, what one in a file stands for (or `RefusedError`), and how one is written."""

    said: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str]


def text(value: str) -> str:
    """A text as TOML has it."""
    return json.dumps(value, ensure_ascii=False)


def word(name: str) -> str:
    """A key as TOML has it: in quotes where it is more than a word."""
    return name if _WORD.fullmatch(name) else text(name)


def duration_text(value_s: float) -> str:
    """A time in the largest unit that it is a whole number of, so that nothing of it is lost."""
    if value_s == int(value_s):
        factor, unit = next((f, u) for f, u in _TIMES if value_s % f == 0 and (value_s or f == 1))
        return f"{int(value_s) // factor} {unit}"
    return f"{value_s!r} s"


def size_text(value_mib: int) -> str:
    """A size in the largest unit that it is a whole number of."""
    factor, unit = next((f, u) for f, u in _SIZES if value_mib % f == 0)
    return f"{value_mib // factor} {unit}"


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise RefusedError("must be a name in quotes")
    return value


def _names(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name.strip() for name in names):
        raise RefusedError('must be names in quotes, one at least, for example ["cpu", "gpu"]')
    if len(set(names)) < len(names):
        raise RefusedError("each name may stand once")
    return tuple(names)


def _whole(least: int | None, advice: str = "") -> Callable[[Any], int]:
    allowed = "must be a whole number" + ("" if least is None else f" of {least} or more")

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or (least is not None and value < least):
            raise RefusedError(allowed, advice if value == 0 else "")
        return value

    return read


def _time(*, from_0: bool, advice: str = "") -> Callable[[Any], float]:
    allowed = f'must be a time with its unit, {"0 or more" if from_0 else "above 0"}, for example "2 h"'

    def read(value: Any) -> float:
        try:
            time_s = seconds(value) if isinstance(value, str) else -1.0
        except ValueError:
            time_s = -1.0
        if not (is_not_negative(time_s) if from_0 else is_positive(time_s)):
            raise RefusedError(allowed, advice if time_s == 0 else "")
        return time_s

    return read


def _memory(value: Any) -> int:
    try:
        size_mib = n_bytes(value) // MIB if isinstance(value, str) else 0.0
    except ValueError:
        size_mib = 0.0
    if size_mib < 1:
        raise RefusedError('must be a size of 1 MiB or more with its unit, for example "512 GiB"')
    return int(size_mib)


def _power(value: Any) -> float:
    try:
        power_w = watts(value) if isinstance(value, str) else -1.0
    except ValueError:
        power_w = -1.0
    if not is_not_negative(power_w):
        raise RefusedError('must be a power of 0 or more with its unit, for example "250 W"')
    return power_w


def _by_name(read_one: Callable[[str, Any], tuple[str, Any]], example: str) -> Callable[[Any], dict[str, Any]]:
    """What reads a table of names with values."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise RefusedError(f"must be names with numbers, for example {example}")
        found = {}
        for name, inner in value.items():
            try:
                key, number = read_one(name, inner)
            except RefusedError as error:
                raise RefusedError(f"{name} {error.allowed}", error.advice) from None
            found[key] = number
        return found

    return read


def _amount(name: str, value: Any) -> tuple[str, int]:
    if name == _MEMORY:
        return MEMORY_MIB, _memory(value)
    return name, _whole(1 if name in (CORES, NODES) else 0, NO_JOB)(value)


def _number(name: str, value: Any) -> tuple[str, float]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e15 < value < 1e15:
        raise RefusedError("must be a number")
    return name, value


def _bill(name: str, value: Any) -> tuple[str, float]:
    return _number(MEMORY_MIB if name == _MEMORY else name, value)


def _one_of(choices: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise RefusedError(f"must be one of {', '.join(choices)}")
        return str(value)

    return read


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RefusedError("must be true or false")
    return value


def _instant(value: Any) -> Instant:
    allowed = 'must be a date with its time, for example "2026-03-01T09:00", or a time from 0 on, for example "2 h"'
    if isinstance(value, str):
        try:
            return _time(from_0=True)(value)
        except RefusedError:
            pass
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise RefusedError(allowed) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime) or not MINYEAR < value.year < MAXYEAR:
        raise RefusedError(allowed)
    return value


def _hours(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not value or not all(isinstance(one, str) and window_of(one) for one in value):
        raise RefusedError('must be hours of days of the week, for example ["Mon-Fri 18:00-08:00", "Sat-Sun"]')
    return tuple(value)


def _write_names(names: tuple[str, ...]) -> str:
    line = f"[{', '.join(map(text, names))}]"
    below = "".join(f"    {text(name)},\n" for name in names)
    return line if len(line) <= _WIDEST else f"[\n{below}]"


def _write_numbers(numbers: Mapping[str, float]) -> str:
    return f"{{{', '.join(f'{word(name)} = {number!r}' for name, number in numbers.items())}}}"


def _write_bill(weights: Mapping[str, float]) -> str:
    return _write_numbers({_MEMORY if name == MEMORY_MIB else name: n for name, n in weights.items()})


def _write_amounts(amounts: Mapping[str, int]) -> str:
    parts = (
        f"{_MEMORY} = {text(size_text(n))}" if name == MEMORY_MIB else f"{word(name)} = {n}"
        for name, n in amounts.items()
    )
    return f"{{{', '.join(parts)}}}"


def _write_time(value_s: float) -> str:
    return text(duration_text(value_s))


def _write_instant(instant: Instant) -> str:
    return text(instant.isoformat()) if isinstance(instant, datetime) else _write_time(instant)


def _choices(choices: tuple[str, ...]) -> str:
    return " or ".join(map(text, choices))


KINDS: dict[str, Kind] = {
    "name": Kind("text", _name, text),
    "names": Kind("list of texts", _names, _write_names),
    "flag": Kind("true or false", _flag, lambda value: str(value).lower()),
    "count": Kind("whole number of 1 or more", _whole(1), repr),
    "limit": Kind("whole number of 1 or more", _whole(1, NO_JOB), repr),
    "number": Kind("whole number of 0 or more", _whole(0), repr),
    "whole": Kind("whole number", _whole(None), repr),
    "memory": Kind("size", _memory, lambda value: text(size_text(value))),
    "power": Kind("power", _power, lambda value: text(f"{value!r} W".replace(".0 W", " W"))),
    "time": Kind("duration", _time(from_0=False, advice=NO_JOB), _write_time),
    "time from 0": Kind("duration", _time(from_0=True), _write_time),
    "instant": Kind("date with time, or duration", _instant, _write_instant),
    "things": Kind(
        "table of whole numbers", _by_name(lambda name, n: (name, _whole(1)(n)), "{a100 = 4}"), _write_numbers
    ),
    "shares": Kind(
        "table of whole numbers", _by_name(lambda name, n: (name, _whole(0)(n)), "{anna = 1}"), _write_numbers
    ),
    "weights": Kind("table of numbers", _by_name(_number, "{cpu = 1000}"), _write_numbers),
    "billing": Kind("table of numbers", _by_name(_bill, "{cores = 1, memory = 0.25, gpus = 2}"), _write_bill),
    "amounts": Kind(
        "table of whole numbers and sizes", _by_name(_amount, '{cores = 100, memory = "1 TiB"}'), _write_amounts
    ),
    "sharing": Kind(_choices(SHARINGS), _one_of(SHARINGS), text),
    "hours": Kind("list of texts", _hours, _write_names),
    "state": Kind(_choices(PARTITION_STATES), _one_of(PARTITION_STATES), text),
    "preemption": Kind(_choices(PREEMPTIONS), _one_of(PREEMPTIONS), text),
}
"""All kinds of values, by the name that the keys of tables have for theirs."""

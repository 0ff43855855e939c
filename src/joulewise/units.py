"""The border between people and SI: "10 min" becomes 600.0 seconds, 1.11e9 joules becomes "1.11 GJ"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

AT_LIMIT_K = 0.005
"""A temperature as near as this to its limit is said, and drawn, to be at it."""

_SECONDS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0, "week": 604800.0, "weeks": 604800.0,
}  # fmt: skip
_JOULES = {
    "J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9, "TJ": 1e12,
    "Wh": 3.6e3, "kWh": 3.6e6, "MWh": 3.6e9, "GWh": 3.6e12,
}  # fmt: skip
_WATTS = {"mW": 1e-3, "W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9}
_MEGAHERTZ = {"kHz": 1e-3, "MHz": 1.0, "GHz": 1e3}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
          "TiB": 2.0**40}  # fmt: skip

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)\s*")


def _parse(text: str, factors: Mapping[str, float], example: str) -> float:
    allowed = f'must be a number and a unit ({", ".join(factors)}), for example "{example}"'
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"found {text!r}; {allowed}")
    number, unit = match.groups()
    if unit not in factors:
        raise ValueError(f"found the unit {unit!r} in {text!r}; {allowed}")
    value = float(number) * factors[unit]
    if not math.isfinite(value):
        raise ValueError(f"found {text!r}, which is too large; {allowed}")
    return value


def seconds(text: str) -> float:
    """A duration such as "10 min" in seconds; ValueError says what is allowed."""
    return _parse(text, _SECONDS, "10 min")


def joules(text: str) -> float:
    """An energy such as "1.11 GJ" in joules; ValueError says what is allowed."""
    return _parse(text, _JOULES, "1.11 GJ")


def watts(text: str) -> float:
    """A power such as "66 W" in watts; ValueError says what is allowed."""
    return _parse(text, _WATTS, "66 W")


def megahertz(text: str) -> float:
    """A frequency such as "2.4 GHz" in megahertz; ValueError says what is allowed."""
    return _parse(text, _MEGAHERTZ, "2.4 GHz")


def n_bytes(text: str) -> float:
    """A size such as "64 MB" in bytes; ValueError says what is allowed."""
    return _parse(text, _BYTES, "64 MB")


def _largest(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """The value in the largest unit that keeps it at or above one."""
    name, factor = next(((n, f) for n, f in units if abs(value) >= f), units[-1])
    return f"{value / factor:.4g} {name}"


def duration(value_s: float) -> str:
    """Seconds in the unit a person would choose: 600.0 is "10 min"."""
    return _largest(value_s, (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)))


def roughly(value_s: float) -> str:
    """Seconds of an estimate, with two digits: 191.0 is "3.2 min"."""
    number, unit = duration(value_s).split()
    return f"{float(f'{float(number):.2g}'):g} {unit}"


def power(value_w: float) -> str:
    """Watts in the unit a person would choose: 15000.0 is "15 kW"."""
    return _largest(value_w, (("MW", 1e6), ("kW", 1e3), ("W", 1.0)))


def energy(value_j: float) -> str:
    """Joules in the unit a person would choose: 1.11e9 is "1.11 GJ"."""
    return _largest(value_j, (("TJ", 1e12), ("GJ", 1e9), ("MJ", 1e6), ("kJ", 1e3), ("J", 1.0)))


def size(n_bytes: float) -> str:
    """Bytes in the unit a person would choose: 64e6 is "64 MB"."""
    return _largest(n_bytes, (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))


def count(n: int, singular: str, plural: str = "") -> str:
    """A count with its noun: "1 run", "1,440 runs"."""
    return f"{n:,} {noun(n, singular, plural)}"


def all_of(n: int, plural: str) -> str:
    """All of several things: "both runs", "all 1,440 runs"."""
    return f"both {plural}" if n == 2 else f"all {n:,} {plural}"


def noun(n: int, singular: str, plural: str = "") -> str:
    """The form of a word that goes with a count."""
    return singular if n == 1 else plural or singular + "s"

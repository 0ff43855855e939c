"""Numbers, intervals and study keys as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from joulewise.units import duration, energy, joules, power, seconds, watts

MISSING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
_MAX_DECIMALS = 6

OF_TUNING = {
    "tuning_trials": "trials that tuned",
    "tuning_mean": "mean by them",
    "judging_trials": "trials that judge",
    "judging_mean": "mean by these",
}
"""What a table of tuned values says beside them."""


def is_missing(value: object) -> bool:
    """True for None and NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def fixed(value: float | None, decimals: int) -> str:
    """A number with thousands separators, a real minus sign and a given number of decimals."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else f"{_MINUS}\N{INFINITY}"
    text = f"{abs(value):,.{decimals}f}"
    negative = value < 0 and any(digit in text for digit in "123456789")
    return f"{_MINUS}{text}" if negative else text


def number(value: float | None, significant: int = 3) -> str:
    """A number with at least the given significant digits, its whole part complete: 65,051; 53.1; 0.0123."""
    if value is None or not math.isfinite(value) or value == 0:
        return fixed(value, 0)
    if abs(value) >= 1e15 or abs(value) < 1e-6:
        return f"{value:.{significant - 1}e}".replace("-", _MINUS)
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return fixed(value, 0 if float(value).is_integer() else decimals)


def signed(value: float | None, decimals: int) -> str:
    """A difference with its sign always shown."""
    text = fixed(value, decimals)
    shown_positive = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if shown_positive else text


def percent(value: float | None, decimals: int = 1) -> str:
    """A percentage with its sign set off by a thin space."""
    return f"{fixed(value, decimals)}{THIN}%"


def decimals_for(half_width: float | None, fallback: int = 1) -> int:
    """Decimals that show an interval's half-width with two significant digits."""
    if half_width is None or not math.isfinite(half_width) or half_width <= 0:
        return fallback
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(half_width))))


def small(mean: float, half: float) -> str:
    """A mean near zero and half of its interval, both with the same power of ten."""
    power = math.floor(math.log10(max(abs(mean), half)))
    size = 10.0**power
    decimals = max(2, decimals_for(half / size, fallback=2))
    return f"({fixed(mean / size, decimals)} ± {fixed(half / size, decimals)})e{power}".replace("-", _MINUS)


def plain(value: object) -> str:
    """Any swept value in words: numbers with separators, lists with commas, everything else as it stands."""
    if is_missing(value):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return fixed(value, 0)
    if isinstance(value, float):
        return fixed(value, 0) if value.is_integer() else f"{value:,.6g}".replace("-", _MINUS)
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return str(value)


def _celsius(value_c: float) -> str:
    return f"{plain(value_c)} °C"


_QUANTITIES: dict[str, Callable[[float], str]] = {"_s": duration, "_j": energy, "_w": power, "_c": _celsius}
"""How values of a key are written, by the unit at the end of its name."""


def key_name(key: str) -> str:
    """A study key read out from its own last part, less its unit."""
    name = key.rpartition(".")[2]
    return (name[:-2] if name[-2:] in _QUANTITIES else name).replace("_", " ")


def key_value(key: str, value: object) -> str:
    """One value of a study key in words: a quantity in the unit a person would choose, else as `plain` has it."""
    show = _QUANTITIES.get(key[-2:])
    if show and isinstance(value, int | float) and math.isfinite(value):
        return show(value)
    return plain(value)


def energy_unit(most_j: float) -> tuple[str, float]:
    """The unit that suits energies up to this one, with its size in joules: ("GJ", 1e9)."""
    unit = energy(most_j).split()[-1]
    return unit, joules(f"1 {unit}")


def power_unit(most_w: float) -> tuple[str, float]:
    """The unit that suits powers up to this one, with its size in watts: ("kW", 1000)."""
    unit = power(most_w).split()[-1]
    return unit, watts(f"1 {unit}")


def time_unit(most_s: float) -> tuple[str, float]:
    """The unit that suits durations up to this one, with its size in seconds: ("min", 60)."""
    unit = duration(most_s).split()[-1]
    return unit, seconds(f"1 {unit}")


_FORMS: dict[str, Callable[[float], str]] = {"_s": duration, "_j": energy, "_w": power}
"""How values of a metric are written, with a unit that suits them, by the end of its name."""

UNITS_OF = {duration: time_unit, energy: energy_unit, power: power_unit}
"""What gives the unit, and its size, that suits values written in a form."""

_UNITS = {"_percent": "%", "_c": "°C", "_k": "K"}
"""Units that stand in the heading of a metric, by the end of its name."""


def metric_form(metric: str) -> Callable[[float], str] | None:
    """How values of a metric are written with their unit; none where its heading has the unit, or there is none."""
    is_rate_or_of_level = metric.endswith("_per_s") or ":" in metric
    return None if is_rate_or_of_level else _FORMS.get(metric[-2:])


def is_degrees(metric: str) -> bool:
    """Whether a metric is a temperature, or a difference of two."""
    return metric.endswith(("_c", "_k")) and not metric.endswith("_per_k")


def metric_title(metric: str, headings: Mapping[str, str]) -> str:
    """A metric as a column heading, with its level and unit; one without a heading is read out from its own name."""
    stem, _, level = metric.partition(":")
    heading = headings.get(stem) or _read_out(stem)
    if not level:
        return heading
    name, bracket, unit = heading.partition(" (")
    return f"{name}, {level}{bracket}{unit}"


def _read_out(metric: str) -> str:
    for suffix, unit in _UNITS.items():
        if metric.endswith(suffix):
            return f"{metric.removesuffix(suffix).replace('_', ' ')} ({unit})"
    return key_name(metric) if metric_form(metric) else metric.replace("_", " ")


def metric_value(metric: str, value: float | None) -> str:
    """One value of a metric, with a unit where its column heading carries none."""
    form = metric_form(metric)
    return number(value) if value is None or form is None or not math.isfinite(value) else form(value)

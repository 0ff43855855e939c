"""The section [synthetic] of a plan: a machine whose parameters are given, every mistake told at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from joulewise import units
from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.measure.synthetic_machine import LIKE_PUBLISHED, SyntheticMachine, SyntheticProgram

Parser: TypeAlias = Callable[[object], Any]


class SectionKey(NamedTuple):
    """A key of the section: the field that it sets, how it is read, and what it means."""

    name: str
    field: str
    parse: Parser
    meaning: str


def _number(least: float, most: float = math.inf) -> Parser:
    bounds = f"{least:g} or more" if math.isinf(most) else f"from {least:g} to {most:g}"

    def parse(value: object) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not least <= value <= most:  # type: ignore[operator]
            raise ValueError(f"found {value!r}; must be a number, {bounds}")
        return float(value)  # type: ignore[arg-type]

    return parse


def _whole(least: int) -> Parser:
    def parse(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(f"found {value!r}; must be a whole number, {least} or more")
        return value

    return parse


def _quantity(parse_text: Callable[[str], float], example: str) -> Parser:
    def parse(value: object) -> float:
        if not isinstance(value, str):
            raise ValueError(f'found {value!r}; must be a number with its unit, for example "{example}"')
        amount = parse_text(value)
        if amount <= 0:
            raise ValueError(f"found {value!r}; must be above 0")
        return amount

    return parse


def _yes_or_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"found {value!r}; must be true or false")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"found {value!r}; must be a name")
    return value


def _frequencies(value: object) -> tuple[float, ...]:
    parse = _number(1.0)
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise ValueError(f"found {value!r}; must be a list of frequencies in MHz")
    return tuple(sorted({parse(entry) for entry in value}))


_WATTS, _SECONDS = _quantity(units.watts, "55 W"), _quantity(units.seconds, "2 min")

KEYS = tuple(
    SectionKey(*row)
    for row in (
        ("seed", "seed", _whole(0), "seed of the noise"),
        ("cores", "cores", _whole(1), "number of cores"),
        ("frequencies", "frequencies_mhz", _frequencies, "frequencies in MHz"),
        ("static", "static_w", _WATTS, "power that is drawn whatever runs"),
        ("power_exponent", "power_exponent", _number(0), "dynamic power goes with the clock to this power"),
        ("curvature", "curvature", _number(-1, 10), "0: slowdowns add up; above: several are worse than their sum"),
        ("miss_rise", "miss_rise", _number(0), "how much more often caches miss for each slowdown of 1"),
        ("time_noise", "time_noise", _number(0, 1), "relative noise of times"),
        ("energy_noise", "energy_noise", _number(0, 1), "relative noise of energies"),
        ("counter_noise", "counter_noise", _number(0, 1), "relative noise of counters"),
        ("outlier_share", "outlier_share", _number(0, 1), "share of runs that take far longer"),
        ("counters", "has_counters", _yes_or_no, "whether counters can be read"),
        ("energy", "has_energy", _yes_or_no, "whether energy can be read"),
    )
)
PROGRAM_KEYS = tuple(
    SectionKey(*row)
    for row in (
        ("name", "name", _name, "name of the program, as in [[program]]"),
        ("alone", "alone_s", _SECONDS, "time alone at the highest clock"),
        ("share_scaled", "share_scaled", _number(0, 1), "share of that time that goes with one over the clock"),
        ("dynamic", "dynamic_w", _WATTS, "power that it adds at the highest clock"),
        ("instructions", "instructions", _number(1), "instructions of one run"),
        ("intensity", "intensity", _number(0, 1), "cache misses per instruction alone"),
        ("sensitivity", "sensitivity", _number(0), "slowdown beside a program with the pressure 1"),
        ("pressure", "pressure", _number(0), "slowdown of a program with the sensitivity 1 beside it"),
    )
)
PROGRAMS = "program"
"""The key of the tables of programs; the four like the published ones where there are none."""


def synthetic_machine(section: Mapping[str, object], where: str = "synthetic") -> SyntheticMachine:
    """The machine that a section describes; InputError with every problem."""
    problems: list[Problem] = []
    entries = section.get(PROGRAMS, [])
    rest = {key: value for key, value in section.items() if key != PROGRAMS}
    fields = _read(rest, KEYS, where, problems, (PROGRAMS,))
    programs = _programs(entries, f"{where}.{PROGRAMS}", problems)
    raise_if_any(problems)
    return SyntheticMachine(programs=programs or LIKE_PUBLISHED, **fields)


def _programs(entries: object, where: str, problems: list[Problem]) -> tuple[SyntheticProgram, ...]:
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        problems.append(Problem(where, f"found {entries!r}", f"must be tables [[{where}]]"))
        return ()
    read = [_read(entry, PROGRAM_KEYS, f"{where}[{i}]", problems) for i, entry in enumerate(entries)]
    for i, entry in enumerate(entries):
        problems.extend(_lacking(entry, f"{where}[{i}]"))
    problems.extend(_doubles(entries, where))
    return () if problems else tuple(SyntheticProgram(**fields) for fields in read)


def _lacking(entry: Mapping[str, object], where: str) -> Iterator[Problem]:
    lacking = [key.name for key in PROGRAM_KEYS if key.name not in entry]
    if lacking:
        yield Problem(where, f"lacks {', '.join(lacking)}", "every key must be given")


def _doubles(entries: Sequence[Mapping[str, object]], where: str) -> Iterator[Problem]:
    names = [entry.get("name") for entry in entries]
    for name in {name for name in names if isinstance(name, str) and names.count(name) > 1}:
        yield Problem(where, f"found {name!r} {names.count(name)} times", "every name must be there once")


def _read(
    section: Mapping[str, object],
    keys: Sequence[SectionKey],
    where: str,
    problems: list[Problem],
    further: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The fields that a section sets; mistakes are added to the problems."""
    known = {key.name: key for key in keys}
    fields: dict[str, Any] = {}
    for name, value in section.items():
        if name not in known:
            problems.append(unknown_name(f"{where}.{name}", name, (*known, *further)))
            continue
        try:
            fields[known[name].field] = known[name].parse(value)
        except ValueError as error:
            problems.append(Problem(f"{where}.{name}", str(error)))
    return fields

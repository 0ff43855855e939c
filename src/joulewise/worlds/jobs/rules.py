"""Rules that give jobs of a log what no log tells: what they are worth, what they draw, where they may run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from joulewise.errors import InputError, Problem, as_written, raise_if_any, unknown_name
from joulewise.files import toml_of, toml_text
from joulewise.units import seconds, watts
from joulewise.worlds.parameters import is_not_negative, is_positive
from joulewise.worlds.utilities import PRIORITIES, URGENCIES, UTILITY_CLASSES
from joulewise.worlds.utility_tables import KINDS, parse_points

_HEADING = re.compile(r"\s*\[\[\s*rule\s*\]\]")


class Rule(NamedTuple):
    """A rule: which jobs it is for (all of `conditions` hold), and what it gives them."""

    name: str
    conditions: Mapping[str, Any]
    given: Mapping[str, Any]


class RuleKey(NamedTuple):
    """A key of a rule: how its value is read, and what it means. Values that cannot be read are ValueErrors."""

    read: Callable[[Any], Any]
    meaning: str


def _names(value: Any) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError('must be names in quotes, for example ["short", "long"]')
    return tuple(names)


def _range(read: Callable[[Any], float], example: str) -> Callable[[Any], tuple[float, float]]:
    def parse(value: Any) -> tuple[float, float]:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(f"must be the least and the most, for example {example}")
        least, most = read(value[0]), read(value[1])
        if not least <= most:
            raise ValueError("must be the least and then the most")
        return least, most

    return parse


def _number(is_fine: Callable[[float], bool], allowed: str) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_fine(value):
            raise ValueError(allowed)
        return float(value)

    return parse


def _quantity(read: Callable[[str], float], example: str, *, positive: bool = False) -> Callable[[Any], float]:
    allowed = f'must be text with a unit, {"above 0" if positive else "0 or more"}, for example "{example}"'

    def parse(value: Any) -> float:
        quantity = read(value) if isinstance(value, str) else -1.0
        if not (is_positive(quantity) if positive else is_not_negative(quantity)):
            raise ValueError(allowed)
        return quantity

    return parse


def _one_of(choices: Mapping[str, Any] | tuple[str, ...]) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return parse


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _points(value: Any) -> str:
    allowed = 'must be "seconds:value" pairs, seconds rising from 0, values falling, for example "0:1 600:0.5 900:0"'
    try:
        KINDS["piecewise"].shape(0.0, value)
        steps = parse_points(value)
    except (ValueError, AttributeError, InputError):
        raise ValueError(allowed) from None
    if any(later > earlier or later < 0 for (_, earlier), (_, later) in pairwise(steps)):
        raise ValueError(allowed)
    return str(value)


_SHARE = _range(_number(lambda share: 0 <= share <= 1, "must be a share from 0 to 1"), "[0.9, 1.0]")
_LENGTH = _quantity(seconds, "2 h")

CONDITIONS: dict[str, RuleKey] = {
    "user": RuleKey(_names, "names of users"),
    "group": RuleKey(_names, "names of groups or accounts"),
    "queue": RuleKey(_names, "names of queues"),
    "partition": RuleKey(_names, "names of partitions"),
    "cores": RuleKey(_range(_number(is_not_negative, "must be 0 or more"), "[1, 64]"), "least and most processors"),
    "requested": RuleKey(_range(_LENGTH, '["0 s", "1 h"]'), "least (not included, unless 0) and most requested time"),
    "cores_share": RuleKey(_SHARE, "from which to which share of all jobs, by processors; the largest jobs are at 1"),
    "requested_share": RuleKey(_SHARE, "from which to which share of all jobs, by requested time"),
    "work_share": RuleKey(_SHARE, "from which to which share of all jobs, by processors times requested time"),
    "cluster": RuleKey(_names, "names of the clusters on which the rule holds, for power and speed"),
}
"""What a rule may ask of a job; a job must meet all that its rule asks."""

GIVEN: dict[str, RuleKey] = {
    "priority": RuleKey(_one_of(PRIORITIES), "level of the most that the job is worth: 8, 4, 2 or 1"),
    "max_utility": RuleKey(_number(is_not_negative, "must be a number of 0 or more"), "the most that it is worth"),
    "utility": RuleKey(_one_of(KINDS), "how the worth falls after the hold: constant, linear, step or piecewise"),
    "duration": RuleKey(_quantity(seconds, "6 h", positive=True), "linear: time to fall to 0; step: deadline"),
    "points": RuleKey(_points, "piecewise: seconds:value pairs"),
    "urgency": RuleKey(_one_of(URGENCIES), "level of urgency, with utility_class, in place of utility"),
    "utility_class": RuleKey(_one_of(UTILITY_CLASSES), "utility class, with urgency"),
    "hold": RuleKey(_LENGTH, "time after submission in which the worth does not fall"),
    "hold_requests": RuleKey(_number(is_not_negative, "must be 0 or more"), "the same, in requested times of the job"),
    "power_per_node": RuleKey(_quantity(watts, "200 W"), "power of each node of the job"),
    "power_per_core": RuleKey(_quantity(watts, "10 W"), "power of each processor of the job, on top of that"),
    "measured_power": RuleKey(_flag, "power as the log has measured it, where it has"),
    "speed": RuleKey(_number(is_positive, "must be a number above 0"), "how much faster than in the log it runs"),
    "clusters": RuleKey(_names, "names of the clusters on which it may run"),
}
"""What a rule may give; of all rules that hold for a job, the first that gives a thing counts."""

POWERS = ("power_per_node", "power_per_core", "measured_power")
"""Keys of rules that say what jobs draw."""
OF_CLUSTERS = (*POWERS, "speed")
"""What may depend on the cluster."""


def read_rules(name: str | None, folder: Path = Path()) -> tuple[Rule, ...]:
    """The rules in a TOML file, and behind them those that come with the package; InputError with every problem."""
    if name is None:
        return default_rules()
    return (*parse_rules(toml_text(name, folder), name), *default_rules())


@cache
def default_rules() -> tuple[Rule, ...]:
    """The rules that come with the package: worth by work, urgency by requested time, power by processor."""
    name = "job_rules.toml"
    return parse_rules(files("joulewise.worlds").joinpath("data", name).read_text("utf-8"), name)


def parse_rules(text: str, file_name: str) -> tuple[Rule, ...]:
    """The rules of a TOML text; InputError with every problem."""
    raw = toml_of(text, file_name)
    tables = raw.get("rule", [])
    if raw.keys() - {"rule"} or not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        found = f"found {', '.join(sorted(raw.keys() - {'rule'}) or ['rule'])}"
        raise InputError(Problem(file_name, found, "must be rules alone, each written as [[rule]]"))
    return rules_of(tables, text, file_name)


def rules_of(tables: list[dict[str, Any]], text: str, file_name: str) -> tuple[Rule, ...]:
    """The rules in the tables [[rule]] of a TOML text that may have others too; InputError with every problem."""
    problems: list[Problem] = []
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADING.match(line)]
    rules = tuple(
        _rule(table, number, f"{file_name}: {_place(table, number, lines)}", problems)
        for number, table in enumerate(tables, 1)
    )
    raise_if_any(problems)
    return rules


def _place(table: Mapping[str, Any], number: int, lines: list[int]) -> str:
    """Where a rule stands: its line, unless the file writes rules another way than usual, and its name or number."""
    at = f"line {lines[number - 1]}, " if number <= len(lines) else ""
    return f"{at}rule {table.get('name', number)!r}"


def _rule(table: Mapping[str, Any], number: int, where: str, problems: list[Problem]) -> Rule:
    n_before, values = len(problems), dict[str, Any]()
    for key, value in table.items():
        meaning = CONDITIONS.get(key) or GIVEN.get(key)
        if meaning is not None:
            try:
                values[key] = meaning.read(value)
            except ValueError as error:
                allowed = str(error).rpartition("; ")[2]
                problems.append(Problem(f"{where}, {key}", f"found {as_written(value)}", allowed))
        elif key != "name":
            problems.append(unknown_name(f"{where}, {key}", key, ["name", *CONDITIONS, *GIVEN]))
    given = {key: value for key, value in values.items() if key in GIVEN}
    conditions = {key: value for key, value in values.items() if key in CONDITIONS}
    if len(problems) == n_before:
        problems += _misfits(conditions, given, where)
    return Rule(str(table.get("name", f"rule {number}")), conditions, given)


def _misfits(conditions: Mapping[str, Any], given: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """What does not go together in a rule."""
    kind = given.get("utility")
    needs = {"linear": "duration", "step": "duration", "piecewise": "points"}.get(kind or "")
    checks = (
        (bool(given), "gives nothing", f"must give one at least of {', '.join(GIVEN)}"),
        (not ({"priority", "max_utility"} <= given.keys()), "found priority and max_utility", "must be one of the two"),
        (needs is None or needs in given, f"found utility = {kind!r} alone", f"needs {needs}"),
        (("urgency" in given) == ("utility_class" in given), "found one of urgency and utility_class", "needs both"),
        (not (kind and "urgency" in given), "found utility and urgency", "must be one of the two"),
        (not ({"duration", "points"} & given.keys()) or kind is not None, "found duration or points", "needs utility"),
        (
            "cluster" not in conditions or given.keys() <= set(OF_CLUSTERS),
            "found a cluster, and what does not depend on it",
            f"on clusters may depend {', '.join(OF_CLUSTERS)}",
        ),
    )
    yield from (Problem(where, found, allowed) for holds, found, allowed in checks if not holds)

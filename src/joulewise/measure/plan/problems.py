"""What is wrong with a table of a plan, in our words: where, what was found, what is allowed, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from joulewise.errors import Problem, as_written, nearest, unknown_name
from joulewise.measure.plan.keys import NAME, PROGRAM, PlanSection
from joulewise.measure.plan.table import arms_of, kind_of, table_in, words_of

Steps = Sequence[int | str]

_ALLOWED = {
    "greater_than": "must be above {gt:g}", "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less", "int_type": "must be a whole number", "float_type": "must be a number",
    "finite_number": "must be a finite number", "bool_type": "must be true or false",
    "string_type": "must be text in quotes", "string_too_long": "must have {max_length} characters at most",
    "string_pattern_mismatch": "must start with {start}; then letters, digits, '.', '_' and '-'",
    "list_type": "must be a list", "dict_type": "must be a table", "model_type": "must be a table",
    "too_short": "must have {min_length} or more entries",
}  # fmt: skip
"""What is allowed, by the kind of Pydantic's error."""
_STARTS = {NAME: "a letter or digit", PROGRAM: "a letter"}


def entry_place(i: int, name: object) -> str:
    """How problems call an entry of a list: counted from 0 as in study files, and by its name where it has one."""
    has_name = isinstance(name, str) and re.match(PROGRAM, name)
    return f"[{i}] ({name})" if has_name else f"[{i}]"


def table_problems(
    error: ValidationError, kind: type[PlanSection], raw: Mapping[str, Any], prefix: str, more: tuple[str, ...] = ()
) -> Iterator[Problem]:
    """The problems of one table, which stands at `prefix`; `more` are keys that may stand there besides its own."""
    by_key: dict[str, list[Any]] = {}
    for each in error.errors(include_url=False):
        by_key.setdefault(str(each["loc"][0]), []).append(each)
    for key, errors in by_key.items():
        is_choice = key in kind.model_fields and len(arms_of(kind, key)) > 1
        if not is_choice:
            yield from (_problem(each, each["loc"], kind, raw, prefix, more) for each in errors)
        elif isinstance(raw[key], list):
            yield from (_problem(each, (key, *each["loc"][2:]), kind, raw, prefix) for each in _meant(errors))
        else:
            yield _no_choice(kind, key, raw[key], f"{prefix}{key}")


def _meant(errors: list[Any]) -> list[Any]:
    """Of the errors with a list, those of the type of list that it comes nearest to."""
    by_type: dict[str, list[Any]] = {}
    for each in errors:
        if str(each["loc"][1]).startswith("list"):
            by_type.setdefault(each["loc"][1], []).append(each)
    return min(by_type.values(), key=lambda each: (len(each), -max(len(one["loc"]) for one in each)))


def _no_choice(kind: type[PlanSection], key: str, value: object, place: str) -> Problem:
    """A value of none of the types that a key may have."""
    guess = nearest(value, words_of(kind, key)) if isinstance(value, str) else None
    advice = f"did you mean {guess!r}?" if guess else kind.model_fields[key].description or ""
    allowed = kind_of(kind, key).replace("or list", "or a list")
    return Problem(place, f"found {as_written(value)}", f"must be {allowed}", advice)


def _problem(
    error: Any, steps: Steps, kind: type[PlanSection], raw: Mapping[str, Any], prefix: str, more: tuple[str, ...] = ()
) -> Problem:
    """One of Pydantic's errors, at the steps that lead to it."""
    place, value = _at(raw, steps)
    place, owner, name = f"{prefix}{place}", kind, str(steps[0])
    inner = table_in(kind, name)
    if inner and len(steps) > 2:
        owner, name = inner, str(steps[2])
    if error["type"] == "extra_forbidden":
        return replace(unknown_name(place, name, [*owner.model_fields, *more]), found="there is no such key")
    meaning = owner.model_fields[name].description or ""
    if error["type"] == "missing":
        return Problem(place, "missing", f"must be given: {meaning}")
    if error["type"] == "value_error":
        found, _, allowed = str(error["ctx"]["error"]).partition("; ")
        return Problem(place, found, allowed)
    found = f"found {as_written(value)}"
    if error["type"] == "literal_error":
        return replace(unknown_name(place, str(value), re.findall(r"'([^']*)'", error["ctx"]["expected"])), found=found)
    limits = error.get("ctx", {})
    start = _STARTS.get(limits.get("pattern", ""), "")
    allowed = _ALLOWED.get(error["type"], error["msg"]).format(**limits, start=start)
    return Problem(place, found, allowed, meaning)


def _at(raw: Any, steps: Steps) -> tuple[str, Any]:
    """Where steps lead to, as problems write it, and what a plan has there."""
    place = ""
    for step in steps:
        raw = raw.get(step) if isinstance(raw, Mapping) else raw[step]
        if isinstance(step, int):
            place += entry_place(step, raw.get("name") if isinstance(raw, Mapping) else None)
        else:
            place += f".{step}" if place else step
    return place, raw

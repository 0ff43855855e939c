"""From a frozen parameter class to a section of a study file: types, units, bounds, problems.

The parameter classes are the one place where a parameter is named, typed, bounded and explained. A field that
ends in a unit (`warm_up_s`) is written without it and as a quantity (`warm_up = "2 h"`) in the file.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from joulewise import units
from joulewise.errors import InputError, Problem, as_written, unknown_name, with_article


@dataclasses.dataclass(frozen=True)
class Unit:
    """How quantities of one kind are written in a study file."""

    name: str
    kind: str
    example: str
    parse: Callable[[str], float]
    show: Callable[[float], str]


UNITS = {
    "_s": Unit("s", "duration", "10 min", units.seconds, units.duration),
    "_w": Unit("W", "power", "66 W", units.watts, units.power),
    "_j": Unit("J", "energy", "1.11 GJ", units.joules, units.energy),
}
"""Units by the end of a field's name."""


@dataclasses.dataclass(frozen=True)
class InlineTable:
    """Marks a field of pairs that a study file gives as an inline table, such as {special = 0.5}."""

    example: str


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Marks text that must be one of some names, such as those of a table of methods."""

    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class OrText:
    """Marks a number in whose place a study file may give text of a form, which others read."""

    example: str
    pattern: str


Thresholds: TypeAlias = Annotated[tuple[tuple[str, float], ...], InlineTable("{special = 0.5}")]
"""Names with a number of 0 or more each, sorted by name."""

_TABLE = Annotated[
    dict[str, Annotated[float, Strict(), AllowInfNan(False), Field(ge=0)]],
    AfterValidator(lambda table: tuple(sorted(table.items()))),
]
_KINDS: dict[Any, str] = {int: "whole number", float: "number", str: "text", bool: "true or false"}

_ALLOWED = {
    "greater_than": "must be above {gt:,g}{unit}",
    "greater_than_equal": "must be {ge:,g}{unit} or more",
    "less_than": "must be below {lt:,g}{unit}",
    "less_than_equal": "must be {le:,g}{unit} or less",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text in quotes",
    "string_too_short": "must not be empty",
    "string_too_long": "must have {max_length} characters at most",
    "string_pattern_mismatch": "must start with a letter or digit; then letters, digits, '.', '_' and '-'",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a table, for example {example}",
    "too_short": "must have {min_length} or more entries",
    "too_long": "must have {max_length} entries at most",
}
"""What is allowed, by the kind of Pydantic's error."""

MISSING = "missing"

Where = Callable[[str], str]
"""From a key of a section ("tasks_per_day" or "tasks_per_day[2]") to what the user reads."""


def unit_of(field_name: str, hint: Any) -> Unit | None:
    """The unit that a field carries at the end of its name, if it is one float."""
    return UNITS.get(field_name[-2:]) if _bare(hint) is float else None


def key_of(field_name: str, hint: Any) -> str:
    """The key under which a study file gives a field: the name without its unit."""
    return field_name[:-2] if unit_of(field_name, hint) else field_name


def shown(field_name: str, value: object) -> str:
    """A value of a field as people read it: a quantity with its unit, all else as a study file writes it."""
    unit = UNITS.get(field_name[-2:])
    if unit and isinstance(value, int | float):
        return unit.show(value)
    return f"{value:g}" if isinstance(value, float) else as_written(value)


def table_of(hint: Any) -> InlineTable | None:
    """What marks a field as an inline table of numbers, if it is one."""
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, InlineTable)), None)


def is_number(hint: Any) -> bool:
    """Whether a field is one number, with a unit or without."""
    return _bare(hint) in (int, float) and not text_of(hint)


def is_whole(hint: Any) -> bool:
    """Whether a field is a whole number."""
    return _bare(hint) is int


def text_of(hint: Any) -> OrText | None:
    """What marks a field as one in whose place there may be text, if it is one."""
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, OrText)), None)


def list_depths(hint: Any) -> frozenset[int]:
    """How many lists deep one value of this type may be written: 0 for a number, 2 for a matrix."""
    if table_of(hint):
        return frozenset({0})
    bare = _bare(hint)
    if get_origin(bare) in (Union, types.UnionType):
        return frozenset().union(*(list_depths(arm) for arm in get_args(bare) if arm is not type(None)))
    if get_origin(bare) is tuple:
        return frozenset(1 + depth for depth in list_depths(get_args(bare)[0]))
    return frozenset({0})


def kind_of(field_name: str, hint: Any) -> str:
    """The type of a field in words, such as "duration" or "list of whole numbers"."""
    unit, bare = unit_of(field_name, hint), _bare(hint)
    if unit:
        return unit.kind
    if table_of(hint):
        return "table of numbers"
    if text := text_of(hint):
        return f'{_KINDS[bare]} or text such as "{text.example}"'
    if get_origin(bare) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(bare))
    if get_origin(bare) in (Union, types.UnionType):
        return " or ".join(kind_of(field_name, arm) for arm in get_args(bare) if arm is not type(None))
    if get_origin(bare) is tuple:
        return f"list of {_plural(kind_of('', get_args(bare)[0]))}"
    return _KINDS[bare]


def _plural(kind: str) -> str:
    if kind.endswith('"'):  # names to choose from
        return kind
    first, *rest = kind.split(" of ")
    return " of ".join([f"{first}s", *rest])


@cache
def hints_of(parameters: type) -> dict[str, Any]:
    """The types of the fields of a parameter class, with their bounds."""
    return {name: _with_names(hint) for name, hint in get_type_hints(parameters, include_extras=True).items()}


@cache
def fields_by_key(parameters: type) -> dict[str, str]:
    """The names of fields by the keys under which a study file gives them."""
    return {key_of(name, hint): name for name, hint in hints_of(parameters).items()}


def _with_names(hint: Any) -> Any:
    """The type with names to choose from in place of what marks them."""
    if get_origin(hint) is tuple:
        return tuple[tuple(map(_with_names, get_args(hint)))]  # type: ignore[misc]
    names = [mark.names for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, OneOf)]
    return Literal[names[0]] if names else hint


@cache
def model_of(parameters: type) -> type[BaseModel]:
    """The Pydantic model that reads the parameters as a study file writes them."""
    hints = hints_of(parameters)
    fields: dict[str, Any] = {
        field.name: (_file_type(field.name, hints[field.name]), _field_info(field, hints[field.name]))
        for field in dataclasses.fields(parameters)
    }
    return create_model(parameters.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def read(parameters: type, raw: Mapping[str, Any], where: Where) -> tuple[Any | None, list[Problem]]:
    """The parameters that a section gives and every problem with it, each at `where(key)`.

    Where there are problems, the parameters stand for the sound part of the section, or are None if that does
    not suffice; they serve to find further problems only.
    """
    try:
        values = values_of(parameters, raw)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        problems = [_problem(found, parameters, where) for found in errors]
        wrong = {found["loc"][0] for found in errors}
        if not wrong & raw.keys():
            return None, problems
        rest = {key: raw[key] for key in raw.keys() - wrong}
        found, more = read(parameters, rest, where)
        if any(each["type"] == "extra_forbidden" for each in errors):  # what it was meant for is not known
            return found, problems
        return found, problems + [problem for problem in more if any(_is_at(problem, where(key)) for key in rest)]
    return made(parameters, values, raw, where)


def values_of(parameters: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a section gives, in SI units; ValidationError where one of them is wrong by itself."""
    return dict(iter(model_of(parameters).model_validate(dict(raw))))  # which may have a field called keys


def made(parameters: type, values: dict[str, Any], raw: Mapping[str, Any], where: Where) -> tuple[Any, list[Problem]]:
    """The parameters with these fields, which `raw` gives, or None and why the fields do not go together."""
    try:
        return parameters(**values), []
    except InputError as error:
        return None, [_relocated(problem, parameters, raw, where) for problem in error.problems]


def _is_at(problem: Problem, place: str) -> bool:
    """Whether a problem is of this key or of a value in it; what is not there may be what is wrong elsewhere."""
    return problem.where == place or problem.where.startswith((f"{place}[", f"{place}."))


def _bare(hint: Any) -> Any:
    """The type without its bounds and without "or None"."""
    if get_origin(hint) is Annotated:
        return _bare(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        arms = [arm for arm in get_args(hint) if arm is not type(None)]
        return _bare(arms[0]) if len(arms) == 1 else hint
    return hint


def _file_type(field_name: str, hint: Any) -> Any:
    """The type that Pydantic checks: exact scalars, finite numbers, quantities from text."""
    if table_of(hint):
        return _TABLE
    bounds = getattr(hint, "__metadata__", ())
    bare = _strict(_bare(hint))
    unit = unit_of(field_name, hint)
    if unit:
        schema = {"type": "string", "examples": [unit.example], "format": unit.kind}
        bare = Annotated[bare, BeforeValidator(_quantity(unit)), *bounds, WithJsonSchema(schema)]
    elif bounds:
        bare = Annotated[bare, *bounds]
    optional = type(None) in get_args(hint) or type(None) in get_args(getattr(hint, "__origin__", None))
    return bare | None if optional else bare


def _strict(bare: Any) -> Any:
    """The type with exact scalars: no number from text, no whole number from true."""
    origin = get_origin(bare)
    if origin is Annotated:
        inner, *bounds = get_args(bare)
        return Annotated[_strict(inner), *bounds]
    if origin in (Union, types.UnionType):
        return Union[tuple(_strict(arm) for arm in get_args(bare))]  # noqa: UP007 - built from a tuple of types
    if origin is tuple:
        return types.GenericAlias(tuple, tuple(arm if arm is ... else _strict(arm) for arm in get_args(bare)))
    if bare is float:
        return Annotated[float, Strict(), AllowInfNan(False)]
    return Annotated[bare, Strict()] if bare in _KINDS else bare


def _quantity(unit: Unit) -> Callable[[object], float]:
    def parse(value: object) -> float:
        if isinstance(value, str):
            return unit.parse(value)
        allowed = f'must be {with_article(unit.kind)} in quotes, for example "{unit.example}"'
        raise ValueError(f"found {as_written(value)} without a unit; {allowed}")

    return parse


def _field_info(field: dataclasses.Field[Any], hint: Any) -> Any:
    settings: dict[str, Any] = {
        "alias": key_of(field.name, hint),
        "description": field.metadata.get("help"),
    }
    if field.default is not dataclasses.MISSING:
        settings["default"] = field.default
    elif field.default_factory is not dataclasses.MISSING:
        settings["default_factory"] = field.default_factory
    return Field(**settings)


def _relocated(problem: Problem, parameters: type, raw: Mapping[str, Any], where: Where) -> Problem:
    """A parameter class's own problem, which names its section and field, at the key and with the text of the file."""
    field_name = problem.where.partition(".")[2]
    hint = hints_of(parameters).get(field_name)
    key = key_of(field_name, hint) if hint else field_name
    is_number = re.fullmatch(r"found -?[.0-9e+-]+", problem.found) is not None
    is_one = key in raw and not isinstance(raw[key], list)
    found = f"found {as_written(raw[key])}" if is_number and is_one else problem.found
    return dataclasses.replace(problem, where=where(key), found=found)


def _problem(error: Any, parameters: type, where: Where) -> Problem:
    """One of Pydantic's errors in our words."""
    key, kind, value = str(error["loc"][0]), error["type"], error["input"]
    hints, keys = hints_of(parameters), fields_by_key(parameters)
    table = table_of(hints[keys[key]]) if key in keys else None
    inside = [f"[{part}]" if isinstance(part, int) else f".{part}" if table else "" for part in error["loc"][1:]]
    place = where(key + "".join(inside))
    if kind == "extra_forbidden":
        return dataclasses.replace(unknown_name(place, key, keys), found="there is no such key")
    if kind == "missing":
        return Problem(place, MISSING, f"must be given: {kind_of(keys[key], hints[keys[key]])}")
    if kind == "value_error":
        found, _, allowed = str(error["ctx"]["error"]).partition("; ")
        return Problem(place, found, allowed)
    if kind == "literal_error":
        return unknown_name(place, str(value), re.findall(r"'([^']*)'", error["ctx"]["expected"]))
    unit = unit_of(keys[key], hints[keys[key]])
    limits = {
        "unit": f" {unit.name}" if unit else "",
        "example": table.example if table else "",
        **error.get("ctx", {}),
    }
    allowed = _ALLOWED[kind].format(**limits) if kind in _ALLOWED else error["msg"]
    return Problem(place, f"found {as_written(value)}", allowed)

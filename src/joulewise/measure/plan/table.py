"""The keys of plan files as a table for people: `explain`, `list`, the reference, and what problems say is allowed."""

from __future__ import annotations

import json
import types
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from joulewise.measure.plan.keys import (
    ClockSection,
    Idle,
    Meter,
    PlanHeading,
    PlanQuantity,
    PlanSection,
    ProgramSection,
    Sample,
    Together,
)
from joulewise.measure.synthetic.section import SyntheticProgramSection, SyntheticSection

PROGRAMS, SYNTHETIC = "program", "synthetic"

_SAMPLES = "together.sampled"

SECTIONS: dict[str, type[PlanSection]] = {"together": Together, "clock": ClockSection, "meter": Meter, "idle": Idle}
"""The sections that every plan has, as they are by default where it does not write them."""

TABLES: dict[str, type[PlanSection]] = {
    "": PlanHeading,
    PROGRAMS: ProgramSection,
    "together": Together,
    _SAMPLES: Sample,
    **SECTIONS,
    SYNTHETIC: SyntheticSection,
    "synthetic.program": SyntheticProgramSection,
}
"""All tables that a plan may write, by their dotted names."""


_LISTS = (PROGRAMS, _SAMPLES, "synthetic.program")
"""Tables that may stand several times."""


def title_of(table: str) -> str:
    """How a plan opens a table."""
    return f"[[{table}]]" if table in _LISTS else f"[{table}]" if table else "heading"


class PlanKey(NamedTuple):
    """A key: the table it stands in, its type in words, its default as a plan would write it ("" where it must be)."""

    table: str
    name: str
    kind: str
    default: str
    meaning: str

    @property
    def path(self) -> str:
        """Its dotted name."""
        return f"{self.table}.{self.name}" if self.table else self.name


def plan_keys() -> tuple[PlanKey, ...]:
    """Every key of a plan, in the order in which a plan has them."""
    return tuple(
        PlanKey(table, name, kind_of(section, name), _default(section, name), field.description or "")
        for table, section in TABLES.items()
        for name, field in section.model_fields.items()
    )


@cache
def _hints(section: type[PlanSection]) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def kind_of(section: type[PlanSection], key: str) -> str:
    """The type of a key in words, such as "duration" or "list of whole numbers"."""
    return " or ".join(_kind(arm) for arm in arms_of(section, key))


def arms_of(section: type[PlanSection], key: str) -> list[Any]:
    """The types that a value may have: one, or several to choose from."""
    hint = _hints(section)[key]
    if get_origin(hint) in (Union, types.UnionType):
        return [arm for arm in get_args(hint) if arm is not type(None)]
    return [hint]


def words_of(section: type[PlanSection], key: str) -> list[str]:
    """The words that stand for themselves as a value."""
    return [word for arm in arms_of(section, key) if get_origin(arm) is Literal for word in get_args(arm)]


def table_in(section: type[PlanSection], key: str) -> type[PlanSection] | None:
    """The table that a key is a list of, if it is one."""
    entries = get_args(_hints(section)[key]) if key in _hints(section) else ()
    return entries[0] if entries and isinstance(entries[0], type) and issubclass(entries[0], PlanSection) else None


_KINDS: dict[Any, str] = {int: "whole number", float: "number", str: "text", bool: "true or false"}


def _kind(hint: Any) -> str:
    quantity, bare = _quantity(hint), _bare(hint)
    if quantity:
        return quantity.kind
    if get_origin(bare) is Literal:
        return " or ".join(f'"{word}"' for word in get_args(bare))
    if get_origin(bare) is list:
        return f"list of {_plural(_kind(get_args(bare)[0]))}"
    if get_origin(bare) is dict:
        return f"table of {_plural(_kind(get_args(bare)[1]))}"
    return _KINDS.get(bare, "table")


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _quantity(hint: Any) -> PlanQuantity | None:
    return next((mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, PlanQuantity)), None)


def _plural(kind: str) -> str:
    if kind.endswith('"'):  # words to choose from
        return kind
    first, *rest = kind.split(" of ")
    many = f"{first[:-1]}ies" if first.endswith("y") else f"{first}s"
    return " of ".join([many, *rest])


def _default(section: type[PlanSection], key: str) -> str:
    field = section.model_fields[key]
    if field.is_required():
        return ""
    if field.default is None:
        return "none"
    quantity = _quantity(arms_of(section, key)[0])
    return json.dumps(quantity.show(field.default) if quantity else _short(field.default))


def _short(value: Any) -> Any:
    """A value without the ends of whole numbers: 0.0 is 0."""
    if isinstance(value, list):
        return [_short(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value

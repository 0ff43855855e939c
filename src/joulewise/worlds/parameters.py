"""What the parameter classes of this room share: explained fields, checks and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from joulewise.errors import Problem, as_written

Rule = tuple[str, bool, str]
"""A field's name, whether its value is acceptable, and what is allowed."""


def explained(default: Any, text: str, *, file: bool = False, late: bool = False, search: bool = False) -> Any:
    """A dataclass field with a default and the words that schemas and the reference show.

    `file` marks the name of a file, whose content belongs to what the parameters determine. `late` marks a field that
    came after results had been stored: at its default it is no part of their keys, so that they are found again.
    `search` marks a field that says how long or how well something is searched for, and not what.
    """
    return field(default=default, metadata={"help": text, "file": file, "late": late, "search": search})


def broken_rules(prefix: str, parameters: object, rules: Iterable[Rule]) -> Iterator[Problem]:
    """One problem for each rule that does not hold, under the name `prefix.field`."""
    for name, holds, allowed in rules:
        if not holds:
            yield Problem(f"{prefix}.{name}", f"found {as_written(getattr(parameters, name))}", allowed)


def is_positive(*values: float) -> bool:
    """Whether all values are above 0 and finite (NaN is not)."""
    return all(0 < value < math.inf for value in values)


def is_not_negative(*values: float) -> bool:
    """Whether all values are 0 or more and finite (NaN is not)."""
    return all(0 <= value < math.inf for value in values)


def numbered(stem: str, n: int) -> tuple[str, ...]:
    """The names of n things that have none of their own, such as task-01."""
    return tuple(f"{stem}-{number:0{len(str(n))}d}" for number in range(1, n + 1))

"""The errors of Joulewise: every problem says where, what was found, what is allowed and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

_Inputs = ParamSpec("_Inputs")
_Result = TypeVar("_Result")

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that no name has: they steer terminals, turn the direction of text, or are none at all."""


def printable(text: str) -> str:
    """The text as one line that steers no terminal: control characters as Python escapes them."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input; `str(problem)` is the line a user reads, whatever a file had in it."""

    where: str
    found: str
    allowed: str = ""
    advice: str = ""

    def __post_init__(self) -> None:
        for name, text in vars(self).items():
            object.__setattr__(self, name, printable(text))

    def __str__(self) -> str:
        parts = (f"{self.where}: {self.found}", self.allowed, self.advice)
        return "; ".join(part for part in parts if part)


class JoulewiseError(Exception):
    """Anything Joulewise raises on purpose."""


class InputError(JoulewiseError):
    """A user's mistake, with all problems of the input at once."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems

    def __reduce__(self) -> tuple[type[InputError], tuple[Problem, ...]]:
        return (type(self), self.problems)


def as_written(value: object) -> str:
    """A value as a study file writes it: true, 2.5, [1, 2], 'text'."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_written, value))}]"
    return repr(value)


def with_article(noun: str) -> str:
    """A noun behind "a" or "an": an energy, a utility class, an urgency."""
    sounds_open = noun[:1] in "aeio" or noun.startswith("ur")
    return f"{'an' if sounds_open else 'a'} {noun}"


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise one InputError with all the problems, if there are any."""
    found = tuple(problems)
    if found:
        raise InputError(*found)


def check_kinds(*given: tuple[str, object, type, str]) -> None:
    """InputError for each that is not of its kind: its name, what was given, the kind, and what to do."""
    raise_if_any(
        Problem(name, f"found {as_written(value)[:80]}", f"must be {with_article(kind.__name__)}", advice)
        for name, value, kind, advice in given
        if not isinstance(value, kind)
    )


def attempt(
    problems: list[Problem], read: Callable[_Inputs, _Result], *args: _Inputs.args, **kwargs: _Inputs.kwargs
) -> _Result | None:
    """What a function gives; or None, with its problems noted, so that other inputs are looked at too."""
    try:
        return read(*args, **kwargs)
    except InputError as error:
        problems.extend(error.problems)
        return None


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """The valid name that a typo most likely meant, or None when nothing is close."""
    by_fold = {choice.casefold(): choice for choice in choices}
    close = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


def unknown_name(where: str, name: str, choices: Iterable[str]) -> Problem:
    """The problem of a name that is not among the choices, with the nearest one."""
    options = list(choices)
    guess = nearest(name, options)
    return Problem(
        where,
        f"found {name!r}",
        "must be one of " + ", ".join(options),
        f"did you mean {guess!r}?" if guess else "",
    )

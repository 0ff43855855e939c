"""What a page can be asked: wishes with a key each, all of them in the query of its address."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from joulewise.errors import InputError, Problem, attempt, raise_if_any, unknown_name

_MANY = 1e5
LONGEST = 200
"""So many characters may a value in a query have."""
MOST_TEXT_BYTES = 1_000_000
"""A text that is sent to us may be so long."""


@dataclass(frozen=True)
class Wish:
    """Something that can be asked by a key of the query; `help` is a sentence on it."""

    key: str
    label: str
    help: str = ""
    form: ClassVar[str] = ""

    @property
    def usual(self) -> Any:
        """What is taken where nothing is asked."""
        raise NotImplementedError

    def read(self, text: str) -> Any:
        """The value that a text stands for; InputError where it stands for none."""
        raise NotImplementedError

    def written(self, value: Any) -> str:
        """The text that stands for a value."""
        return str(value)


@dataclass(frozen=True)
class Choice(Wish):
    """One of several; `options` are what they are called, by the text that stands for them."""

    options: Mapping[str, str] = None  # type: ignore[assignment]
    default: str = ""
    form: ClassVar[str] = "choice"

    @property
    def usual(self) -> str:
        """The default, or the first one."""
        return self.default or next(iter(self.options), "")

    def read(self, text: str) -> str:
        """The text, if it is one of the options."""
        if text not in self.options and text != self.usual:
            raise InputError(unknown_name(self.key, text, self.options))
        return text


@dataclass(frozen=True)
class Hidden(Choice):
    """One of several that links set, and no form offers; it stays as it is while other things are asked."""

    form: ClassVar[str] = "hidden"


@dataclass(frozen=True)
class Flag(Wish):
    """Yes or no."""

    default: bool = False
    form: ClassVar[str] = "choice"
    options: ClassVar[Mapping[str, str]] = {"no": "no", "yes": "yes"}

    @property
    def usual(self) -> bool:
        """The default."""
        return self.default

    def read(self, text: str) -> bool:
        """Whether it is yes."""
        if text not in self.options:
            raise InputError(unknown_name(self.key, text, self.options))
        return text == "yes"

    def written(self, value: bool) -> str:
        """Yes or no."""
        return "yes" if value else "no"


@dataclass(frozen=True)
class Number(Wish):
    """A number from `low` to `high` in steps of `step`, in a `unit` that is told beside it; a slider on the page.

    Between steps it may be too, unless it `is_whole`.
    """

    low: float = 0.0
    high: float = 1.0
    step: float = 0.01
    default: float = 0.0
    unit: str = ""
    is_whole: bool = False
    form: ClassVar[str] = "number"

    @property
    def usual(self) -> float:
        """The default."""
        return self.default

    def read(self, text: str) -> float:
        """The number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        low, high = (float(self.written(end)) for end in (self.low, self.high))
        if not min(self.low, low) <= value <= max(self.high, high) or (self.is_whole and not value.is_integer()):
            unit, kind = f" {self.unit}" if self.unit else "", "whole number" if self.is_whole else "number"
            allowed = f"must be a {kind} from {self.told(self.low)} to {self.told(self.high)}{unit}"
            raise InputError(Problem(self.key, f"found {text!r}", allowed))
        return value

    def written(self, value: float) -> str:
        """The number, without an end that says nothing."""
        return f"{value:.12g}"

    def told(self, value: float) -> str:
        """The number as people read it."""
        return f"{value:.5g}" if abs(value) < _MANY else f"{value:.0f}"


def around(
    key: str, label: str, help_: str, usual: float, unit: str = "", *, least: float = 0.25, most: float = 4.0
) -> Number:
    """A slider from a part of what is usual to several times as much, in round steps."""
    exact = float(f"{usual:.12g}")
    if exact <= 0:
        return Number(key, label, help_, min(exact, 0.0), 1.0, 0.01, exact, unit)
    step = 10.0 ** (math.floor(math.log10(exact)) - 2)
    low, high = (math.floor(least * exact / step), math.ceil(most * exact / step))
    return Number(key, label, help_, low * step, high * step, step, exact, unit)


@dataclass(frozen=True)
class Text(Wish):
    """A short text."""

    default: str = ""
    form: ClassVar[str] = "text"

    @property
    def usual(self) -> str:
        """The default."""
        return self.default

    def read(self, text: str) -> str:
        """The text as it is."""
        return text


@dataclass(frozen=True)
class Asked:
    """What was asked: the value of every wish, by its key."""

    wishes: Sequence[Wish]
    values: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    @property
    def texts(self) -> dict[str, str]:
        """The values as texts, by key."""
        return {wish.key: wish.written(self.values[wish.key]) for wish in self.wishes}

    def query(self, **changes: Any) -> str:
        """The query of an address that asks the same but for these changes; what is usual is left out."""
        values = {**self.values, **changes}
        told = [(wish.key, wish.written(values[wish.key])) for wish in self.wishes if values[wish.key] != wish.usual]
        return f"?{urlencode(told)}" if told else "?"


def asked(wishes: Sequence[Wish], query: Iterable[tuple[str, str]]) -> Asked:
    """What a query asks; InputError with all its problems: keys that are none, or twice, and values that are none."""
    problems: list[Problem] = []
    by_key = {wish.key: wish for wish in wishes}
    values = {wish.key: wish.usual for wish in wishes}
    seen: set[str] = set()
    for key, text in query:
        if key not in by_key:
            problems.append(unknown_name("the address", key[:LONGEST], by_key) if by_key else _no_keys(key))
        elif key in seen:
            problems.append(Problem(key, "stands twice in the address", "may stand once"))
        elif len(text) > LONGEST:
            problems.append(Problem(key, f"found {len(text):,} characters", f"may have {LONGEST}"))
        elif text or isinstance(by_key[key], Text):
            values[key] = attempt(problems, by_key[key].read, text)
        seen.add(key)
    raise_if_any(problems)
    return Asked(wishes, values)


def _no_keys(key: str) -> Problem:
    return Problem("the address", f"found {key[:LONGEST]!r}", "this page takes no keys")

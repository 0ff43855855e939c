"""Ranges in place of values: a Latin hypercube draws points that fill them evenly, each key by a stream of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from joulewise.errors import Problem, as_written, raise_if_any, unknown_name
from joulewise.rng import generator
from joulewise.study.spec import parameters

_FROM, _TO, _LOG = "from", "to", "log"
KEYS = (_FROM, _TO, _LOG)
_FIGURES = 6
"""Values are drawn to so many figures, for people to read."""


@dataclass(frozen=True)
class Range:
    """Where the values of a key may lie, both ends among them; `unit` is that in which a study file gives them."""

    first: float
    last: float
    is_log: bool
    is_whole: bool
    unit: str

    def at(self, share: float) -> float | int | str:
        """The value so far along the range, from 0 to below 1, as a study file gives it."""
        last = self.last + 1 if self.is_whole else self.last
        value = self.first + (last - self.first) * share
        if self.is_log:
            value = self.first * math.exp(math.log(last / self.first) * share)
        if self.is_whole:
            return min(math.floor(value), int(self.last))
        value = min(max(float(f"{value:.{_FIGURES}g}"), self.first), self.last)
        return f"{value!r} {self.unit}" if self.unit else value


def is_range(value: Any, hint: Any) -> bool:
    """Whether a value is meant as a range of what a key takes."""
    return isinstance(value, dict) and bool({_FROM, _TO} & value.keys()) and not parameters.table_of(hint)


def range_of(owner: type, section: Mapping[str, Any], key: str, where: parameters.Where) -> Range:
    """The range that a key of a section has; InputError with all that is wrong with it."""
    name = parameters.fields_by_key(owner)[key]
    hint, given = parameters.hints_of(owner)[name], section[key]
    unit = parameters.unit_of(name, hint)
    raise_if_any(_problems(owner, section, key, where))
    first, last = (unit.parse(given[end]) if unit else given[end] for end in (_FROM, _TO))
    raise_if_any(_misfits(first, last, given, where(key)))
    is_whole = parameters.is_whole(hint)
    return Range(first, last, given.get(_LOG, False), is_whole, unit.name if unit else "")


def _problems(owner: type, section: Mapping[str, Any], key: str, where: parameters.Where) -> Iterator[Problem]:
    """What is wrong with a range by its parts."""
    given, name = section[key], parameters.fields_by_key(owner)[key]
    if not parameters.is_number(parameters.hints_of(owner)[name]):
        yield Problem(where(key), f"found {as_written(given)}", "only one number or quantity may have a range")
        return
    for other in given.keys() - set(KEYS):
        yield unknown_name(where(f"{key}.{other}"), other, KEYS)
    if not isinstance(given.get(_LOG, False), bool):
        yield Problem(where(f"{key}.{_LOG}"), f"found {as_written(given[_LOG])}", "must be true or false")
    for end in (_FROM, _TO):
        place = where(f"{key}.{end}")
        if end not in given:
            yield Problem(place, parameters.MISSING, "must be given: a range has from and to")
            continue
        _, problems = parameters.read(owner, {**section, key: given[end]}, str)
        yield from (replace(problem, where=place) for problem in problems if problem.where == key)


def _misfits(first: float, last: float, given: Mapping[str, Any], place: str) -> Iterator[Problem]:
    """What is wrong with the ends of a range together."""
    found = f"found from {as_written(given[_FROM])} to {as_written(given[_TO])}"
    if first >= last:
        yield Problem(place, found, "the end of a range must be above its beginning")
    elif given.get(_LOG) and first <= 0:
        yield Problem(place, found, "a range with log must begin above 0")


def draw(ranges: Mapping[str, Range], section: str, seed: int, n_samples: int) -> list[dict[str, Any]]:
    """The values of each sample: each key has one in each of as many equal parts of its range, in an order of its own.

    They depend on the seed, the number of samples and the key alone, not on what else the file has.
    """
    samples: list[dict[str, Any]] = [{} for _ in range(n_samples)]
    for key, of_key in ranges.items():
        rng = generator(seed, "samples", f"{section}.{key}")
        shares = (rng.permutation(n_samples) + rng.random(n_samples)) / n_samples
        for sample, share in zip(samples, shares.tolist(), strict=True):
            sample[key] = of_key.at(share)
    return samples

"""What is compared: the runs of a results folder, or those of them that have some values of study keys.

A text such as `results/day:policy=easy,pue=1.5` names a folder and values; keys need their section where several
sections have one of that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from joulewise.errors import InputError, Problem, attempt, raise_if_any, unknown_name
from joulewise.study.answers.results import Results, open_results
from joulewise.study.parsing.study import VARIANT
from joulewise.study.spec.parameters import UNITS, shown
from joulewise.study.spec.trials import FIRST_TUNING
from joulewise.study.store.store import DONE, FAILED
from joulewise.study.store.tables import is_study_key

Studied = Results | Path | str
"""What people give: results, their folder, or a text of folder and values."""

_CHOICE = re.compile(r"(?P<folder>.+?):(?P<choice>[A-Za-z_][\w.]*=.*)", re.DOTALL)
_NEXT = re.compile(r",(?=[A-Za-z_][\w.]*=)")
"""What stands before a further key; other commas are of a value, such as a list."""


@dataclass(frozen=True)
class Side:
    """Results, the values of study keys that were chosen from them, and what they are called."""

    results: Results
    chosen: Mapping[str, Any]
    label: str = ""

    @property
    def rows(self) -> pl.LazyFrame:
        """The chosen runs that judge, those without a result among them."""
        return self._chosen_of(self.results.judging())

    @property
    def runs(self) -> pl.LazyFrame:
        """The chosen runs that have a result."""
        return self.rows.filter(pl.col("status") == DONE)

    @property
    def n_failed(self) -> int:
        """How many of the chosen runs have no result."""
        return int(self.rows.filter(pl.col("status") == FAILED).select(pl.len()).collect().item())

    @property
    def n_tuning(self) -> int:
        """How many of the chosen runs only tuned values."""
        tuning = self.results.scan().filter(pl.col("trial") >= FIRST_TUNING)
        return int(self._chosen_of(tuning).select(pl.len()).collect().item())

    def _chosen_of(self, runs: pl.LazyFrame) -> pl.LazyFrame:
        """Those of some runs that have the chosen values."""
        return runs.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in self.chosen.items()))

    @cached_property
    def said(self) -> dict[str, list[Any]]:
        """The values of each column that says what was run, as they come; one column at a time is in memory."""
        return {
            name: self.rows.select(pl.col(name)).unique(maintain_order=True).collect(engine="streaming")[name].to_list()
            for name in ("seed", "bound", *self.keys)
        }

    @property
    def place(self) -> str:
        """The folder and what was chosen from it, which no other side has."""
        chosen = ",".join(f"{key}={value}" for key, value in self.chosen.items())
        return f"{self.results.folder}:{chosen}" if chosen else str(self.results.folder)

    @property
    def is_resampled(self) -> bool:
        """Whether trials are resamples of a log."""
        return self.results.is_resampled

    def is_part_of(self, other: Side) -> bool:
        """Whether all runs of this side are runs of the other."""
        is_same = self.results.folder.resolve() == other.results.folder.resolve()
        return is_same and self.chosen.items() >= other.chosen.items()

    @property
    def keys(self) -> list[str]:
        """The columns that say what was run."""
        return keys_of(self.results)


def keys_of(results: Results) -> list[str]:
    """The columns of results that say what was run, the variant first."""
    return [name for name in results.columns if name == VARIANT or is_study_key(name)]


def axes_of(sides: Iterable[Side]) -> dict[str, None]:
    """The keys that some side sweeps, in the order of the studies."""
    return dict.fromkeys(axis for side in sides for axis in side.results.axes)


def sides_of(studies: Sequence[Studied]) -> tuple[Side, ...]:
    """What is compared, each named so that it is told from the others; InputError with every problem at once.

    Refused are fewer than two, studies of different kinds, and the same runs twice.
    """
    if len(studies) < 2:
        advice = "give another folder, or points of this one, such as FOLDER:policy=easy FOLDER:policy=fcfs"
        raise InputError(Problem("compare", f"found {len(studies)} to compare", "there must be two at least", advice))
    problems: list[Problem] = []
    opened: dict[Path, Results] = {}
    found = [attempt(problems, _side, studied, opened) for studied in studies]
    raise_if_any(problems)
    sides = [side for side in found if side is not None]
    raise_if_any(_other_kinds(sides))
    raise_if_any(_same_runs(sides))
    return _labelled(sides)


def _side(studied: Studied, opened: dict[Path, Results]) -> Side:
    if isinstance(studied, Results):
        return Side(studied, {})
    folder, choice = _split(studied)
    if folder not in opened:
        opened[folder] = open_results(folder)
    chosen = _chosen(opened[folder], choice)
    return Side(opened[folder], chosen)


def _split(studied: Path | str) -> tuple[Path, list[str]]:
    """A folder, and what was chosen of it; a folder that is there is taken as it is."""
    match = None if Path(studied).exists() else _CHOICE.fullmatch(str(studied))
    return (Path(match["folder"]), _NEXT.split(match["choice"])) if match else (Path(studied), [])


def _chosen(results: Results, choices: Sequence[str]) -> dict[str, Any]:
    """The column and the value of each choice; InputError for keys and values that the runs do not have."""
    problems: list[Problem] = []
    found = [attempt(problems, _choice, results, choice) for choice in choices]
    raise_if_any(problems)
    chosen = [choice for choice in found if choice is not None]
    keys = [key for key, _ in chosen]
    raise_if_any(
        Problem(str(results.folder), f"found {key!r} {keys.count(key)} times", "must be chosen once")
        for key in dict.fromkeys(keys)
        if keys.count(key) > 1
    )
    return dict(chosen)


def _choice(results: Results, choice: str) -> tuple[str, Any]:
    key, _, text = choice.partition("=")
    column = _column(results, key)
    values = (
        results.judging().select(pl.col(column).unique(maintain_order=True).drop_nulls()).collect()[column].to_list()
    )
    found = [value for value in values if _is_said(column, value, text)]
    if not found:
        options = [shown(column, value) if not isinstance(value, str) else value for value in values]
        raise InputError(unknown_name(f"{results.folder}: {column}", text, options or ["nothing: it has no value"]))
    return column, found[0]


def _column(results: Results, key: str) -> str:
    """The column that a key means, named whole, without its section, or as a study file writes it."""
    columns = keys_of(results)
    ways: tuple[Callable[[str], set[str]], ...] = (
        lambda column: {column},
        lambda column: {_without_unit(column)},
        lambda column: {_end(column), _without_unit(_end(column))},
    )
    for way in ways:
        meant = [column for column in columns if key in way(column)]
        if len(meant) == 1:
            return meant[0]
        if meant:
            advice = f"write one of {', '.join(meant)}"
            raise InputError(Problem(str(results.folder), f"found {key!r}", "several sections have it", advice))
    advice = unknown_name("", key, map(_end, columns)).advice
    swept = ", ".join(results.axes)
    raise InputError(
        Problem(str(results.folder), f"found {key!r}", f"must be a key of the study; swept: {swept}", advice)
    )


def _end(column: str) -> str:
    return column.rpartition(".")[2]


def _without_unit(column: str) -> str:
    return column[:-2] if column[-2:] in UNITS else column


def _is_said(column: str, value: object, text: str) -> bool:
    """Whether a text means a value: as it is stored, as a study file writes it, or another way to write its number."""
    if text in (str(value), shown(column, value)):
        return True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and any(number == value for number in _numbers(column, text))


def _numbers(column: str, text: str) -> Iterator[float]:
    """What a text may mean as a number: 33_000, 33,000, or a quantity such as "10 min"."""
    unit = UNITS.get(column[-2:])
    readers: list[Callable[[str], float]] = [_plain_number, *([unit.parse] if unit else [])]
    for read in readers:
        with suppress(ValueError):
            yield read(text)


def _plain_number(text: str) -> float:
    return float(text.replace(",", ""))


def _other_kinds(sides: Sequence[Side]) -> Iterator[Problem]:
    """The sides that are of another kind than the first."""
    first = sides[0].results.study.kind
    for side in sides[1:]:
        kind = side.results.study.kind
        if kind.name != first.name:
            allowed = f"must be of the same kind as {sides[0].results.folder}, {first.name!r}"
            advice = "compare studies whose results have the same columns"
            yield Problem(str(side.results.folder), f"holds a study of the kind {kind.name!r}", allowed, advice)


def _same_runs(sides: Sequence[Side]) -> Iterator[Problem]:
    """The sides whose runs another has: these would be held against themselves."""
    for one, other in combinations(sides, 2):
        if one.is_part_of(other) or other.is_part_of(one):
            yield Problem(other.place, "is named twice", f"{one.place} has the same runs", "name other points")


def chosen_of_all(sides: Sequence[Side]) -> dict[str, Any]:
    """The values that were chosen from every side."""
    first, *others = (side.chosen for side in sides)
    return {key: value for key, value in first.items() if all(key in one and one[key] == value for one in others)}


def in_words(chosen: Mapping[str, Any]) -> str:
    """Chosen values in short: names stand alone, all else with its key."""
    told = (
        value if isinstance(value, str) else f"{_without_unit(_end(key)).replace('_', ' ')} {shown(key, value)}"
        for key, value in chosen.items()
    )
    return ", ".join(told)


def _labelled(sides: Sequence[Side]) -> tuple[Side, ...]:
    """The sides, called by the shortest way that tells them apart."""
    of_all = chosen_of_all(sides)
    own = [in_words({key: value for key, value in side.chosen.items() if key not in of_all}) for side in sides]
    names = [side.results.study.name for side in sides]
    folders = [str(side.results.folder) for side in sides]
    words = [mine or name for mine, name in zip(own, names, strict=True)]
    ways = (names, words, _both(names, own), folders, _both(folders, own), [side.place for side in sides])
    labels = next(labels for labels in ways if len(set(labels)) == len(sides))
    return tuple(replace(side, label=label) for side, label in zip(sides, labels, strict=True))


def _both(names: Sequence[str], own: Sequence[str]) -> list[str]:
    return [f"{name}: {mine}" if mine else name for name, mine in zip(names, own, strict=True)]

"""What searches of all systems share when they are checked, judged and put into words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joulewise.errors import Problem
from joulewise.study.searches.agreement import differs
from joulewise.study.spec.parameters import UNITS, hints_of, key_of, shown
from joulewise.study.spec.parts import Part
from joulewise.study.store.store import Tables

if TYPE_CHECKING:
    import polars as pl


def unused_supply(supply: Part, keys: Sequence[str]) -> Iterator[Problem]:
    """The keys of the supply that mean nothing for what is sought."""
    owner: type = type(supply.parameters)
    written = {name: key_of(name, hint) for name, hint in hints_of(owner).items()}
    useful = ", ".join(written[name] for name in keys)
    allowed = f"of [supply], this goal uses only {useful}" if keys else "this goal uses nothing of [supply]"
    for field in dataclasses.fields(supply.parameters):
        value = getattr(supply.parameters, field.name)
        if field.name not in keys and value != field.default:
            yield Problem(f"supply.{written[field.name]}", f"found {shown(field.name, value)}", allowed, "leave it out")


def judge_cells(runs: pl.DataFrame, said: pl.DataFrame) -> list[list[str]]:
    """For each run, which columns do not say what was run; `said` has those that the study gives."""
    problems: list[list[str]] = [[] for _ in range(said.height)]
    for name in said.columns:
        stored = runs[name].to_list() if name in runs.columns else [None] * said.height
        for found, there, anew in zip(problems, stored, said[name].to_list(), strict=True):
            if type(there) is not type(anew) or there != anew:
                found.append(f"runs: {name}: {there!r} is stored, {anew!r} was run")
    return problems


def judge_columns(row: Mapping[str, Any], columns: Mapping[str, Any], *, is_whole: bool = True) -> Iterator[str]:
    """Which columns of a run's row do not come out; those that are not computed must be empty if that `is_whole`."""
    for name in dict.fromkeys((*columns, *(row if is_whole else ()))):
        yield from _differs(f"runs: {name}", row.get(name), columns.get(name))


def _differs(what: str, stored: object, anew: object) -> Iterator[str]:
    """That two values of one cell differ; a number is never a text, and nothing is also not a number."""
    kinds = [str if isinstance(value, str) else float for value in (stored, anew) if value is not None]
    if kinds and kinds[0] is kinds[-1] is float:
        yield from differs(what, stored, anew)
    elif stored != anew:
        yield f"{what}: {stored!r} is stored, {anew!r} comes out"


def judge_tables(stored: Tables, made: Tables, is_measured: Callable[[str, str], bool]) -> Iterator[str]:
    """Which stored detail tables do not come out, but for columns that measure the computer."""
    for name, table in stored.items():
        if name not in made:
            yield f"{name}: a table is stored, none comes out"
        elif set(table.columns) != set(made[name].columns):
            there, anew = (", ".join(sorted(each.columns)) for each in (table, made[name]))
            yield f"{name}: the columns {there} are stored, {anew} come out"
        elif table.height != made[name].height:
            yield f"{name}: {table.height} rows are stored, {made[name].height} come out"
        else:
            checked = (column for column in table.columns if not is_measured(name, column))
            for column in checked:
                yield from _judge_column(f"{name}: {column}", table[column], made[name][column])


def _judge_column(what: str, stored: pl.Series, anew: pl.Series) -> Iterator[str]:
    import polars as pl

    if stored.dtype.is_numeric() and anew.dtype.is_numeric():
        yield from differs(what, stored.cast(pl.Float64), anew.cast(pl.Float64))
        return
    if stored.dtype.is_numeric():
        yield f"{what}: numbers are stored, text comes out"
        return
    there, expected = stored.cast(pl.String, strict=False), anew.cast(pl.String)
    wrong = there.ne_missing(expected)
    if wrong.any():
        first = int(wrong.arg_max() or 0)
        yield f"{what}: {there[first]!r} is stored in row {first}, {expected[first]!r} comes out"


def place_of(row: Mapping[str, Any], runs: pl.DataFrame, axes: Sequence[str]) -> str:
    """Which of the runs a row is, by what differs between them: "profit_ratio 1.5, trial 2"; "" where they are one."""
    varying = [axis for axis in axes if runs[axis].n_unique() > 1]
    values = [f"{_key(axis, row[axis])} {_value(axis, row[axis])}" for axis in varying]
    return ", ".join([*values, f"trial {row['trial']}"] if runs["trial"].n_unique() > 1 else values)


def _key(axis: str, value: object) -> str:
    name = axis.rpartition(".")[2]
    return name[:-2] if name[-2:] in UNITS and isinstance(value, float) else name


def _value(axis: str, value: object) -> str:
    return value if isinstance(value, str) else shown(axis, value)

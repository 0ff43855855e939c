"""What searches of all systems share when they are checked, judged and put into words."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joulewise.errors import Problem
from joulewise.study.agreement import differs
from joulewise.study.parameters import UNITS, hints_of, key_of, shown
from joulewise.study.spec import Part
from joulewise.study.store import Tables

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


def judge_columns(row: Mapping[str, Any], columns: Mapping[str, Any]) -> Iterator[str]:
    """Which columns of a run's row do not come out."""
    for name, value in columns.items():
        if isinstance(value, str):
            if row[name] != value:
                yield f"runs: {name}: {row[name]!r} is stored, {value!r} comes out"
        else:
            yield from differs(f"runs: {name}", row[name], value)


def judge_tables(stored: Tables, made: Tables) -> Iterator[str]:
    """Which detail tables do not come out."""
    import polars as pl

    for name, table in stored.items():
        anew = made[name]
        if table.height != anew.height:
            yield f"{name}: {table.height} rows are stored, {anew.height} come out"
            continue
        for column, kind in anew.schema.items():
            if kind.is_numeric():
                yield from differs(f"{name}: {column}", *(each[column].cast(pl.Float64) for each in (table, anew)))
            elif not (table[column].cast(pl.String) == anew[column].cast(pl.String)).all():
                yield f"{name}: {column}: what is stored does not come out"


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

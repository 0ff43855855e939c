"""Records of what is in memory, as those of a finished study, so that figures of reports draw it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise._version import __version__
from joulewise.present.page import drawable, page_of
from joulewise.present.records import POSSIBLE, Records, StudyInfo
from joulewise.study.answers import statistics
from joulewise.study.kinds.kind import Kind
from joulewise.study.searches.bounds import TRIVIAL
from joulewise.study.store.store import DONE, Tables

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures

Run = tuple[Mapping[str, Any], Tables]
"""The columns of a run, and its detail tables."""


def pictures_of(kind: Kind, runs: Mapping[str, Run], *, is_proven: bool = True) -> Pictures:
    """The figures that a report on such a study would have of these runs, by name; bounds are proven, or trivial."""
    records = records_of(kind, runs, is_proven=is_proven)
    return {figure.name: partial(figure.draw, records) for figure in drawable(records)}


def records_of(kind: Kind, runs: Mapping[str, Run], *, is_proven: bool = True) -> Records:
    """Records of one trial in which these runs, by name, are what is compared."""
    key, bound = kind.main_axis, "" if is_proven else TRIVIAL
    rows = [
        {key: name, "run": str(i), "trial": 0, "status": DONE, "bound": bound, **columns}
        for i, (name, (columns, _)) in enumerate(runs.items())
    ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    compared = [POSSIBLE] if POSSIBLE in table.columns and len(rows) > 1 else []
    return Records(
        StudyInfo("", 0, 1, (key,), "", __version__, kind=kind.name),
        table,
        statistics.summary(table, (key,), kind.metrics(table.columns)),
        statistics.differences(table, (key,), compared, key) if compared else pl.DataFrame(),
        titles={name: name for name in runs},
        frames=_frames([tables for _, tables in runs.values()]),
        keys=page_of(kind.name).keys,
        headings=kind.headings(),
    )


def _frames(runs: list[Tables]) -> dict[str, pl.DataFrame]:
    """The detail tables of all runs by name, each row with its run."""
    names = dict.fromkeys(name for tables in runs for name in tables)
    return {name: pl.concat(_numbered(runs, name), how="diagonal_relaxed") for name in names}


def _numbered(runs: list[Tables], name: str) -> list[pl.DataFrame]:
    """A detail table of each run that has it, with the run."""
    there = ((str(i), tables[name]) for i, tables in enumerate(runs) if name in tables)
    return [table.select(pl.lit(run).alias("run"), pl.all()) for run, table in there]

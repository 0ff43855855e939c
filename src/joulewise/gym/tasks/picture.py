"""A day so far as the report draws it."""

from __future__ import annotations

import polars as pl

from joulewise._version import __version__
from joulewise.model.allocation import Allocation
from joulewise.model.world import World
from joulewise.present.export import render, spec_of
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tasks.gantt import has_runs, task_gantt
from joulewise.study.spec.column import RECORDS
from joulewise.study.tasks.tables import records

_RUN = "day"
_NO_SUMMARY = pl.DataFrame(
    schema={"metric": pl.String, **dict.fromkeys(("mean", "low", "high"), pl.Float64), "n": pl.Int64}
)
_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def gantt(world: World, allocation: Allocation) -> str:
    """The Gantt chart of an allocation as an SVG; an empty one before the first run."""
    info = StudyInfo(_RUN, seed=0, trials=1, axes=(), source="", version=__version__)
    runs, table = pl.DataFrame({"run": [_RUN], "trial": [0]}), records(world, allocation)
    frames = {RECORDS: table.select(pl.lit(_RUN).alias("run"), pl.all())}
    day = Records(info, runs, _NO_SUMMARY, pl.DataFrame(), frames=frames)
    return str(render(spec_of(task_gantt(day).chart), "svg")) if has_runs(day) else _EMPTY

"""What running a study costs and what verifying it does, as its kind estimates it: what is stored may be anybody's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from joulewise.study.running.planning import Plan
from joulewise.study.running.work import evenly
from joulewise.study.spec.run import Run
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    import polars as pl

_UNKNOWN_S = 1.0
"""What a run is taken to cost where its kind does not say."""
_COMPARE_S = 0.03
"""What it takes to hold the columns and tables of a run against what comes out."""
_SECONDS = ("run_s", "world_s", "judge_s", "check_s")


def costs_of(runs: Plan, is_judged: Sequence[bool]) -> pl.DataFrame:
    """Each row of a study, with numbers for its run, world, point and `place` among sections of worlds, and seconds.

    These are of an ordinary processor: `run_s` to run it, `world_s` to make its world with its bound, `judge_s` to
    compute it again and judge it, nothing unless it `is_judged`, and `check_s` to make and check its world.
    """
    import polars as pl

    once, points = ["point", "keep"], pl.Series(runs.places.point)
    numbers = [pl.col("run", "world").rank("dense"), "keep"]  # keys of a million runs would take much memory
    table = runs.table.select(numbers).with_row_index("at").with_columns(point=points)
    ways = evenly(table.unique(once, keep="first", maintain_order=True)["at"].to_list())
    with TemporaryDirectory() as nothing:
        found = pl.DataFrame([_seconds(runs, runs[at], Store(Path(nothing))) for at in ways], _SECONDS, orient="row")
    found = found.with_columns(table.select(once)[ways])
    usual = [pl.col(name).fill_null(found[name].mean()) for name in _SECONDS]
    costs = table.join(found, on=once, how="left", maintain_order="left").with_columns(usual)
    of_world = [pl.col(name).max().over("world") for name in ("world_s", "check_s")]
    costs = costs.with_columns(*of_world, is_judged=pl.Series(is_judged, dtype=pl.Boolean), place=_places(runs)[points])
    return costs.with_columns(pl.col("judge_s") * pl.col("is_judged"))


def running_s(costs: pl.DataFrame) -> float:
    """What it costs to run all of these, each computation once."""
    return float(costs.unique("run")["run_s"].sum()) + float(costs.unique("world")["world_s"].sum())


def verifying_s(costs: pl.DataFrame) -> float:
    """What it costs to verify all of these."""
    return float(costs["judge_s"].sum()) + float(costs.unique("world")["check_s"].sum())


def _seconds(runs: Plan, run: Run, nothing: Store) -> tuple[float, ...]:
    """The seconds of one run, by an empty store, so that the bound of its world counts."""
    kind, folder = runs.study.kind, runs.study.folder
    once_s, twice_s = (kind.seconds([run] * n, nothing, folder) for n in (1, 2))
    run_s = max(twice_s - once_s, 0.0) if once_s else _UNKNOWN_S
    world_s = max(once_s - run_s, 0.0)
    return run_s, world_s, run_s + _COMPARE_S + kind.judging([run], folder), kind.checking * world_s


def _places(runs: Plan) -> pl.Series:
    """The number of the sections of its world, for each point of the study."""
    import polars as pl

    numbers: dict[object, int] = {}
    return pl.Series([numbers.setdefault(point.world, len(numbers)) for point in runs.study.points])

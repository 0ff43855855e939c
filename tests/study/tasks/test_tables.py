"""Records and traces hold what the run did, with nulls for what never was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from joulewise.model import Allocation
from joulewise.study import plan
from joulewise.study.spec.column import RECORDS, TRACES
from joulewise.study.spec.source import Draw
from joulewise.study.tasks import tables as details
from joulewise.study.tasks.day import ManagedKind
from tests.strategies.small import run_small, small


def test_records_and_trace_add_up_to_the_run(tmp_path: Path) -> None:
    results = run_small(tmp_path)
    traces = results.details(TRACES).partition_by("run", as_dict=True)
    for row in results.runs.filter(pl.col("trial") == 0).iter_rows(named=True):
        records, trace = results.records(row["run"]), traces[row["run"],]
        assert records["utility"].sum() == pytest.approx(row["utility"])
        assert trace["utility_cumulative"][0] == 0
        assert trace["utility_cumulative"][-1] == pytest.approx(row["utility"])
        assert trace["utility_cumulative"].is_sorted()
        assert (trace["at_s"][0], trace["at_s"][-1], trace.height) == (600, 600 + 7200, 121)
        assert records["arrival_s"].is_sorted()


def test_what_a_task_never_had_is_null(tmp_path: Path) -> None:
    results = run_small(tmp_path)
    row = results.runs.filter(pl.col("manager.dropping_threshold") > 0).row(0, named=True)
    records = results.records(row["run"])
    did_not = records.filter(pl.col("fate") != "ran")
    assert not did_not.is_empty()
    for name in ("machine", "machine_type", "pstate", "start_s", "end_s", "utility"):
        assert did_not[name].null_count() == did_not.height
        assert records.filter(pl.col("fate") == "ran")[name].null_count() == 0


def test_records_give_the_allocation_back() -> None:
    run = plan(small())[0]
    world = ManagedKind().build_world(run.point.world, Draw(run.seed, run.trial, Path()))
    rng = np.random.default_rng(0)
    n = world.workload.n_tasks
    status = rng.integers(0, 3, n, dtype=np.int8)
    ran = status == 1
    allocation = Allocation(
        machine=np.where(ran, rng.integers(0, world.system.n_machines, n), -1),
        pstate=np.where(ran, 0, -1),
        start_s=np.where(ran, rng.uniform(0, 100, n), np.nan),
        end_s=np.where(ran, rng.uniform(100, 200, n), np.nan),
        status=status,
    )
    back = details.allocation_of({RECORDS: details.records(world, allocation)})
    for name in ("machine", "pstate", "start_s", "end_s", "status"):
        np.testing.assert_array_equal(getattr(back, name), getattr(allocation, name))


def test_a_trace_without_any_task_that_ran_stays_at_zero() -> None:
    run = plan(small())[0]
    world = ManagedKind().build_world(run.point.world, Draw(run.seed, run.trial, Path()))
    n = world.workload.n_tasks
    nothing = Allocation(np.full(n, -1), np.full(n, -1), np.full(n, np.nan), np.full(n, np.nan), np.zeros(n, np.int8))
    assert details.trace(world, nothing)["utility_cumulative"].to_list() == [0.0] * 121

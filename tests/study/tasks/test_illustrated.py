"""Tables that show a world are what its generators and its engine say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.study.catalogue import ILLUSTRATIONS
from joulewise.study.tasks.illustrated import (
    EXECUTING,
    PENDING,
    ShownDay,
    TaskLevels,
    arrival_rates,
    arrivals_by_minute,
    interval_starts,
    level_names,
    queues_at,
    shown_day,
    utility_curves,
)
from joulewise.worlds.rates import is_special
from joulewise.worlds.tasks.day import generate_workload
from tests.twins.tasks.managed import queues_after

HIGH = TaskLevels("high", "high", "B")


@cache
def day(variant: str) -> ShownDay:
    return shown_day(ILLUSTRATIONS.study(), variant)


def small_day(seed: int, tasks_per_day: float) -> ShownDay:
    """Four machines with other tasks."""
    four = day("four machines")
    parameters = replace(four.parameters, tasks_per_day=tasks_per_day)
    work = generate_workload(parameters, four.world.system, seed, 0)
    return four._replace(world=replace(four.world, workload=work), parameters=parameters)


@given(seed=st.integers(0, 99), tasks_per_day=st.sampled_from([200.0, 600.0, 900.0]), event=st.integers(1, 150))
def test_queues_are_those_that_the_slow_twin_has_after_the_event(seed: int, tasks_per_day: float, event: int) -> None:
    shown, event_s = small_day(seed, tasks_per_day), 60.0 * event
    if shown.world.workload.arrival_s[0] > event_s:
        return
    table = queues_at(shown, event_s)
    ours = [table.filter(pl.col("machine") == m)["task"].to_list() for m in range(4)]
    assert ours == queues_after(shown.world, shown.manager, event_s)


def test_a_machine_executes_one_task_and_has_one_pending() -> None:
    table = queues_at(day("four machines"), 10_800.0)
    for slot in (EXECUTING, PENDING):
        assert table.filter(pl.col("slot") == slot)["machine"].to_list() == [0, 1, 2, 3]
    executing = table.filter(pl.col("slot") == EXECUTING)
    assert (executing["start_s"] <= 10_800.0).all()
    assert (table.filter(pl.col("slot") != EXECUTING)["start_s"] > 10_800.0).all()
    assert table["task"].is_unique().all()


def test_curves_start_at_the_priority_and_fall_after_the_first_interval() -> None:
    shown = day("published day")
    levels = [HIGH._replace(priority=name) for name in level_names(shown)["priority"]]
    table = utility_curves(shown, levels, 60.0)
    first_min = interval_starts(shown, HIGH)[1]
    held = table.filter(pl.col("at_min") < first_min)
    assert dict(held.group_by("priority").agg(pl.col("utility").unique().first()).iter_rows()) == dict(
        zip(level_names(shown)["priority"], shown.parameters.priority_values, strict=True)
    )
    assert all(part["utility"].is_sorted(descending=True) for part in table.partition_by("priority"))


def test_intervals_start_where_the_utility_has_its_published_percentages() -> None:
    shown = day("published day")
    starts = interval_starts(shown, HIGH)
    assert starts[0] == 0.0
    general = np.flatnonzero(~is_special(shown.world.system))[0]
    assert starts[1] == pytest.approx(0.9 * shown.world.system.mean_etc_s[general] / 60)
    percents = [interval.percent for interval in shown.parameters.intervals["B"]]
    curve = utility_curves(shown, [HIGH], 60.0)
    at = [curve.filter(pl.col("at_min") >= start)["utility"][0] for start in starts[1:6]]
    assert at == pytest.approx([4.0 * percent / 100 for percent in percents[:5]], rel=0.02)


@pytest.mark.parametrize("special", [False, True])
def test_rates_vary_around_their_means(special: bool) -> None:
    table = arrival_rates(day("published day"), 5, special=special)
    assert table["task_type"].n_unique() == 5
    assert table["task_type"].str.starts_with("special").all() == special
    counted = table.filter(pl.col("at_h") >= 2).group_by("task_type").agg(pl.col("per_h", "mean_per_h").mean())
    assert counted["per_h"].to_list() == pytest.approx(counted["mean_per_h"].to_list())
    n_levels = table.group_by("task_type").agg(pl.col("per_h").round(9).n_unique())["per_h"]
    assert (n_levels.max() <= 20) == special  # type: ignore[operator]


def test_every_arrival_is_counted_in_its_minute() -> None:
    shown = day("published day")
    table, arrival_s = arrivals_by_minute(shown), shown.world.workload.arrival_s
    assert table.height == 26 * 60
    assert table["n"].sum() == arrival_s.size
    assert table["n"][90] == ((arrival_s >= 5400.0) & (arrival_s < 5460.0)).sum()

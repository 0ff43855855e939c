"""A facility through a day: the twin, nothing lost, queueing theory, and plans that are followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.kernels.facility.dispatch import Sent
from joulewise.model.air import Air
from joulewise.model.arrays import Floats
from joulewise.model.facility import Facility, FacilityPlan, NodeTypes, TaskFlows
from joulewise.model.room import HP_UTILITY_DATA_CENTER, Room, heat_flow
from joulewise.optimise.facility.evaluation import steady
from joulewise.simulate.facility import day as facility_day
from joulewise.simulate.facility.day import FacilityDay, Planner, Sizes, simulate_facility_day, slowed_time_s
from tests.strategies.random_facilities import facilities, random_facility, random_plan, seeds
from tests.twins.facility.day import Task, TwinDay


def one_node(cores: int, speed_per_s: float, slowdown: float = 0.0, deadline_s: float = math.inf) -> Facility:
    """A node of one processor, and one task type."""
    flow = heat_flow(np.array([[0.0, 1.0], [1.0, 0.0]]))
    air, redline_c, coldest_c = np.array([0.1]), np.array([25.0]), np.array([10.0])
    room = Room(flow, air, air, redline_c, coldest_c, redline_c, [HP_UTILITY_DATA_CENTER], np.empty(0))
    one = np.ones(1, np.int64)
    types = NodeTypes(("n",), cores * one, one, one, np.array([20.0]))
    speed = np.full((1, 1, 1), speed_per_s)
    tasks = TaskFlows(
        ("t",), np.ones(1), np.ones(1), np.array([deadline_s]), speed, 10.0 + 0.0 * speed,
        np.zeros(1, np.int8), ("c",), np.full((1, 1, 1), slowdown),
    )  # fmt: skip
    return Facility(types, tasks, np.zeros(1, np.int32), room, 1e3)


def plan_of(facility: Facility, share: float) -> FacilityPlan:
    """Every core spends this share of its time on each task type."""
    shape = facility.n_cores, facility.tasks.n_types
    return FacilityPlan(np.full(shape, share), np.zeros(shape, np.int8), facility.room.coldest_c)


def day(
    facility: Facility,
    plan_for: Planner,
    rates: Sequence[Sequence[float] | Floats],
    interval_s: float,
    seed: int = 0,
    ahead_s: float = 0.0,
    sizes: Sizes = "equal",
) -> FacilityDay:
    inlets_c = Air(facility.room).inlets_c
    return simulate_facility_day(
        facility, plan_for, inlets_c, np.array(rates), interval_s, seed, ahead_s=ahead_s, sizes=sizes
    )


def energy_by_task_j(found: FacilityDay) -> float:
    """The energy of all nodes, task by task."""
    facility, tasks, total_j = found.facility, found.tasks, found.facility.overhead_w.sum() * found.length_s
    for core, kind, pstate, start_s, end_s in zip(
        tasks.core, tasks.task_type, tasks.pstate, tasks.start_s, tasks.end_s
    ):
        node_type = facility.node_type[np.searchsorted(facility.first_core, core, side="right") - 1]
        ran_s = max(min(end_s, found.length_s) - start_s, 0.0)
        total_j += ran_s * facility.tasks.power_w[kind, node_type, pstate]
    return float(total_j)


@given(facilities(), seeds, st.sampled_from([0.0, 1.0, math.inf]), st.sampled_from(["equal", "exponential"]))
def test_a_day_is_that_of_the_twin_and_loses_nothing(
    facility: Facility, seed: int, ahead_s: float, sizes: Sizes
) -> None:
    plans = [random_plan(facility, seed), random_plan(facility, seed + 1)]
    rates = np.array([facility.tasks.rate_per_s, 2.0 * facility.tasks.rate_per_s])
    interval_s, upcoming = 50.0 / rates.sum(), iter(plans)
    found = day(facility, lambda _: next(upcoming), list(rates), interval_s, seed, ahead_s, sizes)
    sent = facility_day._arrivals(rates, interval_s, seed, sizes)
    tasks = [Task(*row) for row in zip(sent.arrival_s.tolist(), sent.task_type.tolist(), sent.size.tolist())]
    twin = TwinDay(facility, ahead_s)
    for number, plan in enumerate(plans):
        start_s, end_s = number * interval_s, (number + 1) * interval_s
        twin.follow(plan, slowed_time_s(facility, plan), start_s)
        twin.run([task for task in tasks if start_s <= task.arrival_s < end_s], end_s)
    for name in ("core", "pstate", "start_s", "end_s"):
        assert getattr(found.tasks, name).tolist() == [getattr(task, name) for task in tasks]
    loses_nothing(found)
    state = steady(facility, Air(facility.room), plans[0])
    assert found.desired_per_s[0] == pytest.approx(state.slowed_per_s)
    assert found.planned_reward_per_s[0] == pytest.approx(state.slowed_reward_per_s)


def test_a_task_that_takes_just_as_long_as_its_deadline_is_in_time() -> None:
    """In a plan and in a day alike, whatever instants are rounded to."""
    facility = one_node(8, 0.7, deadline_s=1 / 0.7)
    found = day(facility, lambda _: plan_of(facility, 1.0), [[0.1]], 400.0, ahead_s=math.inf)
    assert found.desired_per_s[0] == pytest.approx(8 * 0.7)
    assert found.on_time.sum() == found.ended.sum() > 20
    assert not found.dropped.any()


def loses_nothing(found: FacilityDay) -> None:
    """Every task has one fate, no core runs two at once, none before it arrives, and energy is that of all runs."""
    tasks, numbers = found.tasks, found.measures()
    fates = ("tasks_on_time", "tasks_late", "tasks_dropped", "tasks_left")
    assert numbers["tasks_arrived"] == sum(numbers[name] for name in fates)
    assert found.by_type()["tasks_arrived"].sum() == numbers["tasks_arrived"]
    assert (tasks.start_s >= tasks.arrival_s).all()
    assert np.isinf(tasks.start_s[found.dropped]).all()
    ran = np.flatnonzero(np.isfinite(tasks.start_s))
    order = ran[np.lexsort((tasks.start_s[ran], tasks.core[ran]))]
    same = np.diff(tasks.core[order]) == 0
    assert (tasks.end_s[order][:-1] <= tasks.start_s[order][1:])[same].all()
    assert found.node_w.sum() * found.sample_s == pytest.approx(energy_by_task_j(found))
    assert numbers["energy_j"] == pytest.approx(energy_by_task_j(found) + numbers["cooling_energy_j"])
    assert found.by_interval()["reward_per_s"].mean() == pytest.approx(numbers["reward_per_s"])


def test_neighbours_slow_a_task_only_while_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone for 0.5 s, then both at half the pace until the first has done its second, then the other alone."""
    facility = one_node(2, 1.0, slowdown=1.0)
    some = facility_day._arrivals(np.full((1, 1), 20.0), 1.0, 0, "equal")
    columns: list[Any] = [column[:2].copy() for column in some]
    two = Sent(*columns)._replace(arrival_s=np.array([1.0, 1.5]))
    monkeypatch.setattr(facility_day, "_arrivals", lambda *_: two)
    found = day(facility, lambda _: plan_of(facility, 1.0), [[1.0]], 10.0, ahead_s=math.inf)
    assert found.tasks.start_s.tolist() == [1.0, 1.5]
    assert found.tasks.end_s.tolist() == [2.5, 3.0]
    assert found.measures()["node_peak_w"] == 40.0
    assert found.node_w.sum() * found.sample_s == pytest.approx(20.0 * 10 + 10.0 * (1.5 + 1.5))


def test_time_above_the_cap_is_what_a_meter_tells() -> None:
    facility = one_node(2, 1.0)
    found = day(facility, lambda _: plan_of(facility, 1.0), [[1.0]], 10.0, ahead_s=math.inf)
    shares = {}
    for above in (1.0005, 1.002):
        capped = replace(facility, cap_w=float(found.total_w.max()) / above)
        shares[above] = replace(found, facility=capped).measures()["above_cap_percent"]
    assert shares[1.0005] == 0.0
    assert shares[1.002] > 0.0


def test_waits_are_those_of_m_m_1() -> None:
    facility, n_batches, busy = one_node(1, 1.0), 40, 0.7
    found = day(facility, lambda _: plan_of(facility, 1.0), [[busy]], 300_000.0, ahead_s=math.inf, sizes="exponential")
    started = np.isfinite(found.tasks.start_s)
    wait_s = (found.tasks.start_s - found.tasks.arrival_s)[started]
    means_s = wait_s[: wait_s.size // n_batches * n_batches].reshape(n_batches, -1).mean(axis=1)
    error_s = means_s.std(ddof=1) / math.sqrt(n_batches)
    assert abs(means_s.mean() - busy / (1.0 - busy)) < 3 * error_s
    assert error_s < 0.05 * means_s.mean()
    assert found.measures()["waiting_tasks"] == pytest.approx(busy**2 / (1.0 - busy), rel=0.1)


def test_long_deadlines_and_rates_just_met_give_the_planned_rates() -> None:
    facility = random_facility(3, n_nodes=4, n_task_types=3)
    facility = replace(facility, tasks=replace(facility.tasks, deadline_s=np.full(3, np.inf)))
    plan = random_plan(facility, 3)
    desired_per_s = steady(facility, Air(facility.room), plan).slowed_per_s
    found = day(facility, lambda _: plan, [desired_per_s] * 4, 20_000.0 / desired_per_s.sum())
    assert found.by_type()["on_time_per_s"].to_list() == pytest.approx(desired_per_s.tolist(), rel=0.03)
    assert found.measures()["reward_per_s"] == pytest.approx(found.planned_reward_per_s.mean(), rel=0.02)


def test_plans_are_made_for_each_interval_or_once_for_the_mean() -> None:
    facility = one_node(4, 1.0, deadline_s=5.0)
    asked: list[float] = []

    def plan_for(changed: Facility) -> FacilityPlan:
        asked.append(float(changed.tasks.rate_per_s[0]))
        return plan_of(changed, asked[-1] / 4)

    arguments = facility, plan_for, Air(facility.room).inlets_c, np.array([[1.0], [3.0]]), 3000.0
    often, once, same = (simulate_facility_day(*arguments, replan_every=every) for every in (1, None, 2))
    assert asked == [1.0, 3.0, 2.0, 2.0]
    assert same.tasks.end_s.tolist() == once.tasks.end_s.tolist()
    assert often.tasks.arrival_s.tolist() == once.tasks.arrival_s.tolist()
    assert often.planned_reward_per_s.tolist() == pytest.approx([1.0, 3.0])
    assert once.planned_reward_per_s.tolist() == pytest.approx([1.0, 2.0])
    assert often.measures()["reward_per_s"] > 1.2 * once.measures()["reward_per_s"]
    again = simulate_facility_day(*arguments)
    assert again.tasks.end_s.tolist() == often.tasks.end_s.tolist()


def test_a_core_that_is_not_ahead_keeps_to_the_power_of_its_plan() -> None:
    """Twice as many tasks arrive as the plan wants: the rest is dropped, unless cores may go on without limit."""
    facility = one_node(4, 1.0, deadline_s=5.0)
    kept, free = (day(facility, lambda _: plan_of(facility, 0.5), [[4.0]], 5000.0, ahead_s=s) for s in (0.0, math.inf))
    assert kept.measures()["reward_per_s"] == pytest.approx(2.0, rel=0.03)
    assert kept.node_w.mean() == pytest.approx(20.0 + 10.0 * 2, rel=0.02)
    assert free.measures()["reward_per_s"] > 3.4
    assert free.node_w.mean() > 20.0 + 10.0 * 3.4


def test_what_does_not_fit_is_told() -> None:
    facility = one_node(2, 1.0)
    with pytest.raises(InputError, match="rate_per_s: found a table of shape") as problems:
        simulate_facility_day(
            facility,
            lambda _: plan_of(facility, 1.0),
            Air(facility.room).inlets_c,
            np.ones((2, 2)),
            -1.0,
            replan_every=0,
        )
    assert "replan_every: found 0; must be 1 interval or more" in str(problems.value)
    assert "interval_s: found -1.0; must be above 0 s" in str(problems.value)
    with pytest.raises(InputError, match=r"plan of interval 0: found shares from 2 on, and 2 of a core's time"):
        day(facility, lambda _: plan_of(facility, 2.0), [[1.0]], 1.0)
    other = replace(plan_of(facility, 0.5), pstate=np.full((2, 1), 1, np.int8))
    with pytest.raises(InputError, match="found P-states from 1 to 1; must be from 0 to 0"):
        day(facility, lambda _: other, [[1.0]], 1.0)

"""Day after day against one long run: the same decisions, and days that add up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import Workload, World
from joulewise.model.allocation import Status
from joulewise.model.supply import Supply
from joulewise.model.workload import Tag
from joulewise.policies.tasks.own import own_policy
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.days import Day, simulate_days
from joulewise.simulate.tasks.event import Event
from joulewise.simulate.tasks.managed import manage
from joulewise.simulate.tasks.manager import Environment, Filter, Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.outages import draw_outages
from joulewise.worlds.tasks.day import WorkloadParameters, generate_days, generate_workload
from tests.simulate.tasks.test_managed import COLUMNS
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.simple_worlds import simple_system, simple_workload

POLICIES_BY_DAY = (
    "prices",
    "max-max-upt",
    "min-min-comp",
    "sufferage",
    "max-max-upe",
    "weighted-util",
    "prioritized-lcfs-all",
    "bag-prices",
    "bag-makespan",
)
SMALL = SystemParameters(task_types=12, special_task_types=2, special_counts=(1,), general_counts=(1, 2, 3),
                         special_per_machine_type=(1, 2), pstates=2)  # fmt: skip
THREE_DAYS = WorkloadParameters(tasks_per_day=3000, days=3)
SUMMED = ("utility", "tasks_arrived", "tasks_completed", "runs_lost", "energy_j", "standby_energy_j", "energy_cost")


def cut(work: Workload, rows: np.ndarray, start_s: float, end_s: float) -> Workload:
    """Some tasks of a workload, with another counted window."""
    columns = {name: getattr(work, name)[rows] for name in ("arrival_s", "task_type", "shape", "scale", "hold_s")}
    tags = {name: Tag(tag.names, tag.codes[rows]) for name, tag in work.tags.items()}
    stretch = None if work.stretch is None else work.stretch[rows]
    return replace(work, **columns, tags=tags, stretch=stretch, start_s=start_s, end_s=end_s)


def cut_into_days(work: Workload, day_s: float, n_days: int) -> Iterator[Workload]:
    edges_s = [work.start_s + number * day_s for number in range(n_days + 1)]
    for number, (start_s, end_s) in enumerate(pairwise(edges_s)):
        late = work.arrival_s >= start_s if number else np.ones(work.n_tasks, bool)
        early = work.arrival_s < end_s if number < n_days - 1 else work.arrival_s <= end_s
        yield cut(work, np.flatnonzero(late & early), start_s, end_s)


def assert_days_equal_long_run(world: World, manager: Manager, n_days: int) -> None:
    """Every task has the fate of the long run, every lost run is there, and what is counted adds up."""
    work, done = world.workload, manage(world, manager)
    days = list(
        simulate_days(
            cut_into_days(work, world.supply.day_s, n_days), n_days, world.system, manager, world.supply, world.outages
        )
    )
    expected = done.allocation
    for column in COLUMNS:
        found = np.empty_like(getattr(expected, column))
        for day in days:
            found[day.task] = getattr(day.outcome.allocation, column)
        np.testing.assert_array_equal(found, getattr(expected, column), f"{manager.policy.title}: {column}")
    lost = {row for day in days for row in lost_runs(day.outcome, day.task)}
    outcome = Outcome(world, expected, done.n_mapping_events, done.n_counted_events, done.mapping_s)
    assert lost == set(lost_runs(outcome, np.arange(work.n_tasks)))
    assert sum(day.outcome.n_mapping_events for day in days) <= done.n_mapping_events
    assert_days_add_up(days, world, outcome)


def lost_runs(outcome: Outcome, task: np.ndarray) -> Iterator[tuple[float, ...]]:
    lost = outcome.allocation.lost
    rows = zip(task[lost.task], lost.machine, lost.pstate, lost.start_s, lost.end_s, strict=True)
    return (tuple(map(float, row)) for row in rows)


def assert_days_add_up(days: list[Day], world: World, outcome: Outcome) -> None:
    whole, parts = measures(world, outcome), [day.measures() for day in days]
    for name in SUMMED:
        assert sum(part[name] for part in parts) == pytest.approx(whole[name], rel=1e-9, abs=1e-9, nan_ok=True), name


# Equality


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("environment", ["queued", "polled"])
@pytest.mark.parametrize(
    "supply",
    [Supply(), Supply(4e7), Supply(1.2e8, is_total=True)],
    ids=["no budget", "by day", "in all"],
)
@pytest.mark.parametrize("name", POLICIES_BY_DAY)
def test_three_days_equal_one_run(name: str, supply: Supply, environment: Environment) -> None:
    system = generate_system(SMALL, 1, 0)
    world = World(system, generate_workload(THREE_DAYS, system, 1, 0), supply)
    energy_filter: Filter = "adaptive" if supply.is_limited else "none"
    manager = Manager(POLICIES[name], 0.5, environment=environment, energy_filter=energy_filter)
    assert_days_equal_long_run(world, manager, 3)


def test_uncertain_days_with_standby_and_failures() -> None:
    parameters = replace(
        SMALL, idle_power_w=20.0, sleep_power_w=2.0, sleep_after_s=60.0, boot_power_w=90.0, boot_delay_s=30.0
    )
    system = generate_system(parameters, 2, 0)
    work = generate_workload(replace(THREE_DAYS, time_spread=0.5, tasks_per_day=500), system, 2, 0)
    outages = draw_outages(replace(parameters, mtbf_s=40_000.0, mttr_s=9_000.0), system.n_machines, work.end_s, 2, 0)
    world = World(system, work, Supply(1.5e8, is_total=True, tariff=np.array([1.0, 3.0]), pue=1.2), outages)
    manager = Manager(POLICIES["prices"], 0.5, kill_factor=2.0, follows_tariff=True)
    assert_days_equal_long_run(world, manager, 3)


@own_policy()
class ByLot:
    """Each task on a machine by lot, if it is worth what it costs there; counts its events."""

    def start(self, world: World) -> None:
        self.n_events = 0

    def decide(self, event: Event) -> Any:
        assert event.number == self.n_events, "events are counted over all days"
        self.n_events += 1
        can_run = np.isfinite(event.exec_s[event.task_type, :, 0])[:, event.machine_type] & event.is_open
        machine = (can_run * event.rng.random(can_run.shape)).argmax(axis=1)
        exec_s = event.exec_s[event.task_type, event.machine_type[machine], 0]
        price = np.nan_to_num(event.price_per_s[event.machine_type[machine]]) * exec_s
        is_worth = can_run.any(axis=1) & (event.utility(event.effect_s + exec_s) > price)
        return event.task[is_worth], machine[is_worth], 0


def patient(event: Any) -> float:
    """Each task goes to the machine that is free first, at the third event that it sees, if it is cheap then."""
    n_rows = 0
    for i in np.sort(event.task[: event.n_waiting[0]]):
        event.memory[i, 0] += 1.0
        if event.memory[i, 0] < 3.0:
            continue
        kind, best = event.tasks.task_type[i], -1
        for m in range(event.free_s.size):
            is_better = best < 0 or event.free_s[m] < event.free_s[best]
            if event.is_open[m] and event.exec_s[kind, event.machine_type[m], 0] < np.inf and is_better:
                best = m
        if best >= 0 and event.price_per_s[event.machine_type[best]] >= 0.0:
            event.answer[n_rows, 0], event.answer[n_rows, 1], event.answer[n_rows, 2] = i, best, 0
            n_rows += 1
    return n_rows


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize("policy", [ByLot, own_policy(compiled=True)(patient)], ids=["plain", "compiled"])
def test_policies_of_ones_own_go_on_from_day_to_day(policy: Policy) -> None:
    system = generate_system(SMALL, 1, 0)
    work = generate_workload(replace(THREE_DAYS, tasks_per_day=600), system, 1, 0)
    manager = Manager(policy, 0.5, mapping_interval_s=600.0)
    assert_days_equal_long_run(World(system, work, Supply(1.2e8, is_total=True)), manager, 3)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "preempting"])
@given(data=st.data(), name=st.sampled_from(POLICIES_BY_DAY), n_days=st.integers(2, 4))
def test_days_equal_long_run_in_any_world(kind: str, data: st.DataObject, name: str, n_days: int) -> None:
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    manager = scenario.manager(POLICIES[name])
    assume(not any(manager.mapping_model[1:]))
    assert_days_equal_long_run(with_a_task_each_day(scenario.world, n_days), manager, n_days)


def with_a_task_each_day(world: World, n_days: int) -> World:
    """The world cut into days, with a task more at the start of each that is worth as much as any."""
    work = world.workload
    day_s = (work.end_s - work.start_s) / n_days
    end_s = work.start_s + n_days * day_s
    best = int(np.argmax(work.utility(np.arange(work.n_tasks), work.arrival_s)))
    rows = np.concatenate((np.flatnonzero(work.arrival_s <= end_s), np.full(n_days, best)))
    arrival_s = work.arrival_s[rows]
    arrival_s[-n_days:] = work.start_s + np.arange(n_days) * day_s
    order = np.argsort(arrival_s, kind="stable")
    more = cut(replace(work, arrival_s=np.zeros(work.n_tasks)), rows[order], work.start_s, end_s)
    return replace(world, workload=replace(more, arrival_s=arrival_s[order]), supply=replace(world.supply, day_s=day_s))


# What days are like


def test_generated_days_are_those_of_the_whole_workload() -> None:
    system, parameters = generate_system(SMALL, 3, 1), replace(THREE_DAYS, time_spread=0.3, prorated=True)
    whole, days = generate_workload(parameters, system, 3, 1), list(generate_days(parameters, system, 3, 1))
    for field in fields(Workload):
        if isinstance(column := getattr(whole, field.name), np.ndarray):
            np.testing.assert_array_equal(np.concatenate([getattr(day, field.name) for day in days]), column)
    assert [day.start_s for day in days] == [7_200.0, 93_600.0, 180_000.0]
    assert [day.end_s for day in days] == [93_600.0, 180_000.0, 266_400.0]


def test_what_the_past_left_is_all_that_is_kept() -> None:
    system = generate_system(SMALL, 1, 0)
    days = simulate_days(generate_days(THREE_DAYS, system, 1, 0), 3, system, Manager(POLICIES["prices"], 0.5))
    for day, work in zip(days, generate_days(THREE_DAYS, system, 1, 0), strict=True):
        assert day.world.workload.n_tasks < 1.2 * work.n_tasks
        assert day.measures()["tasks_arrived"] == int((work.arrival_s >= work.start_s).sum())


def test_a_day_gets_its_share_of_what_is_left() -> None:
    system = simple_system([[10.0]], power_w=[[5.0]])
    parts = [simple_workload([at_s], start_s=at_s, end_s=at_s + 50.0) for at_s in (0.0, 50.0, 100.0)]
    manager = Manager(POLICIES["max-max-upt"], mapping_interval_s=10.0)
    days = list(simulate_days(parts, 3, system, manager, Supply(600.0, is_total=True, day_s=50.0)))
    assert [day.measures()["budget_j"] for day in days] == [200.0, 275.0, 500.0]
    assert all((day.outcome.allocation.status == Status.RAN).all() for day in days)


@pytest.mark.parametrize(
    ("parts", "n_days", "expected"),
    [
        ([(0.0, 0.0, 50.0)], 2, "days: found 1 of them; there must be 2"),
        ([(0.0, 0.0, 50.0)], 0, "n_days: found 0"),
        ([(0.0, 0.0, 40.0)], 1, "days: day 0: found the counted window (0 s, 40 s]; must be (0 s, 50 s]"),
        ([(0.0, 0.0, math.inf)], 1, "days: day 0: found the counted window (0 s, inf s]"),
        ([(0.0, 0.0, 50.0), (20.0, 50.0, 100.0)], 2, "days: day 1: found tasks that arrive from 20 s to 20 s"),
    ],
)
def test_days_that_do_not_follow_each_other(
    parts: list[tuple[float, float, float]], n_days: int, expected: str
) -> None:
    works = [simple_workload([arrival_s], start_s=start_s, end_s=end_s) for arrival_s, start_s, end_s in parts]
    with pytest.raises(InputError) as caught:
        list(simulate_days(works, n_days, simple_system(), Manager(POLICIES["max-max-upt"]), Supply(day_s=50.0)))
    assert expected in str(caught.value)


def test_mapping_time_by_batch_size_is_refused() -> None:
    manager = Manager(POLICIES["max-max-upt"], mapping_time="given", mapping_model=(0.0, 1.0, 0.0))
    with pytest.raises(InputError, match=r"manager\.mapping_model"):
        list(simulate_days([simple_workload(end_s=50.0)], 1, simple_system(), manager, Supply(day_s=50.0)))


def test_suspended_tasks_are_refused() -> None:
    manager = Manager(POLICIES["max-max-upt"], environment="polled", preempts=True)
    with pytest.raises(InputError, match=r"manager\.preempts: found true; must be false day by day"):
        list(simulate_days([simple_workload(end_s=50.0)], 1, simple_system(), manager, Supply(day_s=50.0)))

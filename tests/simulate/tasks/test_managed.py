"""The managed engine against its slow twin, and the twin against days worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joulewise.check.tasks.allocation import check_allocation
from joulewise.model import System, UtilityShapes, Workload, World, linear, step
from joulewise.model.allocation import Allocation, BrokenRuns, Status
from joulewise.model.supply import Supply
from joulewise.model.system import Standby
from joulewise.model.workload import Tag
from joulewise.model.world import Outages
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.managed import manage
from joulewise.simulate.tasks.manager import Manager, uses_managed_engine
from joulewise.simulate.tasks.misfits import needs_managing
from joulewise.simulate.tasks.serial import simulate
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload
from tests.strategies.cases import cases
from tests.strategies.heuristics import BY_TYPE_POLICIES, RISING_POLICIES, URGENT_POLICIES, claiming
from tests.strategies.managed_worlds import KINDS, ManagedScenario
from tests.strategies.random_worlds import Scenario, rising, scenarios
from tests.strategies.simple_worlds import simple_system, simple_workload
from tests.twins.tasks import serial
from tests.twins.tasks.managed import Broken, Plan, managed_plan, mixed

COLUMNS = ("machine", "pstate", "start_s", "end_s", "status")
WAITING, RAN, DROPPED, KILLED = Status.WAITING, Status.RAN, Status.DROPPED, Status.KILLED
NEVER = math.nan

PRICED = [policy for policy in POLICIES.values() if policy.is_priced]
SPLIT = POLICIES["bag-makespan"]
FORESEEING = [
    policy for policy in POLICIES.values() if policy.objective and (policy.objective.urgency or policy.is_patient)
]
BATCH = [
    policy
    for policy in POLICIES.values()
    if policy.mode == "batch" and policy not in PRICED and policy is not SPLIT and policy not in FORESEEING
]
GREEDY = [policy for policy in BATCH if policy.rule == "greedy" and not policy.is_weighted]
GROUPS = {
    "greedy": GREEDY,
    "sufferage": [POLICIES["sufferage"]],
    "weighted": [policy for policy in BATCH if policy.is_weighted],
    "in order": [policy for policy in BATCH if policy.rule == "in-order"],
    "at random": [policy for policy in BATCH if policy.rule == "at-random"],
    "by type": BY_TYPE_POLICIES,
    "may rise": [
        *FORESEEING,
        *(policy for policy in (*RISING_POLICIES, *URGENT_POLICIES) if policy.mode == "batch"),
    ],
}


# The engine against the twin


def assert_same(world: World, manager: Manager) -> None:
    assert_alike(simulate(world, manager).allocation, managed_plan(world, manager), manager.policy)


def assert_alike(allocation: Allocation, expected: Plan, policy: Policy) -> None:
    for column in COLUMNS:
        found, wanted = getattr(allocation, column), getattr(expected, column)
        np.testing.assert_array_equal(found, wanted, f"{policy.title}: {column}", strict=True)
    assert sorted(broken_rows(allocation.lost)) == sorted(expected.lost)
    assert sorted(broken_rows(allocation.pieces)) == sorted(expected.pieces)


def broken_rows(runs: BrokenRuns) -> list[Broken]:
    return [Broken(*row) for row in zip(runs.task, runs.machine, runs.pstate, runs.start_s, runs.end_s, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("group", GROUPS)
@cases(divided_by=28)
@given(data=st.data())
def test_engine_equals_twin(group: str, kind: str, data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    policy: Policy = data.draw(st.sampled_from(GROUPS[group]))
    assert_same(scenario.world, scenario.manager(policy))


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "preempting"])
@pytest.mark.parametrize("group", [group for group in GROUPS if group != "sufferage"])
@cases(divided_by=28)
@given(data=st.data())
def test_engine_equals_twin_where_utilities_rise_first(group: str, kind: str, data: st.DataObject) -> None:
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    policy: Policy = data.draw(st.sampled_from(GROUPS[group]))
    world, manager = risen(scenario.world, data), scenario.manager(policy)
    assume(uses_managed_engine(manager) or needs_managing(world))  # on a plain day every machine is looked at
    assert_same(world, manager)
    assert check_allocation(world, simulate(world, manager).allocation, manager) == []


def risen(world: World, data: st.DataObject) -> World:
    """The world with utilities that rise first."""
    return replace(world, workload=data.draw(rising(world.workload)))


@pytest.mark.parametrize("kind", ["limited", "tariff", "standby", "uncertain", "literal"])
@cases(divided_by=5)
@given(data=st.data())
def test_engine_equals_twin_at_its_own_prices(kind: str, data: st.DataObject) -> None:
    """The twin is told the prices of every event, and must make the same choices at them."""
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    manager = scenario.manager(data.draw(st.sampled_from(PRICED)))
    for world in (scenario.world, risen(scenario.world, data)):
        done = manage(world, manager, n_recorded=10_000)
        assert_alike(done.allocation, managed_plan(world, manager, prices=done.prices), manager.policy)


@pytest.mark.parametrize("kind", KINDS)
@cases(divided_by=28)
@given(data=st.data())
def test_engine_equals_twin_at_its_own_quotas(kind: str, data: st.DataObject) -> None:
    """The twin is told how many tasks may go where at every event, and must make the same choices within that."""
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    manager = scenario.manager(SPLIT)
    for world in (scenario.world, *([] if manager.preempts else [risen(scenario.world, data)])):
        done = manage(world, manager, n_recorded=10_000)
        assert_alike(done.allocation, managed_plan(world, manager, quotas=done.quotas), manager.policy)


@pytest.mark.parametrize("kind", KINDS)
@cases(divided_by=28)
@given(data=st.data())
def test_tasks_of_a_type_in_one_queue_are_mapped_as_one_by_one(kind: str, data: st.DataObject) -> None:
    """The claim that tasks of a type are alike changes neither what is decided nor how many events that takes."""
    scenario: ManagedScenario = data.draw(KINDS[kind]())
    policy: Policy = data.draw(st.sampled_from(BY_TYPE_POLICIES))
    alike, apart = (simulate(scenario.world, scenario.manager(claiming(policy, claim))) for claim in (True, False))
    assert alike.n_counted_events == apart.n_counted_events
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(alike.allocation, column), getattr(apart.allocation, column), column)


def test_the_hopeless_who_wait_when_all_have_come_make_no_event() -> None:
    """Six tasks that earn nothing wait behind one that keeps the machine busy: whoever looks at them, it is over."""
    work = simple_workload([0.0] * 8 + [1.0], task_type=[0] * 6 + [1, 1, 0], end_s=4.0)
    work = replace(work, scale=np.array([0.0] * 6 + [1.0, 1.0, 0.0]))
    world = World(simple_system([[1.0], [3.0]]), work)
    policies = (claiming(POLICIES["min-min-comp"], by_type) for by_type in (True, False))
    found = [simulate(world, Manager(policy, 0.5, mapping_interval_s=1.0, mapping_arrivals=1)) for policy in policies]
    assert {done.n_counted_events for done in found} == {1}


CROWDED = SystemParameters(task_types=12, special_task_types=2, special_counts=(1,), general_counts=(1, 2, 3),
                           special_per_machine_type=(1, 2), pstates=2)  # fmt: skip


@pytest.mark.parametrize(
    ("supply", "switches"),
    [
        (Supply(), {"environment": "polled"}),
        (Supply(), {"environment": "polled", "dropping_by": "idle"}),
        (Supply(), {"mapping_arrivals": 20}),
        (Supply(), {"permuted": 3}),
        (Supply(2e7), {"energy_filter": "adaptive"}),
        (Supply(2e7), {"postponing": "next-day"}),
        (Supply(cap_w=np.full(24, 1500.0)), {}),
    ],
    ids=["polled", "by idle", "arrivals", "permuted", "budget", "postponed", "cap"],
)
def test_a_crowded_day_by_type_is_mapped_as_task_by_task(supply: Supply, switches: dict[str, Any]) -> None:
    """Thousands of tasks, of which most wait, so that queues are long and tasks are dropped from their middle."""
    system = generate_system(CROWDED, 3, 0)
    world = World(system, generate_workload(WorkloadParameters(tasks_per_day=4000, days=2), system, 3, 0), supply)
    by_type = POLICIES["min-min-comp"]
    alike, apart = (simulate(world, Manager(p, 0.5, **switches)) for p in (by_type, claiming(by_type, False)))
    assert (alike.n_counted_events, alike.n_late_events) == (apart.n_counted_events, apart.n_late_events)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(alike.allocation, column), getattr(apart.allocation, column), column)


def test_a_boot_that_fails_is_not_known_beforehand() -> None:
    """A machine boots for a task from 4 s and fails at 7 s, which nobody can know at 5 s."""
    asleep = Standby(np.zeros(1), np.zeros(1), np.zeros(1), boot_s=np.array([4.0]), sleep_after_s=np.zeros(1))
    system = replace(simple_system([[1.0]], [2], [[1.0]]), standby=asleep)
    outages = Outages(np.array([1], np.int32), np.array([7.0]), np.array([10.5]))
    world = World(system, simple_workload([4.0], end_s=30.0), outages=outages)
    manager = Manager(POLICIES["random-batch"], mapping_interval_s=1.0)
    assert managed_plan(world, manager).start_s.tolist() == [11.0]
    assert simulate(world, manager).allocation.start_s.tolist() == [11.0]


def test_what_stands_behind_a_lost_run_is_mapped_again() -> None:
    """A run from 0 s is lost at 4 s and the machine is back at 5 s, which the manager sees at 6 s."""
    outages = Outages(np.array([0], np.int32), np.array([4.0]), np.array([5.0]))
    world = World(simple_system([[8.0]]), simple_workload([0.0, 3.0], end_s=100.0), outages=outages)
    manager = Manager(POLICIES["max-max-util"], mapping_interval_s=3.0)
    assert managed_plan(world, manager).start_s.tolist() == [6.0, 14.0]
    assert_same(world, manager)


def test_a_run_that_will_be_lost_has_another_pending_behind_it() -> None:
    """The second machine has two long tasks and fails at 6.5 s. Nobody knows at 6 s: it seems busy until 12 s."""
    outages = Outages(np.array([1], np.int32), np.array([6.5]), np.array([7.0]))
    arrivals, types = [0.0] * 6 + [1.0] * 6 + [2.0] * 4, [0] * 5 + [1, 1] + [0] * 9
    world = World(simple_system([[1.0], [5.0]], [2]), simple_workload(arrivals, types, end_s=8.0), outages=outages)
    manager = Manager(POLICIES["max-max-util"], mapping_interval_s=1.0)
    assert managed_plan(world, manager).start_s[12:].tolist() == [8.0, 7.0, 8.0, 9.0]
    assert_same(world, manager)


def test_a_task_whose_only_machine_was_down_does_not_lose_its_turn() -> None:
    """The second type runs on the first machine alone, which is down at the event of 2 s and back at that of 4 s."""
    system = simple_system([[1.0, 1.0], [1.0, math.inf]])
    outages = Outages(np.array([0], np.int32), np.array([1.0]), np.array([2.5]))
    world = World(system, simple_workload([0.0] * 12, [0] * 10 + [1, 0], end_s=4.0), outages=outages)
    done = manage(world, Manager(POLICIES["prices"], mapping_interval_s=2.0))
    assert done.allocation.status[10:].tolist() == [RAN, WAITING]


# The twin against the twin of the plain simulator


@given(scenario=scenarios(most_tasks=20), policy=st.sampled_from([*GREEDY, POLICIES["sufferage"]]))
def test_without_any_switch_the_twin_is_the_plain_one(scenario: Scenario, policy: Policy) -> None:
    manager = scenario.manager(policy)
    assert policy.objective is not None
    work, machines = serial.work_and_machines(scenario.world, manager.n_types)
    limits = manager.dropping_threshold, manager.mapping_interval_s, scenario.world.workload.end_s
    run = serial.run_sufferage if policy.rule == "sufferage" else serial.run_batch
    expected = run(compiled(policy.objective).ctypes, work, machines, *limits)
    found = managed_plan(scenario.world, manager)
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column), column, strict=True)


# Days worked out by hand


def assert_plan(plan: Plan, rows: Sequence[tuple[int, float, float, int]]) -> None:
    """Each task's machine, start, end and status."""
    found = list(zip(plan.machine.tolist(), plan.start_s.tolist(), plan.end_s.tolist(), plan.status, strict=True))
    np.testing.assert_array_equal(np.array(found, float), np.array(rows, float))


WAITS = (-1, NEVER, NEVER, WAITING)


def twin_of(world: World, policy: str = "max-max-util", interval_s: float = 1.0, **switches: Any) -> Plan:
    return managed_plan(world, Manager(POLICIES[policy], mapping_interval_s=interval_s, **switches))


def one_machine(n_tasks: int = 3, exec_s: float = 4.0, power_w: float = 1.0, end_s: float = 100.0) -> World:
    """Tasks that all come at 0 to one machine."""
    system = simple_system([[exec_s]], [1], [[power_w]])
    return World(system, simple_workload([0.0] * n_tasks, end_s=end_s))


def test_budget_of_a_day_stops_the_third_task_until_midnight() -> None:
    """Two machines, 4 s at 1 W each: a budget of 8 J and a day of 16 s hold two runs; the third waits for day 2."""
    system = simple_system([[4.0]], [2], [[1.0]])
    world = World(system, simple_workload([0.0] * 3, end_s=100.0), Supply(8.0, day_s=16.0))
    assert_plan(twin_of(world), [(0, 0.0, 4.0, RAN), (1, 0.0, 4.0, RAN), (0, 16.0, 20.0, RAN)])


def test_run_over_midnight_uses_both_days() -> None:
    """Days of 10 s with 8 J. A run of 8 s at 1 W from 4 on: 6 J today, 2 J tomorrow, so the next one, of 8 J, fits
    only on the third day."""
    system = simple_system([[8.0]], [1], [[1.0]])
    world = World(system, simple_workload([4.0, 4.0], end_s=100.0), Supply(8.0, day_s=10.0))
    assert_plan(twin_of(world), [(0, 4.0, 12.0, RAN), (0, 20.0, 28.0, RAN)])


def test_runs_over_midnight_that_are_planned_together_share_both_days() -> None:
    """Days of 10 s with 14 J. Of each run of 8 J from 4 on 6 J are today's, which leaves the 8 J of the second."""
    system = simple_system([[8.0]], [2], [[1.0]])
    world = World(system, simple_workload([4.0, 4.0], end_s=100.0), Supply(14.0, day_s=10.0))
    assert_plan(twin_of(world), [(0, 4.0, 12.0, RAN), (1, 4.0, 12.0, RAN)])
    assert_same(world, Manager(POLICIES["max-max-util"], mapping_interval_s=1.0))


def test_days_count_from_the_start_of_the_window_and_the_first_may_be_short() -> None:
    """With a window from 6 s on and days of 8 s the warm-up has a part of 6 s of a day, so 6/8 of 8 J: one of 4 J."""
    world = one_machine(3)
    work = replace(world.workload, start_s=6.0)
    plan = twin_of(replace(world, workload=work, supply=Supply(8.0, day_s=8.0)))
    assert_plan(plan, [(0, 0.0, 4.0, RAN), (0, 6.0, 10.0, RAN), (0, 10.0, 14.0, RAN)])


def test_total_budget_gives_each_day_its_share_of_what_is_left() -> None:
    """16 J for 2 days of 10 s: 8 J on the first, of which 6 J are used (6 s at 1 W), so 10 J on the second."""
    work = simple_workload([0.0, 0.0, 10.0, 10.0], task_type=[0, 0, 1, 1], end_s=20.0)
    world = World(simple_system([[6.0], [5.0]], [2], [[1.0], [1.0]]), work, Supply(16.0, is_total=True, day_s=10.0))
    rows = [(0, 0.0, 6.0, RAN), WAITS, (0, 10.0, 15.0, RAN), (1, 10.0, 15.0, RAN)]
    assert_plan(twin_of(world, "min-min-comp"), rows)
    dear = replace(world, supply=Supply(15.0, is_total=True, day_s=10.0))
    assert_plan(twin_of(dear, "min-min-comp"), [rows[0], WAITS, rows[2], WAITS])


def test_idle_power_is_set_aside_and_pue_counts_everything() -> None:
    """1 machine idling at 1 W under a PUE of 2 needs 20 J of a day of 10 s; a run of 2 s at 3 W costs 8 J more."""
    standby = Standby(*(np.array([value]) for value in (1.0, 0.0, 0.0, 0.0, math.inf)))
    system = replace(simple_system([[2.0]], [1], [[3.0]]), standby=standby)
    work = simple_workload([0.0, 0.0], end_s=9.0)
    both = [(0, 0.0, 2.0, RAN), (0, 2.0, 4.0, RAN)]
    assert_plan(twin_of(World(system, work, Supply(36.0, day_s=10.0, pue=2.0))), both)
    assert_plan(twin_of(World(system, work, Supply(35.0, day_s=10.0, pue=2.0))), [both[0], WAITS])


def filtered_world(budget_j: float) -> World:
    """A fast, thirsty machine type (2 s, 12 J) and a slow, frugal one (6 s, 6 J): means of 4 s and 9 J."""
    system = simple_system([[2.0, 6.0]], [1, 1], [[6.0, 1.0]])
    return World(system, simple_workload([0.0], end_s=30.0), Supply(budget_j, day_s=16.0))


def test_fair_share_is_the_energy_left_over_the_tasks_that_time_left_holds() -> None:
    """Two machines of 16 s hold 8 mean tasks of 4 s; the share of 97 J is over 12 J, that of 96 J is 12 J: out.

    Of 48 J it is 6 J, for which nothing is to be had; a second later 7.5 mean tasks are left, and 6.4 J for each.
    """
    fast, slow = [(0, 0.0, 2.0, RAN)], [(1, 0.0, 6.0, RAN)]
    assert_plan(twin_of(filtered_world(97.0), energy_filter="fair-share"), fast)
    assert_plan(twin_of(filtered_world(96.0), energy_filter="fair-share"), slow)
    assert_plan(twin_of(filtered_world(96.0)), fast)
    assert_plan(twin_of(filtered_world(96.0), energy_filter="fair-share", leniency=1.25), fast)
    assert_plan(twin_of(filtered_world(48.0), energy_filter="fair-share"), [(1, 1.0, 7.0, RAN)])


def test_fair_share_counts_what_is_fixed_as_used() -> None:
    """At 0 a run of 12 J from 0 to 2 is fixed. At 1: 100 - 12 = 88 J over (14 + 15) / 4 = 7.25 tasks are 12.1 J."""
    world = filtered_world(100.0)
    world = replace(world, workload=simple_workload([0.0, 1.0], end_s=30.0))
    switches: dict[str, Any] = {"energy_filter": "fair-share", "environment": "queued"}
    assert_plan(twin_of(world, **switches), [(0, 0.0, 2.0, RAN), (0, 2.0, 4.0, RAN)])
    tight = replace(world, supply=Supply(98.0, day_s=16.0))  # 86 / 7.25 = 11.9 J
    assert_plan(twin_of(tight, **switches), [(0, 0.0, 2.0, RAN), (1, 1.0, 7.0, RAN)])


def test_time_left_is_counted_from_the_last_pending_task_or_from_now() -> None:
    """As in fig. 3.2, three machines at 17 of a day of 24 s: one runs and has a pending task up to 20, one runs up to
    19, one is idle since 16, so 4 + 5 + 7 = 16 s are left; with a mean of 12 s that is 4/3 of a task.

    13.75 J are used, so of 30 J an option may use 16.25 * 3/4 = 12.19 J, and 12 J pass; of 29.75 J it may use 12 J,
    and they pass only at 18, with 15 s left.
    """
    none = math.inf
    etc_s = [[10.0, none, none], [none, 19.0, none], [none, none, 16.0], [none, none, 3.0]]
    power_w = [[0.25] * 3] * 3 + [[4.0] * 3]
    work = simple_workload([0.0, 0.0, 0.0, 0.0, 17.0], task_type=[0, 0, 1, 2, 3], end_s=24.0)
    world = World(simple_system(etc_s, [1, 1, 1], power_w), work)
    for budget_j, start_s in ((30.0, 17.0), (29.75, 18.0)):
        limited = replace(world, supply=Supply(budget_j, day_s=24.0))
        plan = twin_of(limited, energy_filter="fair-share")
        assert plan.start_s.tolist() == [0.0, 10.0, 0.0, 0.0, start_s]


def test_adaptive_filter_starts_with_none_and_then_follows_the_rate_of_use() -> None:
    """The first run (12 J, 2 s) is free. At 1, of T = 32 s are 29 s left and of 60 J 48 J: n = min(29 / 4, 48 / 9),
    lam = (60 / 32) / (12 / 3) = 0.46875, so an option may use 0.46875 * 9 J = 4.2 J: nothing passes. At 2 it is
    (60 / 32) / (12 / 4) * 9 J = 5.6 J, at 3 (60 / 32) / (12 / 6) * 9 J = 8.4 J: the frugal one passes. With 192 J
    at 1: n = min(7.25, 20), lam = 6 / 4 = 1.5 and 1.5 * 180 / 7.25 = 37 J: everything does."""
    world = replace(filtered_world(60.0), workload=simple_workload([0.0, 1.0], end_s=30.0))
    assert_plan(twin_of(world, energy_filter="adaptive"), [(0, 0.0, 2.0, RAN), (1, 3.0, 9.0, RAN)])
    world = replace(world, supply=Supply(192.0, day_s=16.0))
    assert_plan(twin_of(world, energy_filter="adaptive"), [(0, 0.0, 2.0, RAN), (0, 2.0, 4.0, RAN)])


def test_who_does_not_fit_is_tried_at_each_event_or_out_until_midnight() -> None:
    """12 J a day of 20 s. At 0 three tasks of 4 J are planned, which leaves nothing for the fourth, of 2 J. At 1 a task
    of 2 J comes that is worth more than the third: 2 J are left, in which only the fourth fits, if it may still."""
    system = simple_system([[4.0], [2.0]], [1], [[1.0], [1.0]])
    work = simple_workload([0.0, 0.0, 0.0, 0.0, 1.0], [0, 0, 0, 1, 1], end_s=100.0)
    work = replace(work, scale=np.array([4.0, 4.0, 4.0, 1.0, 8.0]))
    world = World(system, work, Supply(12.0, day_s=20.0))
    third, fourth = (0, 20.0, 24.0, RAN), (0, 10.0, 12.0, RAN)
    rows = [(0, 0.0, 4.0, RAN), (0, 4.0, 8.0, RAN), third, fourth, (0, 8.0, 10.0, RAN)]
    assert_plan(twin_of(world), rows)
    rows[3] = (0, 24.0, 26.0, RAN)
    assert_plan(twin_of(world, postponing="next-day"), rows)


def test_the_threshold_follows_the_load() -> None:
    """Tasks of half an hour on one machine, worth 1 - t / 2 h. One that waits is a load of 0.5, two are 1. Behind the
    first a task ends after an hour, worth 1/2: above 0.6 * 0.5, but below 0.6 * 1."""
    manager = Manager(POLICIES["max-max-util"], 0.6, 600.0, follows_load=True)
    for arrivals_s, fates in (([0.0, 1.0], [RAN, RAN]), ([0.0, 1.0, 1.0], [RAN, DROPPED, DROPPED])):
        work = simple_workload(arrivals_s, shape=linear(7200.0), end_s=20_000.0)
        world = World(simple_system([[1800.0]]), work)
        assert managed_plan(world, manager).status.tolist() == fates
        assert_same(world, manager)


def test_polled_may_drop_by_idle_machines_alone() -> None:
    """A task takes the fast machine up to 4. The next one could end at 8 on that, worth enough, but only at 11 on the
    slow one, which is idle. The third cannot run on the slow one: no idle machine says that it is hopeless."""
    system = simple_system([[4.0, 10.0], [4.0, math.inf]], [1, 1])
    world = World(system, simple_workload([0.0, 0.5, 0.5], [0, 0, 1], linear(16.0), end_s=20.0))
    first, third = (0, 0.0, 4.0, RAN), (0, 4.0, 8.0, RAN)
    polled: dict[str, Any] = {"environment": "polled", "dropping_threshold": 0.5}
    assert_plan(twin_of(world, **polled), [first, (1, 1.0, 11.0, RAN), third])
    assert_plan(twin_of(world, **polled, dropping_by="idle"), [first, (-1, NEVER, NEVER, DROPPED), third])


def test_polled_waits_for_an_idle_machine_where_queued_plans_ahead() -> None:
    """Events every 3 s: a queue starts the second task at 4 s, polling finds the machine idle at 6 s."""
    world = one_machine(2)
    assert_plan(twin_of(world, interval_s=3.0), [(0, 0.0, 4.0, RAN), (0, 4.0, 8.0, RAN)])
    assert_plan(twin_of(world, interval_s=3.0, environment="polled"), [(0, 0.0, 4.0, RAN), (0, 6.0, 10.0, RAN)])


def test_polled_gives_an_idle_machine_one_task_at_an_event() -> None:
    plan = twin_of(one_machine(3, exec_s=1.0), interval_s=2.0, environment="polled")
    assert_plan(plan, [(0, 0.0, 1.0, RAN), (0, 2.0, 3.0, RAN), (0, 4.0, 5.0, RAN)])


def steps_world(deadlines_s: Sequence[float], exec_s: Sequence[float]) -> World:
    """Tasks that come to one machine at 0, each of its own length, worth their scale up to their deadline."""
    n = len(deadlines_s)
    shapes = UtilityShapes.of([step(s)._replace(name=str(i)) for i, s in enumerate(deadlines_s)])
    system = simple_system([[s] for s in exec_s], [1], [[1.0]] * n)
    numbers, scale = np.arange(n, dtype=np.int32), np.arange(n, 0, -1.0)
    work = Workload(np.zeros(n), numbers, numbers, scale, np.zeros(n), shapes, 0.0, 100.0)
    return World(system, work)


def test_permuting_saves_a_task_with_a_near_deadline() -> None:
    """Max-Max Util takes the task worth 2 first; in the other order both are worth something."""
    world = steps_world([10.0, 3.0], [4.0, 2.0])
    assert_plan(twin_of(world), [(0, 0.0, 4.0, RAN), (0, 4.0, 6.0, RAN)])
    assert_plan(twin_of(world, permuted=2), [(0, 2.0, 6.0, RAN), (0, 0.0, 2.0, RAN)])


def test_permuting_changes_nothing_where_nothing_is_gained() -> None:
    world = steps_world([50.0, 50.0, 50.0], [4.0, 2.0, 1.0])
    assert_plan(twin_of(world, permuted=3), [(0, 0.0, 4.0, RAN), (0, 4.0, 6.0, RAN), (0, 6.0, 7.0, RAN)])


def test_postponed_task_below_its_threshold_is_dropped_at_an_event_and_not_later() -> None:
    """5 J a day hold one run of 4 J. The second task, worth 1 - t/12, is dropped when it cannot reach 0.5 any more:
    at 2 it would end at 8 (worth 1/3), at 1 as well as the machine is busy: dropped at the first event after 0."""
    work = simple_workload([0.0, 0.0], shape=linear(12.0), end_s=100.0)
    world = World(simple_system([[4.0]], [1], [[1.0]]), work, Supply(5.0, day_s=16.0))
    plan = twin_of(world, dropping_threshold=0.5)
    assert_plan(plan, [(0, 0.0, 4.0, RAN), (-1, NEVER, NEVER, DROPPED)])


def test_power_cap_holds_runs_apart() -> None:
    """Two runs of 2 W on two machines under a cap of 3 W: the second waits for the first to end."""
    system = simple_system([[4.0]], [2], [[2.0]])
    world = World(system, simple_workload([0.0, 0.0], end_s=50.0), Supply(cap_w=np.array([3.0])))
    assert_plan(twin_of(world), [(0, 0.0, 4.0, RAN), (0, 4.0, 8.0, RAN)])
    wide = replace(world, supply=Supply(cap_w=np.array([4.0])))
    assert_plan(twin_of(wide), [(0, 0.0, 4.0, RAN), (1, 0.0, 4.0, RAN)])


def test_power_cap_by_the_hour_is_looked_at_to_the_end_of_a_run() -> None:
    """A run of 1000 s at 2 W must be over before the second hour, of 1 W, or wait for the third."""
    system = simple_system([[1000.0]], [1], [[2.0]])
    supply = Supply(cap_w=np.array([3.0, 1.0]))
    soon = World(system, simple_workload([2600.0], end_s=1e5), supply)
    assert_plan(twin_of(soon, interval_s=100.0), [(0, 2600.0, 3600.0, RAN)])
    late = World(system, simple_workload([2601.0], end_s=1e5), supply)
    assert_plan(twin_of(late, interval_s=100.0), [(0, 7200.0, 8200.0, RAN)])


def test_sleeping_machine_boots_first_and_its_boot_counts() -> None:
    """Asleep after 2 s, 3 s to boot at 5 W: a task of 4 J that comes at 4 starts at 7 and costs 15 J more."""
    standby = Standby(*(np.array([value]) for value in (0.0, 0.0, 5.0, 3.0, 2.0)))
    system = replace(simple_system([[4.0]], [1], [[1.0]]), standby=standby)
    work = simple_workload([1.0, 4.0, 20.0], end_s=50.0)
    first, second = (0, 1.0, 5.0, RAN), (0, 5.0, 9.0, RAN)
    assert_plan(twin_of(World(system, work)), [first, second, (0, 23.0, 27.0, RAN)])
    late = simple_workload([4.0], end_s=20.0)
    assert_plan(twin_of(World(system, late, Supply(19.0, day_s=64.0))), [(0, 7.0, 11.0, RAN)])
    assert_plan(twin_of(World(system, late, Supply(18.0, day_s=64.0))), [WAITS])


def test_failure_loses_the_run_and_its_queue_which_are_mapped_again() -> None:
    """Down from 2 to 5: the run from 0 is lost at 2, the pending one never starts, and both begin again at 5."""
    world = replace(one_machine(2), outages=Outages(np.array([0]), np.array([2.0]), np.array([5.0])))
    plan = twin_of(world)
    assert_plan(plan, [(0, 5.0, 9.0, RAN), (0, 9.0, 13.0, RAN)])
    assert plan.lost == [Broken(0, 0, 0, 0.0, 2.0)]


def test_failure_between_runs_leaves_no_lost_run() -> None:
    """The first run ends at 4, when the machine fails: the second goes to the other machine at the event at 4."""
    system = simple_system([[4.0, 9.0]], [1, 1], [[1.0, 1.0]])
    outages = Outages(np.array([0]), np.array([4.0]), np.array([20.0]))
    world = World(system, simple_workload([0.0, 0.0], end_s=50.0), outages=outages)
    plan = twin_of(world, "min-min-comp")
    assert_plan(plan, [(0, 0.0, 4.0, RAN), (1, 4.0, 13.0, RAN)])
    assert plan.lost == []


def test_lost_energy_counts() -> None:
    """4 J a day of 16 s: 2 J are lost with the first run, so that the second try must wait for the next day."""
    outages = Outages(np.array([0]), np.array([2.0]), np.array([3.0]))
    world = replace(one_machine(1), supply=Supply(4.0, day_s=16.0), outages=outages)
    assert_plan(twin_of(world), [(0, 16.0, 20.0, RAN)])


def test_true_times_move_what_follows_and_long_tasks_are_killed() -> None:
    """Estimated at 4 s: they take 2 s, 12 s (killed after 8 s) and 4 s."""
    world = one_machine(3)
    world = replace(world, workload=replace(world.workload, stretch=np.array([0.5, 3.0, 1.0])))
    plan = twin_of(world, kill_factor=2.0)
    assert_plan(plan, [(0, 0.0, 2.0, RAN), (0, 2.0, 10.0, KILLED), (0, 10.0, 14.0, RAN)])


def test_overrunning_machine_looks_free_to_a_queue_but_not_to_a_poll() -> None:
    """Machine 0 should be free at 4 s and is at 8 s. A queue trusts it; polled takes machine 1, which is slower."""
    system = simple_system([[4.0, 5.0]], [1, 1], [[1.0, 1.0]])
    work = replace(simple_workload([0.0, 5.0], end_s=50.0), stretch=np.array([2.0, 1.0]))
    world = World(system, work)
    assert_plan(twin_of(world, "min-min-comp"), [(0, 0.0, 8.0, RAN), (0, 8.0, 12.0, RAN)])
    polled = twin_of(world, "min-min-comp", environment="polled")
    assert_plan(polled, [(0, 0.0, 8.0, RAN), (1, 5.0, 10.0, RAN)])


def test_events_follow_arrivals_or_the_interval_since_the_last_one() -> None:
    """By twos: arrivals at 1, 2, 3 and an interval of 5: events at 2 and 7."""
    system = simple_system([[1.0]], [4], [[1.0]])
    world = World(system, simple_workload([1.0, 2.0, 3.0], end_s=50.0))
    plan = twin_of(world, interval_s=5.0, mapping_arrivals=2)
    assert plan.start_s.tolist() == [2.0, 2.0, 7.0]
    alone = twin_of(world, interval_s=math.inf, mapping_arrivals=2)
    np.testing.assert_array_equal(alone.start_s, [2.0, 2.0, NEVER])


def test_mapping_takes_the_given_time_and_delays_the_next_event() -> None:
    """Events at 2 (batch 2, done at 2 + 1 + 2 = 5, which is also the next event, past 4) and at 5 (batch 1: 7)."""
    system = simple_system([[1.0]], [4], [[1.0]])
    world = World(system, simple_workload([1.0, 2.0, 3.0], end_s=50.0))
    plan = twin_of(world, interval_s=2.0, mapping_time="given", mapping_model=(1.0, 1.0, 0.0))
    assert plan.start_s.tolist() == [5.0, 5.0, 7.0]
    given = Manager(
        POLICIES["max-max-upt"], mapping_interval_s=2.0, mapping_time="given", mapping_model=(1.0, 1.0, 0.0)
    )
    assert simulate(world, given).n_late_events == 1
    assert simulate(world, replace(given, mapping_time="free")).n_late_events == 0


def test_machines_go_on_with_the_old_queue_while_the_mapper_runs() -> None:
    """The event at 0 is in force at 4: runs 4-5, 5-6, ... The next one, at 4 (batch 2: the two that are neither
    started nor pending), is in force at 6: by then the third has started and the fourth is pending."""
    world = one_machine(4, exec_s=1.0)
    plan = twin_of(world, interval_s=2.0, mapping_time="given", mapping_model=(0.0, 1.0, 0.0))
    assert plan.start_s.tolist() == [4.0, 5.0, 6.0, 7.0]


def test_classes_have_their_own_thresholds() -> None:
    """Worth 1 each: the common threshold of 2 drops the plain task, the class's of 0.5 keeps the critical one."""
    world = one_machine(2)
    tag = Tag(("plain", "critical"), np.array([0, 1]))
    world = replace(world, workload=replace(world.workload, tags={"priority": tag}))
    plan = twin_of(world, dropping_threshold=2.0, class_thresholds={"critical": 0.5})
    assert_plan(plan, [(-1, NEVER, NEVER, DROPPED), (0, 0.0, 4.0, RAN)])


def two_speeds(n_tasks: int = 1, **supply: Any) -> World:
    """One machine with a fast, thirsty P-state (2 s, 8 J) and a slow, frugal one (4 s, 4 J)."""
    etc_s, power_w = np.array([[[2.0, 4.0]]]), np.array([[[4.0, 1.0]]])
    system = System(("t0",), ("m0",), np.array([1]), etc_s, power_w)
    return World(system, simple_workload([0.0] * n_tasks, shape=linear(16.0), end_s=30.0), Supply(**supply))


def test_weight_moves_a_weighted_policy_from_utility_to_energy() -> None:
    """Utilities 7/8 and 3/4, energies 1 and 1/2 of the most: the slow P-state wins once w/2 > (1 - w)/8, w > 1/5."""
    for weight, pstate in ((0.0, 0), (0.125, 0), (0.25, 1), (1.0, 1)):
        assert twin_of(two_speeds(), "weighted-util", weight=weight).pstate.tolist() == [pstate]


def test_declined_choices_wait() -> None:
    """At weight 0.75 the slow P-state is worth 0.25 * 0.75 - 0.75 * 0.5 < 0."""
    assert twin_of(two_speeds(), "weighted-util", weight=0.75).pstate.tolist() == [1]
    assert_plan(twin_of(two_speeds(), "weighted-util", weight=0.75, declines=True), [WAITS])


@pytest.mark.parametrize(("policy", "pstates"), [("fcfs-p0", [0, -1]), ("fcfs-all", [0, 1])])
def test_in_order_falls_back_to_a_slower_pstate_only_when_asked(policy: str, pstates: Sequence[int]) -> None:
    plan = twin_of(two_speeds(2, budget_j=12.0, day_s=64.0), policy)
    assert plan.pstate.tolist() == list(pstates)


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("fcfs-p0", [0, 1, 2]),
        ("lcfs-p0", [2, 1, 0]),
        ("prioritized-fcfs-p0", [1, 2, 0]),
        ("prioritized-lcfs-p0", [2, 1, 0]),
    ],
)
def test_orders(policy: str, order: Sequence[int]) -> None:
    world = one_machine(3, exec_s=1.0)
    world = replace(world, workload=replace(world.workload, scale=np.array([1.0, 2.0, 2.0])))
    assert np.argsort(twin_of(world, policy).start_s).tolist() == list(order)


def test_prices_are_charged_and_dear_choices_declined() -> None:
    """Utilities 7/8 and 3/4. An energy price of 1/16 takes 1/2 and 1/4: the slow one; a time price of 1 takes all."""
    manager = Manager(POLICIES["prices"], mapping_interval_s=1.0)
    frugal = managed_plan(two_speeds(), manager, prices=np.array([[0.0, 1 / 16]]))
    assert frugal.pstate.tolist() == [1]
    dear = managed_plan(two_speeds(), manager, prices=np.array([[1.0, 0.0]] * 100))
    assert_plan(dear, [WAITS])


def test_mixing_of_bits_is_the_known_one() -> None:
    """The first numbers of splitmix64 from the state 0, as its author publishes them."""
    golden = 0x9E3779B97F4A7C15
    assert [mixed(n * golden & (2**64 - 1)) for n in (1, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_random_choices_are_possible_ones_and_differ_by_seed() -> None:
    system = simple_system([[1.0, 2.0, math.inf]], [2, 2, 1], [[1.0, 1.0, 1.0]])
    world = World(system, simple_workload([0.0] * 12, end_s=50.0))
    manager = Manager(POLICIES["random-batch"], mapping_interval_s=1.0)
    plans = [managed_plan(world, manager, seed) for seed in range(4)]
    for plan in plans:
        assert set(plan.machine.tolist()) <= {0, 1, 2, 3}
        assert (plan.status == RAN).all()
    assert len({tuple(plan.machine.tolist()) for plan in plans}) == 4


@pytest.mark.thorough("forty days of each kind")
@pytest.mark.parametrize("kind", KINDS)
def test_scenarios_differ_from_a_plain_day(kind: str) -> None:
    """In a fair part of the drawn worlds the switches and limits of their kind change what happens."""
    differs = []

    @settings(max_examples=40, derandomize=True)  # a share is judged
    @given(scenario=KINDS[kind]())
    def look(scenario: ManagedScenario) -> None:
        manager, world = scenario.manager(POLICIES["max-max-upt"]), scenario.world
        system, work = replace(world.system, standby=None), replace(world.workload, stretch=None)
        interval_s = min(manager.mapping_interval_s, work.end_s)
        usual = Manager(manager.policy, manager.dropping_threshold, interval_s, manager.best_types)
        found, expected = managed_plan(world, manager), managed_plan(World(system, work), usual)
        differs.append(not np.array_equal(found.start_s, expected.start_s, equal_nan=True))

    look()
    assert np.mean(differs) > 0.25

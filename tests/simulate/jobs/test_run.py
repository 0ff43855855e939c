"""The job loop: schedules worked out by hand, formulas, its slow twin, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.kernels.jobs import layout as job_layout
from joulewise.model import linear
from joulewise.model.arrays import Floats
from joulewise.model.conditions import Conditions
from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld, Label
from joulewise.model.supply import Supply
from joulewise.policies.jobs.orders import multifactor
from joulewise.policies.jobs.table import BY_HAND, JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs.arrays import outlived
from joulewise.simulate.jobs.misfits import job_misfits
from joulewise.simulate.jobs.run import JobEngine, simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from joulewise.worlds.jobs.node_outages import of_nodes_that_are_there
from tests.strategies.job_worlds import (
    clusters_of,
    in_minutes,
    outages_of,
    trace_world,
    trace_worlds,
    troubled_worlds,
    typed_worlds,
    types_of,
    windowed,
    work_of,
)
from tests.twins.jobs.run import Twin

ONE_BY_ONE = [policy.name for policy in JOB_POLICIES.values() if policy.rule in ("in-order", "in-queues")]


def scheduler(policy: str, **switches: Any) -> Scheduler:
    return Scheduler(JOB_POLICIES[policy], **switches)


def run(world: JobWorld, policy: str, **switches: Any) -> JobAllocation:
    """What the general engine does, also where there is a faster one; checked."""
    how = scheduler(policy, **switches)
    engine = JobEngine(world, how)
    engine.run(world.jobs.work.end_s)
    allocation = engine.allocation()
    assert check_jobs(world, allocation, how) == []
    return allocation


# By hand: 4 nodes; a job on 2 until 5, one that needs all 4, one that would delay it, one that would not

FOUR = trace_world([(0, 2, 5), (1, 4, 3), (1, 1, 10), (2, 1, 2)])


@pytest.mark.parametrize(
    ("policy", "switches", "start_s"),
    [
        ("easy", {}, [0, 5, 8, 2]),
        ("conservative", {}, [0, 5, 8, 2]),
        ("fcfs", {}, [0, 5, 8, 8]),
        ("easy", {"reservations_for": "none"}, [0, 11, 1, 2]),
        ("sjf", {}, [0, 5, 8, 2]),
        ("largest-first", {}, [0, 5, 8, 2]),
    ],
)
def test_schedules_by_hand(policy: str, switches: dict[str, Any], start_s: list[float]) -> None:
    assert run(FOUR, policy, **switches).start_s.tolist() == start_s


def test_reservations_move_forward_when_a_job_ends_early() -> None:
    world = trace_world([(0, 4, 2, 10), (1, 4, 1), (1, 4, 1)])
    assert run(world, "conservative").start_s.tolist() == [0, 2, 3]


@pytest.mark.parametrize(("budget_j", "start_s"), [(5100.0, [0, 900, 2]), (9001.0, [0, 100, 2])])
@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_reservations_move_forward_over_midnight_only_within_the_budget(
    policy: str, budget_j: float, start_s: list[float]
) -> None:
    """The second job is held across midnight, the third uses the day's rest; then the first ends 800 s early."""
    types = types_of([[(0, 2, 100, 900, 1e-3)], [(0, 2, 500, 500, 10)], [(0, 1, 400, 400, 10)]])
    jobs, supply = Jobs(work_of([0, 1, 2], end_s=2000.0)), Supply(budget_j, day_s=1000.0)
    assert run(JobWorld(clusters_of([3]), types, jobs, supply), policy).start_s.tolist() == start_s


def test_mapping_events_every_minute_start_place_holders_between_them() -> None:
    """The second job waits for the first to end at 80 s; held until the next event it starts then, else at 120 s."""
    world = trace_world([(0, 4, 80), (30, 4, 10)])
    assert run(world, "sjf", mapping_interval_s=60).start_s.tolist() == [0, 80]
    assert run(world, "sjf", mapping_interval_s=60, reservations_for="none").start_s.tolist() == [0, 120]


def test_queues_take_turns() -> None:
    """One large, then up to four medium, then up to eight small jobs, each in order of arrival."""
    sizes = [10, 1, 5, 10, 1, 5]
    types = types_of([[(0, 1, size)] for size in (10, 5, 1)])
    kinds = [{10: 0, 5: 1, 1: 2}[size] for size in sizes]
    world = JobWorld(clusters_of([1]), types, Jobs(work_of([0.0] * 6, types=kinds)))
    order = np.argsort(run(world, "fcfs-multiple-queues").start_s)
    assert [sizes[i] for i in order] == [10, 5, 5, 1, 1, 10]


def test_a_job_waits_for_another_and_thinks() -> None:
    world = trace_world([(0, 1, 5), (1, 1, 2)])
    jobs = replace(world.jobs, conditions=Conditions.following(np.array([-1, 0]), np.array([0.0, 3.0])))
    allocation = run(replace(world, jobs=jobs), "easy")
    assert (allocation.ready_s[1], allocation.start_s[1]) == (8, 8)


def test_jobs_that_fit_nowhere_are_impossible_and_hold_up_those_behind_them_only() -> None:
    types = types_of([[], [(0, 1, 1)]])
    jobs = Jobs(work_of([0, 0, 1], types=[0, 1, 1]), conditions=Conditions.following(np.array([-1, 0, -1])))
    allocation = run(JobWorld(clusters_of([1]), types, jobs), "fcfs")
    assert allocation.fate.tolist() == [Fate.IMPOSSIBLE, Fate.WAITING, Fate.RAN]
    assert allocation.ready_s.tolist() == [0, math.inf, 1]


@pytest.mark.parametrize("end_s", [9.0, 10.0, 11.0])
@pytest.mark.parametrize("policy", ["easy", "max-util"])
def test_a_job_without_options_is_impossible_whenever_it_comes(policy: str, end_s: float) -> None:
    jobs = Jobs(work_of([0, 10], end_s=end_s))
    found = run(JobWorld(clusters_of([2]), types_of([[(0, 1, 5)], []]), jobs), policy)
    assert found.fate.tolist() == [Fate.RAN, Fate.IMPOSSIBLE]


def test_nothing_is_planned_into_a_planned_outage() -> None:
    world = trace_world([(0, 3, 5), (0, 1, 5)], outages=outages_of([(0, 2, 3.0, 8.0, True, 0.0)]))
    assert run(world, "easy").start_s.tolist() == [8, 0]


def test_no_more_nodes_are_out_than_there_are() -> None:
    """A node that fails in the maintenance of all four is out for longer: a job on all of them waits for it."""
    rows = outages_of([(0, 4, 10.0, 100.0, True, 0.0), (0, 1, 50.0, 200.0, False, 0.0)])
    with pytest.raises(InputError, match="found 5 nodes of cluster c0 out at once"):
        trace_world([(60, 4, 5)], outages=rows)
    world = trace_world([(60, 4, 5)], outages=of_nodes_that_are_there(rows, clusters_of([4])))
    assert run(world, "easy").start_s.tolist() == [200]


def test_a_failure_takes_no_node_of_a_planned_outage_that_begins_with_it() -> None:
    rows = outages_of([(0, 1, 5.0, 9.0, False, 0.7), (0, 1, 5.0, 9.0, True, 0.0)])
    found = run(trace_world([(0, 1, 9)], 2, rows), "easy")
    assert (found.start_s.tolist(), found.pieces.end_s.tolist()) == ([9], [5])


def test_a_failure_takes_jobs_with_it_by_lot() -> None:
    """The row of 4 nodes is: job 0, job 0, job 1, idle; the lot of 0.5 hits job 1, which starts again after."""
    world = trace_world([(0, 2, 9), (0, 1, 9)], outages=outages_of([(0, 2, 4.0, 6.0, False, 0.5)]))
    allocation = run(world, "easy")
    assert allocation.start_s.tolist() == [0, 6]
    pieces = allocation.pieces
    assert (pieces.job.tolist(), pieces.start_s.tolist(), pieces.end_s.tolist()) == ([1], [0], [4])


def test_a_job_is_killed_at_its_limit_and_not_at_its_plan() -> None:
    """Planned for 2 s and allowed 5 s: the one that takes 4 s ends, the one that takes 6 s does not."""
    world = trace_world([(0, 4, 4, 2), (0, 4, 6, 2), (1, 4, 3)])
    world = replace(world, types=replace(world.types, limit_s=np.full(3, 5.0)))
    for name in ("easy", "conservative", "fcfs"):
        allocation = run(world, name, overrun="kill")
        assert allocation.end_s.tolist() == [4, 9, 12]
        assert allocation.fate.tolist() == [Fate.RAN, Fate.KILLED, Fate.RAN]


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_a_prediction_that_is_too_short_stands_until_it_is_outlived(name: str) -> None:
    """Predicted to take 2 min, the first takes 20 of 30: the third fits in at 8 min, when its end is put off to 23."""
    world = in_minutes(trace_world([(0, 3, 20, 2), (1, 4, 3), (1, 1, 6), (1, 1, 12)]))
    world = replace(world, types=replace(world.types, limit_s=60 * np.array([30.0, 3.0, 6.0, 12.0])))
    for overrun in ("kill", "steps"):
        assert (run(world, name, overrun=overrun).start_s / 60).tolist() == [0, 20, 8, 23]
    assert (run(world, name, overrun="raise").start_s / 60).tolist() == [0, 20, 1, 7]


def test_a_plan_is_raised_by_more_each_time_up_to_the_limit() -> None:
    """Planned for 2 min and allowed 30, it runs for 200: whoever waits hears of each new end as the old one comes."""
    world = in_minutes(trace_world([(0, 4, 200, 2), (1, 4, 1)]))
    world = replace(world, types=replace(world.types, limit_s=np.array([1800.0, 60.0])))
    ends_min: list[float] = []
    for event in JobEngine(world, Scheduler(BY_HAND, overrun="steps")).events(math.inf):
        ends_min += (event.running.end_s / 60).tolist()
        if event.now_s == 0:
            event.start(0, 0)
    assert ends_min == [2, 3, 8, 23, 30, 90, 210]


@pytest.mark.parametrize(
    ("overrun", "ends_s", "fate"), [("raise", [6, 9], Fate.RAN), ("kill", [2, 5], Fate.KILLED), ("unaware", [6, 9], 1)]
)
def test_jobs_that_outlive_their_plan(overrun: str, ends_s: list[float], fate: int) -> None:
    allocation = run(trace_world([(0, 4, 6, 2), (1, 4, 3)]), "easy", overrun=overrun)
    assert allocation.end_s.tolist() == ends_s
    assert allocation.fate.tolist() == [fate, Fate.RAN]


@pytest.mark.parametrize("policy", ["easy", "conservative", "fcfs", "max-util"])
def test_a_newcomer_worth_more_suspends_a_job_that_goes_on_later(policy: str) -> None:
    """The first job has run from 0 to 3; a checkpoint of 1 s, the newcomer from 4 to 8, a restart of 2 s, 7 s left."""
    types = types_of([[(0, 4, 10)], [(0, 2, 4)]])
    work = work_of([0, 3], linear(20.0), types=[0, 1], scale=np.array([1.0, 8.0]))
    world = JobWorld(clusters_of([4]), types, Jobs(work))
    allocation = run(world, policy, preempts=True, checkpoint_s=1, restart_s=2)
    assert allocation.start_s.tolist() == [8, 4]
    assert allocation.end_s.tolist() == [17, 8]
    assert allocation.pieces.end_s.tolist() == [4]
    cheap = replace(world, jobs=Jobs(replace(work, scale=np.array([8.0, 1.0]))))
    assert run(cheap, policy, preempts=True, checkpoint_s=1, restart_s=2).pieces.job.size == 0


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_a_suspended_job_does_not_go_on_before_its_checkpoint_is_written(policy: str) -> None:
    """The second job is suspended at 10 and writes until 20; the first, planned until 100, ends at 15 all the same."""
    types = types_of([[(0, 4, 15, 100)], [(0, 2, 100)], [(0, 2, 50)]])
    work = work_of([0, 0, 10], linear(1000.0), types=[0, 1, 2], scale=np.array([20.0, 1.0, 50.0]))
    allocation = run(JobWorld(clusters_of([6]), types, Jobs(work)), policy, preempts=True, checkpoint_s=10, restart_s=2)
    assert allocation.pieces.end_s.tolist() == [20]
    assert allocation.start_s.tolist() == [0, 20, 15]


def test_users_who_have_used_more_come_later() -> None:
    """Ann's job runs until 10; then two wait, hers since longer: fair share lets Bob's go first, age alone hers."""
    world = trace_world([(0, 1, 10), (1, 1, 5), (2, 1, 5)], 1)
    jobs = replace(world.jobs, labels={"user": Label(("ann", "bob"), np.array([0, 0, 1], np.int32))})
    only = dict.fromkeys(("age", "fair_share", "size", "queue"), 0.0)
    fair = run(replace(world, jobs=jobs), "multifactor", weights=only | {"fair_share": 1.0})
    aged = run(replace(world, jobs=jobs), "multifactor", weights=only | {"age": 1.0})
    assert (fair.start_s.tolist(), aged.start_s.tolist()) == ([0, 15, 10], [0, 10, 15])


@pytest.mark.parametrize(("weight", "start_s"), [(1.4, [0, 15, 10]), (1.6, [0, 10, 15])])
def test_a_fair_share_is_that_of_the_users_there_are(weight: float, start_s: list[float]) -> None:
    """Ann has used all that was used by two: her factor is 1/4, Bob's 1, so that 1.5 times their sizes is a tie."""
    world = trace_world([(0, 2, 10), (1, 2, 5), (2, 1, 5)], 2)
    jobs = replace(world.jobs, labels={"user": Label(("ann", "bob"), np.array([0, 0, 1], np.int32))})
    weights = {"age": 0.0, "fair_share": 1.0, "size": weight, "queue": 0.0}
    assert run(replace(world, jobs=jobs), "multifactor", weights=weights).start_s.tolist() == start_s


def test_multifactor_is_made_of_factors_from_0_to_1() -> None:
    priority = multifactor({"age": 8.0, "fair_share": 4.0, "size": 2.0, "queue": 1.0}).priority
    assert priority is not None
    assert priority(1e9, 1.0, 4.0, 0.5, 1.0, 1.0, 1.0) == 8.0 + 2.0 + 1.0 + 1.0


# Formulas


def erlang_wait_s(arrivals_per_s: float, mean_s: float, n: int) -> float:
    """The mean wait in a queue M/M/n."""
    load = arrivals_per_s * mean_s
    terms = [load**k / math.factorial(k) for k in range(n)]
    last = load**n / math.factorial(n) * n / (n - load)
    return last / (sum(terms) + last) * mean_s / (n - load)


@pytest.mark.parametrize("n", [1, 3])
def test_waits_are_those_of_the_formula(n: int) -> None:
    rng = generator(0, "tests.test_jobs", n)
    n_jobs, mean_s = 60_000, 10.0
    per_s = 0.7 * n / mean_s
    arrival_s, time_s = np.cumsum(rng.exponential(1 / per_s, n_jobs)), rng.exponential(mean_s, n_jobs)
    rows = np.stack([arrival_s, np.ones(n_jobs), time_s], axis=1)
    engine = JobEngine(trace_world(rows.tolist(), n), scheduler("fcfs"))
    engine.run(math.inf)
    allocation = engine.allocation()
    wait_s: Floats = allocation.start_s - allocation.ready_s
    assert wait_s.mean() == pytest.approx(erlang_wait_s(per_s, mean_s, n), rel=0.06)


def test_fates_are_those_of_the_kernels() -> None:
    known = {fate.name: fate.value for fate in Fate if fate != Fate.CANCELLED}  # only sites cancel jobs
    assert {name: getattr(job_layout, name) for name in known} == known


# The twin

WORLDS = st.one_of(
    trace_worlds(14, overruns=True),
    trace_worlds(14, overruns=True).map(in_minutes),
    windowed(typed_worlds(10, is_certain=False)),
    troubled_worlds(typed_worlds(10, is_certain=False)),
    troubled_worlds(trace_worlds(12)),
)


def are_outlived(world: JobWorld, how: Scheduler) -> bool:
    return bool(outlived(world, how).any()) or how.overrun == "unaware"


@st.composite
def schedulers(draw: st.DrawFn, world: JobWorld) -> Scheduler:
    name = draw(st.sampled_from(ONE_BY_ONE))
    overruns = get_args(Overrun)
    if world.outages.is_planned.any():
        overruns = tuple(overrun for overrun in overruns if not are_outlived(world, scheduler(name, overrun=overrun)))
    switches: dict[str, Any] = {
        "commitment": draw(st.sampled_from((None, "reservations", "place-holders"))),
        "reservations_for": draw(st.sampled_from((None, 0, 1, 2, "all"))),
        "dropping_threshold": draw(st.sampled_from((0.0, 0.0, 0.5))),
        "overrun": draw(st.sampled_from(overruns)),
        "cluster_ties": draw(st.sampled_from(("lowest", "fastest"))),
        "weights": draw(st.sampled_from(({}, {"fair_share": 0.0}, {"age": 1e4, "fair_share": 3.0, "queue": 0.5})))
        if name == "multifactor"
        else {},
        "usage_half_life_s": draw(st.sampled_from((4.0, 100.0, 1e5))),
    }
    if "queue" in world.jobs.labels:
        switches["standing"] = draw(st.sampled_from(({}, {"debug": 0.5}, {"debug": 1.0, "batch": 0.25})))
    if switches["overrun"] != "unaware":
        switches["mapping_interval_s"] = draw(st.sampled_from((math.inf, 1.0, 7.0, 60.0)))
    return scheduler(name, **switches)


@given(data=st.data(), world=WORLDS)
def test_equals_its_slow_twin(data: st.DataObject, world: JobWorld) -> None:
    if data.draw(st.booleans()):
        limit_s = np.maximum(world.types.planned_s + data.draw(st.sampled_from([-1.0, 0.0, 2.0, 200.0])), 1.0)
        world = replace(world, types=replace(world.types, limit_s=limit_s))
    how = data.draw(schedulers(world))
    engine = JobEngine(world, how)
    engine.run(world.jobs.work.end_s)
    found, twin = engine.allocation(), Twin(world, how).run()
    assume(not twin.is_close)
    runs = twin.done | {run.job: run for run in twin.running}
    option = [runs[i].option if i in runs else -1 for i in range(world.n_jobs)]
    start_s = [runs[i].start_s if i in runs else math.nan for i in range(world.n_jobs)]
    np.testing.assert_array_equal(found.option, option)
    np.testing.assert_array_equal(found.start_s, start_s)
    assert set(np.flatnonzero(found.fate == Fate.DROPPED).tolist()) == twin.dropped
    pieces = zip(found.pieces.job, found.pieces.start_s, found.pieces.end_s, strict=True)
    assert [(int(i), float(s), float(e)) for i, s, e in pieces] == twin.lost


# Refused


@pytest.mark.parametrize(
    ("supply", "switches", "words"),
    [
        (
            Supply(budget_j=1e9),
            {},
            "overrun: found 'steps', and jobs that run longer than planned; budgets of",
        ),
        (Supply(cap_w=np.array([900.0, 800.0])), {}, "caps by the hour and planned outages are kept by planned times"),
        (Supply(), {"preempts": True}, "scheduler.preempts: found 'steps', and jobs that run longer than planned"),
        (
            Supply(),
            {"nodes": "pinned"},
            "nodes: found 'pinned' with overrun 'steps' and jobs that run longer",
        ),
        (Supply(cap_w=np.array([900.0])), {}, ""),
    ],
)
def test_what_only_plans_can_keep_that_hold(supply: Supply, switches: dict[str, Any], words: str) -> None:
    types = types_of([[(0, 1, 60.0, 30.0, 10.0)]])
    world = JobWorld(clusters_of([4]), types, Jobs(replace(work_of([0.0], linear(9.0)), end_s=9e4)), supply)
    found = " ".join(map(str, job_misfits(world, scheduler("easy", overrun="steps", **switches))))
    assert words in found
    assert bool(found) == bool(words)
    assert not list(job_misfits(world, scheduler("easy", overrun="raise", **switches)))


@pytest.mark.parametrize(
    ("switches", "where"),
    [
        ({"mapping_interval_s": 0.0}, "scheduler.mapping_interval"),
        ({"reservations_for": "some"}, "scheduler.reservations_for"),
        ({"commitment": "wishes"}, "scheduler.commitment"),
        ({"leniency": 0.0}, "scheduler.leniency"),
        ({"queue_thresholds": (0.6, 0.3)}, "scheduler.queue_thresholds"),
        ({"per_cycle": (0, 4, 8)}, "scheduler.per_cycle"),
        ({"weights": {"age": 1.0}}, "scheduler.weights"),
        ({"overrun": "unaware", "mapping_interval_s": 60.0}, "scheduler.overrun"),
        ({"standing": {"debug": 2.0}}, "scheduler.standing.debug"),
        ({"preempts": True, "overrun": "unaware"}, "scheduler.preempts"),
    ],
)
def test_switches_that_cannot_be(switches: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        scheduler("easy", **switches)
    assert where in [problem.where for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("policy", "switches", "where"),
    [
        ("max-upe", {}, "scheduler.policy"),
        ("easy", {"energy_filter": "per-task"}, "scheduler.energy_filter"),
        ("easy", {"standing": {"debug": 0.5}}, "scheduler.standing"),
    ],
)
def test_schedulers_that_do_not_fit_the_world(policy: str, switches: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate_jobs(FOUR, scheduler(policy, **switches))
    assert where in [problem.where for problem in caught.value.problems]


def test_a_budget_needs_powers_and_an_end() -> None:
    with pytest.raises(InputError) as caught:
        simulate_jobs(replace(FOUR, supply=Supply(100.0)), scheduler("easy", preempts=True))
    assert {problem.where for problem in caught.value.problems} == {
        "job types.power_w",
        "workload.end",
        "scheduler.preempts",
    }

"""Stepping through events of parallel jobs: what is seen, what may be started, and built-in policies played by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.model import linear
from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.jobs.own import own_job_policy
from joulewise.policies.jobs.policy import JobPolicy
from joulewise.policies.jobs.table import BY_HAND, JOB_POLICIES
from joulewise.simulate.jobs.event import JobEvent
from joulewise.simulate.jobs.misfits import job_misfits
from joulewise.simulate.jobs.run import JobEngine, simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.jobs.session import JobSession
from tests.strategies import own_job_policies
from tests.strategies.job_worlds import (
    busy_job_world,
    capped_worlds,
    clusters_of,
    limited_worlds,
    outages_of,
    trace_world,
    trace_worlds,
    troubled_worlds,
    typed_worlds,
    types_of,
    windowed,
    work_of,
)

COLUMNS = ("option", "start_s", "end_s", "ready_s", "fate")
OWN = {name: getattr(own_job_policies, name.replace("-", "_")) for name in ("fcfs", "easy", "max-upt")}

WORLDS = st.one_of(
    trace_worlds(14, overruns=True),
    windowed(typed_worlds(8, is_certain=False)),
    troubled_worlds(typed_worlds(8, is_certain=False)),
    troubled_worlds(limited_worlds(8, is_certain=False)),
    limited_worlds(8),
    capped_worlds(8),
)


@st.composite
def switches(draw: st.DrawFn, world: JobWorld, nodes: tuple[str, ...]) -> dict[str, Any]:
    """Switches of a scheduler that mean something whoever decides."""
    return {
        "mapping_interval_s": draw(st.sampled_from((math.inf, math.inf, 7.0))),
        "dropping_threshold": draw(st.sampled_from((0.0, 0.0, 0.5))),
        "dropping_by": draw(st.sampled_from(("task", "option"))),
        "energy_filter": draw(st.sampled_from(("none", "per-task")))
        if math.isfinite(world.supply.budget_j)
        else "none",
        "overrun": draw(st.sampled_from(("raise", "kill", "unaware"))),
        "nodes": draw(st.sampled_from(nodes)),
        "preempts": draw(st.sampled_from((False, False, True))),
        "restart_s": 1.0,
    }


def scheduler_of(world: JobWorld, policy: JobPolicy, how: dict[str, Any]) -> Scheduler:
    """A scheduler that fits, or no case."""
    try:
        scheduler = Scheduler(policy, commitment="place-holders", **how)
    except InputError:
        assume(False)
    assume(not list(job_misfits(world, scheduler)))
    return scheduler


def started(world: JobWorld, scheduler: Scheduler) -> JobAllocation | None:
    """What a policy by hand does; None where it is told that it lets all jobs wait for ever."""
    try:
        return simulate_jobs(world, scheduler).allocation
    except InputError as error:
        if "nothing runs" in str(error):
            return None
        raise


@pytest.mark.parametrize(
    "nodes",
    [
        ("counted",),
        pytest.param(
            ("counted", "pinned"), marks=pytest.mark.thorough("compiles the engine of jobs once more, for named nodes")
        ),
    ],
    ids=["counted", "pinned"],
)
@pytest.mark.parametrize("name", OWN)
@given(data=st.data(), world=WORLDS)
def test_a_built_in_policy_by_hand_is_that_policy(
    name: str, nodes: tuple[str, ...], data: st.DataObject, world: JobWorld
) -> None:
    """Budgets, caps, outages, overruns, dropping, pins and preemption mean the same to who starts from outside."""
    how = data.draw(switches(world, nodes))
    expected = JobEngine(world, scheduler_of(world, JOB_POLICIES[name], how))
    sees_all = expected.numbers.size == world.types.cluster.size
    assume(sees_all or how["energy_filter"] == "none")  # a fair share is that of the mean option that is seen
    expected.run(world.jobs.work.end_s)
    scheduler = scheduler_of(world, OWN[name], how)
    found = started(world, scheduler)
    if found is None:
        assert not np.isfinite(expected.allocation().start_s).any()
        return
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(found, column), getattr(expected.allocation(), column), column)
    assert check_jobs(world, found, scheduler) == []


@pytest.mark.parametrize("policy", [JOB_POLICIES["easy"], OWN["easy"]], ids=["built in", "by hand"])
def test_who_comes_between_polls_is_mapped_though_nothing_moves(policy: JobPolicy) -> None:
    """The first job needs nodes that never come back; the second comes after the poll that found that."""
    lost = outages_of([(0, 2, 0.0, math.inf, False, 0.5)])
    world = trace_world([(0, 4, 2), (8, 1, 2)], 4, lost)
    found = simulate_jobs(world, Scheduler(policy, mapping_interval_s=7.0)).allocation
    np.testing.assert_array_equal(found.start_s, [math.nan, 14.0])


@pytest.mark.parametrize("policy", [JOB_POLICIES["fcfs"], OWN["fcfs"]], ids=["built in", "by hand"])
def test_who_comes_first_between_polls_is_mapped(policy: JobPolicy) -> None:
    """There has been no event before."""
    found = simulate_jobs(trace_world([(1, 1, 1)]), Scheduler(policy, mapping_interval_s=7.0)).allocation
    assert found.start_s.tolist() == [7.0]


def test_held_nodes_stay_held_where_the_commitment_says_so() -> None:
    """The second job is held from 5 s on; by reservations it moves forward when the first ends early."""
    world = trace_world([(0, 4, 2, 5), (1, 4, 3)])
    held = []
    session = JobSession(world, Scheduler(BY_HAND, commitment="reservations"))
    for event in session:
        held += event.hold(event.job, event.job).tolist()
    assert held == [0.0, 5.0]
    assert session.outcome().allocation.start_s.tolist() == [0.0, 2.0]


# What is seen

SPECIAL = JobWorld(
    clusters_of([4, 2], [2, 8]),
    types_of([[(0, 2, 10, 12, 100.0), (0, 4, 6, 7, 200.0), (1, 1, 5, 5, 50.0)], [(1, 2, 8, 8, 90.0)]]),
    Jobs(work_of([0, 0, 1], linear(100.0), [0, 1, 0], end_s=50.0, scale=np.array([1.0, 2.0, 4.0]))),
    Supply(9e4, day_s=100.0, cap_w=np.array([500.0]), tariff=np.array([3.0])),
    outages_of([(0, 1, 0.5, 20.0, True, 0.0)]),
)


def test_an_event_shows_what_is_there_and_follows_starts() -> None:
    events = iter(JobSession(SPECIAL))
    event = next(events)
    assert (event.number, event.now_s, event.next_s) == (0, 0.0, 0.0)
    assert (event.job.tolist(), event.job_type.tolist()) == ([0, 1], [0, 1])
    assert [column.tolist() for column in event.choices] == [[0, 0, 0, 1], [0, 1, 2, 3]]
    assert event.options.planned_s.tolist() == event.options.time_s.tolist() == [12, 7, 5, 8]
    assert event.limit_s.tolist() == [12, 7, 5, 8]
    assert event.earliest_s(*event.choices).tolist() == [0.0, 20.0, 0.0, 0.0]
    assert event.utility(event.now_s + 50.0).tolist() == [0.5, 1.0]
    assert event.worthless_at_s.tolist() == [100.0, 100.0]
    assert event.price_per_s.tolist() == [0.5 * 5 / (2 * 12 + 4 * 7 + 1 * 5 + 2 * 8)] * 2
    assert event.price_per_j > 0.0
    assert (event.n_free.tolist(), event.n_up.tolist(), event.cap_w, event.tariff) == ([4, 2], [4, 2], 500.0, 3.0)
    assert [column.tolist() for column in event.profile(0)] == [[0.0, 0.5, 20.0], [4, 3, 4]]
    assert event.start(0, 0).tolist() == [True]
    assert event.hold(1, 3).tolist() == [0.0]
    assert (event.n_free.tolist(), event.free_w, event.power_w.tolist()) == ([2, 0], 310.0, [100.0, 90.0])
    assert event.left_j == 9e4 - 1200 - 720
    assert [column.tolist() for column in event.running] == [[0, 1], [0, 3], [0, 0], [12, 8]]
    with pytest.raises(ValueError, match="read-only"):
        event.job[0] = 0


def test_the_next_event_shows_what_has_passed() -> None:
    events = iter(JobSession(SPECIAL))
    next(events).start([0, 1], [0, 3])
    event = next(events)
    assert (event.number, event.now_s, event.job.tolist(), event.n_up.tolist()) == (1, 1.0, [2], [3, 2])
    assert event.earliest_s(2, [0, 1, 2]).tolist() == [12.0, 20.0, 8.0]
    event = next(events)
    assert (event.now_s, event.waited_s.tolist(), event.arrival_s.tolist()) == (8.0, [7.0], [1.0])
    past = event.past
    assert (past.job.tolist(), past.end_s.tolist(), past.energy_j.tolist()) == ([1], [8.0], [720.0])
    assert past.utility.tolist() == pytest.approx([2 * 0.92])


def test_labels_are_numbers() -> None:
    world = busy_job_world(20)
    event = next(iter(JobSession(world)))
    assert event.label("user").tolist() == world.jobs.labels["user"].codes[event.job].tolist()
    assert set(event.label("group").tolist()) == {-1}


def test_nothing_started_is_nothing_run() -> None:
    assert set(JobSession(busy_job_world(30, end_s=900.0)).outcome().allocation.fate.tolist()) == {Fate.WAITING}


def test_a_job_against_a_limit_waits_on() -> None:
    """Nodes are free, but the power is not, or an outage comes too soon."""
    event = next(iter(JobSession(replace(SPECIAL, supply=Supply(cap_w=np.array([250.0]))))))
    assert event.start([0, 1], [1, 3]).tolist() == [False, True]
    assert event.start(0, 1).tolist() == [False]


# Refused


@pytest.mark.parametrize(
    ("jobs", "options", "message"),
    [
        ([2], [0], "event 0 at 0 s: found job 2 with option 0, which is no job that waits; start jobs of event.job"),
        ([-1], [0], "found job -1 with option 0, which is no job that waits"),
        ([0, 0], [0, 0], "found job 0 with option 0, which is no job that waits"),
        ([0], [3], "found job 0 with option 3, which is none of its own: these are 0 to 2"),
        ([0], [-1], "which is none of its own"),
        ([0, 1], [2, 3], "which needs 2 nodes of cluster c1, of which 1 are free"),
        ([0.0], [0.0], "must be whole numbers"),
    ],
)
def test_impossible_starts_are_named(jobs: list[Any], options: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        next(iter(JobSession(SPECIAL))).start(jobs, options)


# Policies of users


def test_a_policy_returns_columns_or_an_array_or_nothing() -> None:
    @own_job_policy()
    def first_come(event: JobEvent) -> Any:
        """Whoever fits."""
        if event.number == 0:
            return event.job[:1], 2
        if event.number == 1:
            return None
        return [[event.job[0], 1 if event.job[0] != 1 else 3]] if event.now_s >= 20 else ()

    outcome = simulate_jobs(SPECIAL, Scheduler(first_come, mapping_interval_s=5.0))
    assert outcome.allocation.start_s.tolist() == [0.0, 20.0, 25.0]
    assert outcome.allocation.option.tolist() == [2, 3, 1]
    assert (first_come.title, first_come.summary, first_come.rule) == ("first_come", "Whoever fits.", "assigned")


def failing(returned: Any) -> JobPolicy:
    @own_job_policy(time_limit_s=5.0)
    def wrong(event: JobEvent) -> Any:
        return returned(event)

    return wrong


def _fails(_event: JobEvent) -> Any:
    raise RuntimeError("no\nidea")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda e: (e.job[[0, 0]], 0),
            "policy wrong, event 0 at 0 s: returned .*; found job 0 with option 0, which is no job",
        ),
        (lambda _: (0, 3), "found job 0 with option 3, which is none of its own"),
        (lambda _: (math.nan, 0), r"event 0 at 0 s: returned \(nan, 0\); must be whole numbers"),
        (lambda _: [[0, 0, 0]], "must be None, 2 columns or an array with 2 columns"),
        (lambda _: "all", "event 0 at 0 s: returned 'all'; must be None"),
        (_fails, "event 0 at 0 s: raised RuntimeError: no idea"),
    ],
)
def test_a_policy_that_returns_nonsense_is_named_with_the_event(returned: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_jobs(SPECIAL, Scheduler(failing(returned)))


@pytest.mark.parametrize("world", [trace_world([(0, 2, 5), (1, 4, 3)]), SPECIAL], ids=["without end", "with an end"])
def test_a_policy_that_starts_nothing_for_ever_is_named(world: JobWorld) -> None:
    with pytest.raises(InputError, match=r"event \d at \d+ s: returned None; nothing runs, and job 0 could start"):
        simulate_jobs(world, Scheduler(failing(lambda _: None)))


def test_a_policy_that_never_returns_is_interrupted() -> None:
    def hang(_event: JobEvent) -> None:
        while True:
            pass

    policy = failing(hang)
    assert policy.own is not None
    hasty = replace(policy, own=replace(policy.own, time_limit_s=0.2))
    with pytest.raises(InputError, match="event 0 at 0 s: the run was not over after"):
        simulate_jobs(SPECIAL, Scheduler(hasty))


def test_what_a_policy_draws_belongs_to_seed_and_trial() -> None:
    @own_job_policy()
    def by_lot(event: JobEvent) -> None:
        """Whoever fits, in any order."""
        for row in event.rng.permutation(event.job.size):
            job, (options,) = int(event.job[row]), np.nonzero(event.choices.job == event.job[row])
            event.hold(job, event.rng.choice(event.choices.option[options]))

    how, world = Scheduler(by_lot), busy_job_world(40)
    first, again, other = (simulate_jobs(world, how, 3, trial).allocation.start_s for trial in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_class_has_an_instance_for_every_run() -> None:
    class Counting:
        """Counts its events."""

        def start(self, world: JobWorld) -> None:
            self.n, self.world = 0, world

        def decide(self, event: JobEvent) -> Any:
            assert self.n == event.number
            self.n += 1
            is_free = event.earliest_s(*event.choices) <= event.now_s
            return tuple(column[is_free][:1] for column in event.choices)

    counting = own_job_policy()(Counting)
    for _ in range(2):
        assert (simulate_jobs(busy_job_world(10), Scheduler(counting)).allocation.fate == Fate.RAN).all()

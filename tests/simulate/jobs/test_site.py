"""Jobs on a site: against plain Python that plans everything anew, against whole-node backfilling, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.jobs import Fate, JobWorld
from joulewise.model.passes import Passes
from joulewise.model.preemption import Preemption
from joulewise.model.site import ANY_NUMBER, Demands, Places, Site, no_limits
from joulewise.policies.jobs.policy import ALL_JOBS
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.arrays import killed, seen_times
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.strategies.job_worlds import trace_world
from tests.strategies.random_sites import (
    N_CORES,
    crowded_worlds,
    failing_worlds,
    hourly_worlds,
    ranked_worlds,
    site_worlds,
    suspending_worlds,
    waiting_worlds,
)
from tests.twins.jobs.shares import SharesTwin
from tests.twins.jobs.site_prices import PricedSiteTwin
from tests.twins.jobs.sites import SiteTwin

At: TypeAlias = dict[tuple[int, int], int]
"""How many pieces are at which places."""

EASY = Scheduler(JOB_POLICIES["easy"])
NAMES = ("easy", "fcfs", "conservative", "sjf", "wfp3")


def twin_of(world: JobWorld, scheduler: Scheduler) -> SiteTwin:
    """The twin of a scheduler; of the orders it knows those that look at one job alone."""
    demands = world.jobs.demands
    if world.site is not None and demands is not None:
        tells_apart = scheduler.passes == "slurm" or bool(demands.giving.suspended.any())
        world = replace(world, site=replace(world.site, tells_apart=tells_apart))
    planned_s, time_s = seen_times(world, scheduler)
    fits = np.diff(world.types.first) > 0
    plans_s, runs_s = (
        [float(column[world.types.first[i]]) if fits[i] else 0.0 for i in range(world.n_jobs)]
        for column in (planned_s, time_s)
    )
    passes = world.site.passes if world.site is not None and scheduler.passes == "slurm" else None
    holds_for_all = passes is not None and scheduler.reservations_for is None
    is_for_all = holds_for_all or scheduler.n_reservations == ALL_JOBS
    ahead = ANY_NUMBER if is_for_all else scheduler.n_reservations
    if passes is not None and not scheduler.policy.backfills:
        passes = replace(passes, interval_s=math.inf)
    kind = PricedSiteTwin if scheduler.policy.is_priced else SiteTwin
    twin = kind(
        world, plans_s, runs_s, ahead, scheduler.policy.backfills, passes, interval_s=scheduler.mapping_interval_s,
        threshold=scheduler.dropping_threshold,
    )  # fmt: skip
    is_over = killed(world, scheduler)
    twin.killed = {i for i in range(world.n_jobs) if fits[i] and is_over[world.types.first[i]]}
    cores = [float(world.types.nodes[world.types.first[i]]) if fits[i] else 0.0 for i in range(world.n_jobs)]
    order = scheduler.order
    if order is not None and order.priority is not None:
        asked = order.priority

        def priority(job: int, now_s: float) -> float:
            wait_s, plan_s = now_s - twin.ready_s[job], plans_s[job]
            return asked(wait_s, plan_s, cores[job], cores[job] / N_CORES, plan_s * cores[job], 0.0, 0.0)

        twin.priority = priority
    return twin


@pytest.mark.parametrize("overrun", ["raise", "kill", "unaware"])
@given(world=site_worlds(overruns=True), name=st.sampled_from(NAMES), ahead=st.sampled_from((None, 0, 2)))
def test_starts_and_places_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@given(world=waiting_worlds(site_worlds(overruns=True)), name=st.sampled_from(NAMES), ahead=st.sampled_from((None, 2)))
def test_jobs_that_wait_start_as_in_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(
    world=site_worlds(overruns=True, keeps=True) | waiting_worlds(site_worlds(overruns=True, keeps=True)),
    name=st.sampled_from(NAMES),
    ahead=st.sampled_from((None, 0, 2)),
)
def test_what_is_kept_for_some_jobs_is_that_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


@pytest.mark.parametrize("overrun", ["raise", "unaware", "kill"])
@given(
    world=st.one_of(
        suspending_worlds(),
        suspending_worlds(keeps=True),
        waiting_worlds(suspending_worlds()),
        hourly_worlds(suspending_worlds()),
    ),
    name=st.sampled_from(NAMES),
    ahead=st.sampled_from((None, 0, 2)),
)
def test_who_is_suspended_goes_on_as_in_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(
    world=st.one_of(crowded_worlds(), crowded_worlds(keeps=True), waiting_worlds(crowded_worlds())),
    name=st.sampled_from(NAMES),
    ahead=st.sampled_from((None, 0, 2)),
)
def test_who_gives_way_to_whom_is_that_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


SOME_FAIL = failing_worlds(
    st.one_of(
        site_worlds(overruns=True),
        site_worlds(overruns=True, keeps=True),
        crowded_worlds(keeps=True),
        waiting_worlds(site_worlds(), has_parts=False),
    )
)


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@given(world=SOME_FAIL, name=st.sampled_from(NAMES), ahead=st.sampled_from((None, 0, 2)))
def test_nodes_that_fail_and_hours_of_partitions_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead))


def giving_world(n_urgent: int) -> JobWorld:
    """Two jobs of a core each for 100 s, and some of both cores for 5 s that come every 10 s and stop them."""
    n, one = n_urgent + 2, np.ones(2, np.int64)
    site = Site(
        ("cores",), ("all",), np.array([1]), np.array([[2]]), np.array([1]), ("batch",), np.ones((1, 1), np.bool_),
        np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    of_job = np.array([0, 0] + [1] * n_urgent)
    preemption = Preemption(
        ("low", "urgent"), of_job, np.array([[False, False], [True, False]]), np.zeros(2, np.int64), np.zeros(2),
        np.zeros(2, np.bool_),
    )  # fmt: skip
    demands = Demands(
        of_job, np.zeros(2, np.int32), one, one, np.array([[[1]], [[2]]]), one[:, None], np.empty((2, 0), np.int64),
        no_limits(n, 2), preemption=preemption,
    )  # fmt: skip
    world = trace_world([(0.0, 1, 100.0)] * 2 + [(10.0 * (k + 1), 2, 5.0) for k in range(n_urgent)])
    return replace(world, site=site, jobs=replace(world.jobs, demands=demands))


def test_jobs_may_give_way_more_often_than_there_are_jobs() -> None:
    world = giving_world(9)
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert check_jobs(world, allocation) == []
    assert allocation.pieces.job.tolist() == [1, 0] * 9, "the one with the larger number first: both started at once"
    assert allocation.start_s.tolist() == [95, 95, *(10.0 * (k + 1) for k in range(9))]


def test_jobs_that_are_suspended_lose_nothing_and_keep_their_nodes() -> None:
    world = giving_world(9)
    demands = world.jobs.demands
    assert demands is not None
    assert demands.preemption is not None
    still = replace(demands, preemption=replace(demands.preemption, suspends=np.array([True, False])))
    world = replace(world, jobs=replace(world.jobs, demands=still))
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])).allocation
    assert check_jobs(world, allocation) == []
    assert allocation.pieces.job.tolist() == [1, 0] * 9
    assert not allocation.pieces.is_lost.any()
    assert allocation.end_s.tolist()[:2] == [145, 145], "100 s and nine times 5 s in which others ran"


@pytest.mark.parametrize("name", ["easy", "fcfs", "conservative"])
def test_who_gave_way_with_a_grace_does_not_pass_whom_it_gave_way_to(name: str) -> None:
    world = giving_world(1)
    demands = world.jobs.demands
    assert demands is not None
    assert demands.preemption is not None
    patient = replace(demands, preemption=replace(demands.preemption, grace_s=np.array([2.0, 2.0])))
    world = replace(world, jobs=replace(world.jobs, demands=patient))
    allocation = simulate_jobs(world, Scheduler(JOB_POLICIES[name])).allocation
    assert allocation.start_s.tolist() == [17, 17, 12]


def test_what_is_held_ahead_knows_who_gives_way_with_a_grace() -> None:
    """One node of 3 cores: A is held for behind both runs; B stops the longer one, so C runs before A in its place."""
    one, urgent = np.ones(2, np.int64), np.array([[False, False], [True, False]])
    site = Site(
        ("cores",), ("all",), np.array([1]), np.array([[3]]), np.array([1]), ("batch",), np.ones((1, 1), np.bool_),
        np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    low, high, none = 0, 1, -1
    preemption = Preemption(
        ("low", "urgent"), np.array([low, none, none, high, none]), urgent, np.zeros(2, np.int64), np.full(2, 2.0),
        np.zeros(2, np.bool_),
    )  # fmt: skip
    demands = Demands(
        np.array([0, 0, 1, 1, 0]), np.zeros(2, np.int32), one, one, np.array([[[1]], [[2]]]), one[:, None],
        np.empty((2, 0), np.int64), no_limits(5, 2), preemption=preemption,
    )  # fmt: skip
    world = trace_world([(0.0, 1, 100.0), (0.0, 1, 10.0), (1.0, 2, 50.0), (1.0, 2, 5.0), (1.0, 1, 20.0)])
    world = replace(world, site=site, jobs=replace(world.jobs, demands=demands))
    assert simulate_jobs(world, EASY).allocation.start_s.tolist() == [21, 0, 10, 60, 1]
    assert_is_that_of_the_twin(world, EASY)


PASSES = st.builds(
    Passes, st.sampled_from((1.0, 3.0, 30.0, math.inf)), st.sampled_from((2.0, 60.0, math.inf)),
    st.sampled_from((0.0, 1.0, 4.0, 60.0)), st.sampled_from((5.0, 100.0, 86_400.0)), st.sampled_from((1, 3, 100)),
    st.sampled_from((2, 100)), st.sampled_from((0.0, 2.5)),
)  # fmt: skip


@given(
    world=st.one_of(
        site_worlds(is_roomy=True), site_worlds(is_roomy=True, keeps=True), waiting_worlds(site_worlds(is_roomy=True)),
        crowded_worlds(), failing_worlds(site_worlds(is_roomy=True)), suspending_worlds(), site_worlds(),
    ), passes=PASSES,
    name=st.sampled_from(NAMES), unit_s=st.sampled_from((1, 7, 20)),
    ahead=st.sampled_from((None, 1)),
)  # fmt: skip
def test_the_passes_of_slurm_are_those_of_the_plain_twin(
    world: JobWorld, passes: Passes, name: str, unit_s: int, ahead: int | None
) -> None:
    site, types, work = world.site, world.types, world.jobs.work
    assert site is not None
    types = replace(types, time_s=types.time_s * unit_s, planned_s=types.planned_s * unit_s)
    jobs = replace(world.jobs, work=replace(work, arrival_s=work.arrival_s * unit_s))
    if jobs.conditions is not None and not JOB_POLICIES[name].backfills:
        jobs = replace(jobs, conditions=replace(jobs.conditions, together=None))
    world = replace(world, types=types, jobs=jobs, site=replace(site, passes=passes))
    assert_is_that_of_the_twin(world, Scheduler(JOB_POLICIES[name], passes="slurm", reservations_for=ahead))


def test_passes_tell_nodes_apart_that_are_given_as_wholes() -> None:
    site = Site(
        ("cores",), ("all",), np.array([4]), np.array([[2]]), np.array([1]), ("batch",), np.ones((1, 1), np.bool_),
        np.array([1]), np.ones(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    one = np.ones(1, np.int64)
    demands = Demands(
        np.zeros(1, np.int32), np.zeros(1, np.int32), one, one, np.full((1, 1, 1), 2), np.ones((1, 1), np.int64),
        np.empty((1, 0), np.int64), no_limits(1, 1),
    )  # fmt: skip
    world = trace_world([(0, 1, 1)])
    world = replace(world, site=site, jobs=replace(world.jobs, demands=demands))
    places = simulate_jobs(world, Scheduler(JOB_POLICIES["easy"], passes="slurm")).allocation.places
    assert places is not None
    assert places.node.tolist() == [0]


def assert_is_that_of_the_twin(world: JobWorld, scheduler: Scheduler) -> None:
    """Starts and places, and the check finds nothing."""
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    twin = twin_of(world, scheduler)
    wanted = twin.run()
    assert allocation.places is not None
    assert set(np.flatnonzero(allocation.fate == Fate.DROPPED)) == twin.refused
    assert {job: stay.start_s for job, stay in wanted.items()} == {
        int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))
    }
    last, lost = stays(allocation.places)
    assert last == {job: dict(sorted(stay.at.items())) for job, stay in wanted.items()}
    pieces = allocation.pieces
    rows = zip(
        pieces.is_lost.tolist(), pieces.job.tolist(), pieces.start_s.tolist(), pieces.end_s.tolist(), lost, strict=True
    )
    stretches = [(True, *row) for row in twin.lost] + [(False, *row) for row in twin.kept_stretches]
    assert sorted(rows, key=str) == sorted(((*row, dict(sorted(at.items()))) for *row, at in stretches), key=str)
    assert twin.cancelled == set(np.flatnonzero(allocation.fate == Fate.CANCELLED))


@given(world=ranked_worlds() | waiting_worlds(ranked_worlds()), ahead=st.sampled_from((None, 0, 2)))
def test_starts_by_fair_shares_are_those_of_the_plain_twin(world: JobWorld, ahead: int | None) -> None:
    scheduler = Scheduler(JOB_POLICIES["multifactor"], reservations_for=ahead)
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    wanted = ranked_twin_of(world, scheduler).run()
    assert {job: stay.start_s for job, stay in wanted.items()} == {
        int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))
    }


def ranked_twin_of(world: JobWorld, scheduler: Scheduler) -> SiteTwin:
    """The twin of multifactor, with fair shares made anew from all that ran whenever they are asked for."""
    assert world.jobs.demands is not None
    priorities = world.jobs.demands.priorities
    assert priorities is not None
    twin, shares = twin_of(world, scheduler), SharesTwin(priorities)
    weights = dict(priorities.weights) or {"age": 1.0, "fair_share": 1.0, "size": 1.0}

    def priority(job: int, now_s: float) -> float:
        shares.stretches = [(i, stay.start_s, stay.start_s + twin.time_s[i]) for i, stay in twin.done.items()]
        shares.stretches += [(i, start_s, end_s) for i, start_s, end_s, _ in twin.lost + twin.kept_stretches]
        waited_s = max(shares.seen_s(now_s) - twin.ready_s[job], 0.0)
        factors = {name: float(column[job]) for name, column in priorities.factors.items()}
        factors["age"] = waited_s / priorities.oldest_s if waited_s < priorities.oldest_s else 1.0
        factors["fair_share"] = shares.factor(job, now_s)
        total = sum(weight * factors[name] for name, weight in weights.items())
        return max(math.floor(total + 1e-6), 1) if priorities.weights else total

    twin.priority = priority
    return twin


def stays(places: Places) -> tuple[dict[int, At], list[At]]:
    """The pieces by place of the last stretch of each job, and of all others."""
    last: dict[int, At] = {}
    others: dict[int, At] = {}
    columns = (places.job, places.group, places.node, places.pieces, places.stretch_of)
    for job, group, node, pieces, stretch in zip(*(column.tolist() for column in columns), strict=True):
        at = last.setdefault(job, {}) if stretch < 0 else others.setdefault(stretch, {})
        at[group, max(node, 0)] = pieces
    return (
        {job: dict(sorted(at.items())) for job, at in last.items()},
        [dict(sorted(at.items())) for _, at in sorted(others.items())],
    )

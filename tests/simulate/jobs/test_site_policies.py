"""Queues by size in turn, places at random, prices and mapping by the clock on a site: against plain Python."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.model.site import Demands, Site, no_limits
from joulewise.policies.jobs.table import BY_HAND, JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs.conditions import has_parts
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.simulate.jobs.test_site import At, stays, twin_of
from tests.simulate.jobs.test_site_greedy import worthy_worlds
from tests.strategies.job_worlds import trace_world
from tests.strategies.random_sites import crowded_worlds, none_suspended, site_worlds, waiting_worlds
from tests.twins.jobs.site_prices import PricedSiteTwin
from tests.twins.jobs.sites import SiteTwin, Stay

LARGE, MEDIUM, SMALL = range(3)
END_S = 400.0

any_worlds = st.one_of(
    site_worlds(overruns=True), site_worlds(overruns=True, keeps=True), waiting_worlds(site_worlds(overruns=True)),
    crowded_worlds(),
)  # fmt: skip
lone_worlds = any_worlds.filter(lambda world: not has_parts(world.jobs))


def starts(allocation: JobAllocation) -> dict[int, float]:
    return {int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))}


def assert_is_that_of(twin: SiteTwin, world: JobWorld, scheduler: Scheduler, seed: int = 0) -> None:
    """Starts, places and who is refused, and the check finds nothing."""
    allocation = simulate_jobs(world, scheduler, seed).allocation
    assert check_jobs(world, allocation, scheduler) == []
    wanted: dict[int, Stay] = twin.run()
    assert starts(allocation) == {job: stay.start_s for job, stay in wanted.items()}
    assert set(np.flatnonzero(allocation.fate == Fate.DROPPED)) == twin.refused
    assert allocation.places is not None
    places: dict[int, At] = {job: dict(sorted(stay.at.items())) for job, stay in wanted.items()}
    assert stays(allocation.places)[0] == places


def sizes(world: JobWorld, scheduler: Scheduler) -> list[int]:
    """Large, medium or small by planned processor-seconds as a share of the most."""
    twin, types = twin_of(world, scheduler), world.types
    cores = [float(types.nodes[types.first[i]]) if types.first[i] < types.first[i + 1] else 0.0 for i in
             range(world.n_jobs)]  # fmt: skip
    resources = [plan_s * n for plan_s, n in zip(twin.planned_s, cores, strict=True)]
    low, high = (part * max(resources) for part in scheduler.queue_thresholds)
    return [LARGE if one > high else SMALL if one < low else MEDIUM for one in resources]


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(world=any_worlds, per_cycle=st.sampled_from(((1, 4, 8), (1, 1, 1), (2, 1, 3))))
def test_queues_in_turn_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, per_cycle: tuple[int, int, int]
) -> None:
    scheduler = Scheduler(
        JOB_POLICIES["fcfs-multiple-queues"], overrun=overrun, per_cycle=per_cycle, queue_thresholds=(0.25, 0.5)
    )
    twin = twin_of(world, scheduler)
    twin.size_class, twin.per_cycle = sizes(world, scheduler), per_cycle
    assert_is_that_of(twin, world, scheduler)


@given(
    world=any_worlds.map(none_suspended), per_cycle=st.sampled_from(((1, 4, 8), (1, 1, 1), (2, 1, 3))),
    interval_s=st.sampled_from((3.0, 10.0)),
)  # fmt: skip
def test_queues_in_turn_that_are_looked_at_by_the_clock_are_those_of_the_plain_twin(
    world: JobWorld, per_cycle: tuple[int, int, int], interval_s: float
) -> None:
    assert_goes_in_turn(ending(world), per_cycle, interval_s)


def assert_goes_in_turn(world: JobWorld, per_cycle: tuple[int, int, int], interval_s: float) -> JobAllocation:
    """Jobs of three sizes start as in the plain twin."""
    scheduler = Scheduler(
        JOB_POLICIES["fcfs-multiple-queues"], per_cycle=per_cycle, queue_thresholds=(0.25, 0.5),
        mapping_interval_s=interval_s,
    )  # fmt: skip
    twin = twin_of(world, scheduler)
    twin.size_class, twin.per_cycle = sizes(world, scheduler), per_cycle
    assert_is_that_of(twin, world, scheduler)
    return simulate_jobs(world, scheduler).allocation


def test_jobs_that_come_between_two_looks_do_not_pass_others_of_their_size() -> None:
    one = np.ones(1, np.int64)
    site = Site(
        ("cores",), ("all",), np.array([1]), np.array([[1]]), np.array([1]), ("batch",), np.ones((1, 1), np.bool_),
        np.array([1]), np.zeros(1, np.bool_), (), np.empty(0, np.int64),
    )  # fmt: skip
    demands = Demands(
        np.zeros(4, np.int32), np.zeros(1, np.int32), one, one, np.array([[[1]]]), one[:, None],
        np.empty((1, 0), np.int64), no_limits(4, 1),
    )  # fmt: skip
    world = trace_world([(0.0, 1, 35.0), (1.0, 1, 5.0), (2.0, 1, 5.0), (11.0, 1, 5.0)])
    world = ending(replace(world, site=site, jobs=replace(world.jobs, demands=demands)))
    assert assert_goes_in_turn(world, (1, 1, 1), 10.0).start_s.tolist() == [0, 40, 50, 60]


@given(world=lone_worlds, seed=st.integers(0, 5))
def test_places_at_random_are_those_of_the_plain_twin(world: JobWorld, seed: int) -> None:
    scheduler = Scheduler(JOB_POLICIES["random"])
    twin = twin_of(world, scheduler)
    finder = PricedSiteTwin(world, twin.planned_s, twin.time_s, 0, True)
    drawn = generator(seed, "jobs", 0, "random").random(world.n_jobs)
    for job in range(world.n_jobs):
        ways = finder.ways(job)
        twin.only[job] = ways[math.floor(drawn[job] * len(ways))]
    assert_is_that_of(twin, world, scheduler, seed)


def ending(world: JobWorld) -> JobWorld:
    """The same world with a counted window that ends."""
    return replace(world, jobs=replace(world.jobs, work=replace(world.jobs.work, end_s=END_S)))


def utilities_of(twin: SiteTwin) -> SiteTwin:
    """A twin that goes by utility."""

    def worth(job: int, start_s: float) -> float:
        if start_s == math.inf:
            return -math.inf
        return float(twin.world.jobs.work.utility(job, start_s + twin.planned_s[job]))

    twin.worth = worth
    return twin


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(world=worthy_worlds(), unit_s=st.sampled_from((1, 60)))
def test_jobs_pay_what_they_pay_in_the_plain_twin(overrun: Overrun, world: JobWorld, unit_s: int) -> None:
    assume(world.types.n_options > 0)
    types, work = world.types, world.jobs.work
    types = replace(types, time_s=types.time_s * unit_s, planned_s=types.planned_s * unit_s)
    work = replace(work, arrival_s=work.arrival_s * unit_s, hold_s=work.hold_s * unit_s, end_s=END_S * unit_s)
    world = replace(world, types=types, jobs=replace(world.jobs, work=work))
    scheduler = Scheduler(JOB_POLICIES["prices"], overrun=overrun)
    assert_is_that_of(utilities_of(twin_of(world, scheduler)), world, scheduler)


@given(world=any_worlds.map(none_suspended), name=st.sampled_from(("easy", "conservative", "fcfs", "sjf")),
       interval_s=st.sampled_from((1.0, 3.0, 10.0)))  # fmt: skip
def test_what_waits_is_looked_at_by_the_clock(world: JobWorld, name: str, interval_s: float) -> None:
    scheduler, world = Scheduler(JOB_POLICIES[name], mapping_interval_s=interval_s), ending(world)
    assert_is_that_of(twin_of(world, scheduler), world, scheduler)


@given(world=worthy_worlds(), name=st.sampled_from(("max-util", "prices")),
       interval_s=st.sampled_from((math.inf, 3.0)), threshold=st.sampled_from((0.0, 1.0, 2.5)))  # fmt: skip
def test_who_is_dropped_is_that_of_the_plain_twin(
    world: JobWorld, name: str, interval_s: float, threshold: float
) -> None:
    scheduler = Scheduler(JOB_POLICIES[name], mapping_interval_s=interval_s, dropping_threshold=threshold)
    world = ending(world)
    assert_is_that_of(utilities_of(twin_of(world, scheduler)), world, scheduler)


@given(world=site_worlds().filter(lambda world: world.types.n_options > 0))
def test_what_no_site_has_is_refused(world: JobWorld) -> None:
    easy = JOB_POLICIES["easy"]
    for scheduler, said in (
        (Scheduler(BY_HAND), "orders and objectives of your own"),
        (Scheduler(JOB_POLICIES["prices"]), "declined"),
        (Scheduler(easy, mapping_interval_s=60.0), "by the clock"),
        (Scheduler(easy, dropping_threshold=1.0), "only those with an objective"),
        (Scheduler(JOB_POLICIES["max-util"], dropping_threshold=1.0, dropping_by="option"), "run as long"),
        (Scheduler(JOB_POLICIES["random"], passes="slurm"), "go in an order"),
        (Scheduler(easy, mapping_interval_s=60.0, passes="slurm"), "intervals of their own"),
    ):
        with pytest.raises(InputError, match=said):
            simulate_jobs(world, scheduler)

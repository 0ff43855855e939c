"""What holds of every policy for parallel jobs, whatever it decides: each row of the table, and one of a user."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.arrays import Floats
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.jobs.policy import JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.study.jobs.site_trials import site_trials
from tests.strategies.cases import cases
from tests.strategies.job_worlds import busy_job_world, capped_worlds, limited_worlds, troubled_worlds, typed_worlds
from tests.strategies.own_job_policies import easy

EVERY_POLICY = (*JOB_POLICIES.values(), easy)
every_policy = pytest.mark.parametrize("policy", EVERY_POLICY, ids=lambda policy: policy.title)


def assert_equal(found: JobAllocation, expected: JobAllocation) -> None:
    for name in ("option", "start_s", "end_s", "ready_s", "fate"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for name, column in vars(found.pieces).items():
        np.testing.assert_array_equal(column, getattr(expected.pieces, name), f"pieces {name}")


def shifted(world: JobWorld, by_s: float) -> JobWorld:
    """The same world with all instants, and the window, later."""
    work, outages = world.jobs.work, world.outages
    later: Any = {name: getattr(work, name) + by_s for name in ("arrival_s", "start_s", "end_s")}
    jobs = dataclasses.replace(world.jobs, work=dataclasses.replace(work, **later))
    later = {name: getattr(outages, name) + by_s for name in ("start_s", "end_s")}
    return dataclasses.replace(world, jobs=jobs, outages=dataclasses.replace(outages, **later))


def renamed(world: JobWorld) -> JobWorld:
    """The same world with other names."""
    clusters = dataclasses.replace(world.clusters, names=tuple(f"other {name}" for name in world.clusters.names))
    return dataclasses.replace(world, clusters=clusters)


def fit_for(policy: JobPolicy, world: JobWorld) -> JobWorld:
    """The world or, for a policy that may let jobs wait for ever, one whose window ends."""
    work = world.jobs.work
    if not policy.declines or math.isfinite(work.end_s):
        return world
    return dataclasses.replace(world, jobs=dataclasses.replace(world.jobs, work=dataclasses.replace(work, end_s=5e4)))


def bytes_of(world: JobWorld) -> list[bytes]:
    parts = (world.types, world.jobs.work, world.outages, world.clusters)
    return [column.tobytes() for part in parts for column in vars(part).values() if isinstance(column, np.ndarray)]


@cases(divided_by=len(EVERY_POLICY))
@given(
    world=st.one_of(
        troubled_worlds(typed_worlds(12, is_certain=False)),
        troubled_worlds(limited_worlds(12, is_certain=False)),
        limited_worlds(12),
        capped_worlds(12),
    ),
    interval_s=st.sampled_from((math.inf, 7.0)),
    commitment=st.sampled_from(("reservations", "place-holders")),
    threshold=st.sampled_from((0.0, 0.5)),
)
def test_every_run_conforms(world: JobWorld, interval_s: float, commitment: Any, threshold: float) -> None:
    """No job lost or run twice, nodes never oversubscribed, budget and cap kept, drops and events as they should be."""
    for policy in EVERY_POLICY:
        note(policy.title)
        scheduler = Scheduler(policy, interval_s, commitment=commitment, dropping_threshold=threshold)
        conforming_run(fit_for(policy, world), scheduler)


def conforming_run(world: JobWorld, scheduler: Scheduler) -> None:
    """A run that is valid, the same when repeated, and leaves its inputs alone."""
    before = bytes_of(world)
    allocation, again = (simulate_jobs(world, scheduler).allocation for _ in range(2))
    assert check_jobs(world, allocation, scheduler) == []
    assert bytes_of(world) == before
    assert_equal(again, allocation)


@pytest.mark.parametrize("world", site_trials(20).values(), ids=site_trials(20))
def test_every_run_on_a_site_conforms(world: JobWorld) -> None:
    for policy in JOB_POLICIES.values():
        conforming_run(world, Scheduler(policy))


def test_worlds_of_sites_have_what_they_are_named_after() -> None:
    found = {name: simulate_jobs(world, Scheduler(JOB_POLICIES["easy"])) for name, world in site_trials(20).items()}
    free, failing, capped, frugal = (outcome.allocation for outcome in found.values())
    assert failing.pieces.is_lost.any()
    assert all((other.start_s != free.start_s).any() for other in (failing, capped, frugal))


@every_policy
def test_names_and_the_clock_do_not_matter(policy: JobPolicy) -> None:
    world, scheduler = fit_for(policy, busy_job_world(80)), Scheduler(policy, 60.0)
    found = simulate_jobs(world, scheduler, seed=3).allocation
    assert_equal(simulate_jobs(renamed(world), scheduler, seed=3).allocation, found)
    later = simulate_jobs(shifted(world, 600.0), scheduler, seed=3).allocation
    np.testing.assert_array_equal(later.start_s, found.start_s + 600.0)
    np.testing.assert_array_equal(later.option, found.option)


@pytest.mark.parametrize("policy", [policy for policy in EVERY_POLICY if not policy.declines])
def test_all_jobs_run_in_the_end(policy: JobPolicy) -> None:
    assert (simulate_jobs(busy_job_world(80), Scheduler(policy)).allocation.fate == Fate.RAN).all()


@every_policy
def test_energy_is_the_integral_of_power_and_within_the_budget(policy: JobPolicy) -> None:
    budget_j, day_s = 4e7, 3000.0
    world = busy_job_world(80, supply=Supply(budget_j, day_s=day_s), end_s=6000.0)
    filtering: Any = "per-resource" if policy.rule == "greedy" else "none"
    scheduler = Scheduler(policy, 60.0, energy_filter=filtering, leniency=1.5)
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    used = allocation.used
    option, start_s, end_s = allocation.option[used], allocation.start_s[used], allocation.end_s[used]
    power_w = world.types.power_w[option]
    edges_s = np.unique(np.concatenate((start_s, end_s, [0.0, day_s, 2 * day_s])))
    level_w = _level_w(edges_s, start_s, end_s, power_w)
    steps_j = level_w[:-1] * np.diff(edges_s)
    assert steps_j.sum() == pytest.approx((power_w * (end_s - start_s)).sum())
    for day in range(2):
        inside = (edges_s[:-1] >= day * day_s) & (edges_s[:-1] < (day + 1) * day_s)
        assert steps_j[inside].sum() <= budget_j * (1 + 1e-9)


def _level_w(edges_s: Floats, start_s: Floats, end_s: Floats, power_w: Floats) -> Floats:
    running = (start_s[None, :] <= edges_s[:, None]) & (edges_s[:, None] < end_s[None, :])
    return np.asarray(running @ power_w)

"""Power and energy of sites: starts and places against the plain twin, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.jobs import JobWorld
from joulewise.model.passes import Passes
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.simulate.jobs.test_site import NAMES, PASSES, stays, twin_of
from tests.strategies.random_site_power import limited, with_power
from tests.strategies.random_sites import crowded_worlds, site_worlds, waiting_worlds
from tests.twins.jobs.site_power import PowerTwin
from tests.twins.jobs.sites import SiteTwin

WORLDS = limited(
    st.one_of(site_worlds(overruns=True), site_worlds(keeps=True), waiting_worlds(site_worlds()), crowded_worlds())
)


def powered_twin(world: JobWorld, scheduler: Scheduler) -> SiteTwin:
    twin = twin_of(world, scheduler)
    twin.power = PowerTwin(world, twin.planned_s)
    return twin


def assert_is_that_of_the_twin(world: JobWorld, scheduler: Scheduler, twin: SiteTwin) -> None:
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    wanted = twin.run()
    assert {job: stay.start_s for job, stay in wanted.items()} == {
        int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))
    }
    assert allocation.places is not None
    assert stays(allocation.places)[0] == {job: dict(sorted(stay.at.items())) for job, stay in wanted.items()}
    assert twin.power is not None
    drawn = {(one.job, one.start_s): one.power_w for one in twin.power.drawings}
    least = {job: twin.power.least_w(job) for job in wanted}
    assert all(power_w >= least[job] - 1e-9 for (job, _), power_w in drawn.items() if job in least)


@pytest.mark.parametrize("overrun", ["raise", "kill"])
@given(world=WORLDS, name=st.sampled_from(NAMES), ahead=st.sampled_from((None, 0, 2)))
def test_starts_and_places_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, name: str, ahead: int | None
) -> None:
    scheduler = Scheduler(JOB_POLICIES[name], overrun=overrun, reservations_for=ahead)
    assert_is_that_of_the_twin(world, scheduler, powered_twin(world, scheduler))


@given(world=limited(site_worlds(is_roomy=True)), passes=PASSES, name=st.sampled_from(NAMES))
def test_the_passes_of_slurm_are_those_of_the_plain_twin(world: JobWorld, passes: Passes, name: str) -> None:
    assert world.site is not None
    slow = replace(passes, clock_s=0.0)
    world = replace(world, site=replace(world.site, passes=slow))
    scheduler = Scheduler(JOB_POLICIES[name], passes="slurm")
    assert_is_that_of_the_twin(world, scheduler, powered_twin(world, scheduler))


@pytest.mark.parametrize("name", ["max-util", "max-upe", "max-upr"])
@given(world=st.one_of(limited(site_worlds()), with_power(site_worlds())))
def test_what_is_worth_most_starts_as_in_the_plain_twin(name: str, world: JobWorld) -> None:
    if np.isnan(world.types.power_w).any():
        return
    scheduler = Scheduler(JOB_POLICIES[name])
    twin, types, work = powered_twin(world, scheduler), world.types, world.jobs.work
    objective = scheduler.policy.objective
    assert objective is not None

    def worth(job: int, start_s: float) -> float:
        if start_s == math.inf:
            return -math.inf
        plan_s = twin.planned_s[job]
        utility, wait_s = float(work.utility(job, start_s + plan_s)), start_s - float(work.arrival_s[job])
        resources = plan_s * float(types.nodes[types.first[job]])
        return objective.value(utility, start_s + plan_s, plan_s, twin.energy_j(job, start_s), wait_s, resources)

    twin.worth = worth
    assert_is_that_of_the_twin(world, scheduler, twin)

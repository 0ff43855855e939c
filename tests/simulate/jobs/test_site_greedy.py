"""Policies with an objective on a site: against plain Python that looks at all jobs again and again."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import Workload
from joulewise.model.jobs import JobWorld
from joulewise.model.utility import UtilityShapes, constant, linear, step
from joulewise.policies.jobs.orders import PER_ENERGY, PER_RESOURCE, PER_TIME, UTILITY
from joulewise.policies.jobs.policy import JobObjective, JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.simulate.jobs.test_site import stays, twin_of
from tests.strategies.random_sites import crowded_worlds, failing_worlds, site_worlds, waiting_worlds

SHAPES = UtilityShapes.of([constant(), linear(40.0), step(15.0), step(60.0, "later")])


def _longest_wait(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility * (1.0 + wait_s)


RISING = JobObjective(_longest_wait)


@st.composite
def worthy_worlds(draw: st.DrawFn) -> JobWorld:
    """Worlds of sites whose jobs have utility functions, and draw power."""
    plain = site_worlds(overruns=True) | site_worlds(overruns=True, keeps=True) | failing_worlds(site_worlds())
    world = draw(plain | waiting_worlds(plain, has_parts=False))
    n, work, types = world.n_jobs, world.jobs.work, world.types
    columns = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 9)), min_size=n, max_size=n))
    shape, scale, hold_s = np.array(columns).T
    power_w = np.array(draw(st.lists(st.integers(1, 9), min_size=types.n_options, max_size=types.n_options)), float)
    own = Workload(work.arrival_s, work.task_type, shape, scale, hold_s, SHAPES)
    return replace(world, jobs=replace(world.jobs, work=own), types=replace(types, power_w=power_w))


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(world=worthy_worlds(), objective=st.sampled_from((UTILITY, PER_TIME, PER_RESOURCE, PER_ENERGY, RISING)))
def test_starts_and_places_are_those_of_the_plain_twin(
    overrun: Overrun, world: JobWorld, objective: JobObjective
) -> None:
    policy = JobPolicy("own", "", "", "", "greedy", objective=objective, commitment="place-holders", all_pstates=True)
    scheduler = Scheduler(policy, overrun=overrun)
    twin, types = twin_of(world, scheduler), world.types

    def worth(job: int, start_s: float) -> float:
        if start_s == math.inf:
            return -math.inf
        plan_s, row = twin.planned_s[job], types.first[world.jobs.work.task_type[job]]
        utility = float(world.jobs.work.utility(job, start_s + plan_s))
        wait_s = start_s - float(world.jobs.work.arrival_s[job])
        energy_j = float(types.power_w[row]) * plan_s
        return objective.value(utility, start_s + plan_s, plan_s, energy_j, wait_s, plan_s * float(types.nodes[row]))

    twin.worth = worth
    wanted, allocation = twin.run(), simulate_jobs(world, scheduler).allocation
    assert {job: stay.start_s for job, stay in wanted.items()} == {
        int(job): float(allocation.start_s[job]) for job in np.flatnonzero(np.isfinite(allocation.start_s))
    }
    assert allocation.places is not None
    assert stays(allocation.places)[0] == {job: dict(sorted(stay.at.items())) for job, stay in wanted.items()}


@given(world=crowded_worlds())
def test_who_gives_way_does_so_by_orders_alone(world: JobWorld) -> None:
    assert world.jobs.demands is not None
    if world.jobs.demands.giving.stops.any():
        with pytest.raises(InputError, match="by orders alone"):
            simulate_jobs(world, Scheduler(JOB_POLICIES["max-util"]))


@given(world=site_worlds().filter(lambda world: world.types.n_options > 0))
def test_what_no_site_has_is_refused(world: JobWorld) -> None:
    with pytest.raises(InputError, match="looks at energy"):
        simulate_jobs(world, Scheduler(JOB_POLICIES["max-upe"]))
    with pytest.raises(InputError, match="go in an order"):
        simulate_jobs(world, Scheduler(JOB_POLICIES["max-util"], passes="slurm"))

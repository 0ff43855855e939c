"""Sites in the midst of their work: what is decided from there on is what would have been decided anyway."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.model.opening import Opening
from joulewise.model.site import Places
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.strategies.random_sites import site_worlds

NAMES = ("fcfs", "easy", "conservative", "sjf", "wfp3", "max-util")


def one_more(rows: Any) -> Any:
    """The rows of classes, the first one twice."""
    return np.concatenate((rows, rows[:1]))


def opened(world: JobWorld, allocation: JobAllocation, at_s: float) -> JobWorld:
    """The world as it is at an instant, before anything is decided there; jobs that are over are not looked at."""
    start_s, end_s = allocation.start_s, allocation.end_s
    runs = (start_s < at_s) & (end_s > at_s)
    is_over = end_s <= at_s
    places, demands = allocation.places, world.jobs.demands
    assert places is not None
    assert demands is not None
    mine = runs[places.job]
    here = Places(places.job[mine], places.group[mine], places.node[mine], places.pieces[mine])
    opening = Opening(at_s, np.where(runs, start_s, math.nan), here)
    limits = replace(demands.limits, uses=np.vstack((demands.limits.uses, demands.limits.uses[:1])))
    gone = replace(
        demands, of_job=np.where(is_over, demands.n_classes, demands.of_job), limits=limits,
        partition=one_more(demands.partition), units=one_more(demands.units), most=one_more(demands.most),
        need=one_more(demands.need), licences=one_more(demands.licences),
        gives=np.vstack((demands.gives, np.zeros_like(demands.gives[:1]))),
    )  # fmt: skip
    return replace(world, opening=opening, jobs=replace(world.jobs, demands=gone, conditions=None))


@pytest.mark.parametrize("overrun", ["raise", "unaware"])
@given(world=site_worlds(overruns=True), name=st.sampled_from(NAMES), part=st.floats(0.05, 0.95))
def test_a_site_that_is_opened_goes_on_as_it_would_have(
    overrun: Overrun, world: JobWorld, name: str, part: float
) -> None:
    world = replace(world, jobs=replace(world.jobs, conditions=None))
    scheduler = Scheduler(JOB_POLICIES[name], overrun=overrun)
    whole = simulate_jobs(world, scheduler).allocation
    instants = np.unique(np.concatenate((world.jobs.work.arrival_s, whole.end_s[np.isfinite(whole.end_s)])))
    instants = instants[instants > 0]
    assume(instants.size > 0)
    at_s = float(instants[int(part * instants.size)])
    rest = simulate_jobs(opened(world, whole, at_s), scheduler).allocation
    is_left = ~(whole.end_s <= at_s)
    assert np.array_equal(rest.start_s[is_left], whole.start_s[is_left], equal_nan=True)

"""The price policy of parallel jobs: its prices by a twin, its limits kept, and what it is for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.supply import Supply
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.arrays import PRICE_GAINS
from joulewise.simulate.jobs.measures import earned_utility
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.job_worlds import busy_job_world, trace_world
from tests.twins.jobs.prices import PricedScheduler

PRICES = Scheduler(JOB_POLICIES["prices"], 60.0)
END_S = 12_000.0


@pytest.mark.parametrize("budget_j", [4e7, math.inf])
def test_prices_are_those_of_the_twin(budget_j: float) -> None:
    world = busy_job_world(400, supply=Supply(budget_j, day_s=20_000.0), end_s=END_S)
    outcome = simulate_jobs(world, PRICES)
    allocation, path = PricedScheduler(world, PRICES, PRICE_GAINS).run()
    np.testing.assert_allclose(outcome.prices, path, rtol=1e-9)
    np.testing.assert_array_equal(outcome.allocation.start_s, allocation.start_s)
    assert np.ptp(path[:, :3]) > 0
    assert check_jobs(world, outcome.allocation, PRICES) == []


def test_nobody_pays_for_what_is_not_short() -> None:
    """Jobs that are worth 1 at any time: prices fall until the largest can pay for its 36,000 node-seconds."""
    world = trace_world([(0.0, 1, 600.0), (0.0, 3, 6000.0), (60.0, 4, 9000.0), (60.0, 1, 60.0)])
    work = replace(world.jobs.work, end_s=100_000.0)
    outcome = simulate_jobs(replace(world, jobs=replace(world.jobs, work=work)), PRICES)
    assert outcome.allocation.ran.all()
    assert outcome.prices[-1, 0] < 1 / 36_000 < outcome.prices[0, 0]


def test_it_beats_the_greedy_that_it_is_without_prices() -> None:
    world = busy_job_world(400, supply=Supply(4e7, day_s=20_000.0), end_s=END_S)
    earned = {
        name: earned_utility(world, simulate_jobs(world, Scheduler(JOB_POLICIES[name], 60.0)).allocation).sum()
        for name in ("prices", "max-util")
    }
    assert earned["prices"] > 1.1 * earned["max-util"]

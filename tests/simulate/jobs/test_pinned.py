"""Nodes that are named when a job is planned: by hand, against the slow twins, and where that is refused.

All that compiles kernels for named nodes is here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.model import linear
from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobAllocation, Jobs, JobWorld
from joulewise.model.supply import Supply
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs import misfits as job_misfits
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.job_worlds import clusters_of, outages_of, trace_world, types_of, work_of
from tests.twins.jobs import greedy as job_greedy
from tests.twins.jobs.run import Twin

pytestmark = pytest.mark.thorough("compiles the engine of jobs once more, for named nodes")


def run(world: JobWorld, scheduler: Scheduler) -> JobAllocation:
    """What the simulator does, checked."""
    allocation = simulate_jobs(world, scheduler).allocation
    assert check_jobs(world, allocation, scheduler) == []
    return allocation


def pinned(policy: str, **switches: Any) -> Scheduler:
    return Scheduler(JOB_POLICIES[policy], nodes="pinned", **switches)


# Against the twins: few nodes, jobs that need many of them, and many that end early


def packed_world(rng: np.random.Generator, *, is_limited: bool = False) -> JobWorld:
    """One or two clusters and more jobs than they can take; if asked, with a cap or a budget where chance has it."""
    n_nodes = rng.integers(4, 11, rng.integers(1, 3)).tolist()
    options = []
    for _ in range(6):
        rows = []
        for cluster, most in enumerate(n_nodes):
            nodes, time_s = int(rng.integers(1, most)), float(rng.integers(1, 15))
            rows.append((cluster, nodes, time_s, time_s + float(rng.choice([0, 0, 4])), 2.0 * nodes))
        options.append(rows)
    n = int(rng.integers(20, 36))
    kinds, scale = rng.integers(0, 6, n), rng.integers(1, 9, n).astype(float)
    work = work_of(np.cumsum(rng.integers(0, 3, n)).tolist(), linear(90.0), kinds.tolist(), scale=scale, end_s=120.0)
    supplies = (Supply(), Supply(cap_w=np.array([24.0])), Supply(1500.0, day_s=60.0))
    supply = supplies[rng.integers(3)] if is_limited else supplies[0]
    return JobWorld(clusters_of(n_nodes), types_of(options), Jobs(work), supply)


def starts_of_the_twin(world: JobWorld, scheduler: Scheduler) -> Floats:
    """When each job starts as plain Python has it; NaN if it does not."""
    start_s = np.full(world.n_jobs, math.nan)
    if scheduler.policy.rule == "greedy":
        for i, (_, at_s) in job_greedy.simulate(world, scheduler).plans.items():
            start_s[i] = at_s if at_s < world.jobs.work.end_s else math.nan
    else:
        twin = Twin(world, scheduler).run()
        for found in (*twin.done.values(), *twin.running):
            start_s[found.job] = found.start_s
    return start_s


ORDERS = (
    pinned("easy"), pinned("conservative"), pinned("fcfs"), pinned("sjf", reservations_for="all"),
    pinned("conservative", commitment="place-holders", mapping_interval_s=7.0, cluster_ties="fastest"),
)  # fmt: skip
GREEDY = (
    pinned("max-util", commitment="place-holders", mapping_interval_s=5.0),
    pinned("max-util", commitment="reservations"), pinned("max-upr", commitment="place-holders"),
)  # fmt: skip


@pytest.mark.parametrize(("schedulers", "n_worlds", "is_limited"), [(ORDERS, 5, False), (GREEDY, 7, True)])
def test_starts_are_those_of_the_twins_and_not_those_of_counting(
    schedulers: tuple[Scheduler, ...], n_worlds: int, is_limited: bool
) -> None:
    rng, n_others = generator(0, "tests.test_pinned_jobs"), 0
    for world in (packed_world(rng, is_limited=is_limited) for _ in range(n_worlds)):
        for how in schedulers:
            start_s, counted = run(world, how).start_s, run(world, replace(how, nodes="counted"))
            np.testing.assert_array_equal(start_s, starts_of_the_twin(world, how))
            n_others += not np.array_equal(start_s, counted.start_s, equal_nan=True)
    assert n_others >= 2


# Refused


@pytest.mark.parametrize(
    ("world", "switches", "found"),
    [
        (trace_world([(0, 1, 5)], outages=outages_of([(0, 1, 2.0, 3.0, True, 0.0)])), {}, "with outages"),
        (trace_world([(0, 1, 5, 2)]), {"overrun": "unaware"}, "longer than planned"),
        (trace_world([(0, 3, 5), (0, 4, 5)]), {}, "could have 7 nodes"),
        (trace_world([(0, 1, 5)]), {"preempts": True}, "with preempts"),
    ],
)
def test_what_pins_do_not_know_is_refused(
    world: JobWorld, switches: dict[str, Any], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_misfits, "MOST_PINS", 6)
    with pytest.raises(InputError) as caught:
        simulate_jobs(world, pinned("easy", **switches))
    assert [problem.where for problem in caught.value.problems] == ["scheduler.nodes"]
    assert found in caught.value.problems[0].found

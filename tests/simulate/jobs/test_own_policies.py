"""Compiled policies for parallel jobs of a user's own: the same as built-in ones, and held to what all are held to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.own_jobs import easy_compiled
from joulewise.check.jobs.allocation import check_jobs
from joulewise.errors import InputError
from joulewise.jobs import free_at, utility_at
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.own import own_job_policy
from joulewise.policies.jobs.policy import JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.rng import generator
from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.job_worlds import trace_world

pytestmark = pytest.mark.thorough("compiles policies of users")

_free_at: Any = free_at
_utility_at: Any = utility_at


def crowded(n_jobs: int = 150) -> JobWorld:
    """Rigid jobs on one cluster, of which half end early."""
    rng = generator(n_jobs, "tests.own_jobs")
    arrival_s, nodes = np.cumsum(rng.integers(0, 40, n_jobs)), rng.integers(1, 9, n_jobs)
    time_s = rng.integers(10, 100, n_jobs)
    planned_s = time_s * rng.integers(1, 3, n_jobs)
    return trace_world(list(zip(*np.stack([arrival_s, nodes, time_s, planned_s]).tolist(), strict=True)), 10)


WORLD = crowded()


def ran(policy: JobPolicy, **options: Any) -> JobOutcome:
    scheduler = Scheduler(policy, **options)
    outcome = simulate_jobs(WORLD, scheduler)
    assert check_jobs(WORLD, outcome.allocation, scheduler) == []
    return outcome


def holds_all(event: Any) -> float:
    """Conservative backfilling: in order, everybody as soon as possible."""
    for at in range(event.n_waiting[0]):
        job = event.job[at]
        event.answer[at, 0], event.answer[at, 1] = job, event.options.first[event.tasks.task_type[job]]
        event.answer[at, 2] = 1
    return int(event.n_waiting[0])


def test_built_in_policies_written_once_more_start_jobs_as_they_do() -> None:
    easy, conservative = JOB_POLICIES["easy"], JOB_POLICIES["conservative"]
    own = own_job_policy(compiled=True)(holds_all)
    for found, expected in (
        (ran(easy_compiled()), ran(easy)),
        (ran(own), ran(conservative, commitment="place-holders")),
        (ran(own, commitment="reservations", mapping_interval_s=60.0), ran(conservative, mapping_interval_s=60.0)),
    ):
        np.testing.assert_array_equal(found.allocation.start_s, expected.allocation.start_s)


def sees_what_there_is(event: Any) -> float:
    """EASY, if what it sees fits together; else no answer."""
    n_free = _free_at(event, 0, event.now_s[0])
    for at in range(event.n_running[0]):
        i = event.running[at]
        n_free += event.options.nodes[event.option[i]]
        if not event.start_s[i] <= event.now_s[0] <= event.end_s[i]:
            return -1.0
    if n_free != event.n_nodes[0] or event.n_held[0] != 0 or event.price_per_j[0] != 0.0:
        return -2.0
    if not event.price_per_s[0] > 0.0:
        return -3.0
    for at in range(event.n_waiting[0]):
        i = event.job[at]
        event.memory[i, 0] += 1.0
        if event.ready_s[i] > event.now_s[0] or _utility_at(event, i, event.now_s[0]) != 1.0:
            return -4.0
        if event.memory[i, 0] == 1.0 and event.ready_s[i] < event.now_s[0]:
            return -5.0
        if event.options.time_s[i] != event.options.planned_s[i]:
            return -6.0
    i = event.job[0]
    event.answer[0, 0], event.answer[0, 1], event.answer[0, 2] = i, i, 1
    return 1.0


def test_compiled_code_sees_what_fits_together() -> None:
    ran(own_job_policy(compiled=True)(sees_what_there_is))


# What is wrong


def twice(event: Any) -> float:
    for row in range(2):
        event.answer[row, 0], event.answer[row, 1] = event.job[0], event.job[0]
    return 2


def another_option(event: Any) -> float:
    event.answer[0, 0], event.answer[0, 1] = event.job[0], event.job[0] + 1
    return 1


def too_many(event: Any) -> float:
    return 10**9


def out_of_bounds(event: Any) -> float:
    return float(event.job[10**9])


def writes(event: Any) -> float:
    event.ready_s[0] = 0.0
    return 0


def nothing(event: Any) -> float:
    return 0


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (twice, r"policy twice, event 0 at \d+ s: found job 0 with option 0, which is no job that waits"),
        (another_option, "found job 0 with option 1, which is none of its own: these are 0 to 0"),
        (too_many, r"raised, or returned 1e\+09; must return how many rows"),
        (out_of_bounds, "raised, or returned nan"),
        (writes, "could not be compiled"),
        (nothing, r"policy nothing, event \d+ at \d+ s: started nothing; nothing runs, and job 0 could start with"),
    ],
)
def test_compiled_code_is_held_to_the_same(code: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ran(own_job_policy(compiled=True)(code))


def test_a_class_cannot_be_compiled() -> None:
    with pytest.raises(InputError, match="must be a function to be compiled"):
        own_job_policy(compiled=True)(type("Empty", (), {}))

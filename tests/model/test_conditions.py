"""What is wrong with conditions of jobs, and the cycles in them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model.conditions import Conditions, Kind, cycles_of
from joulewise.model.jobs import Jobs
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.job_worlds import trace_world, work_of


def conditions(*rows: tuple[int, int], **changes: Any) -> Conditions:
    """Jobs after others have ended, and what else is changed."""
    job, on = np.array(rows, np.int32).reshape(-1, 2).T
    columns: dict[str, Any] = {"job": job, "on": on, "kind": np.ones(job.size), "delay_s": np.zeros(job.size)}
    return Conditions(**{**columns, **changes})


FAULTS: dict[str, tuple[Conditions, str]] = {
    "a cycle": (conditions((0, 2), (2, 1), (1, 0)), "found that job 0 after job 2 after job 1 after job 0; none may"),
    "on itself": (conditions((1, 1)), "found that job 1 after job 1"),
    "on another part of it": (conditions((1, 0), together=np.array([4, 4, -1])), "found that job 1 after job 1"),
    "no such job": (conditions((1, 3)), "jobs.conditions.on: found 3 to 3; must be from 0 to 2"),
    "no such kind": (conditions((1, 0), kind=np.array([7])), r"jobs.conditions.kind: found \[7\]; must be of 0"),
    "a negative delay": (conditions((1, 0), delay_s=np.array([-1.0])), "jobs.conditions.delay_s: found a value below"),
    "too few delays": (conditions((1, 0), delay_s=np.empty(0)), r"found columns of \[0, 1\] rows"),
    "no instant": (conditions(begin_s=np.array([0.0, np.nan, 0.0])), "jobs.conditions.begin_s: found a value that is"),
    "too few flags": (conditions(failed=np.ones(2, np.bool_)), "jobs.conditions.failed: found 2 values; must be one"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_refused(fault: str) -> None:
    wrong, said = FAULTS[fault]
    with pytest.raises(InputError, match=said):
        Jobs(work_of([0.0, 0.0, 0.0]), wrong)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12))
def test_there_is_a_cycle_where_going_on_never_ends(rows: list[tuple[int, int]]) -> None:
    reached = {job: {on for of, on in rows if of == job} for job in range(8)}
    for _ in range(8):
        reached = {job: others.union(*(reached[on] for on in others)) for job, others in reached.items()}
    found = cycles_of(conditions(*rows), 8)
    assert bool(found) == any(job in others for job, others in reached.items())
    assert all(round_[0] == round_[-1] for round_ in found)
    assert all((job, on) in rows for round_ in found for job, on in pairwise(round_))


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14),
    st.lists(st.booleans(), min_size=8, max_size=8),
    st.lists(st.sampled_from((-1, -1, 3, 5)), min_size=8, max_size=8),
)
def test_there_is_a_cycle_where_some_can_never_come(
    rows: list[tuple[int, int]], is_any: list[bool], together: list[int]
) -> None:
    came: set[int] = set()
    for _ in range(8):
        ready = set()
        for job in range(8):
            met = [on in came for of, on in rows if of == job]
            if not met or (any if is_any[job] else all)(met):
                ready.add(job)
        parts = {job: [job] if number < 0 else [k for k in range(8) if together[k] == number]
                 for job, number in enumerate(together)}  # fmt: skip
        came = {job for job in range(8) if set(parts[job]) <= ready}
    asked = conditions(*rows, any_of=np.array(is_any), together=np.array(together))
    assert bool(cycles_of(asked, 8)) == (len(came) < 8)


@pytest.mark.parametrize(
    "asked",
    [
        conditions((1, 0), kind=np.array([Kind.STARTED])),
        conditions((0, 1)),
        conditions((1, 0), (1, 0)),
        conditions(begin_s=np.array([5.0, 0.0])),
        conditions(together=np.array([1, 1])),
    ],
)
def test_clusters_know_the_end_of_one_earlier_job_alone(asked: Conditions) -> None:
    world = trace_world([(0, 1, 1), (0, 1, 1)])
    jobs = Jobs(world.jobs.work, asked)
    with pytest.raises(InputError, match="wait for one earlier job to have ended; begin times"):
        simulate_jobs(type(world)(world.clusters, world.types, jobs), Scheduler(JOB_POLICIES["easy"]))


def test_begin_times_move_with_the_jobs() -> None:
    later = Jobs(work_of([0.0, 1.0]), conditions(begin_s=np.array([0.0, 7.0]))).later(3.0)
    assert later.conditions is not None
    assert later.conditions.begin_s is not None
    assert later.conditions.begin_s.tolist() == [3.0, 10.0]

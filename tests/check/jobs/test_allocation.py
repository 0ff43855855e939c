"""The validator of parallel jobs: it passes what is right, and names every single thing that is made wrong."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model import UtilityShapes, Workload, linear
from joulewise.model.clusters import Clusters, JobTypes, NodeStandby
from joulewise.model.conditions import Conditions
from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld, NodeOutages, Pieces
from joulewise.model.supply import Supply

NAN = math.nan


class Settings(NamedTuple):
    """A scheduler, as far as the validator looks at it."""

    mapping_interval_s: float = math.inf
    overrun: str = "raise"
    dropping_threshold: float = 0.0
    preempts: bool = False
    checkpoint_s: float = 0.0
    restart_s: float = 0.0


def world(**changes: Any) -> JobWorld:
    """Two clusters of 4 and 2 nodes; type 0 runs on both, type 1 on the second in two P-states, type 2 nowhere.

    Job 3 waits for job 0 and thinks for 2 s.
    """
    clusters = Clusters(("a", "b"), np.array([4, 2]), np.array([8, 16]), np.array([1, 2]))
    types = JobTypes(
        ("x", "y", "z"), np.array([0, 2, 4, 4]), np.array([0, 1, 1, 1]), np.array([0, 0, 0, 1]),
        np.array([3, 2, 1, 1]), np.array([10.0, 5.0, 6.0, 8.0]), np.array([10.0, 7.0, 6.0, 8.0]),
        np.array([30.0, 40.0, 20.0, 10.0]),
    )  # fmt: skip
    kind = np.array([0, 0, 1, 1, 2])
    work = Workload(np.array([0.0, 1, 1, 2, 3]), kind, np.zeros(5, np.int32), np.full(5, 8.0), np.zeros(5),
                    UtilityShapes.of([linear(40.0)]), 0.0, 40.0)  # fmt: skip
    conditions = Conditions.following(np.array([-1, -1, -1, 0, -1]), np.array([0.0, 0, 0, 2, 0]))
    jobs = Jobs(work, conditions)
    return dataclasses.replace(JobWorld(clusters, types, jobs), **changes)


def allocation(**changes: Any) -> JobAllocation:
    """Job 0 on a, job 1 on b at once, job 2 after it on b, job 3 when it has thought, job 4 never."""
    right = JobAllocation(
        np.array([0, 1, 2, 3, -1]), np.array([0.0, 1, 6, 12, NAN]), np.array([10.0, 6, 12, 20, NAN]),
        np.array([0.0, 1, 1, 12, 3]), np.array([Fate.RAN] * 4 + [Fate.IMPOSSIBLE]),
    )  # fmt: skip
    return dataclasses.replace(right, **changes)


def put(name: str, row: int, value: float) -> JobAllocation:
    """The right allocation with one number changed."""
    column = getattr(allocation(), name).copy()
    column[row] = value
    return allocation(**{name: column})


def findings_of(found: JobAllocation, at: JobWorld | None = None, scheduler: Settings | None = None) -> str:
    """All findings as one text."""
    return "\n".join(check_jobs(at or world(), found, scheduler))


def test_nothing_is_said_of_what_is_right() -> None:
    assert check_jobs(world(), allocation()) == []
    assert check_jobs(world(), allocation(), Settings()) == []


WRONG = (
    (put("fate", 0, 9), "job 0: fate"),
    (put("fate", 0, Fate.WAITING), "job 0: option of a job that did not run"),
    (put("fate", 0, Fate.WAITING), "job 3: ready_s: found 12.0; expected inf"),
    (put("option", 1, 2), "job 1: option: found 2; expected one that its type has"),
    (put("start_s", 2, NAN), "job 2: start_s: found nan"),
    (put("fate", 4, Fate.WAITING), "job 4: fate of a job without options"),
    (put("ready_s", 3, 11.0), "job 3: ready_s: found 11.0; expected 12.0"),
    (put("start_s", 1, 0.5), "job 1: start_s: found 0.5; expected 1.0 (when it is ready) or later"),
    (put("end_s", 2, 12.5), "job 2: end_s: found 12.5; expected 12.0 (start plus time)"),
    (put("option", 2, 3), "job 2: end_s: found 12.0; expected 14.0"),
    (put("fate", 2, Fate.KILLED), "job 2: fate of a job within its limit"),
    (put("option", 0, 1), "cluster b at 1.0 s: found 4 nodes in use; expected 2 or less"),
)


@pytest.mark.parametrize(("found", "line"), WRONG)
def test_what_is_wrong_is_named(found: JobAllocation, line: str) -> None:
    assert line in findings_of(found)


def test_no_job_may_be_left_out() -> None:
    assert "found 2 jobs; expected the 5" in findings_of(
        JobAllocation(np.full(2, -1), np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2, np.int8))
    )


def test_jobs_end_where_the_next_begins_and_not_a_moment_later() -> None:
    assert not findings_of(put("start_s", 2, 6.0))
    moved = allocation(start_s=np.array([0, 1, 5.9, 12, NAN]), end_s=np.array([10, 6, 11.9, 20, NAN]))
    assert "cluster b at 5.9 s: found 3 nodes" in findings_of(moved)


def test_nothing_runs_on_nodes_that_are_down() -> None:
    columns = (np.array([0, 1]), np.array([2, 1]), np.array([4.0, 20]), np.array([6.0, 30]))
    outages = NodeOutages(*columns, np.array([True, False]), np.zeros(2))
    assert "cluster a at 4.0 s: found 3 nodes in use; expected 2" in findings_of(allocation(), world(outages=outages))


def test_overruns_follow_the_scheduler() -> None:
    types = dataclasses.replace(world().types, planned_s=np.array([10.0, 7, 4, 8]))
    at = world(types=types)
    killed = dataclasses.replace(put("fate", 2, Fate.KILLED), end_s=np.array([10.0, 6, 10, 20, NAN]))
    assert not findings_of(allocation(), at, Settings(overrun="unaware"))
    assert not findings_of(killed, at, Settings(overrun="kill"))
    assert "job 2: fate of a job that runs past" in findings_of(allocation(), at, Settings(overrun="kill"))
    assert "job 2: fate with overrun 'raise'" in findings_of(killed, at, Settings())


def test_nothing_starts_before_an_event_has_seen_it() -> None:
    assert "job 1: start_s: found 1.0; expected 5.0" in findings_of(allocation(), None, Settings(5.0))


def test_only_hopeless_jobs_are_dropped() -> None:
    dropped = JobAllocation(
        np.full(5, -1), np.full(5, NAN), np.full(5, NAN), np.array([0.0, 1, 1, math.inf, 3]),
        np.array([Fate.DROPPED, Fate.DROPPED, Fate.WAITING, Fate.WAITING, Fate.IMPOSSIBLE]),
    )  # fmt: skip
    assert "because the dropping threshold is 0" in findings_of(dropped, None, Settings())
    assert not findings_of(dropped, None, Settings(dropping_threshold=0.1))
    shapes = UtilityShapes.of([linear(400.0)])
    early = world(jobs=dataclasses.replace(world().jobs, work=dataclasses.replace(world().jobs.work, shapes=shapes)))
    assert "job 0: utility at its worst" in findings_of(dropped, early, Settings(dropping_threshold=0.1))
    endless = dataclasses.replace(early.jobs.work, end_s=math.inf)
    early = dataclasses.replace(early, jobs=dataclasses.replace(early.jobs, work=endless))
    assert "job 0: utility at its worst: found 7.8;" in findings_of(dropped, early, Settings(dropping_threshold=0.1))
    slow = dataclasses.replace(early, types=dataclasses.replace(early.types, planned_s=early.types.planned_s + 400.0))
    assert "utility at its worst" not in findings_of(dropped, slow, Settings(dropping_threshold=0.1))


def test_pieces_add_up_to_the_job() -> None:
    """Job 2 is cut after 2 s of work and 1 s of saving; restoring takes 0.5 s, so 4.5 s are left."""
    pieces = Pieces(np.array([2]), np.array([2]), np.array([6.0]), np.array([9.0]), np.array([False]))
    parts = allocation(
        start_s=np.array([0, 1, 10, 12, NAN]), end_s=np.array([10, 6, 14.5, 20, NAN]), pieces=pieces
    )  # fmt: skip
    saving = Settings(preempts=True, checkpoint_s=1.0, restart_s=0.5)
    assert not findings_of(parts, None, saving)
    assert "nothing preempts" in findings_of(parts, None, Settings())
    short = dataclasses.replace(parts, end_s=np.array([10, 6, 14, 20, NAN]))
    assert "work done by an interrupted job" in findings_of(short, None, saving)
    both = dataclasses.replace(parts, start_s=np.array([0, 1, 8.5, 12, NAN]), end_s=np.array([10, 6, 13, 20, NAN]))
    assert "job 2: start_s: found 8.5; expected an instant after its stretches before" in findings_of(both)


def test_lost_pieces_need_a_failure_and_count_for_nothing() -> None:
    pieces = Pieces(np.array([2]), np.array([2]), np.array([6.0]), np.array([9.0]), np.array([True]))
    parts = allocation(start_s=np.array([0, 1, 10, 12, NAN]), end_s=np.array([10, 6, 16, 20, NAN]), pieces=pieces)
    assert "the start of a failure in its cluster" in findings_of(parts, None, Settings())
    one = (np.array([1]), np.array([1]), np.array([9.0]), np.array([9.5]), np.array([False]), np.zeros(1))
    assert not findings_of(parts, world(outages=NodeOutages(*one)), Settings())


def test_days_have_budgets() -> None:
    """300 J and 200 J and 120 J of the first three jobs, 80 J of the fourth, half of it from 16 s on."""
    for budget_j, is_right in ((660.0, True), (659.0, False)):
        lines = findings_of(allocation(), world(supply=Supply(budget_j, day_s=16.0)), Settings())
        assert lines == ("" if is_right else "day 0: energy over idle nodes: found 660.0 J; expected 659.0 J or less")
    assert not findings_of(allocation(), world(supply=Supply(700.0, is_total=True, day_s=40.0)), Settings())
    assert "day 0" in findings_of(allocation(), world(supply=Supply(700.0, is_total=True, day_s=20.0)), Settings())


def test_power_has_a_cap_and_idle_nodes_count() -> None:
    for cap_w, is_right in ((70.0, True), (69.0, False)):
        lines = findings_of(allocation(), world(supply=Supply(cap_w=np.array([cap_w]))), Settings())
        assert (not lines) == is_right
    columns = (np.array([2.0, 1.0]), np.zeros(2), np.zeros(2), np.full(2, math.inf), np.zeros(2))
    clusters = dataclasses.replace(world().clusters, standby=NodeStandby(*columns))
    idle = world(clusters=clusters, supply=Supply(cap_w=np.array([71.0]), pue=1.0))
    assert "power at 1.0 s: found 72.0 W; expected 71.0 W or less" in findings_of(allocation(), idle, Settings())


def test_limits_need_powers() -> None:
    types = dataclasses.replace(world().types, power_w=np.array([30.0, 40.0, NAN, 10.0]))
    assert "job 2: power_w" in findings_of(allocation(), world(types=types, supply=Supply(1e9)), Settings())

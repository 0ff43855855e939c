"""The validator of sites: it finds what is planted by hand, and agrees with plain counting on random sites."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from joulewise.check.jobs.allocation import check_jobs
from joulewise.model.conditions import Conditions
from joulewise.model.failures import NodeFailures
from joulewise.model.hours import Hours
from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld, Pieces
from joulewise.model.kept import KeptNodes
from joulewise.model.opening import Opening
from joulewise.model.preemption import Preemption
from joulewise.model.site import Demands, Limits, Places, Site
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from tests.strategies.job_worlds import clusters_of, types_of, work_of
from tests.strategies.random_sites import site_worlds, waiting_worlds

EASY = Scheduler(JOB_POLICIES["easy"])

Row: TypeAlias = tuple[int, int, int, int]
"""A piece: job, group, node and how many."""

CPU, GPU, WIDE = 0, 1, 2
RIGHT: tuple[Row, ...] = (
    (0, GPU, 0, 2), (1, GPU, 1, 1), (2, GPU, 1, 1), (3, CPU, 0, 1), (3, CPU, 1, 1), (4, WIDE, -1, 2), (5, CPU, 0, 1),
)  # fmt: skip
START_S = (0.0, 0.0, 0.0, 0.0, 0.0, 10.0)


def small_world() -> JobWorld:
    """Two nodes of 4 processors, two of 4 with 2 GPUs, and two that are given as wholes; one licence.

    Job 0 has two GPUs, jobs 1 and 2 have one each, job 3 a part of two nodes, job 4 two whole nodes, and job 5 a
    processor. Jobs 1 and 5 need the licence. All jobs run for 10 s.
    """
    site = Site(
        ("cores", "gpus"), ("cpu", "gpu", "wide"), np.array([2, 2, 2]), np.array([[4, 0], [4, 2], [8, 0]]),
        np.array([1, 2, 1]), ("batch", "wholes"), np.array([[True, True, False], [False, False, True]]),
        np.array([0, 0]), np.array([False, True]), ("matlab",), np.array([1]),
    )  # fmt: skip
    of_gpus, of_nodes, of_wholes = [0, 1, 0], [1, 1, 0], [0, 0, 1]
    pieces = np.array([[1, 1], [1, 1], [1, 1], [2, 0], [8, 0], [1, 0]])
    demands = Demands(
        np.arange(6, dtype=np.int32), np.array([0, 0, 0, 0, 1, 0]), np.array([2, 1, 1, 2, 2, 1]),
        np.array([2, 1, 1, 1, 1, 1]),
        np.repeat(pieces[:, None], 3, axis=1), np.array([of_gpus, of_gpus, of_gpus, of_nodes, of_wholes, of_nodes]),
        np.array([[0], [1], [0], [0], [0], [1]]),
        Limits(("jobs",), ("ann",), np.array([[3]]), np.ones((6, 1), np.int64), np.array([[0]] * 3 + [[-1]] * 3)),
    )  # fmt: skip
    options: Any = [[(0, 1, 10.0, 10.0)] for _ in range(6)]
    return JobWorld(clusters_of([100]), types_of(options), Jobs(work_of([0.0] * 6), demands=demands), site=site)


def allocated(rows: tuple[Row, ...] = RIGHT, start_s: tuple[float, ...] = START_S) -> JobAllocation:
    """The jobs of the small world at these places."""
    starts, n = np.array(start_s), len(start_s)
    return JobAllocation(
        np.arange(n, dtype=np.int32), starts, starts + 10.0, np.zeros(n), np.full(n, Fate.RAN), places=places_of(rows)
    )


def places_of(rows: tuple[Row, ...]) -> Places:
    return Places(*np.array(rows, np.int64).reshape(-1, 4).T)


def test_a_right_allocation_has_nothing_wrong() -> None:
    assert check_jobs(small_world(), allocated()) == []


def test_a_run_may_tell_nodes_apart_that_need_only_be_counted() -> None:
    told = (*RIGHT[:5], (4, WIDE, 0, 1), (4, WIDE, 1, 1), RIGHT[6])
    assert check_jobs(small_world(), allocated(told)) == []
    half = (*RIGHT[:5], (4, WIDE, 0, 1), (4, WIDE, -1, 1), RIGHT[6])
    assert check_jobs(small_world(), allocated(half))[0].startswith("job 4: node of a piece: found -1")


def other(at: int, row: Row) -> tuple[Row, ...]:
    """The right places with one piece otherwise."""
    return (*RIGHT[:at], row, *RIGHT[at + 1 :])


FAULTS: dict[str, tuple[tuple[Row, ...], str]] = {
    "moved to a full node": (other(1, (1, GPU, 0, 1)), "node 0 of group gpu: found more gpus in use at 0.0 s than"),
    "two jobs on one GPU": (
        other(0, (0, GPU, 1, 2)),
        "node 1 of group gpu: found more gpus in use at 0.0 s than the 2",
    ),
    "a group of another partition": (other(6, (5, WIDE, -1, 1)), "job 5: group of a piece: found 2"),
    "a group without what it needs": (other(1, (1, CPU, 1, 1)), "job 1: group of a piece: found 0"),
    "no such group": (other(6, (5, 3, 0, 1)), "job 5: group of a piece: found 3"),
    "no such node": (other(6, (5, CPU, 2, 1)), "job 5: node of a piece: found 2"),
    "a node below 0": (other(6, (5, CPU, -1, 1)), "job 5: node of a piece: found -1"),
    "a node of a counted group": (other(5, (4, WIDE, 0, 2)), "job 4: pieces on a node: found 2"),
    "a piece more": (other(6, (5, CPU, 0, 2)), "job 5: pieces on a node: found 2"),
    "a piece less": (other(0, (0, GPU, 0, 1)), "job 0: units: found 1"),
    "no pieces": (other(6, (5, CPU, 0, 0)), "job 5: pieces on a node: found 0"),
    "a node more": ((*RIGHT, (3, GPU, 0, 1)), "job 3: units: found 3"),
    "a node less": (RIGHT[:4] + RIGHT[5:], "job 3: units: found 1"),
    "two pieces on one node": (other(4, (3, CPU, 0, 1)), "job 3: node of a piece: found 0"),
    "a whole node more": (other(5, (4, WIDE, -1, 3)), "group wide: found more nodes in use at 0.0 s than the 2"),
    "told twice": ((*RIGHT, RIGHT[0]), "job 0: node of a piece: found 0"),
    "no places": (RIGHT[:-1], "job 5: places of a job that ran: found none"),
    "no such job": ((*RIGHT, (6, CPU, 0, 1)), "job 6: places of a job that did not run: found some"),
}
"""What is planted, and what is said of it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    rows, words = FAULTS[fault]
    found = check_jobs(small_world(), allocated(rows))
    assert any(words in line for line in found), found


def test_licences_that_are_exceeded_are_found() -> None:
    (found,) = check_jobs(small_world(), allocated(start_s=(*START_S[:-1], 9.0)))
    assert "licence matlab: found more in use at 9.0 s than the 1" in found


def test_limits_that_are_exceeded_are_found() -> None:
    world = small_world()
    demands = world.jobs.demands
    assert demands is not None
    fewer = replace(demands, limits=replace(demands.limits, most=np.array([[2]])))
    (found,) = check_jobs(replace(world, jobs=replace(world.jobs, demands=fewer)), allocated())
    assert found == "limit of ann: found more jobs in use at 0.0 s than the 2 allowed"


def kept_world(kept_for: tuple[int, ...], start_s: float = 0.0, end_s: float = 10.0) -> JobWorld:
    """The small world with the first node of its GPUs kept for jobs of some classes."""
    world = small_world()
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    zero = np.zeros(1, np.int32)
    kept = KeptNodes(("course",), np.array([start_s]), np.array([end_s]), zero, zero + GPU, zero)
    mine = np.where(np.isin(np.arange(6), kept_for), 0, -1)
    jobs = replace(world.jobs, demands=replace(demands, kept=mine))
    return replace(world, site=replace(site, kept=kept), jobs=jobs)


def test_who_runs_on_nodes_that_are_kept_is_found() -> None:
    assert check_jobs(kept_world((0,)), allocated()) == []
    for start_s, end_s in ((9.0, 20.0), (-5.0, 1.0), (2.0, 3.0)):
        (found,) = check_jobs(kept_world((), start_s, end_s), allocated())
        assert found == "job 0: start_s on a node of course: found 0.0; expected one of jobs that may"
        (found,) = check_jobs(kept_world((0,), start_s, end_s), allocated())
        assert "job 0: place of a job for which nodes are kept: found another" in found
    assert check_jobs(kept_world((), 10.0, 20.0), allocated()) == [], "they begin to be kept when it ends"
    assert check_jobs(kept_world((), -5.0, 0.0), allocated()) == []
    (found,) = check_jobs(kept_world((0, 1)), allocated())
    assert "job 1: place of a job for which nodes are kept: found another" in found


def test_refusals_that_no_limit_asks_for_and_jobs_beyond_a_limit_are_found() -> None:
    world = small_world()
    demands = world.jobs.demands
    assert demands is not None
    holders = np.array([[0], [0], [0], [-1], [-1], [0]])
    most = Limits(("jobs",), ("ann",), np.array([[4]]), np.ones((6, 1), np.int64), holders)

    def found(n: int, fate: Fate) -> list[str]:
        """What is found if so many jobs may wait or run, and the last one has this fate."""
        limited = replace(demands, submitted=replace(most, most=np.array([[n]])))
        allocation = allocated()
        if fate == Fate.DROPPED:
            fates, nothing = np.array([Fate.RAN] * 5 + [fate]), np.where(np.arange(6) < 5, 1.0, np.nan)
            option = np.where(np.arange(6) < 5, allocation.option, -1)
            times = (allocation.start_s * nothing, allocation.end_s * nothing)
            allocation = JobAllocation(option, *times, allocation.ready_s, fates, places=places_of(RIGHT[:-1]))
        return check_jobs(replace(world, jobs=replace(world.jobs, demands=limited)), allocation)

    assert found(4, Fate.RAN) == found(3, Fate.DROPPED) == []
    assert found(3, Fate.RAN) == ["submissions of ann: found more jobs at 0.0 s than the 3 that may wait and run"]
    assert found(4, Fate.DROPPED) == ["job 5: fate of a job that no limit refuses: found DROPPED; expected any other"]


def giving_world(grace_s: float = 0.0, *, cancels: bool = False, exempt_s: float = 0.0) -> JobWorld:
    """The small world in which job 0, of low quality, gives way to job 5, which comes at 4 s and is high."""
    world = small_world()
    demands = world.jobs.demands
    assert demands is not None
    preemption = Preemption(
        ("low", "high"), np.array([0, -1, -1, -1, -1, 1]), np.array([[False, False], [True, False]]),
        np.zeros(2, np.int64), np.array([grace_s, 0.0]), np.array([cancels, False]), exempt_s,
    )  # fmt: skip
    need, gives = demands.need.copy(), demands.gives.copy()
    need[5], gives[5] = need[0], gives[0]  # job 5 has both GPUs of a node, too, and no licence
    licences = np.where(np.arange(6)[:, None] == 5, 0, demands.licences)
    units, most = (np.where(np.arange(6) == 5, 2, column) for column in (demands.units, demands.most))
    asked = replace(demands, need=need, gives=gives, licences=licences, units=units, most=most, preemption=preemption)
    work = replace(world.jobs.work, arrival_s=np.array([0.0, 0, 0, 0, 0, 4]))
    return replace(world, jobs=replace(world.jobs, work=work, demands=asked))


def stopped(
    at_s: float = 4.0, again_s: float = 14.0, starts_s: float = 4.0, of_stretch: int = 0, **edits: Any
) -> JobAllocation:
    """Job 0 is stopped at an instant and runs again from another on, and job 5 starts on its node."""
    start_s = np.array([again_s, 0.0, 0.0, 0.0, 0.0, starts_s])
    pieces = Pieces(*(np.array([value]) for value in (0, 0, 0.0, at_s, True)))
    rows = (*RIGHT[:-1], (5, GPU, 0, 2), (0, GPU, 0, 2))
    found = JobAllocation(
        np.arange(6, dtype=np.int32), start_s, start_s + 10.0, np.array([0.0, 0, 0, 0, 0, 4]),
        np.full(6, Fate.RAN), pieces, replace(places_of(rows), stretch=np.array([-1] * (len(rows) - 1) + [of_stretch])),
    )  # fmt: skip
    return replace(found, **edits)


def test_a_job_that_gives_way_and_runs_again_is_right() -> None:
    assert check_jobs(giving_world(), stopped()) == []
    assert check_jobs(giving_world(2.0), stopped(6.0, 16.0, 6.0)) == []


@pytest.mark.parametrize(
    ("world", "allocation", "words"),
    [
        (giving_world(), stopped(3.0), "job 0: end_s of a job that was stopped: found 3.0; expected none: nobody"),
        (giving_world(), stopped(4.0, 15.0, 5.0), "expected the start of a job that takes its nodes"),
        (giving_world(2.0), stopped(5.0, 16.0, 6.0), "found 5.0; expected none: nobody waited"),
        (giving_world(exempt_s=5.0), stopped(), "expected later: it had not run for long enough"),
        (giving_world(cancels=True), stopped(), "fate of a job that was stopped: found another"),
        (giving_world(), stopped(again_s=13.0), "node 0 of group gpu: found more gpus in use at 13.0 s"),
        (giving_world(), stopped(4.0, 14.0, 3.0), "job 5: start_s: found 3.0"),
        (giving_world(), stopped(end_s=np.array([20.0, 10, 10, 10, 10, 14])), "end_s of a job that runs again"),
        (small_world(), stopped(), "expected none: nobody may stop it"),
        (
            giving_world(), stopped(places=places_of((*RIGHT[:-1], (5, GPU, 0, 2)))),
            "places of a stretch that was lost: found none",
        ),
        (
            giving_world(),
            stopped(of_stretch=3),
            "places of a stretch: found some; expected none: it had no such stretch",
        ),
    ],
)  # fmt: skip
def test_who_is_stopped_without_reason_is_found(world: JobWorld, allocation: JobAllocation, words: str) -> None:
    found = check_jobs(world, allocation)
    assert any(words in line for line in found), found


def test_a_job_that_is_cancelled_for_another_is_right_and_one_that_is_not_is_found() -> None:
    start_s = np.array([0.0, 0, 0, 0, 0, 4])
    end_s = np.array([4.0, 10, 10, 10, 10, 14])
    fate = np.array([Fate.CANCELLED] + [Fate.RAN] * 5)
    rows = places_of((*RIGHT[:-1], (5, GPU, 0, 2)))
    cancelled = JobAllocation(np.arange(6, dtype=np.int32), start_s, end_s, np.maximum(start_s, 0.0), fate, places=rows)
    assert check_jobs(giving_world(cancels=True), cancelled, EASY) == []
    earlier = replace(cancelled, end_s=np.where(np.arange(6) == 0, 3.0, end_s))
    assert any("nobody waited that may stop it" in line for line in check_jobs(giving_world(cancels=True), earlier))
    assert any("fate of a job that was stopped" in line for line in check_jobs(giving_world(), cancelled)), (
        "it runs again"
    )


def suspending_world(n_gpus: int = 0) -> JobWorld:
    """The world in which job 0 is suspended while job 5 has all processors of its node, and so many GPUs."""
    world = giving_world()
    demands = world.jobs.demands
    assert demands is not None
    assert demands.preemption is not None
    need = demands.need.copy()
    need[5] = [[2, n_gpus]] * 3
    preemption = replace(demands.preemption, suspends=np.array([True, False]))
    return replace(world, jobs=replace(world.jobs, demands=replace(demands, need=need, preemption=preemption)))


def suspended(again_s: float = 14.0, end_s: float = 20.0, *, is_lost: bool = False, node: int = 0) -> JobAllocation:
    """Job 0 is stopped at 4 s, when job 5 starts on its node, and goes on at an instant."""
    found = stopped(4.0, again_s)
    assert found.places is not None
    rows = ((0, GPU, node, 2), *RIGHT[1:-1], (5, GPU, 0, 2), (0, GPU, 0, 2))
    return replace(
        found,
        end_s=np.where(np.arange(6) == 0, end_s, found.end_s),
        pieces=replace(found.pieces, is_lost=np.array([is_lost])),
        places=replace(places_of(rows), stretch=found.places.stretch),
    )


def test_a_job_that_is_suspended_and_goes_on_is_right() -> None:
    assert check_jobs(suspending_world(), suspended(), EASY) == []


@pytest.mark.parametrize(
    ("world", "allocation", "words"),
    [
        (suspending_world(), suspended(is_lost=True), "fate of a job that was stopped: found another"),
        (giving_world(), suspended(), "fate of a job that was stopped: found another"),
        (suspending_world(), suspended(13.0, 19.0), "node 0 of group gpu: found more cores in use at 13.0 s"),
        (suspending_world(), suspended(15.0, 21.0), "start_s of a job that goes on: found 15.0"),
        (suspending_world(), suspended(end_s=24.0), "work done by an interrupted job: found 1.4"),
        (suspending_world(), suspended(node=1), "places of a job that goes on: found others"),
        (suspending_world(1), suspended(), "node 0 of group gpu: found more gpus in use at 4.0 s"),
    ],
)
def test_who_is_suspended_otherwise_is_found(world: JobWorld, allocation: JobAllocation, words: str) -> None:
    found = check_jobs(world, allocation, EASY)
    assert any(words in line for line in found), found


def test_a_suspended_job_that_is_killed_had_all_of_its_limit() -> None:
    world = suspending_world()
    types = replace(world.types, time_s=np.where(np.arange(6) == 0, 12.0, world.types.time_s))
    killing = replace(EASY, overrun="kill")
    killed = replace(suspended(), fate=np.array([Fate.KILLED] + [Fate.RAN] * 5))
    assert check_jobs(replace(world, types=types), killed, killing) == []
    early = replace(killed, end_s=np.where(np.arange(6) == 0, 19.0, killed.end_s))
    assert any("time of a job that was suspended" in line for line in check_jobs(replace(world, types=types), early))


def test_places_are_told_on_a_site_and_nowhere_else() -> None:
    world = small_world()
    assert "found no places" in check_jobs(world, replace(allocated(), places=None))[0]
    plain = replace(world, site=None, jobs=replace(world.jobs, demands=None))
    assert "found places" in check_jobs(plain, allocated())[0]


# --- random sites ------------------------------------------------------------------------------------------------


def rows_of(places: Places) -> tuple[Row, ...]:
    columns = (places.job, places.group, places.node, places.pieces)
    return tuple(zip(*(column.tolist() for column in columns), strict=True))


def is_held(world: JobWorld, allocation: JobAllocation) -> bool:
    """Whether nodes and licences have what jobs take, counted at each start in plain Python; all rows are possible."""
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    assert allocation.places is not None
    jobs = np.flatnonzero(allocation.used).tolist()
    for now_s in allocation.start_s[jobs].tolist():
        runs = {job for job in jobs if allocation.start_s[job] <= now_s < allocation.end_s[job]}
        taken: Counter[tuple[int, int, int]] = Counter()
        for job, group, node, pieces in rows_of(allocation.places):
            if job in runs:
                need = [1] if site.is_counted[group] else demands.need[demands.of_job[job], group].tolist()
                taken.update({(group, node, r): pieces * amount for r, amount in enumerate(need)})
        for (group, _, r), amount in taken.items():
            if amount > (site.n_nodes[group] if site.is_counted[group] else site.capacity[group, r]):
                return False
        if (sum(demands.licences[demands.of_job[job]] for job in runs) > site.n_licences).any():
            return False
        if any(passes(demands, allocation, runs, holder, now_s) for holder in range(len(demands.limits.names))):
            return False
    return True


def passes(demands: Demands, allocation: JobAllocation, runs: set[int], holder: int, now_s: float) -> bool:
    """Whether those whom a holder binds start when it has too much of what they use; others come behind them."""
    limits = demands.limits
    bound = {job for job in runs if holder in limits.binding[job]}
    new = {job for job in bound if allocation.start_s[job] == now_s}
    mine = {job for job in runs if holder in limits.holders[job] and (job in bound or allocation.start_s[job] < now_s)}
    uses = {job: limits.uses[demands.of_job[job]] for job in mine}
    return any(((sum(uses.values()) > limits.most[holder]) & (uses[job] > 0)).any() for job in new)


def simulated(world: JobWorld) -> tuple[JobAllocation, tuple[Row, ...]]:
    """A right allocation and its pieces, of which there are some."""
    allocation = simulate_jobs(world, EASY).allocation
    assert allocation.places is not None
    assume(allocation.places.job.size)
    assert is_held(world, allocation)
    return allocation, rows_of(allocation.places)


def said(world: JobWorld, allocation: JobAllocation, rows: list[Row]) -> list[str]:
    return check_jobs(world, replace(allocation, places=places_of(tuple(rows))))


SITE_WORLDS = st.one_of(site_worlds(), site_worlds(is_roomy=True))


@given(world=site_worlds(is_roomy=True), data=st.data())
def test_a_job_that_is_moved_to_another_node_is_found_where_that_is_full(world: JobWorld, data: st.DataObject) -> None:
    allocation, rows = simulated(world)
    site = world.site
    assert site is not None
    at = data.draw(st.integers(0, len(rows) - 1))
    job, group, _, pieces = rows[at]
    there = {other_node for of, where, other_node, _ in rows if (of, where) == (job, group)}
    free = [n for n in range(int(site.n_nodes[group])) if n not in there]
    assume(free)
    moved = (job, group, data.draw(st.sampled_from(free)), pieces)
    others = [*rows[:at], moved, *rows[at + 1 :]]
    wanted = is_held(world, replace(allocation, places=places_of(tuple(others))))
    assert (said(world, allocation, others) == []) == wanted


@given(world=SITE_WORLDS, data=st.data())
def test_a_job_that_starts_at_another_instant_is_found_where_there_is_no_room(
    world: JobWorld, data: st.DataObject
) -> None:
    allocation, _ = simulated(world)
    job = data.draw(st.sampled_from(np.flatnonzero(allocation.used).tolist()))
    conditions = world.jobs.conditions
    followers = [] if conditions is None else conditions.job[conditions.on == job].tolist()
    assume(not followers)  # their instants would be wrong too
    start_s, end_s = allocation.start_s.copy(), allocation.end_s.copy()
    start_s[job] = allocation.ready_s[job] + data.draw(st.integers(0, 30))
    end_s[job] += start_s[job] - allocation.start_s[job]
    moved = replace(allocation, start_s=start_s, end_s=end_s)
    assert (check_jobs(world, moved) == []) == is_held(world, moved)


@given(world=waiting_worlds(SITE_WORLDS), data=st.data())
def test_a_job_that_starts_before_what_it_waits_for_is_found(world: JobWorld, data: st.DataObject) -> None:
    allocation, _ = simulated(world)
    late = np.flatnonzero(allocation.used & (allocation.ready_s > world.jobs.work.arrival_s)).tolist()
    assume(late)
    job = data.draw(st.sampled_from(late))
    ready_s, start_s, end_s = allocation.ready_s.copy(), allocation.start_s.copy(), allocation.end_s.copy()
    start_s[job] = data.draw(st.integers(0, int(ready_s[job]) - 1))
    end_s[job] += start_s[job] - allocation.start_s[job]
    moved = replace(allocation, start_s=start_s, end_s=end_s)
    assert any(f"job {job}: start_s: found" in line for line in check_jobs(world, moved))
    ready_s[job] = start_s[job]
    lied = check_jobs(world, replace(moved, ready_s=ready_s))
    assert any(line.startswith(f"job {job}: ready_s: found") for line in lied)


def test_parts_that_start_apart_are_found() -> None:
    none = np.empty(0, np.int32)
    together = Conditions(none, none, none.astype(np.int8), none.astype(float), together=np.array([-1, 4, 4, 7, 7, 7]))
    world = small_world()
    world = replace(world, jobs=replace(world.jobs, conditions=together))
    why = "(with job 3, of which it is a part)"
    assert check_jobs(world, allocated()) == [f"job 5: start_s: found 10.0; expected 0.0 {why}"]
    assert any(
        "job 2: start_s" in line for line in check_jobs(world, allocated(start_s=(0.0, 0.0, 2.0, 1.0, 1.0, 1.0)))
    )


@given(world=SITE_WORLDS, data=st.data())
def test_pieces_that_cannot_be_are_found_on_any_site(world: JobWorld, data: st.DataObject) -> None:
    allocation, rows = simulated(world)
    site, demands = world.site, world.jobs.demands
    assert site is not None
    assert demands is not None
    at = data.draw(st.integers(0, len(rows) - 1))
    job, group, node, pieces = rows[at]
    before, after = list(rows[:at]), list(rows[at + 1 :])
    kind = demands.of_job[job]
    absent = np.flatnonzero((demands.gives[kind] == 0) | ~site.in_partition[demands.partition[kind]]).tolist()
    wrong = {
        "a node that is not there": [*before, (job, group, int(site.n_nodes[group]), pieces), *after],
        "a group that is not there": [*before, (job, site.n_groups, node, pieces), *after],
        "no pieces": [*before, (job, group, node, 0), *after],
        "told twice": [*rows, rows[at]],
        "no places": [row for row in rows if row[0] != job],
        **{f"group {g} of another": [*before, (job, g, node, pieces), *after] for g in absent},
    }
    gives = {int(demands.gives[kind, where]) for of, where, _, _ in rows if of == job}
    if len(gives) == 1:  # or a piece that gives less might be one to spare
        wrong["a piece more"] = [*before, (job, group, node, pieces + 1), *after]
        wrong["a piece less"] = [*before, (job, group, node, pieces - 1), *after]
    assert [fault for fault, others in wrong.items() if said(world, allocation, others) == []] == []


def failing_world(gone_s: float, back_s: float, *, requeues: bool = True) -> JobWorld:
    """The small world, where the first node with GPUs is away for a time, and `batch` is not up from 5 s to 9 s."""
    world = small_world()
    assert world.site is not None
    failures = NodeFailures(np.array([GPU]), np.array([0]), np.array([gone_s]), np.array([back_s]))
    hours = Hours(np.array([5.0, 9.0]), np.array([0, 0]), np.array([False, True]))
    return replace(world, site=replace(world.site, failures=failures, requeues=requeues, hours=hours))


def test_who_runs_on_a_node_that_is_away_is_found() -> None:
    assert check_jobs(failing_world(10.0, 20.0), allocated()) == []
    for gone_s, back_s in ((9.0, 20.0), (0.0, 1.0), (2.0, 3.0)):
        (found,) = check_jobs(failing_world(gone_s, back_s), allocated())
        assert found == f"node 0 of group gpu: found job 0 there, and it is away from {gone_s!r} s to {back_s!r} s"


def test_who_starts_when_its_partition_is_not_up_is_found() -> None:
    found = check_jobs(failing_world(20.0, 30.0), allocated(start_s=(5.0, *START_S[1:])))
    assert found == ["job 0: found a start at 5.0 s, when partition batch is not up"]


def lost_once(end_s: float) -> JobAllocation:
    """The small world, where job 0 ran in vain until an instant, and runs again from 20 s on."""
    right = allocated(start_s=(20.0, *START_S[1:]))
    places = places_of((*RIGHT, (0, GPU, 0, 2)))
    zero = np.zeros(1, np.int32)
    pieces = Pieces(zero, zero, np.array([0.0]), np.array([end_s]), np.ones(1, np.bool_))
    stretch = np.array([-1] * len(RIGHT) + [0])
    return replace(right, pieces=pieces, places=replace(places, stretch=stretch))


def test_what_is_lost_is_so_by_a_failure_and_only_where_jobs_run_again() -> None:
    assert check_jobs(failing_world(4.0, 20.0), lost_once(4.0)) == []
    found = check_jobs(failing_world(4.0, 20.0), lost_once(3.0))
    assert "job 0: end_s of a job that was stopped: found 3.0; expected none: nobody may stop it" in found
    found = check_jobs(failing_world(4.0, 20.0, requeues=False), lost_once(4.0))
    assert "job 0: end_s of a job that was stopped: found 4.0; expected none: nobody may stop it" in found


def test_who_is_cancelled_by_a_failure_is_so_only_where_jobs_do_not_run_again() -> None:
    right, is_first = allocated(), np.arange(6) == 0
    fate = np.where(is_first, Fate.CANCELLED, right.fate)
    cancelled = replace(right, end_s=np.where(is_first, 4.0, right.end_s), fate=fate)
    assert check_jobs(failing_world(4.0, 20.0, requeues=False), cancelled) == []
    found = check_jobs(failing_world(4.0, 20.0), cancelled)
    assert "job 0: end_s of a job that was stopped: found 4.0; expected none: nobody may stop it" in found


def test_starts_between_two_looks_by_the_clock_are_found() -> None:
    clocked = replace(EASY, mapping_interval_s=5.0)
    assert check_jobs(small_world(), allocated(), clocked) == []
    found = check_jobs(small_world(), allocated(start_s=(*START_S[:-1], 12.0)), clocked)
    assert found == ["job 5: start_s: found 12.0; expected a whole multiple of 5.0 s"]
    begun = places_of(((0, GPU, 0, 2),))
    opening = Opening(4.0, np.where(np.arange(6) == 0, 3.0, np.nan), begun)
    later = allocated(start_s=(3.0, 5.0, 5.0, 5.0, 5.0, 15.0))
    assert check_jobs(replace(small_world(), opening=opening), later, clocked) == [], "it ran already"


def test_who_was_suspended_goes_on_whatever_the_hour() -> None:
    world = suspending_world()
    assert world.site is not None
    hours = Hours(np.array([10.0]), np.array([0]), np.array([False]))
    assert check_jobs(replace(world, site=replace(world.site, hours=hours)), suspended(), EASY) == []

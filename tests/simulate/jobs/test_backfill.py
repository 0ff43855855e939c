"""Backfilling on one cluster: against plain Python and the engine for everything, by hand, and what it promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.model.arrays import Floats
from joulewise.model.jobs import Fate, JobWorld
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.simulate.jobs import misfits as job_misfits
from joulewise.simulate.jobs.backfill import backfill, can_backfill_fast
from joulewise.simulate.jobs.run import JobEngine, simulate_jobs
from joulewise.simulate.jobs.scheduler import Overrun, Scheduler
from tests.strategies.cases import cases
from tests.strategies.job_worlds import in_minutes, trace_world, trace_worlds, types_of
from tests.twins.jobs import backfill as twins
from tests.twins.jobs.timetable import Commitments

TWINS = {"easy": twins.easy, "conservative": twins.conservative}


def scheduler_of(name: str, overrun: Overrun = "raise") -> Scheduler:
    return Scheduler(JOB_POLICIES[name], overrun=overrun)


SETTINGS = [
    scheduler_of("easy", "raise"),
    scheduler_of("easy", "unaware"),
    scheduler_of("easy", "steps"),
    scheduler_of("easy", "kill"),
    scheduler_of("conservative", "raise"),
    scheduler_of("conservative", "kill"),
    scheduler_of("conservative", "steps"),
]


def starts(world: JobWorld, name: str, overrun: Overrun = "raise") -> list[float]:
    scheduler = scheduler_of(name, overrun)
    assert can_backfill_fast(world, scheduler)
    found: list[float] = backfill(world, scheduler).allocation.start_s.tolist()
    return found


def twin_jobs(world: JobWorld, overrun: Overrun) -> twins.Jobs:
    """A world of the kind of trace_world as the twins take it."""
    types = world.types
    planned_s = np.maximum(types.planned_s, types.time_s) if overrun == "raise" else types.planned_s
    time_s = np.minimum(types.allowed_s, types.time_s) if overrun == "kill" else types.time_s
    arrival_s = world.jobs.work.arrival_s
    limit_s = types.allowed_s.tolist() if overrun in ("steps", "kill") else None
    return twins.Jobs(arrival_s.tolist(), time_s.tolist(), planned_s.tolist(), types.nodes.tolist(), limit_s)


def limited(world: JobWorld, more_s: float) -> JobWorld:
    """A world in which jobs may run for longer than planned."""
    return replace(world, types=replace(world.types, limit_s=world.types.planned_s + more_s))


PREDICTED = st.builds(limited, trace_worlds(overruns=True).map(in_minutes), st.sampled_from((0.0, 30.0, 200.0, 1e4)))
"""Worlds in which plans may be shorter than what jobs take, and than what they may take."""


# Twins


@pytest.mark.parametrize("scheduler", SETTINGS, ids=lambda s: f"{s.policy.name}-{s.overrun}")
@given(world=trace_worlds(overruns=True) | PREDICTED)
def test_starts_are_those_of_the_plain_twin(scheduler: Scheduler, world: JobWorld) -> None:
    name, overrun = scheduler.policy.name, scheduler.overrun
    n_nodes = int(world.clusters.n_nodes[0])
    assert starts(world, name, overrun) == TWINS[name](twin_jobs(world, overrun), n_nodes)


@given(trace_worlds(most_jobs=12))
def test_the_conservative_twin_needs_no_clever_timetable(world: JobWorld) -> None:
    jobs, n_nodes = twin_jobs(world, "raise"), int(world.clusters.n_nodes[0])
    assert twins.conservative(jobs, n_nodes, Commitments) == twins.conservative(jobs, n_nodes)


@pytest.mark.parametrize("scheduler", SETTINGS, ids=lambda s: f"{s.policy.name}-{s.overrun}")
@given(world=trace_worlds(overruns=True) | PREDICTED)
def test_the_engine_for_everything_finds_the_same(scheduler: Scheduler, world: JobWorld) -> None:
    engine = JobEngine(world, scheduler)
    engine.run(world.jobs.work.end_s)
    ours, theirs = backfill(world, scheduler).allocation, engine.allocation()
    for name in ("option", "start_s", "end_s", "ready_s", "fate"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True), name


# By hand: (arrival, nodes, time[, planned time]) on 4 nodes


def test_easy_lets_a_job_pass_that_delays_all_but_the_head() -> None:
    world = trace_world([(0, 2, 10), (1, 3, 10), (2, 4, 10), (3, 1, 30)])
    assert starts(world, "easy") == [0, 10, 33, 3]
    assert starts(world, "conservative") == [0, 10, 20, 30]


def test_a_job_that_ends_by_the_shadow_may_use_the_nodes_of_the_head() -> None:
    world = trace_world([(0, 3, 10), (1, 4, 5), (2, 1, 8), (2, 1, 9)])
    assert starts(world, "easy") == [0, 10, 2, 15]
    assert starts(world, "conservative") == [0, 10, 2, 15]


def test_an_early_end_brings_the_others_forward_in_order_of_arrival() -> None:
    world = trace_world([(0, 3, 4, 10), (1, 3, 5), (2, 2, 5), (3, 4, 5)])
    assert starts(world, "easy") == [0, 4, 9, 14]
    assert starts(world, "conservative") == [0, 4, 9, 14]


def test_the_shadow_goes_by_planned_ends_and_not_by_planned_times() -> None:
    # The second job is planned for longer than the first but ends earlier: it began earlier.
    world = trace_world([(0, 2, 12), (9, 1, 10), (10, 3, 5), (11, 1, 2)])
    assert starts(world, "easy") == [0, 9, 12, 17]


def test_ends_come_before_arrivals_at_one_instant() -> None:
    world = trace_world([(0, 4, 5), (5, 4, 5), (5, 1, 1)])
    assert starts(world, "easy") == starts(world, "conservative") == [0, 5, 10]


def test_jobs_that_run_past_their_plan() -> None:
    rows = [(0, 4, 10, 5), (1, 2, 5), (2, 2, 3)]
    world = trace_world(rows)
    for name in ("easy", "conservative"):
        raised, killed = (backfill(world, scheduler_of(name, overrun)).allocation for overrun in ("raise", "kill"))
        assert raised.start_s.tolist() == [0, 10, 10]
        assert killed.start_s.tolist() == [0, 5, 5]
        assert killed.end_s.tolist() == [5, 10, 8]
        assert [Fate(fate) for fate in killed.fate] == [Fate.KILLED, Fate.RAN, Fate.RAN]
        assert (raised.fate == Fate.RAN).all()
    assert starts(world, "easy", "unaware") == [0, 10, 10]


def test_a_job_that_fits_nowhere_is_impossible_and_in_nobodys_way() -> None:
    world = trace_world([(0, 2, 3), (1, 4, 4), (2, 1, 1)])
    world = replace(world, types=types_of([[(0, 2, 3)], [], [(0, 1, 1)]]))
    for name in ("easy", "conservative"):
        allocation = backfill(world, scheduler_of(name)).allocation
        assert allocation.fate.tolist() == [Fate.RAN, Fate.IMPOSSIBLE, Fate.RAN]
        assert np.array_equal(allocation.start_s, [0, np.nan, 2], equal_nan=True)
        assert allocation.option.tolist() == [0, -1, 1]


# Promises


def planned_start(world: JobWorld, start_s: Floats, i: int) -> float:
    """When job i could start as far as planned, at the instant when it came to stand first in the queue."""
    work, types = world.jobs.work, world.types
    others = np.arange(world.n_jobs) != i
    head_s = max([float(work.arrival_s[i]), *start_s[:i]])
    there = others & ((start_s < head_s) | ((start_s == head_s) & (np.arange(world.n_jobs) < i)))
    there &= start_s + types.time_s > head_s
    planned_end_s = (start_s + types.planned_s)[there]
    instants = np.sort(np.concatenate(([head_s], planned_end_s)))
    free = [world.clusters.n_nodes[0] - types.nodes[there][planned_end_s > at_s].sum() for at_s in instants]
    return float(instants[np.argmax(np.array(free) >= types.nodes[i])])


@given(trace_worlds())
def test_easy_never_delays_the_head_of_the_queue(world: JobWorld) -> None:
    start_s = np.array(starts(world, "easy"))
    for i in range(world.n_jobs):
        assert start_s[i] <= planned_start(world, start_s, i)


def promised_start(world: JobWorld, end_s: Floats, i: int) -> float:
    """When job i would start if nobody came after it, and nobody who has not ended by its arrival ended early."""
    types, now_s = world.types, world.jobs.work.arrival_s[i]
    time_s = np.where(end_s <= now_s, types.time_s, types.planned_s)
    rows = zip(world.jobs.work.arrival_s, types.nodes, time_s, types.planned_s, strict=True)
    return starts(trace_world(list(rows)[: i + 1], int(world.clusters.n_nodes[0])), "conservative")[i]


@given(trace_worlds())
def test_conservative_never_delays_anybody(world: JobWorld) -> None:
    start_s = np.array(starts(world, "conservative"))
    for i in range(world.n_jobs):
        assert start_s[i] <= promised_start(world, start_s + world.types.time_s, i)


# What it is made for


@cases(divided_by=10)
@given(trace_worlds(), st.sampled_from(["fcfs", "sjf", "max-util", "fcfs-multiple-queues", "random"]))
def test_other_policies_are_left_to_the_engine_for_everything(world: JobWorld, name: str) -> None:
    assert not can_backfill_fast(world, scheduler_of(name))


@pytest.mark.parametrize(
    "change",
    [
        {"reservations_for": 2},
        {"commitment": "place-holders", "reservations_for": "all"},
        {"overrun": "unaware", "reservations_for": "all"},
        {"mapping_interval_s": 60.0},
        {"dropping_threshold": 0.5},
        {"preempts": True},
    ],
)
def test_other_switches_are_left_to_the_engine_for_everything(change: dict[str, object]) -> None:
    scheduler = replace(scheduler_of("easy"), **change)  # type: ignore[arg-type]
    assert not can_backfill_fast(trace_world([(0, 1, 1)]), scheduler)


def test_backfilling_compiles_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(job_misfits, "compiled_order")
    assert simulate_jobs(trace_world([(0, 1, 5)]), scheduler_of("easy")).allocation.start_s.tolist() == [0.0]

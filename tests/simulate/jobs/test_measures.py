"""Every number that a run of parallel jobs reports, worked out by hand, and node by node where nodes sleep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.check.jobs.recompute import recompute_jobs
from joulewise.model import Supply, UtilityShapes, Workload, constant, linear
from joulewise.model.clusters import Clusters, JobTypes, NodeStandby
from joulewise.model.jobs import Fate, JobAllocation, Jobs, JobWorld, Label, NodeOutages, Pieces
from joulewise.simulate.jobs.measures import (
    by_label,
    earned_utility,
    fairness,
    job_measures,
    job_times,
    maximum_utility,
)
from joulewise.simulate.jobs.power import node_draws
from joulewise.simulate.meter import mean_cap_w
from joulewise.study.jobs import tables as job_tables
from joulewise.study.jobs.worlds import Scene
from joulewise.worlds.clock import NO_CLOCK
from tests.strategies.job_worlds import trace_worlds

Run = tuple[float, float, Fate]
NEVER: Run = (math.nan, math.nan, Fate.WAITING)
DROPPED: Run = (math.nan, math.nan, Fate.DROPPED)


def world_of(
    arrival_s: Sequence[float],
    nodes: Sequence[int],
    time_s: Sequence[float],
    *,
    n_nodes: int = 10,
    power_w: float = math.nan,
    standby: NodeStandby | None = None,
    outages: NodeOutages | None = None,
    supply: Supply | None = None,
    labels: dict[str, Label] | None = None,
    **window: Any,
) -> JobWorld:
    """Each job of a type of its own with one option: so many nodes of the one cluster for so long."""
    n = len(arrival_s)
    zeros, times = np.zeros(n, np.int32), np.array(time_s, float)
    types = JobTypes(
        (), np.arange(n + 1), zeros, zeros.astype(np.int8), np.array(nodes), times, times, np.full(n, power_w)
    )
    window.setdefault("shapes", UtilityShapes.of([constant()]))
    work = Workload(np.array(arrival_s, float), np.arange(n, dtype=np.int32), zeros, np.ones(n), np.zeros(n), **window)
    clusters = Clusters(("c",), np.array([n_nodes]), np.array([4]), np.array([1]), standby)
    others = {name: value for name, value in (("supply", supply), ("outages", outages)) if value is not None}
    return JobWorld(clusters, types, Jobs(work, labels=labels or {}), **others)  # type: ignore[arg-type]


def allocation_of(
    runs: Sequence[Run], ready_s: Sequence[float], pieces: Sequence[tuple[int, float, float, bool]] = ()
) -> JobAllocation:
    """Jobs by start, end and fate, each with its only option; pieces by job, start, end and whether they are lost."""
    start_s, end_s, fate = (np.array(column) for column in zip(*runs, strict=True))
    option = np.where(np.isin(fate, (Fate.RAN, Fate.KILLED, Fate.CANCELLED)), np.arange(len(runs)), -1)
    table = np.array(pieces, float).reshape(-1, 4)
    lost = Pieces(table[:, 0], table[:, 0], table[:, 1], table[:, 2], table[:, 3] > 0)
    return JobAllocation(option, start_s, end_s, np.array(ready_s, float), fate, lost)


def reported(world: JobWorld, allocation: JobAllocation) -> dict[str, Any]:
    """The measures of an allocation, which the validator must find as well."""
    found = job_measures(world, allocation)
    for name, value in recompute_jobs(world, allocation).items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True), name
    assert found["jobs_arrived"] == sum(int(found[f"jobs_{fate.name.lower()}"]) for fate in Fate)
    return dict(found)


def ran(start_s: float, end_s: float) -> Run:
    return start_s, end_s, Fate.RAN


def test_waits_turnarounds_and_slowdowns() -> None:
    """The third job is short, so that its slowdown is bounded; the fourth is dropped and the last waits for ever."""
    arrival_s = [0.0, 10.0, 20.0, 30.0, 40.0]
    world = world_of(arrival_s, [4, 4, 8, 1, 1], [100.0, 50.0, 2.0, 9.0, 9.0])
    allocation = allocation_of([ran(0, 100), ran(30, 80), ran(100, 102), DROPPED, NEVER], arrival_s)
    found = reported(world, allocation)
    assert [found[f"{kind}_wait_s"] for kind in ("mean", "median", "p95", "max")] == [100 / 3, 20.0, 80.0, 80.0]
    assert found["mean_turnaround_s"] == pytest.approx((100 + 70 + 82) / 3)
    assert found["mean_bounded_slowdown"] == pytest.approx((1 + 1.4 + 8.2) / 3)
    assert (found["max_bounded_slowdown"], found["makespan_s"]) == (8.2, 102.0)
    assert found["busy_percent"] == found["busy_percent:c"] == pytest.approx(100 * (400 + 200 + 16) / (10 * 102))
    assert (found["jobs_completed"], found["jobs_dropped"], found["jobs_waiting"], found["jobs_killed"]) == (3, 1, 1, 0)
    assert found["mean_queue_length"] == pytest.approx((20 + 80 + 62) / 102)
    assert found["max_queue_length"] == 2
    assert math.isnan(found["energy_j"])
    assert math.isnan(found["fairness"])


def test_a_killed_job_uses_energy_and_earns_nothing() -> None:
    world = world_of([0.0], [2], [100.0], power_w=50.0, supply=Supply(pue=2.0))
    found = reported(world, allocation_of([(5.0, 35.0, Fate.KILLED)], [0.0]))
    assert (found["utility"], found["energy_j"], found["jobs_killed"]) == (0.0, 3000.0, 1)
    assert found["mean_bounded_slowdown"] == pytest.approx(35 / 30)
    assert math.isnan(found["energy_per_job_j"])


def test_a_cancelled_job_is_in_no_mean_and_its_time_is_lost() -> None:
    """It had 4 nodes for 20 s, and another lost 5 nodes for 10 s before it ran."""
    arrival_s = [0.0, 10.0]
    world = world_of(arrival_s, [4, 5], [100.0, 50.0])
    allocation = allocation_of([(5.0, 25.0, Fate.CANCELLED), ran(50, 100)], arrival_s, [(1, 20, 30, True)])
    found = reported(world, allocation)
    assert (found["jobs_cancelled"], found["jobs_killed"], found["runs_lost"]) == (1, 0, 1)
    assert found["busy_percent"] == pytest.approx(100 * (80 + 50 + 250) / (10 * 100))
    assert found["lost_percent"] == pytest.approx(100 * (80 + 50) / (10 * 100))
    assert (found["mean_wait_s"], found["mean_turnaround_s"], found["mean_bounded_slowdown"]) == (30.0, 90.0, 1.8)
    times = job_times(world, allocation)
    assert np.isnan(times.turnaround_s).tolist() == np.isnan(times.bounded_slowdown).tolist() == [True, False]


def test_only_what_lies_in_the_window_counts() -> None:
    shapes = UtilityShapes.of([linear(100.0)])
    world = world_of([0.0, 60.0], [5, 5], [40.0, 40.0], power_w=10.0, start_s=20.0, end_s=80.0, shapes=shapes)
    allocation = allocation_of([ran(0, 40), ran(60, 100)], [0.0, 60.0])
    found = reported(world, allocation)
    assert found["utility"] == pytest.approx(0.6)
    assert (found["jobs_arrived"], found["jobs_completed"], found["energy_j"]) == (1, 1, 400.0)
    assert (found["jobs_ran"], found["jobs_running"]) == (1, 1)
    assert found["busy_percent"] == pytest.approx(100 * 5 * 40 / (10 * 60))
    assert maximum_utility(world) == pytest.approx(0.6)
    prorated = replace(world, jobs=Jobs(replace(world.jobs.work, is_prorated=True)))
    assert earned_utility(prorated, allocation) == pytest.approx([0.3, 0.3])
    assert maximum_utility(prorated) == pytest.approx(0.6)


def test_pieces_use_nodes_and_energy_and_a_lost_one_is_no_progress() -> None:
    """Ran 10 s, was suspended for 20 s, lost 10 s to a failure, ran 30 s to its end: half of 40 s lie in the window."""
    world = world_of([0.0], [5], [40.0], power_w=1.0, start_s=0.0, end_s=60.0, is_prorated=True)
    allocation = allocation_of([ran(50, 80)], [0.0], [(0, 0, 10, False), (0, 30, 40, True)])
    found = reported(world, allocation)
    assert found["utility"] == pytest.approx(0.5)
    assert (found["runs_preempted"], found["runs_lost"], found["energy_j"]) == (1, 1, 30.0)
    times = job_times(world, allocation)
    assert (times.wait_s[0], times.turnaround_s[0], times.bounded_slowdown[0]) == (30.0, 80.0, 2.0)
    assert found["mean_queue_length"] == pytest.approx(30 / 60)


def test_a_job_that_was_suspended_and_killed_needed_all_that_it_got() -> None:
    """It ran 90 s, stood still for 10 s, lost 5 s and ran another 10 s, to the limit of 100 s."""
    world = world_of([0.0], [4], [200.0])
    allocation = allocation_of([(105.0, 115.0, Fate.KILLED)], [0.0], [(0, 0, 90, False), (0, 100, 105, True)])
    assert reported(world, allocation)["max_bounded_slowdown"] == pytest.approx(115 / 100)


def test_a_job_waits_from_when_it_could_have_started() -> None:
    world = world_of([0.0, 0.0], [10, 10], [50.0, 50.0])
    found = reported(world, allocation_of([ran(0, 50), ran(70, 120)], [0.0, 60.0]))
    assert (found["max_wait_s"], found["max_queue_length"], found["mean_queue_length"]) == (10.0, 1, 10 / 120)


def test_job_types_that_share_a_name_are_told_by_it() -> None:
    """A table of jobs has a type for each number of nodes that is asked for, and all have the type's name."""
    bare = world_of([0.0] * 3, [1, 2, 4], [10.0] * 3)
    world = replace(bare, types=replace(bare.types, names=("A", "B", "A")))
    table = job_tables.jobs(Scene(world, None, None, NO_CLOCK), allocation_of([ran(0, 10)] * 3, [0.0] * 3))
    assert table["job_type"].to_list() == ["A", "B", "A"]


def test_users_queues_and_fairness() -> None:
    labels = {"user": Label(("ann", "bob"), np.array([0, 0, 1, -1])), "queue": Label(("q",), np.array([0, 0, 0, 0]))}
    world = world_of([0.0] * 4, [1, 1, 2, 1], [10.0] * 4, power_w=3.0, labels=labels)
    allocation = allocation_of([ran(0, 10), ran(0, 10), ran(20, 30), ran(0, 10)], [0.0] * 4)
    found = reported(world, allocation)
    assert found["users"] == 2
    assert found["fairness"] == pytest.approx((1 + 3) ** 2 / (2 * (1 + 9)))
    users = by_label(world, allocation, "user")
    assert users["user"] == [None, "ann", "bob"]
    assert users["jobs"].tolist() == [1, 2, 1]
    assert users["mean_wait_s"].tolist() == [0.0, 0.0, 20.0]
    assert users["node_s"].tolist() == [10.0, 20.0, 20.0]
    assert users["energy_j"].tolist() == [30.0, 60.0, 30.0]
    assert by_label(world, allocation, "queue")["jobs_ran"].tolist() == [4]


@pytest.mark.parametrize(("values", "index"), [([2.0, 2.0, 2.0], 1.0), ([1.0, 0.0, 0.0], 1 / 3), ([], math.nan)])
def test_fairness_is_jains_index(values: list[float], index: float) -> None:
    assert fairness(np.array(values)) == pytest.approx(index, nan_ok=True)


SLEEPERS = NodeStandby(*(np.array([value]) for value in (10.0, 1.0, 30.0, 20.0, 5.0)))


def test_nodes_idle_sleep_and_boot() -> None:
    """Two nodes: one runs 50-60 and boots at 45, as it slept from 20 on; the other sleeps from 20 on; all to 100."""
    world = world_of([0.0], [1], [10.0], n_nodes=2, power_w=100.0, standby=SLEEPERS, end_s=100.0)
    found = reported(world, allocation_of([ran(50, 60)], [0.0]))
    used_j = (20 * 10 + 25 * 1 + 5 * 30) + (20 * 10 + 20 * 1)
    other_j = 20 * 10 + 80 * 1
    assert found["standby_energy_j"] == used_j + other_j
    assert found["energy_j"] == used_j + other_j + 1000.0
    assert found["energy_peak_w"] == 101.0


def test_nodes_that_are_out_draw_nothing_and_do_not_boot() -> None:
    out = NodeOutages([0], [1], [30.0], [40.0], [True], [0.0])  # type: ignore[arg-type]
    world = world_of([0.0], [1], [10.0], n_nodes=1, power_w=1.0, standby=SLEEPERS, outages=out, end_s=50.0)
    found = reported(world, allocation_of([NEVER], [0.0]))
    assert found["standby_energy_j"] == 20 * 10 + 10 * 1 + 10 * 10


def standby_j_by_node(runs: Sequence[tuple[int, int, int]], n_nodes: int, end_s: int) -> float:
    """The same second by second with named nodes: those freed last are given first."""
    free, since, total = list(range(n_nodes)), [0] * n_nodes, 0.0
    held: dict[int, list[int]] = {}
    spans: list[tuple[int, int, int, bool]] = []
    for at in range(end_s + 1):
        wanted = [i for i, run in enumerate(runs) if run[0] == at]
        ended = [i for i, run in enumerate(runs) if run[1] == at and i in held]
        for i in ended:
            for node in held.pop(i):
                free.append(node)
                since[node] = at
        for i in wanted:
            held[i] = [free.pop() for _ in range(runs[i][2])]
            spans += [(node, since[node], at, True) for node in held[i]]
    spans += [(node, since[node], end_s, False) for node in free]
    for _, start, stop, starts_job in spans:
        boot = stop - 5 if starts_job else stop
        for second in range(start, stop):
            if start + 20 < boot and second >= start + 20:
                total += 30.0 if second >= boot else 1.0
            else:
                total += 10.0
    return total


@given(st.lists(st.tuples(st.integers(0, 120), st.integers(1, 60), st.integers(1, 3)), max_size=6))
def test_standby_is_that_of_named_nodes_given_back_to_front(asked: list[tuple[int, int, int]]) -> None:
    n_nodes, kept = 4, list[tuple[int, int, int]]()
    for start, length, nodes in sorted(asked):
        run = (start, start + length, nodes)
        busy = [sum(n for s, e, n in [*kept, run] if s <= at < e) for at in range(start, start + length)]
        if max(busy) <= n_nodes:
            kept.append(run)
    shown = kept or [(0, 0, 0)]
    world = world_of([0.0] * len(shown), [max(n, 1) for *_, n in shown], [1.0] * len(shown), n_nodes=n_nodes,
                     standby=SLEEPERS, end_s=200.0)  # fmt: skip
    runs = [ran(start, end) for start, end, _ in kept] or [NEVER]
    draws = node_draws(world, allocation_of(runs, [0.0] * len(shown))).within(0.0, 200.0)
    assert float(draws.energy_j.sum()) == pytest.approx(standby_j_by_node(kept, n_nodes, 200))


@given(trace_worlds(overruns=True), st.data())
def test_measures_are_those_that_come_out_job_by_job(world: JobWorld, data: st.DataObject) -> None:
    """Whatever became of the jobs, also if nodes do not suffice for it; some were cut short before they ran."""
    n = world.n_jobs
    fates = data.draw(st.lists(st.sampled_from(list(Fate)), min_size=n, max_size=n))
    waits_s = np.array(data.draw(st.lists(st.integers(0, 30), min_size=n, max_size=n)), float)
    ready_s = world.jobs.work.arrival_s
    runs = [
        (at_s, at_s + length_s, fate) if fate in (Fate.RAN, Fate.KILLED, Fate.CANCELLED) else (math.nan, math.nan, fate)
        for at_s, length_s, fate in zip(ready_s + waits_s, world.types.time_s, fates, strict=True)
    ]
    cut = [
        (job, float(ready_s[job]), float(ready_s[job] + waits_s[job] / 2), lost)
        for job, lost in data.draw(st.dictionaries(st.integers(0, n - 1), st.booleans())).items()
        if waits_s[job] > 1
    ]
    labels = {"user": Label(("a", "b"), np.arange(n, dtype=np.int32) % 3 - 1)}
    work = replace(world.jobs.work, start_s=2.0, end_s=data.draw(st.sampled_from((25.0, math.inf))),
                   is_prorated=data.draw(st.booleans()))  # fmt: skip
    reported(replace(world, jobs=Jobs(work, labels=labels)), allocation_of(runs, ready_s.tolist(), cut))


def test_a_cap_by_the_hour_starts_again_and_is_a_mean_over_steps() -> None:
    edge_s = np.array([0.0, 1800.0, 5400.0, 7200.0, 12_600.0])
    assert mean_cap_w(np.array([100.0, 300.0]), edge_s) == pytest.approx([100.0, 200.0, 300.0, 500 / 3])
    assert mean_cap_w(np.array([100.0]), edge_s) == pytest.approx([100.0] * 4)

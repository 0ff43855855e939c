"""The published clusters and the published day of parallel jobs, and those of any other size."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model.arrays import Floats
from joulewise.model.clusters import ClusterSystem
from joulewise.model.jobs import JobWorld
from joulewise.worlds.jobs.clusters import ClusterParameters, generate_clusters
from joulewise.worlds.jobs.parallel_day import ParallelDayParameters, generate_parallel_day

PUBLISHED = ClusterParameters()
IN_CORES = ClusterParameters(speedup_over="cores", parallelism=32.0, cores_per_node=(24, 96))
DAY = ParallelDayParameters()
HOUR_S = 3600.0


@pytest.fixture(scope="module")
def system() -> ClusterSystem:
    return generate_clusters(PUBLISHED, 0, 0)


@pytest.fixture(scope="module")
def systems() -> list[ClusterSystem]:
    return [generate_clusters(PUBLISHED, 1, trial) for trial in range(40)]


def job_type_of(system: ClusterSystem) -> Any:
    return np.repeat(np.arange(system.types.n_types), np.diff(system.types.first))


def test_published_sizes(system: ClusterSystem) -> None:
    clusters, types = system.clusters, system.types
    assert clusters.names == ("general-1", "general-2", "general-3", "general-4", "special-1", "special-2")
    assert clusters.n_cores == pytest.approx(100_000, rel=0.002)
    cores = clusters.n_nodes * clusters.cores_per_node
    assert cores[4:].mean() > cores[:4].mean()
    assert (types.n_types, types.n_pstates, types.n_options) == (100, 3, 60 * 4 * 3 + 40 * 3)
    assert np.diff(types.first).tolist() == [12] * 60 + [3] * 40
    special = [set(types.cluster[types.first[t] : types.first[t + 1]].tolist()) for t in range(60, 100)]
    assert special == [{4}] * 20 + [{5}] * 20


def test_a_job_takes_whole_nodes_for_its_cores_wherever_it_may_run(system: ClusterSystem) -> None:
    types, clusters = system.types, system.clusters
    assert system.traits is not None
    asked = system.traits.cores[job_type_of(system)]
    given = types.nodes * clusters.cores_per_node[types.cluster]
    assert ((given >= asked) & (given - asked < clusters.cores_per_node[types.cluster])).all()
    assert (types.nodes <= clusters.n_nodes[types.cluster]).all()


def test_sizes_follow_table_2(systems: list[ClusterSystem]) -> None:
    cores = np.concatenate([system.traits.cores for system in systems if system.traits is not None])
    shares = np.histogram(cores, [2, 5, 257, 4097, 10**9])[0] / cores.size
    assert shares == pytest.approx([0.2, 0.2, 0.4, 0.2], abs=0.025)
    assert cores.min() == 2


def test_longer_job_types_are_worth_more(systems: list[ClusterSystem]) -> None:
    traits = [system.traits for system in systems if system.traits is not None]
    utility, hours = (np.concatenate([getattr(t, name) for t in traits]) for name in ("utility", "single_s"))
    hours = hours / HOUR_S
    mean = 1 + 17 * (utility - 1) / 7
    assert (hours / mean).mean() == pytest.approx(1, abs=0.01)
    assert (hours / mean).std() == pytest.approx(0.15, abs=0.01)
    assert (utility.min() >= 1, utility.max() <= 8) == (True, True)
    assert np.corrcoef(utility, hours)[0, 1] > 0.9


def test_levels_follow_table_1(systems: list[ClusterSystem]) -> None:
    traits = [system.traits for system in systems if system.traits is not None]
    priority, urgency, utility = (
        np.concatenate([getattr(t, n) for t in traits]) for n in ("priority", "urgency", "utility")
    )
    found = np.zeros((4, 4))
    np.add.at(found, (priority, urgency), 100 / priority.size)
    assert found == pytest.approx(np.array(PUBLISHED.priority_urgency_percent), abs=2.5)
    for level, (low, high) in enumerate(PUBLISHED.utility_ranges):
        assert ((utility[priority == level] > low) & (utility[priority == level] <= high)).all() or low == 1


def test_slower_pstates_draw_less_and_take_longer(systems: list[ClusterSystem]) -> None:
    by_pstate = [system.types for system in systems]
    time_s = np.concatenate([types.time_s.reshape(-1, 3) for types in by_pstate])
    power_w = np.concatenate([(types.power_w / types.nodes).reshape(-1, 3) for types in by_pstate])
    assert (power_w / power_w[:, :1]).mean(axis=0) == pytest.approx([1, 0.75, 0.5], rel=0.01)
    assert (time_s / time_s[:, :1]).mean(axis=0) == pytest.approx([1, 0.75**-0.5, 0.5**-0.5], rel=0.01)
    assert power_w[:, 0].mean() == pytest.approx(133, rel=0.02)


def energies(system: ClusterSystem) -> Floats:
    return system.types.energy_j / system.types.nodes


def test_one_shared_factor_leaves_energy_alone() -> None:
    still = replace(PUBLISHED, randomness="shared", general_pstate_cov=0.0, special_pstate_cov=0.0)
    without = replace(still, general_factor_cov=0.0, special_factor_cov=0.0)
    assert energies(generate_clusters(still, 0, 0)) == pytest.approx(energies(generate_clusters(without, 0, 0)))
    apart = replace(still, randomness="independent")
    assert not np.allclose(energies(generate_clusters(apart, 0, 0)), energies(generate_clusters(without, 0, 0)))


def test_further_pstates_change_nothing_but_the_pstates(system: ClusterSystem) -> None:
    many = generate_clusters(replace(PUBLISHED, pstates=15), 0, 0)
    assert (many.types.n_pstates, many.types.n_options) == (15, 5 * system.types.n_options)
    assert np.array_equal(many.types.nodes[many.types.pstate == 0], system.types.nodes[system.types.pstate == 0])
    for name in ("time_s", "power_w"):
        few, more = (getattr(found.types, name).reshape(-1, found.types.n_pstates) for found in (system, many))
        assert np.array_equal(more[:, [0, 7, 14]], few)
    assert replace(PUBLISHED, pstates=15).power_fractions[[0, 7, 14]] == pytest.approx([1, 0.75, 0.5])


def test_constant_parallelism_in_cores_is_the_other_reading() -> None:
    system = generate_clusters(IN_CORES, 0, 0)
    assert system.traits is not None
    wide = system.traits.cores > 32 + 32 * 10
    fastest_s = np.array(
        [system.types.time_s[a:b].min() for a, b in zip(system.types.first[:-1], system.types.first[1:])]
    )
    ratio = system.traits.single_s[wide] / fastest_s[wide]
    assert np.median(ratio) > 32  # the fastest of several clusters, of which the mean is 32 times one core
    assert system.clusters.cores_per_node.min() < 48 < system.clusters.cores_per_node.max()


def test_same_seed_same_world_and_trials_differ(system: ClusterSystem) -> None:
    again, other = (generate_clusters(PUBLISHED, 0, trial) for trial in (0, 1))
    for name in ("nodes", "time_s", "power_w"):
        assert np.array_equal(getattr(again.types, name), getattr(system.types, name))
    assert not np.array_equal(other.types.time_s, system.types.time_s)
    jobs, same = (generate_parallel_day(DAY, system, 0, 0).work for _ in range(2))
    assert np.array_equal(jobs.arrival_s, same.arrival_s)
    assert np.array_equal(jobs.shape, same.shape)


def test_a_day_has_as_many_jobs_as_asked_for_and_large_ones_in_work_hours(systems: list[ClusterSystem]) -> None:
    n_counted, large_h = [], []
    for trial, system in enumerate(systems):
        work = generate_parallel_day(DAY, system, 1, trial).work
        assert system.traits is not None
        counted = work.in_window(work.arrival_s)
        n_counted.append(counted.sum())
        large = system.traits.cores[work.task_type] > 4096
        large_h.append((work.arrival_s[large & counted] - work.start_s) / HOUR_S)
    assert np.mean(n_counted) == pytest.approx(5000, rel=0.01)
    hours = np.concatenate(large_h)
    at_work = ((hours >= 9) & (hours < 18)).mean()
    assert at_work == pytest.approx(2 * 9 / 24, abs=0.01)


def test_utility_functions_start_at_the_worth_of_the_type_and_are_prorated(system: ClusterSystem) -> None:
    jobs = generate_parallel_day(DAY, system, 0, 0)
    work, traits = jobs.work, system.traits
    assert traits is not None
    assert work.is_prorated
    assert (work.start_s, work.end_s) == (4 * HOUR_S, 28 * HOUR_S)
    everyone = np.arange(work.n_tasks)
    assert work.utility(everyone, work.arrival_s) == pytest.approx(traits.utility[work.task_type])
    assert len(work.tags["utility_class"].names) == 20
    JobWorld(system.clusters, system.types, jobs)


def test_further_days_change_nothing_before_them(system: ClusterSystem) -> None:
    one, three = (generate_parallel_day(replace(DAY, days=days), system, 0, 0).work for days in (1, 3))
    assert np.array_equal(three.arrival_s[: one.n_tasks], one.arrival_s)
    assert three.end_s == 76 * HOUR_S


def test_a_small_system_of_special_clusters_alone() -> None:
    small = ClusterParameters(
        cores=64, general_clusters=0, special_clusters=1, job_types=3, special_job_types=3, cores_per_node=(8, 8)
    )
    system = generate_clusters(small, 0, 0)
    assert system.clusters.n_nodes.tolist() == [8]
    assert (system.types.nodes <= 8).all()


@given(
    cores=st.integers(1, 3000),
    counts=st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any),
    job_types=st.integers(1, 12),
    special=st.integers(0, 12),
    pstates=st.integers(1, 4),
    over=st.sampled_from(["nodes", "cores"]),
)
def test_systems_of_any_size_are_worlds(
    cores: int, counts: tuple[int, int], job_types: int, special: int, pstates: int, over: Any
) -> None:
    general, special_clusters = counts
    special = 0 if special_clusters == 0 else job_types if general == 0 else min(special, job_types)
    parameters = ClusterParameters(
        cores=cores, general_clusters=general, special_clusters=special_clusters, job_types=job_types,
        special_job_types=special, pstates=pstates, speedup_over=over, cores_per_node=(1, 64),
    )  # fmt: skip
    system = generate_clusters(parameters, 1, 0)
    jobs = generate_parallel_day(ParallelDayParameters(jobs_per_day=400), system, 1, 0)
    world = JobWorld(system.clusters, system.types, jobs)
    assert (np.diff(world.types.first) > 0).all()
    assert world.types.n_options == pstates * (general * (job_types - special) + special)


def test_idle_power_makes_a_standby() -> None:
    standby = generate_clusters(replace(PUBLISHED, idle_power_w=50.0), 0, 0).clusters.standby
    assert standby is not None
    assert standby.idle_w.tolist() == [50.0] * 6


WRONG: dict[str, Any] = {
    "cores": 0,
    "general_clusters": -1,
    "general_share": (0.3, 0.1),
    "cores_per_node": (0, 3),
    "job_types": 0,
    "special_job_types": 101,
    "utility_ranges": ((1.0, 2.0),),
    "priority_urgency_percent": ((100.0,),),
    "shortest_s": 0.0,
    "longest_s": 60.0,
    "single_cov": -0.1,
    "size_limits": (4, 2),
    "size_percent": (50.0, 50.0),
    "sigma": (-1.0, 1.0),
    "speedup_over": "sockets",
    "parallelism_share": 0.0,
    "parallelism": 0.5,
    "power_w": 0.0,
    "pstates": 0,
    "least_power_fraction": 0.0,
    "randomness": "none",
}


@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_value_is_named(name: str) -> None:
    with pytest.raises(InputError) as caught:
        ClusterParameters(**{name: WRONG[name]})
    assert f"system.{name}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("jobs_per_day", 0.0),
        ("jobs_per_day", 1e9),
        ("warm_up_s", -1.0),
        ("days", 0),
        ("work_hours", (18.0, 9.0)),
        ("work_rate", 3.0),
        ("decay_per_min", (1.0,)),
        ("utility_classes", ("Z",)),
    ],
)
def test_every_wrong_value_of_a_day_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        ParallelDayParameters(**{name: value})
    assert f"workload.{name}" in str(caught.value)


def test_a_day_needs_to_know_what_jobs_are_worth(system: ClusterSystem) -> None:
    with pytest.raises(InputError, match="parallel-day"):
        generate_parallel_day(DAY, ClusterSystem(system.clusters, system.types), 0, 0)


@pytest.mark.parametrize("parameters", [ClusterParameters, ParallelDayParameters])
def test_every_parameter_is_explained(parameters: Any) -> None:
    assert all(field.metadata["help"] for field in fields(parameters))

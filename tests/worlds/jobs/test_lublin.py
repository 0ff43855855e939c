"""Lublin and Feitelson's model: sizes, run times and rush hours, and the jobs as a world."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import Jobs, JobWorld
from joulewise.worlds.jobs.lublin import KINDS, LublinParameters, generate_lublin

MACHINE = ClusterSystem(Clusters(("machine",), np.array([128]), np.array([1]), np.array([1])))
MANY = LublinParameters(n_jobs=40_000)


@pytest.fixture(scope="module")
def undivided() -> tuple[ClusterSystem, Jobs]:
    return generate_lublin(MANY, MACHINE, 0, 0)


def test_sizes_of_the_table(undivided: tuple[ClusterSystem, Jobs]) -> None:
    nodes = undivided[0].types.nodes
    assert (nodes == 1).mean() == pytest.approx(KINDS["undivided"].serial, abs=0.01)
    assert np.isin(nodes, 2 ** np.arange(8)).mean() > 0.244 + 0.576
    assert nodes.max() == 128
    lower = 1 + np.log2(nodes[nodes > 1]) < 1 + 4.5
    assert lower.mean() == pytest.approx(0.86, abs=0.05)


def test_larger_jobs_run_longer(undivided: tuple[ClusterSystem, Jobs]) -> None:
    types = undivided[0].types
    log_run = np.log(types.time_s)
    assert log_run[types.nodes >= 64].mean() > log_run[types.nodes == 1].mean()
    assert types.time_s.max() <= np.exp(12)
    assert types.time_s.min() == 1
    p = 0.78 - 0.0054
    serial = log_run[(types.nodes == 1) & (types.time_s > 20)]  # where whole seconds do no harm
    short = np.random.default_rng(0).gamma(4.2, 0.94, 400_000)
    long = np.random.default_rng(1).gamma(312.0, 0.03, 400_000)
    mixed = np.concatenate((short[: int(p * short.size)], long[: int((1 - p) * long.size)]))
    assert serial.mean() == pytest.approx(mixed[(mixed > np.log(21)) & (mixed <= 12)].mean(), rel=0.02)


def test_arrivals_have_rush_hours_and_the_published_rate(undivided: tuple[ClusterSystem, Jobs]) -> None:
    arrival_s = undivided[1].work.arrival_s
    assert arrival_s[0] == 0
    by_hour = np.histogram((arrival_s / 3600) % 24, 24, (0, 24))[0]
    assert by_hour[9:17].mean() > 3 * by_hour[0:4].mean()
    log_gap = np.random.default_rng(0).gamma(10.2303 * 1.0225, 0.4871, 1_000_000)
    gap_s = np.exp(log_gap[log_gap <= 13]).mean()
    assert np.diff(arrival_s).mean() == pytest.approx(gap_s, rel=0.1)


def test_everything_is_whole_seconds(undivided: tuple[ClusterSystem, Jobs]) -> None:
    system, jobs = undivided
    for values in (system.types.time_s, jobs.work.arrival_s):
        assert np.array_equal(values, np.floor(values))


def test_each_job_has_an_option_on_every_cluster_that_is_large_enough() -> None:
    clusters = Clusters(("small", "large"), np.array([4, 64]), np.array([8, 16]), np.array([1, 2]))
    system, jobs = generate_lublin(replace(MANY, n_jobs=500), ClusterSystem(clusters), 3, 1)
    world = JobWorld(system.clusters, system.types, jobs)
    n_options = np.diff(world.types.first)
    nodes = world.types.nodes[world.types.first[:-1]]
    assert np.array_equal(n_options, np.where(nodes <= 4, 2, 1))
    assert world.types.power_w == pytest.approx(133.0 * world.types.nodes)


def test_both_kinds_have_arrivals_of_their_own() -> None:
    parameters = replace(MANY, n_jobs=2000, kinds="both")
    _, jobs = generate_lublin(parameters, MACHINE, 0, 0)
    queue = jobs.labels["queue"]
    assert queue.names == ("batch", "interactive")
    assert (queue.codes == 1).sum() > (queue.codes == 0).sum() > 0
    assert jobs.n_jobs == 2000
    _, batch = generate_lublin(replace(parameters, kinds="batch"), MACHINE, 0, 0)
    gaps = [np.diff(work.arrival_s).mean() for work in (batch.work, jobs.work)]
    assert gaps[0] > 3 * gaps[1]


def test_same_seed_same_jobs_and_load_changes_arrivals_only() -> None:
    some = replace(MANY, n_jobs=300)
    one, again, denser = (generate_lublin(p, MACHINE, 5, 2) for p in (some, some, replace(some, gap_factor=0.5)))
    assert np.array_equal(one[1].work.arrival_s, again[1].work.arrival_s)
    assert np.array_equal(one[0].types.time_s, denser[0].types.time_s)
    assert denser[1].work.arrival_s[-1] < one[1].work.arrival_s[-1]


def test_a_single_node_takes_serial_jobs_only() -> None:
    one = ClusterSystem(Clusters(("one",), np.array([1]), np.array([4]), np.array([1])))
    system, _ = generate_lublin(replace(MANY, n_jobs=100), one, 0, 0)
    assert (system.types.nodes == 1).all()


@pytest.mark.parametrize(
    ("name", "value"), [("n_jobs", 0), ("kinds", "none"), ("start_hour", 24), ("gap_factor", 0.0), ("power_w", -1.0)]
)
def test_every_wrong_value_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        LublinParameters(**{name: value})
    assert f"workload.{name}" in str(caught.value)


def test_every_parameter_is_explained() -> None:
    assert all(field.metadata["help"] for field in fields(LublinParameters))

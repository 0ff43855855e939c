"""Priorities of the jobs of a log by hand: factors, weights, bills, and the tree of accounts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.shares import NOBODY, Priorities
from joulewise.worlds.jobs.logs import frame_of
from joulewise.worlds.jobs.sites.demands import demands_on
from joulewise.worlds.jobs.sites.ground import site_of
from joulewise.worlds.jobs.sites.site import Account, Licence, NodeGroup, Partition, Qos, SiteTables
from joulewise.worlds.jobs.sites.site_file import parse_site
from joulewise.worlds.jobs.sites.slurm_values import slurm_billing
from joulewise.worlds.jobs.sites.written import RefusedError
from joulewise.worlds.jobs.trace_jobs import TraceFinding, TraceJobs

GIB_KB = 2.0**20
CPU = NodeGroup(name="cpu", count=6, cores=10, memory_mib=100 * 1024)
GPU = NodeGroup(name="gpu", count=2, cores=20, memory_mib=200 * 1024, gpus={"A100": 4})
PARTITIONS = (
    Partition(name="batch", nodes=("cpu",), default=True, priority=5),
    Partition(
        name="gpu", nodes=("gpu",), priority=20, billing={"cores": 1.0, "memory_mib": 0.25, "gpus": 4.0, "m": 7.0}
    ),
)
QOS = (Qos(name="normal", priority=10), Qos(name="high", priority=40))
ACCOUNTS = (
    Account(name="optics", parent="physics", users={"ann": 2}),
    Account(name="physics", shares=3, users={"bob": 0}),
    Account(name="root", users={"root": 1}),
)


def made(
    *jobs: dict[str, Any], accounts: tuple[Account, ...] = (), slurm: dict[str, Any] | None = None
) -> tuple[Priorities, dict[str, int]]:
    """The priorities of jobs with these columns of a log, and what was odd about them."""
    tables = SiteTables(
        name="s", nodes=(CPU, GPU), partitions=PARTITIONS, licences=(Licence(name="m", count=4),), qos=QOS,
        accounts=accounts, slurm=slurm or {},
    )  # fmt: skip
    rows = [{"cores": 1, "partition": "batch", **job} for job in jobs]
    columns = {name: [row.get(name) for row in rows] for name in {name for row in rows for name in row}}
    log, times = frame_of(columns, len(rows)), np.full(len(rows), 600.0)
    cores = np.array([row["cores"] for row in rows])
    findings: list[TraceFinding] = []
    jobs_of_log = TraceJobs(np.zeros(len(rows)), times, times, times, cores, log, 0.0)
    found = demands_on(tables, site_of(tables), jobs_of_log, "allocated", findings).priorities
    assert found is not None
    return found, {finding.key.partition(": ")[2]: finding.n for finding in findings}


def factor(name: str, *jobs: dict[str, Any], **slurm: Any) -> list[float]:
    return [round(value, 12) for value in made(*jobs, slurm=slurm)[0].factors[name].tolist()]


def test_size_is_the_mean_share_of_nodes_and_processors() -> None:
    jobs = ({"cores": 50, "nodes": 4}, {"cores": 10})
    assert factor("size", *jobs) == [(4 / 8 + 50 / 100) / 2, round((1 / 8 + 10 / 100) / 2, 12)]
    assert factor("size", *jobs, priorityfavorsmall=True) == [0.5, round(1 - (1 / 8 + 10 / 100) / 2, 12)]
    relative = factor("size", *jobs, priorityflags=("small_relative_to_time",))
    assert relative == [0.05, 0.0125]


def test_partitions_and_qualities_of_service_are_parts_of_the_highest() -> None:
    jobs: tuple[dict[str, Any], ...] = (
        {"queue": "normal"},
        {"queue": "high", "partition": "gpu"},
        {"queue": "other"},
        {},
    )
    assert factor("partition", *jobs) == [0.25, 1.0, 0.25, 0.25]
    assert factor("qos", *jobs) == [0.25, 1.0, 0.0, 0.0]
    assert factor("partition", *jobs, priorityflags=("no_normal_all",)) == [5.0, 20.0, 5.0, 5.0]
    assert factor("qos", *jobs, priorityflags=("no_normal_qos",)) == [10.0, 40.0, 0.0, 0.0]


def test_what_is_asked_for_counts_as_a_part_of_what_the_partition_has() -> None:
    job = {"cores": 10, "partition": "gpu", "requested_gpus": 2.0, "requested_memory_kb": 4 * GIB_KB, "licences": "m=1"}
    weights = {"cpu": 100, "gres/gpu": 1000, "mem": 10, "license/m": 8, "gres/gpu:a100": 16, "energy": 5}
    parts = 100 * 10 / 40 + 1000 * 2 / 8 + 10 * 40 / 400 + 8 / 4
    assert factor("tres", job, priorityweighttres=weights) == [parts]
    _, odd = made(job, slurm={"priorityweighttres": weights})
    assert odd["unknown things"] == 1
    raw = factor("tres", job, priorityweighttres={"gres/gpu": 3, "cpu": 2}, priorityflags=("no_normal_tres",))
    assert raw == [2 * 10 + 3 * 2]


def test_what_is_used_is_what_a_partition_bills() -> None:
    job = {"cores": 10, "partition": "gpu", "requested_gpus": 2.0, "requested_memory_kb": 4 * GIB_KB, "licences": "m=1"}
    used = made({"cores": 3}, job)[0].used_per_s
    assert used.tolist() == [3.0, 10 + 0.25 * 40 + 4 * 2 + 7]
    assert made(job, slurm={"priorityflags": ("max_tres",)})[0].used_per_s.tolist() == [10.0 + 7]


def test_what_is_used_are_whole_nodes_where_a_partition_gives_them() -> None:
    whole = (Partition(name="batch", nodes=("cpu",), sharing="exclusive", billing={"cores": 1, "memory_mib": 1.0}),)
    tables = SiteTables(name="s", nodes=(CPU,), partitions=whole)
    log = frame_of({"cores": [1, CPU.cores + 1], "requested_cores": [1, CPU.cores + 1], "partition": ["batch"] * 2}, 2)
    times = np.full(2, 600.0)
    jobs = TraceJobs(np.zeros(2), times, times, times, np.array([1, CPU.cores + 1]), log, 0.0)
    found = demands_on(tables, site_of(tables), jobs, "requested", []).priorities
    assert found is not None
    of_a_node = CPU.cores + (CPU.memory_mib or 0) / 1024
    assert found.used_per_s.tolist() == [of_a_node, 2 * of_a_node]
    cores, nodes = CPU.count * CPU.cores, CPU.count
    assert found.factors["size"][0] == pytest.approx((1 / cores + 1 / nodes) / 2), "size is what they ask for"


def test_settings_are_those_of_slurm_where_the_site_has_none() -> None:
    plain, _ = made({})
    assert (plain.weights, plain.is_fair_tree) == ({}, True)
    assert (plain.half_life_s, plain.oldest_s, plain.period_s, plain.dampening) == (604_800.0, 604_800.0, 300.0, 1.0)
    said = {
        "priorityweightage": 1000, "priorityweighttres": {"cpu": 3}, "prioritydecayhalflife": 0.0,
        "prioritymaxage": 60.0, "prioritycalcperiod": 30.0, "priorityflags": ("no_fair_tree",),
        "fairsharedampeningfactor": 5,
    }  # fmt: skip
    own, _ = made({}, slurm=said)
    assert own.weights == {"age": 1000, "fair_share": 0, "size": 0, "partition": 0, "qos": 0, "tres": 1.0}
    assert (own.half_life_s, own.oldest_s, own.period_s) == (math.inf, 60.0, 30.0)
    assert (own.dampening, own.is_fair_tree) == (5.0, False)


def test_the_tree_has_accounts_and_users_as_they_are_written() -> None:
    found, odd = made({"group": "optics", "user": "ann"}, {"group": "physics", "user": "bob"}, accounts=ACCOUNTS)
    tree = found.tree
    assert tree.names == ("root", "physics", "optics", "optics/ann", "physics/bob", "root/root")
    assert tree.parent.tolist() == [NOBODY, 0, 1, 2, 1, 0]
    assert tree.shares.tolist() == [1, 3, 1, 2, 0, 1]
    assert found.of_job.tolist() == [3, 4]
    assert odd == {}


def test_users_have_equal_shares_where_there_are_no_accounts() -> None:
    found, odd = made({"user": "ann"}, {"user": "bob", "group": "x"}, {"user": "ann", "group": "x"}, {})
    assert found.tree.names == ("root", "root/ann", "root/bob", "root/")
    assert (found.of_job.tolist(), odd) == ([1, 2, 1, 3], {})


def test_what_is_odd_about_accounts_is_told() -> None:
    jobs = (
        {"group": "biology", "user": "ann"},
        {"user": "ann"},
        {"user": "zoe"},
        {"group": "optics", "user": "zoe"},
        {"group": "optics", "user": "zoe"},
    )
    found, odd = made(*jobs, accounts=ACCOUNTS)
    assert found.of_job.tolist() == [NOBODY, 3, NOBODY, 6, 6]
    assert (found.tree.names[6], int(found.tree.shares[6])) == ("optics/zoe", 1)
    assert odd == {
        "jobs of accounts that the site does not have": 1, "jobs without an account whose user has one alone": 1,
        "jobs without an account": 1, "jobs of users that their account does not have": 2,
    }  # fmt: skip


def test_all_that_is_wrong_with_accounts_is_told_at_once() -> None:
    text = """
    name = "s"
    [[nodes]]
    name = "cpu"
    count = 1
    [[account]]
    name = "a"
    parent = "nowhere"
    [[account]]
    name = "b"
    parent = "c"
    [[account]]
    name = "c"
    parent = "b"
    [[account]]
    name = "d"
    shares = -1
    [[account]]
    name = "e"
    parent = "f"
    [[account]]
    name = "f"
    parent = "e"
    [[account]]
    name = "g"
    parent = "lost"
    [[partition]]
    name = "p"
    nodes = ["cpu"]
    billing = {gpux = 3}
    [slurm]
    priorityweighttres = {cpu = "many"}
    """
    with pytest.raises(InputError) as caught:
        parse_site(text, "site.toml")
    told = str(caught.value)
    for said in (
        "'nowhere', which is no account",
        "'lost', which is no account",
        "b in c",
        "e in f",
        "accounts must be a tree",
        "shares",
        "'gpux'",
        "priorityweighttres",
    ):
        assert said in told


def test_bills_are_read_as_slurm_writes_them() -> None:
    read = slurm_billing("CPU=1.0,Mem=0.25G,GRES/gpu=2,GRES/gpu:a100=.5,license/m=-1")
    assert read == {"cores": 1.0, "memory_mib": 0.25, "gpus": 2.0, "a100": 0.5, "m": -1.0}
    assert slurm_billing("mem=.25") == {"memory_mib": 256.0}
    with pytest.raises(RefusedError):
        slurm_billing("cpu=1G")

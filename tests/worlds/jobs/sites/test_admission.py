"""Jobs that a site would refuse for whose they are, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from joulewise.worlds.jobs.logs import frame_of
from joulewise.worlds.jobs.sites.demands import demands_on
from joulewise.worlds.jobs.sites.ground import site_of
from joulewise.worlds.jobs.sites.site import Account, NodeGroup, Partition, Qos, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding, TraceJobs

CPU = NodeGroup(name="cpu", count=4, cores=8)
TREE = (Account(name="physics"), Account(name="optics", parent="physics", users={"ann": 1}), Account(name="geo"))
QOS = (Qos(name="normal", max_time_s=600.0), Qos(name="long"), Qos(name="wide", max={"cores": 3, "nodes": 1}))


def told(jobs: list[dict[str, Any]], requested_s: float = 60.0, **partition: Any) -> tuple[list[bool], dict[str, int]]:
    """Which jobs may start in a partition, and what is told of them."""
    tables = SiteTables(
        name="s", nodes=(CPU,), partitions=(Partition(name="p", nodes=("cpu",), **partition),), accounts=TREE, qos=QOS
    )
    rows = [{"cores": 1, **job} for job in jobs]
    log = frame_of({name: [row.get(name) for row in rows] for name in {key for row in rows for key in row}}, len(rows))
    times = np.full(len(rows), requested_s)
    cores = np.array([row["cores"] for row in rows])
    made, findings = TraceJobs(np.zeros(len(rows)), times, times, times, cores, log, 0.0), list[TraceFinding]()
    site = site_of(tables)
    demands = demands_on(tables, site, made, "allocated", findings)
    found = {finding.key: finding.n for finding in findings if not finding.key.startswith("fair shares")}
    return demands.can_start(site).tolist(), found


OF_ACCOUNTS = [{"group": "physics"}, {"group": "optics"}, {"group": "geo"}, {"user": "ann"}, {}]


@pytest.mark.parametrize(
    ("partition", "may"),
    [
        ({"accounts": ("physics",)}, [True, True, False, True, True]),
        ({"accounts": ("optics",)}, [False, True, False, True, True]),
        ({"denied_accounts": ("physics",)}, [False, False, True, False, True]),
        ({"accounts": ("root",)}, [True] * 5),
    ],
)
def test_a_partition_is_for_accounts_and_their_parts(partition: dict[str, Any], may: list[bool]) -> None:
    assert told(OF_ACCOUNTS, **partition) == (
        may,
        {"partition p is not for their accounts": may.count(False)} if False in may else {},
    )


@pytest.mark.parametrize(
    ("partition", "may"),
    [({"qos_of_jobs": ("long",)}, [False, True, True]), ({"denied_qos": ("long",)}, [True, False, True])],
)
def test_a_partition_is_for_qualities_of_service(partition: dict[str, Any], may: list[bool]) -> None:
    found = told([{"queue": "normal"}, {"queue": "long"}, {}], **partition)
    assert found == (may, {"partition p is not for their qualities of service": 1})


def test_qualities_of_service_that_the_site_does_not_have_are_told() -> None:
    assert told([{"queue": "normal"}, {"queue": "vip"}, {"queue": "vip"}, {}]) == (
        [True] * 4,
        {"unknown quality of service": 2},
    )


def test_limits_that_keep_every_job_of_a_holder_from_starting_are_told() -> None:
    jobs = [{"queue": "wide", "cores": 4}, {"queue": "wide", "cores": 3, "nodes": 2}, {"queue": "wide", "cores": 2}]
    assert told(jobs) == (
        [False, False, True],
        {"wide may have 3 processors in all": 1, "wide may have 1 node in all": 1},
    )


def test_the_longest_time_is_that_of_the_partition_s_quality_of_service_first() -> None:
    said = "they may ask for 10 min at most by their limits"
    assert told([{"queue": "normal"}, {"queue": "long"}], 1200.0) == ([False, True], {said: 1})
    assert told([{"queue": "normal"}, {"queue": "long"}], 1200.0, qos="normal") == ([False, False], {said: 2})

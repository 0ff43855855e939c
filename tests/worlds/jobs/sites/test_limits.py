"""Limits of qualities of service by hand: of all their jobs, of users and accounts, of partitions and single jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.model.site import ANY_NUMBER, Limits
from joulewise.worlds.jobs.sites.limits import beyond, limits_of, submissions_of, too_much
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, Qos, SiteTables

NODES = (NodeGroup(name="gpu", count=2, cores=8, gpus={"a100": 4}),)
LOG = pl.DataFrame(
    {
        "queue": ["normal", "normal", "high", None, "normal"],
        "user": ["ann", "bob", "ann", "ann", None],
        "group": ["physics", "physics", "physics", "biology", "biology"],
    }
)
USES = [{"jobs": 1, "cores": 4, "gpus": 1500, "a100": 1500}]


def made(*qos: Qos, of_partition: str | None = None) -> Limits:
    partitions = (Partition(name="p", nodes=("gpu",), qos=of_partition),)
    tables = SiteTables(name="s", nodes=NODES, partitions=partitions, qos=qos)
    return limits_of(tables, LOG, pl.Series([0] * LOG.height), USES)


def held(limits: Limits) -> list[set[str]]:
    """The holders of each job, by name."""
    return [{limits.names[holder] for holder in row if holder >= 0} for row in limits.holders]


def test_without_limits_nobody_holds_anything() -> None:
    limits = made(Qos(name="normal"))
    assert (limits.names, held(limits)) == ((), [set()] * 5)
    assert limits.allow(np.zeros(5, np.int32)).all()


@pytest.mark.parametrize(
    ("limit", "holders"),
    [
        ({"max_jobs": 2}, [{"normal"}, {"normal"}, set(), set(), {"normal"}]),
        ({"max_jobs_per_user": 2}, [{"normal/user/ann"}, {"normal/user/bob"}, set(), set(), {"normal/user"}]),
        (
            {"max_jobs_per_account": 2},
            [{"normal/group/physics"}, {"normal/group/physics"}, set(), set(), {"normal/group/biology"}],
        ),
    ],
)
def test_jobs_of_a_quality_of_service_are_counted_together(limit: dict[str, Any], holders: list[set[str]]) -> None:
    limits = made(Qos(name="normal", **limit))
    assert held(limits) == holders
    assert (limits.most == 2).all()


def test_gpus_are_counted_in_parts() -> None:
    limits = made(Qos(name="normal", max={"gpus": 3, "cores": 6}, max_per_user={"a100": 1}))
    assert limits.what == ("jobs", "gpus", "cores", "a100")
    most = dict(zip(limits.names, limits.most.tolist(), strict=True))
    assert most["normal"] == [ANY_NUMBER, 3000, 6, ANY_NUMBER * 1000]
    assert limits.uses.tolist() == [[1, 1500, 4, 1500]]
    assert limits.allow(np.zeros(5, np.int32)).tolist() == [False, False, True, True, False]


def test_limits_of_a_partition_hold_for_all_of_its_jobs() -> None:
    limits = made(Qos(name="normal", max_jobs=9), Qos(name="small", max_jobs=1), of_partition="small")
    assert held(limits) == [{"normal", "small"}, {"normal", "small"}, {"small"}, {"small"}, {"normal", "small"}]


def test_who_has_the_quality_of_service_of_its_partition_is_counted_once() -> None:
    limits = made(Qos(name="normal", max_jobs=2), of_partition="normal")
    assert [sorted(row.tolist()) for row in limits.holders[:, [0, len(limits.holders[0]) // 2]]] == [[-1, 0]] * 5


def test_a_job_may_be_too_much_by_itself() -> None:
    tables = SiteTables(name="s", nodes=NODES, qos=(Qos(name="normal", max_per_job={"a100": 1}),))
    assert too_much(tables, "normal", {"a100": 1001})
    assert not too_much(tables, "normal", {"a100": 1000})
    assert not too_much(tables, "high", {"a100": 1001})
    assert not too_much(tables, None, {"a100": 1001})


def test_jobs_that_wait_or_run_have_limits_of_their_own() -> None:
    tables = SiteTables(
        name="s", nodes=NODES, partitions=(Partition(name="p", nodes=("gpu",)),),
        qos=(Qos(name="normal", max_submitted=7, max_submitted_per_user=2, max_jobs=1),),
    )  # fmt: skip
    limits = submissions_of(tables, LOG, pl.Series([0] * LOG.height), USES)
    assert limits is not None
    found = dict(zip(limits.names, limits.most[:, 0].tolist(), strict=True))
    assert found == {"normal": 7, "normal/user/ann": 2, "normal/user/bob": 2, "normal/user": 2}
    none = replace(tables, qos=(Qos(name="normal", max_jobs=1),))
    assert submissions_of(none, LOG, pl.Series([0] * LOG.height), USES) is None


def test_jobs_of_a_log_that_are_beyond_a_limit_are_found() -> None:
    holders = np.array([[0], [0], [0], [-1], [0]])
    limits = Limits(("jobs",), ("h",), np.array([[2]]), np.ones((1, 1), np.int64), holders)
    come_s, gone_s = np.array([0.0, 1, 2, 2, 5]), np.array([5.0, 9, 9, 9, 9])
    assert beyond(limits, come_s, gone_s).tolist() == [False, False, True, False, True]
    assert beyond(limits, come_s, np.array([5.0, 2, 9, 9, 9])).tolist() == [False] * 5

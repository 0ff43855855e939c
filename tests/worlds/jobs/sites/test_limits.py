"""Limits of qualities of service by hand: of all their jobs, of users and accounts, of partitions and single jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.model.site import ANY_NUMBER, Limits
from joulewise.worlds.jobs.sites.admission import too_much
from joulewise.worlds.jobs.sites.limits import SiteLimits, Standing, beyond, limits_of, standings, submissions_of
from joulewise.worlds.jobs.sites.site import Account, NodeGroup, Partition, Qos, SiteTables, User

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
    assert limits.what == ("gpus", "cores", "a100")
    most = dict(zip(limits.names, limits.most.tolist(), strict=True))
    assert most["normal"] == [3000, 6, ANY_NUMBER * 1000]
    assert limits.uses.tolist() == [[1500, 4, 1500]]
    assert limits.allow(np.zeros(5, np.int32)).tolist() == [False, False, True, True, False]


def bound(limits: Limits) -> list[set[str]]:
    """The holders that bind each job, by name."""
    return [{limits.names[holder] for holder in row if holder >= 0} for row in limits.binding]


def test_of_two_qualities_of_service_the_first_that_has_a_limit_decides() -> None:
    normal, small = Qos(name="normal", max_jobs=9, max={"cores": 8}), Qos(name="small", max_jobs=1)
    limits = made(normal, small, of_partition="small")
    assert bound(limits) == [{"normal", "small"}, {"normal", "small"}, {"small"}, {"small"}, {"normal", "small"}]
    most = {
        limits.names[holder]: dict(zip(limits.what, limits.most[holder].tolist(), strict=True))
        for holder in limits.binding[0]
    }
    assert most == {"small": {"jobs": 1, "cores": ANY_NUMBER}, "normal": {"jobs": ANY_NUMBER, "cores": 8}}
    over = made(replace(normal, over_partition=True), small, of_partition="small")
    assert bound(over) == [{"normal"}, {"normal"}, {"small"}, {"small"}, {"normal"}]


def test_jobs_count_for_a_quality_of_service_that_does_not_decide() -> None:
    """Those of a partition with a limit of its own count where others of their own quality of service are limited."""
    partitions = (Partition(name="p", nodes=("gpu",), qos="small"), Partition(name="q", nodes=("gpu",)))
    qos = (Qos(name="normal", max_jobs=2), Qos(name="small", max_jobs=1))
    tables = SiteTables(name="s", nodes=NODES, partitions=partitions, qos=qos)
    limits = limits_of(tables, LOG, pl.Series([0, 1, 1, 1, 1]), USES)
    assert bound(limits) == [{"small"}, {"normal"}, set(), set(), {"normal"}]
    assert held(limits) == [{"small", "normal"}, {"normal"}, set(), set(), {"normal"}]


TREE = (
    Account(name="root", max={"cores": 100}),
    Account(name="science", max_jobs=7, max_jobs_per_user=3, max_per_job={"cores": 8}, max_time_s=60.0),
    Account(name="physics", parent="science", max_submitted=5, users={"ann": 1}),
    Account(name="biology", parent="science", max_jobs_per_user=4),
)


def test_limits_of_accounts_hold_for_all_their_parts_and_those_of_users_for_each() -> None:
    users = (User(name="ann", account="physics", max_jobs=1, max_per_job={"cores": 6}),)
    tables = SiteTables(name="s", nodes=NODES, partitions=(Partition(name="p", nodes=("gpu",)),),
                        accounts=TREE, users=users)  # fmt: skip
    partition = pl.Series([0] * LOG.height)
    limits = limits_of(tables, LOG, partition, USES)
    above = {"account/root", "account/science"}
    assert bound(limits) == [
        {*above, "account/physics/user/ann"}, {*above, "account/physics/user/bob"},
        {*above, "account/physics/user/ann"},
        {*above, "account/biology/user/ann"}, {*above, "account/biology/user"},
    ]  # fmt: skip
    jobs = limits.what.index("jobs")
    most = dict(zip(limits.names, limits.most[:, jobs].tolist(), strict=True))
    assert [most[f"account/{name}"] for name in ("science", "physics/user/ann", "physics/user/bob")] == [7, 1, 3]
    assert most["account/biology/user/ann"] == 4
    admitted = submissions_of(tables, LOG, partition, USES)
    assert admitted is not None
    assert bound(admitted) == [{"account/physics"}] * 3 + [set()] * 2
    rules = SiteLimits(tables)
    assert rules.of_one(Standing(0, None, "physics", "ann")) == {"cores": 6}
    assert rules.of_one(Standing(0, None, "physics", None)) == {"cores": 8}
    found = standings(tables, pl.DataFrame({"queue": [None], "user": ["ann"], "group": [None]}), pl.Series([0]))
    assert found.all == [Standing(0, None, "physics", "ann")], "her only account"
    assert rules.longest_s(Standing(0, None, "biology", None)) == 60.0
    assert rules.of_one(Standing(0, None, "chemistry", None)) == {}


def test_users_have_limits_where_the_site_tells_of_no_account() -> None:
    users = (User(name="ann", account="root", max_jobs=1, max_time_s=60.0),)
    tables = SiteTables(name="s", nodes=NODES, partitions=(Partition(name="p", nodes=("gpu",)),), users=users)
    log = pl.DataFrame({"queue": [None] * 3, "user": ["ann", "bob", "ann"], "group": ["root", "root", None]})
    limits = limits_of(tables, log, pl.Series([0, 0, 0]), USES)
    assert bound(limits) == [{"account/root/user/ann"}, {"account/root/user/bob"}, set()]
    assert limits.most.ravel().tolist() == [1, ANY_NUMBER], "the limit is that of one user alone"
    assert SiteLimits(tables).longest_s(Standing(0, None, "root", "ann")) == 60.0


def test_limits_of_accounts_give_way_to_those_of_a_quality_of_service() -> None:
    qos = (Qos(name="normal", max_jobs=50, max_jobs_per_user=20, max_per_job={"cores": 9}, max_time_s=600.0),)
    tables = SiteTables(name="s", nodes=NODES, partitions=(Partition(name="p", nodes=("gpu",)),),
                        qos=qos, accounts=TREE)  # fmt: skip
    limits = limits_of(tables, LOG, pl.Series([0] * LOG.height), USES)
    assert bound(limits)[0] == {"normal", "normal/user/ann", "account/root"}, (
        "what it does not limit is as accounts say"
    )
    assert bound(limits)[2] == {"account/root", "account/science", "account/physics/user/ann"}
    assert held(limits)[0] >= {"account/science", "account/physics/user/ann"}
    rules = SiteLimits(tables)
    assert rules.of_one(Standing(0, "normal", "physics", None)) == {"cores": 9}
    assert rules.longest_s(Standing(0, "normal", "physics", None)) == 600.0


def test_who_has_the_quality_of_service_of_its_partition_is_counted_once() -> None:
    limits = made(Qos(name="normal", max_jobs=2), of_partition="normal")
    assert limits.holders.tolist() == [[0]] * 5


def test_a_job_may_be_too_much_by_itself() -> None:
    tables = SiteTables(name="s", nodes=NODES)
    assert too_much(tables, {"a100": 1}, {"a100": 1001}) == "they may have 1 a100 GPU at most by their limits"
    assert too_much(tables, {"a100": 1}, {"a100": 1000}) == ""
    assert too_much(tables, {"memory_mib": 1024, "nodes": 1}, {"memory_mib": 2048}).startswith("they may have 1 GiB")


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


@pytest.mark.parametrize("seed", range(20))
def test_jobs_beyond_limits_of_several_holders_are_those_of_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    holders = np.column_stack((rng.integers(-1, 3, 40), rng.integers(3, 6, 40)))
    most, come_s = rng.integers(0, 6, (6, 1)), rng.integers(0, 30, 40).astype(np.float64)
    gone_s = come_s + rng.integers(0, 12, 40).astype(np.float64)
    gone_s[rng.integers(0, 40, 3)] = np.nan
    limits = Limits(
        ("jobs",), tuple("abcdef"), most, np.ones((1, 1), np.int64), holders.astype(np.int32), int(rng.integers(0, 2))
    )
    expected = np.zeros(40, np.bool_)
    order = np.argsort(come_s, kind="stable").tolist()
    for at, job in enumerate(order):
        for holder in limits.binding[job].tolist():
            there = [k for k in order[:at] if holder in holders[k]]
            gone = [k for k in range(40) if holder in holders[k] and gone_s[k] <= come_s[job]]
            expected[job] |= holder >= 0 and len(there) - len(gone) >= most[holder, 0]
    assert beyond(limits, come_s, gone_s).tolist() == expected.tolist()

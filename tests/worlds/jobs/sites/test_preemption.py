"""Who gives way to whom, from a site's qualities of service and Slurm's settings, by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from joulewise.model.preemption import Preemption
from joulewise.worlds.jobs.sites.preemption import preemption_of
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, Qos, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding

LOG = pl.DataFrame({"queue": ["low", "high", None, "other", "cheap"]})
HIGH = Qos(name="high", priority=10, preempts=("low", "cheap"))


def made(low: str | None = "requeue", cheap: str | None = "cancel", **slurm: Any) -> tuple[Preemption | None, set[str]]:
    """Who gives way, and what is told."""
    qos = (HIGH, Qos(name="low", preemption=low, grace_s=30.0), Qos(name="cheap", preemption=cheap))
    findings: list[TraceFinding] = []
    tables = SiteTables(name="s", nodes=(NodeGroup(name="n", count=1),), qos=qos, slurm=slurm)
    found = preemption_of(tables, LOG, pl.Series([0] * LOG.height), findings)
    assert all(finding.part == "lost" for finding in findings)
    return found, {finding.key.removeprefix("not replayed: ") for finding in findings}


def test_qualities_of_service_stop_those_that_they_preempt() -> None:
    found, told = made(preemptexempttime=60.0)
    assert found is not None
    assert told == set()
    assert (found.names, found.of_job.tolist()) == (("high", "low", "cheap"), [1, 0, -1, -1, 2])
    assert found.stops.tolist() == [[False, True, True], [False] * 3, [False] * 3]
    assert (found.grace_s.tolist(), found.cancels.tolist(), found.exempt_s) == ([0, 30, 0], [False, False, True], 60)
    assert found.priority.tolist() == [10, 0, 0]


@pytest.mark.parametrize(
    ("modes", "slurm", "stopped", "told"),
    [
        ((None, "cancel"), {}, {"cheap"}, {"preemption without a way to give way"}),
        ((None, "off"), {"preemptmode": ("Requeue", "gang")}, {"low"}, {"preemption without a way to give way"}),
        (("suspend", None), {}, {"low"}, {"preemption without a way to give way"}),
        (("requeue", "cancel"), {"preempttype": "preempt/none"}, set(), {"preemption by qualities of service"}),
        (
            ("requeue", "cancel"),
            {"preempttype": "preempt/partition_prio"},
            set(),
            {"preemption by qualities of service"},
        ),
    ],
)
def test_what_is_not_replayed_of_preemption_is_told(
    modes: tuple[str | None, str | None], slurm: dict[str, Any], stopped: set[str], told: set[str]
) -> None:
    found, said = made(*modes, **slurm)
    names = set() if found is None else {found.names[b] for _, b in zip(*found.stops.nonzero(), strict=True)}
    assert (names, said) == (stopped, told)


def test_jobs_that_may_not_be_requeued_are_cancelled() -> None:
    found, _ = made(jobrequeue=False)
    assert found is not None
    assert found.cancels.tolist() == [True, True, True] or found.cancels.tolist()[1:] == [True, True]


def test_jobs_that_are_suspended_are_so_at_once() -> None:
    found, told = made("suspend", "cancel", jobrequeue=False)
    assert found is not None
    assert (found.suspended.tolist(), found.cancels.tolist()) == ([False, True, False], [True, False, True])
    assert found.grace_s.tolist() == [0, 0, 0], "the grace of low is for jobs that end"
    assert told == set()


def test_jobs_of_partitions_of_a_higher_tier_stop_those_of_lower_ones() -> None:
    partitions = (
        Partition(name="low", nodes=("n",), tier=1, preemption="suspend"),
        Partition(name="middle", nodes=("n",), tier=2, grace_s=60.0),
        Partition(name="high", nodes=("n",), tier=3),
        Partition(name="firm", nodes=("n",), tier=1, preemption="off"),
    )
    slurm: dict[str, Any] = {"preempttype": "preempt/partition_prio", "preemptmode": ("requeue", "gang")}
    tables = SiteTables(name="s", nodes=(NodeGroup(name="n", count=1),), partitions=partitions, slurm=slurm)
    found = preemption_of(tables, LOG, pl.Series([0, 2, 1, 3, 0]), [])
    assert found is not None
    assert (found.names, found.of_job.tolist()) == (("low", "middle", "high", "firm"), [0, 2, 1, 3, 0])
    none = [False] * 4
    assert found.stops.tolist() == [none, [True, *none[1:]], [True, True, False, False], none]
    assert (found.suspended.tolist(), found.grace_s.tolist()) == ([True, False, False, False], [0, 60, 0, 0])
    assert found.priority.tolist() == [1, 2, 3, 1]

"""Reservations of a site's file by the clock of a log, and the jobs that have them, by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from joulewise.errors import InputError
from joulewise.model.kept import KeptNodes
from joulewise.worlds.clock import NO_CLOCK, Clock
from joulewise.worlds.jobs.sites.reservations import kept_nodes
from joulewise.worlds.jobs.sites.site import Account, NodeGroup, Partition, Reservation, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace

NODES = (NodeGroup(name="cpu", count=4, cores=8), NodeGroup(name="gpu", count=2, cores=8, gpus={"gpu": 1}))
ZERO = datetime.fromisoformat("2026-03-01T08:00:00+00:00")
UTC = Clock(ZERO.timestamp(), is_of_log=True)


def kept(*reservations: Reservation, clock: Clock = UTC, findings: list[TraceFinding] | None = None) -> KeptNodes:
    tables = SiteTables(name="s", nodes=NODES, reservations=reservations)
    return kept_nodes(tables, clock, [] if findings is None else findings)


def named(name: str, start: Any, end: Any, users: tuple[str, ...] = ("ann",), **nodes: int) -> Reservation:
    return Reservation(name=name, start=start, end=end, nodes=nodes, users=users)


def rows(of: KeptNodes) -> list[tuple[str, int, int]]:
    return [
        (of.names[k], group, node)
        for k, group, node in zip(of.of.tolist(), of.group.tolist(), of.node.tolist(), strict=True)
    ]


def test_a_reservation_has_the_last_nodes_of_a_group() -> None:
    found = kept(named("course", 60.0, 3660.0, cpu=2, gpu=1))
    assert rows(found) == [("course", 0, 2), ("course", 0, 3), ("course", 1, 1)]
    assert (found.start_s.tolist(), found.end_s.tolist()) == ([60], [3660])


def test_reservations_at_the_same_time_have_different_nodes_and_later_ones_the_same() -> None:
    found = kept(named("a", 0.0, 10.0, cpu=2), named("b", 5.0, 15.0, cpu=2), named("c", 10.0, 15.0, cpu=1))
    assert rows(found) == [("a", 0, 2), ("a", 0, 3), ("b", 0, 0), ("b", 0, 1), ("c", 0, 3)]


def test_too_many_nodes_at_a_time_are_refused_but_for_maintenance() -> None:
    with pytest.raises(InputError, match=r"reservation 'b', nodes: found 3 of 'cpu', of which others have 2 at that"):
        kept(named("a", 0.0, 10.0, cpu=2), named("b", 5.0, 15.0, cpu=3))
    found = kept(named("all out", 0.0, 10.0, (), cpu=3), named("b", 5.0, 15.0, cpu=2))
    assert rows(found) == [("b", 0, 2), ("b", 0, 3), ("all out", 0, 0), ("all out", 0, 1), ("all out", 0, 3)]


def test_instants_are_held_against_the_clock_of_the_log() -> None:
    utc = named("a", ZERO + timedelta(hours=1), ZERO + timedelta(hours=2), cpu=1)
    assert kept(utc).start_s.tolist() == [3600]
    local = named("a", datetime(2026, 3, 1, 9), datetime(2026, 3, 1, 10), cpu=1)
    assert kept(local, clock=UTC._replace(zone=ZoneInfo("Europe/Berlin"))).end_s.tolist() == [3600]
    for clock, words in (
        (UTC, "and of which zone this is, is not"),
        (NO_CLOCK, "the log does not say when it begins"),
        (UTC._replace(zone=ZoneInfo("Europe/Berlin"), zero_s=0.0), ""),
    ):
        if words:
            with pytest.raises(InputError, match=words) as error:
                kept(local, local, clock=clock)
            assert len(error.value.problems) == 4
    spring = named("a", datetime(2026, 3, 29, 2, 30), datetime(2026, 3, 29, 9), cpu=1)
    with pytest.raises(InputError, match="clocks of Europe/Berlin never show it"):
        kept(spring, clock=UTC._replace(zone=ZoneInfo("Europe/Berlin")))


def test_reservations_that_are_over_when_the_log_begins_are_told() -> None:
    findings: list[TraceFinding] = []
    old = named("old", ZERO - timedelta(hours=2), ZERO, cpu=1)
    assert kept(old, named("b", 0.0, 9.0, cpu=1), findings=findings).names == ("b",)
    assert [(finding.n, finding.part) for finding in findings] == [(1, "lost")]


LOG = """\
JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Reservation|User|Account|State
1|1000|60|5|1|1||ann|physics|COMPLETED
2|1010|60|5|1|1|course|ann|physics|COMPLETED
3|1020|60|5|1|1|course|ben|physics|COMPLETED
4|1030|60|5|1|1|lab|ben|physics|COMPLETED
5|1040|60|500|1|1|course|ann|physics|COMPLETED
6|1050|60|5|1|1|gone|ann|physics|COMPLETED
7|1060|60|5|3|3|course|ann|physics|COMPLETED
"""


def load(folder: Path) -> Trace:
    course = named("course", 0.0, 3600.0, cpu=2)
    lab = Reservation(name="lab", start=0.0, end=3600.0, nodes={"gpu": 1}, accounts=("physics",))
    everything = (Partition(name="p", nodes=("cpu", "gpu")),)
    site = SiteTables(name="s", nodes=NODES, partitions=everything, reservations=(course, lab))
    (folder / "log.txt").write_text(LOG)
    return load_trace(TraceParameters(trace="log.txt"), site, folder)


def test_jobs_have_the_reservation_that_the_log_names_if_they_may(tmp_path: Path) -> None:
    trace = load(tmp_path)
    demands, site = trace.jobs.demands, trace.site
    assert demands is not None
    assert site is not None
    assert demands.kept_of[demands.of_job].tolist() == [-1, 0, 0, 1, 0, -1, 0]
    assert demands.can_start(site).tolist() == [True, True, False, True, False, True, False]
    told = {finding.key: finding for finding in trace.findings}
    assert told["reservation course is for others"].n == 1
    assert told["reservation course is shorter than they ask for"].n == 1
    assert told["reservation course has too few nodes with all that they ask for"].n == 1
    assert (told["in a reservation"].n, told["in a reservation"].done) == (1, "replayed as any other")


WHO = """\
JobID|Submit|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Reservation|User|Account|State
1|1000|60|5|1|1|r|ann|physics|COMPLETED
2|1010|60|5|1|1|r|ann|optics|COMPLETED
3|1020|60|5|1|1|r|ann|biology|COMPLETED
4|1030|60|5|1|1|r|ben|optics|COMPLETED
5|1040|60|5|1|1|r|cid|biology|COMPLETED
"""


@pytest.mark.parametrize(
    ("who", "may"),
    [
        ({"users": ("ann",)}, [True, True, True, False, False]),
        ({"accounts": ("physics",)}, [True, True, False, True, False]),
        ({"users": ("ann",), "accounts": ("physics",)}, [True, True, False, False, False]),
        ({"users": ("-ann",), "accounts": ("physics",)}, [False, False, False, True, False]),
        ({"users": ("-ann",)}, [False, False, False, True, True]),
        ({"accounts": ("-physics",)}, [False, False, True, False, True]),
        ({}, [False] * 5),
    ],
)
def test_who_may_have_a_reservation(who: dict[str, Any], may: list[bool], tmp_path: Path) -> None:
    """As in Slurm: both the user and the account where it names both; an account covers its parts; a minus denies."""
    everything = (Partition(name="p", nodes=("cpu", "gpu")),)
    tree = (Account(name="physics"), Account(name="optics", parent="physics"), Account(name="biology"))
    reserved = (Reservation(name="r", start=0.0, end=3600.0, nodes={"cpu": 2}, **who),)
    site = SiteTables(name="s", nodes=NODES, partitions=everything, accounts=tree, reservations=reserved)
    (tmp_path / "log.txt").write_text(WHO)
    trace = load_trace(TraceParameters(trace="log.txt"), site, tmp_path)
    assert trace.jobs.demands is not None
    assert trace.site is not None
    assert trace.jobs.demands.can_start(trace.site).tolist() == may

"""Why waits of a replay differ from those of its log: each reason planted, where it can be told by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from joulewise.looks.jobs import LOOKS
from joulewise.model.conditions import Conditions
from joulewise.model.failures import NO_FAILURES, NodeFailures
from joulewise.model.hours import Hours
from joulewise.model.jobs import Fate, JobAllocation, JobWorld, NodeOutages, Pieces
from joulewise.model.kept import NOTHING_KEPT, KeptNodes
from joulewise.model.site import NodePower, Places, Site
from joulewise.model.supply import Supply
from joulewise.study.jobs.agreement import waits
from joulewise.study.jobs.reasons import REASONS, reasons
from joulewise.study.jobs.worlds import Scene
from joulewise.worlds.jobs.sites.site_file import parse_site
from joulewise.worlds.jobs.traces import Trace, TraceParameters, load_trace

LATE, EARLY = "waited in the replay: ", "waited in the log: "


class Row(NamedTuple):
    """A job: when it came, its wait in the log, its run time and processors, its wait in the replay, its time limit."""

    at_s: int
    logged_s: int
    run_s: int
    n: int
    wait_s: int
    asked_s: int = 0
    partition: str = "a"
    licences: str = ""
    group: int = 0
    most_tasks: int | None = None


def told(trace: Trace, rows: list[Row], allocation: JobAllocation, world: JobWorld | None = None) -> list[str | None]:
    names, found = list(REASONS), reasons(world or world_of(trace), trace, allocation)
    assert len(found) == len(rows)
    return [names[code] if code >= 0 else None for code in found]


def world_of(trace: Trace) -> JobWorld:
    return JobWorld(trace.system.clusters, trace.system.types, trace.jobs, site=trace.site)


def logged(rows: list[Row], folder: Path) -> Trace:
    """A log of a machine of 16 processors."""
    lines = [
        f"{i} {row.at_s} {row.logged_s} {row.run_s} {row.n} -1 -1 {row.n} {row.asked_s or row.run_s} -1 1 1 1"
        + 5 * " -1"
        for i, row in enumerate(rows)
    ]
    (folder / "log.swf").write_text("; MaxProcs: 16\n" + "\n".join(lines) + "\n")
    return load_trace(TraceParameters(trace="log.swf"), None, folder)


def replayed(trace: Trace, rows: list[Row]) -> JobAllocation:
    """What comes out where jobs wait as the rows say."""
    arrival_s, wait_s = trace.jobs.work.arrival_s, np.array([row.wait_s for row in rows], float)
    types = trace.system.types
    fate = np.full(len(rows), Fate.RAN, np.int8)
    places = None
    if trace.site is not None:
        each = np.arange(len(rows), dtype=np.int32)
        group = np.array([row.group for row in rows], np.int32)
        places = Places(each, group, np.zeros_like(each), np.ones(each.size, np.int64))
    start_s, option = arrival_s + wait_s, types.first[:-1].astype(np.int32)
    return JobAllocation(option, start_s, start_s + types.time_s[option], arrival_s, fate, places=places)


WHOLE, ONE = 16, 1
Case = tuple[list[Row], list[str | None]]
CASES: dict[str, Case] = {
    "alike": ([Row(0, 30, 100, 1, 90), Row(0, 500, 100, 1, 500)], [None, None]),
    "in use in the replay": (
        [Row(0, 500, 1000, WHOLE, 0), Row(1, 0, 100, ONE, 999)], [EARLY + "room", LATE + "nodes in use"],
    ),
    "in use in the log": (
        [Row(0, 0, 1000, WHOLE, 101), Row(1, 999, 100, ONE, 0)], [LATE + "room", EARLY + "nodes in use"],
    ),
    "behind in the log": (
        [Row(0, 0, 300, 8, 0), Row(1, 299, 10, WHOLE, 299), Row(2, 400, 20, ONE, 0)],
        [None, None, EARLY + "behind others"],
    ),
    "behind in the replay": (
        [Row(0, 0, 300, 8, 0), Row(1, 299, 10, WHOLE, 299), Row(2, 0, 20, ONE, 400)],
        [None, None, LATE + "behind others"],
    ),
    "not behind one that came later": (
        [Row(0, 0, 300, 8, 0), Row(1, 0, 20, ONE, 400), Row(1, 299, 10, WHOLE, 299)],
        [None, LATE + "room", None],
    ),
    "passed in the log": (
        [Row(0, 500, 100, 2, 50), Row(1, 0, 100, 2, 0)], [EARLY + "passed by its like", None],
    ),
    "passed in the replay": (
        [Row(0, 50, 100, 2, 500), Row(1, 0, 100, 2, 0)], [LATE + "passed by its like", None],
    ),
    "passed just then": (
        [Row(0, 500, 100, 2, 50), Row(1, 49, 100, 2, 49)], [EARLY + "passed by its like", None],
    ),
    "passed by one of several that runs": (
        [Row(0, 500, 100, 2, 150), Row(1, 0, 100, 2, 0), Row(2, 98, 100, 2, 98), Row(3, 0, 100, 2, 0)],
        [EARLY + "passed by its like", None, None, None],
    ),
    "passed by a shorter one": (
        [Row(0, 500, 100, 2, 50, 160), Row(1, 0, 100, 2, 0, 150)], [EARLY + "room", None],
    ),
    "not passed by one that came with it": (
        [Row(0, 500, 100, 2, 50), Row(0, 0, 100, 2, 0)], [EARLY + "room", None],
    ),
    "not yet passed": (
        [Row(0, 500, 100, 2, 0), Row(1, 0, 100, 2, 0)], [EARLY + "room", None],
    ),
    "passed by one that has ended": (
        [Row(0, 500, 10, 2, 50), Row(1, 0, 10, 2, 0)], [EARLY + "room", None],
    ),
    "more than there is": (
        [Row(0, 0, 1000, WHOLE, 0), Row(1, 0, 100, ONE, 999)], [None, "log had more than the nodes have"],
    ),
    "ended just then": (
        [Row(0, 0, 100, WHOLE, 0), Row(100, 500, 100, ONE, 0)], [None, EARLY + "room"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_reason_is_what_held_the_job_where_it_still_waited(case: str, tmp_path: Path) -> None:
    rows, expected = CASES[case]
    trace = logged(rows, tmp_path)
    assert told(trace, rows, replayed(trace, rows)) == expected


def test_a_job_may_come_before_it_is_eligible(tmp_path: Path) -> None:
    rows = [Row(0, 500, 100, 1, 200), Row(0, 500, 100, 1, 0)]
    trace = logged(rows, tmp_path)._replace(logged_eligible_s=np.array([150.0, 150.0]))
    assert told(trace, rows, replayed(trace, rows)) == [EARLY + "room", EARLY + "not eligible"]


def test_what_came_later_or_was_interrupted_has_no_other_reason(tmp_path: Path) -> None:
    rows = [Row(0, 0, 100, 1, 500), Row(0, 0, 100, 1, 500)]
    trace = logged(rows, tmp_path)
    found = replayed(trace, rows)
    pieces = Pieces(np.array([0]), np.array([0]), np.array([10.0]), np.array([20.0]), np.array([False]))
    found = replace(found, ready_s=np.array([0.0, 100.0]), pieces=pieces)
    assert told(trace, rows, found) == ["suspended in the replay", "follows a job that ended later"]
    lost = replace(found, pieces=replace(pieces, is_lost=np.array([True])))
    assert told(trace, rows, lost) == ["lost its nodes in the replay", "follows a job that ended later"]
    conditions = replace(Conditions.following(np.array([-1, -1], np.int32)), begin_s=np.array([0.0, 100.0]))
    world = world_of(trace)
    world = replace(world, jobs=replace(world.jobs, conditions=conditions))
    assert told(trace, rows, found, world) == ["suspended in the replay", "waited for its begin time"]


@pytest.mark.parametrize(
    ("row", "is_planned", "reason"),
    [
        (Row(0, 500, 100, 2, 0), True, EARLY + "nodes away"),
        (Row(0, 500, 100, 2, 0), False, EARLY + "room"),
        (Row(0, 0, 100, 2, 500), True, "log had more than the nodes have"),
        (Row(0, 0, 100, 2, 500), False, LATE + "nodes away"),
    ],
)
def test_nodes_out_of_service_are_away_in_the_log_where_that_was_planned(
    row: Row, is_planned: bool, reason: str, tmp_path: Path
) -> None:
    trace = logged([row], tmp_path)
    outages = NodeOutages(*map(np.array, ([0], [15], [0.0], [400.0], [is_planned], [0.0])))
    world = replace(world_of(trace), outages=outages)
    assert told(trace, [row], replayed(trace, [row]), world) == [reason]


SITE = """
name = "oak"
[[nodes]]
name = "old"
count = 1
cores = 8
[[nodes]]
name = "new"
count = 1
cores = 8
[[partition]]
name = "a"
nodes = ["old", "new"]
default = true
[[partition]]
name = "b"
nodes = "new"
qos = "few"
[[licence]]
name = "matlab"
count = 1
[[qos]]
name = "few"
max_jobs = 1
"""
HEADER = "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|AllocCPUS|AllocNodes|Licenses|Partition|User|State|ArrayTaskLimit"


def sited(rows: list[Row], folder: Path) -> Trace:
    """A log of a site of two groups of 8 processors: partition a has both, b the second alone, for a job at a time."""
    names = [f"{i}" if row.most_tasks is None else f"99_{i}" for i, row in enumerate(rows, 1)]
    lines = [
        f"{names[i - 1]}|{1000 + row.at_s}|{1000 + row.at_s + row.logged_s}|{row.run_s}|{60 + i}|{row.n}|1|"
        f"{row.licences}|{row.partition}|ann|COMPLETED|{row.most_tasks or ''}"
        for i, row in enumerate(rows, 1)
    ]
    (folder / "log.txt").write_text("\n".join([HEADER, *lines]) + "\n")
    return load_trace(TraceParameters(trace="log.txt"), parse_site(SITE, "site.toml"), folder)


OLD, NEW = 0, 1
SITED: dict[str, Case] = {
    "perhaps on the same nodes": (
        [Row(0, 0, 1000, 8, 0), Row(1, 500, 10, 4, 0, partition="b", group=NEW)],
        [None, EARLY + "perhaps nodes in use"],
    ),
    "surely on the same nodes": (
        [Row(0, 0, 1000, 8, 0, group=OLD), Row(0, 0, 1000, 4, 0, group=NEW), Row(1, 500, 10, 8, 0, group=OLD)],
        [None, None, EARLY + "nodes in use"],
    ),
    "elsewhere in the replay": (
        [Row(0, 0, 1000, 8, 0, group=OLD), Row(1, 0, 10, 4, 500, partition="b", group=NEW)],
        [None, LATE + "room"],
    ),
    "here in the replay": (
        [Row(0, 0, 1000, 8, 0, group=NEW), Row(1, 0, 10, 4, 500, partition="b", group=NEW)],
        [None, LATE + "nodes in use"],
    ),
    "a limit in the replay": (
        [Row(0, 500, 100, 1, 0, partition="b", group=NEW), Row(1, 0, 10, 1, 500, partition="b", group=NEW)],
        [EARLY + "room", LATE + "a limit"],
    ),
    "a limit in the log": (
        [Row(0, 0, 400, 1, 0, partition="b", group=NEW), Row(1, 500, 10, 1, 0, partition="b", group=NEW)],
        [None, EARLY + "a limit"],
    ),
    "a limit of an array in the replay": (
        [Row(0, 500, 100, 1, 0, most_tasks=1), Row(1, 0, 10, 1, 500, most_tasks=1)],
        [EARLY + "room", LATE + "limit of its array"],
    ),
    "a limit of an array in the log": (
        [Row(0, 0, 400, 1, 0, most_tasks=1), Row(1, 500, 10, 1, 0, most_tasks=1)],
        [None, EARLY + "limit of its array"],
    ),
    "past a limit in the log": (
        [Row(0, 0, 400, 1, 0, partition="b", group=NEW), Row(1, 0, 10, 1, 500, partition="b", group=NEW)],
        [None, "log had more than a limit allows"],
    ),
    "no licence in the log": (
        [Row(0, 0, 400, 1, 0, licences="matlab:1"), Row(1, 500, 10, 1, 0, licences="matlab:1"), Row(1, 500, 10, 2, 0)],
        [None, EARLY + "a limit", EARLY + "behind others"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SITED)
def test_on_a_site_nodes_are_those_of_the_partition(case: str, tmp_path: Path) -> None:
    rows, expected = SITED[case]
    trace = sited(rows, tmp_path)
    assert trace.site is not None
    assert told(trace, rows, replayed(trace, rows)) == expected


ALONE = [Row(0, 0, 100, 8, 500, partition="b", group=NEW, asked_s=61)]


def site_of(world: JobWorld) -> Site:
    assert world.site is not None
    return world.site


@pytest.mark.parametrize(
    ("start_s", "is_planned", "reason"),
    [
        (-10.0, False, LATE + "nodes away"),
        (-10.0, True, "log had more than the nodes have"),
        (50.0, True, LATE + "nodes away"),
        (50.0, False, LATE + "room"),
        (5000.0, True, LATE + "room"),
    ],
)
def test_nodes_of_a_site_are_away_when_they_fail_and_from_before_what_is_planned(
    start_s: float, is_planned: bool, reason: str, tmp_path: Path
) -> None:
    trace = sited(ALONE, tmp_path)
    world, new, node = world_of(trace), np.array([NEW]), np.array([0])
    times = np.array([start_s]), np.array([start_s + 300])
    kept = KeptNodes(("outage 1",), *times, np.array([0]), new, node) if is_planned else NOTHING_KEPT
    failures = NO_FAILURES if is_planned else NodeFailures(new, node, *times)
    world = replace(world, site=replace(site_of(world), kept=kept, failures=failures))
    assert told(trace, ALONE, replayed(trace, ALONE), world) == [reason]


@pytest.mark.parametrize(("is_up_from_s", "reason"), [(1.0, "hours of its partition"), (0.0, "room")])
def test_a_partition_starts_jobs_at_its_hours(is_up_from_s: float, reason: str, tmp_path: Path) -> None:
    trace = sited(ALONE, tmp_path)
    world = world_of(trace)
    b = site_of(world).partitions.index("b")
    hours = Hours(np.array([-5.0, is_up_from_s]), np.array([b, b]), np.array([False, True]))
    world = replace(world, site=replace(site_of(world), hours=hours))
    assert told(trace, ALONE, replayed(trace, ALONE), world) == [LATE + reason]


def powered(trace: Trace, supply: Supply) -> JobWorld:
    """A site that draws 20 W idle and 1 W for each processor."""
    world = world_of(trace)
    power = NodePower(np.array([10.0, 10.0]), np.ones_like(site_of(world).capacity, float))
    types = replace(world.types, power_w=np.full(world.types.n_options, 8.0), planned_s=world.types.time_s + 100.0)
    work = replace(world.jobs.work, end_s=86400.0)
    jobs = replace(world.jobs, work=work)
    return replace(world, jobs=jobs, types=types, site=replace(site_of(world), power=power), supply=supply)


@pytest.mark.parametrize(
    ("supply", "reason"),
    [
        (Supply(cap_w=np.array([35.9])), "power cap"),
        (Supply(cap_w=np.array([36.0])), "room"),
        (Supply(cap_w=np.array([36.0, 20.0])), "room"),
        (Supply(86400 * 20.0 + 8 * 200 + 8 * 7300 - 1), "energy budget"),
        (Supply(86400 * 20.0 + 8 * 200 + 8 * 7300), "room"),
        (Supply(86400 * 20.0 + 8 * 200 + 8 * 7300 - 1, is_total=True), "energy budget"),
    ],
)
def test_power_and_energy_are_those_of_what_ran_and_was_planned(supply: Supply, reason: str, tmp_path: Path) -> None:
    rows = [Row(0, 0, 7200, 8, 0, group=OLD), Row(1, 0, 100, 8, 500, partition="b", group=NEW)]
    trace = sited(rows, tmp_path)
    assert told(trace, rows, replayed(trace, rows), powered(trace, supply)) == [None, LATE + reason]


@pytest.mark.parametrize(("cap_w", "reason"), [(27.9, "power cap"), (28.0, "room")])
def test_a_cap_that_falls_counts_before_the_planned_end(cap_w: float, reason: str, tmp_path: Path) -> None:
    rows = [Row(3550, 0, 100, 8, 500, partition="b", group=NEW)]
    trace = sited([Row(0, 0, 10, 1, 0), *rows], tmp_path)
    rows = [Row(0, 0, 10, 1, 0), *rows]
    world = powered(trace, Supply(cap_w=np.array([40.0, cap_w])))
    assert told(trace, rows, replayed(trace, rows), world) == [None, LATE + reason]


@pytest.mark.parametrize(
    ("failed_s", "reason"), [(20.0, "lost its nodes in the replay"), (19.0, "gave way in the replay")]
)
def test_who_ran_again_gave_way_unless_a_node_of_it_failed_then(failed_s: float, reason: str, tmp_path: Path) -> None:
    trace, one = sited(ALONE, tmp_path), np.array([0])
    world, found = world_of(trace), replayed(trace, ALONE)
    failures = NodeFailures(np.array([NEW]), one, np.array([failed_s]), np.array([100.0]))
    world = replace(world, site=replace(site_of(world), failures=failures))
    pieces = Pieces(one, one, np.array([10.0]), np.array([20.0]), np.array([True]))
    places = Places(*(np.array(row) for row in ([0, 0], [NEW, NEW], [0, 0], [1, 1], [-1, 0])))
    assert told(trace, ALONE, replace(found, pieces=pieces, places=places), world) == [reason]


def test_cancelled_jobs_are_in_no_table_of_waits(tmp_path: Path) -> None:
    rows = [*ALONE, Row(1, 0, 100, 8, 0, group=OLD)]
    trace = sited(rows, tmp_path)
    found = replace(replayed(trace, rows), fate=np.array([Fate.CANCELLED, Fate.RAN]))
    table = waits(Scene(world_of(trace), None, trace, trace.clock), found)
    assert table is not None
    assert table["job"].to_list() == [1]


def test_the_facts_of_a_world_count_what_is_away_on_a_site(tmp_path: Path) -> None:
    world = world_of(sited(ALONE, tmp_path))
    one, zero = np.array([NEW]), np.array([0])
    times = np.array([5.0]), np.array([9.0])
    away = replace(
        site_of(world), failures=NodeFailures(one, zero, *times), kept=KeptNodes(("outage 1",), *times, zero, one, zero)
    )
    assert LOOKS["JobWorld"].facts(world)["outages"] == ""
    assert LOOKS["JobWorld"].facts(replace(world, site=away))["outages"] == "2"


def test_every_reason_is_planted_once() -> None:
    planted = {name for _, names in (*CASES.values(), *SITED.values()) for name in names if name}
    of_the_replay = {"suspended", "gave way", "lost its nodes"}
    others = {EARLY + "not eligible", EARLY + "nodes away", "follows a job that ended later"}
    others |= {"waited for its begin time", *(f"{name} in the replay" for name in of_the_replay)}
    others |= {LATE + name for name in ("hours of its partition", "power cap", "energy budget", "nodes away")}
    assert planted | others == set(REASONS)

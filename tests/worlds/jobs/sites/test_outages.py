"""Outages of a site's nodes: planned ones are kept for nobody, others fail, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.kept import KeptNodes
from joulewise.model.site import Site
from joulewise.worlds.clock import NO_CLOCK, Clock
from joulewise.worlds.jobs.node_outages import NodeOutageParameters
from joulewise.worlds.jobs.sites.ground import site_of, with_partitions
from joulewise.worlds.jobs.sites.outages import with_outages
from joulewise.worlds.jobs.sites.site import NodeGroup, Partition, SiteTables

GROUPS = (NodeGroup(name="cpu", count=4, cores=8), NodeGroup(name="wide", count=3, cores=8))
WHOLES = Partition(name="wide", nodes=("wide",), sharing="exclusive")
TABLES = SiteTables(name="s", nodes=GROUPS, partitions=(Partition(name="cpu", nodes=("cpu",), default=True), WHOLES))


def site_with(folder: Path, rows: str, clock: Clock = NO_CLOCK, trial: int = 0) -> Site:
    (folder / "outages.csv").write_text(rows)
    asked = NodeOutageParameters(outages="outages.csv")
    return with_outages(site_of(with_partitions(TABLES)), asked, 1000.0, clock, folder, 1, trial)


def test_planned_ones_are_kept_for_nobody(tmp_path: Path) -> None:
    rows = "group,nodes,first_node,start_s,end_s\ncpu,2,,10,20\ncpu,1,,15,30\nwide,2,0,0,5\n"
    kept = site_with(tmp_path, rows).kept
    found = [(kept.names[of], g, n) for of, g, n in zip(kept.of, kept.group, kept.node, strict=True)]
    assert found == [
        ("outage 1", 0, 2), ("outage 1", 0, 3), ("outage 2", 0, 1), ("outage 3", 1, 0), ("outage 3", 1, 1)
    ]  # fmt: skip
    assert (kept.start_s.tolist(), kept.end_s.tolist()) == ([10, 15, 0], [20, 30, 5])


def test_planned_ones_have_different_nodes_and_more_than_there_are_are_refused(tmp_path: Path) -> None:
    header = "group,nodes,first_node,start_s,end_s\n"
    kept = site_with(tmp_path, header + "wide,2,,10,20\nwide,1,2,15,30\nwide,2,,30,40\nwide,1,2,12,18\n").kept
    assert kept.node.tolist() == [0, 1, 2, 1, 2, 2]
    with pytest.raises(InputError, match="found 4 nodes of group wide away at once; it has 3"):
        site_with(tmp_path, header + "wide,2,,10,20\nwide,1,2,15,30\nwide,1,,19,40\n")


def test_what_is_reserved_for_some_is_away_before_a_node_is_twice(tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text("group,nodes,start_s,end_s\nwide,1,10,20\nwide,2,15,25\n")
    site = site_of(with_partitions(TABLES))
    reserved = KeptNodes(("course",), *map(np.array, ([0.0], [99.0], [0], [1], [0])))
    asked = NodeOutageParameters(outages="outages.csv")
    site = with_outages(replace(site, kept=reserved), asked, 1000.0, NO_CLOCK, tmp_path, 1, 0)
    assert site.kept.node.tolist() == [0, 2, 0, 1]


def test_others_fail_and_those_of_a_node_that_overlap_are_one(tmp_path: Path) -> None:
    rows = (
        "group,nodes,first_node,start_s,end_s,planned\nwide,1,2,10,20,false\nwide,1,2,15,40,false\ncpu,2,0,3,9,false\n"
    )
    site = site_with(tmp_path, rows)
    failures = site.failures
    assert failures.group.tolist() == [0, 0, 1]
    assert failures.node.tolist() == [0, 1, 2]
    assert (failures.start_s.tolist(), failures.end_s.tolist()) == ([3, 3, 10], [9, 9, 40])
    assert site.is_counted.tolist() == [False, False], "nodes that fail are told apart"
    assert site_of(with_partitions(TABLES)).is_counted.tolist() == [False, True]


def test_which_nodes_fail_is_drawn_anew_in_each_trial(tmp_path: Path) -> None:
    rows = "group,nodes,start_s,end_s,planned\ncpu,2,10,20,false\ncpu,2,15,30,false\n"
    drawn = {tuple(site_with(tmp_path, rows, trial=trial).failures.node.tolist()) for trial in range(20)}
    assert len(drawn) > 1
    assert all(sorted(nodes) == [0, 1, 2, 3] for nodes in drawn), "the second two are others"


def test_no_node_is_drawn_that_is_said_to_fail_then(tmp_path: Path) -> None:
    rows = "group,nodes,first_node,start_s,end_s,planned\nwide,2,,10,20,false\nwide,1,1,10,20,false\n"
    for trial in range(9):
        assert sorted(site_with(tmp_path, rows, trial=trial).failures.node.tolist()) == [0, 1, 2]


def test_failures_at_random_are_of_all_nodes() -> None:
    asked = NodeOutageParameters(mtbf_s=500.0, mttr_s=50.0)
    failures = with_outages(site_of(TABLES), asked, 1e5, NO_CLOCK, Path(), 1, 0).failures
    nodes, n = np.unique(np.stack((failures.group, failures.node)), axis=1, return_counts=True)
    assert nodes.shape == (2, 7)
    assert 0.8 < n.mean() / (1e5 / 550) < 1.2
    assert failures.n_failures == n.sum()


def test_dates_are_held_against_the_clock_and_what_is_over_is_left_out(tmp_path: Path) -> None:
    rows = "group,nodes,start,end\ncpu,1,2026-03-01T07:00Z,2026-03-01T07:30Z\ncpu,1,2026-03-01T07:00Z,2026-03-01T09:00Z"
    at_8 = Clock(1772352000.0, is_of_log=True)
    kept = site_with(tmp_path, rows, at_8).kept
    assert (kept.start_s.tolist(), kept.end_s.tolist()) == ([0], [3600])
    with pytest.raises(InputError, match="the log does not say when it begins"):
        site_with(tmp_path, rows, Clock(is_of_log=True))


def test_groups_are_named_where_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no column 'group'"):
        site_with(tmp_path, "nodes,start_s,end_s\n1,5,9\n")


def test_what_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    rows = "group,nodes,first_node,start_s,end_s\ncpux,1,0,0,72\nwide,4,,60,120\ncpu,3,2,90,20\nwide,1.5,-1,90,200\n"
    with pytest.raises(InputError) as caught:
        site_with(tmp_path, rows)
    for words in (
        "line 2, group: found 'cpux'", "line 3, nodes: found '4'", "line 4, first_node: found '2'",
        "line 4, end_s: found '20'", "line 5, nodes: found '1.5'", "line 5, first_node: found '-1'",
    ):  # fmt: skip
        assert words in str(caught.value), words

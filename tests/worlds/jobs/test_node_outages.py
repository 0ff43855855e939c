"""Nodes out of use: those of a table, failures by chance, and tables that make no sense."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.clusters import Clusters
from joulewise.model.jobs import NO_OUTAGES
from joulewise.worlds.clock import NO_CLOCK, Clock, unix_s
from joulewise.worlds.jobs.node_outages import (
    NodeOutageParameters,
    last_failure_s,
    node_outages,
    of_nodes_that_are_there,
)
from tests.strategies.job_worlds import outages_of

TWO = Clusters(("a", "b"), np.array([4, 8]), np.array([1, 1]), np.array([1, 1]))


def written(folder: Path, text: str) -> NodeOutageParameters:
    (folder / "outages.csv").write_text(text)
    return NodeOutageParameters(outages="outages.csv")


def test_a_table_and_failures_come_in_order_of_their_start(tmp_path: Path) -> None:
    text = "cluster,nodes,start_s,end_s,planned\nb,8,7000,9000,\na,1,10,20,false\n"
    written(tmp_path, text)
    parameters = NodeOutageParameters(outages="outages.csv", mtbf_s=9000.0, mttr_s=1000.0)
    found = node_outages(parameters, TWO, 1e5, 0, 0, tmp_path)
    assert (np.diff(found.start_s) >= 0).all()
    assert found.n_outages > 50
    assert found.is_planned.sum() == 1
    planned = int(np.argmax(found.is_planned))
    assert (found.cluster[planned], found.nodes[planned], found.start_s[planned]) == (1, 8, 7000.0)
    assert set(found.cluster) == {0, 1}
    assert ((found.lot >= 0) & (found.lot < 1)).all()


def test_nothing_is_out_unless_asked(tmp_path: Path) -> None:
    assert node_outages(NodeOutageParameters(), TWO, math.inf, 0, 0, tmp_path) is NO_OUTAGES


CLOCK = Clock(unix_s(datetime(2026, 3, 1, 4, tzinfo=UTC)), zone=ZoneInfo("Europe/Berlin"), first_s=60.0, is_of_log=True)


def dated(*rows: str) -> str:
    return "cluster,nodes,start,end\n" + "".join(f"a,{row}\n" for row in rows)


def test_dates_are_held_against_the_clock_and_numbers_count_from_the_first_submission(tmp_path: Path) -> None:
    """What is over by then is left out, and what goes on begins at instant 0."""
    rows = ("1,2026-03-01T01:00,2026-03-01T05:00", "2,2026-03-01T03:00,2026-03-01T06:00", "1,2026-03-02,2026-03-03")
    found = node_outages(written(tmp_path, dated(*rows)), TWO, 100.0, 0, 0, tmp_path, CLOCK)
    assert found.nodes.tolist() == [2, 1]
    assert (found.start_s.tolist(), found.end_s.tolist()) == ([0, 19 * 3600], [3600, 43 * 3600])
    utc = dated("2,2026-03-01T02:00Z,2026-03-01T05:00Z")
    assert node_outages(written(tmp_path, utc), TWO, 100.0, 0, 0, tmp_path, CLOCK).end_s.tolist() == [3600]
    relative = written(tmp_path, "cluster,nodes,start_s,end_s\na,1,0,5\n")
    assert node_outages(relative, TWO, 100.0, 0, 0, tmp_path, CLOCK).end_s.tolist() == [65]


@pytest.mark.parametrize(
    ("text", "clock", "told"),
    [
        (
            dated("1,2026-03-01T01:00,2026-03-01T04:00"),
            CLOCK,
            "found 1 outage, the last of which is over 1 h before; mus",
        ),
        (
            dated("1,2026-10-25T02:30,2026-10-26"),
            CLOCK,
            "line 2, start: .* are put back then and show it twice; give it",
        ),
        (dated("1,2026-03-29,2026-03-29T02:30"), CLOCK, "line 2, end: .* are put forward then and never show it"),
        (dated("1,2026-04-02,2026-04-01"), CLOCK, "line 2, end: .*must be after start"),
        (dated("1,soon,2026-04-01"), CLOCK, "line 2, start: found 'soon'; must be an instant in ISO 8601"),
        (
            dated("1,2026-04-02,2026-04-03"),
            NO_CLOCK,
            "start: found 2026-04-02.*the workload has no date; say when inst",
        ),
        ("cluster,nodes,start,end_s\na,1,2026-04-02,5\n", CLOCK, "header: found 'end_s'.*did you mean 'end'"),
        ("cluster,nodes,start\na,1,2026-04-02\n", CLOCK, "header: has no column 'end'"),
    ],
)
def test_dates_that_make_no_sense(tmp_path: Path, text: str, clock: Clock, told: str) -> None:
    with pytest.raises(InputError, match=told):
        node_outages(written(tmp_path, text), TWO, 100.0, 0, 0, tmp_path, clock)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nodes,start_s,end_s\n1,0,5\n", "there are 2 clusters"),
        ("cluster,nodes,start_s,end_s\nc,1,0,5\n", "'c'"),
        ("cluster,nodes,start_s,end_s\na,1.5,0,5\n", "whole number above 0"),
        ("cluster,nodes,start_s,end_s\na,1,5,5\n", "must be after start_s"),
        ("cluster,nodes,start_s,end_s\na,3,0,5\na,2,4,9\n", "found 5 nodes of cluster a out at once"),
        ("cluster,nodes,start_s,end_s,planned\na,3,0,5,maybe\n", "'maybe'"),
        ("cluster,nodes,start_s,end_s,planned\na,5,0,5,false\n", "at most the nodes that the cluster has"),
    ],
)
def test_tables_that_make_no_sense(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        node_outages(written(tmp_path, text), TWO, 100.0, 0, 0, tmp_path)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(4, 10, 100, True), (1, 50, 200, False)], [(4, 10, 100), (1, 100, 200)]),
        ([(1, 5, 50, False), (4, 10, 30, True)], [(1, 5, 10), (4, 10, 30), (1, 30, 50)]),
        ([(3, 10, 100, False), (3, 20, 200, False)], [(3, 10, 100), (1, 20, 200), (2, 100, 200)]),
        ([(3, 10, math.inf, False), (2, 20, 200, False)], [(3, 10, math.inf), (1, 20, 200)]),
        ([(4, 10, 100, True), (1, 50, 60, False)], [(4, 10, 100)]),
        ([(2, 10, 100, True), (2, 50, 60, False)], [(2, 10, 100), (2, 50, 60)]),
    ],
)
def test_nodes_that_are_out_cannot_fail(
    rows: list[tuple[int, float, float, bool]], expected: list[tuple[int, float, float]]
) -> None:
    found = of_nodes_that_are_there(outages_of([(0, *row, 0.5) for row in rows]), TWO)
    assert list(zip(found.nodes, found.start_s, found.end_s, strict=True)) == expected
    assert found.most_out(found.cluster == 0) <= 4


def test_maintenance_of_a_whole_cluster_and_failures(tmp_path: Path) -> None:
    written(tmp_path, "cluster,nodes,start_s,end_s\na,4,1000,60000\nb,8,2000,50000\n")
    parameters = NodeOutageParameters(outages="outages.csv", mtbf_s=9000.0, mttr_s=1000.0)
    found = node_outages(parameters, TWO, 1e5, 0, 0, tmp_path)
    assert (np.diff(found.start_s) >= 0).all()
    assert [found.most_out(found.cluster == cluster) for cluster in (0, 1)] == [4, 8]


def test_failures_end_with_the_window_or_the_last_arrival() -> None:
    assert last_failure_s(50.0, 30.0) == 50.0
    assert last_failure_s(math.inf, 30.0) == 30.0

"""Nodes out of use: those of a table, failures by chance, and tables that make no sense."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.model.clusters import Clusters
from joulewise.model.jobs import NO_OUTAGES
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

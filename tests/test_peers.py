"""pymoo, which benchmarks measure ours against, works on the same assignments in the same way."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.peers import KnownTasks, OneTaskElsewhereAndSwapped, SegmentSwap
from joulewise.optimise.assignments.problem import AssignmentProblem
from tests.strategies.random_assignments import random_world


@pytest.fixture
def ours() -> AssignmentProblem:
    return AssignmentProblem(random_world(3))


def rows_of(ours: AssignmentProblem, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Random genes as ours and as pymoo has them."""
    genes = ours.random_genes(np.random.default_rng(1), n)
    return genes, genes.transpose(1, 0, 2).reshape(n, -1).astype(np.int64)


def test_pymoo_evaluates_assignments_as_we_do(ours: AssignmentProblem) -> None:
    genes, x = rows_of(ours, 6)
    home, seen = ours.chromosomes(genes), {}  # type: ignore[var-annotated]
    home.evaluate(6)
    KnownTasks(ours)._evaluate(x, seen)
    assert seen["F"] == pytest.approx(home.points, rel=1e-12)


def test_a_segment_is_swapped_with_places_and_orders(ours: AssignmentProblem) -> None:
    _, x = rows_of(ours, 6)
    parents = x.reshape(2, 3, -1)
    children = SegmentSwap()._do(KnownTasks(ours), parents, random_state=np.random.default_rng(2))
    swapped = (children[0] == parents[1]).reshape(3, 2, -1) & (children[1] == parents[0]).reshape(3, 2, -1)
    kept = (children[0] == parents[0]).reshape(3, 2, -1) & (children[1] == parents[1]).reshape(3, 2, -1)
    assert (swapped | kept).all()
    assert (swapped.all(axis=1) | kept.all(axis=1)).all()


def test_a_mutation_moves_one_task_and_swaps_two_orders(ours: AssignmentProblem) -> None:
    _, x = rows_of(ours, 6)
    mutated = OneTaskElsewhereAndSwapped(prob=1.0)._do(KnownTasks(ours), x, random_state=np.random.default_rng(3))
    places, orders = (mutated != x).reshape(6, 2, -1).transpose(1, 0, 2)
    assert (places.sum(axis=1) <= 1).all()
    assert set(orders.sum(axis=1).tolist()) <= {0, 2}
    assert (np.sort(mutated[:, ours.n_genes :]) == np.arange(ours.n_genes)).all()

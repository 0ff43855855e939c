"""Fronts: against brute force, dense sampling and another project's indicators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.indicators.hv import HV
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from joulewise.errors import InputError
from joulewise.model.arrays import Floats
from joulewise.optimise.front import (
    MAKESPAN_ENERGY,
    Front,
    FrontObjective,
    front_of,
    hypervolume_of_line,
    nadir_reference,
    non_dominated,
)
from joulewise.rng import generator

FEW = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


def floats(points: list[tuple[int, int]]) -> Floats:
    return np.array(points, float)


@given(FEW)
def test_a_front_is_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    front = front_of(floats(points), points)
    best = {p for p in points if not any(q[0] <= p[0] and q[1] <= p[1] and q != p for q in points)}
    assert front.points.tolist() == [list(map(float, point)) for point in sorted(best)]
    assert list(front.payload) == sorted(best)
    assert all(front.dominates(point) == (point not in best) for point in points)


@given(FEW, st.tuples(st.integers(0, 11), st.integers(0, 11)))
def test_hypervolume_counts_the_cells_that_are_dominated(
    points: list[tuple[int, int]], reference: tuple[int, int]
) -> None:
    cells = {(x, y) for p in points for x in range(p[0], reference[0]) for y in range(p[1], reference[1])}
    assert front_of(floats(points)).hypervolume(reference) == len(cells)


def test_hypervolume_and_dominance_are_those_of_pymoo() -> None:
    rng = generator(0, "tests.front")
    for n in (1, 2, 30, 300):
        points, reference = rng.random((n, 2)), (0.9, 0.8)
        front = front_of(points)
        assert front.hypervolume(reference) == pytest.approx(HV(np.array(reference))(points), rel=1e-12)
        best = NonDominatedSorting().do(points, only_non_dominated_front=True)
        assert sorted(non_dominated(points)) == sorted(best)


@given(FEW, st.tuples(st.integers(0, 11), st.integers(0, 11)))
def test_the_area_of_a_line_is_that_of_very_many_points_on_it(
    points: list[tuple[int, int]], reference: tuple[int, int]
) -> None:
    corners = front_of(floats(points)).points
    at = np.linspace(corners[0, 0], 12.0, 6001)
    height = np.maximum(reference[1] - np.interp(at, corners[:, 0], corners[:, 1]), 0.0)
    area = float(height[:-1] @ np.diff(at) - (height[:-1] * np.diff(at))[at[:-1] >= reference[0]].sum())
    assert hypervolume_of_line(floats(points), reference) == pytest.approx(area, abs=5e-2)


def test_the_share_of_a_bound_is_exact() -> None:
    bound = np.array([[1.0, 3.0], [2.0, 1.0], [4.0, 0.0]])
    reference = nadir_reference(bound)
    assert reference.tolist() == pytest.approx([4.4, 3.3])
    area = 0.5 * (0.3 + 2.3) * 1 + 0.5 * (2.3 + 3.3) * 2 + 3.3 * 0.4
    assert hypervolume_of_line(bound, reference) == pytest.approx(area)
    front = front_of(bound)
    assert front.share_of(bound, reference) == pytest.approx((0.3 + 2 * 2.3 + 0.4 * 3.3) / area)


def test_a_bound_without_area_is_reached_or_not() -> None:
    bound = np.array([[5.0, 0.0]])
    reference = nadir_reference(bound)
    assert front_of(bound).share_of(bound, reference) == 1.0
    assert front_of(np.array([[6.0, 0.0]])).share_of(bound, reference) == 0.0


def test_the_knee_is_farthest_below_the_line_between_the_ends() -> None:
    points = np.array([[0.0, 100.0], [1.0, 60.0], [2.0, 20.0], [6.0, 10.0], [10.0, 0.0]])
    assert front_of(points).knee() == 2
    assert front_of(points[[0, 4]]).knee() == 0
    assert front_of(points[:1]).knee() == 0
    assert front_of(np.array([[0.0, 10.0], [9.0, 9.0], [10.0, 0.0]])).knee() == 0


def test_points_within_a_limit() -> None:
    front = front_of(np.array([[1.0, 30.0], [2.0, 20.0], [4.0, 10.0]]))
    assert (front.cheapest_within(3.0), front.point_for(25.0)) == (1, 1)
    assert (front.cheapest_within(9.0), front.point_for(99.0)) == (2, 0)
    with pytest.raises(InputError, match="energy: found 9; must be 10 J or more"):
        front.point_for(9.0)
    with pytest.raises(InputError, match=r"makespan: found 0\.5; must be 1 s or more"):
        front.cheapest_within(0.5)


def test_a_maximised_objective_is_shown_positive() -> None:
    objectives = FrontObjective("utility", "", is_maximised=True), FrontObjective("energy", "J")
    front = front_of(np.array([[-5.0, 2.0], [-3.0, 1.0], [-4.0, 3.0]]), objectives=objectives)
    assert front.shown.tolist() == [[5.0, 2.0], [3.0, 1.0]]


def test_points_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="NaN"):
        front_of(np.array([[1.0, math.nan]]))


def test_an_empty_front_dominates_nothing() -> None:
    front = Front(MAKESPAN_ENERGY, np.zeros((0, 2)))
    assert front.hypervolume((1.0, 1.0)) == 0.0
    assert not front.dominates((1.0, 1.0))

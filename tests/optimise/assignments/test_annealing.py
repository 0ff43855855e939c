"""Annealing of assignments: against its slow twin, full evaluation, and all assignments of tiny worlds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.kernels.assignments.plans import SPENT, WORTH
from joulewise.kernels.assignments.search import Sweep, anneal_plan
from joulewise.model import Segment, Shape, UtilityShapes, World
from joulewise.optimise.assignments.annealing import _AssignmentSearch, _curves, search_front
from joulewise.optimise.assignments.problem import assignment_facts, evaluated, genes_of
from joulewise.optimise.assignments.seeds import SEEDS
from tests.strategies.cases import cases, each_seed
from tests.strategies.random_assignments import KINDS, later, random_assignment, random_world, tiny_world
from tests.twins.assignments import evaluation as twin
from tests.twins.assignments.search import lanes_of, outcome_of

_anneal: Any = anneal_plan


def search_from_anywhere(world: World, seed: int, drop_below: float) -> _AssignmentSearch:
    """A search whose plan is any assignment."""
    search = _AssignmentSearch(world, drop_below, seed, effort=1.0)
    search._load(genes_of(search.facts, random_assignment(world, seed, is_complete=drop_below == 0)))
    return search


def assert_plan_is_that_of_the_twin(search: _AssignmentSearch) -> None:
    scene, plan = search.scene, search.scene.plan
    slow, lanes = outcome_of(scene), lanes_of(scene)
    assert sorted(i for lane in lanes for i in lane) == list(range(plan.place.size))
    assert plan.totals[WORTH] == pytest.approx(slow.worth, abs=1e-6)
    assert plan.totals[SPENT] == pytest.approx(slow.spent_j, abs=1e-6 * (1 + slow.spent_j))
    for m, lane in enumerate(lanes):
        for k, i in enumerate(lane):
            assert plan.position[i] == k
            assert (plan.place[i] == -1) if m == len(lanes) - 1 else (scene.facts.machine[plan.place[i]] == m)
            if i in slow.end_s:
                assert plan.lanes.free_s[m, k] == pytest.approx(slow.end_s[i], abs=1e-6)


@cases(divided_by=10)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from([0.0, 0.5]))
def test_moves_change_a_plan_by_what_full_evaluation_says(seed: int, kind: str, drop_below: float) -> None:
    search = search_from_anywhere(random_world(seed, kind, most_tasks=20), seed, drop_below)
    per_j = search._per_j(0.3)
    for _ in range(30):
        _anneal(search.state, search.scene, Sweep(3, (per_j, per_j), (0.3, 0.3)))
        assert_plan_is_that_of_the_twin(search)


@cases(divided_by=10)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from([0.0, 0.5]))
def test_what_is_kept_is_a_front(seed: int, kind: str, drop_below: float) -> None:
    search = search_from_anywhere(random_world(seed, kind, most_tasks=20), seed, drop_below)
    per_j = search._per_j(0.01), search._per_j(10.0)
    _anneal(search.state, search.scene, Sweep(3000, per_j, (1.0, 0.01)))
    archive, n = search.scene.archive, int(search.scene.archive.n_kept[0])
    assert sorted(archive.slot.tolist()) == list(range(archive.slot.size))
    assert (np.diff(archive.points[:n, WORTH]) > 0).all()
    assert (np.diff(archive.points[:n, SPENT]) > 0).all()
    for point, genes in zip(archive.points[:n].copy(), archive.genes[archive.slot[:n]], strict=True):
        search._load(genes)
        assert search.scene.plan.totals == pytest.approx(point, abs=1e-6 * (1 + point.max()))


@cases(divided_by=10)
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from([0.0, 0.5]))
def test_every_point_is_evaluated_exactly(seed: int, kind: str, drop_below: float) -> None:
    world = random_world(seed, kind)
    front = search_front(world, drop_below=drop_below, moves=2000, seed=seed)
    assert len(front) == len(front.payload) > 0
    for point, assignment in zip(front.points, front.payload, strict=True):
        assert drop_below > 0 or assignment.runs.all()
        assert point == pytest.approx(twin.evaluate(world, twin.genes_of(assignment), drop_below), rel=1e-9, abs=1e-9)


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_all_assignments_of_tiny_worlds_hold_nothing_better() -> None:
    shares = []
    for seed in range(2, 12):
        world, drop_below = tiny_world(seed, KINDS[seed % len(KINDS)]), 0.5 * (seed % 2)
        exact = twin.exact_front(world, drop_below)
        found = search_front(world, drop_below=drop_below, moves=60_000)
        reference = 1.1 * exact.points[-1, 0] + 1.0, 0.0
        area = exact.hypervolume(reference)
        shares.append(found.hypervolume(reference) / area if area > 0 else 1.0)
    assert max(shares) <= 1 + 1e-9
    assert np.mean(np.array(shares) > 1 - 1e-9) >= 0.8
    assert min(shares) > 0.95


def test_same_seed_same_front() -> None:
    world = random_world(5, "real", most_tasks=30)
    one, same = (search_front(world, moves=4000, seed=3) for _ in range(2))
    assert one.points.tolist() == same.points.tolist()
    assert [a.order.tolist() for a in one.payload] == [a.order.tolist() for a in same.payload]


@pytest.mark.parametrize("drop_below", [0.0, 0.5])
def test_when_the_clock_starts_changes_nothing(drop_below: float) -> None:
    world = later(random_world(6, "real", most_tasks=30), 0.0)
    one, late = (search_front(each, drop_below=drop_below, moves=4000) for each in (world, later(world, 2.0**31)))
    np.testing.assert_allclose(late.points, one.points, rtol=1e-9)


def test_a_table_of_utility_ends_where_nothing_is_left_to_lose() -> None:
    """Not with the last segment of a shape, if that is a thousand times as late; never after all can be done."""
    tail = Shape("tail", (Segment(0.0, 0.0, 1.0, 0.1), Segment(1e5, 0.0, math.exp(-1e4), 0.1)))
    cells = [_curves(UtilityShapes.of([tail]), 1.0, horizon_s).per_s for horizon_s in (1e9, 1e6, 10.0)]
    assert cells == [1 / 0.1, 1 / 0.1, 1 / 0.005]


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("joulewise.optimise.assignments.annealing.MOST_POSITIONS", 0)
    with pytest.raises(InputError, match="tasks times machines"):
        search_front(random_world(1))


def test_nothing_given_is_lost() -> None:
    world = random_world(7, "real", most_tasks=30)
    given_ = [random_assignment(world, seed) for seed in range(20)]
    front = search_front(world, moves=0, start=given_)
    for assignment in given_:
        point = np.array(twin.evaluate(world, twin.genes_of(assignment)))
        assert (front.points <= point + 1e-9 * np.abs(point)).all(axis=1).any()


def test_the_clock_stops_a_search_after_its_whole_course() -> None:
    shares: list[float] = []
    search_front(random_world(5, "real", most_tasks=30), moves=10**12, seconds=0.3, on_progress=shares.append)
    assert shares[-1] == pytest.approx(1.0)
    assert shares == sorted(shares)


@pytest.mark.parametrize("wrong", [{"moves": -1}, {"seconds": 0.0}, {"seconds": math.nan}, {"drop_below": -1.0}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        search_front(random_world(1), **wrong)


@each_seed(4)
def test_no_heuristic_is_better_than_the_front(seed: int) -> None:
    world = random_world(seed)
    front = search_front(world, moves=0)
    for made in SEEDS.values():
        (point,) = evaluated(assignment_facts(world), [made(world, 0.0)])
        assert (front.points <= point).all(axis=1).any()

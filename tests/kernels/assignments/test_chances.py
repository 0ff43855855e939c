"""Chances: how gamma distributions and measured samples become points, and samples of assignments against a twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc

from joulewise.check.assignments.chances import objective_of, run_samples, search_draws
from joulewise.errors import InputError
from joulewise.kernels.assignments.chances import evaluate_chances, fill_latest, ranked, room_for_samples
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.model.assignment import Assignment
from joulewise.model.chances import Chances
from joulewise.optimise.assignments.choices import DropBy, StochasticObjective
from joulewise.optimise.assignments.problem import assignment_facts, evaluated, genes_of
from joulewise.optimise.assignments.stochastic import chance_facts
from joulewise.worlds.assignments.chance_tables import read_chances, slice_means
from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances, spread
from tests.strategies.random_assignments import KINDS, random_assignment, random_world

pytestmark = pytest.mark.thorough("compiles the kernels of uncertain times")

_evaluate: Any = evaluate_chances
_latest: Any = fill_latest
_SAMPLED: tuple[StochasticObjective, ...] = ("mean-completions", "expected", "percentile")
_DROP_BY: tuple[DropBy, ...] = ("sampled", "expected")


@pytest.mark.parametrize("cov", [0.001, 0.1, 0.5, 1.0, 1.5, 3.0])
def test_points_keep_the_mean_and_most_of_the_variance(cov: float) -> None:
    points = spread(np.array([100.0]), np.array([cov]), 64)[0]
    assert points.mean() == pytest.approx(100.0, rel=1e-12)
    assert 0.9 < points.std() / (100.0 * cov) < 1.0
    assert (np.diff(points) > 0).all()
    assert (points > 0).all()


def test_a_point_is_the_mean_of_its_slice() -> None:
    points = spread(np.array([2.0]), np.array([1.0]), 4)[0]
    edges = -2.0 * np.log(1.0 - np.arange(4) / 4)
    expected = [
        4 * 2.0 * (gammainc(2, high / 2) - gammainc(2, low / 2)) for low, high in zip(edges, [*edges[1:], np.inf])
    ]
    assert points == pytest.approx(expected)


def test_without_variation_everything_is_certain() -> None:
    world = random_world(1)
    chances = gamma_chances(world.system, ChanceParameters((0.0, 0.0), (0.0, 0.0), 3), 0, 0)
    assert (chances.time_s == world.system.etc_s[..., None]).all()


def test_seeds_and_trials_have_their_own_chances() -> None:
    system = random_world(1).system
    drawn = [gamma_chances(system, ChanceParameters(), *each).time_cov for each in ((0, 0), (0, 0), (1, 0), (0, 1))]
    first, again, other_seed, other_trial = (np.asarray(cov) for cov in drawn)
    assert (first == again).all()
    assert (first != other_seed).any()
    assert (first != other_trial).any()
    assert ((first >= 0.1) & (first <= 1.5)).all()


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"time_cov": (0.5, 0.1)}, "system.time_cov"),
        ({"time_cov": (-0.5, 0.1)}, "system.time_cov"),
        ({"power_cov": (0.1, 50.0)}, "system.power_cov"),
        ({"power_cov": (0.1, float("nan"))}, "system.power_cov"),
        ({"points": 0}, "system.points"),
        ({"points": 257}, "system.points"),
    ],
)
def test_absurd_parameters_are_refused(values: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=name):
        ChanceParameters(**values)


def test_chances_need_powers() -> None:
    system = System(("a",), ("m",), np.array([1]), np.array([[[1.0]]]))
    with pytest.raises(InputError, match="found no powers"):
        gamma_chances(system, ChanceParameters(), 0, 0)


def test_slices_of_samples_keep_the_mean() -> None:
    assert slice_means(np.array([1.0, 2.0, 3.0, 10.0]), 2) == pytest.approx([1.5, 6.5])
    assert slice_means(np.array([1.0, 4.0]), 3) == pytest.approx([1.0, 2.5, 4.0])


def _two_by_two() -> System:
    times_s = np.array([[[2.0], [4.0]], [[3.0], [np.inf]]])
    return System(("a", "b"), ("m", "n"), np.array([1, 1]), times_s, np.full((2, 2, 1), 10.0))


def test_measured_samples_become_points_and_means(tmp_path: Path) -> None:
    rows = "task_type,machine_type,time_s,power_w\na,m,1,5\na,m,3,7\na,m,5,30\n"
    (tmp_path / "samples.csv").write_text(rows)
    chances, system = read_chances("samples.csv", _two_by_two(), tmp_path, points=3)
    assert chances.time_s[0, 0, 0] == pytest.approx([1.0, 3.0, 5.0])
    assert chances.power_w[0, 0, 0] == pytest.approx([5.0, 7.0, 30.0])
    assert system.etc_s[:, :, 0].tolist() == [[3.0, 4.0], [3.0, np.inf]]
    assert system.power_w is not None
    assert system.power_w[0, :, 0].tolist() == [14.0, 10.0]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("c,m,1,5", "found 'c'"),
        ("b,n,1,5", "must be able to run"),
        ("a,m,0,5", "must be a finite number above 0"),
        ("a,m,1,-5", "must be a finite number of 0 or more"),
    ],
)
def test_wrong_samples_are_located(tmp_path: Path, row: str, words: str) -> None:
    (tmp_path / "samples.csv").write_text(f"task_type,machine_type,time_s,power_w\n{row}\n")
    with pytest.raises(InputError, match=words) as caught:
        read_chances("samples.csv", _two_by_two(), tmp_path)
    assert "line 2" in str(caught.value)


@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.sampled_from(_SAMPLED),
    st.sampled_from(_DROP_BY),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([1, 2, 7, 20]),
    st.tuples(st.integers(1, 100), st.integers(1, 100)),
)
def test_samples_agree_with_the_twin(
    seed: int,
    kind: str,
    objective: StochasticObjective,
    drop_by: DropBy,
    drop_below: float,
    n_samples: int,
    percentile: tuple[int, int],
) -> None:
    world = random_world(seed, kind)
    chances = gamma_chances(world.system, ChanceParameters(points=8), seed, 0)
    facts = chance_facts(
        world, chances, objective=objective, percentile=percentile, n_samples=n_samples, drop_below=drop_below,
        drop_by=drop_by, seed=seed,
    )  # fmt: skip
    assignment = random_assignment(world, seed, is_complete=False)
    points = _points(facts, assignment)
    by_mean = drop_by == "expected" or objective == "mean-completions"
    draws = search_draws(world, chances, assignment, n_samples, seed)
    totals = run_samples(world, assignment, draws, drop_below, by_mean)
    energy_j, utility = objective_of(totals, objective, percentile)
    assert points[0].tolist() == pytest.approx([energy_j, -utility], rel=1e-5, abs=1e-5)


def _points(facts: Any, assignment: Assignment) -> Floats:
    points, genes = np.zeros((1, 2)), genes_of(facts.facts, assignment)[:, None]
    _evaluate(facts, room_for_samples(facts), genes, np.arange(1), points)
    return points


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from([0.25, 0.5, 1.0, 4.0]))
def test_latest_ends_are_where_utility_falls_below_the_limit(seed: int, kind: str, drop_below: float) -> None:
    world = random_world(seed, kind)
    work, latest_s = world.workload, np.zeros(world.workload.n_tasks, np.float32)
    _latest(assignment_facts(world, drop_below), latest_s)
    for i, found in enumerate(latest_s.astype(np.float64).tolist()):
        start = work.scale[i] * work.shapes.value(work.shape[i], 0.0)
        if found == -np.inf:
            assert start < drop_below
        elif found < np.inf:
            assert work.scale[i] * work.shapes.value(work.shape[i], found) >= drop_below
            assert work.scale[i] * work.shapes.value(work.shape[i], found * (1 + 1e-5) + 1e-6) < drop_below


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.data())
def test_ranks_are_those_of_sorted_values(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(values) - 1))
    assert ranked.py_func(np.array(values, np.float64), len(values), k) == sorted(values)[k]  # type: ignore[attr-defined]


def test_certain_chances_give_what_mean_times_give() -> None:
    world = random_world(5, "whole")
    chances = Chances(world.system.etc_s[..., None], np.asarray(world.system.power_w)[..., None])
    facts = chance_facts(world, chances, objective="expected", drop_below=0.0, n_samples=1)
    assignment = random_assignment(world, 3)
    assert _points(facts, assignment) == pytest.approx(evaluated(facts.facts, [assignment]), rel=1e-5)

"""Populations: saved and loaded whole, gone on with exactly, and refused where they do not belong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.errors import InputError
from joulewise.model import Bag
from joulewise.optimise.assignments.problem import AssignmentProblem
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.bags.seeds import min_energy
from joulewise.optimise.evolution import Evolution, evolve
from joulewise.optimise.population import Population, fingerprint_of
from tests.strategies.evolving import grouped
from tests.strategies.random_assignments import KINDS, random_world
from tests.strategies.random_bags import random_bag


def bag_of(seed: int = 5, kind: str = "real") -> Bag:
    return random_bag(seed, kind, most_tasks=20)


def evolved(bag: Bag, generations: int, start: Population | None = None, **options: Any) -> Evolution:
    seeds = [] if start else [min_energy(bag)]
    size = None if start else 10
    return evolve(BagProblem(bag), seeds, generations=generations, population=size, start=start, **grouped(**options))


def assert_equal(one: Population, other: Population) -> None:
    for field in fields(Population):
        found, expected = getattr(one, field.name), getattr(other, field.name)
        assert np.array_equal(found, expected), field.name
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("ranks", ["peeling", "dominators"])
@pytest.mark.parametrize(("seed", "kind"), [(5, "real"), (2, "equal columns")])
def test_a_stop_on_the_way_changes_nothing(seed: int, kind: str, ranks: Any, archive: bool, tmp_path: Path) -> None:
    bag, options = bag_of(seed, kind), {"ranks": ranks, "archive": archive}
    at_once = evolved(bag, 30, snapshots=(15, 30), **options)
    evolved(bag, 10, **options).population.save(tmp_path / "first.npz")
    start = Population.load(tmp_path / "first.npz")
    later = evolved(bag, 20, start, snapshots=(0, 5, 20), **options)
    assert_equal(later.population, at_once.population)
    assert later.population.generation == 30
    assert later.front.points.tolist() == at_once.front.points.tolist()
    assert [a.counts.tolist() for a in later.front.payload] == [a.counts.tolist() for a in at_once.front.payload]
    assert later.snapshots[5].points.tolist() == at_once.snapshots[15].points.tolist()
    assert later.snapshots[20].points.tolist() == at_once.snapshots[30].points.tolist()
    assert set(later.snapshots) == {0, 5, 20}


@pytest.mark.thorough("searches twice")
@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.sampled_from([0.0, 0.5]), st.integers(0, 12))
def test_a_stop_changes_nothing_for_assignments(seed: int, kind: str, drop_below: float, first: int) -> None:
    problem = AssignmentProblem(random_world(seed, kind), drop_below)
    at_once = evolve(problem, generations=12, population=8, seed=seed).population
    start = evolve(problem, generations=first, population=8, seed=seed).population
    assert_equal(evolve(problem, generations=12 - first, start=start).population, at_once)


def test_going_on_for_no_generation_changes_nothing() -> None:
    start = evolved(bag_of(), 12).population
    assert_equal(evolved(bag_of(), 0, start).population, start)


def test_an_archive_can_begin_later_and_be_given_up() -> None:
    without = evolved(bag_of(), 10, archive=False).population
    assert not without.has_archive
    later = evolved(bag_of(), 10, without, archive=True).population
    assert later.has_archive
    assert later.points.tolist() == evolved(bag_of(), 20).population.points.tolist()
    assert not evolved(bag_of(), 0, later, archive=False).population.has_archive


def test_what_a_front_stands_for_can_be_the_seeds_of_another_study() -> None:
    first = evolved(bag_of(), 30).front
    other = evolve(BagProblem(bag_of()), first.payload, generations=0, population=2 * len(first), seed=9)
    assert other.front.points.tolist() == first.points.tolist()


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    population = evolved(bag_of(), 7).population
    path = tmp_path / "new folder" / "population"
    population.save(path)
    population.save(path)
    assert [found.name for found in path.parent.iterdir()] == ["population"]
    assert_equal(Population.load(path), population)


def test_islands_are_joined_and_taken_apart() -> None:
    islands = [evolved(bag_of(), 7, seed=seed).population for seed in range(3)]
    together = Population.joined(islands)
    assert (together.n_islands, together.size) == (3, 10)
    for number, island in enumerate(islands):
        assert_equal(together.island(number), island)


@given(st.integers(0, 10**6), st.sampled_from(["cut", "other byte"]))
def test_a_damaged_file_is_refused(saved: bytes, path: Path, seed: int, damage: str) -> None:
    """Zip files hold a few bytes that mean nothing; a change there gives back the same population."""
    at = seed % len(saved)
    path.write_bytes(saved[:at] if damage == "cut" else saved[:at] + bytes([saved[at] ^ 0xFF]) + saved[at + 1 :])
    if damage == "cut":
        with pytest.raises(InputError, match=path.name):
            Population.load(path)
    else:
        with suppress(InputError):
            assert_equal(Population.load(path), evolved(bag_of(), 3).population)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("population") / "population.npz"


@pytest.fixture(scope="module")
def saved(path: Path) -> bytes:
    evolved(bag_of(), 3).population.save(path)
    return path.read_bytes()


def other_files(folder: Path) -> dict[str, Path]:
    names = ("missing", "empty", "text", "array", "arrays", "objects")
    paths = {name: folder / f"{name}.npz" for name in names} | {"folder": folder}
    paths["empty"].touch()
    paths["text"].write_text("energy_j,utility\n")
    with paths["array"].open("wb") as file:
        np.save(file, np.arange(3))
    np.savez(paths["arrays"], genes=np.arange(3))
    np.savez(paths["objects"], states=np.array([{}]), allow_pickle=True)
    return paths


@pytest.mark.parametrize("name", ["missing", "empty", "text", "array", "arrays", "objects", "folder"])
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    path = other_files(tmp_path)[name]
    with pytest.raises(InputError, match="population") as caught:
        Population.load(path)
    assert str(path) in str(caught.value)


def test_a_population_of_another_study_is_refused() -> None:
    start = evolved(bag_of(5), 3).population
    with pytest.raises(InputError, match="another study"):
        evolved(bag_of(6), 3, start)


@pytest.mark.parametrize(
    ("options", "word"),
    [({"population": 12}, "must be 10"), ({"seeds": [0]}, "one or the other"), ({"population": 11}, "even")],
)
def test_what_does_not_go_with_a_population_is_refused(options: dict[str, Any], word: str) -> None:
    start = evolved(bag_of(), 3).population
    with pytest.raises(InputError, match=word):
        evolve(BagProblem(bag_of()), generations=3, start=start, **options)


def test_a_population_of_several_islands_is_refused() -> None:
    island = evolved(bag_of(), 3).population
    with pytest.raises(InputError, match="2 islands"):
        evolved(bag_of(), 3, Population.joined([island, island]))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"points": np.zeros((3, 2))}, "points"),
        ({"points": np.full((10, 2), np.nan)}, "finite"),
        ({"genes": np.zeros((1, 9, 4))}, "genes"),
        ({"rows": np.zeros((1, 20))}, "rows"),
        ({"rows": np.arange(20)}, "rows"),
        ({"states": np.zeros(0)}, "states|rows"),
        ({"archive_sizes": [99]}, "archive"),
        ({"archive_sizes": [-1]}, "0 or more"),
        ({"generation": -1}, "generation"),
    ],
)
def test_a_population_that_is_none_is_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        replace(evolved(bag_of(), 1).population, **change)


def test_equal_problems_have_the_same_fingerprint() -> None:
    prints = [BagProblem(bag_of(seed)).fingerprint for seed in (5, 5, 6, 7)]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    bag = bag_of()
    assert BagProblem(Bag(bag.system, bag.counts[::-1])).fingerprint != BagProblem(bag).fingerprint


def test_fingerprints_tell_facts_apart() -> None:
    facts: list[tuple[Any, ...]] = [
        (1, 2),
        ((1, 2),),
        ((1,), 2),
        (1, 2.0),
        ("1", 2),
        (np.array([1, 2]),),
        (np.array([[1, 2]]),),
    ]
    facts += [(np.array([1, 2], np.int32),), (12,), (), ((),), ("a", "b"), ("ab",)]
    assert len({fingerprint_of(*fact) for fact in facts}) == len(facts)
    assert fingerprint_of(np.arange(9)[::3]) == fingerprint_of(np.array([0, 3, 6]))

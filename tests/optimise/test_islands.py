"""Evolution on islands: the same whatever processes do it, and none of them stays behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.errors import InputError, JoulewiseError, Problem
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.bags.seeds import min_energy
from joulewise.optimise.evolution import Evolution, Herd, evolve, founders
from joulewise.optimise.front import front_of, non_dominated
from joulewise.optimise.islands import evolve_islands
from joulewise.optimise.population import Population
from joulewise.optimise.ways import Ways
from tests.strategies.evolving import grouped
from tests.strategies.random_bags import random_bag

BAG = random_bag(5, "real", most_tasks=20)
PROBLEM = partial(BagProblem, BAG)
ROOT = Path(__file__).parents[2]


def evolved(make_problem: Any = PROBLEM, **options: Any) -> Evolution:
    chosen = {"generations": 45, "population": 10, "islands": 3, "exchange_every": 10, "workers": 1} | options
    return evolve_islands(make_problem, [] if "start" in options else [min_energy(BAG)], **grouped(**chosen))


def assert_equal(one: Population, other: Population) -> None:
    for field in fields(Population):
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name


def in_another_process() -> bool:
    return multiprocessing.parent_process() is not None


def refused() -> BagProblem:
    """A problem that only this process can make."""
    if in_another_process():
        raise InputError(Problem("bag", "found in another process"))
    return BagProblem(BAG)


class Mortal(BagProblem):
    """A problem that ends every other process that makes it."""

    def __init__(self) -> None:
        if in_another_process():
            os._exit(9)
        super().__init__(BAG)


# --- what is found ----------------------------------------------------------------------------------------


@pytest.mark.thorough("starts processes and takes seconds")
def test_the_number_of_processes_changes_nothing() -> None:
    told: list[int] = []
    one = evolved(snapshots=(0, 7, 45), on_progress=told.append)
    two = evolved(snapshots=(0, 7, 45), workers=2)
    assert_equal(one.population, two.population)
    assert one.front.points.tolist() == two.front.points.tolist()
    for generation, front in one.snapshots.items():
        assert front.points.tolist() == two.snapshots[generation].points.tolist()
    assert set(one.snapshots) == {0, 7, 45}
    assert told == [10, 20, 30, 40, 45]
    assert (one.engine, two.engine) == ("one core", "2 cores")
    assert one.is_deterministic
    assert multiprocessing.active_children() == []


def test_one_island_is_as_if_there_were_none() -> None:
    alone = evolve(BagProblem(BAG), [min_energy(BAG)], generations=45, population=10)
    assert_equal(evolved(islands=1, workers=None).population, alone.population)


@pytest.mark.parametrize("first", [10, 17])
def test_a_stop_on_the_way_changes_nothing(first: int, tmp_path: Path) -> None:
    evolved(generations=first).population.save(tmp_path / "islands.npz")
    start = Population.load(tmp_path / "islands.npz")
    assert_equal(evolved(generations=45 - first, population=None, start=start).population, evolved().population)


def test_the_front_is_that_of_all_islands() -> None:
    found = evolved()
    apart = [found.population.island(number).archive_points for number in range(3)]
    assert found.front.points.tolist() == front_of(np.concatenate(apart)).points.tolist()
    for point, allocation in zip(found.front.points, found.front.payload, strict=True):
        assert point.tolist() == pytest.approx([allocation.makespan_s, allocation.energy_j], rel=1e-12)
    assert found.snapshots == {}
    without = evolved(archive=False)
    assert without.front.points.tolist() == front_of(without.population.points).points.tolist()


@pytest.mark.thorough("searches three times in processes")
def test_islands_differ_and_exchanges_matter() -> None:
    population = evolved().population
    assert len(set(population.states.tolist())) == 3
    apart = evolved(exchange_every=100).population
    assert apart.island(0).points.tolist() == evolved(islands=1).population.points.tolist()
    assert population.points.tolist() != apart.points.tolist()
    assert population.points.tolist() != evolved(n_exchanged=1).population.points.tolist()


def test_the_clock_stops() -> None:
    stopped = evolved(generations=10**9, seconds=0.05)
    assert 0 < stopped.n_generations < 10**9
    assert stopped.n_generations % 10 == 0
    assert not stopped.is_deterministic


# --- who moves --------------------------------------------------------------------------------------------


def herd_of(seed: int, n: int = 10) -> Herd:
    problem = BagProblem(BAG)
    return Herd(problem, founders(problem, [], n, seed), Ways())


@pytest.mark.parametrize("n", [1, 3, 50])
def test_the_best_leave(n: int) -> None:
    herd = herd_of(0)
    points, genes = herd.emigrants(n)
    own = herd.chromosomes.points[:10]
    best = own[non_dominated(own)].tolist()
    assert len(points) == min(n, len(best))
    assert all(point in best for point in points.tolist())
    home = herd.problem.chromosomes(genes.copy())
    home.evaluate(len(points))
    assert home.points.tolist() == points.tolist()
    assert herd.emigrants(n)[0].tolist() == points.tolist()


def test_the_best_of_residents_and_immigrants_stay() -> None:
    herd, other = herd_of(0), herd_of(1)
    before, points = herd.population(), other.emigrants(10)[0]
    herd.welcome(other.emigrants(10))
    after = herd.population()
    together = np.concatenate([before.points, points])
    assert all(point in after.points.tolist() for point in together[non_dominated(together)].tolist())
    assert all(point in together.tolist() for point in after.points.tolist())
    assert after.states.tolist() == before.states.tolist()


def test_immigrants_like_residents_change_nothing() -> None:
    herd = herd_of(0)
    for _ in range(5):
        herd.step()
    before = herd.population()
    herd.welcome(herd.emigrants(10))
    assert_equal(herd.population(), before)


# --- what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"islands": 0}, "islands"),
        ({"exchange_every": 0}, "exchange_every"),
        ({"n_exchanged": 0}, "n_exchanged"),
        ({"workers": 0}, "workers"),
        ({"population": 1}, "even"),
        ({"mutation": float("nan")}, "probability"),
        ({"make_problem": lambda: BagProblem(BAG)}, "function or class of a module"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        evolved(**options)


def test_a_population_of_other_islands_is_refused() -> None:
    start = evolved(generations=1).population
    with pytest.raises(InputError, match="must be of 2"):
        evolved(islands=2, start=start)


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.parametrize(
    ("make", "error", "word"), [(refused, InputError, "another"), (Mortal, JoulewiseError, "died")]
)
def test_what_goes_wrong_in_a_process_is_told(make: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        evolved(make, workers=2)
    assert multiprocessing.active_children() == []


SCRIPT = """
from functools import partial
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.islands import Archipelago, evolve_islands
from tests.strategies.random_bags import random_bag

bag = random_bag(5, "real", most_tasks=20)
tell = lambda generation: print(generation, flush=True)
two = Archipelago(2, workers=2)
evolve_islands(partial(BagProblem, bag), generations=10**9, archipelago=two, population=10, on_progress=tell)
"""


@pytest.mark.thorough("starts a script that starts processes")
def test_ctrl_c_ends_a_script_and_its_processes(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, str(tmp_path / "script.py")]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline().strip() == "50"
        os.killpg(script.pid, signal.SIGINT)  # a terminal sends it to all processes
        _, said = script.communicate(timeout=60)
    assert script.returncode in (-signal.SIGINT, 130), said
    for _ in range(100):
        if not has_members(script.pid):
            return
        time.sleep(0.1)
    pytest.fail("processes stayed behind")


def has_members(group: int) -> bool:
    """Whether a group has processes."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True

"""Fronts of energy and utility: annealing beside the bound, NSGA-II and pymoo, and 100 samples on cores and on a GPU.

The groups for a GPU run on a machine that has NumPy, SciPy, Numba and CuPy and nothing else: what needs more is
imported where it is used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from benchmarks.measure import Bar, Case, Subject, peak_mb, printed_by
from joulewise.model import World
from joulewise.model.arrays import Floats
from joulewise.model.assignment import Assignment
from joulewise.optimise.assignments.choices import StochasticObjective
from joulewise.optimise.assignments.problem import AssignmentProblem
from joulewise.optimise.assignments.stochastic import StochasticProblem
from joulewise.optimise.evolution import Engine, GeneticProblem, evolve
from joulewise.optimise.front import Front
from joulewise.worlds.assignments.known import KnownParameters, generate_known

TABLE_5_3 = (2, 3, 3, 3, 2, 4, 2, 5, 2)
MEAN_ETC_S = 90.0
SEEDS = 5
SEARCH_S, QUICK_S = 30.0, 2.0
MOST_MOVES = 10**12
SHARE = 0.9
"""Of its time annealing is told to take so much: to begin with and to evaluate the front in the end takes the rest."""
GENERATIONS = 10_000
PEER_GENERATIONS = 1000

N_SAMPLES = 100
CORES = 2
DROP_BELOW = 0.5
LONGEST_S = 1500.0
"""After so many seconds the stochastic run on cores is ended: its bar is missed by then."""

OBJECTIVES: tuple[StochasticObjective, ...] = ("mean-times", "mean-completions", "expected", "percentile")


def heuristic_seeds(world: World, drop_below: float) -> list[Assignment]:
    """The assignments of all heuristics."""
    from joulewise.optimise.assignments.seeds import SEEDS as HEURISTICS

    return [made(world, drop_below) for made in HEURISTICS.values()]


# Without chances


def data_set_3(case: Case, trial: int = 0) -> World:
    """4000 tasks within an hour on 30 machines of 13 types (Friese 5.5.1), 1.5 min long in the mean."""
    from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines

    parameters = NineMachineParameters(
        counts=TABLE_5_3, special_counts=(1, 1, 1, 1), task_types=30, mean_etc_s=MEAN_ETC_S
    )
    system = generate_nine_machines(parameters, case.seed)
    n_tasks, span_s = (200, 180.0) if case.smoke else (4000, 3600.0)
    return World(system, generate_known(KnownParameters(n_tasks=n_tasks, span_s=span_s), system, case.seed, trial))


class Annealed(NamedTuple):
    """A front, and how long it took, by the clock and on the core."""

    front: Front
    wall_s: float
    core_s: float


def _annealed(world: World, seconds: float, seed: int) -> Annealed:
    from joulewise.optimise.assignments.annealing import search_front

    began, began_core = time.perf_counter(), time.process_time()
    found = search_front(world, moves=MOST_MOVES, seconds=seconds, seed=seed)
    return Annealed(found, time.perf_counter() - began, time.process_time() - began_core)


def search(case: Case) -> dict[str, float]:
    """Percent of the certified hypervolume that annealing reaches in 30 s of one core, median of five worlds."""
    from joulewise.optimise.assignments.bound import front_bound

    _annealed(data_set_3(case), 0.1, case.seed)  # loads the kernels
    found, bounds, bound_s = [], [], []
    for trial in range(1 if case.smoke else SEEDS):
        world = data_set_3(case, trial)
        began = time.perf_counter()
        bounds.append(front_bound(world))
        bound_s.append(time.perf_counter() - began)
        found.append(_annealed(world, 0.2 if case.smoke else SHARE * SEARCH_S, case.seed + trial))
    shares = [100 * bound.share(annealed.front) for bound, annealed in zip(bounds, found, strict=True)]
    return {
        "search.hypervolume_percent": median(shares),
        "search.least_hypervolume_percent": min(shares),
        "search.bound_percent_of_area": median(100 * bound.hypervolume / bound.area for bound in bounds),
        "search.bound_s": median(bound_s),
        "search.slowest_s": max(annealed.wall_s for annealed in found),
        "search.slowest_core_s": max(annealed.core_s for annealed in found),
    }


def genetic(case: Case) -> dict[str, float]:
    """What 10,000 generations of NSGA-II reach from all its seeds, how long that takes, and annealing in 2 s."""
    from joulewise.optimise.assignments.bound import front_bound

    world = data_set_3(case)
    bound, problem, seeds = front_bound(world), AssignmentProblem(world), heuristic_seeds(world, 0.0)
    evolve(problem, seeds, generations=2, seed=case.seed)  # loads the kernels
    evolved = evolve(problem, seeds, generations=20 if case.smoke else GENERATIONS, seed=case.seed)
    _annealed(world, 0.1, case.seed)
    quick = [
        _annealed(world, 0.2 if case.smoke else SHARE * QUICK_S, seed)
        for seed in range(case.seed, case.seed + (1 if case.smoke else SEEDS))
    ]
    shares, reached = [100 * bound.share(annealed.front) for annealed in quick], 100 * bound.share(evolved.front)
    return {
        "genetic.generations": evolved.n_generations,
        "genetic.generations_per_s": evolved.generations_per_s,
        "genetic.s": evolved.n_generations / evolved.generations_per_s,
        "genetic.hypervolume_percent": reached,
        "genetic.quick_search_percent": median(shares),
        "genetic.least_quick_search_percent": min(shares),
        "genetic.quick_search_slowest_s": max(annealed.wall_s for annealed in quick),
        "genetic.quick_search_ahead_points": min(shares) - reached,
    }


def peer(case: Case) -> dict[str, float]:
    """How many times as many generations a second as pymoo, with the same seeds, evaluation and operators.

    The populations are those that Friese 5.6 shows, a random one and those with one seed each; that with all seeds,
    in which chromosomes stay more different and children inherit less, is told apart.
    """
    world = data_set_3(case)
    problem, heuristics = AssignmentProblem(world), heuristic_seeds(world, 0.0)
    evolve(problem, heuristics, generations=2, seed=case.seed)  # loads the kernels
    shown = [_beside_pymoo(problem, seeds, case) for seeds in ([], *([seed] for seed in heuristics))]
    with_all = _beside_pymoo(problem, heuristics, case)
    return {
        "peer.generations_per_s": median(ours for ours, _ in shown),
        "peer.pymoo_generations_per_s": median(theirs for _, theirs in shown),
        "peer.over_pymoo": median(ours / theirs for ours, theirs in shown),
        "peer.least_over_pymoo": min(ours / theirs for ours, theirs in shown),
        "peer.over_pymoo_with_all_seeds": with_all[0] / with_all[1],
    }


def _beside_pymoo(problem: AssignmentProblem, seeds: Sequence[Assignment], case: Case) -> tuple[float, float]:
    """Generations a second of ours and of pymoo's from the same seeds."""
    from benchmarks.peers import evolve_assignments_with_pymoo

    n = 5 if case.smoke else PEER_GENERATIONS
    ours = evolve(problem, seeds, generations=n, seed=case.seed).generations_per_s
    return ours, evolve_assignments_with_pymoo(problem, seeds, n, seed=case.seed).generations_per_s


# With chances


def chapter_7(case: Case) -> World:
    """About 6000 tasks of 100 types within 4 h on 100 machines of 13 types with three P-states (Friese 7.3)."""
    from joulewise.worlds.environment import SystemParameters, generate_system

    system = generate_system(SystemParameters(pstates=3), case.seed, 0)
    n_tasks, span_s = (300, 720.0) if case.smoke else (6000, 4 * 3600.0)
    parameters = KnownParameters(n_tasks=n_tasks, span_s=span_s, pattern="rates")
    return World(system, generate_known(parameters, system, case.seed, 0))


def uncertain(case: Case, world: World, objective: StochasticObjective, threads: int = 1) -> GeneticProblem:
    """Chapter 7's problem: times and powers of gamma distributions, 100 samples."""
    from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances

    return StochasticProblem(
        world,
        gamma_chances(world.system, ChanceParameters(), case.seed, 0),
        objective=objective,
        n_samples=N_SAMPLES,
        drop_below=DROP_BELOW,
        seed=case.seed,
        threads=threads,
    )


def tell_evolution(
    case: Case, engine: Engine, objective: StochasticObjective, generations: int, threads: int = 1
) -> None:
    """Print seconds of evolution, generations and how many a second, points of the front, and the most MB held."""
    world = chapter_7(case)
    problem, seeds = uncertain(case, world, objective, threads), heuristic_seeds(world, DROP_BELOW)
    began = time.perf_counter()
    found = evolve(problem, seeds, generations=generations, seed=case.seed, engine=engine, seconds=LONGEST_S)
    taken_s = time.perf_counter() - began
    print(taken_s, found.n_generations, found.generations_per_s, len(found.front), peak_mb())


def _evolved(
    case: Case, engine: Engine, objective: StochasticObjective, generations: int, threads: int = 1
) -> list[float]:
    """What `tell_evolution` prints in a fresh process."""
    return printed_by(
        f"""
from benchmarks.fronts import Case, tell_evolution
tell_evolution({case!r}, {engine!r}, {objective!r}, {generations}, {threads})
""",
        case,
    )


def stochastic(case: Case) -> dict[str, float]:
    """Minutes of 10,000 generations with percentiles of 100 samples on two cores, and with other objectives a few."""
    pace = {
        f"stochastic.{objective}_ms_per_generation": _ms_per_generation(case, objective) for objective in OBJECTIVES
    }  # fills the kernel cache
    taken_s, done, per_s, n_points, peak_mb = _evolved(
        case, "cores", "percentile", 4 if case.smoke else GENERATIONS, CORES
    )
    return {
        **pace,
        "stochastic.minutes": taken_s / 60,
        "stochastic.generations": done,
        "stochastic.generations_per_s": per_s,
        "stochastic.points": n_points,
        "stochastic.peak_mb": peak_mb,
    }


def _ms_per_generation(case: Case, objective: StochasticObjective) -> float:
    """Milliseconds of a generation on two cores, of the first few."""
    world = chapter_7(case)
    problem, seeds = uncertain(case, world, objective, CORES), heuristic_seeds(world, DROP_BELOW)
    evolve(problem, seeds, generations=1, seed=case.seed)
    return 1e3 / evolve(problem, seeds, generations=2 if case.smoke else 50, seed=case.seed).generations_per_s


def gpu(case: Case) -> dict[str, float]:
    """Seconds of 10,000 generations on a GPU in a fresh process, transfers included, from a filled kernel cache."""
    figures: dict[str, float] = {}
    for objective in OBJECTIVES[1:]:
        _evolved(case, "gpu", objective, 2)  # fills the kernel cache
        began = time.perf_counter()
        taken_s, done, per_s, n_points, peak_mb = _evolved(case, "gpu", objective, 20 if case.smoke else GENERATIONS)
        figures |= {
            f"gpu.{objective}_s": taken_s,
            f"gpu.{objective}_whole_process_s": time.perf_counter() - began,
            f"gpu.{objective}_generations": done,
            f"gpu.{objective}_generations_per_s": per_s,
            f"gpu.{objective}_points": n_points,
            f"gpu.{objective}_peak_mb": peak_mb,
        }
    return figures


def agreement(case: Case) -> dict[str, float]:
    """How far the GPU's evaluations of the assignments it found are off those of cores, relative, by objective."""
    world, figures = chapter_7(case), {}
    seeds = heuristic_seeds(world, DROP_BELOW)
    for objective in OBJECTIVES:
        problem = uncertain(case, world, objective)
        found = evolve(problem, seeds, generations=10 if case.smoke else 200, seed=case.seed, engine="gpu").front
        off = np.abs(found.points / _on_cores(problem, found.payload) - 1)
        figures[f"agreement.{objective}_energy"], figures[f"agreement.{objective}_utility"] = off.max(axis=0)
    return {**figures, "agreement.worst": max(figures.values())}


def _on_cores(problem: GeneticProblem, assignments: Sequence[Assignment]) -> Floats:
    """The points of assignments, evaluated on cores."""
    home = problem.chromosomes(np.stack([problem.genes_of(assignment) for assignment in assignments], axis=1))
    home.evaluate(len(assignments))
    return home.points


SUBJECT = Subject(
    name="fronts",
    groups={"search": search, "genetic": genetic, "peer": peer, "stochastic": stochastic},
    bars=(
        Bar("annealing on one core, % of the certified hypervolume", "search.hypervolume_percent", "at least", 95.0),
        Bar("seconds of that annealing", "search.slowest_s", "at most", SEARCH_S),
        Bar(
            "the worst of five annealings in 2 s ahead of 10,000 generations of NSGA-II, in points of hypervolume",
            "genetic.quick_search_ahead_points", "at least", 0.0,
        ),
        Bar("seconds of these annealings", "genetic.quick_search_slowest_s", "at most", QUICK_S),
        Bar("generations a second over pymoo's", "peer.over_pymoo", "at least", 4.0),
        Bar("10,000 generations of percentiles of 100 samples, min on 2 cores", "stochastic.minutes", "at most", 20.0),
        Bar("all of these generations done", "stochastic.generations", "at least", GENERATIONS),
        Bar("memory of that process in MB", "stochastic.peak_mb", "at most", 2000.0),
        Bar("10,000 generations of percentiles of 100 samples, s on a GPU", "gpu.percentile_s", "at most", 5.0),
        Bar("memory of the host meanwhile in MB", "gpu.percentile_peak_mb", "at most", 2000.0),
        Bar("evaluations on the GPU off those on cores, relative", "agreement.worst", "at most", 1e-4),
    ),
    gpu_groups={"gpu": gpu, "agreement": agreement},
)  # fmt: skip

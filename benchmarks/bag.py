"""Bags of tasks: the whole bound front, maximum profit, and fronts of energy against makespan, beside their peers."""

from __future__ import annotations

import time
from functools import partial
from statistics import median

import numpy as np

from benchmarks.measure import Bar, Case, Subject, seconds
from benchmarks.peers import evolve_with_pymoo, most_profit_as_published
from joulewise.model import Bag, System
from joulewise.optimise.bags.annealing import corners_of, improve
from joulewise.optimise.bags.bound import bound_at, bound_front
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.bags.profit import Profit, most_profit, price_at_ratio
from joulewise.optimise.bags.recovery import recover
from joulewise.optimise.bags.seeds import min_energy, min_min_completion_time
from joulewise.optimise.evolution import evolve
from joulewise.optimise.front import nadir_reference
from joulewise.worlds.bags.bag import BagParameters, generate_bag
from joulewise.worlds.cov_system import CovSystemParameters, generate_cov_system
from joulewise.worlds.nine_machines import NineMachineParameters, generate_nine_machines

COST_PER_J = 0.10 / 3.6e6
RATIOS = (1.01, 1.2, 1.5)
SIZES = (10_000, 1_000_000, 100_000_000)
PUBLISHED_MS = {10_000: 3.6, 100_000: 8.9, 1_000_000: 74.0}
"""Milliseconds for a maximum profit that Tarplee prints (V.B), on a computer of 2009."""

PER_MACHINE = 30
SEARCH_S = 2.0
SEEDS = 5
GENERATIONS = 300


def _nine_machines(case: Case) -> System:
    """30 task types on nine machine types with 40 machines each, without idle power (Tarplee V.A-B)."""
    return generate_nine_machines(NineMachineParameters(counts=(40,) * 9, task_types=30), case.seed)


def _bag(system: System, n_tasks: int, case: Case, trial: int = 0) -> Bag:
    return generate_bag(BagParameters(n_tasks=n_tasks), system, case.seed, trial)


def _market(bag: Bag, ratio: float) -> Market:
    """The price that is so many times what the least energy of the bag costs."""
    return Market(price_at_ratio(bound_front(bag), Market(1.0, COST_PER_J), ratio), COST_PER_J)


def _compile(bag: Bag) -> None:
    """Use every kernel once, so that nothing below waits for the compiler."""
    most_profit(bag, _market(bag, 1.2), "best")
    improve(bag, bound_front(bag), moves=1)


def _repeats(case: Case) -> int:
    return 2 if case.smoke else 50


def front(case: Case) -> dict[str, float]:
    """Milliseconds of the whole bound front by the sweep and by HiGHS, and how far they differ."""
    bag = _bag(_nine_machines(case), 11_000, case)
    swept, solved = bound_front(bag, "sweep"), bound_front(bag, "highs")
    sweep_s = seconds(lambda: bound_front(bag, "sweep"), _repeats(case))
    highs_s = seconds(lambda: bound_front(bag, "highs"), 1 if case.smoke else 3)
    weights = np.geomspace(swept.weight_w[1], swept.weight_w[-2], 50)
    ours, theirs = (np.array([found.value_at(weight) for weight in weights]) for found in (swept, solved))
    return {
        "front.sweep_ms": 1e3 * sweep_s,
        "front.highs_ms": 1e3 * highs_s,
        "front.highs_over_sweep": highs_s / sweep_s,
        "front.vertices": len(swept),
        "front.worst_difference": float(np.abs(ours / theirs - 1).max()),
    }


def profit(case: Case) -> dict[str, float]:
    """Milliseconds of a maximum profit from one point, bag and bound included, and the published way at 1M tasks."""
    system, figures = _nine_machines(case), {}
    for n_tasks in SIZES:
        bag = _bag(system, n_tasks, case)
        market = _market(bag, 1.2)
        ours_s = seconds(partial(_end_to_end, bag, market), _repeats(case))
        figures[f"profit.{n_tasks}_tasks_ms"] = 1e3 * ours_s
        if n_tasks in PUBLISHED_MS:
            figures[f"profit.{n_tasks}_tasks_published_ms"] = PUBLISHED_MS[n_tasks]
        if n_tasks == SIZES[1]:
            peer_s = seconds(partial(most_profit_as_published, bag, market), 1 if case.smoke else 3)
            lean_s = seconds(partial(most_profit_as_published, bag, market, False), 1 if case.smoke else 3)
            figures["profit.published_way_ms"] = 1e3 * peer_s
            figures["profit.published_way_over_ours"] = peer_s / ours_s
            figures["profit.published_way_by_sorted_types_over_ours"] = lean_s / ours_s
    figures["profit.slowest_ms"] = max(figures[f"profit.{n_tasks}_tasks_ms"] for n_tasks in (SIZES[0], SIZES[-1]))
    return figures


def _end_to_end(bag: Bag, market: Market) -> Profit:
    """The maximum profit of a bag of which nothing is known yet."""
    return most_profit(Bag(bag.system, bag.counts), market)


def large(case: Case) -> dict[str, float]:
    """Seconds of an allocation of 1000 task types on 100 machine types with HiGHS; of the whole front by the sweep."""
    n_types, n_machine_types = (40, 10) if case.smoke else (1000, 100)
    parameters = CovSystemParameters(task_types=n_types, machine_types=n_machine_types, machines=40 * n_machine_types)
    bag = _bag(generate_cov_system(parameters, case.seed, 0), 100 * n_types, case)
    began = time.perf_counter()
    swept = bound_front(bag, "sweep")
    sweep_s = time.perf_counter() - began
    weight_w = float(np.sqrt(swept.weight_w[len(swept) // 2] * swept.weight_w[len(swept) // 2 + 1]))
    began = time.perf_counter()
    point = bound_at(bag, weight_w, "highs")
    allocation = recover(bag, point.split)
    highs_s = time.perf_counter() - began
    reached, bound = allocation.energy_j + weight_w * allocation.makespan_s, point.extra_j + weight_w * point.makespan_s
    return {
        "large.highs_s": highs_s,
        "large.sweep_whole_front_s": sweep_s,
        "large.vertices": len(swept),
        "large.gap_percent": 100 * (reached / bound - 1),
    }


def gaps(case: Case) -> dict[str, float]:
    """Median gap of profit in percent at 30 tasks a machine, and milliseconds, for both recoveries."""
    system, figures = _nine_machines(case), {}
    _compile(_bag(system, PER_MACHINE * system.n_machines, case))
    for ratio in RATIOS:
        for recovery in ("one", "best"):
            gap, taken_s = [], []
            for trial in range(2 if case.smoke else 4 * case.trials):
                bag = _bag(system, PER_MACHINE * system.n_machines, case, trial)
                market = _market(bag, ratio)
                began = time.perf_counter()
                found = most_profit(bag, market, recovery)
                taken_s.append(time.perf_counter() - began)
                gap.append(100 * found.gap)
            figures[f"gaps.{ratio}.{recovery}_percent"] = median(gap)
            figures[f"gaps.{ratio}.{recovery}_ms"] = 1e3 * median(taken_s)
    figures["gaps.best_slowest_ms"] = max(figures[f"gaps.{ratio}.best_ms"] for ratio in RATIOS)
    return figures


def _investigation_one(case: Case, trial: int) -> Bag:
    """1000 tasks of 50 types on 50 machines of 10 types that are switched off when done (Friese 6.5)."""
    system = generate_cov_system(CovSystemParameters(), case.seed, trial)
    return generate_bag(BagParameters(n_tasks=1000, off_when_done=True), system, case.seed, trial)


def search(case: Case) -> dict[str, float]:
    """Percent of the certified hypervolume that annealing reaches in 2 s of one core, median of five worlds."""
    shares, taken_s = [], []
    _compile(_investigation_one(case, 0))
    for trial in range(1 if case.smoke else SEEDS):
        bag = _investigation_one(case, trial)
        began = time.perf_counter()
        bound = bound_front(bag)
        found = improve(bag, bound, (), seconds=0.1 if case.smoke else SEARCH_S - 0.05, seed=case.seed)
        taken_s.append(time.perf_counter() - began)
        corners = corners_of(bound)
        shares.append(100 * found.share_of(corners, nadir_reference(corners)))
    return {
        "search.hypervolume_percent": median(shares),
        "search.least_hypervolume_percent": min(shares),
        "search.slowest_s": max(taken_s),
    }


def genetic(case: Case) -> dict[str, float]:
    """Generations per second of NSGA-II, ours and pymoo's with the same operators, and what each reaches."""
    bag, n = _investigation_one(case, 0), 5 if case.smoke else GENERATIONS
    seeds = (min_energy(bag), min_min_completion_time(bag))
    evolve(BagProblem(bag), seeds, generations=2, seed=case.seed)
    ours = evolve(BagProblem(bag), seeds, generations=100 * n, seed=case.seed)
    peer = evolve_with_pymoo(bag, seeds, n, seed=case.seed)
    corners = corners_of(bound_front(bag))
    return {
        "genetic.generations_per_s": ours.generations_per_s,
        "genetic.pymoo_generations_per_s": peer.generations_per_s,
        "genetic.over_pymoo": ours.generations_per_s / peer.generations_per_s,
        "genetic.hypervolume_percent": 100 * ours.front.share_of(corners, nadir_reference(corners)),
        "genetic.generations": 100 * n,
    }


SUBJECT = Subject(
    name="bag",
    groups={"front": front, "profit": profit, "large": large, "gaps": gaps, "search": search, "genetic": genetic},
    bars=(
        Bar("the whole bound front in ms", "front.sweep_ms", "at most", 0.5),
        Bar("the sweep off HiGHS, relative", "front.worst_difference", "at most", 1e-9),
        Bar("maximum profit from one point, 10,000 or 100,000,000 tasks, in ms", "profit.slowest_ms", "at most", 1.0),
        Bar(
            "HiGHS and a heap over all of 1,000,000 tasks, times ours", "profit.published_way_over_ours", "at least", 50
        ),
        Bar("1000 x 100 types with HiGHS in s", "large.highs_s", "at most", 5.0),
        Bar("median gap of profit at ratio 1.2 in %", "gaps.1.2.best_percent", "at most", 1.0),
        Bar("median gap of profit at ratio 1.5 in %", "gaps.1.5.best_percent", "at most", 2.5),
        Bar("the best of many allocations in ms", "gaps.best_slowest_ms", "at most", 25.0),
        Bar("hypervolume of annealing in % of the certified one", "search.hypervolume_percent", "at least", 99.3),
        Bar("seconds of annealing", "search.slowest_s", "at most", 2.0),
        Bar("generations a second over pymoo's", "genetic.over_pymoo", "at least", 10.0),
    ),
)

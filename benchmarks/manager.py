"""The manager of chapters 2 to 4: seconds per event everywhere, fig. 2.6, a year, the bound, and what prices earn."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from benchmarks.measure import Bar, Case, Subject, printed_by, seconds
from joulewise.confidence import student_quantile
from joulewise.model import World
from joulewise.model.supply import Supply
from joulewise.optimise.price_market import Certificate, PriceBound
from joulewise.optimise.tasks.prices import certified_bound, price_bound
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

HOUR_S = 3600.0
BUDGET_J = 1.11e9
THRESHOLD = 0.5
TABLE_G1_MS = {
    "random": 0.15, "round-robin": 0.15, "max-util": 0.22, "max-upt": 0.33, "met-random": 0.22, "met-max-util": 0.22,
    "min-min-comp": 46.66, "sufferage": 280.09, "max-max-util": 316.47, "max-max-upt": 319.61,
    "met-max-util-max-upt": 66.22,
}  # fmt: skip
"""Milliseconds per mapping event that Friese prints for 50,000 tasks a day and a threshold of 0.5."""

FIG_26_LOADS = (33_000, 50_000)
FIG_26_THRESHOLDS = (0.0, 0.05, 0.5, 1.5, 3.0, 5.0)
FIG_26_TRIALS = 50
FIG_26_SAMPLE = 2
CORES = 2

WEIGHTS = (0.40, 0.42, 0.44, 0.46, 0.48, 0.50, 0.52, 0.54, 0.56)
OFF_GRID_THRESHOLDS = (0.75, 1.0, 2.0, 2.25, 2.5)
YEAR = 365


# Worlds


def chapter_2(case: Case, trial: int = 0, tasks_per_day: int = 50_000) -> World:
    """The published environment without limits; a smoke run has a part of its load."""
    return _world(case, trial, WorkloadParameters(tasks_per_day=tasks_per_day), 1, Supply())


def chapter_3(case: Case, trial: int = 0, tasks_per_day: int = 50_000) -> World:
    """Three P-states and a budget for the day, of which a warm-up of 24 h uses one of its own; runs are prorated."""
    parameters = WorkloadParameters(tasks_per_day=tasks_per_day, warm_up_s=24 * HOUR_S, prorated=True)
    return _world(case, trial, parameters, 3, Supply(BUDGET_J))


def _world(case: Case, trial: int, parameters: WorkloadParameters, pstates: int, supply: Supply) -> World:
    parameters = dataclasses.replace(parameters, tasks_per_day=case.part * parameters.tasks_per_day)
    supply = dataclasses.replace(supply, budget_j=case.part * supply.budget_j)
    system = generate_system(SystemParameters(pstates=pstates), case.seed, trial)
    return World(system, generate_workload(parameters, system, case.seed, trial), supply)


def _utility(world: World, manager: Manager) -> float:
    return float(measures(world, simulate(world, manager))["utility"])


# Speed


def policies(case: Case) -> dict[str, float]:
    """Seconds per simulated day and milliseconds per mapping event of every policy in every environment.

    A day has its warm-up: 2 h without a budget, 24 h with one.
    """
    figures: dict[str, float] = {}
    for name, managers in _environments().items():
        world = (chapter_3 if "budget" in name else chapter_2)(case)
        for manager in managers[:: 4 if case.smoke else 1]:
            figures |= _timed(f"policies.{name}.{manager.policy.name}", world, manager, case)
    for name, published_ms in TABLE_G1_MS.items():
        figures[f"policies.queued.{name}.table_G1_ms_per_event"] = published_ms
    sufferage = Manager(POLICIES["sufferage"])
    figures |= _timed("policies.no_dropping.sufferage", chapter_2(case), sufferage, case)
    by_mode = {mode: _worst_ms(figures, mode) for mode in ("immediate", "batch")}
    return figures | {f"policies.worst_{mode}_ms_per_event": worst for mode, worst in by_mode.items()}


def _environments() -> dict[str, list[Manager]]:
    managed = [
        policy
        for policy in POLICIES.values()
        if policy.mode == "batch" and (policy.objective is None or policy.objective.falls_with_time)
    ]
    return {
        "queued": [Manager(policy, THRESHOLD) for policy in POLICIES.values()],
        "polled": [Manager(policy, THRESHOLD, environment="polled") for policy in managed],
        "queued_budget": [Manager(policy, THRESHOLD, energy_filter="adaptive") for policy in managed],
        "polled_budget": [
            Manager(policy, THRESHOLD, environment="polled", energy_filter="adaptive") for policy in managed
        ],
    }


def _timed(name: str, world: World, manager: Manager, case: Case) -> dict[str, float]:
    """How long the manager needed for mapping, the fastest of some runs."""
    outcomes: list[Outcome] = []
    for _ in range(1 if case.smoke else 3):
        outcomes.append(simulate(world, manager))
    day_s = min(outcome.mapping_s for outcome in outcomes)
    return {f"{name}.day_s": day_s, f"{name}.ms_per_event": 1e3 * day_s / max(outcomes[0].n_mapping_events, 1)}


def _worst_ms(figures: Mapping[str, float], mode: str) -> float:
    """The slowest mapping event, on average over a day, of all policies of a mode at the threshold."""
    names = [name.split(".") for name in figures if name.endswith(".ms_per_event")]
    of_mode = [parts for parts in names if parts[1] != "no_dropping" and POLICIES[parts[2]].mode == mode]
    return max(figures[".".join(parts)] for parts in of_mode)


def chapter_4(case: Case) -> dict[str, float]:
    """Milliseconds per mapping event at 32,000 tasks a day, polled, with a budget and the adaptive filter.

    The text has 0.1 ms in order of magnitude and 3 ms at most.
    """
    world = chapter_3(case, tasks_per_day=32_000)
    figures: dict[str, float] = {}
    for name in ("max-max-util", "max-max-upt", "max-max-upe", "fcfs-p0", "random-batch", "prices"):
        manager = Manager(POLICIES[name], THRESHOLD, environment="polled", energy_filter="adaptive")
        figures |= _timed(f"chapter_4.{name}", world, manager, case)
    return figures


def figure_2_6(case: Case) -> dict[str, float]:
    """Minutes of the complete figure on two cores, from the seconds of some of its trials on one.

    A trial is 12 policies at 6 thresholds, with making and measuring its world.
    """
    n_trials = 1 if case.smoke else FIG_26_SAMPLE
    figures = {}
    for load in FIG_26_LOADS:
        if not case.smoke:
            _figure_trial(case, load, 0)  # loads the kernels
        spent_s = [_seconds_on_core(partial(_figure_trial, case, load, trial)) for trial in range(n_trials)]
        figures[f"figure_2_6.trial_s_{load}"] = math.fsum(spent_s) / n_trials
    trial_s = math.fsum(figures.values())
    return {**figures, "figure_2_6.minutes": trial_s * FIG_26_TRIALS / CORES / 60}


def _figure_trial(case: Case, load: int, trial: int) -> None:
    world = chapter_2(case, trial, load)
    for name in ("k-best-types", *TABLE_G1_MS):
        for threshold in FIG_26_THRESHOLDS:
            _utility(world, Manager(POLICIES[name], threshold))


def _seconds_on_core(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def year(case: Case) -> dict[str, float]:
    """Seconds and memory of a fresh process that lets prices share out a year's energy over its days."""
    n_days, load = 3 if case.smoke else YEAR, case.part * 50_000
    script = f"""
import time
from benchmarks.manager import BUDGET_J, THRESHOLD
from benchmarks.measure import peak_mb
from joulewise.tasks import POLICIES, Manager, Supply, SystemParameters, WorkloadParameters
from joulewise.tasks import generate_days, generate_system, simulate_days
system = generate_system(SystemParameters(pstates=3), {case.seed}, 0)
parameters = WorkloadParameters(tasks_per_day={load}, days={n_days})
supply = Supply({n_days} * BUDGET_J * {load} / 50_000, is_total=True)
manager = Manager(POLICIES["prices"], THRESHOLD)
wall_s, core_s = time.perf_counter(), time.process_time()
days = simulate_days(generate_days(parameters, system, {case.seed}, 0), {n_days}, system, manager, supply)
rows = [day.measures() for day in days]
print(time.perf_counter() - wall_s, time.process_time() - core_s)
print(peak_mb())
print(len(rows), sum(row["utility"] for row in rows), sum(row["energy_j"] for row in rows) / supply.budget_j)
"""
    names = ("s", "core_s", "peak_mb", "days", "utility", "part_of_budget")
    return {f"year.{name}": value for name, value in zip(names, printed_by(script, case), strict=True)}


def bound(case: Case) -> dict[str, float]:
    """Seconds to find the bound of a day and to check its certificate, without and with a budget."""
    figures = {}
    for name, world in (("no_budget", chapter_2(case)), ("budget", chapter_3(case))):
        certified_bound(world, Certificate(np.zeros((world.system.n_machine_types, 1))))  # loads the kernels
        found: list[PriceBound] = []
        figures[f"bound.{name}.find_s"] = seconds(partial(_find, world, found), 1)
        figures[f"bound.{name}.check_s"] = seconds(partial(certified_bound, world, found[0].certificate), 3)
    return {**figures, **{f"bound.worst_{what}": _worst(figures, what) for what in ("find_s", "check_s")}}


def _find(world: World, found: list[PriceBound]) -> None:
    found.append(price_bound(world))


def _worst(figures: Mapping[str, float], ending: str) -> float:
    return max(value for name, value in figures.items() if name.endswith(ending))


# Quality


def quality(case: Case) -> dict[str, float]:
    """What the price policy earns of the bound, and how much more than others on the same trials, in percent."""
    trials = range(2 if case.smoke else case.trials)
    free = [_earned(chapter_2(case, trial), _free_rivals()) for trial in trials]
    limited = [_earned(chapter_3(case, trial), _limited_rivals()) for trial in trials]
    return {
        "quality.trials": float(len(trials)),
        **dict(_compared("quality.no_budget", free)),
        **dict(_compared("quality.budget", limited)),
    }


def _free_rivals() -> dict[str, Manager]:
    """Max-Max UPT as published, off the published thresholds, and fed by machines that are idle."""
    upt, util = POLICIES["max-max-upt"], POLICIES["max-max-util"]
    off_grid = {
        f"off_grid_{policy.name} {threshold:g}": Manager(policy, threshold)
        for policy in (upt, util)
        for threshold in OFF_GRID_THRESHOLDS
    }
    polled = Manager(upt, THRESHOLD, environment="polled")
    return {"max-max-upt": Manager(upt, THRESHOLD), "polled_max-max-upt": polled, **off_grid}


def _limited_rivals() -> dict[str, Manager]:
    """Weighted Util by weight, taking worthwhile choices only, and Max-Max UPE with a filter."""
    upe = POLICIES["max-max-upe"]
    weighted = {
        f"weighted-util {weight:g}": Manager(POLICIES["weighted-util"], THRESHOLD, weight=weight, declines=True)
        for weight in WEIGHTS
    }
    return {
        **weighted,
        "max-max-upe_fair-share": Manager(upe, THRESHOLD, energy_filter="fair-share", leniency=1.5),
        "polled_max-max-upe_adaptive": Manager(upe, THRESHOLD, environment="polled", energy_filter="adaptive"),
    }


def _earned(world: World, rivals: Mapping[str, Manager]) -> dict[str, float]:
    """The utility of the price policy and of its rivals, and the bound."""
    managers = {"prices": Manager(POLICIES["prices"], THRESHOLD), **rivals}
    return {"bound": price_bound(world).value, **{name: _utility(world, m) for name, m in managers.items()}}


def _compared(stem: str, trials: list[dict[str, float]]) -> Iterator[tuple[str, float]]:
    """Prices as a part of the bound and over the mean of each rival, with paired intervals of 95 %.

    Of rivals that share the first word of their names, which differ by a setting, the best one over all trials.
    """
    prices, bounds = (np.array([trial[name] for trial in trials]) for name in ("prices", "bound"))
    yield f"{stem}.percent_of_bound", 100 * float((prices / bounds).mean())
    for group in dict.fromkeys(name.split(" ")[0] for name in trials[0] if name not in ("prices", "bound")):
        names = [name for name in trials[0] if name.split(" ")[0] == group]
        earned = {name: np.array([trial[name] for trial in trials]) for name in names}
        best = max(names, key=lambda name: earned[name].mean())
        over = 100 * (prices - earned[best]) / earned[best].mean()
        half = (student_quantile(over.size) or math.nan) * float(over.std(ddof=1)) / math.sqrt(over.size)
        yield f"{stem}.over.{group}_percent", float(over.mean())
        yield f"{stem}.over.{group}_percent_low", float(over.mean()) - half
        yield f"{stem}.over.{group}_percent_high", float(over.mean()) + half
        yield f"{stem}.rival.{group}_percent_of_bound", 100 * float((earned[best] / bounds).mean())
        if " " in best:
            yield f"{stem}.rival.{group}_best_setting", float(best.split(" ")[-1])


SUBJECT = Subject(
    "manager",
    {
        "policies": policies,
        "chapter_4": chapter_4,
        "figure_2_6": figure_2_6,
        "year": year,
        "bound": bound,
        "quality": quality,
    },
    (
        Bar("slowest batch policy in ms per event", "policies.worst_batch_ms_per_event", "at most", 1.0),
        Bar("slowest immediate policy in ms per event", "policies.worst_immediate_ms_per_event", "at most", 0.005),
        Bar("Max-Max UPT in ms per event", "policies.queued.max-max-upt.ms_per_event", "at most", 0.3),
        Bar("Sufferage without dropping in ms per event", "policies.no_dropping.sufferage.ms_per_event", "at most", 8),
        Bar("fig. 2.6 for both loads in minutes on 2 cores", "figure_2_6.minutes", "at most", 20),
        Bar("a year in s of one core", "year.core_s", "at most", 300),
        Bar("a year in MB", "year.peak_mb", "at most", 1000),
        Bar("the bound of a day in s", "bound.worst_find_s", "at most", 10),
        Bar("checking its certificate in s", "bound.worst_check_s", "at most", 1),
        Bar("prices, % of the bound without budget", "quality.no_budget.percent_of_bound", "at least", 93),
        Bar("prices, % of the bound with budget", "quality.budget.percent_of_bound", "at least", 95),
        Bar("prices over Max-Max UPT in %", "quality.no_budget.over.max-max-upt_percent", "at least", 12),
        Bar("prices over the best common weight in %", "quality.budget.over.weighted-util_percent", "at least", 4),
    ),
)

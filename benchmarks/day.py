"""A day of 50,000 serial tasks: the engine against its naive twin, every policy, the bound, memory, start-up."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from benchmarks.measure import Bar, Case, Subject, command_seconds, peak_memory_mb, seconds
from joulewise.model import World
from joulewise.optimise.bounds import maximum_utility
from joulewise.optimise.price_market import Certificate, PriceBound
from joulewise.optimise.tasks.prices import certified_bound, price_bound
from joulewise.policies.tasks.compile import compiled
from joulewise.policies.tasks.policy import Objective
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.measures import measures
from joulewise.simulate.tasks.serial import simulate
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload
from tests.twins.tasks.serial import Plan, run_batch, work_and_machines

THRESHOLDS = (0.0, 0.5)
NAIVE_HOURS = 4.0
"""How much of the day the naive twin runs; the engine is timed on the same hours, so nothing is scaled."""


def world_of(case: Case, tasks_per_day: int = 50_000) -> World:
    """The published environment; a smoke run has a part of its load."""
    system = generate_system(SystemParameters(), case.seed, trial=0)
    parameters = WorkloadParameters(tasks_per_day=case.part * tasks_per_day)
    return World(system, generate_workload(parameters, system, case.seed, trial=0))


def _shortened(world: World, hours: float) -> World:
    work = dataclasses.replace(world.workload, start_s=0.0, end_s=3600.0 * hours)
    return dataclasses.replace(world, workload=work)


def _naive_twin(objective: Objective, as_it_stands: bool) -> tuple[Callable[..., Plan], Any]:
    """The naive twin, compiled or as it stands, and the objective as it takes it."""
    value = compiled(objective)
    return (
        (run_batch, value.ctypes) if as_it_stands else (numba.njit(error_model="numpy", cache=True)(run_batch), value)
    )


def ratio(case: Case) -> dict[str, float]:
    """Max-Max UPT at threshold 0.5: seconds of the compiled naive twin over ours, equal assignments.

    A smoke run takes the twin as it stands: compiling it takes longer than its half hour of tasks.
    """
    world = _shortened(world_of(case), 0.5 if case.smoke else NAIVE_HOURS)
    manager = Manager(POLICIES["max-max-upt"], dropping_threshold=0.5)
    assert manager.policy.objective is not None
    naive, value = _naive_twin(manager.policy.objective, case.smoke)
    work, machines = work_and_machines(world)
    arguments = (manager.dropping_threshold, manager.mapping_interval_s)
    naive(value, work, machines, *arguments, -1.0)  # compiles
    plans: list[Plan] = []
    naive_s = seconds(lambda: plans.append(naive(value, work, machines, *arguments, world.workload.end_s)), 1)
    ours_s = seconds(lambda: simulate(world, manager), 3)
    ours = simulate(world, manager).allocation
    same = all(np.array_equal(getattr(ours, name), getattr(plans[0], name), equal_nan=True) for name in Plan._fields)
    return {
        "ratio.naive_s": naive_s,
        "ratio.ours_s": ours_s,
        "ratio.naive_over_ours": naive_s / ours_s,
        "ratio.hours": world.workload.end_s / 3600,
        "ratio.same_assignments": float(same),
    }


def policies(case: Case) -> dict[str, float]:
    """Seconds per simulated day and milliseconds per mapping event of every policy."""
    return dict(_policy_figures(world_of(case), repeats=1 if case.smoke else 3))


def _policy_figures(world: World, repeats: int) -> Iterator[tuple[str, float]]:
    for policy in POLICIES.values():
        for threshold in THRESHOLDS:
            manager = Manager(policy, threshold)
            simulate(world, manager)  # loads the kernel
            outcomes = [simulate(world, manager) for _ in range(repeats)]
            day_s = min(outcome.mapping_s for outcome in outcomes)
            name = f"policies.{policy.name}.threshold_{threshold:g}"
            yield f"{name}.day_s", day_s
            yield f"{name}.ms_per_event", 1e3 * day_s / max(outcomes[0].n_mapping_events, 1)
            yield f"{name}.utility", float(measures(world, outcomes[0])["utility"])


def bound(case: Case) -> dict[str, float]:
    """The bound by prices: seconds to find it, seconds to check its certificate, and how much policies earn of it."""
    world = world_of(case)
    certified_bound(world, Certificate(np.zeros((world.system.n_machine_types, 1))))  # loads the kernels
    bounds: list[PriceBound] = []
    find_s = seconds(lambda: bounds.append(price_bound(world)), 1 if case.smoke else 3)
    best = max(
        float(measures(world, simulate(world, Manager(policy, threshold)))["utility"])
        for policy in POLICIES.values()
        for threshold in (0.5, 1.5)
    )
    return {
        "bound.find_s": find_s,
        "bound.check_s": seconds(lambda: certified_bound(world, bounds[0].certificate), 3),
        "bound.percent_of_maximum_utility": 100 * bounds[0].value / maximum_utility(world),
        "bound.best_policy_percent_of_bound": 100 * best / bounds[0].value,
    }


def memory(case: Case) -> dict[str, float]:
    """Peak memory of a fresh process that makes the world and simulates the day with every policy."""
    script = f"""
from benchmarks.day import world_of
from benchmarks.measure import Case
from joulewise.tasks import POLICIES, Manager, measures, simulate
world = world_of(Case({case.seed}, {case.smoke}))
for policy in POLICIES.values():
    measures(world, simulate(world, Manager(policy, 0.5)))
"""
    return {"memory.peak_mb": peak_memory_mb(script, case)}


def start_up(case: Case) -> dict[str, float]:
    """Seconds of commands that compute nothing, from a warm disk."""
    repeats = 1 if case.smoke else 5
    return {
        "start_up.help_s": command_seconds(["--help"], repeats),
        "start_up.list_s": command_seconds(["list"], repeats),
    }


def yardstick(case: Case) -> dict[str, float]:
    """Mean maximum utility over 50 trials at both published loads, in percent of the published 65,051 and 98,708."""
    figures = {}
    for load, published in ((33_000, 65_051.0), (50_000, 98_708.0)):
        found = []
        for trial in range(2 if case.smoke else 50):
            system = generate_system(SystemParameters(), case.seed, trial)
            work = generate_workload(WorkloadParameters(tasks_per_day=load), system, case.seed, trial)
            found.append(maximum_utility(World(system, work)))
        mean = math.fsum(found) / len(found)
        figures[f"yardstick.mean_{load}"] = mean
        figures[f"yardstick.off_percent_{load}"] = 100 * abs(mean / published - 1)
    return figures


SUBJECT = Subject(
    "day",
    {
        "ratio": ratio,
        "policies": policies,
        "bound": bound,
        "memory": memory,
        "start_up": start_up,
        "yardstick": yardstick,
    },
    (
        Bar(
            "naive twin over ours, Max-Max UPT, 50,000 tasks, threshold 0.5",
            "ratio.naive_over_ours",
            "at least",
            300,
        ),
        Bar("ours and the naive twin assign alike", "ratio.same_assignments", "at least", 1),
        Bar("the bound of a day in s", "bound.find_s", "at most", 10),
        Bar("checking its certificate in s", "bound.check_s", "at most", 1),
        Bar("peak memory in MB", "memory.peak_mb", "at most", 400),
        Bar("joulewise --help in s", "start_up.help_s", "at most", 0.5),
        Bar("joulewise list in s", "start_up.list_s", "at most", 1.5),
        Bar("maximum utility at 33,000 off 65,051 in %", "yardstick.off_percent_33000", "at most", 1.5),
        Bar("maximum utility at 50,000 off 98,708 in %", "yardstick.off_percent_50000", "at most", 1.5),
    ),
)

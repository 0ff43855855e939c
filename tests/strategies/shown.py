"""One object of each class that shows itself, as small as can be, with names that would be markup."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from joulewise.model.air import Air
from joulewise.model.assignment import Assignment
from joulewise.model.bag import Bag
from joulewise.model.clusters import ClusterSystem
from joulewise.model.jobs import Jobs, JobWorld, Label
from joulewise.model.supply import Supply
from joulewise.model.system import System
from joulewise.model.world import World
from joulewise.optimise.assignments.bound import front_bound
from joulewise.optimise.assignments.fuzzy import fuzzy
from joulewise.optimise.assignments.problem import ENERGY_UTILITY
from joulewise.optimise.bags.annealing import improve
from joulewise.optimise.bags.bound import bound_front
from joulewise.optimise.bags.machines import analyse, what_if
from joulewise.optimise.bags.market import Market
from joulewise.optimise.bags.problem import BagProblem
from joulewise.optimise.bags.profit import most_profit, profit_sweep
from joulewise.optimise.evolution import evolve
from joulewise.optimise.facility.whatif import Advice, what_if_facility
from joulewise.optimise.front import front_of
from joulewise.optimise.jobs.bound import job_bound
from joulewise.optimise.tasks.prices import price_bound
from joulewise.policies.jobs.heuristic import find_job_policy
from joulewise.policies.tasks.heuristic import find_policy
from joulewise.simulate.facility.day import FacilityDay, simulate_facility_day
from joulewise.simulate.jobs.run import JobOutcome, simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.tasks.days import Day
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.study import parse_study
from joulewise.visible import Visible
from joulewise.worlds.assignments.chances import ChanceParameters, gamma_chances
from tests.strategies.every_kind import made
from tests.strategies.job_worlds import trace_world
from tests.strategies.random_facilities import random_facility
from tests.strategies.simple_worlds import simple_workload
from tests.strategies.small import TEXT

HOSTILE = '<script>alert("1")</script>&\n\x1b[2J'


@cache
def shown() -> dict[str, Visible]:
    """An object of each class, by the name of the class."""
    return {
        type(each).__name__: each for part in (_tasks, _jobs, _bags, _assignments, _facilities) for each in part()
    } | {
        "Results": made("managed"),
        "Study": parse_study(TEXT, "study.toml", Path()),
    }


def hostile_system() -> System:
    """Two machine types and two task types with such names."""
    etc_s, power_w = np.array([[[5.0], [9.0]], [[7.0], [4.0]]]), np.full((2, 2, 1), 50.0)
    return System((HOSTILE, "t"), (HOSTILE, "m"), np.array([2, 1]), etc_s, power_w, (HOSTILE, "general"))


def hostile_world() -> World:
    """Twelve tasks that need not wait for long."""
    arrival_s = [3.0 * i for i in range(12)]
    return World(hostile_system(), simple_workload(arrival_s, [i % 2 for i in range(12)], end_s=60.0), Supply(1e6))


def _tasks() -> Iterator[Visible]:
    world = hostile_world()
    outcome = simulate(world, Manager(find_policy("max-max-upt")))
    yield from (world.system, world.workload, world.supply, world, outcome, outcome.allocation)
    yield Day(0, world, outcome, np.arange(12))
    bound = price_bound(world)
    yield from (bound, bound.certificate)


def hostile_jobs() -> JobWorld:
    """Three jobs of a user with such a name on a cluster with such a name."""
    world = trace_world([(0.0, 2, 10.0), (1.0, 3, 20.0), (2.0, 1, 5.0)])
    labels = {"user": Label((HOSTILE, "b"), np.array([0, 1, 0]))}
    return replace(world, clusters=replace(world.clusters, names=(HOSTILE,)), jobs=Jobs(world.jobs.work, labels=labels))


def _jobs() -> Iterator[Visible]:
    world = hostile_jobs()
    outcome = simulate_jobs(world, Scheduler(find_job_policy("easy")))
    yield from (ClusterSystem(world.clusters, world.types), world.clusters, world.types, world.jobs, world)
    yield from (outcome, outcome.allocation, job_bound(world))


def _bags() -> Iterator[Visible]:
    bag = Bag(hostile_system(), np.array([9, 7]))
    bound, market = bound_front(bag), Market(price=1.0, cost_per_j=1e-5)
    front = improve(bag, bound, moves=500)
    evolved = evolve(BagProblem(bag), generations=2, population=4)
    yield from (evolved, evolved.population, analyse(front), what_if(bag, {"m": 1}, 3))
    yield from (bag, bound, front, front.payload[0], most_profit(bag, market), profit_sweep(bound, market, [0.5, 1.0]))


def _assignments() -> Iterator[Visible]:
    world = hostile_world()
    world = World(world.system, replace(world.workload, end_s=math.inf))
    order, first = np.arange(12, dtype=np.int32), np.zeros(12, np.int32)
    even = Assignment(order % 3, first.astype(np.int8), order)
    chances = gamma_chances(world.system, ChanceParameters((0.1, 0.3), (0.1, 0.3), 4), 0, 0)
    clouds = fuzzy(world, chances, [even, replace(even, machine=first)], 8, drop_below=0.0)
    points = clouds.planned * (1.0, -1.0)
    yield from (even, chances, clouds, front_bound(world), front_of(points, clouds.assignments, ENERGY_UTILITY))


def _facilities() -> Iterator[Visible]:
    facility = random_facility(0)
    facility = replace(facility, tasks=replace(facility.tasks, names=(HOSTILE, *facility.tasks.names[1:])))
    changes = what_if_facility(facility, {HOSTILE: facility}, gap=0.5)
    before: Advice = changes.before
    yield from (facility, facility.room, facility.tasks, facility.node_types, before, changes, before.found)
    yield before.found.prices
    yield before.found.plan
    yield day_of(before)


def day_of(advice: Advice) -> FacilityDay:
    """A minute that follows a plan."""
    rates = advice.facility.tasks.rate_per_s[None]
    return simulate_facility_day(
        advice.facility, lambda _: advice.found.plan, Air(advice.facility.room).inlets_c, rates, 60.0
    )


def outcome_of(name: str = "Outcome") -> Outcome | JobOutcome:
    """What a manager or a scheduler did."""
    found = shown()[name]
    assert isinstance(found, Outcome | JobOutcome)
    return found

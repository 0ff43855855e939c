"""The slow twin of assignments: evaluation word for word, breeding task by task, seeds, and all there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from joulewise.model import World
from joulewise.model.assignment import Assignment
from joulewise.optimise.assignments.problem import ENERGY_UTILITY
from joulewise.optimise.front import Front, front_of
from tests.twins.draws import Draws, high, low

Place = tuple[int, int]
"""A machine and its P-state."""

NOWHERE = (-1, 0)
Gene = tuple[Place, int]
"""Where a task runs, and when in the global order."""

Times = dict[int, tuple[float, float]]
"""Start and end of each task that runs."""


def places_of(world: World, task: int) -> list[Place]:
    """All places that can run a task."""
    system, kind = world.system, world.workload.task_type[task]
    places = product(range(system.n_machines), range(system.n_pstates))
    return [(m, p) for m, p in places if math.isfinite(system.etc_s[kind, system.machine_type[m], p])]


def utility_of(world: World, task: int, end_s: float) -> float:
    """What a task earns when it is done then."""
    work = world.workload
    x_s = end_s - work.arrival_s[task] - work.hold_s[task]
    return float(work.scale[task] * work.shapes.value(work.shape[task], x_s))


def exec_s(world: World, task: int, place: Place) -> float:
    """How long a task runs at a place."""
    machine, pstate = place
    return float(world.system.etc_s[world.workload.task_type[task], world.system.machine_type[machine], pstate])


def energy_j(world: World, task: int, place: Place) -> float:
    """What a task takes at a place."""
    machine, pstate = place
    system = world.system
    return float(world.supply.pue * system.eec_j[world.workload.task_type[task], system.machine_type[machine], pstate])


def times_of(world: World, genes: list[Gene], drop_below: float = 0.0) -> Times:
    """When the tasks that run do so."""
    times: Times = {}
    for machine in range(world.system.n_machines):
        free_s = 0.0
        mine = [task for task, (place, _) in enumerate(genes) if place[0] == machine]
        for task in sorted(mine, key=lambda task: (genes[task][1], task)):
            start_s = max(free_s, float(world.workload.arrival_s[task]))
            end_s = start_s + exec_s(world, task, genes[task][0])
            if utility_of(world, task, end_s) >= drop_below:
                times[task], free_s = (start_s, end_s), end_s
    return times


def evaluate(world: World, genes: list[Gene], drop_below: float = 0.0) -> tuple[float, float]:
    """The point (energy in J, minus utility) of an assignment."""
    times = times_of(world, genes, drop_below)
    used_j = sum(energy_j(world, task, genes[task][0]) for task in times)
    return used_j, -sum(utility_of(world, task, end_s) for task, (_, end_s) in times.items())


def genes_of(assignment: Assignment) -> list[Gene]:
    """The genes of an assignment."""
    rows = zip(assignment.machine.tolist(), assignment.pstate.tolist(), assignment.order.tolist(), strict=True)
    return [((machine, pstate), order) for machine, pstate, order in rows]


def assignment_of(genes: list[Gene]) -> Assignment:
    """The assignment of genes."""
    places, order = zip(*genes, strict=True)
    machine, pstate = np.array(places).T
    return Assignment(machine, pstate, np.array(order))


def breed(
    world: World,
    herd: list[list[Gene]],
    parents: list[int],
    children: list[int],
    draws: Draws,
    mutation: float,
    leaves_out: bool = False,
) -> None:
    """Fill the children's rows of a herd."""
    n = world.workload.n_tasks
    for daughter, son in zip(children[::2], children[1::2], strict=True):
        bits = draws.bits()
        mother, father = high(bits, len(parents)), low(bits, len(parents) - 1)
        hers, his = herd[parents[mother]], herd[parents[father + (father >= mother)]]
        bits = draws.bits()
        first, last = sorted((high(bits, n), low(bits, n)))
        cut = slice(first, last + 1)
        herd[daughter] = hers[:first] + his[cut] + hers[last + 1 :]
        herd[son] = his[:first] + hers[cut] + his[last + 1 :]
        for row in (daughter, son):
            if draws.share() < mutation:
                _mutate(world, herd[row], draws, leaves_out)


def _mutate(world: World, genes: list[Gene], draws: Draws, leaves_out: bool) -> None:
    """One task goes elsewhere, perhaps nowhere, and swaps orders with another."""
    bits = draws.bits()
    task, other = high(bits, len(genes)), high(draws.bits(), len(genes))
    places = places_of(world, task) + [NOWHERE] * leaves_out
    place, order = places[low(bits, len(places))], genes[task][1]
    genes[task] = place, genes[other][1]
    genes[other] = genes[other][0], order


def all_genes(world: World, drop_below: float = 0.0) -> Iterator[list[Gene]]:
    """Every assignment that can differ from others; tasks are left out only where they may be dropped."""
    n = world.workload.n_tasks
    places = [places_of(world, task) + [NOWHERE] * (drop_below > 0) for task in range(n)]
    for chosen, order in product(product(*places), permutations(range(n))):
        yield list(zip(chosen, order, strict=True))


def exact_front(world: World, drop_below: float = 0.0) -> Front:
    """The best of all assignments of a tiny world; its payloads are Assignments."""
    genes = list(all_genes(world, drop_below))
    front = front_of(np.array([evaluate(world, found, drop_below) for found in genes]), genes, ENERGY_UTILITY)
    return Front(front.objectives, front.points, tuple(map(assignment_of, front.payload)))

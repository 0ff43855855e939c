"""Fronts of utility against energy close to what can be proven: prices say who runs where, annealing makes it fit.

Machines of every type get prices per second, those of the bound on utility; each task goes where it gains most after
paying, in the order of the starts it would choose. That plan is annealed for utility first, then swept along the front
as energy gets dearer and dearer, up to the least energy. Whatever nothing else beats on the way is kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.assignment import NOWHERE, AssignmentFacts
from joulewise.kernels.assignment_search import (
    SPENT,
    WORTH,
    Archive,
    Curves,
    Lanes,
    Plan,
    Scene,
    Sweep,
    anneal_plan,
    begin,
    keep,
)
from joulewise.kernels.draws import draws_of
from joulewise.model.arrays import Floats, Ints
from joulewise.model.assignment import Assignment
from joulewise.model.utility import UtilityShapes
from joulewise.model.world import World
from joulewise.optimise.assignment_prices import Auction
from joulewise.optimise.assignments import ENERGY_UTILITY, assignment_facts, assignment_of, evaluated, genes_of
from joulewise.optimise.front import Front, front_of
from joulewise.rng import generator

DEFAULT_MOVES = 8_000_000
MOST_KEPT = 1000
N_CELLS = 2048
N_SLOTS, EVALUATIONS, FIRST_STEP = 200, 150, 0.6
"""How the prices that the search begins with are found: slots of time, evaluations, first step in typical prices."""

N_NOISE = 4096
CHUNK = 16_384
"""How many moves are tried between looks at the clock."""

_LEAST_S = 1e-3
_begin: Any = begin
_keep: Any = keep
_anneal: Any = anneal_plan


@dataclass(frozen=True)
class Milestone:
    """What the search has come to after a share of its moves: the energy price and the temperature.

    The price is in the sum of scales per least energy, the temperature in mean scales.
    """

    share: float
    price: float
    temperature: float


MILESTONES = (
    Milestone(0.0, 0.1, 0.025),
    Milestone(0.6, 0.05, 0.0025),
    Milestone(0.65, 0.02, 0.0025),
    Milestone(0.9, 3.0, 0.0025),
    Milestone(1.0, 60.0, 0.001),
)


def search_front(
    world: World,
    *,
    drop_below: float = 0.0,
    moves: int = DEFAULT_MOVES,
    seconds: float = math.inf,
    seed: int = 0,
    start: Sequence[Assignment] = (),
    on_progress: Callable[[float], None] | None = None,
) -> Front:
    """Search the front of utility against energy; what lies behind each point is an Assignment.

    Stops after so many moves or seconds, whichever comes first; without a limit of seconds the result depends on the
    arguments alone. `on_progress` gets the share done, from time to time. Raises InputError.
    """
    if moves < 0 or not seconds > 0:
        raise InputError(Problem("annealing", f"found {moves} moves, {seconds} s", "must be 0 or more, above 0 s"))
    search, began = _Search(world, drop_below, seed), time.perf_counter()
    search.set_out(start)
    left_s = max(began + seconds - time.perf_counter(), _LEAST_S)
    done, share, began = 0, 0.0, time.perf_counter()
    while done < moves and share < 1.0:
        n_moves = min(CHUNK, moves - done)
        took_s = time.perf_counter() - began
        by_clock = took_s / left_s * (1.0 + n_moves / max(done, n_moves))
        share, before = min(max((done + n_moves) / moves, by_clock, share), 1.0), share
        search.go(n_moves, before, share)
        done += n_moves
        if on_progress is not None:
            on_progress(share)
    return search.front(start)


class _Search:
    """A world made ready for annealing."""

    def __init__(self, world: World, drop_below: float, seed: int) -> None:
        self.world, self.facts = world, assignment_facts(world, drop_below)
        facts, rng = self.facts, generator(seed, "assignment annealing")
        self.state, n = draws_of(rng), world.workload.n_tasks
        shortest_s, least_j = (_least(facts, values) for values in (facts.exec_s, facts.energy_j))
        self.typical_s, self.least_j = float(shortest_s.mean()), float(least_j.sum())
        self.scale = float(facts.tasks.scale.mean())
        self.scene = Scene(
            facts,
            _curves(world.workload.shapes, self.typical_s, _horizon_s(facts)),
            _plan(n, world.system.n_machines),
            _archive(n),
            rng.gumbel(size=N_NOISE),
            np.ones(facts.exec_s.shape),
        )

    def set_out(self, start: Sequence[Assignment]) -> None:
        """Begin with the best of the given assignments and our own."""
        plans = [genes_of(self.facts, assignment) for assignment in start]
        plans += [self._by_prices()]
        worth = [self._load(place, order) for place, order in plans]
        place, order = plans[int(np.argmax(worth))]
        self._load(place, order)

    def _load(self, place: Ints, order: Ints) -> float:
        """Make this the plan, and keep it; returns its utility less what its energy costs at first."""
        scene = self.scene
        _begin(scene, place, np.argsort(order, kind="stable").astype(np.int32))
        _keep(scene)
        return float(scene.plan.totals[WORTH] - self._per_j(MILESTONES[0].price) * scene.plan.totals[SPENT])

    def _per_j(self, price: float) -> float:
        return price * self.scale * self.facts.tasks.scale.size / max(self.least_j, 1e-300)

    def _by_prices(self) -> Ints:
        """Genes by prices: each task where and when it gains most, on the machine of its choice that is free first."""
        auction, per_j = Auction(self.world, self.facts.drop_below, N_SLOTS), self._per_j(MILESTONES[0].price)
        per_s = auction.descend(auction.first_guess, per_j, EVALUATIONS, FIRST_STEP)
        auction.answer(per_s, per_j)
        _, option, start_s = auction.choices
        options = auction.bidders.options
        choice = options.machine_type[option] * self.world.system.n_pstates + options.pstate[option]
        sequence = np.argsort(np.where(option >= 0, start_s, math.inf), kind="stable")
        order = np.empty_like(sequence)
        order[sequence] = np.arange(order.size)
        return np.stack([self._spread(np.where(option >= 0, choice, NOWHERE), sequence), order]).astype(np.int32)

    def _spread(self, choice: Ints, sequence: Ints) -> Ints:
        """Places for choices: in this sequence, each on the machine of its type that is free first."""
        facts, free_s = self.facts, np.zeros(self.world.system.n_machines)
        places = [np.flatnonzero(facts.choice == c) for c in range(facts.exec_s.shape[1])]
        place = np.full(choice.size, NOWHERE, np.int32)
        for i in sequence[choice[sequence] != NOWHERE]:
            those = places[choice[i]]
            place[i] = those[np.argmin(free_s[facts.machine[those]])]
            m = facts.machine[place[i]]
            free_s[m] = max(free_s[m], facts.tasks.arrival_s[i]) + facts.exec_s[facts.tasks.task_type[i], choice[i]]
        return place

    def go(self, n_moves: int, share: float, reached: float) -> None:
        """Anneal from one share of the search to another."""
        (price, warm), (dearer, cold) = _at(share), _at(reached)
        per_j = self._per_j(price), self._per_j(dearer)
        _anneal(self.state, self.scene, Sweep(n_moves, per_j, (warm * self.scale, cold * self.scale)))

    def front(self, start: Sequence[Assignment]) -> Front:
        """What is kept, and what was given, evaluated exactly."""
        archive, facts = self.scene.archive, self.facts
        kept = archive.genes[archive.slot[: archive.n_kept[0]]]
        found = [*start, *(assignment_of(facts, genes) for genes in kept)]
        return front_of(evaluated(facts, found), found, ENERGY_UTILITY)


def _at(share: float) -> tuple[float, float]:
    """Price and temperature at a share of the search, between milestones in proportion."""
    for before, after in pairwise(MILESTONES):
        if share <= after.share:
            part = (share - before.share) / (after.share - before.share)
            price = before.price * (after.price / before.price) ** part
            return price, before.temperature * (after.temperature / before.temperature) ** part
    return MILESTONES[-1].price, MILESTONES[-1].temperature


def _least(facts: AssignmentFacts, values: Floats) -> Floats:
    """The least of what each task may choose, of values by [task type, choice]."""
    return np.asarray(values[facts.tasks.task_type][:, facts.choice].min(axis=1))


def _horizon_s(facts: AssignmentFacts) -> float:
    """An instant by which all tasks can be done with ease."""
    longest_s = -_least(facts, np.where(np.isfinite(facts.exec_s), -facts.exec_s, 0.0))
    busy_s = _least(facts, facts.exec_s).sum() / (int(facts.machine[-1]) + 1)
    return float(facts.tasks.arrival_s[-1] + longest_s.max() + 2.0 * busy_s)


def _curves(shapes: UtilityShapes, typical_s: float, horizon_s: float) -> Curves:
    """The table of all shapes, in cells of 1, 2 or 5 times a power of ten seconds.

    A cell with a jump inside has its last value throughout; after the last cell nothing changes any more.
    """
    width_s = _round_up(horizon_s / N_CELLS)
    n_lead = min(math.ceil(typical_s / width_s) + 1, N_CELLS // 4)
    edges_s, shape = width_s * (np.arange(N_CELLS + 1) - n_lead), np.arange(len(shapes.names))[:, None]
    begins = shapes.value(shape, edges_s[:-1])
    ends = shapes.value(shape, np.nextafter(edges_s[1:], -np.inf))
    for s, start_s in zip(np.repeat(shape[:, 0], np.diff(shapes.first)), shapes.start_s, strict=True):
        cell = int(start_s / width_s) + n_lead
        if cell < N_CELLS and start_s > edges_s[cell]:
            begins[s, cell] = ends[s, cell]
    later = begins - shapes.value(shape, edges_s[:-1] + typical_s)
    earlier = shapes.value(shape, edges_s[:-1] - typical_s) - begins
    cells = np.stack([begins, ends - begins, later, earlier], axis=-1).reshape(-1, 4)
    return Curves(cells.astype(np.float32), 1.0 / width_s, float(n_lead), N_CELLS, typical_s)


def _round_up(width: float) -> float:
    power = 10.0 ** math.floor(math.log10(width))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= width * (1 - 1e-12))


def _plan(n_tasks: int, n_machines: int) -> Plan:
    """An empty plan."""
    shape = (n_machines + 1, n_tasks)
    numbers = (np.zeros(shape, np.int32), np.zeros(shape, np.int32))
    lanes = Lanes(*numbers, *(np.zeros(shape) for _ in Lanes._fields[2:]))
    place, position = np.zeros(n_tasks, np.int32), np.zeros(n_tasks, np.int32)
    return Plan(lanes, np.zeros(n_machines + 1, np.int64), place, position, np.zeros(2))


def _archive(n_tasks: int) -> Archive:
    """An empty archive."""
    genes = np.zeros((MOST_KEPT, 2, n_tasks), np.int32)
    return Archive(np.zeros((MOST_KEPT, 2)), np.arange(MOST_KEPT), genes, np.zeros(1, np.int64))

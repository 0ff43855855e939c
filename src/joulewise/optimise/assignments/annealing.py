"""Fronts of utility against energy close to what can be proven: prices say what runs where, annealing makes it fit.

The search goes along the front in legs, from cheap energy to expensive. At the price of energy with which a leg begins,
the prices of machine time that prove the bound are found; each task goes where and when it gains most after paying.
That plan is annealed at this price, then swept along the front as energy gets more expensive, to where the next leg
begins. Whatever nothing else beats on the way is kept. Most of the moves are for the first leg: all utility at more
energy is its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.assignments.evaluation import NOWHERE, ORDER, PLACE, AssignmentFacts
from joulewise.kernels.assignments.plans import Curves, LanePlan, Lanes, PlanArchive, SearchScene, begin, keep
from joulewise.kernels.assignments.search import Sweep, anneal_plan
from joulewise.kernels.draws import draws_of
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.model.assignment import Assignment
from joulewise.model.utility import UtilityShapes
from joulewise.model.world import World
from joulewise.optimise.assignments.prices import Auction
from joulewise.optimise.assignments.problem import (
    ENERGY_UTILITY,
    MOST_POSITIONS,
    assignment_facts,
    assignment_of,
    genes_of,
    points_of,
)
from joulewise.optimise.assignments.seeds import SEEDS
from joulewise.optimise.front import Front, front_of
from joulewise.rng import generator

DEFAULT_MOVES = 4_000_000
MOST_KEPT, MOST_KEPT_GENES, LEAST_KEPT = 1000, 10**8, 20
"""How many points are kept: fewer of workloads of more than 100,000 tasks."""

N_CELLS = 2048
NEGLIGIBLE = 1e-5
"""Of what a shape is worth at first: tables of utility end where this is all that is left to lose."""

N_NOISE = 4096
CHUNK = 16_384
"""How many moves are tried between looks at the clock."""

_MOVES_PER_S = 5e5
_TINY = 1e-300
_FOREVER_S, _HALVINGS = 1e15, 80
_begin: Any = begin
_keep: Any = keep
_anneal: Any = anneal_plan


@dataclass(frozen=True)
class Leg:
    """A part of the search: its share of the moves, and the prices of energy at its beginning and its end.

    Prices are in the sum of scales per least energy of all tasks.
    """

    share: float
    price: float
    last_price: float


def _legs(first_share: float, *prices: float) -> tuple[Leg, ...]:
    """Legs between prices, all but the first of equal shares."""
    share = (1.0 - first_share) / (len(prices) - 2)
    return tuple(Leg(share if k else first_share, *ends) for k, ends in enumerate(pairwise(prices)))


LEGS = _legs(0.5, 0.03, 0.1, 0.2, 0.4, 0.7, 1.2, 2.5, 7.0, 100.0)
LEGS_TO_NOTHING = _legs(0.3, 0.03, 0.2, 0.5, 0.8, 1.1, 1.5, 2.0, 2.8, 4.0, 7.0, 15.0, 100.0)
"""Where every task runs, and where tasks may be left out: that front goes down to no energy at all."""

COOLING = 0.7
"""The share of a leg at its first price."""

WARM, COLD = 0.02, 0.002
"""Temperatures at the beginning of a leg, but for small worlds, and at its end, in mean scales."""

WORTH_A_START = 10.0
"""Legs of fewer moves per task go on from where the last one ended."""

STARTS_IN_A_LEG = 4.0
"""So do legs that have less time than this many searches of their prices would take."""

N_SLOTS, FIRST_PRICES, NEXT_PRICES = 200, (150, 0.6), (40, 0.15)
"""Slots of time of the prices; with how many evaluations they are searched, and the first step in typical prices: for
the first leg, and from one leg's prices to the next's."""


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

    What the heuristics of SEEDS find is on the front, or dominated by it.
    Stops after this many moves or seconds, whichever comes first; without a limit of seconds the result depends on the
    arguments alone. `on_progress` gets the share done, from time to time. Raises InputError.
    """
    if moves < 0 or not seconds > 0:
        raise InputError(Problem("annealing", f"found {moves} moves, {seconds} s", "must be 0 or more, above 0 s"))
    raise_if_any(_size_problems(world))
    ends_s, n_tasks = time.perf_counter() + seconds, world.workload.n_tasks
    search = _AssignmentSearch(world, drop_below, seed, min(moves, seconds * _MOVES_PER_S) / n_tasks)
    search.keep(start)
    legs, begun = LEGS_TO_NOTHING if drop_below > 0 else LEGS, 0.0
    for k, leg in enumerate(legs):
        now_s, left = time.perf_counter(), sum(leg.share for leg in legs[k:])
        leg_ends_s = now_s + (ends_s - now_s) * leg.share / left if seconds < math.inf else math.inf
        n_moves = round((begun + leg.share) * moves) - round(begun * moves)
        search.set_out(leg, leg_ends_s - now_s, is_first=k == 0)
        for at in search.run(leg, n_moves, leg_ends_s):
            if on_progress is not None:
                on_progress(min(begun + at * leg.share, 1.0))
        begun += leg.share
    heuristics = [made(world, drop_below) for made in SEEDS.values()]
    return search.front([*start, *heuristics])


class _AssignmentSearch:
    """A world made ready for annealing."""

    def __init__(self, world: World, drop_below: float, seed: int, effort: float) -> None:
        self.world, self.facts, self.effort = world, assignment_facts(world, drop_below), effort
        facts, rng, n = self.facts, generator(seed, "assignment annealing"), world.workload.n_tasks
        shortest_s, least_j = (_least(facts, values) for values in (facts.exec_s, facts.energy_j))
        self.state, self.least_j, self.scale = draws_of(rng), float(least_j.sum()), float(facts.tasks.scale.mean())
        self.scene = SearchScene(
            facts,
            _curves(world.workload.shapes, float(shortest_s.mean()), _horizon_s(facts)),
            _plan(n, world.system.n_machines),
            _archive(n),
            rng.gumbel(size=N_NOISE),
            np.ones(facts.exec_s.shape),
        )
        self.auction = Auction(world, drop_below, N_SLOTS)
        self.per_s = self.auction.first_guess
        self.given: list[Ints] = []
        self.start_s = 0.0  # about how long the prices of one more leg take

    def keep(self, start: Sequence[Assignment]) -> None:
        """Keep what is given; legs may begin with it."""
        self.given = [genes_of(self.facts, assignment) for assignment in start]
        for genes in self.given:
            self._load(genes)

    def set_out(self, leg: Leg, left_s: float, is_first: bool) -> None:
        """Begin a leg with the best of what is given and the plan by prices; short ones go on where the last ended."""
        is_short = self.effort * leg.share < WORTH_A_START or left_s < STARTS_IN_A_LEG * self.start_s
        if not is_first and is_short:
            return
        began_s = time.perf_counter()
        per_j = self._per_j(leg.price)
        plans = [*self.given, self._by_prices(per_j, is_first)]
        worth = [self._load(genes) @ (1.0, -per_j) for genes in plans]
        self._load(plans[int(np.argmax(worth))])
        if is_first:
            self.start_s = (time.perf_counter() - began_s) * NEXT_PRICES[0] / FIRST_PRICES[0]

    def _load(self, genes: Ints) -> Floats:
        """Make this the plan, and keep it; returns its utility and energy."""
        place, order = genes
        _begin(self.scene, place, np.argsort(order, kind="stable").astype(np.int32))
        _keep(self.scene)
        return self.scene.plan.totals.copy()

    def _per_j(self, price: float) -> float:
        return price * self.scale * self.facts.tasks.scale.size / max(self.least_j, _TINY)

    def _by_prices(self, per_j: float, is_first: bool) -> Ints:
        """Genes by prices: each task where and when it gains most, on the machine of its choice that is free first."""
        self.per_s = self.auction.descend(self.per_s, per_j, *(FIRST_PRICES if is_first else NEXT_PRICES))
        self.auction.answer(self.per_s, per_j)
        _, option, start_s = self.auction.choices
        options = self.auction.bidders.options
        choice = options.machine_type[option] * self.world.system.n_pstates + options.pstate[option]
        sequence = np.argsort(np.where(option >= 0, start_s, math.inf), kind="stable")
        genes = np.empty((2, sequence.size), np.int32)
        genes[PLACE] = self._spread(np.where(option >= 0, choice, NOWHERE), sequence)
        genes[ORDER, sequence] = np.arange(sequence.size)
        return genes

    def _spread(self, choice: Counts, sequence: Counts) -> Ints:
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

    def run(self, leg: Leg, n_moves: int, ends_s: float) -> Iterator[float]:
        """Anneal along a leg up to this many moves or an instant; yields the share of the leg that is done."""
        began_s, done, at = time.perf_counter(), 0, 0.0
        while done < n_moves and at < 1.0:
            chunk = min(CHUNK, n_moves - done)
            took_s = (time.perf_counter() - began_s) * (1.0 + chunk / max(done, 1) * (done > 0))
            by_clock = took_s / max(ends_s - began_s, _TINY)
            before, at = at, min(max((done + chunk) / n_moves, by_clock, at), 1.0)
            (price, warm), (dearer, cold) = self._state_at(leg, before), self._state_at(leg, at)
            _anneal(self.state, self.scene, Sweep(chunk, (price, dearer), (warm, cold)))
            done += chunk
            yield at

    def _state_at(self, leg: Leg, share: float) -> tuple[float, float]:
        """Energy price and temperature at a share of a leg: it cools at its first price, then energy gets more "
        "expensive."""
        warm = WARM + 1.0 / self.facts.tasks.scale.size
        cooled, swept = min(share / COOLING, 1.0), max(share - COOLING, 0.0) / (1.0 - COOLING)
        price = leg.price * (leg.last_price / leg.price) ** swept
        return self._per_j(price), self.scale * max(warm, COLD) * (COLD / max(warm, COLD)) ** cooled

    def front(self, start: Sequence[Assignment]) -> Front:
        """What is kept, and what was given, evaluated exactly."""
        archive, facts = self.scene.archive, self.facts
        kept = archive.genes[archive.slot[: archive.n_kept[0]]]
        genes = np.concatenate([np.stack([genes_of(facts, given) for given in start]), kept]).swapaxes(0, 1).copy()
        front = front_of(points_of(facts, genes), range(genes.shape[1]), ENERGY_UTILITY)
        payload = tuple(assignment_of(facts, genes[:, row]) for row in front.payload)
        return Front(ENERGY_UTILITY, front.points, payload)


def _size_problems(world: World) -> Iterator[Problem]:
    n_tasks, n_machines = world.workload.n_tasks, world.system.n_machines
    if n_tasks * n_machines > MOST_POSITIONS:
        found = f"found {n_tasks:,} tasks for {n_machines:,} machines"
        yield Problem(
            "workload", found, f"annealing takes {MOST_POSITIONS:,} tasks times machines at most", "split the workload"
        )


def _least(facts: AssignmentFacts, values: Floats) -> Floats:
    """The least of what each task may choose, of values by [task type, choice]."""
    return np.asarray(values[facts.tasks.task_type][:, facts.choice].min(axis=1))


def _horizon_s(facts: AssignmentFacts) -> float:
    """A lateness that no task needs: by then, all can be done with ease."""
    longest_s = -_least(facts, np.where(np.isfinite(facts.exec_s), -facts.exec_s, 0.0))
    busy_s = _least(facts, facts.exec_s).sum() / (int(facts.machine[-1]) + 1)
    return float(facts.tasks.arrival_s[-1] + longest_s.max() + 2.0 * busy_s)


def _settled_s(shapes: UtilityShapes) -> float:
    """How long after the hold every shape is as good as at its end, which may be long before its last segment."""
    shape = np.arange(len(shapes.names))
    low_s, high_s = np.zeros(shape.size), shapes.start_s[shapes.first[1:] - 1] + _FOREVER_S
    rest = shapes.value(shape, high_s) + NEGLIGIBLE * shapes.value(shape, 0.0)
    for _ in range(_HALVINGS):
        middle_s = 0.5 * (low_s + high_s)
        is_settled = shapes.value(shape, middle_s) <= rest
        low_s, high_s = np.where(is_settled, low_s, middle_s), np.where(is_settled, middle_s, high_s)
    return float(high_s.max())


def _curves(shapes: UtilityShapes, typical_s: float, horizon_s: float) -> Curves:
    """The table of all shapes, in cells of 1, 2 or 5 times a power of ten seconds.

    A cell with a jump inside has its last value throughout; after the last cell nothing changes any more.
    """
    width_s = _round_up(min(horizon_s, max(_settled_s(shapes), typical_s)) / N_CELLS)
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


def _plan(n_tasks: int, n_machines: int) -> LanePlan:
    """An empty plan."""
    shape = (n_machines + 1, n_tasks)
    numbers = (np.zeros(shape, np.int32), np.zeros(shape, np.int32))
    lanes = Lanes(*numbers, *(np.zeros(shape) for _ in Lanes._fields[2:]))
    place, position = np.zeros(n_tasks, np.int32), np.zeros(n_tasks, np.int32)
    return LanePlan(lanes, np.zeros(n_machines + 1, np.int64), place, position, np.zeros(2))


def _archive(n_tasks: int) -> PlanArchive:
    """An empty archive."""
    most = min(MOST_KEPT, max(MOST_KEPT_GENES // n_tasks, LEAST_KEPT))
    return PlanArchive(
        np.zeros((most, 2)), np.arange(most), np.zeros((most, 2, n_tasks), np.int32), np.zeros(1, np.int64)
    )

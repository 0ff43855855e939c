"""The genetic algorithm of Oxley et al. (IV.B) for plans of a facility: Genitor with a local search that keeps limits.

Two children a generation take the place of the worst. The local search is Algorithm 2: CRAC units blow as hot as the
redlines allow, and the hottest node is slowed down until the limits are kept. As printed it looks at all temperatures
after each step; here it does so after each round of steps, of which each takes off half of the power that is too much,
or all of it once that is little. A step only lowers powers, and lower powers heat no node, so limits once kept stay
kept. Where they are not kept even with all genes in their last P-states, which is looked at first, these are taken and
all shares are cut in proportion.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.draws import draws_of
from joulewise.kernels.facility.genes import (
    ALONE,
    FULL,
    SLOWED,
    GeneFacts,
    breed,
    measure,
    mutate,
    pool_of,
    power_when_slowest,
    room_to_breed,
    throttle,
)
from joulewise.model.air import Air
from joulewise.model.arrays import Counts
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.cooling import Cooled, RoomCooling
from joulewise.optimise.facility.evaluation import earned_per_s, keeps_limits, steady
from joulewise.optimise.facility.search import FoundPlan, History
from joulewise.rng import generator

POPULATION, GENERATIONS = 200, 10_000
BIAS = 1.5
"""How much likelier than the middle one the best chromosome is to be a parent."""

MUTATION, GENE_MUTATION = 0.1, 0.05
"""The chance that a child is mutated, and that of each of its genes then."""

LITTLE = 0.002
"""Power above the cap by less than this share of it is taken off in one round."""

_TOO_HOT = 0.02
"""This much of all power a round takes off while even the coldest supply breaks a redline."""

_breed: Any = breed
_measure: Any = measure
_mutate: Any = mutate
_power_when_slowest: Any = power_when_slowest
_throttle: Any = throttle


def evolve_plans(
    facility: Facility,
    air: Air,
    *,
    counts_neighbours: bool = True,
    population: int = POPULATION,
    generations: int = GENERATIONS,
    seconds: float = math.inf,
    seeds: Sequence[FacilityPlan] = (),
    mutation: float = MUTATION,
    gene_mutation: float = GENE_MUTATION,
    seed: int = 0,
) -> FoundPlan:
    """The best plan by co-located reward rate (GACL), or, if neighbours do not count, by reward rate alone (GA).

    `seeds` are plans in the first population; the rest is random. The result is never worse than a seed that keeps the
    limits. Stopped by the clock or from the keyboard, it is the best so far. A chance of `mutation` for each child and
    of `gene_mutation` for each of its genes are as published; where seeds are to be polished, few genes of many
    children do better.
    """
    raise_if_any(_wishes_problems(population, mutation, gene_mutation))
    herd = _PlanHerd(facility, air, counts_neighbours, population, seed, time.perf_counter() + seconds)
    try:
        why_stopped = herd.settle(seeds) or herd.evolve(generations, mutation, gene_mutation)
    except KeyboardInterrupt:
        if not herd.best.history.rows:
            raise
        why_stopped = "interrupted"
    return FoundPlan(herd.best_plan(), tuple(herd.best.history.rows), why_stopped)


def _wishes_problems(population: int, mutation: float, gene_mutation: float) -> Iterator[Problem]:
    if population < 2:
        yield Problem("population", f"found {population}", "must be 2 or more")
    for name, chance in (("mutation", mutation), ("gene_mutation", gene_mutation)):
        if not 0.0 <= chance <= 1.0:
            yield Problem(name, f"found {chance}", "must be from 0 to 1")


@dataclass
class _Best:
    """The best so far: a row of the pool, or a seed."""

    worth: float = -math.inf
    plan: FacilityPlan | None = None
    row: int = -1
    history: History = field(default_factory=History)

    def note(self, worth: float, slowed_per_s: float, *, row: int = -1, plan: FacilityPlan | None = None) -> None:
        """Remember a row or a plan, with its co-located reward rate, if it is worth more."""
        if worth > self.worth:
            self.worth, self.row, self.plan = worth, row, plan
            self.history.note(slowed_per_s)


class _PlanHerd:
    """A population of chromosomes, with two rows to spare for children."""

    def __init__(
        self, facility: Facility, air: Air, counts_neighbours: bool, population: int, seed: int, until_s: float
    ) -> None:
        types, flows, n_rows = facility.node_types, facility.tasks, population + 2
        self.facility, self.air, self.population, self.until_s = facility, air, population, until_s
        self.counted = SLOWED if counts_neighbours else ALONE
        self.best = _Best()
        self.cooling = RoomCooling(facility, air)
        self.cooling.raise_if_never_fits()
        self.usable = _usable_pstates(facility)
        self.facts = _facts_of(facility, air, self.usable)
        self.last_pstate = np.maximum(self.facts.n_usable - 1, 0)[:, facility.node_type[self.facts.node_of_core]].T
        self.slowest_w = np.empty(facility.n_nodes)
        self.pool = pool_of(n_rows, facility.n_nodes, facility.n_cores, flows.n_types)
        self.room = room_to_breed(facility.n_nodes, int(types.sharers.max()), flows.n_classes, flows.n_types)
        self.base_c, self.supply_c = np.zeros((2, n_rows, facility.room.n_cracs))
        self.worth = np.full(n_rows, -math.inf)
        self.ranked = np.empty(0, np.int64)
        self.state = draws_of(generator(seed, "facility", "genetic"))

    # --- the first population, and all after ---

    def settle(self, seeds: Sequence[FacilityPlan]) -> str | None:
        """Fill the first population; gives why it was not finished, if so."""
        for plan in seeds:
            self._note_seed(plan)
        for row in range(self.population):
            if row < len(seeds):
                self._write(row, seeds[row])
            else:
                _mutate(self.state, self.facts, self.pool, self.room, row, 1.0)
            self._enter(row)
            if time.perf_counter() > self.until_s and row > 0:
                self._rank(np.arange(row + 1))
                return "time"
        self._rank(np.arange(self.population))
        return None

    def evolve(self, generations: int, mutation: float = MUTATION, gene_mutation: float = GENE_MUTATION) -> str:
        """Breed two children a generation; gives why it ended."""
        for _ in range(generations):
            if time.perf_counter() > self.until_s:
                return "time"
            children = np.setdiff1d(np.arange(self.worth.size), self.ranked)
            parents = _breed(
                self.state, self.facts, self.pool, self.room, self.ranked, children, BIAS, mutation, gene_mutation
            )
            self.base_c[children] = self.base_c[list(parents)]
            for child in children:
                self._enter(int(child))
            self._rank(np.concatenate((self.ranked, children)))
        return "generations"

    def _rank(self, rows: Counts) -> None:
        """Keep the best rows, the older where two are as good."""
        self.ranked = rows[np.argsort(-self.worth[rows], kind="stable")][: self.population]

    def _enter(self, row: int) -> None:
        """Make a chromosome keep the limits, and note what it is worth."""
        self._keep_limits(row)
        flows, rates = self.facility.tasks, self.pool.rate[row]
        self.worth[row] = earned_per_s(flows, rates[self.counted])
        self.best.note(self.worth[row], earned_per_s(flows, rates[SLOWED]), row=row)

    # --- seeds and plans ---

    def _note_seed(self, plan: FacilityPlan) -> None:
        """Remember a seed as it is, if it keeps the limits: as a chromosome it is rounded, and blows by one level."""
        state = steady(self.facility, self.air, plan)
        if keeps_limits(self.facility, plan, state):
            worth = (state.reward_per_s, state.slowed_reward_per_s)
            self.best.note(worth[self.counted], state.slowed_reward_per_s, plan=plan)

    def _write(self, row: int, plan: FacilityPlan) -> None:
        """Write a plan as a chromosome; what it has in P-states that cannot be used is left out."""
        kinds = self.facility.node_type[self.facts.node_of_core]
        tasks = np.arange(self.facility.tasks.n_types)
        is_it = self.usable[tasks, kinds[:, None]] == plan.pstate[:, :, None]
        self.pool.pstate[row] = is_it.argmax(axis=2)
        self.pool.share[row] = np.floor(plan.share * is_it.any(axis=2) * FULL)
        self.base_c[row] = plan.supply_c
        _measure(self.facts, self.pool, self.room, row)

    def best_plan(self) -> FacilityPlan:
        """The best plan so far."""
        if self.best.plan is not None:
            return self.best.plan
        row, kinds = self.best.row, self.facility.node_type[self.facts.node_of_core]
        share = self.pool.share[row] / FULL
        place = self.pool.pstate[row].astype(np.int64)
        pstate = self.usable[np.arange(share.shape[1]), kinds[:, None], place]
        return FacilityPlan(share, np.maximum(pstate, 0), self.supply_c[row])

    # --- local search ---

    def _keep_limits(self, row: int) -> None:
        """Algorithm 2."""
        cooled = self._cool(row)
        if not self.cooling.fits(cooled):
            _power_when_slowest(self.facts, self.pool, row, self.slowest_w)
            can_keep = self.cooling.fits(self.cooling.cool(self.slowest_w, base_c=self.base_c[row]))
            cooled = self._throttle(row, cooled) if can_keep else self._scale_down(row)
        self.supply_c[row] = cooled.supply_c

    def _throttle(self, row: int, cooled: Cooled) -> Cooled:
        """Slow down the hottest nodes, round after round; cut shares if the supply had to be set again on the way."""
        while not self.cooling.fits(cooled):
            inlet_c = self.air.inlets_c(self.pool.node_w[row], cooled.supply_c)[0]
            excess_w = self._power_to_take_off(cooled)
            taken_w = _throttle(self.state, self.facts, self.pool, self.room, row, inlet_c, cooled.w_per_w, excess_w)
            cooled = self._cool(row)
            if taken_w < excess_w and not self.cooling.fits(cooled):
                return self._scale_down(row)
        return cooled

    def _cool(self, row: int) -> Cooled:
        """The hottest supply: that of a seed raised or lowered as a whole, unless a unit would heat."""
        node_w = self.pool.node_w[row]
        rise_k = self.cooling.rise_k(node_w)
        cooled = self.cooling.cool(node_w, rise_k, self.base_c[row])
        if not cooled.removes_heat and self.base_c[row].any():
            self.base_c[row] = 0.0
            cooled = self.cooling.cool(node_w, rise_k)
        return cooled

    def _power_to_take_off(self, cooled: Cooled) -> float:
        excess_w = self.cooling.excess_w(cooled)
        if not (cooled.keeps_redlines and cooled.removes_heat):
            return max(_TOO_HOT * cooled.total_w, 0.5 * excess_w)
        return excess_w if excess_w < LITTLE * self.facility.cap_w else 0.5 * excess_w

    def _scale_down(self, row: int) -> Cooled:
        """Take all genes to their last P-states, and cut all shares to the largest part that keeps the limits."""
        kept = self.cooling.cut(self.slowest_w)
        assert kept is not None, "rest keeps the limits, as was looked at first"
        self.base_c[row] = 0.0
        self.pool.pstate[row] = self.last_pstate
        self.pool.share[row] = np.floor(self.pool.share[row] * kept[0])
        _measure(self.facts, self.pool, self.room, row)
        return self.cooling.cool(self.pool.node_w[row])


def _usable_pstates(facility: Facility) -> Counts:
    """[task type, node type, place]: the P-states that can be used, from the fastest on, and then -1."""
    is_usable = facility.tasks.is_usable
    order = np.argsort(~is_usable, axis=2, kind="stable")
    return np.where(np.take_along_axis(is_usable, order, axis=2), order, -1)


def _facts_of(facility: Facility, air: Air, usable: Counts) -> GeneFacts:
    flows, first_core = facility.tasks, facility.first_core
    tables = (flows.speed_per_s, flows.power_w, flows.least_pace)
    speed, power, least_pace = (np.take_along_axis(table, np.maximum(usable, 0), axis=2) for table in tables)
    return GeneFacts(
        first_core,
        np.repeat(np.arange(facility.n_nodes, dtype=np.int32), np.diff(first_core)),
        facility.node_type,
        facility.node_types.sharers,
        facility.overhead_w,
        air.heating_k_per_w,
        speed,
        power,
        least_pace,
        (usable >= 0).sum(axis=2),
        flows.memory_class,
        flows.slowdown,
    )

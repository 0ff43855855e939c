"""Plans of a facility by non-linear programming in three steps (Oxley IV.C): NLP, and NLPCL, which counts neighbours.

Step 1 lets a core run between P-states: it mixes them, so that speed is interpolated by power, and IPOPT chooses what
each core does and how cold each CRAC unit blows. Step 2 rounds the power of each (core, task type) to a P-state. Step 3
keeps P-states and supplies, and chooses the shares again. NLPCL maximises the co-located reward rate, with the power
and speed of each task type, in steps 1 and 3. NLP is as in prior work: it maximises the reward rate (step 3 is then a
linear program) and believes in one power per P-state for all task types, the mean over them, and in one scaling of all
speeds, that of the task type whose speed falls most from P-state 0 to the last.

What is planned with such beliefs, or rounded, can break a limit: then all shares are scaled down until none is broken,
with supplies somewhat colder where that helps. Step 1 of NLPCL is first solved with a few processors of each node type
for all, which gives a plan early and a start for the whole; in the largest facilities such stand-ins are all there is.
CasADi gives exact first and second derivatives; temperatures stay variables, as their equations are sparse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from joulewise.model.air import Air
from joulewise.model.arrays import Bools, Codes, Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.cooling import RoomCooling, within_limits
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.nlp_program import (
    Beliefs,
    Members,
    NonlinearProgram,
    Options,
    SolverClock,
    casadi_or_say_how,
    every_core,
    fixed_columns,
    mixed_columns,
    node_of_core,
    one_for_each_node,
    stand_ins,
)
from joulewise.optimise.facility.search import FoundPlan, History
from joulewise.rng import generator

_STAND_INS = 8
"""Processors of each node type in the small program whose answer step 1 of NLPCL starts from."""

_MOST_PAIRS = 40_000
"""With more (core, task type) than this a few processors of each node type stand for all, as far as there is room."""

_INSIDE, _DUST = 1e-9, 1e-6
_START_TIME, _STEP_1_PART = 0.3, 0.7
_FROM_AFAR: Options = {}
_NEAR_START: Options = {"mu_init": 1e-3, "bound_push": 1e-3, "bound_frac": 1e-3}
_AT_LAST: Options = {"mu_init": 1e-4, "bound_push": 1e-4, "bound_frac": 1e-4}


def plan_by_nlp(
    facility: Facility, air: Air, *, counts_neighbours: bool, seconds: float = math.inf, seed: int = 0
) -> FoundPlan:
    """The plan of NLPCL (`counts_neighbours`) or NLP, or the best one so far when the seconds are over.

    The seed breaks the symmetry of equal cores. Raises InputError where CasADi is missing, or where the nodes at rest
    already break a limit.
    """
    casadi_or_say_how()
    search = _NlpSearch(facility, air, counts_neighbours, seconds, seed)
    search.begin()
    return search.run()


class _CoreShares(NamedTuple):
    """What cores do, without the supply of the CRAC units: `share` and `pstate` of [core, task type]."""

    share: Floats
    pstate: Codes


def _believed(facility: Facility, counts_neighbours: bool) -> Beliefs:
    flows = facility.tasks
    if counts_neighbours:
        return Beliefs(flows.speed_per_s, flows.power_w)
    runs = flows.speed_per_s > 0
    mean_w = (flows.power_w * runs).sum(axis=0) / np.maximum(runs.sum(axis=0), 1)
    scaled = flows.speed_per_s[:, :, :1] * _scaling(facility)
    return Beliefs(scaled, np.broadcast_to(mean_w, scaled.shape))


def _scaling(facility: Facility) -> Floats:
    """[node type, P-state]: the speed beside P-state 0 of the task type that loses most by the last P-state."""
    speed = facility.tasks.speed_per_s
    ratio = np.divide(speed, speed[:, :, :1], out=np.ones_like(speed), where=speed[:, :, :1] > 0)
    kinds = np.arange(ratio.shape[1])
    at_last = ratio[:, kinds, facility.node_types.n_pstates - 1]
    steepest = np.where(at_last > 0, at_last, np.inf).argmin(axis=0)
    return np.asarray(ratio[steepest, kinds])


def _rounded(facility: Facility, program: NonlinearProgram, values: Floats, beliefs: Beliefs) -> Codes:
    """Step 2: a P-state for each [member, task type], so that all cores together draw about what they did.

    A pair whose power lies between two P-states gets the slower one; then those nearest to the faster one get that,
    one after the other, until the power they had before is used up.
    """
    share, kind = program.shares(values), program.members.kind
    mixed = np.maximum(share, 1e-30)
    time_of = program.by_pair(mixed)
    power_w = program.by_pair(mixed * program.power_w) / np.where(time_of > 0, time_of, 1.0)
    by_pstate = np.moveaxis(beliefs.power_w[:, kind], 1, 0)
    usable = np.moveaxis(facility.tasks.is_usable[:, kind], 1, 0)
    slower = _slower_pstate(by_pstate, usable, power_w)
    faster = np.maximum(slower - 1, 0)
    faster = np.where(np.take_along_axis(usable, faster[:, :, None], 2)[:, :, 0], faster, slower)
    low_w, high_w = (np.take_along_axis(by_pstate, p[:, :, None], 2)[:, :, 0] for p in (slower, faster))
    weighted = program.by_pair(share) * program.members.cores[:, None]
    extra_w, spare_w = (weighted * (high_w - low_w)).ravel(), float((weighted * (power_w - low_w)).sum())
    nearness = np.divide(power_w - low_w, high_w - low_w, out=np.zeros_like(low_w), where=high_w > low_w).ravel()
    order = np.argsort(-nearness, kind="stable")
    is_faster = np.zeros(nearness.size, np.bool_)
    is_faster[order] = np.cumsum(extra_w[order]) - extra_w[order] / 2 <= spare_w
    is_faster &= nearness > 0
    return np.where(is_faster.reshape(slower.shape), faster, slower).astype(np.int8)


def _slower_pstate(by_pstate: Floats, usable: Bools, power_w: Floats) -> Counts:
    """The fastest usable P-state that draws no more than a power, or the slowest usable one where all draw more."""
    fits = usable & (by_pstate <= power_w[:, :, None] * (1.0 + _INSIDE))
    return np.asarray(np.where(fits.any(axis=2), fits.argmax(axis=2), _slowest(usable)))


def _slowest(usable: Bools) -> Counts:
    """The slowest usable P-state, 0 where none is."""
    from_behind = usable[:, :, ::-1].argmax(axis=2)
    return np.where(usable.any(axis=2), usable.shape[2] - 1 - from_behind, 0).astype(np.int64)


def _a_little_of_all(facility: Facility) -> _CoreShares:
    """All cores do the same of every task type that they can, in the slowest usable P-state."""
    flows, kind = facility.tasks, facility.node_type[node_of_core(facility)]
    usable = flows.is_usable[:, kind]
    can = usable.any(axis=2)
    return _CoreShares((can / np.maximum(can.sum(axis=0), 1)).T, _slowest(usable).T.astype(np.int8))


class _NlpSearch:
    """One search: the clock, the best plan so far, and the steps.

    The best plan is the best by what the technique maximises: the reward rate, co-located if neighbours count.
    """

    def __init__(self, facility: Facility, air: Air, counts_neighbours: bool, seconds: float, seed: int) -> None:
        self.facility, self.air, self.counts_neighbours = facility, air, counts_neighbours
        self.beliefs = _believed(facility, counts_neighbours)
        self.rng, self.clock = generator(seed, "optimise.facility_nlp"), SolverClock(seconds)
        self.cooling, self.history = RoomCooling(facility, air), History()
        self.best: tuple[float, FacilityPlan] | None = None

    def offer(self, members: Members, does: _CoreShares, supply_c: Floats) -> float:
        """Keep a plan, within the limits, if it is the best so far; what it earns, -1 where it cannot be kept."""
        share, pstate = does.share[members.of_core], does.pstate[members.of_core]
        if not self.facility.tasks.deadlines_alone:  # whatever a core runs at any time counts for its neighbours
            share = np.where(share > _DUST, share, 0.0)
        kept = within_limits(self.cooling, FacilityPlan(share, pstate, supply_c))
        if kept is None:
            return -1.0
        plan, state = kept
        earned = state.slowed_reward_per_s if self.counts_neighbours else state.reward_per_s
        if self.best is None or earned > self.best[0]:
            self.best = earned, plan
            self.history.note(state.slowed_reward_per_s)
        return earned

    def begin(self) -> None:
        """Offer a plan that needs no solver, with the supply that it needs, or that nodes at rest need."""
        self.cooling.raise_if_never_fits()
        does = _a_little_of_all(self.facility)
        plan = FacilityPlan(does.share, does.pstate, self.facility.room.coldest_c)
        for node_w in (steady(self.facility, self.air, plan).node_w, self.facility.overhead_w):
            self.offer(every_core(self.facility), does, self.cooling.cool(node_w).supply_c)

    def run(self) -> FoundPlan:
        """The three steps."""
        program, values = self.between_pstates()
        does, supply_c, _ = self.rounded(program, values)
        if not self.clock.is_over:
            self.with_pstates(program.members, does, supply_c)
        assert self.best is not None
        why = "time" if self.clock.was_cut or self.clock.is_over else "done"
        return FoundPlan(self.best[1], tuple(self.history.rows), why)

    def between_pstates(self) -> tuple[NonlinearProgram, Floats]:
        """Step 1: what cores do with P-states mixed, and the supplies."""
        all_members = self.members()
        few = stand_ins(self.facility, self.rng, _STAND_INS)
        if not self.counts_neighbours or few.kind.size == all_members.kind.size:
            few = all_members
        program = self.program(few)
        values = self.from_afar(program)
        if few is all_members or self.clock.is_over:
            return program, values
        full = self.program(all_members)
        start = full.point(_copied(program, values, full), program.supply_c(values))
        return full, full.by_ipopt(start, None, self.clock, _NEAR_START, _STEP_1_PART)

    def from_afar(self, program: NonlinearProgram) -> Floats:
        """The best of where IPOPT ends from some starts: several where CRAC units differ, as their best supplies do."""
        ends = []
        for supply_c in self.start_supplies_c():
            start = program.point(self.any_shares(program), supply_c)
            values = program.by_ipopt(start, None, self.clock, _FROM_AFAR)
            ends.append((self.rounded(program, values)[2], values))
            if self.clock.is_over:
                break
        return max(ends, key=lambda end: end[0])[1]

    def start_supplies_c(self) -> Iterator[Floats]:
        room, facility = self.facility.room, self.facility
        yield self.cooling.cool(facility.overhead_w).supply_c
        ranges_c = np.stack((room.coldest_c, room.hottest_c))
        if not room.has_one_curve or np.ptp(ranges_c, axis=1).any():
            yield room.hottest_c
            yield room.coldest_c
            yield np.asarray(self.rng.uniform(*ranges_c))

    def members(self) -> Members:
        """Those whose doing is decided: every core where neighbours count and that is not too much."""
        facility = self.facility
        if not self.counts_neighbours:
            return one_for_each_node(facility)
        n_pairs = facility.n_cores * facility.tasks.n_types
        if n_pairs <= _MOST_PAIRS:
            return every_core(facility)
        n_processors = facility.node_types.processors[facility.node_type].sum()
        return stand_ins(facility, self.rng, int(n_processors * _MOST_PAIRS / n_pairs / facility.node_types.n_types))

    def program(self, members: Members) -> NonlinearProgram:
        columns = mixed_columns(self.facility, self.beliefs, members)
        return NonlinearProgram(self.facility, self.air, self.beliefs, members, columns, self.counts_neighbours)

    def any_shares(self, program: NonlinearProgram) -> Floats:
        """Shares from which IPOPT can go anywhere: all cores do something of everything, and no two the same."""
        share, member = self.rng.random(program.columns.member.size) ** 2, program.columns.member
        return np.asarray(_START_TIME * share / np.bincount(member, share, program.members.kind.size)[member])

    def rounded(self, program: NonlinearProgram, values: Floats) -> tuple[_CoreShares, Floats, float]:
        """Step 2: the answer of step 1 with P-states, and what it earns; it is offered as a plan."""
        does = _CoreShares(
            program.by_pair(program.shares(values)), _rounded(self.facility, program, values, self.beliefs)
        )
        supply_c = program.supply_c(values)
        return does, supply_c, self.offer(program.members, does, supply_c)

    def with_pstates(self, members: Members, does: _CoreShares, supply_c: Floats) -> None:
        """Step 3: the best shares with P-states and supplies fixed."""
        columns = fixed_columns(self.facility, members, does.pstate)
        program = NonlinearProgram(self.facility, self.air, self.beliefs, members, columns, self.counts_neighbours)
        start = program.point(does.share[columns.member, columns.task], supply_c)
        values = (
            program.by_ipopt(start, supply_c, self.clock, _AT_LAST)
            if self.counts_neighbours
            else program.by_highs(supply_c, self.clock)
        )
        if values is not None:
            self.offer(members, _CoreShares(program.by_pair(program.shares(values)), does.pstate), supply_c)


def _copied(few: NonlinearProgram, values: Floats, many: NonlinearProgram) -> Floats:
    """The shares where many members do what those few do that stand for the same cores."""
    a_core = np.zeros(many.members.kind.size, np.int64)
    a_core[many.members.of_core] = np.arange(many.members.of_core.size)
    n_tasks, n_pstates = few.facility.tasks.speed_per_s.shape[::2]
    table = np.zeros((few.members.kind.size, n_tasks, n_pstates))
    table[few.columns] = few.shares(values)
    member = few.members.of_core[a_core[many.columns.member]]
    return np.asarray(table[member, many.columns.task, many.columns.pstate])

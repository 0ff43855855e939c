"""Greedy plans of a facility: core after core gets one task type for all of its time, until the power is used up.

The order in which cores get tasks does not depend on the power that is left, and each assignment draws more. Those that
fit are therefore found by halving the order again and again: where all CRAC units are alike the same that adding one at
a time and looking each time would find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np

from joulewise.errors import InputError, unknown_name
from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.optimise.facility.cooling import Cooled, RoomCooling
from joulewise.optimise.facility.evaluation import steady
from joulewise.optimise.facility.search import FoundPlan, History

PRICES = 16
"""How many prices of power are tried."""

_MET = 1.0 - 1e-12
_VERY_MANY = 1e9
"""A rate this close to the arrival rate counts as met."""


class Assignments(NamedTuple):
    """Cores in the order in which they are given all their time for one task type in one P-state."""

    core: Counts
    task: Counts
    pstate: Counts

    def first(self, n: int) -> Assignments:
        return Assignments(self.core[:n], self.task[:n], self.pstate[:n])


@dataclass(frozen=True)
class Greedy:
    """One way to plan greedily: orders of assignments to try, and whether supplies are set by whole degrees."""

    orders: Callable[[Facility], Iterable[Assignments]]
    by_degree: bool = False


def plan_greedily(facility: Facility, air: Air, name: str = "literal") -> FoundPlan:
    """The plan of one of the `GREEDIES`: of the orders that it tries, the one with the most co-located reward."""
    if name not in GREEDIES:
        raise InputError(unknown_name("greedy", name, GREEDIES))
    history, greedy, plans = History(), GREEDIES[name], list[FacilityPlan]()
    cooling = RoomCooling(facility, air, by_degree=greedy.by_degree)
    cooling.raise_if_never_fits()
    for order in greedy.orders(facility):
        plan = plan_of(facility, cooling, order.first(how_many_fit(facility, cooling, order)))
        earned = steady(facility, air, plan).slowed_reward_per_s
        if earned > history.highest:
            plans.append(plan)
            history.note(earned)
    return FoundPlan(plans[-1], tuple(history.rows), "done")


def how_many_fit(facility: Facility, cooling: RoomCooling, order: Assignments) -> int:
    """The most of the assignments, from the first on, that keep the limits.

    Each needs air as cold or colder, and more power: once redlines or the cap are broken they stay so, and halving
    finds where. Not so for units that heat: those that cannot blow as cold as others may do so with a few assignments
    and no longer with more, which warm what they take in. So what halving finds is cut until no unit heats.
    """

    def cooled(n: int) -> Cooled:
        return cooling.cool(node_w_of(facility, order.first(n)))

    fits, fails = 0, order.core.size + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        at_middle = cooled(middle)
        if at_middle.keeps_redlines and cooling.excess_w(at_middle) <= 0.0:
            fits = middle
        else:
            fails = middle
    return next(n for n in range(fits, -1, -1) if n == 0 or cooling.fits(cooled(n)))


def node_w_of(facility: Facility, assignments: Assignments) -> Floats:
    """What each node draws with these assignments."""
    node = np.searchsorted(facility.first_core, assignments.core, side="right") - 1
    core_w = facility.tasks.power_w[assignments.task, facility.node_type[node], assignments.pstate]
    return np.asarray(facility.overhead_w + np.bincount(node, core_w, facility.n_nodes))


def plan_of(facility: Facility, cooling: RoomCooling, assignments: Assignments) -> FacilityPlan:
    """The plan of assignments, with the hottest supply that goes with them."""
    share = np.zeros((facility.n_cores, facility.tasks.n_types))
    pstate = np.zeros(share.shape, np.int8)
    share[assignments.core, assignments.task] = 1.0
    pstate[assignments.core, assignments.task] = assignments.pstate
    return FacilityPlan(share, pstate, cooling.cool(node_w_of(facility, assignments)).supply_c)


# --- pairs of task type and node type, by efficiency -------------------------------------------------------


class _Pair(NamedTuple):
    """A task type on a node type in its most efficient P-state."""

    task: int
    node_type: int
    pstate: int
    speed_per_s: float


def by_efficiency(facility: Facility) -> Iterator[Assignments]:
    """Algorithm 1 to the letter: it ends when all arrival rates are met, and goes on with a type whose rate is."""
    order, free = [], _cores_by_type(facility)
    for pair in _pairs(facility):
        order.append(_assign(pair, free, free[pair.node_type].size))
    yield _until_all_are_met(facility, _joined(order))


def by_efficiency_and_rate(facility: Facility) -> Iterator[Assignments]:
    """Algorithm 1, but a task type whose arrival rate is met gets no further cores."""
    order, free, wanted = [], _cores_by_type(facility), facility.tasks.rate_per_s.copy()
    for pair in _pairs(facility):
        n = min(_cores_for(wanted[pair.task], pair.speed_per_s), free[pair.node_type].size)
        order.append(_assign(pair, free, n))
        wanted[pair.task] -= n * pair.speed_per_s
    yield _joined(order)


def by_rounds(facility: Facility) -> Iterator[Assignments]:
    """Algorithm 1 that "repeats using the next pairing": round after round, each pair in turn gets one more core."""
    parts, turns, pairs = list[Assignments](), list[Counts](), list(_pairs(facility))
    for kind, cores in enumerate(_cores_by_type(facility)):
        own = [at for at, pair in enumerate(pairs) if pair.node_type == kind]
        for nth, at in enumerate(own):
            got = cores[nth :: len(own)]
            parts.append(_alike(got, pairs[at].task, pairs[at].pstate))
            turns.append(at + len(pairs) * np.arange(got.size))
    in_turn = np.argsort(np.concatenate([np.empty(0, np.int64), *turns]))
    yield _until_all_are_met(facility, Assignments(*(column[in_turn] for column in _joined(parts))))


def _pairs(facility: Facility) -> Iterator[_Pair]:
    """The pairs that can be used, from the most efficient on: most tasks done per joule (eq. 12)."""
    flows = facility.tasks
    with np.errstate(divide="ignore", invalid="ignore"):
        per_j = np.where(flows.is_usable, flows.speed_per_s / flows.power_w, -math.inf)
    best = per_j.argmax(axis=2)
    of_best = np.take_along_axis(per_j, best[:, :, None], axis=2)[:, :, 0]
    for at in np.argsort(-of_best, axis=None, kind="stable"):
        task, kind = np.unravel_index(at, of_best.shape)
        if of_best[task, kind] > 0.0:
            pstate = int(best[task, kind])
            yield _Pair(int(task), int(kind), pstate, float(flows.speed_per_s[task, kind, pstate]))


def _cores_by_type(facility: Facility) -> list[Counts]:
    kinds = np.repeat(facility.node_type, np.diff(facility.first_core))
    return [np.flatnonzero(kinds == kind) for kind in range(facility.node_types.n_types)]


def _cores_for(rate_per_s: float, speed_per_s: float) -> int:
    """This many cores meet a rate."""
    return max(math.ceil(rate_per_s / speed_per_s * _MET), 0)


def _assign(pair: _Pair, free: list[Counts], n: int) -> Assignments:
    """Take the first free cores of the pair's node type."""
    cores, free[pair.node_type] = free[pair.node_type][:n], free[pair.node_type][n:]
    return _alike(cores, pair.task, pair.pstate)


def _alike(cores: Counts, task: int, pstate: int) -> Assignments:
    return Assignments(cores, np.full(cores.size, task), np.full(cores.size, pstate))


def _joined(parts: list[Assignments]) -> Assignments:
    none = _alike(np.empty(0, np.int64), 0, 0)
    return Assignments(*(np.concatenate(columns) for columns in zip(none, *parts)))


def _until_all_are_met(facility: Facility, order: Assignments) -> Assignments:
    """The assignments up to the one with which every arrival rate is met."""
    flows, kinds = facility.tasks, np.repeat(facility.node_type, np.diff(facility.first_core))
    speed_per_s = flows.speed_per_s[order.task, kinds[order.core], order.pstate]
    n = 0
    for task in range(flows.n_types):
        done_per_s = np.cumsum(np.where(order.task == task, speed_per_s, 0.0))
        n = max(n, int(np.searchsorted(done_per_s, flows.rate_per_s[task] * _MET)) + 1)
    return order.first(n)


# --- apart: neighbours counted -----------------------------------------------------------------------------


class _Doing(NamedTuple):
    """What the busy cores of a processor of some node type do, in order."""

    node_type: int
    tasks: tuple[int, ...] = ()
    pstates: tuple[int, ...] = ()

    def and_also(self, task: int, pstate: int) -> _Doing:
        return _Doing(self.node_type, (*self.tasks, task), (*self.pstates, pstate))


class _Next(NamedTuple):
    """The best that one more core of a processor can do, for each task type: its P-state, and what it is worth."""

    pstate: Counts
    worth: Floats


_Worth: TypeAlias = Callable[[Floats, Floats], Floats]
"""What assignments are worth by the reward rate that they add and the power that they draw."""


def apart(facility: Facility) -> Iterator[Assignments]:
    """Next, always, the assignment that adds most reward per joule, with what it slows and what slows it counted."""
    yield _apart(facility, _per_joule)


def apart_at_prices(facility: Facility) -> Iterator[Assignments]:
    """First as `apart`; then next, always, what adds most reward less a price of its power, for several prices.

    Where power is short, a high price spares it; where cores are, a low price has them run fast.
    """
    nothing = [_following(facility, _per_joule, doing).worth.max() for doing in _processors(facility)]
    highest = min(max(nothing), facility.tasks.most_reward_per_s)
    yield from apart(facility)
    for step in range(PRICES):
        yield _apart(facility, partial(_above_price, highest * step / PRICES))


def _per_joule(reward_per_s: Floats, power_w: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return reward_per_s / power_w


def _above_price(price_per_j: float, reward_per_s: Floats, power_w: Floats) -> Floats:
    return reward_per_s - price_per_j * power_w


def _apart(facility: Facility, worth: _Worth) -> Assignments:
    """Next, always, the assignment that is worth most, with what it slows and what slows it counted.

    A task type whose slowed rate has met its arrival rate gets no further cores unless later neighbours slow it.
    Processors that do the same are handled together.
    """
    flows, order = facility.tasks, list[Assignments]()
    groups, done_per_s = _processors(facility), np.zeros(flows.n_types)
    following = cache(partial(_following, facility, worth))
    slowed_per_s = cache(partial(_slowed_per_s, facility))
    while True:
        is_open = done_per_s < flows.rate_per_s * _MET
        tables = np.array([np.where(is_open, following(doing).worth, 0.0) for doing in groups])
        at, task = np.unravel_index(tables.argmax(), tables.shape)
        if tables[at, task] <= 0.0:
            return _joined(order)
        before = list(groups)[at]
        after = before.and_also(int(task), int(following(before).pstate[task]))
        change = slowed_per_s(after) - slowed_per_s(before)
        first_cores = groups.pop(before)
        n = min(_cores_for(flows.rate_per_s[task] - done_per_s[task], change[task]), first_cores.size)
        spare = np.where(is_open, np.inf, done_per_s - flows.rate_per_s * _MET)
        n = min(n, _until_short(spare, change))
        if np.where(is_open, following(after).worth, 0.0).max() > tables[at, task]:  # then this processor is the next
            n = 1
        order.append(_alike(first_cores[:n] + len(before.tasks), after.tasks[-1], after.pstates[-1]))
        done_per_s += n * change
        for doing, cores in ((before, first_cores[n:]), (after, first_cores[:n])):
            if cores.size:
                groups[doing] = np.concatenate((groups.get(doing, cores[:0]), cores))


def _until_short(spare_per_s: Floats, change_per_s: Floats) -> int:
    """How many changes it takes until a type that was done often enough is slowed below that; very many if none is."""
    slows = (change_per_s < 0.0) & np.isfinite(spare_per_s)
    return int((spare_per_s[slows] / -change_per_s[slows]).min(initial=_VERY_MANY)) + 1


def _processors(facility: Facility) -> dict[_Doing, Counts]:
    """The first cores of all processors that do nothing yet, by node type."""
    sharers, cores = facility.node_types.sharers, _cores_by_type(facility)
    return {_Doing(kind): cores[kind][:: sharers[kind]] for kind in range(len(cores)) if cores[kind].size}


def _following(facility: Facility, worth: _Worth, doing: _Doing) -> _Next:
    """What one more core can do for how much, where there is one."""
    flows, kind = facility.tasks, doing.node_type
    if len(doing.tasks) == facility.node_types.sharers[kind]:
        return _Next(np.zeros(flows.n_types, np.int64), np.zeros(flows.n_types))
    gains = _gains(facility, doing)
    is_gain = flows.is_usable[:, kind] & (gains > 0.0)
    worths = np.where(is_gain, worth(gains, flows.power_w[:, kind]), 0.0)
    return _Next(worths.argmax(axis=1), worths.max(axis=1))


def _gains(facility: Facility, doing: _Doing) -> Floats:
    """[task type, P-state]: the reward rate that one more busy core on a processor adds."""
    flows, kind = facility.tasks, doing.node_type
    own, others = flows.memory_class, flows.memory_class[list(doing.tasks)]
    slower, least_pace = flows.slowdown[kind], flows.least_pace[:, kind]
    worth = flows.reward[:, None] * flows.speed_per_s[:, kind]
    gains = _in_time(worth, (1.0 + slower[own][:, others].sum(axis=1))[:, None], least_pace)
    for task, pstate, beside in zip(doing.tasks, doing.pstates, _beside(facility, doing)):
        times = 1.0 + beside + slower[own[task], own], 1.0 + beside
        after, before = (_in_time(worth[task, pstate], longer, least_pace[task, pstate]) for longer in times)
        gains += (after - before)[:, None]
    return np.asarray(gains)


def _in_time(rate: Floats, longer: Floats, least_pace: Floats) -> Floats:
    """The rates of what takes this many times as long, 0 where that is too late."""
    return np.where(1.0 / longer > least_pace, rate / longer, 0.0)


def _beside(facility: Facility, doing: _Doing) -> Floats:
    """By how much each busy core of a processor is slowed by the others."""
    classes = facility.tasks.memory_class[list(doing.tasks)]
    slower = facility.tasks.slowdown[doing.node_type][np.ix_(classes, classes)]
    return np.asarray(slower.sum(axis=1) - np.diag(slower))


def _slowed_per_s(facility: Facility, doing: _Doing) -> Floats:
    """The rate of each task type on one processor that does so."""
    flows, tasks = facility.tasks, np.array(doing.tasks, np.int64)
    speed = flows.speed_per_s[tasks, doing.node_type, list(doing.pstates)]
    least_pace = flows.least_pace[tasks, doing.node_type, list(doing.pstates)]
    done = _in_time(speed, 1.0 + _beside(facility, doing), least_pace)
    return np.bincount(tasks, done, flows.n_types).astype(np.float64)


GREEDIES: Mapping[str, Greedy] = {
    "literal": Greedy(by_efficiency, by_degree=True),
    "rounds": Greedy(by_rounds, by_degree=True),
    "by rate": Greedy(by_efficiency_and_rate),
    "apart": Greedy(apart),
    "apart at prices": Greedy(apart_at_prices),
}
"""Ways to plan greedily.

`literal` is Algorithm 1 as printed; `rounds` goes on to the next pair after each core, as the text beside it can be
read; `by rate` leaves task types whose arrival rate is met; `apart` counts how much
neighbours slow each other; `apart at prices` does so for several prices of power, and keeps the best plan.
"""

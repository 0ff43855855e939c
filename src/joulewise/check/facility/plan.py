"""The independent validator of facility plans: rates, powers and temperatures straight from Oxley's equations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import spsolve

from joulewise.check.findings import N_SHOWN, findings
from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan, TaskFlows
from joulewise.model.room import AIR_J_PER_M3_K, Room

TOLERANCE = 1e-6
"""How far a limit may be passed and a figure be off: of the cap and of figures a share, of temperatures in K."""

_ROUNDING = 1e-9
"""A task may end this much later than its deadline, as a share of it: just at it is in time."""

_NOTHING = 1e-3
"""Figures that are all below this are held equal up to 1e-6 of this."""


class Reported(Protocol):
    """What is said to come of a plan."""

    @property
    def rate_per_s(self) -> Floats: ...
    @property
    def slowed_per_s(self) -> Floats: ...
    @property
    def reward_per_s(self) -> float: ...
    @property
    def slowed_reward_per_s(self) -> float: ...
    @property
    def node_w(self) -> Floats: ...
    @property
    def node_inlet_c(self) -> Floats: ...
    @property
    def crac_inlet_c(self) -> Floats: ...
    @property
    def heat_w(self) -> Floats: ...
    @property
    def crac_w(self) -> Floats: ...
    @property
    def total_w(self) -> float: ...


_FIGURES = (
    "rate_per_s", "slowed_per_s", "reward_per_s", "slowed_reward_per_s",
    "node_w", "node_inlet_c", "crac_inlet_c", "heat_w", "crac_w", "total_w",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Recomputed:
    """What comes of a plan, computed here."""

    rate_per_s: Floats
    slowed_per_s: Floats
    reward_per_s: float
    slowed_reward_per_s: float
    node_w: Floats
    node_inlet_c: Floats
    crac_inlet_c: Floats
    heat_w: Floats
    crac_w: Floats

    @property
    def total_w(self) -> float:
        return float(self.node_w.sum() + self.crac_w.sum())


def check_facility(
    facility: Facility,
    plan: FacilityPlan,
    reported: Reported | None = None,
    *,
    as_printed: bool = False,
) -> list[str]:
    """Everything that is wrong with a plan of a facility, one line each; empty when it is valid.

    It keeps the cap, the redlines, core times and what CRAC units can blow, uses only P-states that exist and choices
    that meet deadlines, and no unit heats, unless the room allows that. What is `reported` of it is computed a
    second time and held equal up to 1e-6; `as_printed` reads eq. 10 word for word, without idle cores.
    """
    case = _PlanCase(facility, plan, as_printed)
    for rules in _PLAN_RULES:
        lines = [line for rule in rules for line in rule(case)]
        if lines:
            return lines
    lines = [line for rule in _STATE_RULES for line in rule(case)]
    return lines if reported is None else [*lines, *_figures(reported, case.state)]


@dataclass(frozen=True, eq=False)
class _PlanCase:
    """What is checked; what comes of it is computed once."""

    facility: Facility
    plan: FacilityPlan
    as_printed: bool

    @cached_property
    def state(self) -> Recomputed:
        return recompute_facility(self.facility, self.plan, self.as_printed)


def recompute_facility(facility: Facility, plan: FacilityPlan, as_printed: bool = False) -> Recomputed:
    """What comes of a plan by eq. 1, 2, 4-7 and 9-11; its choices must exist."""
    tasks = facility.tasks
    kind = _core_kind(facility)
    choice = (np.arange(tasks.n_types), kind[:, None], plan.pstate)
    rate = plan.share * tasks.speed_per_s[choice]
    in_time = _is_in_time(facility, plan, tasks.speed_per_s[choice])
    slowed = np.where(in_time, rate / (1.0 + _slowdown(facility, plan.share, as_printed)), 0.0)
    core_w = (plan.share * tasks.power_w[choice]).sum(axis=1)
    node = np.repeat(np.arange(facility.n_nodes), np.diff(facility.first_core))
    node_w = facility.node_types.overhead_w[facility.node_type] + np.bincount(node, core_w, facility.n_nodes)
    inlet_c = inlets_c(facility.room, node_w, plan.supply_c)
    node_inlet_c, crac_inlet_c = np.split(inlet_c, [facility.n_nodes])
    heat_w = AIR_J_PER_M3_K * facility.room.crac_m3_per_s * (crac_inlet_c - plan.supply_c)
    cop = [float(curve(at_c)) for curve, at_c in zip(facility.room.cop, plan.supply_c)]
    done, done_slowed = rate.sum(axis=0), slowed.sum(axis=0)
    earned, earned_slowed = (_reward_per_s(tasks, often) for often in (done, done_slowed))
    temperatures = (node_inlet_c, crac_inlet_c)
    return Recomputed(done, done_slowed, earned, earned_slowed, node_w, *temperatures, heat_w, heat_w / np.array(cop))


def _reward_per_s(tasks: TaskFlows, often: Floats) -> float:
    return sum(float(worth * min(a, b)) for worth, a, b in zip(tasks.reward, often, tasks.rate_per_s))


def inlets_c(room: Room, node_w: Floats, supply_c: Floats) -> Floats:
    """What every place takes in (eq. 6 and 7): nodes give air off warmer by their power, CRAC units at their supply."""
    shares = air_shares(room)
    is_node = np.arange(room.flow.n_places) < room.n_nodes
    warmed_k = node_w / (AIR_J_PER_M3_K * room.node_m3_per_s)
    passed_on = diags_array(is_node.astype(np.float64)) @ shares
    outlet_c = spsolve(csc_array(eye_array(is_node.size) - passed_on), np.concatenate((warmed_k, supply_c)))
    return np.asarray(shares @ outlet_c)


def air_shares(room: Room) -> csr_array:
    """The matrix A of eq. 7: [taker, source]."""
    n = room.flow.n_places
    return csr_array(coo_array((room.flow.share, (room.flow.taker, room.flow.source)), shape=(n, n)))


def _core_kind(facility: Facility) -> Counts:
    return np.repeat(facility.node_type.astype(np.int64), facility.node_types.cores[facility.node_type])


def _slowdown(facility: Facility, share: Floats, as_printed: bool) -> Floats:
    """[core, task type]: by how much other cores slow a task, the bracket of eq. 9 and 10 for any number of cores."""
    types, tasks = facility.node_types, facility.tasks
    kind, slower = _core_kind(facility), np.zeros_like(share)
    of_class = np.eye(tasks.n_classes)[tasks.memory_class]
    for at in np.unique(facility.node_type):
        cores = np.flatnonzero(kind == at).reshape(-1, types.cores[at] // types.processors[at])
        beside = share[cores] @ of_class
        idle = np.zeros(cores.shape) if as_printed else 1.0 - share[cores].sum(axis=2)
        for k in range(cores.shape[1]):
            others = [other for other in range(cores.shape[1]) if other != k]
            by_class = _mean_sum(beside[:, others], idle[:, others], tasks.slowdown[at])
            slower[cores[:, k]] = by_class[:, tasks.memory_class]
    return slower


def _is_in_time(facility: Facility, plan: FacilityPlan, speed_per_s: Floats) -> Bools:
    """[core, task type]: whether tasks end by their deadlines whatever of its plan each other core runs beside them."""
    types, tasks, kind = facility.node_types, facility.tasks, _core_kind(facility)
    if tasks.deadlines_alone:
        return np.ones(plan.share.shape, bool)
    worst = np.zeros(plan.share.shape)
    for at in np.unique(facility.node_type):
        cores = np.flatnonzero(kind == at).reshape(-1, types.cores[at] // types.processors[at])
        runs = plan.share[cores] @ np.eye(tasks.n_classes)[tasks.memory_class] > 0
        beside = np.where(runs[:, :, None, :], tasks.slowdown[at], 0.0).max(axis=3)
        worst[cores] = (beside.sum(axis=1, keepdims=True) - beside)[:, :, tasks.memory_class]
    with np.errstate(divide="ignore"):
        return ends_in_time((1.0 + worst) / speed_per_s, tasks.deadline_s)


def ends_in_time(takes_s: Floats, deadline_s: Floats) -> Bools:
    """Whether tasks that take so long are in time; those that take just as long as their deadlines are."""
    return np.asarray(takes_s < deadline_s * (1.0 + _ROUNDING))


def _mean_sum(beside: Floats, idle: Floats, slowdown: Floats) -> Floats:
    """[processor, own class]: the sum over all combinations of what others run of probability times their slowdowns.

    One core more turns the sum S over combinations of probability M into sum_c p_c (S + M slowdown_c), its own classes
    c and being idle, which slows no other core, among them.
    """
    mass, total = np.ones((len(beside), 1)), np.zeros((len(beside), len(slowdown)))
    for other in range(beside.shape[1]):
        present = beside[:, other].sum(axis=1, keepdims=True) + idle[:, other, None]
        total = total * present + mass * (beside[:, other] @ slowdown.T)
        mass = mass * present
    return total


def _shapes(case: _PlanCase) -> Iterator[str]:
    table = (case.facility.n_cores, case.facility.tasks.n_types)
    for name, shape in (("share", table), ("pstate", table), ("supply_c", (case.facility.room.n_cracs,))):
        given = getattr(case.plan, name).shape
        if given != shape:
            yield f"{name}: found a table of shape {given}; expected {shape}"


def _shares(case: _PlanCase) -> Iterator[str]:
    wrong = np.flatnonzero(~(case.plan.share >= 0.0).all(axis=1))
    yield from findings("share of time", wrong, case.plan.share[wrong].min(axis=1), 0.0, " or more", of="core")
    busy = case.plan.share.sum(axis=1)
    wrong = np.flatnonzero(busy > 1.0 + TOLERANCE)
    yield from findings("busy", wrong, busy[wrong], 1.0, " or less", of="core")


def _pstates(case: _PlanCase) -> Iterator[str]:
    most = case.facility.node_types.n_pstates[_core_kind(case.facility)] - 1
    wrong = np.flatnonzero(((case.plan.pstate < 0) | (case.plan.pstate > most[:, None])).any(axis=1))
    lowest, highest = (getattr(case.plan.pstate[wrong], end)(axis=1) for end in ("min", "max"))
    pstate = np.where(lowest < 0, lowest, highest)
    yield from findings("P-state", wrong, pstate, most[wrong], " or less, and not below 0", of="core")


def _usable(case: _PlanCase) -> Iterator[str]:
    tasks, kind = case.facility.tasks, _core_kind(case.facility)
    speed = tasks.speed_per_s[np.arange(tasks.n_types), kind[:, None], case.plan.pstate]
    with np.errstate(divide="ignore"):
        takes_s = 1.0 / speed
    wrong = np.argwhere((case.plan.share > 0) & ~ends_in_time(takes_s, tasks.deadline_s))
    for core, task in wrong[:N_SHOWN]:
        choice = f"{tasks.names[task]} in P-state {case.plan.pstate[core, task]}"
        yield f"core {core}: {choice}: found {takes_s[core, task]} s; expected {tasks.deadline_s[task]} s or less"
    if len(wrong) > N_SHOWN:
        yield f"deadlines: missed by {len(wrong) - N_SHOWN} more choices"


def _supplies(case: _PlanCase) -> Iterator[str]:
    room, supply_c = case.facility.room, case.plan.supply_c
    kept = (supply_c >= room.coldest_c - TOLERANCE) & (supply_c <= room.hottest_c + TOLERANCE)
    for crac in np.flatnonzero(~kept)[:N_SHOWN]:
        allowed = f"{room.coldest_c[crac]} to {room.hottest_c[crac]} °C"
        yield f"CRAC {crac}: supply: found {supply_c[crac]} °C; expected {allowed}"


def _cap(case: _PlanCase) -> Iterator[str]:
    if not case.state.total_w <= case.facility.cap_w * (1.0 + TOLERANCE):
        yield f"power: found {case.state.total_w} W; expected {case.facility.cap_w} W or less"


def _redlines(case: _PlanCase) -> Iterator[str]:
    inlet_c, redline_c = case.state.node_inlet_c, case.facility.room.redline_c
    wrong = np.flatnonzero(~(inlet_c <= redline_c + TOLERANCE))
    yield from findings("inlet temperature", wrong, inlet_c[wrong], redline_c[wrong], " or less", of="node")


def _no_heater(case: _PlanCase) -> Iterator[str]:
    is_cooler = case.state.crac_inlet_c >= case.plan.supply_c - TOLERANCE
    wrong = np.flatnonzero(~(is_cooler | case.facility.room.may_heat))
    yield from findings("heat removed, W", wrong, case.state.heat_w[wrong], 0.0, " or more", of="CRAC")


def _balance(case: _PlanCase) -> Iterator[str]:
    """All heat is removed, but for what the shares of the air are off: they are held to 1e-6 themselves."""
    made_w, removed_w, room = float(case.state.node_w.sum()), float(case.state.heat_w.sum()), case.facility.room
    carried_w = AIR_J_PER_M3_K * float(room.m3_per_s.sum()) * float(np.abs(case.state.crac_inlet_c).max())
    if not abs(removed_w - made_w) <= TOLERANCE * (made_w + carried_w):
        yield f"heat removed: found {removed_w} W; expected {made_w} W, the power of the nodes"


def _figures(reported: Reported, state: Recomputed) -> Iterator[str]:
    for name in _FIGURES:
        found, expected = (np.atleast_1d(getattr(source, name)) for source in (reported, state))
        if found.shape != expected.shape:
            yield f"{name}: found {found.size} values; expected {expected.size}"
            continue
        off = ~(np.abs(found - expected) <= TOLERANCE * max(_NOTHING, float(np.abs(expected).max())))
        if off.any():
            at = int(np.argmax(off))
            where = name if found.size == 1 else f"{name}[{at}]"
            yield f"{where}: found {float(found[at])!r}; expected {float(expected[at])!r}"


_Rule = Callable[[_PlanCase], Iterator[str]]
_PLAN_RULES: tuple[tuple[_Rule, ...], ...] = ((_shapes,), (_pstates,), (_shares, _usable, _supplies))
"""Each needs those before it to hold."""

_STATE_RULES: tuple[_Rule, ...] = (_cap, _redlines, _no_heater, _balance)

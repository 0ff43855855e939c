"""A facility through a day: tasks arrive at random, and a dispatcher sends them to cores as plans want it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.facility.dispatch import Hall, Sent, Wishes, dispatch_until, idle_cores
from joulewise.kernels.layout import NOBODY
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints
from joulewise.model.facility import Facility, FacilityPlan, cores_by_processor
from joulewise.model.room import AIR_J_PER_M3_K
from joulewise.rng import generator
from joulewise.simulate.meter import Metrics
from joulewise.simulate.power import Draws
from joulewise.visible import Visible

Planner: TypeAlias = Callable[[Facility], FacilityPlan]
Inlets: TypeAlias = Callable[[Floats, Floats], tuple[Floats, Floats]]
Sizes: TypeAlias = Literal["equal", "exponential"]

_dispatch_until: Any = dispatch_until

_FULL = 1.0 + 1e-6
_METER = 1e-3
"""What passes the cap by less than this share of it is chance that no power meter tells."""


@dataclass(frozen=True, eq=False)
class SentTasks:
    """The tasks of a day by arrival, and what became of each.

    `core` is -1 for a task that was dropped; `start_s` and `end_s` are infinite where that lies after the day.
    """

    arrival_s: Floats
    task_type: Ints
    core: Ints
    pstate: Codes
    start_s: Floats
    end_s: Floats


@dataclass(frozen=True, eq=False)
class FacilityDay(Visible, looks="facility"):
    """What a dispatcher made of a day.

    By interval: the arrival rates, the plan that held, and how often it has tasks of each type done in time, slowed by
    neighbours. By sample, of which each interval has as many: the mean power of each node, and if that power lasted,
    the power of each CRAC unit and what each node takes in. Tables are [interval or sample, task type, node or unit].
    """

    facility: Facility
    interval_s: float
    rate_per_s: Floats
    plans: tuple[FacilityPlan, ...]
    desired_per_s: Floats
    tasks: SentTasks
    node_w: Floats
    crac_w: Floats
    node_inlet_c: Floats

    @property
    def length_s(self) -> float:
        return len(self.plans) * self.interval_s

    @property
    def sample_s(self) -> float:
        """How long each sample is."""
        return self.length_s / len(self.node_w)

    @property
    def dropped(self) -> Bools:
        """Which tasks were sent to no core."""
        return np.asarray(self.tasks.core == NOBODY)

    @property
    def ended(self) -> Bools:
        """Which tasks ended within the day."""
        return np.asarray(np.isfinite(self.tasks.end_s))

    @cached_property
    def on_time(self) -> Bools:
        """Which tasks ended within the day and by their deadlines, and so earned their rewards."""
        tasks = self.tasks
        taken_s = np.where(self.ended, tasks.end_s, np.inf) - tasks.arrival_s
        return np.asarray(self.ended & (taken_s < self.facility.tasks.late_s[tasks.task_type]))

    @property
    def planned_reward_per_s(self) -> Floats:
        """By interval, the co-located reward rate of its plan; no more tasks count than arrive."""
        return np.asarray(np.minimum(self.desired_per_s, self.rate_per_s) @ self.facility.tasks.reward)

    @property
    def reward_per_s(self) -> float:
        """What the tasks that ended in time earned, for each second of the day."""
        return float(self.facility.tasks.reward[self.tasks.task_type[self.on_time]].sum() / self.length_s)

    @property
    def total_w(self) -> Floats:
        """By sample, the power of nodes and cooling together."""
        return np.asarray(self.node_w.sum(axis=1) + self.crac_w.sum(axis=1))

    @property
    def redline_k(self) -> Floats:
        """By sample, how far the node that is nearest to its redline is below it."""
        return np.asarray((self.facility.room.redline_c - self.node_inlet_c).min(axis=1))

    def measures(self) -> Metrics:
        """The metrics of the day; waits are those of tasks that started."""
        tasks, total_w, started = self.tasks, self.total_w, np.isfinite(self.tasks.start_s)
        waited_s = np.where(self.dropped, 0.0, np.minimum(tasks.start_s, self.length_s) - tasks.arrival_s)
        return {
            "reward_per_s": self.reward_per_s,
            "planned_reward_per_s": float(self.planned_reward_per_s.mean()),
            **{name: int(which.sum()) for name, which in self._fates().items()},
            "waiting_tasks": float(waited_s.sum() / self.length_s),
            "wait_s": float(waited_s[started].mean()) if started.any() else np.nan,
            "energy_j": float(total_w.sum() * self.sample_s),
            "cooling_energy_j": float(self.crac_w.sum() * self.sample_s),
            "power_w": float(total_w.mean()),
            "peak_w": float(total_w.max()),
            "node_peak_w": self._node_peak_w(),
            "cap_w": float(self.facility.cap_w),
            "above_cap_percent": 100 * float((total_w > (1 + _METER) * self.facility.cap_w).mean()),
            "redline_k": float(self.redline_k.min()),
        }

    def by_type(self) -> pl.DataFrame:
        """A row for each task type: how many tasks met which fate, and the rates planned and reached."""
        kind, n, flows = self.tasks.task_type, self.facility.tasks.n_types, self.facility.tasks
        counts = {name: np.bincount(kind[which], minlength=n) for name, which in self._fates().items()}
        started = np.isfinite(self.tasks.start_s)
        waited_s = np.bincount(kind[started], (self.tasks.start_s - self.tasks.arrival_s)[started], n)
        reached_per_s = counts["tasks_on_time"] / self.length_s
        columns = {
            "task_type": np.array(flows.names),
            **counts,
            "on_time_percent": _share(100 * counts["tasks_on_time"], counts["tasks_arrived"]),
            "wait_s": _share(waited_s, np.bincount(kind[started], minlength=n)),
            "planned_per_s": np.minimum(self.desired_per_s, self.rate_per_s).mean(axis=0),
            "on_time_per_s": reached_per_s,
            "reward_per_s": flows.reward * reached_per_s,
        }
        return pl.DataFrame(columns)

    def by_interval(self) -> pl.DataFrame:
        """A row for each interval: the reward rate planned and earned by what ended in it, powers and temperatures."""
        n = len(self.plans)
        earned = self.facility.tasks.reward[self.tasks.task_type[self.on_time]]
        interval = np.minimum((self.tasks.end_s[self.on_time] / self.interval_s).astype(np.int64), n - 1)
        total_w, redline_k = self.total_w.reshape(n, -1), self.redline_k.reshape(n, -1)
        columns = {
            "start_s": self.interval_s * np.arange(n),
            "arrivals_per_s": self.rate_per_s.sum(axis=1),
            "planned_reward_per_s": self.planned_reward_per_s,
            "reward_per_s": np.bincount(interval, earned, n) / self.interval_s,
            "power_w": total_w.mean(axis=1),
            "peak_w": total_w.max(axis=1),
            "redline_k": redline_k.min(axis=1),
        }
        return pl.DataFrame(columns)

    def by_sample(self) -> pl.DataFrame:
        """A row for each sample: powers, and how far the hottest node is below its redline."""
        columns = {
            "start_s": self.sample_s * np.arange(len(self.node_w)),
            "node_w": self.node_w.sum(axis=1),
            "cooling_w": self.crac_w.sum(axis=1),
            "total_w": self.total_w,
            "redline_k": self.redline_k,
        }
        return pl.DataFrame(columns)

    def _fates(self) -> dict[str, Bools]:
        """Which tasks there were, and which of them met each fate; the last four add up to the first."""
        return {
            "tasks_arrived": np.ones(self.ended.size, bool),
            "tasks_on_time": self.on_time,
            "tasks_late": self.ended & ~self.on_time,
            "tasks_dropped": self.dropped,
            "tasks_left": ~self.dropped & ~self.ended,
        }

    def _node_peak_w(self) -> float:
        """The most that all nodes together drew at any instant."""
        tasks, ran = self.tasks, np.isfinite(self.tasks.start_s)
        draws = Draws(tasks.start_s[ran], tasks.end_s[ran], _task_w(self.facility, tasks, ran))
        return float(self.facility.overhead_w.sum()) + draws.within(0.0, self.length_s).peak_w


def simulate_facility_day(
    facility: Facility,
    plan_for: Planner,
    inlets_c: Inlets,
    rate_per_s: Floats,
    interval_s: float = 3600.0,
    seed: int = 0,
    *,
    replan_every: int | None = 1,
    ahead_s: float = 0.0,
    sizes: Sizes = "equal",
    samples: int = 12,
) -> FacilityDay:
    """Let tasks arrive at rates [interval, task type] and a dispatcher send each to a core, or drop it.

    At the start of each interval, or of every this many (`replan_every`; None is all), `plan_for` gets the facility
    with their mean rates and returns the plan to follow. `inlets_c` says what nodes and CRAC units take in, as
    `Air.inlets_c` does. A core that is ahead of its plan for a task type by more than `ahead_s` gets no task of that
    type. Tasks of "exponential" sizes differ, unknown to the dispatcher. Powers are means over `samples` for each
    interval, and temperatures those at which the room would settle under them. Equal seeds have equal arrivals,
    whatever the plans. Raises InputError for rates, intervals or plans that do not fit.
    """
    rate_per_s = np.asarray(rate_per_s, np.float64)
    raise_if_any(_problems(facility, rate_per_s, interval_s, ahead_s, samples, replan_every))
    n, hall = len(rate_per_s), _hall(facility)
    sent = _arrivals(rate_per_s, interval_s, seed, sizes)
    cores = idle_cores(facility.n_cores, hall.kind.size)
    plans, desired_per_s, held = [], np.empty_like(rate_per_s), replan_every or n
    for number in range(n):
        if number % held == 0:
            plan = plan_for(_with_rates(facility, rate_per_s[number : number + held].mean(axis=0)))
            raise_if_any(_plan_problems(facility, plan, number))
            wanted_per_s, wishes = _wishes(facility, plan, number * interval_s)
        plans.append(plan)
        desired_per_s[number] = wanted_per_s
        _dispatch_until(hall, wishes, float(ahead_s), sent, cores, (number + 1) * interval_s)
    tasks = SentTasks(sent.arrival_s, sent.task_type, sent.core, sent.pstate, sent.start_s, sent.end_s)
    node_w = _node_w(facility, tasks, n * samples, interval_s / samples)
    supply_c = np.repeat([plan.supply_c for plan in plans], samples, axis=0)
    air = _air(facility, inlets_c, node_w, supply_c)
    return FacilityDay(facility, interval_s, rate_per_s, tuple(plans), desired_per_s, tasks, node_w, *air)


def _with_rates(facility: Facility, rate_per_s: Floats) -> Facility:
    return replace(facility, tasks=replace(facility.tasks, rate_per_s=rate_per_s))


def _hall(facility: Facility) -> Hall:
    flows, processors = facility.tasks, list(cores_by_processor(facility))
    sizes = np.array([len(cores) for _, cores in processors])
    kind = facility.node_type[[node for node, _ in processors]]
    return Hall(
        np.concatenate(([0], np.cumsum(sizes))), kind, np.repeat(np.arange(sizes.size), sizes),
        flows.speed_per_s, flows.memory_class, flows.slowdown, flows.late_s,
    )  # fmt: skip


def _arrivals(rate_per_s: Floats, interval_s: float, seed: int, sizes: Sizes) -> Sent:
    """The tasks of a day: in each interval a Poisson number of each type, at any time."""
    rng = generator(seed, "facility day", "arrivals")
    counts = rng.poisson(rate_per_s * interval_s)
    interval, kind = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    arrival_s = (interval + rng.random(kind.size)) * interval_s
    order = np.argsort(arrival_s, kind="stable")
    n = order.size
    size = np.ones(n) if sizes == "equal" else generator(seed, "facility day", "sizes").exponential(size=n)
    return Sent(
        arrival_s[order], kind[order].astype(np.int32), size,
        np.full(n, NOBODY, np.int32), np.zeros(n, np.int8), np.zeros(n), np.full(n, np.inf), np.full(n, np.inf),
        np.full(n, NOBODY, np.int64),
    )  # fmt: skip


def _wishes(facility: Facility, plan: FacilityPlan, now_s: float) -> tuple[Floats, Wishes]:
    """How often a plan has tasks of each type done in time, and what it wants of each core from an instant on.

    The first tasks are due one after the other: so the cores of a type together get what they should from the start.
    """
    time_s = slowed_time_s(facility, plan)
    per_s = plan.share / time_s
    kind, core = np.nonzero(per_s.T)
    first = np.searchsorted(kind, np.arange(facility.tasks.n_types + 1))
    place = (np.arange(core.size) - first[kind] + 0.5) / np.diff(first)[kind]
    gap_s = 1.0 / per_s[core, kind]
    due_s = now_s + place * gap_s
    planned_per_s = np.where(_is_in_time(facility, plan), per_s, 0.0).sum(axis=0)
    return planned_per_s, Wishes(first, core, plan.pstate[core, kind], gap_s, time_s[core, kind], due_s)


def slowed_time_s(facility: Facility, plan: FacilityPlan) -> Floats:
    """How long a task takes by [core, task type] on average, slowed by what the plan has its neighbours do (eq. 10)."""
    flows, kinds = facility.tasks, _core_kinds(facility)
    slower = _slower_beside(facility, plan, lambda busy, table: busy @ table.T)
    with np.errstate(divide="ignore"):
        return np.asarray((1.0 + slower) / flows.speed_per_s[np.arange(flows.n_types), kinds[:, None], plan.pstate])


def _is_in_time(facility: Facility, plan: FacilityPlan) -> Bools:
    """[core, task type]: whether tasks are in time beside the worst that the plan has each neighbour do."""
    flows, kinds = facility.tasks, _core_kinds(facility)
    worst = _slower_beside(
        facility, plan, lambda busy, table: np.where(busy[..., None, :] > 0, table, 0.0).max(axis=-1)
    )
    return np.asarray(1.0 / (1.0 + worst) > flows.least_pace[np.arange(flows.n_types), kinds[:, None], plan.pstate])


def _slower_beside(facility: Facility, plan: FacilityPlan, slows: Callable[[Floats, Floats], Floats]) -> Floats:
    """[core, task type]: by how much the other cores of its processor slow a task.

    `slows` says by how much a core does, from how busy it is by class [..., class] and a table of slowdowns, for a task
    of each class beside it.
    """
    flows, kinds = facility.tasks, _core_kinds(facility)
    by_class = plan.share @ np.eye(flows.n_classes)[flows.memory_class]
    slower = np.empty(plan.share.shape)
    for kind in np.unique(kinds):
        cores = np.flatnonzero(kinds == kind).reshape(-1, facility.node_types.sharers[kind])
        by_core = slows(by_class[cores], flows.slowdown[kind])
        slower[cores] = (by_core.sum(axis=1, keepdims=True) - by_core)[..., flows.memory_class]
    return slower


def _core_kinds(facility: Facility) -> Ints:
    """The node type of each core."""
    return np.repeat(facility.node_type, np.diff(facility.first_core))


def _task_w(facility: Facility, tasks: SentTasks, which: Bools) -> Floats:
    """What the cores of some tasks draw while they run them."""
    kind = facility.node_type[_node_of(facility, tasks.core[which])]
    return np.asarray(facility.tasks.power_w[tasks.task_type[which], kind, tasks.pstate[which]])


def _node_of(facility: Facility, core: Ints) -> Counts:
    return np.asarray(np.searchsorted(facility.first_core, core, side="right") - 1)


def _node_w(facility: Facility, tasks: SentTasks, n_samples: int, sample_s: float) -> Floats:
    """The mean power of each node in each sample.

    A task that starts raises the power of its node for the rest of that sample and all of those after it; one that ends
    takes it back.
    """
    shape = n_samples, facility.n_nodes
    inside_w, after_w = np.zeros(shape), np.zeros(shape)
    for at_s, sign in ((tasks.start_s, 1.0), (tasks.end_s, -1.0)):
        some = at_s < n_samples * sample_s
        sample = np.minimum((at_s[some] / sample_s).astype(np.int64), n_samples - 1)
        place = np.ravel_multi_index((sample, _node_of(facility, tasks.core[some])), shape)
        step_w = sign * _task_w(facility, tasks, some)
        rest = sample + 1 - at_s[some] / sample_s
        inside_w += np.bincount(place, step_w * rest, inside_w.size).reshape(shape)
        after_w += np.bincount(place, step_w, after_w.size).reshape(shape)
    before_w = np.cumsum(after_w, axis=0) - after_w
    return np.asarray(facility.overhead_w + before_w + inside_w)


def _air(facility: Facility, inlets_c: Inlets, node_w: Floats, supply_c: Floats) -> tuple[Floats, Floats]:
    """By sample: the power of each CRAC unit, 0 where there is no heat to remove, and what each node takes in."""
    room = facility.room
    found = [inlets_c(*state) for state in zip(node_w, supply_c)]
    node_inlet_c, crac_inlet_c = (np.array(column) for column in zip(*found))
    heat_w = AIR_J_PER_M3_K * room.crac_m3_per_s * np.maximum(crac_inlet_c - supply_c, 0.0)
    return heat_w / room.cop_at(supply_c), node_inlet_c


def _share(part: Floats | Counts, whole: Counts) -> Floats:
    """Part by part; NaN of nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0))


def _problems(
    facility: Facility, rate_per_s: Floats, interval_s: float, ahead_s: float, samples: int, replan_every: int | None
) -> Iterator[Problem]:
    n = facility.tasks.n_types
    if rate_per_s.ndim != 2 or rate_per_s.shape[0] == 0 or rate_per_s.shape[1] != n:
        allowed = f"must be a row for each interval, with the rates of the {n} task types"
        yield Problem("rate_per_s", f"found a table of shape {rate_per_s.shape}", allowed)
    elif not ((rate_per_s >= 0) & np.isfinite(rate_per_s)).all():
        yield Problem("rate_per_s", f"found {rate_per_s.min()}", "must be 0 per second or more, and finite")
    if not (interval_s > 0 and np.isfinite(interval_s)):
        yield Problem("interval_s", f"found {interval_s}", "must be above 0 s, and finite")
    if not ahead_s >= 0:
        yield Problem("ahead_s", f"found {ahead_s}", "must be 0 s or more; infinite sets no limit")
    if samples < 1:
        yield Problem("samples", f"found {samples}", "must be 1 or more for each interval")
    if replan_every is not None and replan_every < 1:
        yield Problem("replan_every", f"found {replan_every}", "must be 1 interval or more, or None for one plan")


def _plan_problems(facility: Facility, plan: FacilityPlan, number: int) -> Iterator[Problem]:
    where, flows = f"plan of interval {number}", facility.tasks
    shape, n_pstates = (facility.n_cores, flows.n_types), flows.speed_per_s.shape[2]
    if plan.share.shape != shape or plan.pstate.shape != shape or plan.supply_c.shape != (facility.room.n_cracs,):
        found = f"found shapes {plan.share.shape}, {plan.pstate.shape} and {plan.supply_c.shape}"
        yield Problem(where, found, f"must be {shape}, {shape} and ({facility.room.n_cracs},)")
        return
    busy = plan.share.sum(axis=1)
    if not ((plan.share >= 0).all() and busy.max() <= _FULL):
        found = f"found shares from {plan.share.min():g} on, and {busy.max():g} of a core's time"
        yield Problem(where, found, "must be 0 or more, and 1 together at most")
    if not ((plan.pstate >= 0) & (plan.pstate < n_pstates)).all():
        found = f"found P-states from {plan.pstate.min()} to {plan.pstate.max()}"
        yield Problem(where, found, f"must be from 0 to {n_pstates - 1}")
        return
    core, kind = np.nonzero(plan.share > 0)
    node_type = facility.node_type[_node_of(facility, core.astype(np.int32))]
    cannot = flows.speed_per_s[kind, node_type, plan.pstate[core, kind]] == 0
    for at in np.flatnonzero(cannot)[:3]:
        found = f"found time of core {core[at]} for task type {flows.names[kind[at]]}"
        yield Problem(where, found, "must be on cores and in P-states that can run it")

"""A facility in steady state: node types and the room they stand in, the tasks that flow in, and what is decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints, freeze_fields
from joulewise.model.room import Room
from joulewise.visible import Visible

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class NodeTypes(Visible, looks="facility"):
    """Types of nodes, one row each: a node has cores on processors, and draws `overhead_w` whatever they do.

    The cores of one processor share its cache and slow each other; cores of different processors do not. A core can be
    in `n_pstates` P-states, of which 0 is the fastest. Raises InputError with every problem found.
    """

    names: tuple[str, ...]
    cores: Counts
    processors: Counts
    n_pstates: Counts
    overhead_w: Floats

    def __post_init__(self) -> None:
        counts = dict.fromkeys(("cores", "processors", "n_pstates"), np.int64)
        freeze_fields(self, {**counts, "overhead_w": np.float64})
        raise_if_any(_node_problems(self))

    @property
    def n_types(self) -> int:
        return len(self.names)

    @property
    def sharers(self) -> Counts:
        """The cores that share a processor, for each type."""
        return np.asarray(self.cores // self.processors)


@dataclass(frozen=True, eq=False)
class TaskFlows(Visible, looks="facility"):
    """Types of tasks that flow in for ever: this many a second, each worth a reward if it ends by its deadline.

    A core of node type n in P-state p runs `speed_per_s[t, n, p]` tasks of type t a second if nothing slows it, and
    draws `power_w[t, n, p]` meanwhile; speed 0 is "cannot run", also for P-states that a node type does not have.
    Tasks belong to memory classes: one of class a beside one of class b on a processor of type n takes
    `1 + slowdown[n, a, b]` times as long, and slowdowns of several neighbours add up. Where slowdowns are known for
    each pair of task types, each type is a class of its own. `deadlines_alone`: a task counts as in time if it would
    be so alone, as Oxley et al. 2014 ask; otherwise only if it is so beside whatever its neighbours run. Raises
    InputError with every problem found.
    """

    names: tuple[str, ...]
    rate_per_s: Floats
    reward: Floats
    deadline_s: Floats
    speed_per_s: Floats
    power_w: Floats
    memory_class: Codes
    class_names: tuple[str, ...]
    slowdown: Floats
    deadlines_alone: bool = False

    def __post_init__(self) -> None:
        floats = ("rate_per_s", "reward", "deadline_s", "speed_per_s", "power_w", "slowdown")
        freeze_fields(self, {**dict.fromkeys(floats, np.float64), "memory_class": np.int8})
        raise_if_any(_flow_problems(self))

    @property
    def n_types(self) -> int:
        return len(self.names)

    @property
    def n_classes(self) -> int:
        return len(self.class_names)

    @property
    def late_s(self) -> Floats:
        """How long after its arrival a task is late: one that takes just as long as its deadline is not."""
        return np.asarray(self.deadline_s * (1.0 + _ROUNDING))

    @cached_property
    def _late_pace(self) -> Floats:
        """[task type, node type, P-state]: the share of its speed at which a task is just late."""
        never = np.full_like(self.speed_per_s, np.inf)
        return np.divide(1.0 / self.late_s[:, None, None], self.speed_per_s, out=never, where=self.speed_per_s > 0)

    @cached_property
    def is_usable(self) -> Bools:
        """Which [task type, node type, P-state] can meet the deadline when a task starts as it arrives (eq. 3)."""
        return np.asarray(self._late_pace < 1.0)

    @cached_property
    def least_pace(self) -> Floats:
        """[task type, node type, P-state]: a task that neighbours slow to this share of its speed, or less, is late.

        0 where deadlines are tested alone.
        """
        return np.zeros_like(self.speed_per_s) if self.deadlines_alone else self._late_pace

    @property
    def most_reward_per_s(self) -> float:
        """The reward rate with every task that arrives done in time, by which rates are normalised."""
        return float(self.reward @ self.rate_per_s)


@dataclass(frozen=True, eq=False)
class Facility(Visible, looks="facility"):
    """Nodes in a room, tasks that flow in, and the power that nodes and cooling together may draw.

    Raises InputError with every problem found.
    """

    node_types: NodeTypes
    tasks: TaskFlows
    node_type: Ints
    room: Room
    cap_w: float

    def __post_init__(self) -> None:
        freeze_fields(self, {"node_type": np.int32})
        raise_if_any(_facility_problems(self))

    @property
    def n_nodes(self) -> int:
        return self.node_type.size

    @cached_property
    def first_core(self) -> Counts:
        """Node j has the cores from `first_core[j]` to `first_core[j + 1]`."""
        return np.concatenate(([0], np.cumsum(self.node_types.cores[self.node_type])))

    @property
    def n_cores(self) -> int:
        return int(self.first_core[-1])

    @cached_property
    def overhead_w(self) -> Floats:
        """What each node draws with all its cores at rest."""
        return np.asarray(self.node_types.overhead_w[self.node_type])


@dataclass(frozen=True, eq=False)
class FacilityPlan(Visible, looks="facility"):
    """An allocation of a facility: what each core does of each task type, and how cold each CRAC unit blows.

    Core k spends the share `share[k, t]` of its time on tasks of type t, in P-state `pstate[k, t]`.
    """

    share: Floats
    pstate: Codes
    supply_c: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, {"share": np.float64, "pstate": np.int8, "supply_c": np.float64})


@dataclass(frozen=True, eq=False)
class FacilityPrices(Visible, looks="facility"):
    """Prices that prove a bound on the co-located reward rate of a facility; none may be below 0.

    A task of type i is worth `task[i]` of reward; a watt under the cap costs `cap`, and a kelvin at the inlet of node j
    `redline[j]`, both in reward a second. `supply_c` are about the supplies of a good plan: whatever they are, the
    bound holds, and near the best ones it is lower.
    """

    task: Floats
    cap: float
    redline: Floats
    supply_c: Floats

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("task", "redline", "supply_c"), np.float64))


def _node_problems(types: NodeTypes) -> Iterator[Problem]:
    n = len(types.names)
    if n == 0:
        yield Problem("node types", "found none", "there must be at least one")
    if len(set(types.names)) < n:
        yield Problem("node types.name", f"found {list(types.names)}", "must all differ")
    for name in ("cores", "processors", "n_pstates"):
        yield from _column_problems(f"node types.{name}", getattr(types, name), n, 1, "must be 1 or more")
    yield from _column_problems("node types.overhead_w", types.overhead_w, n, 0, "must be 0 W or more, and finite")
    if types.cores.shape == types.processors.shape == (n,) and (types.processors >= 1).all():
        for at in np.flatnonzero(types.cores % types.processors):
            found = f"found {types.cores[at]} cores on {types.processors[at]} processors"
            yield Problem(f"node types: {types.names[at]}", found, "must be the same number on each processor")


def _column_problems(where: str, column: Floats | Counts, n: int, least: float, allowed: str) -> Iterator[Problem]:
    if column.shape != (n,):
        yield Problem(where, f"found {column.size} values", f"must be one for each of the {n} types")
    elif not ((column >= least) & np.isfinite(column)).all():
        yield Problem(where, f"found {column.tolist()}", allowed)


def _flow_problems(flows: TaskFlows) -> Iterator[Problem]:
    n, n_classes = flows.n_types, flows.n_classes
    if n == 0:
        yield Problem("task types", "found none", "there must be at least one")
    if len(set(flows.names)) < n:
        yield Problem("task types.name", f"found {list(flows.names)}", "must all differ")
    for name, least in (("rate_per_s", "0 per second"), ("reward", "0")):
        column = getattr(flows, name)
        yield from _column_problems(f"task types.{name}", column, n, 0, f"must be {least} or more, and finite")
    if flows.deadline_s.shape != (n,) or not (flows.deadline_s > 0).all():
        yield Problem("task types.deadline_s", f"found {flows.deadline_s.tolist()}", "must be above 0 s for each type")
    if flows.memory_class.shape != (n,) or not ((flows.memory_class >= 0) & (flows.memory_class < n_classes)).all():
        found = f"found {flows.memory_class.tolist()}"
        yield Problem("task types.memory_class", found, f"must be a class from 0 to {n_classes - 1} for each type")
    yield from _speed_problems(flows)
    if flows.slowdown.ndim != 3 or flows.slowdown.shape[1:] != (n_classes, n_classes):
        found, allowed = f"found a table of shape {flows.slowdown.shape}", f"must be {n_classes} by {n_classes}"
        yield Problem("slowdown", found, f"{allowed} for each node type")
    elif not ((flows.slowdown >= 0) & np.isfinite(flows.slowdown)).all():
        yield Problem("slowdown", f"found {flows.slowdown.min()}", "must be 0 or more, and finite")


def _speed_problems(flows: TaskFlows) -> Iterator[Problem]:
    speed, power = flows.speed_per_s, flows.power_w
    if speed.ndim != 3 or speed.shape[0] != flows.n_types or power.shape != speed.shape:
        found = f"found speeds {speed.shape} and powers {power.shape}"
        yield Problem("speeds and powers", found, "must be tables [task type, node type, P-state] of one shape")
        return
    for name, values in (("speed_per_s", speed), ("power_w", power)):
        if not ((values >= 0) & np.isfinite(values)).all():
            yield Problem(name, f"found {values.min()}", "must be 0 or more, and finite")
    for t, n, p in np.argwhere((speed > 0) & (power == 0))[:3]:
        yield Problem(f"power_w: task type {t}, node type {n}, P-state {p}", "found 0 W", "must be above 0 W")
    yield from _pstate_problems("speed_per_s", speed, speed)
    yield from _pstate_problems("power_w", power, speed)
    if flows.deadline_s.shape != (flows.n_types,) or not (flows.deadline_s > 0).all():
        return
    for at in np.flatnonzero(~flows.is_usable.any(axis=(1, 2))):
        fastest = speed[at].max()
        found = f"found a deadline of {flows.deadline_s[at]:.6g} s" if fastest > 0 else "found no node that can run it"
        allowed = f"must be {1 / fastest:.6g} s or more, its shortest time" if fastest > 0 else ""
        yield Problem(f"task types: {flows.names[at]}", found, allowed, "or leave this task type out")


def _pstate_problems(name: str, values: Floats, speed: Floats) -> Iterator[Problem]:
    """A slower P-state that is faster, or draws more, than the one before."""
    both = (speed[:, :, 1:] > 0) & (speed[:, :, :-1] > 0)
    for t, n, p in np.argwhere(both & (np.diff(values, axis=2) > 1e-9 * values[:, :, :-1]))[:3]:
        found = f"found {values[t, n, p + 1]:.6g} in P-state {p + 1} and {values[t, n, p]:.6g} in {p}"
        yield Problem(f"{name}: task type {t}, node type {n}", found, "must not rise from one P-state to the next")


def _facility_problems(facility: Facility) -> Iterator[Problem]:
    types, flows, n_room = facility.node_types, facility.tasks, facility.room.n_nodes
    if facility.node_type.shape != (n_room,):
        yield Problem("nodes", f"found {facility.node_type.size}", f"must be the {n_room} of the room")
    strange = facility.node_type[(facility.node_type < 0) | (facility.node_type >= types.n_types)]
    if strange.size:
        yield Problem("nodes.type", f"found {strange[0]}", f"must be from 0 to {types.n_types - 1}")
    for name in ("speed_per_s", "slowdown"):
        shape = getattr(flows, name).shape
        if shape[0 if name == "slowdown" else 1] != types.n_types:
            yield Problem(name, f"found shape {shape}", f"must have the {types.n_types} node types")
    n_pstates = flows.speed_per_s.shape[2]
    if types.n_pstates.max() > n_pstates:
        yield Problem("node types.n_pstates", f"found {types.n_pstates.max()}", f"must be {n_pstates} at most")
    elif flows.speed_per_s.shape[1] == types.n_types:
        extra = np.arange(n_pstates)[None, :] >= types.n_pstates[:, None]
        for t, n, p in np.argwhere((flows.speed_per_s > 0) & extra[None])[:3]:
            found = f"found {flows.speed_per_s[t, n, p]:.6g} in P-state {p}"
            yield Problem(f"speed_per_s: task type {t}, node type {n}", found, f"it has {types.n_pstates[n]} P-states")
    if not (np.isfinite(facility.cap_w) and facility.cap_w > 0):
        yield Problem("cap_w", f"found {facility.cap_w}", "must be above 0 W, and finite")


def cores_by_processor(facility: Facility) -> Iterator[tuple[int, Sequence[int]]]:
    """Every processor of the facility: its node, and its cores."""
    for node, kind in enumerate(facility.node_type):
        first, sharers = int(facility.first_core[node]), int(facility.node_types.sharers[kind])
        for start in range(first, int(facility.first_core[node + 1]), sharers):
            yield node, range(start, start + sharers)

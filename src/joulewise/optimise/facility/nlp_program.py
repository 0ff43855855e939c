"""The non-linear program of a facility: what cores do and how cold CRAC units blow, for IPOPT by CasADi, or HiGHS."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_array, csc_array, csr_array, diags_array, eye_array

from joulewise.errors import InputError, Problem
from joulewise.model.air import Air
from joulewise.model.arrays import Codes, Counts, Floats
from joulewise.model.facility import Facility
from joulewise.model.room import CopCurve

_KNOTS = 4
"""This many P-states at most are mixed; the others are between them."""

_DEGREES = 10.0
"""Temperatures of the program are in units of this many degrees, so that its numbers are near 1."""

_OUT_OF_TIME = "Maximum_WallTime_Exceeded"
Options = Mapping[str, Any]
_IPOPT: Options = {
    "sb": "yes",
    "print_level": 0,
    "nlp_scaling_method": "none",
    "tol": 1e-4,
    "barrier_tol_factor": 100.0,
    "max_iter": 500,
}


def casadi_or_say_how() -> Any:
    """The package, or InputError that says how to get it."""
    try:
        import casadi
    except ImportError:
        advice = "pip install 'joulewise[nlp]', or take another technique"
        raise InputError(Problem("NLP", "found no casadi", "needs CasADi with IPOPT", advice)) from None
    return casadi


class SolverClock:
    """The seconds of a search; `was_cut` when a solver ran out of them."""

    def __init__(self, seconds: float) -> None:
        self.start_s, self.seconds, self.was_cut = time.monotonic(), seconds, False

    @property
    def now_s(self) -> float:
        return time.monotonic() - self.start_s

    @property
    def left_s(self) -> float:
        return max(self.seconds - self.now_s, 1e-3)

    @property
    def is_over(self) -> bool:
        return self.now_s >= self.seconds

    def limit(self, part: float) -> Options:
        """How long IPOPT may go on: for a part of what is left."""
        return {"max_wall_time": part * self.left_s} if self.seconds < math.inf else {}

    def note(self, status: str) -> None:
        """Remember whether IPOPT ended for want of time."""
        self.was_cut = self.was_cut or status == _OUT_OF_TIME


class Beliefs(NamedTuple):
    """The speeds and powers that a program plans with, [task type, node type, P-state]."""

    speed_per_s: Floats
    power_w: Floats


class Members(NamedTuple):
    """The cores that a program decides on, each for one or several cores of the facility.

    Members of one `processor` slow each other. Nodes belong to groups in which all are alike: in each node of its
    group a member stands for `weight` cores. Core k of the facility does what member `of_core[k]` does, and node j
    belongs to group `group_of_node[j]`.
    """

    kind: Counts
    group: Counts
    weight: Floats
    processor: Counts
    of_core: Counts
    group_of_node: Counts

    @property
    def n_groups(self) -> int:
        return int(self.group_of_node.max()) + 1

    @property
    def cores(self) -> Floats:
        """The cores of the whole facility that each member stands for."""
        return np.asarray(self.weight * np.bincount(self.group_of_node)[self.group])


def node_of_core(facility: Facility) -> Counts:
    """The node of each core."""
    return np.repeat(np.arange(facility.n_nodes), np.diff(facility.first_core))


def _processor_of_core(facility: Facility) -> Counts:
    node, types = node_of_core(facility), facility.node_types
    first = np.concatenate(([0], np.cumsum(types.processors[facility.node_type])))[:-1]
    within = (np.arange(facility.n_cores) - facility.first_core[node]) // types.sharers[facility.node_type[node]]
    return np.asarray(first[node] + within)


def every_core(facility: Facility) -> Members:
    """Each core for itself."""
    node, everyone = node_of_core(facility), np.arange(facility.n_cores)
    kind, weight = facility.node_type[node].astype(np.int64), np.ones(facility.n_cores)
    return Members(kind, node, weight, _processor_of_core(facility), everyone, np.arange(facility.n_nodes))


def one_for_each_node(facility: Facility) -> Members:
    """All cores of a node do the same, as nothing tells them apart where neighbours do not count."""
    nodes, cores = np.arange(facility.n_nodes), np.diff(facility.first_core).astype(np.float64)
    return Members(facility.node_type.astype(np.int64), nodes, cores, nodes, node_of_core(facility), nodes)


def stand_ins(facility: Facility, rng: np.random.Generator, n: int) -> Members:
    """A few processors of each node type for all, `n` at most: each stands for about as many, drawn at random."""
    types, kind_of_core = facility.node_types, facility.node_type[node_of_core(facility)]
    of_core = np.zeros(facility.n_cores, np.int64)
    parts: list[tuple[Counts, Floats, Counts]] = []
    n_members = n_processors = 0
    for kind in np.unique(facility.node_type).tolist():
        cores, sharers = np.flatnonzero(kind_of_core == kind), int(types.sharers[kind])
        few = min(n, cores.size // sharers)
        stand_in = rng.permutation(cores.size // sharers) % few
        of_core[cores] = n_members + (stand_in[:, None] * sharers + np.arange(sharers)).ravel()
        weight = np.full(few * sharers, types.processors[kind] / few)
        parts.append((np.full(few * sharers, kind), weight, n_processors + np.repeat(np.arange(few), sharers)))
        n_members, n_processors = n_members + few * sharers, n_processors + few
    kind_of, weight, processor = (np.concatenate(column) for column in zip(*parts))
    return Members(kind_of, kind_of, weight, processor, of_core, facility.node_type.astype(np.int64))


class Columns(NamedTuple):
    """What members may do: `member` runs `task` in P-state `pstate`."""

    member: Counts
    task: Counts
    pstate: Counts


def mixed_columns(facility: Facility, beliefs: Beliefs, members: Members) -> Columns:
    """Every member may mix a few P-states for each task type."""
    parts = []
    for kind in np.unique(members.kind):
        pairs = [(t, p) for t in range(facility.tasks.n_types) for p in _knots(facility, beliefs, t, int(kind))]
        task, pstate = np.array(pairs, np.int64).reshape(-1, 2).T
        those = np.flatnonzero(members.kind == kind)
        parts.append((np.repeat(those, task.size), np.tile(task, those.size), np.tile(pstate, those.size)))
    member, task, pstate = (np.concatenate(column) for column in zip(*parts))
    order = np.argsort(member, kind="stable")
    return Columns(member[order], task[order], pstate[order])


def _knots(facility: Facility, beliefs: Beliefs, task: int, kind: int) -> Counts:
    """P-states on the concave hull of speed by power, from rest on: those below it are worse than a mixture."""
    speed, power = beliefs.speed_per_s[task, kind], beliefs.power_w[task, kind]
    hull: list[int] = []
    for p in np.flatnonzero(facility.tasks.is_usable[task, kind])[::-1]:
        while hull and _is_below(speed, power, hull, int(p)):
            hull.pop()
        hull.append(int(p))
    chosen = np.linspace(0, len(hull) - 1, min(len(hull), _KNOTS)).round().astype(np.int64)
    return np.asarray(np.array(hull, np.int64)[chosen])


def _is_below(speed: Floats, power: Floats, hull: Sequence[int], later: int) -> bool:
    """Whether the last P-state of the hull lies below the line from the one before it, or from rest, to a later."""
    speed_0, power_0 = (speed[hull[-2]], power[hull[-2]]) if len(hull) > 1 else (0.0, 0.0)
    last = hull[-1]
    rise, run = speed[last] - speed_0, power[last] - power_0
    return bool(rise * (power[later] - power_0) <= (speed[later] - speed_0) * run)


def fixed_columns(facility: Facility, members: Members, pstate: Codes) -> Columns:
    """Every member may do each task type in one P-state, where that is usable."""
    usable = facility.tasks.is_usable[np.arange(facility.tasks.n_types), members.kind[:, None], pstate]
    member, task = np.nonzero(usable)
    return Columns(member, task, pstate[member, task].astype(np.int64))


class NonlinearProgram:
    """What members do, and all that comes of it, as variables with sparse linear rows and a few non-linear ones.

    Variables: `share` of each column; `pace`, the share of its top speed at which each [member, task type] goes alone,
    and `load`, the time of each [member, memory class], where neighbours count; `drawn` by the cores of a node of each
    group; `node` power, `outlet` temperature, `heat` that each CRAC unit removes, its `supply`; and `rate`, at which
    tasks are done, in cores at mean top speed.
    """

    def __init__(
        self,
        facility: Facility,
        air: Air,
        beliefs: Beliefs,
        members: Members,
        columns: Columns,
        counts_neighbours: bool,
    ) -> None:
        self.facility, self.air, self.members, self.columns = facility, air, members, columns
        self.counts_neighbours = counts_neighbours
        flows, kind = facility.tasks, members.kind[columns.member]
        top = np.maximum((beliefs.speed_per_s * flows.is_usable).max(axis=2), 1e-300)
        self.pace = beliefs.speed_per_s[columns.task, kind, columns.pstate] / top[columns.task, kind]
        self.power_w = beliefs.power_w[columns.task, kind, columns.pstate]
        self.unit_w = float(self.power_w.max(initial=0.0)) or 1.0
        top_of_member = top[:, members.kind].T * members.cores[:, None]
        self.mean_top = top_of_member.sum(axis=0) / members.cores.sum()
        self.cores_at_top = np.asarray(top_of_member / self.mean_top)
        self.sizes = self._sizes()
        ends = np.cumsum(list(self.sizes.values()))
        self.at = {name: slice(int(end) - size, int(end)) for (name, size), end in zip(self.sizes.items(), ends)}
        self.n = int(ends[-1])
        self.rows, self.low, self.high = self._linear_rows()

    def _sizes(self) -> dict[str, int]:
        facility, n_members, n = self.facility, self.members.kind.size, self.facility.n_nodes
        sizes = {"share": self.columns.member.size}
        if self.counts_neighbours:
            sizes |= {"pace": n_members * facility.tasks.n_types, "load": n_members * facility.tasks.n_classes}
        n_cracs = facility.room.n_cracs
        places = {"node": n, "outlet": n, "heat": n_cracs, "supply": n_cracs}
        return sizes | {"drawn": self.members.n_groups} | places | {"rate": facility.tasks.n_types}

    @property
    def scale(self) -> float:
        """By what the objective and the cap are multiplied, so that a core counts for about 1."""
        return float(self.members.cores.sum())

    @cached_property
    def reward(self) -> Floats:
        """What a unit of each rate is worth."""
        flows = self.facility.tasks
        return np.asarray(flows.reward * self.mean_top / max(flows.most_reward_per_s, 1e-300) * self.scale)

    def _linear_rows(self) -> tuple[Any, Floats, Floats]:
        rows = [*self._work_rows(), *self._air_rows()]
        table = [[blocks.get(name) for name in self.sizes] for blocks, _, _ in rows]
        no_rows = [csc_array((0, size)) for size in self.sizes.values()]
        matrix = block_array([*table, no_rows], format="csc")
        heights = [next(iter(blocks.values())).shape[0] for blocks, _, _ in rows]
        low, high = (
            np.concatenate([np.full(height, end) for height, end in zip(heights, ends)])
            for ends in ([row[1] for row in rows], [row[2] for row in rows])
        )
        return matrix, low, high

    def _work_rows(self) -> list[tuple[dict[str, Any], Any, Any]]:
        """What members do: their time, pace and load, what they draw, and, without neighbours, the rates."""
        members, columns, n_tasks = self.members, self.columns, self.facility.tasks.n_types
        n_members, n_columns = members.kind.size, columns.member.size
        ones, free = np.ones(n_columns), -math.inf

        def by(row: Counts, n_rows: int, values: Floats) -> Any:
            return csc_array((values, (row, np.arange(n_columns))), shape=(n_rows, n_columns))

        drawn = by(members.group[columns.member], members.n_groups, members.weight[columns.member] * self.power_w)
        rows: list[tuple[dict[str, Any], Any, Any]] = [
            ({"share": drawn / self.unit_w, "drawn": -eye_array(members.n_groups)}, 0.0, 0.0),
            ({"share": by(columns.member, n_members, ones)}, free, 1.0),
        ]
        if not self.counts_neighbours:
            done = by(columns.task, n_tasks, -self.pace * self.cores_at_top[columns.member, columns.task])
            return [*rows, ({"share": done, "rate": eye_array(n_tasks)}, free, 0.0)]
        n_classes, memory_class = self.facility.tasks.n_classes, self.facility.tasks.memory_class[columns.task]
        pace = by(columns.member * n_tasks + columns.task, n_members * n_tasks, self.pace)
        load = by(columns.member * n_classes + memory_class, n_members * n_classes, ones)
        return [
            *rows,
            ({"share": pace, "pace": -eye_array(n_members * n_tasks)}, 0.0, 0.0),
            ({"share": load, "load": -eye_array(n_members * n_classes)}, 0.0, 0.0),
        ]

    def _air_rows(self) -> list[tuple[dict[str, Any], Any, Any]]:
        """Eq. 4 to 8: the power of each node, the air that leaves it, its redline, and the heat of each CRAC unit."""
        facility, air, unit_w = self.facility, self.air, self.unit_w
        room, n, flow = facility.room, facility.n_nodes, facility.room.flow
        air_from = csr_array((flow.share, flow.source, flow.start), shape=(flow.n_places, flow.n_places))
        group = csc_array((np.ones(n), (np.arange(n), self.members.group_of_node)), shape=(n, self.members.n_groups))
        heating = diags_array(air.heating_k_per_w * unit_w / _DEGREES)
        w_per_k = diags_array(air.crac_w_per_k * _DEGREES / unit_w)
        overhead = -facility.overhead_w / unit_w
        supply_kept = w_per_k @ (air_from[n:, n:] - eye_array(room.n_cracs))
        return [
            ({"drawn": group, "node": -eye_array(n)}, overhead, overhead),
            ({"outlet": air_from[:n, :n] - eye_array(n), "supply": air_from[:n, n:], "node": heating}, 0.0, 0.0),
            ({"outlet": eye_array(n), "node": -heating}, -math.inf, room.redline_c / _DEGREES),
            ({"outlet": w_per_k @ air_from[n:, :n], "supply": supply_kept, "heat": -eye_array(room.n_cracs)}, 0.0, 0.0),
        ]

    def bounds(self, supply_c: Floats | None) -> tuple[Floats, Floats]:
        """The least and most of each variable; `supply_c` fixes the supplies."""
        room, flows = self.facility.room, self.facility.tasks
        low, high = np.full(self.n, -math.inf), np.full(self.n, math.inf)
        low[self.at["share"]], high[self.at["share"]] = 0.0, 1.0
        low[self.at["rate"]] = 0.0
        low[self.at["heat"]] = -math.inf if room.may_heat else 0.0
        high[self.at["rate"]] = flows.rate_per_s / self.mean_top
        low[self.at["supply"]] = (room.coldest_c if supply_c is None else supply_c) / _DEGREES
        high[self.at["supply"]] = (room.hottest_c if supply_c is None else supply_c) / _DEGREES
        return low, high

    @cached_property
    def slowed(self) -> Any:
        """[member and task type, member and class]: what the load of neighbours adds to the time of a task."""
        members, flows = self.members, self.facility.tasks
        one, other = _neighbours(members.processor)
        n, n_tasks, n_classes = members.kind.size, flows.n_types, flows.n_classes
        values = flows.slowdown[members.kind[one]][:, flows.memory_class]
        rows = np.broadcast_to((one[:, None] * n_tasks + np.arange(n_tasks))[:, :, None], values.shape)
        columns = np.broadcast_to((other[:, None] * n_classes + np.arange(n_classes))[:, None, :], values.shape)
        table = (values.ravel(), (rows.ravel(), columns.ravel()))
        matrix = csc_array(table, shape=(n * n_tasks, n * n_classes))
        matrix.eliminate_zeros()
        return matrix

    def point(self, share: Floats, supply_c: Floats) -> Floats:
        """All variables that come of some shares and supplies."""
        columns, air, values = self.columns, self.air, np.zeros(self.n)
        values[self.at["share"]] = share
        drawn = np.bincount(
            self.members.group[columns.member],
            share * self.power_w * self.members.weight[columns.member],
            self.members.n_groups,
        )
        node_w = self.facility.overhead_w + drawn[self.members.group_of_node]
        node_inlet_c, crac_inlet_c = air.inlets_c(node_w, supply_c)
        values[self.at["drawn"]], values[self.at["node"]] = drawn / self.unit_w, node_w / self.unit_w
        values[self.at["outlet"]] = (node_inlet_c + air.heating_k_per_w * node_w) / _DEGREES
        values[self.at["heat"]] = air.crac_w_per_k * (crac_inlet_c - supply_c) / self.unit_w
        values[self.at["supply"]] = supply_c / _DEGREES
        values[self.at["rate"]] = self._rates(share, values)
        return values

    def _rates(self, share: Floats, values: Floats) -> Floats:
        """The rates of some shares; fills in pace and load where neighbours count."""
        columns, n_members, flows = self.columns, self.members.kind.size, self.facility.tasks
        pair = columns.member * flows.n_types + columns.task
        pace = np.bincount(pair, share * self.pace, n_members * flows.n_types)
        if self.counts_neighbours:
            load = columns.member * flows.n_classes + flows.memory_class[columns.task]
            values[self.at["pace"]] = pace
            values[self.at["load"]] = np.bincount(load, share, n_members * flows.n_classes)
            pace = pace / (1.0 + self.slowed @ values[self.at["load"]])
        return np.asarray((pace.reshape(n_members, -1) * self.cores_at_top).sum(axis=0))

    def by_ipopt(
        self, start: Floats, supply_c: Floats | None, clock: SolverClock, options: Options, part: float = 1.0
    ) -> Floats:
        """Where IPOPT ends from some values on, or stands when the time is over."""
        casadi = casadi_or_say_how()
        variables, nothing = casadi.MX.sym("v", self.n), casadi.MX.sym("p", 0, 1)
        curved = casadi.vertcat(self._cap(casadi, variables), *self._slowed_rates(casadi, variables))
        rows = _sparse(casadi, self.rows)
        limits = casadi.densify(casadi.vertcat(casadi.mtimes(rows, variables), curved))
        slopes = casadi.vertcat(casadi.MX(rows), casadi.jacobian(curved, variables))
        gain = casadi.dot(casadi.DM(self.reward), variables[self.at["rate"]])
        price, prices = casadi.MX.sym("f"), casadi.MX.sym("g", limits.shape[0])
        bends = casadi.hessian(casadi.dot(prices[self.low.size :], curved), variables)[0]
        derivatives = {
            "jac_g": casadi.Function("slopes", [variables, nothing], [limits, slopes]),
            "hess_lag": casadi.Function("bends", [variables, nothing, price, prices], [casadi.triu(bends)]),
        }
        settings = {f"ipopt.{name}": value for name, value in {**_IPOPT, **options, **clock.limit(part)}.items()}
        problem = {"x": variables, "f": -gain, "g": limits}
        solver = casadi.nlpsol("plan", "ipopt", problem, {"print_time": False, **derivatives, **settings})
        low, high = self.bounds(supply_c)
        no_more = np.concatenate(([self.scale], np.zeros(curved.shape[0] - 1)))
        row_low, row_high = (
            np.concatenate(ends) for ends in ((self.low, np.full(no_more.size, -math.inf)), (self.high, no_more))
        )
        answer = solver(x0=start, lbx=low, ubx=high, lbg=row_low, ubg=row_high)
        clock.note(solver.stats()["return_status"])
        return np.asarray(answer["x"]).ravel()

    def _cap(self, casadi: Any, variables: Any) -> Any:
        """The power of nodes and cooling together; the cap is `scale`."""
        supply, heat = variables[self.at["supply"]] * _DEGREES, variables[self.at["heat"]]
        cop = casadi.vertcat(*[_curve(casadi, curve, supply[c]) for c, curve in enumerate(self.facility.room.cop)])
        together = casadi.sum1(variables[self.at["node"]]) + casadi.sum1(heat / cop)
        return together * (self.unit_w * self.scale / self.facility.cap_w)

    def _slowed_rates(self, casadi: Any, variables: Any) -> list[Any]:
        """Eq. 9 to 11: the rate of each task type less what cores beside each other do of it; 0 at most."""
        if not self.counts_neighbours:
            return []
        n_members, n_tasks = self.cores_at_top.shape
        slower = casadi.mtimes(_sparse(casadi, self.slowed), variables[self.at["load"]])
        done = casadi.DM(self.cores_at_top.ravel()) * variables[self.at["pace"]] / (1.0 + slower)
        return [variables[self.at["rate"]] - casadi.sum2(casadi.reshape(done, n_tasks, n_members))]

    def by_highs(self, supply_c: Floats, clock: SolverClock) -> Floats | None:
        """The best values with the supplies fixed, where neighbours do not count: a linear program."""
        low, high = self.bounds(supply_c)
        cap = np.zeros(self.n)
        cap[self.at["node"]] = 1.0
        cap[self.at["heat"]] = 1.0 / self.facility.room.cop_at(supply_c)
        cost = np.zeros(self.n)
        cost[self.at["rate"]] = -self.reward
        limits = [
            LinearConstraint(self.rows, self.low, self.high),
            LinearConstraint(cap[None], -math.inf, self.facility.cap_w / self.unit_w),
        ]
        answer = milp(cost, constraints=limits, bounds=Bounds(low, high), options={"time_limit": clock.left_s})
        return None if answer.x is None else np.asarray(answer.x)

    def shares(self, values: Floats) -> Floats:
        """The shares of all columns, with what a solver oversteps cut off."""
        share = np.clip(values[self.at["share"]], 0.0, 1.0)
        time_of_member = np.bincount(self.columns.member, share, self.members.kind.size)
        return np.asarray(share / np.maximum(time_of_member, 1.0)[self.columns.member])

    def supply_c(self, values: Floats) -> Floats:
        """The supplies, likewise."""
        room = self.facility.room
        return np.clip(values[self.at["supply"]] * _DEGREES, room.coldest_c, room.hottest_c)

    def by_pair(self, values: Floats) -> Floats:
        """[member, task type]: the sum of a value over the P-states that may be mixed."""
        n_tasks = self.facility.tasks.n_types
        pair = self.columns.member * n_tasks + self.columns.task
        sums = np.bincount(pair, values, self.members.kind.size * n_tasks).astype(np.float64)
        return sums.reshape(-1, n_tasks)


def _neighbours(processor: Counts) -> tuple[Counts, Counts]:
    """All pairs of members of one processor; members of a processor follow each other."""
    size = np.bincount(processor)
    first = np.concatenate(([0], np.cumsum(size)))[:-1]
    one = np.repeat(np.arange(processor.size), size[processor])
    starts = np.repeat(np.cumsum(size[processor]) - size[processor], size[processor])
    other = first[processor[one]] + np.arange(one.size) - starts
    return one[one != other], other[one != other]


def _sparse(casadi: Any, matrix: Any) -> Any:
    matrix.sum_duplicates()
    matrix.sort_indices()
    pattern = casadi.Sparsity(*matrix.shape, matrix.indptr.tolist(), matrix.indices.tolist())
    return casadi.DM(pattern, matrix.data)


def _curve(casadi: Any, curve: CopCurve, supply_c: Any) -> Any:
    """A coefficient of performance as an expression."""
    if curve.at_c is None:
        return casadi.polyval(casadi.DM(curve.coefficients[::-1].copy()), supply_c)
    slopes = np.diff(curve.coefficients) / np.diff(curve.at_c)
    value = casadi.MX(float(curve.coefficients[0]))
    for slope, left, right in zip(slopes, curve.at_c[:-1], curve.at_c[1:]):
        value += slope * (casadi.fmin(casadi.fmax(supply_c, left), right) - left)
    return value

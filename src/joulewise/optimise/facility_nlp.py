"""Plans of a facility by non-linear programming in three steps (Oxley IV.C): NLP, and NLPCL, which counts neighbours.

Step 1 lets a core run between P-states: it mixes them, so that speed is interpolated by power, and IPOPT chooses what
each core does and how cold each CRAC unit blows. Step 2 rounds the power of each (core, task type) to a P-state. Step 3
keeps P-states and supplies, and chooses the shares again. NLPCL maximises the co-located reward rate, with the power
and speed of each task type, in steps 1 and 3. NLP is as in prior work: it maximises the reward rate (step 3 is then a
linear program) and believes in one power per P-state for all task types, the mean over them, and in one scaling of all
speeds, that of the task type whose speed falls most from P-state 0 to the last.

What is planned with such beliefs, or rounded, can break a limit: then all shares are scaled down until none is broken.
CasADi gives exact first and second derivatives; temperatures stay variables, as their equations are sparse.
"""

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
from joulewise.model.arrays import Bools, Codes, Counts, Floats
from joulewise.model.facility import Facility, FacilityPlan
from joulewise.model.room import CopCurve
from joulewise.model.air import Air
from joulewise.optimise.facility import steady
from joulewise.optimise.facility_search import Found

_KNOTS = 4
"""So many P-states at most are mixed in step 1; the others are between them."""

_STAND_INS = 8
"""Processors of each node type in the small program whose answer step 1 of NLPCL starts from."""

_DEGREES = 10.0
"""Temperatures of the program are in units of so many degrees, so that its numbers are near 1."""

_INSIDE = 1e-9
_START_TIME, _STEP_1_SHARE = 0.3, 0.6
_Options = Mapping[str, Any]
_IPOPT: _Options = {
    "sb": "yes",
    "print_level": 0,
    "nlp_scaling_method": "none",
    "tol": 1e-4,
    "barrier_tol_factor": 100.0,
    "max_iter": 500,
}
_FROM_AFAR: _Options = {}
_NEAR_START: _Options = {"mu_init": 1e-3, "bound_push": 1e-3, "bound_frac": 1e-3}
_AT_LAST: _Options = {**_NEAR_START, "tol": 1e-5}


def plan_by_nlp(
    facility: Facility, air: Air, *, counts_neighbours: bool, seconds: float = math.inf, seed: int = 0
) -> Found:
    """The plan of NLPCL (`counts_neighbours`) or NLP, or the best one so far when the seconds are over.

    The seed breaks the symmetry of equal cores. Raises InputError where CasADi is missing, or where the nodes at rest
    already break a limit.
    """
    _casadi()
    search = _Search(facility, air, counts_neighbours, seconds, seed)
    search.offer(_every_core(facility), _idling(facility), _even_supply_c(facility, air, facility.overhead_w))
    if search.best is None:
        raise InputError(_rest_problem(facility, air))
    return search.run()


def _casadi() -> Any:
    try:
        import casadi
    except ImportError:
        advice = "pip install 'joulewise[nlp]', or take another technique"
        raise InputError(Problem("NLP", "found no casadi", "needs CasADi with IPOPT", advice)) from None
    return casadi


class _Shares(NamedTuple):
    """What cores do, without the supply of the CRAC units: `share` and `pstate` of [core, task type]."""

    share: Floats
    pstate: Codes


class _Beliefs(NamedTuple):
    """The speeds and powers that a program plans with, [task type, node type, P-state]."""

    speed_per_s: Floats
    power_w: Floats


def _believed(facility: Facility, counts_neighbours: bool) -> _Beliefs:
    flows = facility.tasks
    if counts_neighbours:
        return _Beliefs(flows.speed_per_s, flows.power_w)
    runs = flows.speed_per_s > 0
    mean_w = (flows.power_w * runs).sum(axis=0) / np.maximum(runs.sum(axis=0), 1)
    scaled = flows.speed_per_s[:, :, :1] * _scaling(facility)
    return _Beliefs(scaled, np.broadcast_to(mean_w, scaled.shape))


def _scaling(facility: Facility) -> Floats:
    """[node type, P-state]: the speed beside P-state 0 of the task type that loses most by the last P-state."""
    speed = facility.tasks.speed_per_s
    ratio = np.divide(speed, speed[:, :, :1], out=np.ones_like(speed), where=speed[:, :, :1] > 0)
    kinds = np.arange(ratio.shape[1])
    at_last = ratio[:, kinds, facility.node_types.n_pstates - 1]
    steepest = np.where(at_last > 0, at_last, np.inf).argmin(axis=0)
    return np.asarray(ratio[steepest, kinds])


class _Members(NamedTuple):
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


def _node_of_core(facility: Facility) -> Counts:
    return np.repeat(np.arange(facility.n_nodes), np.diff(facility.first_core))


def _processor_of_core(facility: Facility) -> Counts:
    node, types = _node_of_core(facility), facility.node_types
    first = np.concatenate(([0], np.cumsum(types.processors[facility.node_type])))[:-1]
    within = (np.arange(facility.n_cores) - facility.first_core[node]) // types.sharers[facility.node_type[node]]
    return np.asarray(first[node] + within)


def _every_core(facility: Facility) -> _Members:
    node, everyone = _node_of_core(facility), np.arange(facility.n_cores)
    kind, weight = facility.node_type[node].astype(np.int64), np.ones(facility.n_cores)
    return _Members(kind, node, weight, _processor_of_core(facility), everyone, np.arange(facility.n_nodes))


def _one_for_each_node(facility: Facility) -> _Members:
    """All cores of a node do the same, as nothing tells them apart where neighbours do not count."""
    nodes, cores = np.arange(facility.n_nodes), np.diff(facility.first_core).astype(np.float64)
    return _Members(facility.node_type.astype(np.int64), nodes, cores, nodes, _node_of_core(facility), nodes)


def _stand_ins(facility: Facility, rng: np.random.Generator) -> _Members:
    """A few processors of each node type for all: each stands for the same number, drawn by chance."""
    types, kind_of_core = facility.node_types, facility.node_type[_node_of_core(facility)]
    of_core = np.zeros(facility.n_cores, np.int64)
    parts: list[tuple[Counts, Floats, Counts]] = []
    n_members = n_processors = 0
    for kind in np.unique(facility.node_type).tolist():
        cores, sharers = np.flatnonzero(kind_of_core == kind), int(types.sharers[kind])
        few = min(_STAND_INS, cores.size // sharers)
        stand_in = rng.permutation(cores.size // sharers) % few
        of_core[cores] = n_members + (stand_in[:, None] * sharers + np.arange(sharers)).ravel()
        weight = np.full(few * sharers, types.processors[kind] / few)
        parts.append((np.full(few * sharers, kind), weight, n_processors + np.repeat(np.arange(few), sharers)))
        n_members, n_processors = n_members + few * sharers, n_processors + few
    kind_of, weight, processor = (np.concatenate(column) for column in zip(*parts))
    return _Members(kind_of, kind_of, weight, processor, of_core, facility.node_type.astype(np.int64))


class _Columns(NamedTuple):
    """What members may do: `member` runs `task` in P-state `pstate`."""

    member: Counts
    task: Counts
    pstate: Counts


def _mixed_columns(facility: Facility, beliefs: _Beliefs, members: _Members) -> _Columns:
    """Every member may mix a few P-states for each task type."""
    parts = []
    for kind in np.unique(members.kind):
        pairs = [(t, p) for t in range(facility.tasks.n_types) for p in _knots(facility, beliefs, t, int(kind))]
        task, pstate = np.array(pairs, np.int64).reshape(-1, 2).T
        those = np.flatnonzero(members.kind == kind)
        parts.append((np.repeat(those, task.size), np.tile(task, those.size), np.tile(pstate, those.size)))
    member, task, pstate = (np.concatenate(column) for column in zip(*parts))
    order = np.argsort(member, kind="stable")
    return _Columns(member[order], task[order], pstate[order])


def _knots(facility: Facility, beliefs: _Beliefs, task: int, kind: int) -> Counts:
    """P-states on the concave hull of speed by power, from rest on: those below it are worse than a mixture."""
    speed, power = beliefs.speed_per_s[task, kind], beliefs.power_w[task, kind]
    hull: list[int] = []
    for p in np.flatnonzero(facility.tasks.is_usable[task, kind])[::-1]:
        while hull and _is_below(speed, power, hull, int(p)):
            hull.pop()
        hull.append(int(p))
    return np.array(hull, np.int64)[np.unique(np.linspace(0, len(hull) - 1, min(len(hull), _KNOTS)).round().astype(int))]


def _is_below(speed: Floats, power: Floats, hull: Sequence[int], later: int) -> bool:
    """Whether the last P-state of the hull lies below the line from the one before it, or from rest, to a later."""
    speed_0, power_0 = (speed[hull[-2]], power[hull[-2]]) if len(hull) > 1 else (0.0, 0.0)
    last = hull[-1]
    rise, run = speed[last] - speed_0, power[last] - power_0
    return bool(rise * (power[later] - power_0) <= (speed[later] - speed_0) * run)


def _fixed_columns(facility: Facility, members: _Members, pstate: Codes) -> _Columns:
    """Every member may do each task type in one P-state, where that is usable."""
    usable = facility.tasks.is_usable[np.arange(facility.tasks.n_types), members.kind[:, None], pstate]
    member, task = np.nonzero(usable)
    return _Columns(member, task, pstate[member, task].astype(np.int64))


class _Program:
    """What members do, and all that comes of it, as variables with sparse linear rows and a few non-linear ones.

    Variables: `share` of each column; `pace`, the share of its top speed at which each [member, task type] goes alone,
    and `load`, the time of each [member, memory class], where neighbours count; `drawn` by the cores of a node of each
    group; `node` power, `outlet` temperature, `heat` that each CRAC unit removes, its `supply`; and `rate`, at which
    tasks are done, in cores at mean top speed.
    """

    def __init__(
        self, facility: Facility, air: Air, beliefs: _Beliefs, members: _Members, columns: _Columns, counts: bool
    ) -> None:
        self.facility, self.air, self.members, self.columns, self.counts_neighbours = (
            facility, air, members, columns, counts,
        )  # fmt: skip
        flows, kind = facility.tasks, members.kind[columns.member]
        top = np.maximum((beliefs.speed_per_s * flows.is_usable).max(axis=2), 1e-300)
        self.pace = beliefs.speed_per_s[columns.task, kind, columns.pstate] / top[columns.task, kind]
        self.power_w = beliefs.power_w[columns.task, kind, columns.pstate]
        self.unit_w = float(self.power_w.max())
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
        flows = self.facility.tasks
        return np.asarray(flows.reward * self.mean_top / max(flows.most_reward_per_s, 1e-300) * self.scale)

    def _linear_rows(self) -> tuple[Any, Floats, Floats]:
        rows = [*self._work_rows(), *self._air_rows()]
        table = [[blocks.get(name) for name in self.sizes] for blocks, _, _ in rows]
        no_rows = [csc_array((0, size)) for size in self.sizes.values()]
        matrix = block_array([*table, no_rows], format="csc")
        heights = [next(iter(blocks.values())).shape[0] for blocks, _, _ in rows]
        low, high = (
            np.concatenate([np.broadcast_to(row[k], height) for row, height in zip(rows, heights)]) for k in (1, 2)
        )
        return matrix, low.astype(np.float64), high.astype(np.float64)

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
        low[self.at["heat"]] = low[self.at["rate"]] = 0.0
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

    def by_ipopt(self, start: Floats, supply_c: Floats | None, seconds: float, options: _Options) -> Floats:
        """Where IPOPT ends, or stands after so many seconds, from some values on."""
        casadi = _casadi()
        variables = casadi.MX.sym("v", self.n)
        curved = casadi.vertcat(self._cap(casadi, variables), *self._slowed_rates(casadi, variables))
        rows = _sparse(casadi, self.rows)
        limits = casadi.vertcat(casadi.mtimes(rows, variables), curved)
        slopes = casadi.vertcat(casadi.MX(rows), casadi.jacobian(curved, variables))
        nothing = casadi.MX.sym("p", 0, 1)
        settings = {f"ipopt.{name}": value for name, value in {**_IPOPT, **options}.items()}
        if seconds < math.inf:
            settings["ipopt.max_wall_time"] = max(seconds, 1e-3)
        settings |= {"print_time": False, "jac_g": casadi.Function("slopes", [variables, nothing], [limits, slopes])}
        gain = casadi.dot(casadi.DM(self.reward), variables[self.at["rate"]])
        solver = casadi.nlpsol("plan", "ipopt", {"x": variables, "f": -gain, "g": limits}, settings)
        low, high = self.bounds(supply_c)
        more = curved.shape[0] - 1
        row_low = np.concatenate((self.low, np.full(1 + more, -math.inf)))
        row_high = np.concatenate((self.high, [self.scale], np.zeros(more)))
        found = solver(x0=start, lbx=low, ubx=high, lbg=row_low, ubg=row_high)
        self.status=solver.stats()["return_status"]; self.iters=solver.stats()["iter_count"]
        return np.asarray(found["x"]).ravel()

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

    def by_highs(self, supply_c: Floats, seconds: float) -> Floats | None:
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
        found = milp(cost, constraints=limits, bounds=Bounds(low, high), options={"time_limit": max(seconds, 1e-3)})
        return None if found.x is None else np.asarray(found.x)

    def shares(self, values: Floats) -> Floats:
        """The shares of all columns, with what a solver oversteps cut off."""
        share = np.clip(values[self.at["share"]], 0.0, 1.0)
        time_of_member = np.bincount(self.columns.member, share, self.members.kind.size)
        return np.asarray(share / np.maximum(time_of_member, 1.0)[self.columns.member])

    def supply_c(self, values: Floats) -> Floats:
        room = self.facility.room
        return np.clip(values[self.at["supply"]] * _DEGREES, room.coldest_c, room.hottest_c)

    def by_pair(self, share: Floats, values: Floats) -> Floats:
        """[member, task type]: a sum over columns, weighted by their shares."""
        n_tasks = self.facility.tasks.n_types
        pair = self.columns.member * n_tasks + self.columns.task
        return np.bincount(pair, share * values, self.members.kind.size * n_tasks).reshape(-1, n_tasks)


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


def _rounded(facility: Facility, program: _Program, values: Floats, beliefs: _Beliefs) -> Codes:
    """Step 2: a P-state for each [member, task type], so that all cores together draw about what they did.

    A pair whose power lies between two P-states gets the slower one; then those nearest to the faster one get that,
    one after the other, until the power they had before is used up.
    """
    share, kind = program.shares(values), program.members.kind
    mixed = np.maximum(share, 1e-30)
    time_of = program.by_pair(mixed, np.ones(mixed.size))
    power_w = program.by_pair(mixed, program.power_w) / np.where(time_of > 0, time_of, 1.0)
    by_pstate = np.moveaxis(beliefs.power_w[:, kind], 1, 0)
    usable = np.moveaxis(facility.tasks.is_usable[:, kind], 1, 0)
    slower = _slower_pstate(by_pstate, usable, power_w)
    faster = np.maximum(slower - 1, 0)
    faster = np.where(np.take_along_axis(usable, faster[:, :, None], 2)[:, :, 0], faster, slower)
    low_w, high_w = (np.take_along_axis(by_pstate, p[:, :, None], 2)[:, :, 0] for p in (slower, faster))
    weighted = program.by_pair(share, np.ones(share.size)) * program.members.cores[:, None]
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
    n_pstates = by_pstate.shape[2]
    slowest = n_pstates - 1 - usable[:, :, ::-1].argmax(axis=2)
    return np.where(fits.any(axis=2), fits.argmax(axis=2), slowest)


def _idling(facility: Facility) -> _Shares:
    """All cores do a little of every task type that they can, in the slowest usable P-state."""
    flows, kind = facility.tasks, facility.node_type[_node_of_core(facility)]
    usable = flows.is_usable[:, kind]
    slowest = usable.shape[2] - 1 - usable[:, :, ::-1].argmax(axis=2)
    can = usable.any(axis=2)
    return _Shares((can / np.maximum(can.sum(axis=0), 1)).T, slowest.T.astype(np.int8))


def _even_supply_c(facility: Facility, air: Air, node_w: Floats) -> Floats:
    """The hottest supply, the same for all CRAC units where they can, that keeps the redlines at some node powers."""
    room = facility.room
    rise_k = air.inlets_c(node_w, np.zeros(room.n_cracs))[0]
    return np.clip(float((room.redline_c - rise_k).min()), room.coldest_c, room.hottest_c)


def _within_limits(facility: Facility, air: Air, plan: FacilityPlan) -> FacilityPlan | None:
    """A plan with all shares scaled down as far as limits ask for, None where that does not help.

    Power, temperatures and heat are linear in the scale, so that the largest one is known at once. Where it is only
    the supply that breaks a limit, the units are brought to one supply, by halves.
    """
    node_w = steady(facility, air, plan).node_w
    even_c = _even_supply_c(facility, air, node_w)
    for weight in (0.0, 0.5, 1.0):
        supply_c = (1.0 - weight) * plan.supply_c + weight * even_c
        scale = _largest_scale(*(_spare(facility, air, w, supply_c) for w in (facility.overhead_w, node_w)))
        if scale is not None:
            return FacilityPlan(plan.share * scale, plan.pstate, supply_c)
    return None


def _spare(facility: Facility, air: Air, node_w: Floats, supply_c: Floats) -> Floats:
    """How far the cap, the redlines and no heat at a CRAC unit are away, each about as a share of the limit."""
    node_inlet_c, crac_inlet_c = air.inlets_c(node_w, supply_c)
    heat_w = air.crac_w_per_k * (crac_inlet_c - supply_c)
    total_w = node_w.sum() + (heat_w / facility.room.cop_at(supply_c)).sum()
    spare_k = facility.room.redline_c - node_inlet_c
    heat = heat_w / air.crac_w_per_k + _INSIDE
    return np.concatenate(([1.0 - total_w / facility.cap_w], spare_k, heat))


def _largest_scale(at_rest: Floats, at_work: Floats) -> float | None:
    """The most of the way from rest to work on which nothing is below 0."""
    falls = at_rest - at_work
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = at_rest / falls
    most = crossing[(at_work < 0) & (falls > 0)].min(initial=1.0 / (1.0 - _INSIDE)) * (1.0 - _INSIDE)
    least = crossing[(at_rest < 0) & (falls < 0)].max(initial=0.0)
    hopeless = ((at_rest < 0) & (falls >= 0)).any()
    return None if hopeless or least > most else min(float(most), 1.0)


def _rest_problem(facility: Facility, air: Air) -> Problem:
    rest_w = facility.overhead_w
    spare = _spare(facility, air, rest_w, _even_supply_c(facility, air, rest_w))
    least_w = (1.0 - spare[0]) * facility.cap_w
    if spare[0] < 0:
        return Problem("cap_w", f"found {facility.cap_w:g} W", f"nodes at rest and their cooling draw {least_w:.6g} W")
    node = int(spare[1:].argmin())
    return Problem(f"redline: node {node}", "found it broken with all cores at rest", "", "let CRAC units blow colder")


class _Search:
    """One search: the clock, the best plan so far, and the steps.

    Which plan is the best is told by what the technique maximises: the reward rate, co-located if neighbours count.
    """

    def __init__(self, facility: Facility, air: Air, counts_neighbours: bool, seconds: float, seed: int) -> None:
        self.facility, self.air, self.counts_neighbours, self.seconds = facility, air, counts_neighbours, seconds
        self.beliefs = _believed(facility, counts_neighbours)
        self.rng = np.random.default_rng(seed)
        self.start_s = time.monotonic()
        self.history: list[tuple[float, float]] = []
        self.best: tuple[float, FacilityPlan] | None = None

    @property
    def left_s(self) -> float:
        return self.seconds - (time.monotonic() - self.start_s)

    def offer(self, members: _Members, does: _Shares, supply_c: Floats) -> None:
        """Keep a plan, within the limits, if it is the best so far."""
        share, pstate = does.share[members.of_core], does.pstate[members.of_core]
        plan = _within_limits(self.facility, self.air, FacilityPlan(share, pstate, supply_c))
        if plan is None:
            return
        state = steady(self.facility, self.air, plan)
        earned = state.slowed_reward_per_s if self.counts_neighbours else state.reward_per_s
        if self.best is None or earned > self.best[0]:
            self.best = earned, plan
            now_s, slowed = time.monotonic() - self.start_s, state.slowed_reward_per_s
            self.history = [*(row for row in self.history if row[1] < slowed), (now_s, slowed)]

    def found(self) -> Found:
        assert self.best is not None
        return Found(self.best[1], tuple(self.history), "time" if self.left_s <= 0 else "done")

    def run(self) -> Found:
        """The three steps."""
        program, values = self.between_pstates()
        supply_c, pstate = program.supply_c(values), _rounded(self.facility, program, values, self.beliefs)
        share = program.by_pair(program.shares(values), np.ones(program.columns.member.size))
        self.offer(program.members, _Shares(share, pstate), supply_c)
        if self.left_s > 0:
            self.with_pstates(program.members, _Shares(share, pstate), supply_c)
        return self.found()

    def between_pstates(self) -> tuple[_Program, Floats]:
        """Step 1: what a core does with P-states mixed, and the supplies."""
        if not self.counts_neighbours:
            program = self.program(_one_for_each_node(self.facility))
            return program, self.solved(program, self.any_shares(program), None, _FROM_AFAR)
        everyone = self.program(_every_core(self.facility))
        few = self.program(_stand_ins(self.facility, self.rng))
        if few.members.kind.size == everyone.members.kind.size:
            return everyone, self.solved(everyone, self.any_shares(everyone), None, _FROM_AFAR)
        values = self.solved(few, self.any_shares(few), None, _FROM_AFAR)
        pstate = _rounded(self.facility, few, values, self.beliefs)
        share = few.by_pair(few.shares(values), np.ones(few.columns.member.size))
        self.offer(few.members, _Shares(share, pstate), few.supply_c(values))
        if self.left_s <= 0:
            return few, values
        return everyone, self.solved(everyone, _copied(few, values, everyone), few.supply_c(values), _NEAR_START)

    def program(self, members: _Members) -> _Program:
        columns = _mixed_columns(self.facility, self.beliefs, members)
        return _Program(self.facility, self.air, self.beliefs, members, columns, self.counts_neighbours)

    def any_shares(self, program: _Program) -> Floats:
        """Shares from which IPOPT can start anywhere: all cores do something of everything, and no two the same."""
        share, member = self.rng.random(program.columns.member.size) ** 2, program.columns.member
        return np.asarray(_START_TIME * share / np.bincount(member, share, program.members.kind.size)[member])

    def solved(self, program: _Program, share: Floats, supply_c: Floats | None, options: _Options) -> Floats:
        if supply_c is None:
            supply_c = _even_supply_c(self.facility, self.air, self.facility.overhead_w)
        seconds = self.left_s * _STEP_1_SHARE
        return program.by_ipopt(program.point(share, supply_c), None, seconds, options)

    def with_pstates(self, members: _Members, does: _Shares, supply_c: Floats) -> None:
        """Step 3: the best shares with P-states and supplies fixed."""
        columns = _fixed_columns(self.facility, members, does.pstate)
        program = _Program(self.facility, self.air, self.beliefs, members, columns, self.counts_neighbours)
        if self.counts_neighbours:
            start = program.point(does.share[columns.member, columns.task], supply_c)
            values = program.by_ipopt(start, supply_c, self.left_s, _AT_LAST)
        else:
            values = program.by_highs(supply_c, self.left_s)
        if values is not None:
            share = program.by_pair(program.shares(values), np.ones(columns.member.size))
            self.offer(members, _Shares(share, does.pstate), supply_c)


def _copied(few: _Program, values: Floats, many: _Program) -> Floats:
    """The shares of all cores that do what those few do that stand for them."""
    n_tasks, n_pstates = few.facility.tasks.speed_per_s.shape[::2]
    table = np.zeros((few.members.kind.size, n_tasks, n_pstates))
    table[few.columns] = few.shares(values)
    return np.asarray(table[few.members.of_core[many.columns.member], many.columns.task, many.columns.pstate])

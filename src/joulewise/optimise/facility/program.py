"""The linear program of a facility: configurations of groups of processors, their power, and supply temperatures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, hstack

from joulewise.errors import JoulewiseError
from joulewise.model.air import Air
from joulewise.model.arrays import Counts, Floats
from joulewise.model.facility import Facility, FacilityPrices
from joulewise.optimise.facility.pool import ConfigurationPool

_new_highs: Any = highspy.Highs
_INF = highspy.kHighsInf
_OPTIONS: dict[str, Any] = {"output_flag": False, "threads": 1, "random_seed": 1}
_DUAL, _PRIMAL = 1, 4
_KW = 1e3
_NO_SHARE = 1e-9
_CLEAR_K, _CLEAR_CAP = 1e-6, 1e-8
_LEAST_WORTH = 0.02
_STEP_C = 1e-4
_BLOCK = 256


@dataclass(frozen=True, eq=False)
class Groups:
    """Processors of one node type that are planned as one: `n_processors` of the type `kind`, one row each.

    Of the power of group g the share `weight[j, g]` is drawn at node j.
    """

    kind: Counts
    n_processors: Floats
    weight: csr_array

    @property
    def n_groups(self) -> int:
        return self.kind.size


def groups_of_nodes(facility: Facility, of_node: Counts) -> Groups:
    """Nodes in groups, numbered from 0; all nodes of a group must be of one type."""
    n_nodes = np.bincount(of_node)
    kind = np.zeros(n_nodes.size, np.int64)
    kind[of_node] = facility.node_type
    shape = (facility.n_nodes, n_nodes.size)
    weight = csr_array((1.0 / n_nodes[of_node], (np.arange(facility.n_nodes), of_node)), shape=shape)
    return Groups(kind, np.asarray(n_nodes * facility.node_types.processors[kind], np.float64), weight)


@dataclass(frozen=True, eq=False)
class Background:
    """What is decided already: the power of each node besides that of the groups, and tasks that are done."""

    node_w: Floats
    rate_per_s: Floats


@dataclass(frozen=True, eq=False)
class Solution:
    """Processors by column, the power of each node, supplies, and prices; `share` is of the reward of all tasks.

    `traded` is what tasks bought cost above what those sold brought, as such a share.
    """

    x: Floats
    node_w: Floats
    supply_c: Floats
    share: float
    traded: float
    prices: FacilityPrices
    group_price: Floats


class NoSolutionError(JoulewiseError):
    """No plan keeps the limits of the program."""


class LinearisedProgram:
    """The program around given supply temperatures: exact in power there, and linear in changes of temperature.

    It starts with no configurations, and keeps the redlines of nodes that are watched only; of what heats a watched
    node the `negligible` share of the most is left out. Columns: tasks, tasks
    bought and sold, power of groups, supplies, configurations. Rows: tasks, groups, their power, cap, redlines. What
    is added later goes on from the last solution.
    """

    def __init__(self, facility: Facility, air: Air, groups: Groups, background: Background, negligible: float) -> None:
        self.negligible = negligible
        self.facility, self.air, self.groups, self.background = facility, air, groups, background
        self.pairs = np.empty((2, 0), np.int64)
        self.watched = np.empty(0, np.int64)
        self._watched_row = np.empty(0, np.int64)
        self._cooled = np.empty(0, np.int64)
        self._inlet_c, _ = air.inlets_c(background.node_w, np.zeros(facility.room.n_cracs))
        n_tasks, n_groups, n_cracs = facility.tasks.n_types, groups.n_groups, facility.room.n_cracs
        self._at_power, self._at_supply = 3 * n_tasks, 3 * n_tasks + n_groups
        self._at_x = self._at_supply + n_cracs
        self._row_cap = n_tasks + 2 * n_groups
        self._rate_per_s = np.maximum(facility.tasks.rate_per_s, 1e-300)
        self.highs = _new_highs()
        for name, value in _OPTIONS.items():
            self.highs.setOptionValue(name, value)
        self.highs.passModel(self._model())

    def _model(self) -> Any:
        """The program without configurations and redlines."""
        facility, groups = self.facility, self.groups
        n_tasks, n_groups, n_cracs = facility.tasks.n_types, groups.n_groups, facility.room.n_cracs
        task, group = np.arange(n_tasks), np.arange(n_groups)
        rows = np.concatenate(
            (task, task, task, n_tasks + n_groups + group, np.full(n_groups + n_cracs, self._row_cap))
        )
        every = self._at_power + np.arange(n_groups + n_cracs)
        columns = np.concatenate((np.arange(3 * n_tasks), self._at_power + group, every))
        ones = np.ones(n_tasks)
        values = np.concatenate((ones, -ones, ones, -np.ones(n_groups), np.ones(n_groups + n_cracs)))
        matrix = csc_array(coo_array((values, (rows, columns)), shape=(self._row_cap + 1, self._at_x)))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self._at_x, self._row_cap + 1
        lp.col_cost_ = np.concatenate((-_worth(facility), np.zeros(self._at_x - n_tasks)))
        lp.col_lower_ = np.zeros(self._at_x)
        lp.col_upper_ = np.concatenate(
            (np.ones(n_tasks), np.zeros(2 * n_tasks), np.full(n_groups, _INF), np.zeros(n_cracs))
        )
        lp.row_lower_ = np.concatenate((np.full(n_tasks + n_groups, -_INF), np.zeros(n_groups), [-_INF]))
        done = self.background.rate_per_s / self._rate_per_s
        lp.row_upper_ = np.concatenate((done, groups.n_processors, np.zeros(n_groups), [0.0]))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        return lp

    def offer(self, pairs: Counts, pool: ConfigurationPool) -> None:
        """Let groups run configurations: pairs of (group, row of the table of its node type), those that are new."""
        n_rows = max(len(table) for table in pool.tables)
        new = pairs[:, ~np.isin(pairs[0] * n_rows + pairs[1], self.pairs[0] * n_rows + self.pairs[1])]
        if new.shape[1] == 0:
            return
        kind = self.groups.kind[new[0]]
        rates, powers_w = pool.rates_per_s(kind, new[1]), pool.power_w(kind, new[1])
        n_tasks, n_groups, n = self.facility.tasks.n_types, self.groups.n_groups, new.shape[1]
        column, task = np.nonzero(rates)
        each = np.arange(n)
        rows = np.concatenate((task, n_tasks + new[0], n_tasks + n_groups + new[0]))
        values = np.concatenate((-rates[column, task] / self._rate_per_s[task], np.ones(n), powers_w / _KW))
        part = csc_array(
            coo_array((values, (rows, np.concatenate((column, each, each)))), shape=(self._row_cap + 1, n))
        )
        self.highs.addCols(
            n, np.zeros(n), np.zeros(n), np.full(n, _INF), part.nnz, part.indptr[:-1].astype(np.int32),
            part.indices.astype(np.int32), part.data,
        )  # fmt: skip
        self.pairs = np.concatenate((self.pairs, new), axis=1)

    def watch(self, nodes: Counts) -> None:
        """Keep the redlines of these nodes too."""
        new = np.setdiff1d(nodes, self.watched)
        for at in range(0, new.size, _BLOCK):
            block = new[at : at + _BLOCK]
            rise_k = csr_array(self.air.near_rise_k_per_w(block) @ self.groups.weight)
            rise_k.data[rise_k.data < self.negligible * rise_k.data.max(initial=0.0)] = 0.0
            shares = csr_array(np.where(self.air.supply_share[block] > _NO_SHARE, self.air.supply_share[block], 0.0))
            rows = hstack((csr_array((block.size, self._at_power)), _KW * rise_k, shares), format="csr")
            rows.eliminate_zeros()
            left_k = self.facility.room.redline_c[block] - _CLEAR_K - self._inlet_c[block]
            first = self.highs.getNumRow()
            self._add_rows(rows, np.full(block.size, -_INF), left_k)
            self._watched_row = np.concatenate((self._watched_row, np.arange(first, first + block.size)))
        self.watched = np.concatenate((self.watched, new))

    def keep_cool(self, heat_w: Floats) -> int:
        """Let CRAC units that must not add heat remove some from now on, if they did not before; how many these are."""
        heats = (heat_w < 0.0) & (not self.facility.room.may_heat)
        new = np.setdiff1d(np.flatnonzero(heats), self._cooled)
        if new.size:
            per_group = csr_array((self.groups.weight.T @ self.air.heat_share[new].T).T)
            per_degree = csr_array(self.air.exchange_w_per_k[new] / _KW)
            rows = hstack((csr_array((new.size, self._at_power)), per_group, per_degree), format="csr")
            removed_w = self.air.heat_share[new] @ self.background.node_w
            self._add_rows(rows, -removed_w / _KW, np.full(new.size, _INF))
            self._cooled = np.concatenate((self._cooled, new))
        return new.size

    def _add_rows(self, rows: csr_array, low: Floats, high: Floats) -> None:
        starts, indices = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self.highs.addRows(low.size, low, high, rows.nnz, starts, indices, rows.data)

    def centre(self, supply_c: Floats, node_w: Floats, reach_k: float) -> None:
        """Let supplies be within reach of those given, at which the nodes draw about `node_w`."""
        room = self.facility.room
        cooling = _cooling(self.facility, self.air, supply_c, node_w)
        per_group = 1.0 + self.groups.weight.T @ cooling.per_watt
        for column, value in enumerate(np.concatenate((per_group, cooling.w_per_k / _KW)).tolist(), self._at_power):
            self.highs.changeCoeff(self._row_cap, column, value)
        spent_w = cooling.standing_w + float(self.background.node_w @ (1 + cooling.per_watt))
        self.highs.changeRowBounds(self._row_cap, -_INF, (self.facility.cap_w * (1 - _CLEAR_CAP) - spent_w) / _KW)
        reached = np.maximum(room.coldest_c, supply_c - reach_k), np.minimum(room.hottest_c, supply_c + reach_k)
        supplies = np.arange(self._at_supply, self._at_x, dtype=np.int32)
        self.highs.changeColsBounds(supplies.size, supplies, *reached)

    def stay(self, task_price: Floats, width: float) -> None:
        """Keep the prices of tasks within a share of these, by letting tasks be bought and sold at the ends.

        A program that does not have all configurations yet cannot drive prices far off. No task is bought for nothing,
        or none would be done where power is not short. With a width of infinity nothing can be bought or sold.
        """
        flows, is_open = self.facility.tasks, math.isfinite(width)
        n, width = flows.n_types, width if is_open else 0.0
        each = np.arange(n, 3 * n, dtype=np.int32)
        bought = np.maximum(task_price * (1 + width), _LEAST_WORTH * flows.reward)
        cost = np.concatenate((bought, -task_price * (1 - width))) * np.tile(flows.rate_per_s, 2)
        self.highs.changeColsCost(2 * n, each, cost / flows.most_reward_per_s)
        self.highs.changeColsBounds(2 * n, each, np.zeros(2 * n), np.full(2 * n, _INF if is_open else 0.0))

    def go_primal(self, wanted: bool) -> None:
        """Solve by the primal simplex method, or by the dual one."""
        self.highs.setOptionValue("simplex_strategy", _PRIMAL if wanted else _DUAL)

    def _run(self) -> Any:
        """How the solver ends: where it loses its way from the last solution, from the beginning."""
        self.highs.run()
        if self.highs.getModelStatus() == highspy.HighsModelStatus.kUnknown:
            self.highs.clearSolver()
            self.highs.run()
        status: highspy.HighsModelStatus = self.highs.getModelStatus()
        return status

    def solve(self) -> Solution:
        """The best that the program has."""
        status = self._run()
        if status == highspy.HighsModelStatus.kInfeasible:
            raise NoSolutionError("no plan keeps the limits")
        if status != highspy.HighsModelStatus.kOptimal:
            raise JoulewiseError(f"the program of the facility ended with {status}")
        facility, groups, n_tasks = self.facility, self.groups, self.facility.tasks.n_types
        solution = self.highs.getSolution()
        values, duals = np.array(solution.col_value), np.maximum(-np.array(solution.row_dual), 0.0)
        duals *= facility.tasks.most_reward_per_s
        redline = np.zeros(facility.n_nodes)
        redline[self.watched] = duals[self._watched_row]
        supply_c = values[self._at_supply : self._at_x]
        traded = float(np.array(self.highs.getLp().col_cost_)[n_tasks : 3 * n_tasks] @ values[n_tasks : 3 * n_tasks])
        return Solution(
            np.maximum(values[self._at_x :], 0.0),
            self.background.node_w + groups.weight @ (_KW * values[self._at_power : self._at_supply]),
            supply_c,
            -self.highs.getObjectiveValue(),
            traded,
            FacilityPrices(duals[:n_tasks] / self._rate_per_s, duals[self._row_cap] / _KW, redline, supply_c),
            duals[n_tasks : n_tasks + groups.n_groups],
        )


class _LinearCooling(NamedTuple):
    """Cooling power around given supplies: per watt of each node, per degree of each supply, and what is left."""

    per_watt: Floats
    w_per_k: Floats
    standing_w: float


def _cooling(facility: Facility, air: Air, supply_c: Floats, node_w: Floats) -> _LinearCooling:
    room = facility.room
    cost = 1.0 / room.cop_at(supply_c)
    slope = (1.0 / room.cop_at(supply_c + _STEP_C) - 1.0 / room.cop_at(supply_c - _STEP_C)) / (2 * _STEP_C)
    exchanged_w = air.exchange_w_per_k @ supply_c
    w_per_k = slope * (air.heat_share @ node_w + exchanged_w) + cost @ air.exchange_w_per_k
    return _LinearCooling(cost @ air.heat_share, w_per_k, float(cost @ exchanged_w - w_per_k @ supply_c))


def _worth(facility: Facility) -> Floats:
    """The share of each task type in the reward of all tasks that arrive."""
    return np.asarray(facility.tasks.reward * facility.tasks.rate_per_s / facility.tasks.most_reward_per_s)

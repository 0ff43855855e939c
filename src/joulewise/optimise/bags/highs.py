"""The bound of a bag by HiGHS: one weight at a time, each from the basis of the one before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.sparse import csc_array

from joulewise.errors import JoulewiseError
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import Bag

_new_highs: Any = highspy.Highs
_SAME, _ROUNDING = 1e-11, 1e-12
_TOLERANCES = (1e-10, 1e-10, 1e-9, 1e-7)
_OPTIONS: dict[str, Any] = {"output_flag": False, "threads": 1, "presolve": "off"}
_LARGE = 20_000


@dataclass(frozen=True, eq=False)
class ProgramPoint:
    """One solution: tasks of each choice (by number), extra energy and makespan, and prices that prove it."""

    tasks: Floats
    extra_j: float
    makespan_s: float
    price_per_s: Floats

    def value(self, weight_w: float) -> float:
        """Extra energy + weight x makespan."""
        return self.extra_j + weight_w * self.makespan_s


class _Units(NamedTuple):
    """What one unit of the program's energy and time is, so that its numbers are near 1."""

    energy_j: float
    time_s: float


class BagProgram:
    """The linear program of a bag: shares of the tasks of each task type by choice, then the makespan.

    `extra_j` is what each [task type, machine type x P-state] costs, infinite where it cannot be chosen.
    """

    def __init__(self, bag: Bag, extra_j: Floats) -> None:
        counts = bag.counts.astype(np.float64)
        possible = np.isfinite(extra_j) & (counts > 0)[:, None]
        self.task_type, self.column = np.nonzero(possible)
        self.shape = extra_j.shape
        self.n_tasks = counts[self.task_type]
        self.machine_type = self.column // bag.system.n_pstates
        self.extra_j = extra_j[possible] * self.n_tasks
        self.time_s = bag.exec_s.reshape(self.shape)[possible] * self.n_tasks
        self.n_machines = bag.system.counts.astype(np.float64)
        self.units = _Units(*(float(self._least(np.abs(v)).mean()) or 1.0 for v in (self.extra_j, self.time_s)))
        self.highs = self._program(np.flatnonzero(counts))

    def _program(self, present: Counts) -> Any:
        n, n_rows = self.column.size, present.size + self.n_machines.size
        machine_rows = present.size + np.arange(self.n_machines.size)
        rows = np.concatenate(
            (np.searchsorted(present, self.task_type), present.size + self.machine_type, machine_rows)
        )
        columns = np.concatenate((np.arange(n), np.arange(n), np.full(machine_rows.size, n)))
        values = np.concatenate((np.ones(n), self.time_s / self.units.time_s, -self.n_machines))
        matrix = csc_array((values, (rows, columns)), shape=(n_rows, n + 1))
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = n + 1, n_rows
        lp.col_cost_ = np.append(self.extra_j / self.units.energy_j, 0.0)
        lp.col_lower_, lp.col_upper_ = np.zeros(n + 1), np.full(n + 1, highspy.kHighsInf)
        is_task = np.arange(n_rows) < present.size
        lp.row_lower_, lp.row_upper_ = np.where(is_task, 1.0, -highspy.kHighsInf), np.where(is_task, 1.0, 0.0)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
        lp.a_matrix_.value_ = matrix.data
        highs = _new_highs()
        for name, value in _OPTIONS.items():
            highs.setOptionValue(name, value)
        highs.setOptionValue("solver", "ipm" if n > _LARGE else "simplex")
        highs.passModel(lp)
        return highs

    def at_weight(self, weight_w: float) -> ProgramPoint:
        """The least of extra energy + weight x makespan."""
        self.highs.changeColCost(self.column.size, weight_w * self.units.time_s / self.units.energy_j)
        return self._solved(self.units.energy_j / self.units.time_s)

    def least_energy(self) -> ProgramPoint:
        """The least makespan of all that have the least extra energy: no choice but the cheapest ones."""
        least_j = self._least(self.extra_j)
        is_cheapest = self.extra_j <= least_j + _ROUNDING * np.abs(least_j)
        self._limit(np.where(is_cheapest, np.inf, 0.0))
        point = self.at_weight(self.units.energy_j / self.units.time_s)
        self._limit(np.full(self.column.size, np.inf))
        return ProgramPoint(point.tasks, point.extra_j, point.makespan_s, np.zeros(self.n_machines.size))

    def least_makespan(self) -> ProgramPoint:
        """The least makespan, whatever the energy; its prices are for the makespan alone."""
        n = self.column.size
        everything = np.arange(n, dtype=np.int32)
        self.highs.changeColsCost(n, everything, np.zeros(n))
        self.highs.changeColCost(n, 1.0)
        point = self._solved(1.0)
        self.highs.changeColsCost(n, everything, self.extra_j / self.units.energy_j)
        return point

    def _least(self, by_choice: Floats) -> Floats:
        """The least of its task type, for each choice."""
        least = np.full(self.shape[0], np.inf)
        np.minimum.at(least, self.task_type, by_choice)
        return least[self.task_type]

    def _limit(self, most: Floats) -> None:
        n = self.column.size
        self.highs.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), most)

    def _solved(self, price_unit: float) -> ProgramPoint:
        self._run()
        solution = self.highs.getSolution()
        share = np.maximum(np.array(solution.col_value[:-1]), 0.0)
        done_s = np.bincount(self.machine_type, share * self.time_s, self.n_machines.size)
        has_machines = self.n_machines > 0
        makespan_s = float((done_s[has_machines] / self.n_machines[has_machines]).max())
        price = -np.array(solution.row_dual)[-self.n_machines.size :] * price_unit
        return ProgramPoint(share * self.n_tasks, float(share @ self.extra_j), makespan_s, price)

    def _run(self) -> None:
        """Solve from the last basis, and where that fails from none, with less and less accuracy.

        Large programs start with an interior-point method; from its basis on the simplex method is faster.
        """
        for tolerance in _TOLERANCES:
            for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
                self.highs.setOptionValue(name, tolerance)
            self.highs.run()
            if self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal:
                self.highs.setOptionValue("solver", "simplex")
                return
            self.highs.clearSolver()
        raise JoulewiseError("HiGHS could not solve the bound of the bag")

    def split(self, point: ProgramPoint) -> Floats:
        """Tasks of each [task type, machine type x P-state]."""
        split = np.zeros(self.shape)
        split[self.task_type, self.column] = point.tasks
        return split


class Edges(NamedTuple):
    """All vertices in order, the weight at which each one begins to be best, and prices that prove it."""

    points: list[ProgramPoint]
    weight_w: list[float]
    price_per_s: list[Floats]


def all_vertices(program: BagProgram) -> Edges:
    """Every vertex, by splitting the front where a weighted sum finds something below the chord of two neighbours."""
    first, fastest = program.least_energy(), program.least_makespan()
    edges = Edges([first], [0.0], [first.price_per_s])
    waiting = [fastest] if fastest.makespan_s < first.makespan_s * (1 - _SAME) else []
    while waiting:
        here, there = edges.points[-1], waiting[-1]
        weight_w = (there.extra_j - here.extra_j) / (here.makespan_s - there.makespan_s)
        point = program.at_weight(weight_w)
        if not _is_below(point, here, there, weight_w):
            _go_on(edges, waiting.pop(), weight_w, point.price_per_s)
        elif point.makespan_s > there.makespan_s * (1 + _SAME):
            waiting.append(point)
        else:
            waiting[-1] = point
    return Edges(edges.points, [*edges.weight_w, math.inf], [*edges.price_per_s, fastest.price_per_s])


def _is_below(point: ProgramPoint, here: ProgramPoint, there: ProgramPoint, weight_w: float) -> bool:
    """Whether a point lies below the chord of two others, and is no better than they are in what they are best in."""
    is_between = point.makespan_s < here.makespan_s * (1 - _SAME) and here.extra_j < point.extra_j < there.extra_j
    return is_between and here.value(weight_w) - point.value(weight_w) > _SAME * abs(here.value(weight_w))


def _go_on(edges: Edges, point: ProgramPoint, weight_w: float, price_per_s: Floats) -> None:
    """Add a vertex; one that lies on an edge with its neighbours gives way to the next."""
    if len(edges.points) > 1 and weight_w <= edges.weight_w[-1] * (1 + _SAME):
        edges.points[-1] = point
        return
    edges.points.append(point)
    edges.weight_w.append(weight_w)
    edges.price_per_s.append(price_per_s)

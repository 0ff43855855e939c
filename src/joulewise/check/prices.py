"""The price bound a second time: what given prices prove, straight from the definition, in numpy alone.

A task's gain is convex in the completion between a few instants, so its maximum is at one of them: the ends of
what is allowed, the end of each segment of its utility (with that segment's own value there, so that no rounding
can take the value after a jump), the window's start as a start, and every edge of a price slot as a start or as
a completion. The edges are walked forwards from the soonest; since utility only falls, a task stops once even
the cheapest later run would gain it no more than it has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from joulewise.check.findings import rounding_s
from joulewise.errors import InputError, Problem
from joulewise.model import World
from joulewise.model.arrays import Counts, Floats


def dual_value(world: World, per_s: Floats, per_j: float = 0.0, budget_j: float = math.inf) -> float:
    """The bound on utility that prices prove, not rounded up: the owner's income plus every task's best gain.

    `per_s` is a price per machine-second by [machine type, slot], the slots of equal length from 0 to the end of
    the counted window; `per_j` one per joule spent in the window. A completion at a jump of the utility counts
    as one just before it. Raises InputError for a window without an end or prices that do not fit.
    """
    n_types, end_s = world.system.n_machine_types, world.workload.end_s
    if not math.isfinite(end_s):
        raise InputError(Problem("workload", "found a counted window without an end", "must end"))
    if per_s.ndim != 2 or per_s.shape[0] != n_types or per_s.shape[1] == 0:
        allowed = f"must be [{n_types} machine types, at least one slot]"
        raise InputError(Problem("prices", f"found the shape {per_s.shape}", allowed))
    machine_time = world.system.counts @ per_s.sum(axis=1) * (end_s / per_s.shape[1])
    energy = per_j * budget_j if per_j > 0 else 0.0
    return float(machine_time + energy + best_gains(world, per_s, per_j).sum())


def best_gains(world: World, per_s: Floats, per_j: float) -> Floats:
    """The most that each task gains at these prices over all its runs, and 0 if none gains it anything."""
    options = list(_options(world, per_s, per_j))
    best = np.zeros(world.workload.n_tasks)
    for look in (_try_ends, _try_edges):  # the ends of all options first: what they gain shortens the walks
        for option in options:
            look(world, option, best)
    return best


@dataclass(frozen=True, eq=False)
class _Option:
    """One machine type in one P-state, at its prices: seconds and watts by task type, its income by slot edge."""

    exec_s: Floats
    per_exec_s: Floats
    edges_s: Floats
    paid: Floats
    start_s: float
    end_s: float

    def cost(self, task_type: Counts, end_s: Floats) -> Floats:
        """What runs that end at these instants pay, for the machine and for the energy inside the window."""
        begin_s = end_s - self.exec_s[task_type]
        for_time = np.interp(end_s, self.edges_s, self.paid) - np.interp(begin_s, self.edges_s, self.paid)
        counted_s = np.minimum(self.exec_s[task_type], end_s - self.start_s)
        return np.asarray(for_time + self.per_exec_s[task_type] * counted_s)


def _options(world: World, per_s: Floats, per_j: float) -> Iterator[_Option]:
    system, work = world.system, world.workload
    edges_s = np.linspace(0.0, work.end_s, per_s.shape[1] + 1)
    paid = np.cumsum(np.pad(per_s, ((0, 0), (1, 0))), axis=1) * (work.end_s / per_s.shape[1])
    power_w = np.zeros_like(system.etc_s) if system.power_w is None else system.power_w
    for k, p in product(np.flatnonzero(system.counts), range(system.n_pstates)):
        watts = np.where(np.isfinite(system.etc_s[:, k, p]), power_w[:, k, p], 0.0)
        yield _Option(system.etc_s[:, k, p], per_j * watts, edges_s, paid[k], work.start_s, work.end_s)


class _Runs(NamedTuple):
    """The tasks that can complete inside the window by an option, and the soonest instant of each."""

    task: Counts
    task_type: Counts
    soonest_s: Floats

    def only(self, rows: Counts) -> _Runs:
        """These rows alone."""
        return _Runs(self.task[rows], self.task_type[rows], self.soonest_s[rows])


def _possible_runs(world: World, option: _Option) -> _Runs:
    work = world.workload
    soonest_s = np.maximum(work.arrival_s + option.exec_s[work.task_type], work.start_s)
    task = np.flatnonzero(soonest_s <= work.end_s)
    return _Runs(task, work.task_type[task].astype(np.int64), soonest_s[task])


def _try_ends(world: World, option: _Option, best: Floats) -> None:
    """Raise the best gains by completing at the ends of what is allowed and at the ends of segments."""
    work, runs = world.workload, _possible_runs(world, option)
    held_until_s = work.arrival_s[runs.task] + work.hold_s[runs.task]
    latest_s = np.full(runs.task.size, option.end_s)
    for end_s in (runs.soonest_s, latest_s, held_until_s, _from_window_start_s(option, runs)):
        _raise_to(best, option, runs, end_s, work.utility(runs.task, end_s))
    for place in range(int(np.diff(work.shapes.first).max()) - 1):
        _try_ends_of_segments(world, option, runs, place, best)


def _try_ends_of_segments(world: World, option: _Option, runs: _Runs, place: int, best: Floats) -> None:
    """Raise the best gains by completing where the segment in this place of each task's shape ends."""
    work, shapes = world.workload, world.workload.shapes
    shape = work.shape[runs.task]
    some = runs.only(np.flatnonzero(shapes.first[shape + 1] - shapes.first[shape] > place + 1))
    segment = shapes.first[work.shape[some.task]] + place
    length_s = shapes.start_s[segment + 1] - shapes.start_s[segment]
    fallen = shapes.span[segment] * np.exp(-shapes.rate_per_s[segment] * length_s)
    value = shapes.level[segment] + fallen + shapes.slope_per_s[segment] * length_s
    end_s = work.arrival_s[some.task] + work.hold_s[some.task] + shapes.start_s[segment + 1]
    _raise_to(best, option, some, end_s, work.scale[some.task] * value)


def _from_window_start_s(option: _Option, runs: _Runs) -> Floats:
    """The completion of runs that start with the window, where paying for energy changes its pace."""
    return np.asarray(option.start_s + option.exec_s[runs.task_type])


def _raise_to(best: Floats, option: _Option, runs: _Runs, end_s: Floats, utility: Floats) -> None:
    """Raise the best gains by runs to these ends, as far as they are allowed up to rounding."""
    slack_s = rounding_s(end_s)
    allowed = (end_s >= runs.soonest_s - slack_s) & (end_s <= option.end_s + slack_s)
    at_s = np.clip(end_s, runs.soonest_s, option.end_s)[allowed]
    gain = utility[allowed] - option.cost(runs.task_type[allowed], at_s)
    task = runs.task[allowed]
    best[task] = np.maximum(best[task], gain)


def _try_edges(world: World, option: _Option, best: Floats) -> None:
    """Raise the best gains by starting, and by completing, at edges of slots."""
    runs, edges_s = _possible_runs(world, option), option.edges_s
    exec_s = np.where(np.isfinite(option.exec_s), option.exec_s, 0.0)[:, None]
    start_from_s = runs.soonest_s - exec_s[runs.task_type, 0]
    for offset_s, from_s in ((exec_s, start_from_s), (0.0 * exec_s, runs.soonest_s)):
        first = np.searchsorted(edges_s, from_s)
        _walk(world, option, runs, first.astype(np.int64), edges_s + offset_s, best)


def _walk(world: World, option: _Option, runs: _Runs, place: Counts, ends_s: Floats, best: Floats) -> None:
    """Let tasks complete at `ends_s[task type]` from their place on, while a later one might gain them more."""
    task_type = np.broadcast_to(np.arange(ends_s.shape[0])[:, None], ends_s.shape)
    possible = (ends_s <= option.end_s) & np.isfinite(option.exec_s)[:, None]
    cost = np.full((ends_s.shape[0], ends_s.shape[1] + 1), math.inf)
    cost[:, :-1][possible] = option.cost(task_type[possible], ends_s[possible])
    cheapest_later = np.minimum.accumulate(cost[:, ::-1], axis=1)[:, ::-1]
    task, kind = runs.task, runs.task_type
    utility = world.workload.utility(task, runs.soonest_s)
    while True:
        going = utility - cheapest_later[kind, place] > best[task]
        task, kind, place = task[going], kind[going], place[going]
        if not task.size:
            return
        utility = world.workload.utility(task, ends_s[kind, place])
        best[task] = np.maximum(best[task], utility - cost[kind, place])
        place = place + 1

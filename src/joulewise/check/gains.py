"""The best gains of tasks or jobs at given prices over all their runs, straight from the definition, in numpy alone.

A task's gain is convex in the completion between a few instants, so its maximum is at one of them: the ends of
what is allowed, the end of each segment of its utility (with that segment's own value there, so that no rounding
can take the value after a jump), the end of its rise, and every instant at which a price changes, as a start or as a
completion. These are walked forwards from the soonest; since what a task can still earn only falls, it stops once even
the cheapest later run would gain it no more than it has. A run that begins before the window and counts by its share
inside has a gain that is not convex: its utility counts as at the start of the 64th part of the run in which it
completes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from joulewise.check.priced import SMALL, PricedMarket
from joulewise.model import Workload
from joulewise.model.arrays import Bools, Counts, Floats

_CELLS = 64

_STRETCH_LEVELS = 4

_RUNS_AT_ONCE = 2_000_000


class _PossibleRuns(NamedTuple):
    """Possible runs, one for each choice of each task, with the soonest start that lets them count."""

    task: Counts
    machine_type: Counts
    nodes: Floats
    cost_w: Floats
    exec_s: Floats
    first_s: Floats
    least: Counts

    def only(self, rows: Bools | Counts) -> _PossibleRuns:
        """These rows alone."""
        columns: Any = (column[rows] for column in self)
        return _PossibleRuns(*columns)


class _BestRuns:
    """The search of some tasks for their best runs."""

    def __init__(self, market: PricedMarket) -> None:
        self.work, self.market, self.best = market.work, market, market.later.copy()
        self.slack_s = SMALL * max(self.work.end_s, 1.0)
        self.levels = _levels(self.work)
        self.least = np.concatenate([_least_payments(self.work, market, stretch) for stretch in self.levels])
        self.stretch = np.ones(self.best.size) if self.work.stretch is None else self.work.stretch
        self.level = np.searchsorted(self.levels, self.stretch, side="right") - 1

    def hopeful_tasks(self, tasks: Counts) -> Counts:
        """Those that could gain something if they completed as fast as anywhere and paid as little as anywhere."""
        work, choices = self.work, self.market.choices
        has_choices = np.diff(choices.first) > 0
        first, kind = choices.first[:-1][has_choices], (np.cumsum(has_choices) - 1)[work.task_type[tasks]]
        fastest_s, slowest_s = (by.reduceat(choices.exec_s, first)[kind] for by in (np.minimum, np.maximum))
        starts = (np.arange(self.levels.size)[:, None] * choices.exec_s.size + first).ravel()
        least = np.minimum.reduceat(self.least, starts, axis=0)
        soonest_s = np.maximum(work.arrival_s[tasks] + self.stretch[tasks] * fastest_s, work.start_s)
        start_s = np.maximum(work.arrival_s[tasks], work.start_s - self.stretch[tasks] * slowest_s)
        pays = least[self.level[tasks] * first.size + kind, self.place(start_s)]
        return np.asarray(tasks[work.most_from(tasks, soonest_s - self.slack_s) > pays])

    def place(self, at_s: Floats) -> Counts:
        """The last instant of the prices that is no later than each of these."""
        return np.clip(np.searchsorted(self.market.at_s, at_s, side="right") - 1, 0, self.least.shape[1] - 1)

    def runs_of(self, tasks: Counts) -> _PossibleRuns:
        """All runs of these tasks that can count."""
        work, choices = self.work, self.market.choices
        n_choices = np.diff(choices.first)[work.task_type[tasks]]
        task = np.repeat(tasks, n_choices)
        row = np.arange(task.size) - np.repeat(np.cumsum(n_choices) - n_choices, n_choices)
        row += choices.first[work.task_type[task]]
        exec_s = choices.exec_s[row] * self.stretch[task]
        least = row + self.level[task] * choices.exec_s.size
        first_s = np.maximum(work.arrival_s[task], work.start_s - exec_s)
        last_s = work.end_s if work.is_prorated else work.end_s - exec_s
        kind, nodes, cost_w = choices.machine_type[row], choices.nodes[row], choices.cost_w[row]
        runs = _PossibleRuns(task, kind, nodes, cost_w, exec_s, first_s, least)
        return runs.only(first_s <= last_s + self.slack_s)

    def last_s(self, runs: _PossibleRuns) -> Floats:
        """The latest starts that let runs count."""
        end_s = np.full(runs.task.size, self.work.end_s)
        return end_s if self.work.is_prorated else np.maximum(end_s - runs.exec_s, runs.first_s)

    def least_from(self, runs: _PossibleRuns, start_s: Floats) -> Floats:
        """What a share of each run pays at least if it starts no sooner."""
        return np.asarray(self.least[runs.least, self.place(start_s)])

    def most_before(self, runs: _PossibleRuns, end_s: Floats) -> Floats:
        """The most that completing just before these instants, or later, could earn."""
        return self.work.most_from(runs.task, end_s - self.slack_s)

    def keep(self, runs: _PossibleRuns, start_s: Floats, utility: Floats) -> None:
        """Raise the best gains by runs from these starts at these utilities."""
        end_s = start_s + runs.exec_s
        paid = self.market.paid_by(runs.machine_type, runs.nodes, runs.cost_w, end_s)
        paid -= self.market.paid_by(runs.machine_type, runs.nodes, runs.cost_w, start_s)
        if self.work.is_prorated:
            inside_s = np.minimum(end_s, self.work.end_s) - np.maximum(start_s, self.work.start_s)
            utility = utility * np.maximum(inside_s, 0.0) / runs.exec_s
        np.maximum.at(self.best, runs.task, utility - paid)

    def try_all(self, tasks: Counts) -> None:
        """Find the best gains of these tasks."""
        runs = self.runs_of(self.hopeful_tasks(tasks))
        most = self.most_before(runs, runs.first_s + runs.exec_s)
        for look in (self.try_soonest, self.try_segments, self.try_starts, self.try_ends, self.try_cells):
            still = most - self.least_from(runs, runs.first_s) > self.best[runs.task]
            runs, most = runs.only(still), most[still]
            look(runs)

    def try_soonest(self, runs: _PossibleRuns) -> None:
        """Start as soon as counts."""
        self.keep(runs, runs.first_s, self.work.utility(runs.task, runs.first_s + runs.exec_s))

    def try_segments(self, runs: _PossibleRuns) -> None:
        """Complete where a segment of the utility ends, at the value that it ends with, and where the hold ends.

        Also where a rise ends, which is in the hold.
        """
        work, shapes = self.work, self.work.shapes
        top = (shapes.level + shapes.span)[shapes.first[work.shape[runs.task]]]
        self.try_completion(runs, np.zeros(runs.task.size), top)
        if work.rise_s is not None:
            self.try_completion(runs, (work.rise_s - work.hold_s)[runs.task], top)
        for place in range(int(np.diff(shapes.first).max()) - 1):
            first = shapes.first[work.shape[runs.task]]
            has = shapes.first[work.shape[runs.task] + 1] - first > place + 1
            some, segment = runs.only(has), first[has] + place
            length_s = shapes.start_s[segment + 1] - shapes.start_s[segment]
            fallen = shapes.span[segment] * np.exp(-shapes.rate_per_s[segment] * length_s)
            value = shapes.level[segment] + fallen + shapes.slope_per_s[segment] * length_s
            self.try_completion(some, shapes.start_s[segment + 1], value)

    def try_completion(self, runs: _PossibleRuns, after_hold_s: Floats, value: Floats) -> None:
        """Complete this long after the hold, if that is allowed up to rounding, for this much of the scale."""
        work, last_s = self.work, self.last_s(runs)
        start_s = work.arrival_s[runs.task] + work.hold_s[runs.task] + after_hold_s - runs.exec_s
        allowed = (start_s >= runs.first_s - self.slack_s) & (start_s <= last_s + self.slack_s)
        start_s = np.clip(start_s, runs.first_s, last_s)[allowed]
        self.keep(runs.only(allowed), start_s, (work.scale[runs.task] * value)[allowed])

    def try_starts(self, runs: _PossibleRuns) -> None:
        """Start where a price changes."""
        self.walk(runs, np.searchsorted(self.market.at_s, runs.first_s), np.zeros(runs.task.size))

    def try_ends(self, runs: _PossibleRuns) -> None:
        """Complete where a price changes."""
        self.walk(runs, np.searchsorted(self.market.at_s, runs.first_s + runs.exec_s), runs.exec_s)

    def walk(self, runs: _PossibleRuns, place: Counts, before_s: Floats) -> None:
        """Start this long before the instants from `place` on, while a later start might gain more."""
        at_s = np.append(self.market.at_s, math.inf)
        while runs.task.size:
            start_s = at_s[place] - before_s
            allowed = start_s <= self.last_s(runs)
            runs, place, before_s, start_s = runs.only(allowed), place[allowed], before_s[allowed], start_s[allowed]
            utility = self.most_before(runs, start_s + runs.exec_s)
            going = utility - self.least_from(runs, start_s - self.slack_s) > self.best[runs.task]
            runs, place, before_s, start_s = runs.only(going), place[going] + 1, before_s[going], start_s[going]
            self.keep(runs, start_s, self.work.utility(runs.task, start_s + runs.exec_s))

    def try_cells(self, runs: _PossibleRuns) -> None:
        """Runs that begin before the window and count by their share inside, at rounded-up utilities."""
        work = self.work
        first_s = np.maximum(runs.first_s + runs.exec_s, work.start_s)
        last_s = np.minimum(work.start_s + runs.exec_s, work.end_s)
        straddling = (first_s < last_s) & work.is_prorated
        runs, first_s, last_s = runs.only(straddling), first_s[straddling], last_s[straddling]
        most = self.most_before(runs, first_s)
        for cell in range(_CELLS):
            from_s = np.maximum(first_s, work.start_s + cell * runs.exec_s / _CELLS)
            to_s = np.minimum(last_s, work.start_s + (cell + 1) * runs.exec_s / _CELLS)
            good = (from_s <= to_s) & (most * (cell + 1) / _CELLS > self.best[runs.task])
            self.try_cell(runs.only(good), from_s[good], to_s[good])

    def try_cell(self, runs: _PossibleRuns, from_s: Floats, to_s: Floats) -> None:
        """Complete between these instants, at the utility that the first of them has."""
        utility = self.most_before(runs, from_s)
        for end_s in (from_s, to_s):
            self.keep(runs, end_s - runs.exec_s, utility)
        at_s = np.append(self.market.at_s, math.inf)
        for after_s in (np.zeros(runs.task.size), runs.exec_s):
            some, place = np.arange(runs.task.size), np.searchsorted(self.market.at_s, from_s - after_s, side="right")
            while some.size:
                inside = at_s[place] + after_s[some] < to_s[some]
                some, place = some[inside], place[inside]
                self.keep(runs.only(some), at_s[place] + after_s[some] - runs.exec_s[some], utility[some])
                place = place + 1


def gains_of(market: PricedMarket) -> Floats:
    """The most that each task gains over all its runs, or what it may earn after the window."""
    n_choices = np.diff(market.choices.first)
    tasks = np.flatnonzero(n_choices[market.work.task_type] > 0)
    search, at_once = _BestRuns(market), max(_RUNS_AT_ONCE // max(int(n_choices.max()), 1), 1)
    for first in range(0, tasks.size, at_once):
        search.try_all(tasks[first : first + at_once])
    return search.best


def _levels(work: Workload) -> Floats:
    """Stretches that have about equally many tasks between them; the first is the least."""
    stretch = work.stretch
    if stretch is None:
        return np.ones(1)
    return np.unique(np.quantile(stretch, np.arange(_STRETCH_LEVELS) / _STRETCH_LEVELS, method="lower"))


def _least_payments(work: Workload, market: PricedMarket, stretch: float) -> Floats:
    """What runs pay at least for each share that counts, by [choice, instant from which on they start].

    Where a run counts by its share, its counted part pays its mean price, and so the whole run pays as much per
    share as if it paid that price throughout. Between instants at which a price changes at either end of a run,
    neither has a minimum. The least from the instant before is the least of a little more: it is lower if anything.
    A run that starts before every one of this length that counts pays no less than that which completes with it.
    """
    exec_s = stretch * market.choices.exec_s[:, None]
    n_needless = max(int(np.searchsorted(market.at_s, work.start_s - exec_s.max())) - 1, 0)
    at_s = market.at_s[n_needless:]
    from_start, from_end = (
        np.minimum.accumulate(_payments(work, market, exec_s, begin_s)[:, ::-1], axis=1)[:, ::-1]
        for begin_s in (at_s + 0 * exec_s, at_s - exec_s)
    )
    place = np.clip(np.searchsorted(at_s, at_s + exec_s, side="right") - 1, 0, at_s.size - 1)
    least = np.minimum(from_start, np.take_along_axis(from_end, place, axis=1))
    return np.pad(least, ((0, 0), (n_needless, 0)), mode="edge")


def _payments(work: Workload, market: PricedMarket, exec_s: Floats, begin_s: Floats) -> Floats:
    """What runs from these starts pay for each share that counts, at least."""
    choices, start_s, end_s = market.choices, work.start_s, work.end_s
    run = (choices.machine_type[:, None], choices.nodes[:, None], choices.cost_w[:, None])
    if not work.is_prorated:
        begin_s = np.minimum(begin_s, end_s - exec_s)
        return market.paid_by(*run, begin_s + exec_s) - market.paid_by(*run, begin_s)
    short_s = 1e-6 * np.minimum(np.diff(market.at_s).min(), exec_s)
    from_s, to_s = np.maximum(begin_s, start_s), np.minimum(begin_s + exec_s, end_s)
    empty = to_s - from_s < short_s
    from_s = np.where(empty, np.minimum(from_s, end_s - short_s), from_s)
    to_s = np.where(empty, from_s + short_s, to_s)
    paid = market.paid_by(*run, to_s) - market.paid_by(*run, from_s)
    return np.asarray(paid * (exec_s / (to_s - from_s)) * (1 - 1e-9))

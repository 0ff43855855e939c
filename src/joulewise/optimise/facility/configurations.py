"""What the cores of a processor can run together, and what it earns most with this much power."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.facility.configurations import Menu, trace_curve
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.facility import Facility, TaskFlows

_trace_curve: Any = trace_curve
MOST_PATTERNS = 200_000
_VERTICES = 4096


@dataclass(frozen=True, eq=False)
class Configurations:
    """Configurations of processors of one node type, one row each.

    `counts[s, c]` cores run tasks of class c of the menu, all of them the task type `task[s, m]` in P-state
    `pstate[s, m]`, for the m-th class that is present (-1 where there is none). A processor does `rate_per_s[s, t]` of
    task type t and its cores draw `power_w[s]`.
    """

    counts: Ints
    task: Ints
    pstate: Ints
    rate_per_s: Floats
    power_w: Floats

    def __len__(self) -> int:
        return self.power_w.size

    def taken(self, rows: Counts) -> Configurations:
        """Some of the rows."""
        return Configurations(*(column[rows] for column in vars(self).values()))


def joined(parts: list[Configurations]) -> Configurations:
    """All different configurations of several tables, in order of their first row."""
    columns = [np.concatenate(column) for column in zip(*(vars(part).values() for part in parts))]
    keys = np.concatenate(columns[:3], axis=1)
    _, rows = np.unique(keys, axis=0, return_index=True)
    return Configurations(*(column[np.sort(rows)] for column in columns))


@dataclass(frozen=True, eq=False)
class RewardCurve:
    """What a processor earns most against the power of its cores, at prices of tasks: vertices of a concave curve.

    They are in order of power, from all cores at rest on; between the vertices k and k + 1 a watt earns `price[k]`.
    """

    power_w: Floats
    value: Floats
    price: Floats
    configurations: Configurations

    def net(self, price: Floats) -> Floats:
        """What it earns most above prices of a watt: a convex function of the price, that never rises."""
        vertex = self.vertex(price)
        return np.asarray(self.value[vertex] - price * self.power_w[vertex])

    def vertex(self, price: Floats) -> Counts:
        """The vertex that is best at each price of a watt, and of two the one of less power."""
        return np.asarray(np.searchsorted(-self.price, -np.asarray(price), side="left"))


class ProcessorMenu:
    """All that processors of one node type may run: class patterns, and for each class the options that can be best."""

    def __init__(self, facility: Facility, kind: int) -> None:
        flows, size = facility.tasks, int(facility.node_types.sharers[kind])
        self.kind, self.size, self.n_tasks = kind, size, flows.n_types
        of_task, slowdown = _classes(flows, kind, size)
        self._task, self._pstate = _options(flows, kind, of_task)
        option_first = np.searchsorted(of_task[self._task], np.arange(len(slowdown) + 1))
        present = np.flatnonzero(np.diff(option_first))
        _raise_if_too_many(present.size, size)
        at = (self._task, np.full(self._task.size, kind), self._pstate)
        least_pace = flows.least_pace[at]
        counts = np.array(list(_patterns(len(slowdown), present, size)), dtype=np.int32)
        pace = 1.0 / np.maximum(1.0 + (counts @ slowdown.T - np.diag(slowdown)), 1.0)  # less for absent classes
        in_time = _in_time(counts, pace, np.minimum.reduceat(least_pace, option_first[present]), present)
        self.counts, pace = counts[in_time], pace[in_time]
        first, of_class = _members(self.counts)
        pattern = np.repeat(np.arange(len(self.counts)), np.diff(first))
        parts = (first, of_class, self.counts[pattern, of_class], pace[pattern, of_class])
        options = (option_first, self._task, flows.speed_per_s[at], flows.power_w[at], least_pace)
        self.menu = Menu(*map(np.ascontiguousarray, (*parts, *options)))

    def curve(self, task_price: Floats) -> RewardCurve:
        """What a processor earns against its power where a task done is worth its price."""
        size = min(self.size, self.counts.shape[1])
        pattern, option = np.empty(_VERTICES, np.int64), np.empty((_VERTICES, size), np.int64)
        power_w, value, stack = np.empty(_VERTICES), np.empty(_VERTICES), np.empty((_VERTICES, 2), np.int64)
        most = (task_price[self.menu.task] * self.menu.speed / np.maximum(self.menu.power_w, 1e-300)).max(initial=0.0)
        n = _trace_curve(self.menu, np.array(task_price), 2.0 * most + 1.0, pattern, option, power_w, value, stack)
        assert n > 0, "a curve has more vertices than there is room for"
        rows = np.lexsort((value[:n], power_w[:n]))
        rows = rows[np.append(True, np.diff(power_w[rows]) > 0)]
        prices = np.diff(value[rows]) / np.diff(power_w[rows])
        return RewardCurve(power_w[rows], value[rows], prices, self._configurations(pattern[rows], option[rows]))

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {row.tobytes(): number for number, row in enumerate(self.counts)}

    def number(self, counts: Ints) -> int:
        """The number of a pattern."""
        return self._numbers[counts.tobytes()]

    def has(self, counts: Ints) -> bool:
        """Whether there is such a pattern: no more cores than a processor has, and tasks in time for each class."""
        return counts.tobytes() in self._numbers

    def narrowed(self, counts: Ints) -> ProcessorMenu:
        """The same processors with one pattern only, besides rest."""
        pattern = self.number(counts)
        other = copy(self)
        other.__dict__.pop("_numbers", None)
        other.counts = self.counts[[0, pattern]]
        members = slice(int(self.menu.first[pattern]), int(self.menu.first[pattern + 1]))
        own = {name: getattr(self.menu, name)[members] for name in ("of_class", "count", "pace")}
        other.menu = self.menu._replace(first=np.array([0, 0, members.stop - members.start]), **own)
        return other

    def _configurations(self, pattern: Counts, option: Counts) -> Configurations:
        is_member = option >= 0
        task, pstate = (np.append(column, -1)[option].astype(np.int32) for column in (self._task, self._pstate))
        rate_per_s, power_w = np.zeros((pattern.size, self.n_tasks)), np.zeros(pattern.size)
        row, place = np.nonzero(is_member)
        member, chosen = self.menu.first[pattern[row]] + place, option[row, place]
        speed = self.menu.count[member] * self.menu.speed[chosen] * self.menu.pace[member]
        np.add.at(rate_per_s, (row, self._task[chosen]), speed)
        np.add.at(power_w, row, self.menu.count[member] * self.menu.power_w[chosen])
        return Configurations(self.counts[pattern], task, pstate, rate_per_s, power_w)


def _raise_if_too_many(n_classes: int, size: int) -> None:
    if comb(n_classes + size, size) > MOST_PATTERNS:
        found = f"found {n_classes} classes of tasks on processors of {size} cores"
        allowed = f"gives {comb(n_classes + size, size):,} patterns, and {MOST_PATTERNS:,} are possible"
        raise InputError(Problem("slowdown", found, allowed, "put task types together in fewer memory classes"))


def _patterns(n_classes: int, present: Counts, size: int) -> Iterator[list[int]]:
    """How many cores of a processor run each class: every possibility, the one with all cores at rest first."""
    for busy in range(size + 1):
        for chosen in combinations_with_replacement(present.tolist(), busy):
            yield np.bincount(np.array(chosen, dtype=np.int64), minlength=n_classes).tolist()


def _in_time(counts: Ints, pace: Floats, least_pace: Floats, present: Counts) -> Bools:
    """Patterns in which each class can do tasks in time; the others earn no more than with its cores at rest."""
    return np.asarray(((counts[:, present] == 0) | (pace[:, present] > least_pace)).all(axis=1))


def _members(counts: Ints) -> tuple[Counts, Counts]:
    """The classes that are present in each pattern."""
    pattern, of_class = np.nonzero(counts)
    return np.searchsorted(pattern, np.arange(len(counts) + 1)), of_class


def _classes(flows: TaskFlows, kind: int, size: int) -> tuple[Counts, Floats]:
    """The class of each task type, with classes as one that slow, and are slowed, alike on a node type; their table.

    To a core that has its processor to itself all are alike.
    """
    if size == 1:
        return np.zeros(flows.n_types, np.int64), np.zeros((1, 1))
    table = flows.slowdown[kind]
    _, first, number = np.unique(
        np.concatenate((table, table.T), axis=1), axis=0, return_index=True, return_inverse=True
    )
    return number.ravel()[flows.memory_class], table[np.ix_(first, first)]


def _options(flows: TaskFlows, kind: int, of_task: Counts) -> tuple[Counts, Counts]:
    """The task types and P-states that can be best at some price, by class, then task type, then P-state."""
    pairs = [
        (task, pstate)
        for task in np.argsort(of_task, kind="stable")
        for pstate in _best_pstates(flows, int(task), kind)
    ]
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def _best_pstates(flows: TaskFlows, task: int, kind: int) -> list[int]:
    """The usable P-states of a task type that can be best, whichever of the slower ones neighbours make too slow."""
    usable = np.flatnonzero(flows.is_usable[task, kind])
    speed, power_w = flows.speed_per_s[task, kind], flows.power_w[task, kind]
    by_speed = usable[np.argsort(-speed[usable], kind="stable")]
    fewest = usable.size if flows.deadlines_alone else 1
    hulls = (_on_hull(speed, power_w, by_speed[:n]) for n in range(fewest, usable.size + 1))
    return sorted({pstate for hull in hulls for pstate in hull})


def _on_hull(speed: Floats, power_w: Floats, usable: Counts) -> list[int]:
    """The usable P-states that no mixture of others beats in speed at the same power."""
    order = usable[np.lexsort((-speed[usable], power_w[usable]))]
    hull: list[int] = []
    for pstate in order.tolist():
        if hull and speed[pstate] <= speed[hull[-1]]:
            continue
        while len(hull) > 1 and _is_below(speed, power_w, hull[-2], hull[-1], pstate):
            hull.pop()
        hull.append(pstate)
    while len(hull) > 1 and speed[hull[0]] * power_w[hull[1]] <= speed[hull[1]] * power_w[hull[0]]:
        hull.pop(0)
    return hull


def _is_below(speed: Floats, power_w: Floats, low: int, middle: int, high: int) -> bool:
    rise = (speed[middle] - speed[low]) * (power_w[high] - power_w[middle])
    return bool(rise <= (speed[high] - speed[middle]) * (power_w[middle] - power_w[low]))

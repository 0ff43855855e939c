"""The slow twins of backfilling on one cluster: plain Python, every waiting job looked at at every event.

At one instant all ends come first, then all arrivals, then the scheduler decides. Its plans are made with planned
times; a job may end earlier or, under EASY, later than planned. Each twin returns when the jobs start.

Where jobs have limits, a plan that is outlived is raised, by more each time, and that is an instant of its own.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

STEPS_MIN = (1, 5, 15, 30, *(60 * h for h in (1, 2, 5, 10, 20, 50, 100)))


class Jobs(NamedTuple):
    """In order of arrival; the planner knows `planned_s`, the job runs for `time_s`."""

    arrival_s: Sequence[float]
    time_s: Sequence[float]
    planned_s: Sequence[float]
    nodes: Sequence[int]
    limit_s: Sequence[float] | None = None


class Running(NamedTuple):
    end_s: float
    planned_end_s: float
    nodes: int
    limit_end_s: float = math.nan


def raised_end(planned_end_s: float, limit_end_s: float, now_s: float) -> float:
    """The first planned end after now of a job that runs on: the first one, or as many steps later as it takes."""
    ends_s = [planned_end_s]
    while ends_s[-1] <= now_s:
        next_s = ends_s[-1] + 60 * STEPS_MIN[min(len(ends_s), len(STEPS_MIN)) - 1]
        ends_s.append(next_s if ends_s[-1] >= limit_end_s else min(next_s, limit_end_s))
    return ends_s[-1]


def _known(running: list[Running], now_s: float) -> list[Running]:
    """What runs, with the ends that are planned now; those without a limit are planned once and for all."""
    return [job if math.isnan(job.limit_end_s)
            else job._replace(planned_end_s=raised_end(job.planned_end_s, job.limit_end_s, now_s))
            for job in running]  # fmt: skip


def easy(jobs: Jobs, n_nodes: int) -> list[float]:
    """EASY: the head of the queue starts as early as possible, others as long as they do not delay it."""
    start_s = [math.nan] * len(jobs.nodes)
    running: list[Running] = []
    waiting: list[int] = []
    n_arrived, before_s = 0, -math.inf
    while n_arrived < len(start_s) or running:
        instants = [job.end_s for job in running] + [*jobs.arrival_s[n_arrived:][:1]]
        if waiting and jobs.limit_s is not None:
            instants += [job.planned_end_s for job in _known(running, before_s)]
        now_s = before_s = min(instants)
        running = [job for job in running if job.end_s > now_s]
        while n_arrived < len(start_s) and jobs.arrival_s[n_arrived] == now_s:
            waiting.append(n_arrived)
            n_arrived += 1
        for i in _easy_choice(jobs, waiting, _known(running, now_s), n_nodes, now_s):
            start_s[i] = now_s
            limit_end_s = math.nan if jobs.limit_s is None else now_s + jobs.limit_s[i]
            running.append(Running(now_s + jobs.time_s[i], now_s + jobs.planned_s[i], jobs.nodes[i], limit_end_s))
        waiting = [i for i in waiting if math.isnan(start_s[i])]
    return start_s


def _easy_choice(jobs: Jobs, waiting: list[int], running: list[Running], n_nodes: int, now_s: float) -> list[int]:
    """The waiting jobs that start now."""
    believed = [(max(job.planned_end_s, now_s), job.nodes) for job in running]
    free = n_nodes - sum(nodes for _, nodes in believed)
    n_heads = 0
    for i in waiting:
        if jobs.nodes[i] > free:
            break
        free -= jobs.nodes[i]
        believed.append((now_s + jobs.planned_s[i], jobs.nodes[i]))
        n_heads += 1
    chosen = waiting[:n_heads]
    if n_heads < len(waiting):
        shadow_s, extra = _shadow(believed, free, jobs.nodes[waiting[n_heads]])
        for i in waiting[n_heads + 1 :]:
            ends_by_then = now_s + jobs.planned_s[i] <= shadow_s
            if jobs.nodes[i] <= free and (ends_by_then or jobs.nodes[i] <= extra):
                chosen.append(i)
                free -= jobs.nodes[i]
                extra -= 0 if ends_by_then else jobs.nodes[i]
    return chosen


def _shadow(believed: list[tuple[float, int]], free: int, nodes: int) -> tuple[float, int]:
    """When a job that needs more nodes than are free could start, and how many would be left then."""
    believed = sorted(believed)
    for at, (end_s, released) in enumerate(believed):
        free += released
        if free >= nodes and (at + 1 == len(believed) or believed[at + 1][0] > end_s):
            return end_s, free - nodes
    raise AssertionError("a job that is larger than the cluster")


class Timetable(Protocol):
    """The free nodes over time."""

    def first_fit(self, amount: int, duration_s: float, from_s: float) -> float: ...

    def take(self, amount: int, start_s: float, end_s: float) -> None: ...

    def forget_before(self, now_s: float) -> None: ...


class Profile:
    """A timetable as a list of instants and a list of how many nodes are free from each of them on."""

    def __init__(self, capacity: int) -> None:
        self.time_s = [-math.inf]
        self.free = [capacity]

    def first_fit(self, amount: int, duration_s: float, from_s: float) -> float:
        j = bisect_right(self.time_s, from_s) - 1
        start_s = from_s
        while True:
            while self.free[j] < amount:
                j += 1
                start_s = self.time_s[j]
            while self.free[j] >= amount:
                j += 1
                if j == len(self.free) or self.time_s[j] >= start_s + duration_s:
                    return start_s

    def take(self, amount: int, start_s: float, end_s: float) -> None:
        first, last = self._part(start_s), self._part(end_s)
        for j in range(first, last):
            self.free[j] -= amount

    def _part(self, at_s: float) -> int:
        """The index of what begins at an instant, parted from what went before if need be."""
        j = bisect_right(self.time_s, at_s) - 1
        if self.time_s[j] < at_s:
            j += 1
            self.time_s.insert(j, at_s)
            self.free.insert(j, self.free[j - 1])
        return j

    def forget_before(self, now_s: float) -> None:
        gone = bisect_right(self.time_s, now_s) - 1
        del self.time_s[:gone], self.free[:gone]


def conservative(jobs: Jobs, n_nodes: int, new_timetable: Callable[[int], Timetable] = Profile) -> list[float]:
    """Conservative: every job is promised a start when it arrives; when one ends early, others move forward in turn.

    When one outlives its plan, all are promised a start anew, in turn.
    """
    start_s = [math.nan] * len(jobs.nodes)
    table = new_timetable(n_nodes)
    running: list[tuple[float, int]] = []
    waiting: list[int] = []
    planned_end_s: dict[int, float] = {}
    n_arrived, now_s = 0, -math.inf
    while n_arrived < len(start_s) or running or waiting:
        instants = [end_s for end_s, _ in running] + [start_s[i] for i in waiting] + [*jobs.arrival_s[n_arrived:][:1]]
        if waiting and jobs.limit_s is not None:
            instants += [planned_end_s[i] for _, i in running]
        now_s = min(instants)
        table.forget_before(now_s)
        ended = [i for end_s, i in running if end_s == now_s]
        running = [(end_s, i) for end_s, i in running if end_s > now_s]
        early = [i for i in ended if planned_end_s[i] > now_s]
        for i in early:
            table.take(-jobs.nodes[i], now_s, planned_end_s[i])
        limit_s = jobs.limit_s or ()
        late = [i for _, i in running if limit_s and planned_end_s[i] <= now_s]
        for i in late:
            planned_end_s[i] = raised_end(start_s[i] + jobs.planned_s[i], start_s[i] + limit_s[i], now_s)
            table.take(jobs.nodes[i], now_s, planned_end_s[i])
        if late:
            for i in waiting:
                table.take(-jobs.nodes[i], start_s[i], start_s[i] + jobs.planned_s[i])
            for i in waiting:
                _promise(jobs, i, table, now_s, start_s)
        elif early:
            for i in waiting:
                table.take(-jobs.nodes[i], start_s[i], start_s[i] + jobs.planned_s[i])
                _promise(jobs, i, table, now_s, start_s)
        while n_arrived < len(start_s) and jobs.arrival_s[n_arrived] == now_s:
            _promise(jobs, n_arrived, table, now_s, start_s)
            waiting.append(n_arrived)
            n_arrived += 1
        running += [(now_s + jobs.time_s[i], i) for i in waiting if start_s[i] == now_s]
        planned_end_s |= {i: now_s + jobs.planned_s[i] for i in waiting if start_s[i] == now_s}
        waiting = [i for i in waiting if start_s[i] > now_s]
    return start_s


def _promise(jobs: Jobs, i: int, table: Timetable, now_s: float, start_s: list[float]) -> None:
    """Give job i the earliest start there is."""
    start_s[i] = table.first_fit(jobs.nodes[i], jobs.planned_s[i], now_s)
    table.take(jobs.nodes[i], start_s[i], start_s[i] + jobs.planned_s[i])

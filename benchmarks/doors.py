"""A researcher's own policies: plain Python, and a whole event compiled, beside the built-in one that does the same;
and steps of an environment."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numba
import numpy as np

from benchmarks.looks import BARS as OF_LOOKS
from benchmarks.looks import looks
from benchmarks.manager import THRESHOLD, chapter_2
from benchmarks.measure import Bar, Case, Subject
from joulewise import jobs
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import Outcome, simulate
from joulewise.tasks import Event, policy, utility_at
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin

_utility_at: Any = utility_at

BUILT_IN = POLICIES["max-max-upt"]


# Max-Max UPT in plain Python


@policy()
def in_python(event: Event) -> np.ndarray | None:
    """Max-Max UPT: the choice that earns the most by the second of its run, again and again."""
    board = _Board(event)
    rows: list[tuple[int, int, int]] = []
    while (row := board.best()) is not None:
        rows.append(row)
    return np.array(rows) if rows else None


class _Board:
    """The value of each waiting task, by column, on the machine of each type, by row, that is free first."""

    def __init__(self, event: Event) -> None:
        self.event, self.free_s = event, np.where(event.is_open, event.free_s, np.inf)
        self.machine_type, n = event.machine_type, event.exec_s.shape[1]
        self.exec_s = np.ascontiguousarray(event.exec_s[:, :, 0][event.task_type].T)
        self.can_run = np.isfinite(self.exec_s)
        self.machines = [np.flatnonzero(self.machine_type == k) for k in range(n)]
        self.value, self.end_s = np.full(self.exec_s.shape, -np.inf), np.full(self.exec_s.shape, np.inf)
        self.n_left = self.can_run.sum(axis=1)
        self.is_filled = event.is_filled | ~event.is_open
        self.n_open = np.bincount(self.machine_type[~self.is_filled], minlength=n)
        self.first = np.zeros(n, int)
        for k in range(n):
            self.renew(k)

    def renew(self, k: int) -> None:
        """Value all tasks on the machine of a type that is free first now."""
        machines, runs = self.machines[k], np.flatnonzero(self.can_run[k])
        if not machines.size or not runs.size:
            return
        self.first[k] = m = machines[self.free_s[machines].argmin()]
        if self.free_s[m] < np.inf:
            self.end_s[k, runs] = ends_s = self.free_s[m] + self.exec_s[k, runs]
            self.value[k, runs] = self.event.utility(ends_s, self.event.task[runs]) / self.exec_s[k, runs]

    def best(self) -> tuple[int, int, int] | None:
        """Take the best choice of all, in order of value, completion and arrival."""
        if not ((self.n_left > 0) & (self.n_open > 0)).any():
            return None
        kinds, columns = np.nonzero(self.value == self.value.max())
        at = np.lexsort((kinds, columns, self.end_s[kinds, columns]))[0]
        column, k = int(columns[at]), int(kinds[at])
        m = int(self.first[k])
        if not self.is_filled[m] and self.free_s[m] > self.event.next_s:
            self.is_filled[m] = True
            self.n_open[k] -= 1
        self.free_s[m] += self.exec_s[k, column]
        self.n_left -= self.can_run[:, column]
        self.can_run[:, column], self.value[:, column] = False, -np.inf
        self.renew(k)
        return int(self.event.task[column]), m, 0


# Max-Max UPT, compiled


@numba.njit(error_model="numpy")
def _find(event, i, start_s):  # type: ignore[no-untyped-def]
    """The best value of a task, when it would end, its machine type, and how long it would run."""
    options, t = event.options, event.tasks.task_type[i]
    soonest_s = np.inf
    for option in range(options.first[t], options.first[t + 1]):
        soonest_s = min(soonest_s, start_s[options.machine_type[option]] + options.exec_s[option])
    most = _utility_at(event, i, soonest_s) if soonest_s < np.inf else 0.0
    best, best_s, kind, best_rank, length_s = -np.inf, np.inf, -1, -1, 0.0
    for option in range(options.first[t], options.first[t + 1]):
        k, exec_s, rank = options.machine_type[option], options.exec_s[option], options.rank[option]
        end_s = start_s[k] + exec_s
        if not end_s < np.inf or most / exec_s < best:
            continue
        value = _utility_at(event, i, end_s) / exec_s
        if value > best or (value == best and (end_s < best_s or (end_s == best_s and rank < best_rank))):
            best, best_s, kind, best_rank, length_s = value, end_s, k, rank, exec_s
    return best, best_s, kind, length_s


@numba.njit(error_model="numpy")
def _free_first(event, free_s, k):  # type: ignore[no-untyped-def]
    """The machine of a type that is free first."""
    best = -1
    for m in range(event.first[k], event.first[k + 1]):
        if event.is_open[m] and (best < 0 or free_s[m] < free_s[best]):
            best = m
    return best


@numba.njit
def _can_go_on(n_open, n_left):  # type: ignore[no-untyped-def]
    """Whether an open machine could get one of the tasks left."""
    for k in range(n_open.size):  # noqa: SIM110 - a generator costs Numba more
        if n_open[k] > 0 and n_left[k] > 0:
            return True
    return False


@numba.njit
def _waiting(event, n_left):  # type: ignore[no-untyped-def]
    """Those who wait by what was found of them before, and counted in n_left by the machine types they can run on."""
    n_of_type = np.zeros(event.options.first.size - 1, np.int64)
    heap = [(0.0, 0.0, 0) for _ in range(event.n_waiting[0])]
    for at in range(event.n_waiting[0]):
        i = event.task[at]
        n_of_type[event.tasks.task_type[i]] += 1
        seen_s, value, end_s = event.memory[i, 0], event.memory[i, 1], event.memory[i, 2]
        heap[at] = (-value, end_s, i) if seen_s > 0.0 else (-np.inf, -np.inf, i)
    for t in range(n_of_type.size):
        for option in range(event.options.first[t], event.options.first[t + 1]):
            n_left[event.options.machine_type[option]] += n_of_type[t]
    heapq.heapify(heap)
    return heap


def _decide(event: Any) -> float:
    """Max-Max UPT: values found at earlier events are bounds, and only the best bounds are looked at."""
    n_kinds, memory, answer = event.first.size - 1, event.memory, event.answer
    free_s, is_filled = event.free_s.copy(), event.is_filled.copy()
    machine, start_s = np.empty(n_kinds, np.int64), np.full(n_kinds, np.inf)
    n_open, n_left = np.zeros(n_kinds, np.int64), np.zeros(n_kinds, np.int64)
    for k in range(n_kinds):
        machine[k] = _free_first(event, free_s, k)
        if machine[k] >= 0:
            start_s[k] = free_s[machine[k]]
        for m in range(event.first[k], event.first[k + 1]):
            n_open[k] += event.is_open[m] and not is_filled[m]
    base_s, now_s = start_s.copy(), event.now_s[0]
    heap, n_rows = _waiting(event, n_left), 0
    while len(heap) > 0 and _can_go_on(n_open, n_left):
        less, end_s, i = heap[0]
        if memory[i, 0] < 1.0 + now_s:
            value, ends_s, _, _ = _find(event, i, base_s)
            memory[i, 0], memory[i, 1], memory[i, 2] = 1.0 + now_s, value, ends_s
            heapq.heapreplace(heap, (-value, ends_s, i))
            continue
        value, ends_s, k, exec_s = _find(event, i, start_s)
        if -value != less or ends_s != end_s:
            heapq.heapreplace(heap, (-value, ends_s, i))
            continue
        heapq.heappop(heap)
        if k < 0:
            break
        m = machine[k]
        answer[n_rows, 0], answer[n_rows, 1], answer[n_rows, 2] = i, m, 0
        n_rows += 1
        if not is_filled[m] and free_s[m] > event.next_s[0]:
            is_filled[m] = True
            n_open[k] -= 1
        free_s[m] += exec_s
        machine[k] = _free_first(event, free_s, k)
        start_s[k] = free_s[machine[k]]
        for option in range(
            event.options.first[event.tasks.task_type[i]], event.options.first[event.tasks.task_type[i] + 1]
        ):
            n_left[event.options.machine_type[option]] -= 1
    return n_rows


@cache
def compiled_policy() -> Policy:
    """Max-Max UPT as a compiled whole-event policy, made when it is needed first."""
    return policy(compiled=True)(_decide)


# EASY in plain Python


@jobs.policy()
def easy_in_python(event: jobs.Event) -> tuple[np.ndarray, np.ndarray]:
    """EASY for rigid jobs on one cluster: the queue's head, then whoever does not delay the first that has to wait."""
    option = event.options.first[event.job_type]
    nodes, planned_s = event.options.nodes[option], event.options.planned_s[option]
    n_free = int(event.n_free[0])
    head = int(np.searchsorted(np.cumsum(nodes), n_free, "right"))
    started = list(range(head))
    if head < nodes.size:
        n_free -= int(nodes[:head].sum())
        ends_s = np.concatenate((event.running.end_s, event.now_s + planned_s[:head]))
        freed = np.concatenate((event.options.nodes[event.running.option], nodes[:head]))
        started += _behind(
            n_free, *_reserved(n_free, int(nodes[head]), ends_s, freed), event.now_s + planned_s, nodes, head
        )
    return event.job[started], option[started]


def _reserved(n_free: int, wanted: int, ends_s: np.ndarray, freed: np.ndarray) -> tuple[float, int]:
    """When so many nodes are free, and how many are free beside them then."""
    order = np.argsort(ends_s)
    ends_s, n_free_then = ends_s[order], n_free + np.cumsum(freed[order])
    start_s = ends_s[np.searchsorted(n_free_then, wanted)]
    return start_s, int(n_free_then[np.searchsorted(ends_s, start_s, "right") - 1]) - wanted


def _behind(
    n_free: int, start_s: float, n_beside: int, ends_s: np.ndarray, nodes: np.ndarray, head: int
) -> Iterator[int]:
    """Rows behind the head that start now: they end before its start, or have nodes beside it."""
    for row in (head + 1 + np.flatnonzero(nodes[head + 1 :] <= n_free)).tolist():
        is_beside = ends_s[row] > start_s
        if nodes[row] <= (min(n_free, n_beside) if is_beside else n_free):
            n_free -= nodes[row]
            n_beside -= nodes[row] * is_beside
            yield row


# What is measured


def python(case: Case) -> dict[str, float]:
    """Seconds of a day of 50,000 tasks in plain Python, and whether that assigns what the built-in one does."""
    return _beside(case, "python", in_python, 1)


def compiled(case: Case) -> dict[str, float]:
    """The same for the compiled policy, over the seconds of the built-in one."""
    return _beside(case, "compiled", compiled_policy(), 1 if case.smoke else 5)


def _beside(case: Case, name: str, own: Policy, repeats: int) -> dict[str, float]:
    world = chapter_2(case)
    ours, theirs = _fastest(world, own, repeats), _fastest(world, BUILT_IN, repeats)
    is_same = np.array_equal(ours.allocation.start_s, theirs.allocation.start_s, equal_nan=True)
    return {
        f"{name}.day_s": ours.mapping_s,
        f"{name}.built_in_s": theirs.mapping_s,
        f"{name}.over_built_in": ours.mapping_s / theirs.mapping_s,
        f"{name}.same_assignments": float(is_same),
    }


def _fastest(world: Any, of: Policy, repeats: int) -> Outcome:
    return min((simulate(world, Manager(of, THRESHOLD)) for _ in range(repeats)), key=lambda done: done.mapping_s)


def gym(case: Case) -> dict[str, float]:
    """Steps of a processor second in each environment, of days whose first allowed action is taken each time."""
    import joulewise.gym

    figures = {"gym.steps_per_s": joulewise.gym.TASKS, "gym.jobs_steps_per_s": joulewise.gym.JOBS}
    return {figure: _most_steps_per_s(name, case) for figure, name in figures.items()}


def _most_steps_per_s(name: str, case: Case) -> float:
    import gymnasium

    env = gymnasium.make(name, disable_env_checker=True)
    return max(_steps_per_s(env, case.seed + day) for day in range(1 if case.smoke else 5))


def _steps_per_s(env: Any, day: int) -> float:
    _, info = env.reset(seed=day)
    is_over, n, began_s = False, 0, time.process_time()
    while not is_over:
        _, _, is_over, _, info = env.step(int(info["action_mask"].argmax()))
        n += 1
    return n / (time.process_time() - began_s)


def of_jobs(case: Case) -> dict[str, float]:
    """Seconds of a log of 5,000 jobs with EASY in plain Python, and whether jobs start as with the built-in one."""
    one = np.ones(1, np.int64)
    system = ClusterSystem(Clusters(("cluster",), 128 * one, one, one))
    parameters = LublinParameters(n_jobs=200 if case.smoke else 5000, gap_factor=0.6)
    system, work = generate_lublin(parameters, system, case.seed, 0)
    types = replace(system.types, time_s=np.ceil(system.types.planned_s / 2))
    world = JobWorld(system.clusters, types, work)
    ours, theirs = (simulate_jobs(world, Scheduler(of)) for of in (easy_in_python, JOB_POLICIES["easy"]))
    return {
        "jobs.log_s": ours.mapping_s,
        "jobs.event_ms": 1e3 * ours.mapping_s / ours.n_mapping_events,
        "jobs.built_in_s": theirs.mapping_s,
        "jobs.same_starts": float(np.array_equal(ours.allocation.start_s, theirs.allocation.start_s)),
    }


SUBJECT = Subject(
    "doors",
    {"python": python, "compiled": compiled, "jobs": of_jobs, "gym": gym, "looks": looks},
    (
        Bar("a day of 50,000 tasks, Max-Max UPT in plain Python, in s", "python.day_s", "at most", 30),
        Bar("it assigns what the built-in one does", "python.same_assignments", "at least", 1),
        Bar("the compiled policy over the built-in one", "compiled.over_built_in", "at most", 2),
        Bar("it assigns what the built-in one does, compiled", "compiled.same_assignments", "at least", 1),
        Bar("steps of an environment in a processor second", "gym.steps_per_s", "at least", 10_000),
        Bar("steps of one of parallel jobs in a processor second", "gym.jobs_steps_per_s", "at least", 10_000),
        Bar("a log of 5,000 jobs, EASY in plain Python, in s", "jobs.log_s", "at most", 10),
        Bar("it starts jobs when the built-in one does", "jobs.same_starts", "at least", 1),
        *OF_LOOKS,
    ),
)

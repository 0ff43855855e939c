"""Max-Max UPT as a user would write it: in plain Python, and compiled."""

from __future__ import annotations

import heapq
from functools import cache
from typing import Any

import numba
import numpy as np

from joulewise.policies.tasks.policy import Policy
from joulewise.tasks import Event, policy, utility_at

_utility_at: Any = utility_at

# In plain Python


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


# Compiled


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

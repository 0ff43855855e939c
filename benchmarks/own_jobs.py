"""EASY for rigid jobs on one cluster as a user would write it: in plain Python, and compiled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numba
import numpy as np

from joulewise import jobs
from joulewise.jobs import free_at
from joulewise.policies.jobs.policy import JobPolicy

_free_at: Any = free_at

# In plain Python


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


# Compiled


@numba.njit
def _free_then(event, started, n_started, at_s):  # type: ignore[no-untyped-def]
    """How many nodes are free at an instant beside those that start now."""
    n_free = _free_at(event, 0, at_s)
    for at in range(n_started):
        option = started[at, 1]
        if event.now_s[0] + event.options.planned_s[option] > at_s:
            n_free -= event.options.nodes[option]
    return n_free


@numba.njit
def _reserved_compiled(event, started, n_started, wanted):  # type: ignore[no-untyped-def]
    """When so many nodes are free first, which is when a job ends, and how many are free beside them then."""
    best_s = np.inf
    for at in range(event.n_running[0]):
        end_s = event.end_s[event.running[at]]
        if end_s < best_s and _free_then(event, started, n_started, end_s) >= wanted:
            best_s = end_s
    for at in range(n_started):
        end_s = event.now_s[0] + event.options.planned_s[started[at, 1]]
        if end_s < best_s and _free_then(event, started, n_started, end_s) >= wanted:
            best_s = end_s
    return best_s, _free_then(event, started, n_started, best_s) - wanted


def _easy(event: Any) -> float:
    """EASY: the queue's head, then whoever does not delay the first that has to wait."""
    now_s, options, answer = event.now_s[0], event.options, event.answer
    n_free, n_rows, start_s, n_beside = _free_at(event, 0, now_s), 0, np.inf, 0
    is_held = False
    for at in range(event.n_waiting[0]):
        if n_free == 0:
            break
        job = event.job[at]
        option = options.first[event.tasks.task_type[job]]
        nodes, end_s = options.nodes[option], now_s + options.planned_s[option]
        if not is_held and nodes > n_free:
            is_held = True
            start_s, n_beside = _reserved_compiled(event, answer, n_rows, nodes)
        is_beside = is_held and end_s > start_s
        if nodes > n_free or (is_beside and nodes > n_beside):
            continue
        answer[n_rows, 0], answer[n_rows, 1], answer[n_rows, 2] = job, option, 0
        n_rows += 1
        n_free -= nodes
        n_beside -= nodes * is_beside
    return n_rows


@cache
def easy_compiled() -> JobPolicy:
    """EASY as a compiled whole-event policy, made when it is needed first."""
    return jobs.policy(compiled=True)(_easy)

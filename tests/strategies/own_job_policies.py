"""Policies for parallel jobs in plain Python that do what built-in ones do, in any world and as readable as can be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from joulewise.model.arrays import Counts
from joulewise.policies.jobs.own import own_job_policy
from joulewise.simulate.jobs.event import JobEvent


def queue(event: JobEvent) -> Iterator[tuple[int, Counts]]:
    """Each job that waits, with its options in the first P-state that it has on their cluster."""
    options = event.options
    for job, kind in zip(event.job.tolist(), event.job_type.tolist(), strict=True):
        rows = np.arange(options.first[kind], options.first[kind + 1])
        lowest = np.full(event.n_nodes.size, 127)
        np.minimum.at(lowest, options.cluster[rows], options.pstate[rows])
        yield job, rows[options.pstate[rows] == lowest[options.cluster[rows]]]


@own_job_policy()
def fcfs(event: JobEvent) -> None:
    """In order; nobody starts before one that was ready earlier."""
    for job, options in queue(event):
        start_s = event.earliest_s(job, options)
        if start_s.min() > event.now_s:
            return
        event.start(job, options[start_s.argmin()])


@own_job_policy()
def easy(event: JobEvent) -> None:
    """In order; nodes are held for the first who cannot start, and others start where that is not in their way."""
    is_held = False
    for job, options in queue(event):
        start_s = event.earliest_s(job, options)
        if start_s.min() <= event.now_s:
            event.start(job, options[start_s.argmin()])
        elif not is_held and start_s.min() < np.inf:
            event.hold(job, options[start_s.argmin()])
            is_held = True


@own_job_policy()
def max_upt(event: JobEvent) -> None:
    """Again and again the choice that earns most by the second of its run, wherever it can start first."""
    job, option = event.choices
    planned_s = event.options.planned_s[option]
    while job.size:
        start_s = event.earliest_s(job, option)
        completion_s = start_s + planned_s
        value = np.where(start_s < np.inf, event.utility(completion_s, job) / planned_s, -np.inf)
        best = _best_of_best(job, np.lexsort((option, completion_s, -value)), value, completion_s)
        if not start_s[best] < np.inf:
            return
        event.hold(job[best], option[best])
        is_left = job != job[best]
        job, option, planned_s = job[is_left], option[is_left], planned_s[is_left]


def _best_of_best(job: Counts, order: Counts, value: np.ndarray, completion_s: np.ndarray) -> int:
    """The best choice of all; between jobs ties go to the lower number, between options of one to the earlier row."""
    _, first = np.unique(job[order], return_index=True)
    firsts = order[first]
    return int(firsts[np.lexsort((job[firsts], completion_s[firsts], -value[firsts]))[0]])

"""Whole-event policies of parallel jobs, compiled outside the kernels: what they see, and a run that asks them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined, kernel, shared
from joulewise.kernels.jobs import timetable
from joulewise.kernels.jobs.assigned import PLACED, REFUSED, place
from joulewise.kernels.jobs.events import run_jobs
from joulewise.kernels.jobs.layout import JobOptions
from joulewise.kernels.jobs.mapping import give_nodes
from joulewise.kernels.jobs.state import HELD, LAST, QUEUED, WORKED
from joulewise.kernels.jobs.timetable import Book
from joulewise.kernels.layout import Tasks, Utilities
from joulewise.kernels.outside import has_failed, n_answered, note_fault
from joulewise.kernels.records import record


@record
class JobSight(NamedTuple):
    """What compiled code sees of an event. `job[:n_waiting[0]]` are the jobs that wait, in the order in which they were
    ready; `running[:n_running[0]]` those that run, in no order; `held[:n_held[0]]` those with nodes held ahead. By job
    are the columns of `tasks`, `ready_s`, and of those with nodes `option`, `start_s` and `end_s`, the planned end.
    Those of `options` are by option, of which a job of type t has rows options.first[t] up to options.first[t + 1];
    `n_nodes` and `price_per_s` by cluster, and prices below 0 until they are known. `profile` is read by `free_at`.
    `memory` has a row for each job and is kept during a run, zeros at first. Rows of `answer` are job, option and
    whether nodes are held ahead where the job cannot start now.
    """

    now_s: NDArray[np.float64]
    next_s: NDArray[np.float64]
    left_j: NDArray[np.float64]
    n_waiting: NDArray[np.int64]
    job: NDArray[np.int64]
    tasks: Tasks
    utilities: Utilities
    ready_s: NDArray[np.float64]
    options: JobOptions
    n_nodes: NDArray[np.int64]
    profile: Book
    n_running: NDArray[np.int64]
    running: NDArray[np.int64]
    n_held: NDArray[np.int64]
    held: NDArray[np.int64]
    option: NDArray[np.int32]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    price_per_s: NDArray[np.float64]
    price_per_j: NDArray[np.float64]
    memory: NDArray[np.float64]
    answer: NDArray[np.int64]


@inlined
def free_at(event, cluster, at_s):
    """How many nodes of a cluster are free at an instant, less those held ahead; -1 where there is no such cluster."""
    if cluster < 0 or cluster >= event.n_nodes.size:
        return -1
    return timetable.free_at(event.profile, cluster, at_s)


@inlined
def start_answer(run, outside, event, now_s):
    """Start what compiled code answers, or hold nodes for it, up to the first row that is impossible."""
    answer = outside.sight.answer
    for row in range(n_answered(outside, event, now_s)):
        i, option = answer[row, 0], answer[row, 1]
        fate, start_s = place(run, i, option, answer[row, 2] != 0, now_s)
        if fate == PLACED:
            give_nodes(run, i, option, start_s, now_s)
        elif fate > REFUSED:
            note_fault(outside, row, fate, event, now_s)
            break


@shared
def note_idle(run, idle, event, now_s):
    """Note the event and who could start in it, with which option, where nothing runs and nothing is held."""
    site, options, idle[0] = run.site, run.facts.options, False
    if site.running.size[0] + site.counts[HELD] > 0:
        return
    for at in range(site.counts[QUEUED]):
        i = site.queue[at]
        t = run.facts.tasks.task_type[i]
        for option in range(options.first[t], options.first[t + 1]):
            fate, start_s = place(run, i, option, True, now_s)
            if fate == PLACED and start_s == now_s:
                idle[0], idle[1], idle[2], idle[3], idle[4] = True, event, now_s, i, option
                return


@kernel
def run_asked(run, outside, idle, latest_s):
    """As `run_jobs`, where compiled code decides; it ends with the first answer that is impossible.

    `idle` tells whether nothing ran or was held after the last answer though a job could have started, and of whom.
    """
    while not has_failed(outside) and run_jobs(run, latest_s, np.int64(1)):
        event, now_s = run.site.counts[WORKED] - 1, run.site.instants[LAST]
        if run.site.counts[QUEUED] > 0:
            start_answer(run, outside, event, now_s)
            note_idle(run, idle, event, now_s)

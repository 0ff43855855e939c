"""A model of the executor (`study/running/execute.py`), event by event, for numbers of workers that are not at hand.

One coordinator gives jobs, a few ahead of what is computed, to workers that take them in order. It does one thing at a
time: it submits a job, or collects and stores what came back; while it is busy, answers wait.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

JOB_S, MOST_RUNS = 5.0, 256
"""How long jobs of a large study last, and how many runs of one world they have at most (`study/running/work.py`)."""
AHEAD = 2
"""How many jobs the coordinator lets there be for each worker (`Engine.n_ahead`)."""
_SUBMITTING = 0.5
"""The part of the cost of a job that is spent before it is sent; it moves little."""
_WAVES = 26


class Costs(NamedTuple):
    """Seconds beside the runs: of the coordinator and of a worker, for each job and each of its runs."""

    job_s: float
    run_s: float
    worker_job_s: float
    worker_run_s: float


class Job(NamedTuple):
    """How many runs a job has, and how long they take together."""

    n_runs: int
    seconds: float


class Seen(NamedTuple):
    """A job whose runs are stored, when that was, and how long the coordinator had worked by then."""

    at_s: float
    spent_s: float
    job: Job


class Pace(NamedTuple):
    """What workers did once all of them were at work."""

    busy: float
    """The part of their time that was spent on runs."""
    runs_per_s: float


def simulated(jobs: Iterable[Job], n_workers: int, costs: Costs) -> list[Seen]:
    """What would be seen of an executor, job by job."""
    waiting, free_at_s = iter(jobs), [0.0] * n_workers
    computed: list[tuple[float, int, Job]] = []
    seen: list[Seen] = []
    now_s = spent_s = 0.0
    while True:
        for number, job in enumerate(islice(waiting, AHEAD * n_workers - len(computed)), len(seen) + len(computed)):
            now_s, spent_s = now_s + _SUBMITTING * costs.job_s, spent_s + _SUBMITTING * costs.job_s
            begin_s = max(now_s, heapq.heappop(free_at_s))
            end_s = begin_s + costs.worker_job_s + job.n_runs * costs.worker_run_s + job.seconds
            heapq.heappush(free_at_s, end_s)
            heapq.heappush(computed, (end_s, number, job))
        if not computed:
            return seen
        now_s = came_at_s = max(now_s, computed[0][0])
        while computed and computed[0][0] <= came_at_s:
            _, _, job = heapq.heappop(computed)
            cost_s = (1 - _SUBMITTING) * costs.job_s + job.n_runs * costs.run_s
            now_s, spent_s = now_s + cost_s, spent_s + cost_s
            seen.append(Seen(now_s, spent_s, job))


def steady(seen: Sequence[Seen], n_workers: int) -> Sequence[Seen]:
    """What was seen while all were at work: without about a tenth at the start, and without the end.

    Jobs come and go in waves, of as many as may be out, so that whole waves are left out.
    """
    wave = AHEAD * n_workers
    return seen[max(len(seen) // (10 * wave), 1) * wave - 1 : len(seen) - wave]


def pace_of(seen: Sequence[Seen], n_workers: int) -> Pace:
    """What workers did while all were at work; of a job that began before or ended after, only the rest counts."""
    counted = steady(seen, n_workers)
    began_s, ended_s = counted[0].at_s, counted[-1].at_s
    at_work = ((max(each.at_s - each.job.seconds, began_s), min(each.at_s, ended_s)) for each in seen)
    busy_s = sum(max(to_s - from_s, 0.0) for from_s, to_s in at_work)
    lasted_s = ended_s - began_s
    return Pace(busy_s / (n_workers * lasted_s), sum(each.job.n_runs for each in counted[1:]) / lasted_s)


def predicted(run_s: float, n_workers: int, costs: Costs, points: int) -> Pace:
    """The pace of a large study whose runs take so long each, with so many points in each world."""
    n_runs = max(1, min(math.ceil(JOB_S / run_s), MOST_RUNS, points))
    jobs = [Job(n_runs, n_runs * run_s)] * (_WAVES * n_workers)
    return pace_of(simulated(jobs, n_workers, costs), n_workers)


def least_run_s(n_workers: int, costs: Costs, points: int, busy: float = 0.9) -> float:
    """How long runs must take for workers to be so busy, to 2 %; 0.1 ms where shorter ones are enough."""
    low_s, high_s = 1e-4, 1e2
    while high_s > 1.02 * low_s:
        middle_s = math.sqrt(low_s * high_s)
        if predicted(middle_s, n_workers, costs, points).busy >= busy:
            high_s = middle_s
        else:
            low_s = middle_s
    return high_s


def costs_of(small: Sequence[Seen], large: Sequence[Seen]) -> Costs:
    """The costs that two studies on one worker show, one in small jobs and one in large ones."""
    spent = [_per_job(seen, seen[-1].spent_s - seen[0].spent_s) for seen in (small, large)]
    beside = [_per_job(seen, _beside_s(seen)) for seen in (small, large)]
    runs = [_per_job(seen, sum(each.job.n_runs for each in seen[1:])) for seen in (small, large)]
    return Costs(*_shares(runs, spent), *_shares(runs, beside))


def _beside_s(seen: Sequence[Seen]) -> float:
    """How long one worker was not at runs."""
    return seen[-1].at_s - seen[0].at_s - sum(each.job.seconds for each in seen[1:])


def _per_job(seen: Sequence[Seen], total: float) -> float:
    return total / (len(seen) - 1)


def _shares(runs: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """What a job costs and what each of its runs does, neither below 0."""
    each_s = max((seconds[1] - seconds[0]) / (runs[1] - runs[0]), 0.0)
    return max(seconds[0] - runs[0] * each_s, 0.0), each_s

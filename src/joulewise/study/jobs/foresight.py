"""Worlds of parallel jobs with another future, and what had started before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from joulewise.model.arrays import Floats
from joulewise.model.clusters import JobTypes
from joulewise.model.failures import NodeFailures
from joulewise.model.jobs import JobAllocation, Jobs, JobWorld, NodeOutages
from joulewise.study.kinds.foresight import first_difference, halved, instant, later, mirrored, starts

_NAMES = ("job", "option")


def foresight(
    world: JobWorld, allocation: JobAllocation, part: float, decide: Callable[[JobWorld], JobAllocation]
) -> str:
    """What started otherwise than if another future came after a part of the jobs, or nothing."""
    if (at_s := instant(world.jobs.work.arrival_s, part)) is None:
        return ""
    there = decide(another_future(world, allocation, at_s))
    return first_difference(_starts(allocation, at_s), _starts(there, at_s), _NAMES, at_s)


def another_future(world: JobWorld, allocation: JobAllocation, at_s: float) -> JobWorld:
    """The world with other arrivals after an instant, other failures, and other true times of what has not ended.

    Jobs wait for those of the same numbers as before, and true times of types of which a job has ended stay.
    """
    jobs = world.jobs
    order, arrival_s = mirrored(jobs.work.arrival_s, at_s)
    labels = {name: replace(label, codes=label.codes[order]) for name, label in jobs.labels.items()}
    demands = None if jobs.demands is None else jobs.demands.of_some(order)
    other = replace(jobs, work=jobs.work.some(order, arrival_s), labels=labels, demands=demands)
    types = replace(world.types, time_s=_times(world.types, jobs, allocation, at_s))
    site = None if world.site is None else replace(world.site, failures=_failures(world.site.failures, at_s))
    return replace(world, types=types, jobs=other, outages=_outages(world.outages, at_s), site=site)


def _times(types: JobTypes, jobs: Jobs, allocation: JobAllocation, at_s: float) -> Floats:
    """True times, where what is left takes half; those that are what is planned, or more, are no secret."""
    is_known = np.zeros(types.n_types, np.bool_)
    is_known[jobs.work.task_type[allocation.end_s <= at_s]] = True
    is_known[jobs.work.task_type[allocation.pieces.job]] = True
    since_s = np.zeros(types.n_options)
    runs = np.flatnonzero(allocation.used & (allocation.start_s < at_s))
    np.maximum.at(since_s, allocation.option[runs], at_s - allocation.start_s[runs])
    is_secret = (types.time_s < types.planned_s) & ~is_known[types.of_option]
    return np.where(is_secret, halved(types.time_s, since_s), types.time_s)


def _outages(outages: NodeOutages, at_s: float) -> NodeOutages:
    """Failures later, where no maintenance could be in their way."""
    if outages.is_planned.any():
        return outages
    start_s = later(outages.start_s, at_s)
    return replace(outages, start_s=start_s, end_s=start_s + (outages.end_s - outages.start_s))


def _failures(failures: NodeFailures, at_s: float) -> NodeFailures:
    """None of those of a site that would come after an instant."""
    past = failures.start_s <= at_s
    return NodeFailures(*(column[past] for column in vars(failures).values()))


def _starts(allocation: JobAllocation, at_s: float) -> Floats:
    runs, pieces = allocation, allocation.pieces
    columns = (
        (runs.start_s, pieces.start_s),
        (np.arange(runs.option.size), pieces.job),
        (runs.option, pieces.option),
    )
    return starts([np.concatenate(column) for column in columns], at_s)

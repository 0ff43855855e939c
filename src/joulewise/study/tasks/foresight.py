"""Days of tasks with another future, and what had started before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from joulewise.model.allocation import Allocation
from joulewise.model.arrays import Floats
from joulewise.model.workload import Workload
from joulewise.model.world import Outages, World
from joulewise.study.kinds.foresight import first_difference, halved, instant, later, mirrored, starts

_NAMES = ("task", "machine", "P-state")


def foresight(world: World, allocation: Allocation, part: float, decide: Callable[[World], Allocation]) -> str:
    """What started otherwise than if another future came after a part of the tasks, or nothing."""
    if (at_s := instant(world.workload.arrival_s, part)) is None:
        return ""
    there = decide(another_future(world, allocation, at_s))
    return first_difference(_starts(allocation, at_s), _starts(there, at_s), _NAMES, at_s)


def another_future(world: World, allocation: Allocation, at_s: float) -> World:
    """The world with other arrivals after an instant, other failures, and other true times of what has not ended."""
    work = world.workload
    order, arrival_s = mirrored(work.arrival_s, at_s)
    stretched = work if work.stretch is None else replace(work, stretch=_stretch(work, allocation, at_s))
    return replace(world, workload=stretched.some(order, arrival_s), outages=_outages(world.outages, at_s))


def _stretch(work: Workload, allocation: Allocation, at_s: float) -> Floats:
    """True times, where what is left of tasks takes half; those of tasks that ran in pieces stay."""
    assert work.stretch is not None
    took_s = allocation.end_s - allocation.start_s
    part = np.where(allocation.start_s < at_s, halved(took_s, at_s - allocation.start_s) / took_s, 0.5)
    part[allocation.broken.task] = 1.0
    return np.asarray(work.stretch * part)


def _outages(outages: Outages, at_s: float) -> Outages:
    start_s = later(outages.start_s, at_s)
    return replace(outages, start_s=start_s, end_s=start_s + (outages.end_s - outages.start_s))


def _starts(allocation: Allocation, at_s: float) -> Floats:
    runs, broken = allocation, allocation.broken
    columns = (
        (runs.start_s, broken.start_s),
        (np.arange(runs.n_tasks), broken.task),
        (runs.machine, broken.machine),
        (runs.pstate, broken.pstate),
    )
    return starts([np.concatenate(column) for column in columns], at_s)

"""The window through which an agent sees parallel jobs: its arrays, and what each entry of what is seen means."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from joulewise.kernels.heap import empty_heap
from joulewise.kernels.jobs.run import JobState
from joulewise.kernels.jobs.window import JobWindow
from joulewise.kernels.layout import NOBODY
from joulewise.model.arrays import Counts
from joulewise.model.jobs import JobWorld
from joulewise.simulate.window import EVENT, OPTION, PLACE, Meaning, Sight

CLUSTER = "cluster"

MEANINGS = (
    Meaning("day", EVENT, "the part of the counted window that is over; without an end, of the time of arrivals"),
    Meaning("energy", EVENT, "the part of the day's budget that is left; 1 without a budget"),
    Meaning("rest", EVENT, "the part of the budget's day that is left; 1 without a budget"),
    Meaning("power", EVENT, "the power that is free now as a part of the highest cap; 1 without a cap"),
    Meaning("waiting", EVENT, "x / (x + 100) of the x jobs that wait"),
    Meaning("open", EVENT, "the part of all nodes that is free"),
    Meaning("open", CLUSTER, "the part of its nodes that is free"),
    Meaning("soon", CLUSTER, "x / (x + 600 s) of the time x until more of its nodes are free; 1 if never"),
    Meaning("there", PLACE, "1 if a job stands in the place, else 0"),
    Meaning("waited", PLACE, "x / (x + 600 s) of the time x that it has waited"),
    Meaning("best", PLACE, "what the best of its options earns, as a part of the highest scale in trial 0; 1 at most"),
    Meaning("soon", OPTION, "x / (x + 600 s) of the time x until it could start, were it the next; 1 if never"),
    Meaning("earns", OPTION, "what it earns if it starts then, as the same part; 0 if never"),
    Meaning("time", OPTION, "x / (x + m) of how long it is planned to run, m the mean of all options; 0 likewise"),
    Meaning("uses", OPTION, "x / (x + m) of its energy, m the mean of all options; 0 likewise, 1 without powers"),
    Meaning("nodes", OPTION, "the part of the cluster's nodes that it takes; 0 likewise"),
)  # fmt: skip
"""In the order of entries: those of the event, then all of each cluster, then of each place its own and those of each
of its options.
"""


class Ways(NamedTuple):
    """The ways to run that jobs have, by cluster, then P-state, then size: their names, and which option of each type
    is which, or NOBODY.
    """

    names: tuple[str, ...]
    option_at: Counts


def ways_of(world: JobWorld) -> Ways:
    """The ways to run: the options of a type on one cluster in one P-state are its sizes, in their order."""
    types = world.types
    group = np.stack((types.of_option, types.cluster, types.pstate), axis=1)
    _, first, inverse = np.unique(group, axis=0, return_index=True, return_inverse=True)
    size = np.arange(types.n_options) - first[inverse.ravel()]
    kinds, way = np.unique(np.stack((types.cluster, types.pstate, size), axis=1), axis=0, return_inverse=True)
    option_at = np.full((types.n_types, len(kinds)), NOBODY, np.int64)
    option_at[types.of_option, way.ravel()] = np.arange(types.n_options)
    names = (f"{world.clusters.names[r]}, P-state {p}{f', size {n}' if n else ''}" for r, p, n in kinds.tolist())
    return Ways(tuple(names), option_at)


def sight_of(world: JobWorld) -> Sight:
    """What is seen of a world."""
    return Sight(MEANINGS, CLUSTER, world.clusters.names, ways_of(world).names)


def job_window_of(world: JobWorld, state: JobState, n_places: int, *, by_worth: bool, most: float) -> JobWindow:
    """A window on a run that has not begun; `most` is the unit of what is earned."""
    work, options, sight = world.jobs.work, state.facts.options, sight_of(world)
    last_s = (
        work.end_s if math.isfinite(work.end_s) else max(float(work.arrival_s[-1]), np.nextafter(work.start_s, 1e9))
    )
    return JobWindow(
        by_worth,
        empty_heap(world.n_jobs),
        np.full(n_places, NOBODY, np.int64),
        ways_of(world).option_at,
        work.start_s,
        last_s,
        world.supply.day_s,
        most,
        float(options.planned_s.mean()),
        float(np.nan_to_num(options.energy_j.mean())),
        int(world.clusters.n_nodes.sum()),
        int(state.limits.cap_mw.max()),
        np.zeros(sight.n_entries(n_places), np.float32),
        np.zeros(sight.n_choices(n_places), np.int8),
    )

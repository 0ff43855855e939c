"""When jobs of a run could have started: when they arrived, and what they had to wait for had come."""

from __future__ import annotations

import numpy as np

from joulewise.model.arrays import Bools, Floats
from joulewise.model.conditions import ALONE, Conditions, Kind
from joulewise.model.jobs import JobWorld


def ready_times(world: JobWorld, start_s: Floats, end_s: Floats, killed: Bools, cancelled: Bools) -> Floats:
    """The instant for each job, infinite where what it waits for never came; starts and ends are NaN for no nodes.

    `killed` are those at their limits, `cancelled` those that a site cancelled.
    """
    conditions, arrival_s = world.jobs.conditions, world.jobs.work.arrival_s
    if conditions is None:
        return arrival_s
    came_s = (
        np.fmin(_came_s(conditions, start_s, end_s, conditions.ended_badly(killed, cancelled)), np.inf)
        + conditions.delay_s
    )
    ready_s, first_s = arrival_s.copy(), np.full(arrival_s.size, np.inf)
    if conditions.begin_s is not None:
        np.maximum(ready_s, conditions.begin_s, out=ready_s)
    is_first = np.zeros(conditions.n_rows, np.bool_) if conditions.any_of is None else conditions.any_of[conditions.job]
    np.maximum.at(ready_s, conditions.job[~is_first], came_s[~is_first])
    np.minimum.at(first_s, conditions.job[is_first], came_s[is_first])
    some = np.unique(conditions.job[is_first])
    ready_s[some] = np.maximum(ready_s[some], first_s[some])
    if conditions.together is not None:
        parts = np.flatnonzero(conditions.together != ALONE)
        latest_s = np.zeros(conditions.together.max(initial=0) + 1)
        np.maximum.at(latest_s, conditions.together[parts], ready_s[parts])
        ready_s[parts] = latest_s[conditions.together[parts]]
    return ready_s


def _came_s(conditions: Conditions, start_s: Floats, end_s: Floats, is_bad: Bools) -> Floats:
    """When what each row waits for came; NaN where it did not."""
    instants = {
        Kind.STARTED: start_s,
        Kind.ENDED: end_s,
        Kind.ENDED_WELL: np.where(is_bad, np.nan, end_s),
        Kind.ENDED_BADLY: np.where(is_bad, end_s, np.nan),
    }
    return np.stack([instants[kind] for kind in Kind])[conditions.kind, conditions.on]

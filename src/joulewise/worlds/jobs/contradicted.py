"""Dependencies of which a log shows that they did not hold: jobs started before what they depend on had come."""

from __future__ import annotations

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools
from joulewise.model.conditions import Conditions, Kind
from joulewise.worlds.jobs.trace_jobs import TraceJobs

_ENDED_WELL = ("completed", "succeeded")
_ENDED_BADLY = (
    "boot_fail", "cancelled", "deadline", "failed", "last part failed", "node_fail", "out_of_memory", "preempted",
    "revoked", "timeout",
)  # fmt: skip
"""What logs say of jobs that ended badly."""

_TICK_S = 1.0
"""Times of logs are in whole seconds."""


def ends_told(log: pl.DataFrame) -> tuple[Bools, Bools]:
    """Which jobs ended badly, and which well, by their log; it may say neither."""
    badly, well = (log["status"].is_in(words).fill_null(False).to_numpy() for words in (_ENDED_BADLY, _ENDED_WELL))
    return badly, well


def unmet_in_log(conditions: Conditions, jobs: TraceJobs) -> Bools:
    """Which rows had not come when their job started in the log; of those of which any is enough, if none had.

    Where the log does not tell when a job started nothing is known of its rows.
    """
    start_s = jobs.submit_s + jobs.log["wait_s"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    end_s = start_s + jobs.run_s
    badly, well = ends_told(jobs.log)
    came_s = {
        Kind.STARTED: start_s,
        Kind.ENDED: end_s,
        Kind.ENDED_WELL: np.where(badly, np.inf, end_s),
        Kind.ENDED_BADLY: np.where(well, np.inf, end_s),
    }
    due_s = np.stack([came_s[kind] for kind in Kind])[conditions.kind, conditions.on] + conditions.delay_s
    unmet = start_s[conditions.job] + _TICK_S < due_s
    if conditions.any_of is not None:
        has_met = np.zeros(start_s.size, np.bool_)
        has_met[conditions.job[~unmet]] = True
        unmet &= ~(conditions.any_of & has_met)[conditions.job]
    return np.asarray(unmet)

"""Arrays of jobs of which only so many tasks run together, as holders of limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from joulewise.model.site import ANY_NUMBER, Limits
from joulewise.worlds.jobs.logged_conditions import tasks_of_arrays
from joulewise.worlds.jobs.sites.limits import JOBS

ARRAY = "array"


def with_array_limits(limits: Limits, log: pl.DataFrame) -> Limits:
    """The limits of a site, and those that the tasks of arrays set themselves."""
    of_job, most, names = tasks_of_arrays(log)
    if not names:
        return limits
    what = limits.what if JOBS in limits.what else (*limits.what, JOBS)
    uses = limits.uses if JOBS in limits.what else np.column_stack((limits.uses, np.ones(len(limits.uses), np.int64)))
    mine = np.full((len(limits.names) + len(names), len(what)), ANY_NUMBER)
    mine[: len(limits.names), : len(limits.what)] = limits.most
    mine[len(limits.names) :, what.index(JOBS)] = most
    holder = np.where(of_job < 0, -1, of_job + len(limits.names))
    return replace(
        limits,
        what=what,
        names=(*limits.names, *(f"{ARRAY} {name}" for name in names)),
        most=mine,
        uses=uses,
        holders=np.column_stack((limits.binding, holder, limits.holders[:, limits.n_binding :])),
    )

"""How near the waits of a replay come to those of its log: job by job, and by partition, size, queue and user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from joulewise.study.jobs.names import names_of
from joulewise.study.jobs.reasons import REASONS, first_starts_s, reasons
from joulewise.study.jobs.worlds import Scene

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Counts
    from joulewise.model.jobs import JobAllocation, JobWorld, Label

NEAR_S = {"minute": 60.0, "ten_minutes": 600.0, "hour": 3600.0}
"""How far a wait may be from the logged one to count as near."""

_SIZES = {1: "1", 2: "2 to 15", 16: "16 to 127", 128: "128 to 1,023", 1024: "1,024 or more"}
"""The least processors of each size of jobs, and how it is called."""

_LABELS = ("partition", "queue", "user")


def waits(scene: Scene, allocation: JobAllocation) -> pl.DataFrame | None:
    """A row for each job with its logged and its simulated wait, and why they differ; None where no wait is logged.

    It has the jobs that arrived in the counted window, had nodes, were not cancelled and have a logged wait. What a log
    tells of waits is not so of its resamples, which have none.
    """
    import polars as pl

    from joulewise.simulate.jobs.measures import arrived_inside, job_times

    trace, world = scene.trace, scene.world
    if trace is None or trace.is_resample:
        return None
    counts = allocation.served & arrived_inside(world) & np.isfinite(trace.logged_wait_s)
    if not counts.any():
        return None
    wait_s = job_times(world, allocation).wait_s
    frame = pl.DataFrame(
        {
            "job": np.arange(world.n_jobs, dtype=np.int32),
            "job_id": trace.job_id,
            **{name: names_of(label.names, label.codes) for name, label in _labels(world).items()},
            "processors": trace.cores,
            "size": _sizes(trace.cores),
            "logged_wait_s": trace.logged_wait_s,
            "wait_s": wait_s,
            "difference_s": wait_s - trace.logged_wait_s,
            "first_start_s": first_starts_s(world, trace, allocation),
            "reason": names_of(tuple(REASONS), reasons(world, trace, allocation)),
        }
    )
    return frame.filter(pl.Series(counts))


def agreement(jobs: pl.DataFrame) -> pl.DataFrame:
    """Of the jobs of `waits`, a row for all of them, and for those of each size, partition, queue and user."""
    import polars as pl

    return pl.concat([_summed(jobs, by) for by in ("", "size", *_LABELS) if not by or by in jobs.columns])


def _labels(world: JobWorld) -> dict[str, Label]:
    return {name: world.jobs.labels[name] for name in _LABELS if name in world.jobs.labels}


def _summed(jobs: pl.DataFrame, by: str) -> pl.DataFrame:
    """A row for each value of a column; for everything where none is named."""
    import polars as pl

    apart_s = pl.col("difference_s").abs()
    key = pl.col(by) if by else pl.lit("")
    rows = (
        jobs.group_by(key.alias("name"), maintain_order=True)
        .agg(
            jobs=pl.len().cast(pl.Int64),
            mean_logged_wait_s=pl.col("logged_wait_s").mean(),
            mean_wait_s=pl.col("wait_s").mean(),
            median_logged_wait_s=pl.col("logged_wait_s").median(),
            median_wait_s=pl.col("wait_s").median(),
            **{f"within_{name}_percent": 100 * (apart_s <= near_s).mean() for name, near_s in NEAR_S.items()},
        )
        .sort("name")
    )
    return rows.select(pl.lit(by or "all").alias("by"), pl.col("name").cast(pl.String), pl.exclude("name"))


def _sizes(cores: Counts) -> pl.Series:
    """The size of each job, so that sizes sort as they rise."""
    import polars as pl

    names = list(_SIZES.values())
    place = np.searchsorted(np.array(list(_SIZES)), cores, side="right") - 1
    return pl.Series(np.array(names)[np.maximum(place, 0)]).cast(pl.Enum(names))

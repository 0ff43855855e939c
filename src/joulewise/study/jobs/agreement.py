"""How near the waits of a replay come to those of its log: over all jobs, and by partition, size, queue and user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from joulewise.study.jobs.worlds import Scene

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Counts
    from joulewise.model.jobs import JobAllocation

NEAR_S = {"minute": 60.0, "ten_minutes": 600.0, "hour": 3600.0}
"""How far a wait may be from the logged one to count as near."""

_SIZES = {1: "1", 2: "2 to 15", 16: "16 to 127", 128: "128 to 1,023", 1024: "1,024 or more"}
"""The least processors of each size of jobs, and how it is called."""

_LABELS = ("partition", "queue", "user")


def agreement(scene: Scene, allocation: JobAllocation) -> pl.DataFrame | None:
    """A row for all jobs, and for those of each partition, size, queue and user; None where no wait is logged."""
    import polars as pl

    from joulewise.simulate.jobs.measures import arrived_inside, job_times

    trace, world = scene.trace, scene.world
    if trace is None:
        return None
    counts = allocation.used & arrived_inside(world) & np.isfinite(trace.logged_wait_s)
    if not counts.any():
        return None
    frame = pl.DataFrame(
        {
            "wait_s": job_times(world, allocation).wait_s,
            "logged_wait_s": trace.logged_wait_s,
            "size": _sizes(trace.cores),
            **{name: pl.Series(label.codes) for name, label in world.jobs.labels.items() if name in _LABELS},
        }
    ).filter(pl.Series(counts))
    names = {name: world.jobs.labels[name].names for name in _LABELS if name in frame.columns}
    parts = [_summed(frame, "", None)]
    parts += [_summed(frame, "size", None)]
    parts += [_summed(frame, name, names[name]) for name in names]
    return pl.concat(parts)


def _summed(frame: pl.DataFrame, by: str, names: tuple[str, ...] | None) -> pl.DataFrame:
    """A row for each value of a column; for everything where none is named."""
    import polars as pl

    apart_s = (pl.col("wait_s") - pl.col("logged_wait_s")).abs()
    key = pl.lit("").alias("name") if not by else pl.col(by).alias("name")
    rows = (
        frame.group_by(key, maintain_order=True)
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
    if names is not None:
        told = [None if code < 0 else names[code] for code in rows["name"]]
        rows = rows.with_columns(name=pl.Series(told, dtype=pl.String))
    return rows.select(pl.lit(by or "all").alias("by"), pl.col("name").cast(pl.String), pl.exclude("name"))


def _sizes(cores: Counts) -> pl.Series:
    """The size of each job, so that sizes sort as they rise."""
    import polars as pl

    names = list(_SIZES.values())
    place = np.searchsorted(np.array(list(_SIZES)), cores, side="right") - 1
    return pl.Series(np.array(names)[np.maximum(place, 0)]).cast(pl.Enum(names))

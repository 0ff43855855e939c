"""Made-up studies with known answers for the tests of figures and reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present.gallery import figures_of, hung
from joulewise.present.layout import Drawing
from joulewise.present.page import Figure, page_of
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, LENIENCY, LOAD, POLICY, THRESHOLD, WEIGHT
from joulewise.study.kinds.systems import all_kinds

TITLES = {
    "random": "Random",
    "max-upt": "Max UPT",
    "min-min-comp": "Min-Min Comp",
    "max-max-upt": "Max-Max UPT",
}
MODES = {"random": "immediate", "max-upt": "immediate", "min-min-comp": "batch", "max-max-upt": "batch"}
FULL: dict[str, list[Any]] = {POLICY: list(TITLES), THRESHOLD: [0.0, 0.5, 1.5], LOAD: [33000, 50000]}
GAINED: dict[str, list[Any]] = {
    POLICY: ["min-min-comp", "max-max-upt"],
    "system.time_factor_cov": [0.0, 0.05, 0.1],
    "system.power_cov": [0.05, 0.1],
}

MANAGED: dict[str, list[Any]] = {
    POLICY: ["min-min-comp", "max-max-upt"],
    ENVIRONMENT: ["queued", "polled"],
    FILTER: ["none", "fair-share", "adaptive"],
    LENIENCY: [0.5, 0.75, 1.5],
}
WEIGHED: dict[str, list[Any]] = {POLICY: ["max-upt", "max-max-upt"], WEIGHT: [0.2, 0.5, 0.8]}
INFO: dict[str, Any] = {
    "name": "made up",
    "seed": 0,
    "source": 'name = "made up"\nseed = 0\n',
    "version": "1.2.3",
    "study_hash": "ab" * 32,
    "machine": "a machine",
    "made_at": "2026-01-02",
    "seconds": 75.0,
}
BUDGET_J = 1.4e9
_LEVEL = {"random": 3.0, "max-upt": 16.0, "min-min-comp": 53.0, "max-max-upt": 60.0}


def make_records(
    sweep: Mapping[str, Sequence[Any]] | None = None,
    *,
    n_trials: int = 3,
    traces: bool = True,
    kept_trials: int = 1,
    titles: Mapping[str, str] = TITLES,
    modes: Mapping[str, str] = MODES,
    **info: Any,
) -> Records:
    """Records of the full product of `sweep`; utility rises with the threshold and falls with the load."""
    axes: Mapping[str, Sequence[Any]] = FULL if sweep is None else sweep
    runs = _runs(axes, n_trials)
    study = StudyInfo(axes=tuple(axes), trials=n_trials, **{"kind": "managed", **INFO, **info})
    kept = runs.filter(pl.col("trial") < kept_trials) if runs.height else runs
    return Records(
        study,
        runs,
        summarise(runs, list(axes)),
        differ(runs, list(axes)),
        titles,
        modes,
        {"traces": _traces(kept)} if traces else {},
        page_of(study.kind).keys,
        all_kinds()[study.kind].headings(),
        headline="utility_percent",
    )


def drawings(records: Records) -> Iterator[tuple[Figure, Drawing]]:
    """Each figure of a report that shows something, with its drawing."""
    return ((figure, drawing) for figure, drawing in hung(records, figures_of(records)) if isinstance(drawing, Drawing))


def with_frames(records: Records, /, **frames: pl.DataFrame | None) -> Records:
    """The records with these detail tables in place of theirs; None takes one away."""
    left = {name: table for name, table in {**records.frames, **frames}.items() if table is not None}
    return replace(records, frames=left)


def _runs(axes: Mapping[str, Sequence[Any]], n_trials: int) -> pl.DataFrame:
    points = pl.DataFrame({"_": [0]})
    for key, values in axes.items():
        points = points.join(pl.DataFrame({key: values}), how="cross")
    rows = [
        {**point, "trial": trial, "world": f"{point.get(LOAD)} {trial}", **_metrics(point, trial, i)}
        for i, point in enumerate(points.drop("_").iter_rows(named=True))
        for trial in range(n_trials)
    ]
    frame = pl.DataFrame(rows).with_columns(run=pl.int_range(len(rows)).cast(pl.String))
    return frame if POLICY in axes else frame.with_columns(pl.lit("max-max-upt").alias(POLICY))


def _metrics(point: Mapping[str, Any], trial: int, i: int) -> dict[str, float | int]:
    noise = 0.3 * math.sin(7 * i + 3 * trial)
    level = _LEVEL.get(str(point.get(POLICY)), 40.0) + 5 * float(point.get(THRESHOLD) or 0.0)
    level += {"polled": 4.0}.get(str(point.get(ENVIRONMENT)), 0.0)
    thrift = _thrift(point)
    percent = (level + 8 * thrift * (1 - thrift)) * (33000 / float(point.get(LOAD) or 33000)) ** 0.5 + noise
    shares = {"critical": percent * 1.3, "high": percent * 1.1, "medium": percent, "low": percent / 2}
    return {
        "utility_percent": percent, "utility": 650 * percent, "tasks_arrived": 1000, "tasks_completed": 700 + i % 3,
        "tasks_dropped": 250, "tasks_killed": 0, "energy_j": (1.5 - 0.6 * thrift) * 1e9 + 1e7 * math.sin(5 * i + trial),
        "budget_j": BUDGET_J, "utility_bound": 650 * 80.0 + 100 * trial,
        **{f"priority_percent:{name}": share for name, share in shares.items()},
        "group_percent:special": 20 + noise, "group_percent:general": 80 - noise,
        **{f"tasks_arrived:{name}": 250 for name in shares},
        **{f"tasks_completed:{name}": 1.5 * share for name, share in shares.items()},
        **{f"tasks_dropped:{name}": 80 for name in shares},
        **{f"tasks_killed:{name}": 0 for name in shares},
    }  # fmt: skip


def _thrift(point: Mapping[str, Any]) -> float:
    """From 0, energy does not matter, to 1."""
    lenient = 0.75 / float(point.get(LENIENCY) or 1.5)
    filtered = {"fair-share": lenient / 1.5, "adaptive": 0.4}.get(str(point.get(FILTER)), 0.0)
    return min(1.0, filtered + float(point.get(WEIGHT) or 0.0))


def summarise(runs: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Means with rough intervals in the columns the study's statistics give."""
    metrics = ["utility_percent", "tasks_completed", "energy_j"]
    long = runs.select(*axes, *(pl.col(name).cast(pl.Float64) for name in metrics)).unpivot(
        on=metrics, index=axes, variable_name="metric"
    )
    return _with_interval(long, [*axes, "metric"])


def differ(runs: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Paired differences in utility between all ordered pairs of policies, or of the first axis."""
    if not axes:
        return pl.DataFrame()
    key = POLICY if POLICY in axes else axes[0]
    shared = [axis for axis in axes if axis != key]
    values = runs.select(*axes, "trial", value="utility_percent")
    other = values.rename({key: "against", "value": "base"})
    pairs = values.join(other, on=[*shared, "trial"]).filter(pl.col(key) != pl.col("against"))
    long = pairs.with_columns(value=pl.col("value") - pl.col("base"), metric=pl.lit("utility_percent"))
    return _with_interval(long, [*axes, "against", "metric"])


def _with_interval(long: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    value = pl.col("value")
    grouped = long.group_by(keys, maintain_order=True).agg(
        mean=value.mean(), half=2 * value.std() / value.count().sqrt(), n=pl.len()
    )
    bounds = grouped.with_columns(low=pl.col("mean") - pl.col("half"), high=pl.col("mean") + pl.col("half"))
    return bounds.select(*keys, "mean", "low", "high", "n")


def _traces(runs: pl.DataFrame) -> pl.DataFrame:
    """Curves that rise evenly; energy twice as fast until all is used."""
    share = pl.DataFrame({"part": [i / 300 for i in range(301)]})
    points = runs.select("run", "utility", "energy_j").join(share, how="cross")
    return points.select(
        "run",
        at_s=86400 * pl.col("part"),
        utility_cumulative=pl.col("utility") * pl.col("part"),
        energy_cumulative_j=pl.col("energy_j") * (2 * pl.col("part")).clip(0, 1),
        budget_cumulative_j=pl.lit(BUDGET_J),
    )

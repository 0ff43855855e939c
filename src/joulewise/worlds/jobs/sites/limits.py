"""What jobs may have together at a site while they run, or from when they come, by qualities of service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.site import ANY_NUMBER, Limits
from joulewise.worlds.jobs.sites.ground import OF_A_GPU
from joulewise.worlds.jobs.sites.site import GPUS, Qos, SiteTables

JOBS = "jobs"
_SCOPES = (("", None), ("_per_user", "user"), ("_per_account", "group"))
"""What the names of limits end with, and by which label of jobs these are counted."""


class _Holder(NamedTuple):
    """Who has a limit: jobs of a quality of service with one value of a label, or all of them."""

    qos: str
    label: str
    value: str


def limits_of(tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]]) -> Limits:
    """The limits of a site on the running jobs of a log; `uses` says by class what a job has of everything."""
    what = _what(tables.qos)
    return _limits(tables, log, partition, uses, what, partial(_amounts, what=what))


def submissions_of(
    tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]]
) -> Limits | None:
    """The limits of a site on jobs of a log that wait or run; None where it has none."""
    limits = _limits(tables, log, partition, uses, (JOBS,), _submissions)
    return limits if limits.names else None


def beyond(limits: Limits, come_s: Floats, gone_s: Floats) -> Bools:
    """Which jobs come when a holder of theirs has as many as it may, if jobs come and go at these instants.

    Of those that come at one instant the first in order do so before the others.
    """
    found = np.zeros(come_s.size, np.bool_)
    for holder in range(len(limits.names)):
        mine = np.flatnonzero((limits.holders == holder).any(axis=1))
        n_come = np.empty(mine.size, np.int64)
        n_come[np.argsort(come_s[mine], kind="stable")] = np.arange(mine.size)
        n_gone = np.searchsorted(np.sort(gone_s[mine]), come_s[mine], "right")
        found[mine] |= n_come - n_gone >= limits.most[holder, 0]
    return found


def _limits(
    tables: SiteTables, log: pl.DataFrame, partition: pl.Series, uses: Sequence[Mapping[str, int]],
    what: tuple[str, ...], amounts: Callable[[Qos, str], list[int]],
) -> Limits:  # fmt: skip
    """Limits on some things; `amounts` says how much of these each scope of a quality of service may have."""
    by_name = {each.name: each for each in tables.qos}
    unit = np.array([unit_of(tables, name) for name in what], np.int64)
    of_job = log["queue"].cast(pl.String)
    of_partition = pl.Series([each.qos for each in tables.partitions], dtype=pl.String)[partition]
    of_partition = of_partition.set(of_partition.eq(of_job).fill_null(False), None)  # nobody is counted twice
    found: dict[_Holder, int] = {}
    most: list[list[int]] = []
    columns = []
    for qos in (of_job, of_partition):
        for ending, label in _SCOPES:
            limited = {name: amounts(each, ending) for name, each in by_name.items()}
            limited = {name: row for name, row in limited.items() if min(row, default=ANY_NUMBER) < ANY_NUMBER}
            columns.append(_holders(qos, log[label] if label else None, limited, found, most))
    return Limits(
        what,
        tuple("/".join(filter(None, holder)) for holder in found),
        np.array(most, np.int64).reshape(len(found), len(what)) * unit,
        np.array([[use.get(name, 0) for name in what] for use in uses], np.int64).reshape(len(uses), len(what)),
        np.stack(columns, axis=1),
    )


def too_much(tables: SiteTables, qos: str | None, uses: Mapping[str, int]) -> bool:
    """Whether a job has more of something than a single job of its quality of service may."""
    limits = next((each.max_per_job for each in tables.qos if each.name == qos), {})
    return any(uses.get(name, 0) > most * unit_of(tables, name) for name, most in limits.items())


def unit_of(tables: SiteTables, name: str) -> int:
    """As how much one of a thing that is limited counts: GPUs are counted in parts."""
    return OF_A_GPU if name == GPUS or any(name in group.gpus for group in tables.nodes) else 1


def _what(all_qos: Sequence[Qos]) -> tuple[str, ...]:
    """Everything that is limited."""
    named = (name for qos in all_qos for ending, _ in _SCOPES for name in getattr(qos, f"max{ending}"))
    return (JOBS, *dict.fromkeys(named)) if all_qos else ()


def _submissions(qos: Qos, ending: str) -> list[int]:
    """How many jobs that wait or run a scope of a quality of service may have."""
    most = getattr(qos, f"max_submitted{ending}")
    return [ANY_NUMBER if most is None else most]


def _amounts(qos: Qos, ending: str, what: tuple[str, ...]) -> list[int]:
    """The most of everything that a scope of a quality of service may have."""
    limits = {JOBS: getattr(qos, f"max_jobs{ending}"), **getattr(qos, f"max{ending}")}
    return [ANY_NUMBER if limits.get(name) is None else limits[name] for name in what]


def _holders(
    qos: pl.Series, label: pl.Series | None, limited: Mapping[str, list[int]], found: dict[_Holder, int],
    most: list[list[int]],
) -> Counts:  # fmt: skip
    """The holder of each job in one scope, -1 where it has none; new ones are added to those found."""
    values = pl.Series([""]).new_from_index(0, len(qos)) if label is None else label.fill_null("")
    pairs = pl.DataFrame({"qos": qos.cast(pl.String), "value": values.cast(pl.String)})
    kinds = pairs.unique(maintain_order=True).with_row_index("kind")
    of_job = pairs.join(kinds, on=["qos", "value"], how="left", nulls_equal=True, maintain_order="left")["kind"]
    numbers = []
    for _, name, value in kinds.iter_rows():
        holder = _Holder(name, "" if label is None else label.name, value)
        if name in limited and holder not in found:
            found[holder] = len(found)
            most.append(limited[name])
        numbers.append(found.get(holder, -1))
    return np.take(np.array(numbers, np.int64), of_job.to_numpy())

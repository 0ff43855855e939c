"""Who gives way to whom at a site, by the qualities of service of jobs or by the tiers of their partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from joulewise.model.arrays import Bools, Counts, Ints
from joulewise.model.preemption import Preemption
from joulewise.worlds.jobs.sites.ground import few
from joulewise.worlds.jobs.sites.site import PREEMPTIONS, Partition, Qos, SiteTables
from joulewise.worlds.jobs.trace_jobs import TraceFinding

BY_TIERS, BY_QOS, BY_NOBODY = "preempt/partition_prio", "preempt/qos", "preempt/none"
_OFF, _REQUEUE, _SUSPEND, _CANCEL = PREEMPTIONS


def preemption_of(
    tables: SiteTables, log: pl.DataFrame, partition: pl.Series, findings: list[TraceFinding]
) -> Preemption | None:
    """The kinds of a log's jobs, and which of them stop which; None where none does.

    They are partitions, by their tiers, or qualities of service, as `preempttype` says. `partition` has the number of
    that of each job. What is not replayed is noted.
    """
    kind = preempttype_of(tables)
    if kind == BY_TIERS:
        tiers = np.array([each.tier for each in tables.partitions])
        _note_partitions(tables, findings)
        return _made(tables, tables.partitions, partition.to_numpy().astype(np.int32), tiers[:, None] > tiers, tiers)
    preempting = [each.name for each in tables.qos if each.preempts]
    if preempting and kind != BY_QOS:
        _note(findings, "preemption by qualities of service", preempting)
    if not preempting or kind != BY_QOS:
        return None
    numbers = {each.name: number for number, each in enumerate(tables.qos)}
    of_job = log["queue"].cast(pl.String).replace_strict(numbers, default=-1, return_dtype=pl.Int64)
    stops = np.array([[b.name in a.preempts for b in tables.qos] for a in tables.qos])
    _note_stay(tables, [tables.qos[b] for b in np.flatnonzero(stops.any(axis=0))], findings)
    priority = np.array([each.priority for each in tables.qos])
    return _made(tables, tables.qos, of_job.to_numpy().astype(np.int32), stops, priority)


def preempttype_of(tables: SiteTables) -> str:
    """By what jobs of a site give way: by qualities of service if nothing is said, which then say it themselves."""
    kind = str(tables.slurm.get("preempttype", BY_QOS)).casefold()
    return kind if kind.startswith("preempt/") else f"preempt/{kind}"


def mode_of(tables: SiteTables, of: Qos | Partition) -> str:
    """What becomes of jobs that give way: as their quality of service or partition says, or else as `[slurm]` does."""
    if of.preemption is not None:
        return of.preemption
    said = tables.slurm.get("preemptmode", ())
    names: Sequence[str] = [name.casefold() for name in said] if isinstance(said, tuple) else []
    return next((mode for mode in PREEMPTIONS if mode in names), _OFF)


def _made(
    tables: SiteTables, kinds: Sequence[Qos | Partition], of_job: Ints, stops: Bools, priority: Counts
) -> Preemption | None:
    """Kinds of jobs of which some stop others, which give way as they say; None where no job does."""
    modes = np.array([mode_of(tables, each) for each in kinds])
    stops = stops & (modes != _OFF)
    if not stops.any():
        return None
    suspends, never_again = modes == _SUSPEND, tables.slurm.get("jobrequeue") is False
    exempt_s = tables.slurm.get("preemptexempttime", 0.0)
    assert isinstance(exempt_s, int | float)
    return Preemption(
        tuple(each.name for each in kinds),
        of_job,
        stops,
        priority,
        np.where(suspends, 0.0, [each.grace_s for each in kinds]),
        ~suspends & ((modes == _CANCEL) | never_again),
        float(exempt_s),
        suspends,
    )


def _note_stay(tables: SiteTables, stopped: Sequence[Qos], findings: list[TraceFinding]) -> None:
    names = [each.name for each in stopped if mode_of(tables, each) == _OFF]
    if names:
        _note(findings, "preemption without a way to give way", names)


def _note_partitions(tables: SiteTables, findings: list[TraceFinding]) -> None:
    """Qualities of service stop nobody where tiers of partitions do."""
    names = [each.name for each in tables.qos if each.preempts]
    if names:
        _note(findings, "preemption by qualities of service", names)


def _note(findings: list[TraceFinding], what: str, names: list[str]) -> None:
    reason = f"{what} of the site ({few(names)})"
    findings.append(TraceFinding(f"not replayed: {what}", len(names), reason, "not replayed", "lost"))

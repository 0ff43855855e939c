"""Which jobs a site would refuse for whose they are: partitions for others, and limits on a single job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.arrays import Ints
from joulewise.model.site import Limits
from joulewise.units import count, duration
from joulewise.worlds.jobs.sites.associations import Associations
from joulewise.worlds.jobs.sites.ground import OF_A_GPU, few
from joulewise.worlds.jobs.sites.limits import JOBS, SiteLimits, Standing, standings, unit_of
from joulewise.worlds.jobs.sites.site import CORES, MEMORY_MIB, NODES, Partition, SiteTables
from joulewise.worlds.jobs.sites.too_little import amount_of
from joulewise.worlds.jobs.trace_jobs import TraceFinding

_SINGULAR = {JOBS: "job", NODES: "node", CORES: "processor"}


class Admission(NamedTuple):
    """By job why it would never be taken, "" where it would, and which of the rows of `most` a job may have at most."""

    why_not: pl.Series
    limit: pl.Series
    most: Sequence[Mapping[str, int]]


def admission_of(tables: SiteTables, log: pl.DataFrame, partition: pl.Series, requested_s: pl.Series) -> Admission:
    """What a site says to the jobs of a log for whose they are, and for the time that they ask for."""
    found, rules = standings(tables, log, partition), SiteLimits(tables)
    longest_s = [rules.longest_s(of) for of in found.all]
    limits = [tuple(sorted(rules.of_one(of).items())) for of in found.all]
    most = {one: number for number, one in enumerate(dict.fromkeys(limits))}
    by_job = pl.DataFrame(
        {
            "asked_s": requested_s,
            "longest_s": found.by_job(pl.Series(longest_s, dtype=pl.Float64)),
            "refusal": found.by_job(pl.Series([_refusal(rules, of) for of in found.all], dtype=pl.String)),
            "too_long": found.by_job(pl.Series(list(map(_too_long, longest_s)), dtype=pl.String)),
            "limit": found.by_job(pl.Series([most[one] for one in limits], dtype=pl.Int64)),
        }
    ).with_columns(
        why_not=pl.when(pl.col("refusal") != "")
        .then("refusal")
        .when(pl.col("asked_s") > pl.col("longest_s"))
        .then("too_long")
        .otherwise(pl.lit(""))
    )
    return Admission(by_job["why_not"], by_job["limit"], [dict(one) for one in most])


def _too_long(longest_s: float | None) -> str:
    return "" if longest_s is None else f"they may ask for {duration(longest_s)} at most by their limits"


def _refusal(rules: SiteLimits, of: Standing) -> str:
    """Why a partition is not for a job, "" where it is, or where its log does not tell."""
    partition = rules.tables.partitions[of.partition]
    if of.account is not None and not _may(rules.associations, partition, of.account):
        return f"partition {partition.name} is not for their accounts"
    if of.qos is not None and not _is_let_in([of.qos], partition.qos_of_jobs, partition.denied_qos):
        return f"partition {partition.name} is not for their qualities of service"
    return ""


def _may(associations: Associations, partition: Partition, account: str) -> bool:
    return _is_let_in(associations.chain(account), partition.accounts, partition.denied_accounts)


def _is_let_in(names: Collection[str], allowed: Collection[str], denied: Collection[str]) -> bool:
    """Whether one of some names is allowed or, where all are, none is denied, as in Slurm."""
    return any(name in allowed for name in names) if allowed else not any(name in denied for name in names)


def too_much(tables: SiteTables, limits: Mapping[str, int], uses: Mapping[str, int]) -> str:
    """Of what a job has more than a single one may; "" where it has not."""
    for name, most in limits.items():
        if uses.get(name, 0) > most * unit_of(tables, name):
            return f"they may have {_amount(tables, name, most)} at most by their limits"
    return ""


def note_beyond_limits(tables: SiteTables, limits: Limits, of_job: Ints, findings: list[TraceFinding]) -> None:
    """Note jobs of which each alone is more than all of a holder may have, by holder and thing."""
    n = np.zeros(limits.most.shape, np.int64)
    for holder in limits.binding.T if limits.names else ():
        is_over = (holder[:, None] >= 0) & (limits.uses[of_job] > limits.most[np.maximum(holder, 0)])
        for w in range(len(limits.what)):
            n[:, w] += np.bincount(holder[is_over[:, w]], minlength=len(limits.names))
    for at, w in zip(*(rows.tolist() for rows in np.nonzero(n)), strict=True):
        thing, most = limits.what[w], int(limits.most[at, w])
        reason = f"{limits.names[at]} may have {_amount(tables, thing, most // unit_of(tables, thing))} in all"
        told = f"jobs that the site would never start: {reason}"
        findings.append(TraceFinding(reason, int(n[at, w]), told, "impossible", "lost"))


def _amount(tables: SiteTables, name: str, n: int) -> str:
    """So much of a thing that is limited, in words."""
    if name in _SINGULAR:
        return count(n, _SINGULAR[name])
    if name == MEMORY_MIB or unit_of(tables, name) == OF_A_GPU:
        return amount_of(name, n * unit_of(tables, name))
    return f"{n:,} {name}"


def note_unknown_qos(tables: SiteTables, qos: pl.Series, findings: list[TraceFinding]) -> None:
    """Note jobs of qualities of service that the site does not have, where it has some."""
    absent = qos.filter(~qos.is_in([each.name for each in tables.qos]))
    if tables.qos and absent.len():
        names = few(absent.unique(maintain_order=True).to_list())
        reason = f"jobs of qualities of service that the site does not have ({names})"
        done = "they have no limits and no priority of one"
        findings.append(TraceFinding("unknown quality of service", absent.len(), reason, done, "lost"))

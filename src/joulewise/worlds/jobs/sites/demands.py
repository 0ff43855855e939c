"""What the jobs of a log ask of a site, and which of them it would never start."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from joulewise.model.site import ANY_NUMBER, Demands, Site
from joulewise.worlds.jobs.sites.ground import OF_A_GPU, capped_cores
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB, NodeGroup, Partition
from joulewise.worlds.jobs.sites.site import Site as SiteTables
from joulewise.worlds.jobs.trace_jobs import Processors, TraceFinding, TraceJobs

_FEATURES = re.compile(r"[\w.\-]+([&|][\w.\-]+)*")
_KB = 1024


class Asked(NamedTuple):
    """What a class of jobs asks for, of the site as a whole; `memory_kb` is for each processor.

    `why_not` says why such jobs would never start, or is empty.
    """

    partition: int
    nodes: int | None
    cores: int
    gpus: float
    gpu_kind: str | None
    memory_kb: float
    licences: str | None
    features: str | None
    why_not: str


def demands_on(
    tables: SiteTables, site: Site, jobs: TraceJobs, processors: Processors, findings: list[TraceFinding]
) -> Demands:
    """What jobs ask of a site, as far as their log tells; what is odd about them is noted.

    A job of a partition that gives whole nodes gets as many as it had or as have its processors. Any other gets a like
    part of each of its nodes, or processors wherever they are free if its number of nodes is not known.
    """
    frame = _asked(tables, jobs, processors, findings)
    rows = frame.unique(maintain_order=True).with_row_index("kind")
    of_job = frame.join(rows, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")["kind"]
    kinds = [Asked(*row) for row in rows.drop("kind").iter_rows()]
    _note_features(kinds, of_job, findings)
    made = [_Kind.of(tables, site, asked) for asked in kinds]
    return Demands(
        of_job.to_numpy(),
        np.array([asked.partition for asked in kinds]),
        np.array([kind.units for kind in made]),
        np.array([kind.most for kind in made]),
        np.array([kind.need for kind in made]),
        np.array([kind.gives for kind in made]),
        np.array([_licences(site, asked) for asked in kinds]).reshape(len(kinds), len(site.licences)),
    )


class _Kind(NamedTuple):
    """The pieces of a class: how many units they must give, how many may be on a node, and by group what each takes."""

    units: int
    most: int
    need: list[list[int]]
    gives: list[int]

    @staticmethod
    def of(tables: SiteTables, site: Site, asked: Asked) -> _Kind:
        partition = tables.partitions[asked.partition]
        is_whole = bool(site.gives_wholes[asked.partition])
        units, most, pieces = _pieces(asked, is_whole=is_whole)
        need, gives = [], []
        for g, group in enumerate(tables.nodes):
            has = dict(zip(site.resources, site.capacity[g].tolist(), strict=True))
            share = pieces if pieces else max(math.ceil(asked.cores / group.cores), 1)
            piece = _piece(asked, share, partition, site.resources)
            may = not asked.why_not and group.name in partition.nodes and _suits(asked, group)
            fits = may and all(piece[name] <= has[name] for name in site.resources)
            whole = is_whole and not site.is_counted[g]
            need.append([has[name] if whole else piece[name] for name in site.resources])
            gives.append(int(fits) * (1 if pieces else group.cores))
        return _Kind(units, most, need, gives)


def _pieces(asked: Asked, *, is_whole: bool) -> tuple[int, int, int]:
    """The units that a job needs, how many pieces may be on a node, and into how many like parts it is divided.

    No parts means whole nodes until there are processors enough.
    """
    if asked.nodes:
        return asked.nodes, 1, asked.nodes
    if is_whole:
        return asked.cores, 1, 0
    n = max(math.ceil(asked.gpus), 1) if asked.gpus else asked.cores
    return n, ANY_NUMBER, n


def _piece(asked: Asked, n: int, partition: Partition, resources: tuple[str, ...]) -> dict[str, int]:
    """What one of n like parts of a job takes."""
    cores = math.ceil(asked.cores / n)
    takes = dict.fromkeys(resources, 0)
    takes[CORES] = cores
    takes[MEMORY_MIB] = math.ceil(asked.memory_kb * cores / _KB)
    takes[GPUS] = math.ceil(asked.gpus * OF_A_GPU / n)
    for kind, number in _kinds_of(asked.gpu_kind, asked.gpus).items():
        if kind in takes:
            takes[kind] = math.ceil(number * OF_A_GPU / n)
    if capped_cores(partition) in takes:
        takes[capped_cores(partition)] = cores
    return takes


def _kinds_of(text: str | None, n: float) -> Mapping[str, float]:
    """How many GPUs of which kind, from a kind or from kind=number,...; none where one of several kinds will do."""
    if text is None or "|" in text:
        return {}
    pairs = (part.partition("=") for part in text.split(","))
    return {kind: float(number) if number else n for kind, _, number in pairs}


def _suits(asked: Asked, group: NodeGroup) -> bool:
    """Whether nodes of a group have the features and the kind of GPUs that are asked for."""
    if asked.gpus and asked.gpu_kind:
        kinds = asked.gpu_kind.split("|") if "|" in asked.gpu_kind else list(_kinds_of(asked.gpu_kind, asked.gpus))
        found = [kind in group.gpus for kind in kinds]
        if not (any(found) if "|" in asked.gpu_kind else all(found)):
            return False
    return not _is_simple(asked.features) or any(
        all(name in group.features for name in both.split("&")) for both in str(asked.features).split("|")
    )


def _is_simple(features: str | None) -> bool:
    """Whether features are a list of such that all, or any, must be there."""
    return features is not None and _FEATURES.fullmatch(features) is not None


def _licences(site: Site, asked: Asked) -> list[int]:
    """How many of each licence of the site a class needs."""
    needs = dict.fromkeys(site.licences, 0)
    for part in filter(None, (asked.licences or "").split(",")):
        name, _, number = part.partition("=")
        if name in needs:
            needs[name] = int(number or 1)
    return list(needs.values())


def _asked(tables: SiteTables, jobs: TraceJobs, processors: Processors, findings: list[TraceFinding]) -> pl.DataFrame:
    """A row for each job with the fields of `Asked`."""
    log, numbers = jobs.log, {each.name: i for i, each in enumerate(tables.partitions)}
    usual = next((i for i, each in enumerate(tables.partitions) if each.default), 0)
    named = log["partition"].replace_strict(numbers, default=None, return_dtype=pl.Int64)
    _note_partitions(log["partition"].filter(named.is_null()), tables.partitions[usual].name, findings)
    first, then = ("requested_", "") if processors == "requested" else ("", "requested_")
    partition = named.fill_null(usual)
    nodes = pl.coalesce(f"{first}nodes", f"{then}nodes")
    frame = log.select(
        partition=partition,
        nodes=pl.when(nodes > 0).then(nodes),
        cores=pl.Series(jobs.cores),
        gpus=pl.coalesce(f"{first}gpus", f"{then}gpus").fill_null(0.0),
        gpu_kind=pl.coalesce("requested_gpu_kind", "gpu_kind"),
        memory_kb=pl.col("requested_memory_kb").fill_null(0.0),
        licences="licences",
        features="features",
    )
    why = _why_not(tables, frame, jobs)
    for reason, n in why.filter(why != "").value_counts().sort("count", descending=True).iter_rows():
        findings.append(
            TraceFinding(reason, n, f"jobs that the site would never start: {reason}", "impossible", "lost")
        )
    return frame.with_columns(why_not=why)


def _why_not(tables: SiteTables, frame: pl.DataFrame, jobs: TraceJobs) -> pl.Series:
    """Why jobs would never start in their partition, "" where they may."""
    limits: dict[str, list[Any]] = {
        "max_time": [math.inf if each.max_time_s is None else each.max_time_s for each in tables.partitions],
        "max_nodes": [ANY_NUMBER if each.max_nodes is None else each.max_nodes for each in tables.partitions],
        "min_nodes": [each.min_nodes for each in tables.partitions],
        "is_up": [each.state == "up" for each in tables.partitions],
        "name": [each.name for each in tables.partitions],
    }
    limit = {name: pl.Series(values)[frame["partition"]] for name, values in limits.items()}
    reasons = (
        (~limit["is_up"], "is not up"),
        (pl.Series(jobs.requested_s) > limit["max_time"], "has a shorter time limit than they ask for"),
        ((frame["nodes"] > limit["max_nodes"]).fill_null(False), "allows fewer nodes"),
        ((frame["nodes"] < limit["min_nodes"]).fill_null(False), "asks for more nodes"),
    )
    why = pl.Series([""]).new_from_index(0, frame.height)
    for is_so, text in reasons:
        words = pl.select(pl.lit("partition ") + limit["name"] + pl.lit(f" {text}")).to_series()
        why = why.zip_with(~(is_so & (why == "")), words)
    return why


def _note_partitions(unknown: pl.Series, usual: str, findings: list[TraceFinding]) -> None:
    """Note jobs that name no partition of the site."""
    names = unknown.drop_nulls().unique(maintain_order=True).to_list()
    parts: Iterator[tuple[int, str]] = iter(
        (
            (unknown.null_count(), "jobs that name no partition"),
            (
                len(unknown) - unknown.null_count(),
                f"jobs of partitions that the site does not have ({', '.join(names[:6])})",
            ),
        )
    )
    for n, reason in parts:
        if n:
            findings.append(TraceFinding(reason, n, reason, f"sent to the partition {usual}", "guessed"))


def _note_features(kinds: list[Asked], of_job: pl.Series, findings: list[TraceFinding]) -> None:
    """Note features that are asked for in a way that is not replayed."""
    odd = [i for i, asked in enumerate(kinds) if asked.features is not None and not _is_simple(asked.features)]
    n = int(of_job.is_in(odd).sum())
    if n:
        reason = "jobs that ask for features in another way than a&b or a|b"
        findings.append(TraceFinding("odd features", n, reason, "replayed on any nodes", "lost"))

"""What the jobs of a log ask of a site, and which of them it would never start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.model.kept import KeptNodes
from joulewise.model.site import ANY_NUMBER, Demands, Limits, Site
from joulewise.worlds.jobs.sites.admission import admission_of, note_beyond_limits, note_unknown_qos, too_much
from joulewise.worlds.jobs.sites.ground import OF_A_GPU, capped_cores, few
from joulewise.worlds.jobs.sites.hours import Calendar
from joulewise.worlds.jobs.sites.limits import JOBS, beyond, limits_of, submissions_of
from joulewise.worlds.jobs.sites.preemption import preemption_of
from joulewise.worlds.jobs.sites.priorities import Ranking, priorities_of
from joulewise.worlds.jobs.sites.reservations import kept_of, may_not_have
from joulewise.worlds.jobs.sites.site import CORES, GPUS, MEMORY_MIB, NODES, NodeGroup, SiteTables
from joulewise.worlds.jobs.sites.too_little import too_little
from joulewise.worlds.jobs.trace_jobs import Processors, TraceFinding, TraceJobs

_FEATURE = r"[\w.\-]+"
FEATURES = re.compile(rf"{_FEATURE}(&{_FEATURE})*|{_FEATURE}(\|{_FEATURE})*")
"""How features are asked for that are understood."""
_NUMBERED = re.compile(r"(.+)=([0-9]+(?:\.[0-9]+)?)")
_KIB = 1024
NEVER_STARTED = "impossible"
"""What becomes of jobs that the site would never start."""
ABSENT_LICENCES = "absent licences"
"""The key of the finding on licences that a site lacks."""
_DIGITS = 6
"""Of amounts that are rounded up, so that the rounding of their computation does not count."""


class Asked(NamedTuple):
    """What a class of jobs asks for in all; `gpus` are in thousandths, `kept` is the reservation, -1 for none.

    `limit` numbers the limits on a single one of them. `why_not` says why such jobs would never start, or is empty.
    """

    partition: int
    nodes: int | None
    cores: int
    memory_mib: int
    gpus: int
    gpu_kind: str | None
    licences: str | None
    features: str | None
    kept: int
    limit: int
    why_not: str


def demands_on(
    tables: SiteTables,
    site: Site,
    jobs: TraceJobs,
    processors: Processors,
    findings: list[TraceFinding],
    calendar: Calendar | None = None,
) -> Demands:
    """What jobs ask of a site, as far as their log tells; what is odd about them is noted.

    Where the number of nodes of a job is known, each of its nodes gives a like part of all. Where it is not, a job of a
    partition that gives whole nodes has as many as it needs, and any other has a piece for each GPU, or else for each
    processor, wherever these are free.
    """
    frame, most_of_one = _asked(tables, site.kept, jobs, processors, findings)
    frame = frame if calendar is None else calendar.turned_away(frame, jobs.submit_s)
    rows = frame.unique(maintain_order=True).with_row_index("kind")
    of_job = frame.join(rows, on=frame.columns, how="left", nulls_equal=True, maintain_order="left")["kind"]
    asking = [Asked(*row) for row in rows.drop("kind").iter_rows()]
    kinds = [_within(tables, asked, most_of_one[asked.limit]) for asked in asking]
    _note_oddities(site, kinds, of_job, findings)
    made = [_Kind.of(tables, site, asked) for asked in kinds]
    _note_misfits(site, kinds, made, of_job, findings)
    asks = [_uses(tables, asked) for asked in kinds]
    uses = [_held(tables, site, *each) for each in zip(kinds, made, asks, strict=True)]
    nodes = [asked.nodes or 1 for asked in kinds]
    ranking = Ranking(of_job.to_numpy(), frame["partition"].to_numpy(), nodes, asks, uses)
    limits = limits_of(tables, jobs.log, frame["partition"], uses)
    note_beyond_limits(tables, limits, ranking.of_job, findings)
    return Demands(
        ranking.of_job,
        np.array([asked.partition for asked in kinds]),
        np.array([kind.units for kind in made]),
        np.array([kind.most for kind in made]),
        np.array([kind.need for kind in made]),
        np.array([kind.gives for kind in made]),
        np.array([_licences(site, asked) for asked in kinds]).reshape(len(kinds), len(site.licences)),
        limits,
        priorities_of(tables, jobs, ranking, findings),
        np.array([asked.kept for asked in kinds]),
        _submitted(tables, jobs, frame["partition"], uses, findings),
        preemption_of(tables, jobs.log, frame["partition"], findings),
    )


def _submitted(
    tables: SiteTables, jobs: TraceJobs, partition: pl.Series, uses: list[dict[str, int]], findings: list[TraceFinding]
) -> Limits | None:
    """The limits on jobs that wait or run; how many jobs of the log are beyond them is noted."""
    limits = submissions_of(tables, jobs.log, partition, uses)
    wait_s = jobs.log["wait_s"].cast(pl.Float64).fill_null(0.0).to_numpy()
    n = 0 if limits is None else int(beyond(limits, jobs.submit_s, jobs.submit_s + wait_s + jobs.run_s).sum())
    if n:
        reason = "jobs that came in the log when as many waited or ran as a max_submitted allows"
        findings.append(TraceFinding("beyond max_submitted", n, reason, "refused where it is so in the replay"))
    return limits


class _Kind(NamedTuple):
    """The pieces of a class: how many units they must give, how many may be on a node, and by group what each takes.

    `need` is what is taken from others: of an exclusive node all that it has. `pieces` is what is asked for, None where
    nodes lack the features or the kind of GPUs.
    """

    units: int
    most: int
    need: list[list[int]]
    gives: list[int]
    pieces: list[list[int] | None]

    @staticmethod
    def of(tables: SiteTables, site: Site, asked: Asked) -> _Kind:
        pieces: list[list[int] | None] = []
        is_whole = bool(site.gives_wholes[asked.partition])
        if asked.nodes:
            units, most = asked.nodes, 1
        elif is_whole:
            units, most = asked.cores, 1
        else:
            units, most = _up(asked.gpus, OF_A_GPU) or asked.cores, ANY_NUMBER
        has_parts = bool(asked.nodes) or not is_whole
        need, gives = [], []
        for g, group in enumerate(tables.nodes):
            has = site.capacity[g].tolist()
            takes = _takes(tables, site, asked, group)
            n, gain = (units, 1) if has_parts else _wholes(asked.cores, takes, has)
            piece = [_up(amount, n) for amount in takes]
            fits = all(part <= there for part, there in zip(piece, has, strict=True))
            may = fits and not asked.why_not and site.in_partition[asked.partition, g] and _suits(asked, group)
            need.append(has if is_whole else piece)
            gives.append(gain if may else 0)
            pieces.append(piece if _suits(asked, group) else None)
        return _Kind(units, most, need, gives, pieces)


def _up(amount: int, parts: int) -> int:
    """One of so many parts of an amount, rounded up."""
    return -(-amount // parts)


def _takes(tables: SiteTables, site: Site, asked: Asked, group: NodeGroup) -> list[int]:
    """What a class takes in all of each resource, on nodes of a group."""
    amounts = {CORES: asked.cores, MEMORY_MIB: asked.memory_mib, GPUS: asked.gpus}
    capped = {capped_cores(tables.partitions[asked.partition]): asked.cores}
    kinds = _gpus_by_kind(asked, group) or {}
    return [{**kinds, **amounts, **capped}.get(name, 0) for name in site.resources]


def _wholes(cores: int, takes: Sequence[int], has: Sequence[int]) -> tuple[int, int]:
    """How many whole nodes of a group have enough of everything, and how many processors each gives."""
    needed = [_up(amount, there) for amount, there in zip(takes, has, strict=True) if there]
    n = max(needed, default=1)
    return n, _up(cores, n) if n > needed[0] else has[0]


def _gpus_by_kind(asked: Asked, group: NodeGroup) -> dict[str, int] | None:
    """How many GPUs of which kind a class takes of a group, in thousandths; None where the group lacks the kind.

    Of kinds of which any will do it takes the one that nodes of the group have most of.
    """
    if not asked.gpus or asked.gpu_kind is None:
        return {}
    if "|" in asked.gpu_kind:
        found = [kind for kind in asked.gpu_kind.split("|") if kind in group.gpus]
        return {max(found, key=group.gpus.__getitem__): asked.gpus} if found else None
    numbers = _numbers(asked.gpu_kind, asked.gpus / OF_A_GPU)
    kinds = {kind: round(number * OF_A_GPU) for kind, number in numbers.items()}
    return kinds if kinds.keys() <= group.gpus.keys() else None


def _numbers(text: str, usual: float = 1) -> dict[str, float]:
    """How many there are of what, from name=number,...; the usual number where none is said."""
    matches = ((part, _NUMBERED.fullmatch(part)) for part in text.split(",") if part)
    return {match[1] if match else part: float(match[2]) if match else usual for part, match in matches}


def _uses(tables: SiteTables, asked: Asked) -> dict[str, int]:
    """What a job of a class counts for, where there are limits; without a number of nodes, for one at least."""
    gpus: dict[str, int] = next(filter(None, (_gpus_by_kind(asked, group) for group in tables.nodes)), {})
    licences = {name: round(number) for name, number in _numbers(asked.licences or "").items()}
    amounts = {CORES: asked.cores, NODES: asked.nodes or 1, MEMORY_MIB: asked.memory_mib, GPUS: asked.gpus, JOBS: 1}
    return {**licences, **gpus, **amounts}


def _within(tables: SiteTables, asked: Asked, most: Mapping[str, int]) -> Asked:
    """What is asked for, with why not where that is more than a single job may have."""
    return asked._replace(why_not=asked.why_not or too_much(tables, most, _uses(tables, asked)))


def _held(tables: SiteTables, site: Site, asked: Asked, made: _Kind, uses: dict[str, int]) -> dict[str, int]:
    """What jobs of a class have while they run: where they get whole nodes, all of these, of the smallest ones."""
    groups = [g for g in range(site.n_groups) if made.gives[g]]
    if not site.gives_wholes[asked.partition] or not groups:
        return uses
    group, n = min(
        ((tables.nodes[g], _up(made.units, made.gives[g])) for g in groups), key=lambda pair: pair[0].cores * pair[1]
    )
    kinds = {kind: number * OF_A_GPU for kind, number in group.gpus.items()}
    memory_mib = {} if group.memory_mib is None else {MEMORY_MIB: group.memory_mib}
    of_node = {**group.other, **kinds, **memory_mib, CORES: group.cores, GPUS: sum(kinds.values()), NODES: 1}
    return {**uses, **{name: number * n for name, number in of_node.items()}}


def _suits(asked: Asked, group: NodeGroup) -> bool:
    """Whether nodes of a group have the features and the kinds of GPUs that are asked for."""
    if _gpus_by_kind(asked, group) is None:
        return False
    if asked.features is None or not FEATURES.fullmatch(asked.features):
        return True
    return any(all(name in group.features for name in both.split("&")) for both in asked.features.split("|"))


def _licences(site: Site, asked: Asked) -> list[int]:
    """How many of each licence of the site a class needs."""
    numbers = _numbers(asked.licences or "")
    return [round(numbers.get(name, 0)) for name in site.licences]


def _asked(
    tables: SiteTables, kept: KeptNodes, jobs: TraceJobs, processors: Processors, findings: list[TraceFinding]
) -> tuple[pl.DataFrame, Sequence[Mapping[str, int]]]:
    """A row for each job with the fields of `Asked`, and limits on single jobs."""
    log, numbers = jobs.log, {each.name: i for i, each in enumerate(tables.partitions)}
    usual = next((i for i, each in enumerate(tables.partitions) if each.default), 0)
    partition = log["partition"].replace_strict(numbers, default=None, return_dtype=pl.Int64)
    _note_partitions(log["partition"].filter(partition.is_null()), tables, usual, findings)
    first, then = ("requested_", "") if processors == "requested" else ("", "requested_")
    nodes, gpus = (pl.coalesce(f"{first}{name}", f"{then}{name}") for name in ("nodes", "gpus"))
    memory_kb = pl.col("requested_memory_kb") * pl.coalesce("requested_cores", "cores")
    frame = log.select(
        partition=partition.fill_null(usual),
        nodes=pl.when(nodes > 0).then(nodes),
        cores=pl.Series(jobs.cores),
        memory_mib=(memory_kb / _KIB).round(_DIGITS).ceil().fill_null(0).clip(0, ANY_NUMBER).cast(pl.Int64),
        gpus=(gpus * OF_A_GPU).round(_DIGITS).ceil().fill_null(0).clip(0, ANY_NUMBER).cast(pl.Int64),
        gpu_kind=pl.when(pl.col("requested_gpus") > 0).then("requested_gpu_kind").otherwise("gpu_kind"),
        licences="licences",
        features="features",
        kept=kept_of(kept, log, findings),
    )
    note_unknown_qos(tables, log["queue"].cast(pl.String), findings)
    limit_s = pl.Series(jobs.requested_s)
    admission = admission_of(tables, log, frame["partition"], limit_s)
    why_not = _why_not(tables, frame, jobs)
    why_not = why_not.zip_with(why_not != "", admission.why_not)
    if kept.names:
        why_not = why_not.zip_with(why_not != "", may_not_have(tables, kept, frame["kept"], log, limit_s))
    return frame.with_columns(limit=admission.limit, why_not=why_not), admission.most


def _why_not(tables: SiteTables, frame: pl.DataFrame, jobs: TraceJobs) -> pl.Series:
    """Why jobs would never start in their partition, "" where they may."""
    partitions = pl.DataFrame(
        {
            "name": [each.name for each in tables.partitions],
            "is_up": [each.state == "up" for each in tables.partitions],
            "max_time_s": pl.Series([each.max_time_s for each in tables.partitions], dtype=pl.Float64),
            "max_nodes": pl.Series([each.max_nodes for each in tables.partitions], dtype=pl.Int64),
            "min_nodes": [each.min_nodes for each in tables.partitions],
        }
    )
    rows = partitions[frame["partition"]].with_columns(
        frame["nodes"],
        requested_s=pl.Series(jobs.requested_s),
    )
    why = (
        pl.when(~pl.col("is_up"))
        .then(pl.lit("is not up"))
        .when(pl.col("requested_s") > pl.col("max_time_s"))
        .then(pl.lit("has a shorter time limit than they ask for"))
        .when(pl.col("nodes") > pl.col("max_nodes"))
        .then(pl.lit("allows fewer nodes"))
        .when(pl.col("nodes") < pl.col("min_nodes"))
        .then(pl.lit("asks for more nodes"))
    )
    return rows.select(why=pl.format("partition {} {}", "name", why).fill_null(""))["why"]


def _note_partitions(unknown: pl.Series, tables: SiteTables, usual: int, findings: list[TraceFinding]) -> None:
    """Note jobs that name no partition of the site, or none at all where there are several."""
    named = unknown.drop_nulls()
    names = few(named.unique(maintain_order=True).to_list())
    reasons = {
        "jobs that name no partition": unknown.null_count() if len(tables.partitions) > 1 else 0,
        f"jobs of partitions that the site does not have ({names})": named.len(),
    }
    for reason, n in reasons.items():
        if n:
            done = f"sent to the partition {tables.partitions[usual].name}"
            findings.append(TraceFinding(reason, n, reason, done, "guessed"))


def _note_oddities(site: Site, kinds: list[Asked], of_job: pl.Series, findings: list[TraceFinding]) -> None:
    """Note what is asked for in a way that is not replayed."""
    absent = [[name for name in _numbers(asked.licences or "") if name not in site.licences] for asked in kinds]
    names = few(list(dict.fromkeys(name for row in absent for name in row)))
    is_odd = [not FEATURES.fullmatch(asked.features or "any") for asked in kinds]
    odd = (
        ("odd features", is_odd, "jobs that ask for features in another way than a&b or a|b", "replayed on any nodes"),
        (
            ABSENT_LICENCES,
            [bool(row) for row in absent],
            f"jobs with licences that the site does not have ({names})",
            "replayed as if there were enough",
        ),
    )
    for key, is_so, reason, done in odd:
        n = int(pl.Series(is_so, dtype=pl.Boolean)[of_job].sum())
        if n:
            findings.append(TraceFinding(key, n, reason, done, "lost"))


def _note_misfits(
    site: Site, kinds: list[Asked], made: list[_Kind], of_job: pl.Series, findings: list[TraceFinding]
) -> None:
    """Note jobs that the site would never start, by the reason; more than one reason is not told of any."""
    why = [
        asked.why_not or too_little(site, asked.partition, kind, _licences(site, asked), asked.kept)
        for asked, kind in zip(kinds, made, strict=True)
    ]
    reasons = pl.Series("reason", why, dtype=pl.String)[of_job]
    for reason, n in reasons.filter(reasons != "").value_counts().sort("count", "reason", descending=True).iter_rows():
        told = f"jobs that the site would never start: {reason}"
        findings.append(TraceFinding(reason, n, told, NEVER_STARTED, "lost"))

"""From a live Slurm to a world in the midst of its work: who runs where, and which of the held jobs may start."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model.arrays import Floats
from joulewise.model.jobs import JobWorld
from joulewise.model.kept import KeptNodes
from joulewise.model.opening import Opening
from joulewise.model.site import Places, Site
from joulewise.model.supply import NO_LIMITS, Supply
from joulewise.slurm.policy import SlurmPolicy
from joulewise.slurm.queue import ENDS, OVER, RUNS, US, WAITS, QueuedJob
from joulewise.slurm.snapshot import Members, Snapshot, with_powers
from joulewise.slurm.worth import said_of
from joulewise.units import energy, power
from joulewise.worlds.clock import Clock, instant_in, unix_s
from joulewise.worlds.jobs import tres
from joulewise.worlds.jobs.logs import LogAbout, frame_of
from joulewise.worlds.jobs.ruled import OF_JOBS
from joulewise.worlds.jobs.rules import Rule
from joulewise.worlds.jobs.sites.demands import FEATURES
from joulewise.worlds.jobs.sites.hostlists import expanded
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.written import RefusedError
from joulewise.worlds.jobs.trace_files import TraceTable
from joulewise.worlds.jobs.traces import Trace, TraceParameters, replayed
from joulewise.worlds.supply import SupplyParameters, read_hours, read_supply

MOMENT_S = 60.0
"""When a job is taken to end that should have ended already, and when one that is ending."""
_ENDLESS_S = 366 * 86_400.0
_HOUR_S = 3600
_AS_QUEUED = TraceParameters(trace="squeue", processors="allocated", dependencies="ignore")
_MEMORY = re.compile(r"(?:^|,)mem=([0-9.]+)([KMGTP]?)")
_KIB = {"K": 1, "": 2**10, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40}
_GPU = re.compile(r"gpu(?::[\w.\-]+)?[=:][0-9]")


class Row(NamedTuple):
    """A job that is planned with: since when it runs, None for one that waits, and how long it runs in all."""

    job: QueuedJob
    since_s: float | None
    length_s: float


class Sorted(NamedTuple):
    """The queue by what becomes of its jobs: those that run, and those that may be released, are planned with.

    `left` are jobs that are held for us and not understood, with the reason; `aside` counts all others.
    """

    rows: list[Row]
    protected: list[QueuedJob]
    left: dict[str, str]
    aside: Counter[str]


class Live(NamedTuple):
    """A world whose instant 0 is the clock's; `jobs` are in its order, and `waits` are those that may be released.

    It is None where there is nothing to decide about. `refused` are comments that do not count, by job, with why.
    `supply` is what the policy gives. Jobs that are not understood draw `others_w` of it at the meter, at most.
    """

    world: JobWorld | None
    jobs: list[QueuedJob]
    waits: list[int]
    members: Members
    groups: tuple[str, ...]
    clock: Clock
    at_s: float
    sorted: Sorted
    refused: dict[str, str]
    supply: Supply = NO_LIMITS
    others_w: float = 0.0


def live_world(snapshot: Snapshot, policy: SlurmPolicy, used_j: float = 0.0) -> Live:
    """The world of a snapshot, of which jobs that are over have used so much of the budget's day.

    InputError with every reason for which the policy does not fit the cluster.
    """
    raise_if_any(_unknown_partitions(snapshot.site, policy))
    tables, members = with_powers(
        snapshot.site, snapshot.members, policy.powers, policy.name, are_needed=policy.is_limited
    )
    starts_s = [job.start_at_s for job in snapshot.jobs if job.stage in (RUNS, ENDS) and job.start_at_s is not None]
    at_s = max(snapshot.at_s, *(start_s + 1 for start_s in starts_s), 0.0)
    queue = _sorted_out(snapshot.jobs, policy, tables, at_s)
    rules, refused = _claims(queue.rows, policy)
    where = {node: (g, n) for g, group in enumerate(tables.nodes) for n, node in enumerate(members[group.name])}
    groups = tuple(group.name for group in tables.nodes)
    rows, blocked = sorted(queue.rows, key=lambda row: (row.job.submit_at_s, row.job.job, row.job.key)), list[Row]()
    while True:
        first_s = min((row.job.submit_at_s or 0.0 for row in rows), default=at_s)
        clock = Clock(_zero_s(policy, first_s))
        if all(row.since_s is not None for row in rows):
            return Live(None, [], [], members, groups, clock, at_s, queue, refused)
        trace = replayed(log_of(rows), _AS_QUEUED, (*rules, *policy.rules), tables)
        places, odd = _places(trace, rows, where)
        if not odd:
            break
        blocked += (rows[i] for i in odd)
        rows = [row for i, row in enumerate(rows) if i not in odd]
    if blocked:
        queue.aside["running in a way that is not understood: their nodes are kept until they end"] += len(blocked)
    world = _world(trace, rows, places, policy, clock, at_s, _kept(snapshot, blocked, where, clock, policy))
    world, supply, others_w = _with_others(world, blocked, where, clock, used_j)
    waits = [i for i, row in enumerate(rows) if row.since_s is None]
    jobs = [row.job for row in rows]
    return Live(world, jobs, waits, members, groups, clock, at_s, queue, refused, supply, others_w)


def _unknown_partitions(tables: SiteTables, policy: SlurmPolicy) -> Iterator[Problem]:
    names = [each.name for each in tables.partitions]
    named = (("slurm", policy.managed.partitions), ("protected", policy.protected.partitions))
    for section, given in named:
        absent = (name for name in given if name not in names)
        yield from (unknown_name(f"{policy.name}: {section}.partitions", name, names) for name in absent)


# --- the queue ----------------------------------------------------------------------------------------------


def _sorted_out(jobs: Iterable[QueuedJob], policy: SlurmPolicy, tables: SiteTables, at_s: float) -> Sorted:
    """The queue by what becomes of its jobs."""
    found, limits = Sorted([], [], {}, Counter()), _usual_limits(tables)
    for job in jobs:
        limit_s = limits.get(job.partitions[0]) if job.limit_s is None else job.limit_s
        if job.stage == OVER:
            continue
        if job.stage != WAITS:
            _take_running(job, limit_s, at_s, found)
        elif aside := _aside(job, policy, at_s):
            found.aside[aside] += 1
        elif policy.protected.has(job):
            found.protected.append(job)
        elif why := _why_left(job, limit_s, tables):
            found.left[job.key] = why
        else:
            assert limit_s is not None
            found.rows.append(Row(job, None, math.ceil(limit_s)))
    return found


def _usual_limits(tables: SiteTables) -> dict[str, float | None]:
    """The limit of jobs that ask for none, by partition."""
    return {
        each.name: each.max_time_s if each.default_time_s is None else each.default_time_s for each in tables.partitions
    }


def _take_running(job: QueuedJob, limit_s: float | None, at_s: float, found: Sorted) -> None:
    """Take a job that has nodes; of one that has none nothing is known."""
    if job.on_nodes is None or job.start_at_s is None or job.submit_at_s is None or job.cores < 1:
        found.aside["starting or ending"] += 1
        return
    ran_s = at_s - job.start_at_s
    longest_s = _ENDLESS_S if limit_s is None or math.isinf(limit_s) else limit_s
    length_s = ran_s if job.stage == ENDS else longest_s
    found.rows.append(Row(job, job.start_at_s, math.ceil(max(length_s, ran_s + MOMENT_S))))


def _aside(job: QueuedJob, policy: SlurmPolicy, at_s: float) -> str:
    """Why nothing is decided about a job that waits; "" where something is."""
    holder = job.held_by
    if holder != US:
        return "waiting as Slurm decides" if holder is None else f"held by {holder}"
    if not set(job.partitions) & set(policy.managed.partitions):
        return "held for Joulewise in partitions that are not managed"
    if job.dependency is not None:
        return "waiting for other jobs"
    return "waiting for their begin time" if (job.eligible_at_s or 0.0) > at_s else ""


def _why_left(job: QueuedJob, limit_s: float | None, tables: SiteTables) -> str:
    """Why a job is left to Slurm: what it asks for is not understood, and would be guessed."""
    partition = next((each for each in tables.partitions if each.name == job.partition), None)
    is_whole = partition is not None and partition.sharing == "exclusive"
    gpus = (job.tres_per_node or "") + (job.tres_per_job or "")
    licences = {part.partition(":")[0].partition("=")[0] for part in (job.licences or "").split(",") if part}
    reasons = (
        (job.part_of is not None, "it is a part of a heterogeneous job"),
        (len(job.partitions) > 1, "it names several partitions"),
        (job.wanted_nodes is not None, "it asks for nodes by their names"),
        (job.reservation is not None, "it is in a reservation"),
        (job.shares_with not in (None, "all") and not is_whole, "it asks for nodes of its own"),
        (job.features is not None and not FEATURES.fullmatch(job.features), "it asks for features in an unknown way"),
        ("gpu" in gpus and not _GPU.search(gpus), "it asks for GPUs in an unknown way"),
        (bool(licences - {each.name for each in tables.licences}), "it asks for licences that the cluster lacks"),
        (limit_s is None or math.isinf(limit_s), "it has no time limit: sbatch --time sets one"),
        (job.submit_at_s is None or job.cores < 1, "Slurm does not tell when it came, or what it needs"),
    )
    return next((why for is_so, why in reasons if is_so), "")


def _claims(rows: Sequence[Row], policy: SlurmPolicy) -> tuple[list[Rule], dict[str, str]]:
    """Rules for the jobs whose comments say what they are worth, and why other comments are refused."""
    of_rule: dict[int, tuple[Rule, list[str]]] = {}
    refused = {}
    for row in rows:
        said = said_of(row.job, policy.comments)
        if said.rule is not None:
            of_rule.setdefault(id(said.rule), (said.rule, []))[1].append(row.job.key)
        elif said.problems and row.since_s is None:
            refused[row.job.key] = said.reason
    return [rule._replace(conditions={OF_JOBS: keys}) for rule, keys in of_rule.values()], refused


# --- from jobs to a log -------------------------------------------------------------------------------------


def log_of(rows: Sequence[Row]) -> TraceTable:
    """Jobs as a log, by Slurm's own clock."""
    jobs = [row.job for row in rows]
    gpus, kinds = tres.gpus(pl.Series([_gpu_text(job)[0] for job in jobs], dtype=pl.String))
    times = pl.Series([_gpu_text(job)[1] for job in jobs], dtype=pl.Float64)
    columns: dict[str, Any] = {
        "job_id": [job.key for job in jobs],
        "submit_s": [int(job.submit_at_s or 0) for job in jobs],
        "wait_s": [
            None if row.since_s is None else max(int(row.since_s - (row.job.submit_at_s or 0)), 0) for row in rows
        ],
        "run_s": [int(row.length_s) for row in rows],
        "requested_s": [int(row.length_s) for row in rows],
        "cores": [job.cores for job in jobs],
        "requested_cores": [job.cores for job in jobs],
        "nodes": [job.nodes for job in jobs],
        "requested_memory_kb": [_memory_kb(job.tres or "") / max(job.cores, 1) for job in jobs],
        "gpus": gpus * times,
        "gpu_kind": kinds,
        "licences": tres.licences(
            pl.Series([job.tres for job in jobs], dtype=pl.String),
            pl.Series([job.licences for job in jobs], dtype=pl.String),
        ),
        "features": [job.features for job in jobs],
        "user": [job.user for job in jobs],
        "group": [job.account for job in jobs],
        "queue": [job.qos for job in jobs],
        "partition": [job.partition for job in jobs],
    }
    return TraceTable(LogAbout("squeue", start_unix_s=0), frame_of(columns, len(jobs)), {}, {}, "squeue")


def _gpu_text(job: QueuedJob) -> tuple[str | None, float]:
    """What tells the GPUs of a job, and by what their number there is multiplied."""
    if "gres/gpu" in (job.tres or ""):
        return job.tres, 1.0
    if "gpu" in (job.tres_per_job or ""):
        return _as_gres(job.tres_per_job), 1.0
    return _as_gres(job.tres_per_node), float(job.nodes)


def _as_gres(text: str | None) -> str | None:
    """GPUs in the way of newer versions, which older ones write gres:gpu."""
    return None if text is None else text.replace("gres:", "gres/")


def _memory_kb(text: str) -> float:
    found = _MEMORY.search(text)
    return float(found[1]) * _KIB[found[2]] if found else 0.0


# --- the world ----------------------------------------------------------------------------------------------

_Where = Mapping[str, tuple[int, int]]
"""The group and the number in it of each node."""


def _places(trace: Trace, rows: Sequence[Row], where: _Where) -> tuple[Places, set[int]]:
    """Where jobs run, and which of them run in a way that the site has not."""
    site, demands = trace.site, trace.jobs.demands
    assert site is not None
    assert demands is not None
    free = {place: site.capacity[place[0]].copy() for place in where.values()}
    fits, found, odd = np.diff(trace.system.types.first) > 0, list[tuple[int, int, int]](), set[int]()
    for i, row in enumerate(rows):
        if row.since_s is None:
            continue
        k, nodes = demands.of_job[i], _nodes_of(row.job)
        here = [where[node] for node in nodes if node in where]
        may = fits[i] and len(here) == len(nodes) == demands.units[k] and all(demands.gives[k, g] for g, _ in here)
        if not may or any((demands.need[k, g] > free[g, n]).any() for g, n in here):
            odd.add(i)
            continue
        for g, n in here:
            free[g, n] -= demands.need[k, g]
            found.append((i, g, n))
    job, group, node = np.array(found, np.int32).reshape(-1, 3).T
    return Places(job, group, node, np.ones(job.size, np.int64)), odd


def _nodes_of(job: QueuedJob) -> list[str]:
    try:
        return expanded(job.on_nodes or "")
    except RefusedError:
        return []


def _kept(snapshot: Snapshot, blocked: Sequence[Row], where: _Where, clock: Clock, policy: SlurmPolicy) -> KeptNodes:
    """The nodes that no job gets: those that are away, and for a while those of jobs that are not understood."""
    assert clock.zero_s is not None
    far_s = snapshot.at_s + 10 * policy.managed.looks_ahead_s - clock.zero_s + _ENDLESS_S
    closed = [node for node in where if node not in snapshot.nodes or not snapshot.nodes[node].is_open]
    spans = [("closed", far_s, closed)] + [
        (row.job.key, (row.since_s or 0.0) + row.length_s - clock.zero_s, _nodes_of(row.job)) for row in blocked
    ]
    rows = [(of, *where[node]) for of, (_, _, nodes) in enumerate(spans) for node in nodes if node in where]
    of, group, node = np.array(rows, np.int32).reshape(-1, 3).T
    ends_s = np.array([end_s for _, end_s, _ in spans])
    return KeptNodes(tuple(name for name, _, _ in spans), np.zeros(len(spans)), ends_s, of, group, node)


def _world(
    trace: Trace, rows: Sequence[Row], places: Places, policy: SlurmPolicy, clock: Clock, at_s: float, kept: KeptNodes,
) -> JobWorld:  # fmt: skip
    """The world in the midst of its work."""
    assert trace.site is not None
    assert clock.zero_s is not None
    now_s, supply = at_s - clock.zero_s, read_supply(policy.supply, policy.folder, clock)
    site = replace(trace.site, kept=kept, tells_apart=True)
    raise_if_any(_holds_all(site, supply, policy))
    jobs = trace.jobs.later((rows[0].job.submit_at_s or 0.0) - clock.zero_s)
    work = replace(jobs.work, start_s=0.0, end_s=now_s)
    since_s: Floats = np.array([math.nan if row.since_s is None else row.since_s - clock.zero_s for row in rows])
    system, opening = trace.system, Opening(now_s, since_s, places)
    return JobWorld(
        system.clusters, system.types, replace(jobs, work=work), supply, site=site, opening=opening
    )  # fmt: skip


def _with_others(
    world: JobWorld, blocked: Sequence[Row], where: _Where, clock: Clock, used_j: float
) -> tuple[JobWorld, Supply, float]:
    """The world without what jobs draw that are not understood, what there is with it, and how much that is.

    They count as if they had all of their nodes. What runs already runs on, though it draws more than a cap allows:
    the cap is raised to the job that draws most, beside which no other has power then.
    """
    site, supply, opening, types = world.site, world.supply, world.opening, world.types
    assert site is not None
    assert opening is not None
    assert clock.zero_s is not None
    if not supply.is_limited or site.power is None:
        return replace(world, opening=replace(opening, used_j=used_j)), supply, 0.0
    of_node_w = supply.pue * (site.capacity * site.power.more_w).sum(axis=1)
    row_w = np.array(
        [sum(of_node_w[where[node][0]] for node in _nodes_of(row.job) if node in where) for row in blocked]
    )
    since_s = np.array([(row.since_s or 0.0) - clock.zero_s for row in blocked])
    end_s, day_s = since_s + np.array([row.length_s for row in blocked]), supply.day_s
    today_s = opening.at_s // day_s * day_s
    used_j += float((row_w * (np.minimum(end_s, today_s + day_s) - np.maximum(since_s, today_s))).sum())
    others_w, left = float(row_w.sum()), supply
    if supply.cap_w is not None:
        most_w = float(types.power_w[types.first[:-1][opening.runs]].max(initial=0.0))
        left = replace(supply, cap_w=np.maximum(supply.cap_w - others_w, supply.pue * (site.idle_w + most_w)))
    return replace(world, supply=left, opening=replace(opening, used_j=used_j)), supply, others_w


def _holds_all(site: Site, supply: Supply, policy: SlurmPolicy) -> Iterator[Problem]:
    """Limits under which no job would ever start."""
    standing_w, advice = supply.pue * site.idle_w, "raise it, or every job is held for ever"
    if supply.budget_j <= standing_w * supply.day_s:
        allowed = f"must be above {energy(standing_w * supply.day_s)}, what nodes without jobs use on a day"
        yield Problem(f"{policy.name}: supply.budget", f"found {energy(supply.budget_j)}", allowed, advice)
    if supply.cap_w is not None and float(supply.cap_w.min()) <= standing_w:
        allowed = f"must be above {power(standing_w)}, what nodes without jobs draw"
        yield Problem(f"{policy.name}: supply.power_cap", f"found {power(float(supply.cap_w.min()))}", allowed, advice)


# --- the calendar -------------------------------------------------------------------------------------------


def _zero_s(policy: SlurmPolicy, first_s: float) -> float:
    """Instant 0 of the world, in seconds since 1970: a day of the budget begins, before all that is known of.

    Days count from `begins_at`, or from midnight in UTC.
    """
    p = policy.supply
    begins = None if p.begins_at is None else instant_in(p.begins_at)
    hours = read_hours(p, policy.folder, Clock(0.0)).values() if p.power_cap_by_hour or p.tariff else ()
    undated = [each for each in hours if each.begins_s is None and each.values.size > 1]
    raise_if_any(_without_begin(undated, p, policy.name))
    begins_s = 0.0 if begins is None else unix_s(begins)
    step_s = math.lcm(max(round(p.day_s), 1), *(each.values.size * _HOUR_S for each in undated))
    return begins_s + math.floor((first_s - begins_s) / step_s) * step_s


def _without_begin(undated: Sequence[object], p: SupplyParameters, name: str) -> Iterator[Problem]:
    if undated and p.begins_at is None:
        allowed, advice = "must be given with tables that have no dates", "say when their first hour is"
        yield Problem(f"{name}: supply.begins_at", "missing", allowed, advice)

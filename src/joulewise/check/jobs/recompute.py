"""What became of parallel jobs, computed job by job in plain Python, to hold the fast measures against."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from joulewise.check.jobs.power import drawn_by_places, idle_site_w, is_by_place
from joulewise.check.worth import utility_of
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.model.site import LAST

SHORTEST_S = 10.0
_HAD_NODES = (Fate.RAN, Fate.KILLED, Fate.CANCELLED)
_COUNTED = {
    "jobs_ran": Fate.RAN,
    "jobs_dropped": Fate.DROPPED,
    "jobs_killed": Fate.KILLED,
    "jobs_cancelled": Fate.CANCELLED,
    "jobs_waiting": Fate.WAITING,
    "jobs_impossible": Fate.IMPOSSIBLE,
}


class _Stretch(NamedTuple):
    """A job on nodes of one cluster from an instant to another, drawing `power_w`; lost if nothing came of it."""

    option: int
    start_s: float
    end_s: float
    is_lost: bool
    power_w: float


class _JobStory(NamedTuple):
    """A job with all stretches of its running, the last one last; `needs_s` is what it needs if nothing disturbs it."""

    number: int
    fate: Fate
    arrived: bool
    ready_s: float
    needs_s: float
    user: int
    stretches: tuple[_Stretch, ...]


def recompute_jobs(world: JobWorld, allocation: JobAllocation) -> dict[str, float | int]:
    """The metrics of a run that follow from its allocation, under the names of its columns.

    NaN stands for what is not there. Of energy there is that of jobs alone, and none where nodes draw some as well.
    """
    work, jobs = world.jobs.work, list(_jobs(world, allocation))
    runs = [stretch for job in jobs for stretch in job.stretches]
    last_s = work.end_s if math.isfinite(work.end_s) else max([float(work.arrival_s[-1]), *(r.end_s for r in runs)])
    window = (work.start_s, last_s)
    pieces = allocation.pieces
    ends = zip(pieces.end_s.tolist(), pieces.is_lost.tolist(), strict=True)
    cut = [is_lost for end_s, is_lost in ends if work.start_s < end_s <= work.end_s]
    return {
        "utility": math.fsum(_earned(world, job, window) for job in jobs if job.fate is Fate.RAN),
        "jobs_arrived": sum(job.arrived for job in jobs),
        "jobs_completed": sum(
            job.fate is Fate.RAN and work.start_s < job.stretches[-1].end_s <= work.end_s for job in jobs
        ),
        **{name: sum(job.arrived and job.fate is fate for job in jobs) for name, fate in _COUNTED.items()},
        "jobs_running": sum(
            job.arrived and job.fate is Fate.RAN and job.stretches[-1].end_s > work.end_s for job in jobs
        ),
        "runs_preempted": cut.count(False),
        "runs_lost": cut.count(True),
        **_times(jobs),
        **_nodes(world, runs, window),
        "makespan_s": max(run.end_s for run in runs) - float(work.arrival_s[0]) if runs else math.nan,
        "mean_queue_length": math.fsum(_waiting_s(job, window) for job in jobs) / max(last_s - work.start_s, 1e-300),
        **_users(world, jobs),
        **_energy(world, runs, window),
    }


def _jobs(world: JobWorld, allocation: JobAllocation) -> Iterator[_JobStory]:
    pieces = defaultdict[int, list[_Stretch]](list)
    last_w, lost_w = _powers(world, allocation)
    names = ("job", "option", "start_s", "end_s", "is_lost")
    rows = zip(*(getattr(allocation.pieces, name).tolist() for name in names), lost_w, strict=True)
    for job, *rest in rows:
        pieces[job].append(_Stretch(*rest))
    work, times_s = world.jobs.work, world.types.time_s.tolist()
    users = world.jobs.labels["user"].codes.tolist() if "user" in world.jobs.labels else [-1] * world.n_jobs
    columns = (
        work.arrival_s,
        allocation.fate,
        allocation.ready_s,
        allocation.option,
        allocation.start_s,
        allocation.end_s,
    )
    every = zip(range(world.n_jobs), users, last_w, *(column.tolist() for column in columns), strict=True)
    for number, user, power_w, arrival_s, fate, ready_s, option, start_s, end_s in every:
        has_nodes = fate in _HAD_NODES
        own = sorted(pieces[number], key=lambda stretch: stretch.start_s)
        own += [_Stretch(option, start_s, end_s, False, power_w)] if has_nodes else []
        own = [stretch._replace(is_lost=True) for stretch in own] if fate == Fate.CANCELLED else own
        got_s = math.fsum(stretch.end_s - stretch.start_s for stretch in own if not stretch.is_lost)
        needs_s = times_s[option] if fate == Fate.RAN else got_s
        arrived = work.start_s <= arrival_s <= work.end_s
        yield _JobStory(number, Fate(fate), arrived, ready_s, needs_s, user, tuple(own))


def _inside_s(start_s: float, end_s: float, window: tuple[float, float]) -> float:
    return max(0.0, min(end_s, window[1]) - max(start_s, window[0]))


def _earned(world: JobWorld, job: _JobStory, window: tuple[float, float]) -> float:
    """What a job that ran to its end earned in the window."""
    work, end_s = world.jobs.work, job.stretches[-1].end_s
    share = 1.0 if work.start_s < end_s <= work.end_s else 0.0
    if work.is_prorated:
        kept = [stretch for stretch in job.stretches if not stretch.is_lost]
        inside_s = math.fsum(_inside_s(stretch.start_s, stretch.end_s, window) for stretch in kept)
        share = inside_s / math.fsum(stretch.end_s - stretch.start_s for stretch in kept)
    return share * utility_of(work, job.number, end_s) if share else 0.0


def _times(jobs: Sequence[_JobStory]) -> dict[str, float]:
    """Means, medians, ends of 95 % and the most of waits, turnarounds and slowdowns of jobs that came and had nodes."""
    found: dict[str, list[float]] = {"wait_s": [], "turnaround_s": [], "bounded_slowdown": []}
    for job in _served(jobs):
        turnaround_s = job.stretches[-1].end_s - job.ready_s
        found["wait_s"].append(turnaround_s - math.fsum(run.end_s - run.start_s for run in job.stretches))
        found["turnaround_s"].append(turnaround_s)
        found["bounded_slowdown"].append(_slowdown(job))
    measures = (("mean", fmean), ("median", median), ("p95", _least_above), ("max", max))
    return {
        f"{kind}_{name}": float(measure(values)) if values else math.nan
        for name, values in found.items()
        for kind, measure in measures
    }


def _least_above(values: Sequence[float]) -> float:
    """The first of the values, in order, that has at most a twentieth of them behind it."""
    return sorted(values)[len(values) - 1 - len(values) // 20]


def _served(jobs: Sequence[_JobStory]) -> list[_JobStory]:
    """Those that came in the window and ran to their end or their limit."""
    return [job for job in jobs if job.arrived and job.fate in (Fate.RAN, Fate.KILLED)]


def _slowdown(job: _JobStory) -> float:
    return max(1.0, (job.stretches[-1].end_s - job.ready_s) / max(job.needs_s, SHORTEST_S))


def _nodes(world: JobWorld, runs: Sequence[_Stretch], window: tuple[float, float]) -> dict[str, float]:
    """How busy all cores and the nodes of each cluster were."""
    types, clusters = world.types, world.clusters
    busy_s, lost_core_s = [0.0] * clusters.n_clusters, 0.0
    for run in runs:
        cluster, node_s = types.cluster[run.option], int(types.nodes[run.option]) * _inside_s(*run[1:3], window)
        busy_s[cluster] += node_s
        lost_core_s += node_s * int(clusters.cores_per_node[cluster]) * run.is_lost
    length_s = max(window[1] - window[0], 1e-300)
    n_nodes, cores = clusters.n_nodes.tolist(), clusters.cores_per_node.tolist()
    all_cores = sum(n * c for n, c in zip(n_nodes, cores, strict=True))
    core_s = math.fsum(s * c for s, c in zip(busy_s, cores, strict=True))
    shares = zip(clusters.names, busy_s, n_nodes, strict=True)
    return {
        "busy_percent": 100 * core_s / (all_cores * length_s),
        "lost_percent": 100 * lost_core_s / (all_cores * length_s),
        **{f"busy_percent:{name}": 100 * s / (n * length_s) for name, s, n in shares},
    }


def _waiting_s(job: _JobStory, window: tuple[float, float]) -> float:
    """How long of the window a job could have run and did not; one that never runs waits to the end."""
    if job.fate in (Fate.DROPPED, Fate.IMPOSSIBLE) or math.isinf(job.ready_s):
        return 0.0
    until_s = job.stretches[-1].end_s if job.fate in _HAD_NODES else max(window[1], job.ready_s)
    there_s = _inside_s(job.ready_s, until_s, window)
    return there_s - math.fsum(_inside_s(run.start_s, run.end_s, window) for run in job.stretches)


def _users(world: JobWorld, jobs: Sequence[_JobStory]) -> dict[str, float]:
    """The number of users, and Jain's index of their mean slowdowns."""
    if "user" not in world.jobs.labels:
        return {"users": math.nan, "fairness": math.nan}
    slowdowns = defaultdict[int, list[float]](list)
    for job in _served(jobs):
        if job.user >= 0:
            slowdowns[job.user].append(_slowdown(job))
    means = [fmean(values) for values in slowdowns.values()]
    square = math.fsum(means) ** 2
    index = square / (len(means) * math.fsum(mean**2 for mean in means)) if means else math.nan
    return {"users": len({job.user for job in jobs if job.arrived and job.user >= 0}), "fairness": index}


def _energy(world: JobWorld, runs: Sequence[_Stretch], window: tuple[float, float]) -> dict[str, float]:
    """The energy of all running in the window, at the meter, where nodes without a job draw nothing."""
    if world.clusters.standby is not None:
        return {}
    if any(math.isnan(watts) for watts in world.types.power_w.tolist()):
        return {"energy_j": math.nan}
    used_j = [run.power_w * _inside_s(run.start_s, run.end_s, window) for run in runs]
    used_j.append(idle_site_w(world) * (window[1] - window[0]))
    return {"energy_j": world.supply.pue * math.fsum(used_j)}


def _powers(world: JobWorld, allocation: JobAllocation) -> tuple[list[float], list[float]]:
    """What each job drew in its last stretch, and in each that was cut or lost; NaN where it had none."""
    pieces, n = allocation.pieces, world.n_jobs
    if is_by_place(world):
        last = drawn_by_places(world, allocation, np.arange(n), np.full(n, LAST))
        lost = drawn_by_places(world, allocation, pieces.job, np.arange(pieces.job.size))
        return last.tolist(), lost.tolist()
    power_w = world.types.power_w.tolist()
    ran = allocation.used.tolist()
    last_w = [power_w[option] if had else math.nan for option, had in zip(allocation.option.tolist(), ran, strict=True)]
    return last_w, [power_w[option] for option in pieces.option.tolist()]

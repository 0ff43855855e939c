"""What became of the parallel jobs of a run, as flat numbers with units in their names."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.simulate import meter
from joulewise.simulate.jobs.power import RunStretches, has_power, job_draws, node_draws, stretches
from joulewise.simulate.meter import Metrics
from joulewise.simulate.power import Draws

SHORTEST_S = 10.0
"""Slowdowns are bounded: jobs that run for less count as if they ran for this long."""

USER, QUEUE = "user", "queue"
"""The labels by which jobs are summed up."""


class Times(NamedTuple):
    """How long each job waited and took, and its bounded slowdown; NaN for one that had no nodes."""

    wait_s: Floats
    turnaround_s: Floats
    bounded_slowdown: Floats


class Steps(NamedTuple):
    """A number that changes at instants: `level[i]` holds from `at_s[i]` on."""

    at_s: Floats
    level: Floats

    def total_until(self, instant_s: Floats) -> Floats:
        """The number summed up over time to these instants."""
        if not self.at_s.size:
            return np.zeros(np.shape(instant_s))
        sums = np.concatenate(([0.0], np.cumsum(self.level[:-1] * np.diff(self.at_s))))
        return np.interp(instant_s, self.at_s, sums)


def steps(start_s: Floats, end_s: Floats, height: Floats | float = 1.0) -> Steps:
    """How high intervals stand on each other at every instant."""
    heights = np.broadcast_to(np.asarray(height, float), start_s.shape)
    at_s, where = np.unique(np.concatenate((start_s, end_s)), return_inverse=True)
    change = np.bincount(where, np.concatenate((heights, -heights)), at_s.size)
    return Steps(at_s, np.cumsum(change))


def job_measures(world: JobWorld, allocation: JobAllocation) -> Metrics:
    """The metrics of a run over the counted window; jobs are counted by the window they arrive in.

    Those that ran, were dropped, killed or cancelled, wait and are impossible are together those that arrived.

    NaN stands for what is not there, such as energy without power figures. Clusters have a metric of their own, named
    after them. Waits, turnarounds and slowdowns are those of the jobs that arrived in the window and had nodes, but for
    those that a site cancelled: these got nothing for their wait.
    """
    work, fate = world.jobs.work, allocation.fate
    arrived = arrived_inside(world)
    pieces = allocation.pieces
    inside = work.in_window(pieces.end_s)
    counts = {f"jobs_{name.lower()}": arrived & (fate == code) for name, code in Fate.__members__.items()}
    counts["jobs_running"] = counts["jobs_ran"] & (allocation.end_s > work.end_s)
    return {
        "utility": float(earned_utility(world, allocation).sum()),
        "jobs_arrived": int(arrived.sum()),
        "jobs_completed": int((allocation.ran & work.in_window(allocation.end_s)).sum()),
        **{name: int(jobs.sum()) for name, jobs in counts.items()},
        "runs_preempted": int((inside & ~pieces.is_lost).sum()),
        "runs_lost": int((inside & pieces.is_lost).sum()),
        **_of_times(world, allocation, arrived),
        **_of_nodes(world, allocation),
        **_of_queue(world, allocation),
        **_of_energy(world, allocation),
        **_of_users(world, allocation, arrived),
    }


def arrived_inside(world: JobWorld) -> Bools:
    """Which jobs arrived in the counted window."""
    work = world.jobs.work
    return np.asarray(work.in_window(work.arrival_s) | (work.arrival_s == work.start_s))


def window_end_s(world: JobWorld, allocation: JobAllocation) -> float:
    """When the counted window ends; one without an end is over with the last run, or arrival."""
    work = world.jobs.work
    if math.isfinite(work.end_s):
        return work.end_s
    return float(stretches(allocation).end_s.max(initial=work.arrival_s[-1]))


def maximum_utility(world: JobWorld) -> float:
    """The published yardstick: every job starts on arrival with its fastest option (Machovec IV).

    Only completions that fall into the counted window then are summed or, when prorated, the shares of runs in it.
    """
    work, fastest_s = world.jobs.work, world.types.fastest_s[world.jobs.work.task_type]
    jobs = np.flatnonzero(np.isfinite(fastest_s))
    start_s, end_s = work.arrival_s[jobs], work.arrival_s[jobs] + fastest_s[jobs]
    share = work.in_window(end_s).astype(float)
    if work.is_prorated:
        share = meter.inside_s(work, start_s, end_s) / fastest_s[jobs]
    return float((share * work.utility(jobs, end_s)).sum())


def earned_utility(world: JobWorld, allocation: JobAllocation) -> Floats:
    """What each job earned in the counted window; nothing unless it ran to its end.

    That is all of its utility if it ended there; when prorated, the share of its running, without what was lost, that
    lies there.
    """
    work, ran = world.jobs.work, np.flatnonzero(allocation.ran)
    earned = np.zeros(world.n_jobs)
    earned[ran] = work.utility(ran, allocation.end_s[ran])
    if not work.is_prorated:
        return np.where(allocation.ran & work.in_window(allocation.end_s), earned, 0.0)
    runs = stretches(allocation)
    kept, whole_s = _kept(allocation), _kept_s(world, allocation)
    inside_s = _sums(runs.job, np.where(kept, meter.inside_s(work, runs.start_s, runs.end_s), 0.0), world.n_jobs)
    return np.asarray(earned * inside_s / np.where(whole_s > 0, whole_s, 1.0))


def used_energy_j(world: JobWorld, allocation: JobAllocation) -> Floats:
    """The energy of each job in the counted window, at the meter, all its stretches together; NaN where not known."""
    draws, jobs = job_draws(world, allocation), stretches(allocation).job
    used_j = draws.power_w * meter.inside_s(world.jobs.work, draws.start_s, draws.end_s)
    return _sums(jobs, used_j, world.n_jobs)


def node_seconds(world: JobWorld, allocation: JobAllocation) -> Floats:
    """The nodes x seconds of each job in the counted window, all its stretches together."""
    runs = stretches(allocation)
    inside_s = meter.inside_s(world.jobs.work, runs.start_s, runs.end_s)
    return _sums(runs.job, world.types.nodes[runs.option] * inside_s, world.n_jobs)


def job_times(world: JobWorld, allocation: JobAllocation) -> Times:
    """How long jobs that had nodes waited and took, from the instant at which they could have started.

    A job waits while it does not run. Its slowdown is its turnaround over the time that it needs if nothing disturbs
    it, or 10 s if that is shorter, and 1 at least; a job that was killed needed what it got. One that a site
    cancelled has neither turnaround nor slowdown.
    """
    used, runs = allocation.used, stretches(allocation)
    ran_s = _sums(runs.job, runs.end_s - runs.start_s, world.n_jobs)
    turnaround_s = np.where(used, allocation.end_s - np.where(used, allocation.ready_s, 0.0), math.nan)
    wait_s = np.where(used, allocation.start_s - np.where(used, allocation.ready_s, 0.0), math.nan)
    again = np.unique(allocation.pieces.job)
    wait_s[again] = (turnaround_s - ran_s)[again]
    true_s = np.where(used, world.types.time_s[allocation.option] if world.types.n_options else math.nan, math.nan)
    needs_s = np.where(allocation.fate == Fate.KILLED, _kept_s(world, allocation), true_s)
    turnaround_s[~allocation.served] = math.nan
    return Times(wait_s, turnaround_s, np.maximum(turnaround_s / np.maximum(needs_s, SHORTEST_S), 1.0))


def _kept(allocation: JobAllocation) -> Bools:
    """Which stretches of running were not lost."""
    return np.concatenate((np.ones(int(allocation.used.sum()), np.bool_), ~allocation.pieces.is_lost))


def _kept_s(world: JobWorld, allocation: JobAllocation) -> Floats:
    """How long each job ran in all, without stretches that were lost."""
    runs = stretches(allocation)
    return _sums(runs.job, np.where(_kept(allocation), runs.end_s - runs.start_s, 0.0), world.n_jobs)


def _sums(owner: Counts | Ints, values: Floats, n: int) -> Floats:
    """The sum of the values of each of n owners."""
    return np.asarray(np.bincount(owner, values, n), np.float64)


def queue_steps(world: JobWorld, allocation: JobAllocation) -> Steps:
    """How many jobs could run but do not, at every instant; those dropped, or that fit nowhere, never count."""
    runs, ready_s = stretches(allocation), allocation.ready_s
    waits = (allocation.used | (allocation.fate == Fate.WAITING)) & np.isfinite(ready_s)
    last_s = np.maximum(window_end_s(world, allocation), ready_s)
    until_s = np.where(allocation.used, allocation.end_s, last_s)
    here = waits[runs.job]
    there, running = steps(ready_s[waits], until_s[waits]), steps(runs.start_s[here], runs.end_s[here])
    at_s = np.union1d(there.at_s, running.at_s)
    return Steps(at_s, _level(there, at_s) - _level(running, at_s))


def _level(steps: Steps, at_s: Floats) -> Floats:
    """How high steps stand at instants."""
    return np.concatenate(([0.0], steps.level))[np.searchsorted(steps.at_s, at_s, side="right")]


def all_draws(world: JobWorld, allocation: JobAllocation) -> Draws:
    """Everything that was drawn in the counted window, by jobs and by nodes without one."""
    parts = job_draws(world, allocation), node_draws(world, allocation)
    return meter.together(world.jobs.work, window_end_s(world, allocation), *parts)


def fairness(values: Floats) -> float:
    """Jain's index of values above 0: (sum)^2 / (number x sum of squares), 1 if all are alike; NaN without any."""
    return float(values.sum() ** 2 / (values.size * (values**2).sum())) if values.size else math.nan


def by_label(world: JobWorld, allocation: JobAllocation, label: str) -> dict[str, Any]:
    """Columns with a row for each value of a label that a job of the counted window has; null is not known."""
    labels = world.jobs.labels[label]
    jobs = np.flatnonzero(arrived_inside(world))
    codes, where = np.unique(labels.codes[jobs], return_inverse=True)
    times = [column[jobs] for column in job_times(world, allocation)]
    served = allocation.served[jobs]
    n_served = np.bincount(where, served, codes.size)
    means = [_sums(where, np.where(served, column, 0.0), codes.size) / np.maximum(n_served, 1) for column in times]
    sums = (node_seconds, used_energy_j, earned_utility)
    totals = [_sums(where, total(world, allocation)[jobs], codes.size) for total in sums]
    return {
        label: [labels.names[code] if code >= 0 else None for code in codes],
        "jobs": np.bincount(where, minlength=codes.size),
        "jobs_ran": np.bincount(where, allocation.ran[jobs], codes.size).astype(np.int64),
        **{
            name: np.where(n_served > 0, mean, math.nan)
            for name, mean in zip(("mean_wait_s", "mean_turnaround_s", "mean_bounded_slowdown"), means, strict=True)
        },
        **dict(zip(("node_s", "energy_j", "utility"), totals, strict=True)),
    }


def _of_times(world: JobWorld, allocation: JobAllocation, arrived: Bools) -> Metrics:
    """Means, medians, what most jobs do not exceed, and the most of what they waited for and took."""
    times = job_times(world, allocation)
    counted = np.flatnonzero(arrived & allocation.served)
    columns = ("wait_s", "turnaround_s", "bounded_slowdown")
    return {
        f"{kind}_{name}": float(measure(column[counted])) if counted.size else math.nan
        for name, column in zip(columns, times, strict=True)
        for kind, measure in (("mean", np.mean), ("median", np.median), ("p95", _most_of_them), ("max", np.max))
    }


def _most_of_them(values: Floats) -> float:
    """The least of the values that 95 % of them do not exceed."""
    at = -(-95 * values.size // 100) - 1
    return float(np.partition(values, at)[at])


def _of_nodes(world: JobWorld, allocation: JobAllocation) -> Metrics:
    """How busy the clusters are, and the time from the first arrival to the last end."""
    busy_s, clusters = cluster_seconds(world, allocation), world.clusters
    work, runs = world.jobs.work, stretches(allocation)
    length_s = max(window_end_s(world, allocation) - work.start_s, np.finfo(float).tiny)
    cores_s, lost_s = (float((s * clusters.cores_per_node).sum()) for s in (busy_s, lost_seconds(world, allocation)))
    return {
        "busy_percent": 100 * cores_s / (clusters.n_cores * length_s),
        "lost_percent": 100 * lost_s / (clusters.n_cores * length_s),
        **{
            f"busy_percent:{name}": 100 * float(busy_s[i] / (clusters.n_nodes[i] * length_s))
            for i, name in enumerate(clusters.names)
        },
        "makespan_s": float(runs.end_s.max() - work.arrival_s[0]) if runs.end_s.size else math.nan,
    }


def cluster_seconds(world: JobWorld, allocation: JobAllocation) -> Floats:
    """The nodes x seconds in which each cluster ran jobs in the counted window, those lost included."""
    return _seconds_of(world, stretches(allocation))


def lost_seconds(world: JobWorld, allocation: JobAllocation) -> Floats:
    """Those of them that came to nothing: of stretches that were lost, and of jobs that were cancelled."""
    runs, pieces = stretches(allocation), allocation.pieces
    is_lost = allocation.fate[runs.job] == Fate.CANCELLED
    is_lost[is_lost.size - pieces.job.size :] |= pieces.is_lost
    return _seconds_of(world, RunStretches(*(column[is_lost] for column in runs)))


def _seconds_of(world: JobWorld, runs: RunStretches) -> Floats:
    """The nodes x seconds of some runs in the counted window, by cluster."""
    types = world.types
    inside_s = meter.inside_s(world.jobs.work, runs.start_s, runs.end_s)
    return _sums(types.cluster[runs.option], types.nodes[runs.option] * inside_s, world.clusters.n_clusters)


def _of_queue(world: JobWorld, allocation: JobAllocation) -> Metrics:
    """How many jobs wait in the counted window, on average and at most."""
    queue, from_s, to_s = queue_steps(world, allocation), world.jobs.work.start_s, window_end_s(world, allocation)
    total = np.diff(queue.total_until(np.array([from_s, to_s])))[0]
    inside = queue.level[(queue.at_s > from_s) & (queue.at_s < to_s)]
    at_start = _level(queue, np.array([from_s]))
    return {
        "mean_queue_length": float(total / max(to_s - from_s, np.finfo(float).tiny)),
        "max_queue_length": int(np.concatenate((inside, at_start)).max(initial=0.0)),
    }


def _of_energy(world: JobWorld, allocation: JobAllocation) -> Metrics:
    """Energy at the meter; all NaN unless every power is known."""
    names = (*meter.NAMES, "energy_per_job_j")
    if not has_power(world):
        return dict.fromkeys(names, math.nan)
    work = world.jobs.work
    runs, standby = job_draws(world, allocation), node_draws(world, allocation)
    of_energy = meter.energy_measures(work, world.supply, runs, standby, window_end_s(world, allocation))
    n_done = int((allocation.ran & work.in_window(allocation.end_s)).sum())
    return {**of_energy, "energy_per_job_j": of_energy["energy_j"] / n_done if n_done else math.nan}


def _of_users(world: JobWorld, allocation: JobAllocation, arrived: Bools) -> Metrics:
    """How many users there are, and how alike their mean slowdowns."""
    label = world.jobs.labels.get(USER)
    if label is None:
        return {"users": math.nan, "fairness": math.nan}
    counted = np.flatnonzero(arrived & allocation.served & (label.codes >= 0))
    users, where = np.unique(label.codes[counted], return_inverse=True)
    slowdown = job_times(world, allocation).bounded_slowdown[counted]
    means = _sums(where, slowdown, users.size) / np.bincount(where, minlength=users.size)
    everyone = np.unique(label.codes[arrived & (label.codes >= 0)])
    return {"users": int(everyone.size), "fairness": fairness(means)}

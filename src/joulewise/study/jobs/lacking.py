"""Whether jobs of a replay lacked power or energy at an instant, had they started with what they drew when they ran."""

from __future__ import annotations

import math

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats
from joulewise.model.jobs import JobAllocation, JobWorld
from joulewise.model.supply import HOUR_S


class Drawn:
    """What the jobs of a replay draw at the meter on top of idle nodes, and what cap and budget leave for that.

    Whoever runs at an instant is taken to go on for as long as planned. A job that had no nodes lacks nothing.
    """

    def __init__(self, world: JobWorld, allocation: JobAllocation) -> None:
        from joulewise.simulate.jobs.power import job_draws, stretches

        runs, types, standby = stretches(allocation), world.types, world.clusters.standby
        pue, idle_w = world.supply.pue, np.zeros(world.clusters.n_clusters) if standby is None else standby.idle_w
        of_site_w = 0.0 if world.site is None else world.site.idle_w
        planned_s, more_w = types.planned_s[runs.option], job_draws(world, allocation).power_w
        more_w = more_w - pue * idle_w[types.cluster[runs.option]] * types.nodes[runs.option]
        order = np.argsort(runs.start_s, kind="stable")
        self._world, self._start_s, self._end_s = world, runs.start_s[order], runs.end_s[order]
        self._until_s, self._more_w = (runs.start_s + planned_s)[order], more_w[order]
        self._longest_s = float((runs.end_s - runs.start_s).max(initial=0.0))
        self._idle_w = pue * (float(world.clusters.n_nodes @ idle_w) + of_site_w)
        n_used = int(allocation.used.sum())
        self._own_w, self._own_s = np.zeros(world.n_jobs), np.zeros(world.n_jobs)
        self._own_w[runs.job[:n_used]], self._own_s[runs.job[:n_used]] = more_w[:n_used], planned_s[:n_used]

    def lacks_power(self, job: Counts, at_s: Floats) -> Bools:
        """Whether more than the cap would have been drawn, at once or at a full hour before the job was to end."""
        cap_w = self._world.supply.cap_w
        if cap_w is None:
            return np.zeros(job.size, np.bool_)
        pairs = zip(job.tolist(), at_s.tolist(), strict=True)
        return np.array([self._is_above(cap_w, of, now_s) for of, now_s in pairs], np.bool_)

    def lacks_energy(self, job: Counts, at_s: Floats) -> Bools:
        """Whether the job was to use more than its day had left."""
        if not math.isfinite(self._world.supply.budget_j):
            return np.zeros(job.size, np.bool_)
        pairs = zip(job.tolist(), at_s.tolist(), strict=True)
        return np.array([self._own_w[of] * self._own_s[of] > self._left_j(now_s) for of, now_s in pairs], np.bool_)

    def _is_above(self, cap_w: Floats, job: int, now_s: float) -> bool:
        rows = self._rows(now_s, now_s)
        runs = self._end_s[rows] > now_s
        until_s, more_w = self._until_s[rows][runs], self._more_w[rows][runs]
        hour = np.arange(math.floor(now_s / HOUR_S), math.ceil((now_s + max(self._own_s[job], 1.0)) / HOUR_S))
        order = np.argsort(until_s)
        ended_w = np.concatenate(([0.0], np.cumsum(more_w[order])))
        over = np.searchsorted(until_s[order], hour * HOUR_S, side="right")
        over[0] = 0
        drawn_w = self._idle_w + self._own_w[job] + ended_w[-1] - ended_w[over]
        return bool((drawn_w > cap_w[hour % cap_w.size] * (1 + 1e-9)).any())

    def _left_j(self, now_s: float) -> float:
        """What is left of a day for jobs, if all that runs goes on for as long as planned."""
        supply, work = self._world.supply, self._world.jobs.work
        day = math.floor((now_s - work.start_s) / supply.day_s)
        begin_s, end_s = (work.start_s + n * supply.day_s for n in (day, day + 1))
        length_s, whole_j = end_s - max(begin_s, 0.0), supply.budget_j
        if supply.is_total:
            n_days = math.ceil((work.end_s - work.start_s) / supply.day_s)
            gone_j = self._used_j(work.start_s, begin_s, now_s) + self._idle_w * supply.day_s * max(day, 0)
            whole_j = (supply.budget_j - gone_j) / max(n_days - max(day, 0), 1)
        share_j = whole_j * length_s / supply.day_s - self._idle_w * length_s
        return share_j - self._used_j(begin_s, end_s, now_s)

    def _used_j(self, from_s: float, to_s: float, now_s: float) -> float:
        """What jobs use between two instants, as far as is known at a third one."""
        rows = self._rows(from_s, now_s)
        ends_s = np.where(self._end_s[rows] <= now_s, self._end_s[rows], self._until_s[rows])
        inside_s = np.minimum(ends_s, to_s) - np.maximum(self._start_s[rows], from_s)
        return float(self._more_w[rows] @ np.maximum(inside_s, 0.0))

    def _rows(self, from_s: float, now_s: float) -> slice:
        """Stretches that started until now, and of those before all that may not have ended at an earlier instant."""
        first = np.searchsorted(self._start_s, min(from_s, now_s) - self._longest_s, side="left")
        return slice(int(first), int(np.searchsorted(self._start_s, now_s, side="right")))

"""What the rules on parallel jobs look at: a world, an allocation, and all stretches of running as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from joulewise.check.findings import findings, rounding_s
from joulewise.check.jobs.struck import are_struck
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints
from joulewise.model.jobs import Fate, JobAllocation, JobWorld

CUT, LOST = -1, -2
"""How a stretch ended that did not complete its job: preempted, or by a failing node. Others have the job's fate."""

job_findings = partial(findings, of="job")


class SchedulerLike(Protocol):
    """The settings of a scheduler that an allocation must respect."""

    @property
    def mapping_interval_s(self) -> float: ...
    @property
    def overrun(self) -> str: ...
    @property
    def dropping_threshold(self) -> float: ...
    @property
    def preempts(self) -> bool: ...
    @property
    def checkpoint_s(self) -> float: ...
    @property
    def restart_s(self) -> float: ...


class JobStretches(NamedTuple):
    """Stretches of running of one job by one option, in order of job and then start."""

    job: Ints
    option: Ints
    start_s: Floats
    end_s: Floats
    fate: Codes

    def only(self, rows: Bools | Counts) -> JobStretches:
        """These rows alone."""
        columns: Any = (column[rows] for column in self)
        return JobStretches(*columns)


@dataclass(frozen=True, eq=False)
class JobCase:
    """An allocation of jobs; the scheduler that is said to have made it may be unknown."""

    world: JobWorld
    allocation: JobAllocation
    scheduler: SchedulerLike | None = None

    @cached_property
    def stretches(self) -> JobStretches:
        """All stretches by a choice that exists and between two instants; of others the row rules tell."""
        allocation, pieces = self.allocation, self.allocation.pieces
        last = np.flatnonzero(allocation.used)
        columns = (
            (last, pieces.job),
            (allocation.option[last], pieces.option),
            (allocation.start_s[last], pieces.start_s),
            (allocation.end_s[last], pieces.end_s),
            (allocation.fate[last], np.where(pieces.is_lost, LOST, CUT)),
        )
        joined: Any = (np.concatenate(column) for column in columns)
        rows = JobStretches(*joined)
        rows = rows.only(self.exists(rows.job, rows.option) & np.isfinite(rows.start_s) & np.isfinite(rows.end_s))
        return rows.only(np.lexsort((rows.start_s, rows.job)))

    @cached_property
    def is_struck(self) -> Bools:
        """Which of the stretches end as a node that they have on a site fails."""
        return are_struck(self.world, self.allocation, self.stretches.job, self.stretches.start_s)

    @cached_property
    def is_cancelled(self) -> Bools:
        """Which jobs a site may have cancelled: killed ones that did not run for all that they might.

        Either they lost a node and do not run again; or it was for others. Where jobs end at their limits those did not
        run as long; where it is not known, other than just as long.
        """
        demands, allocation, types, site = self.world.jobs.demands, self.allocation, self.world.types, self.world.site
        found = np.zeros(allocation.fate.size, np.bool_)
        if site is not None and not site.requeues:
            rows = self.stretches.only(self.is_struck & (self.stretches.fate == Fate.KILLED))
            found[rows.job] = True
        if demands is not None and demands.giving.stops.any():
            giving, rows = demands.giving, self.stretches
            rows = rows.only((rows.fate == Fate.KILLED) & (giving.of_job[rows.job] >= 0))
            ran_s, limit_s = rows.end_s - rows.start_s, types.allowed_s[rows.option]
            is_short = (ran_s < types.time_s[rows.option]) & giving.cancels[giving.of_job[rows.job]]
            if self.scheduler is None:
                is_short &= np.abs(ran_s - limit_s) > rounding_s(rows.end_s)
            elif self.scheduler.overrun == "kill":
                is_short &= ran_s < limit_s
            found[rows.job[is_short]] = True
        return found

    def exists(self, job: Ints | Counts, option: Ints) -> Bools:
        """Whether these are jobs, with options that their types have."""
        is_job = (job >= 0) & (job < self.world.n_jobs)
        kind = self.world.jobs.work.task_type[np.where(is_job, job, 0)]
        first = self.world.types.first
        return np.asarray(is_job & (option >= first[kind]) & (option < first[kind + 1]))

    @property
    def power_w(self) -> Floats:
        """What each stretch draws at the meter."""
        return np.asarray(self.world.supply.pue * self.world.types.power_w[self.stretches.option])

    @property
    def idle_w(self) -> Floats:
        """What an idle node of each cluster draws at the meter."""
        standby = self.world.clusters.standby
        if standby is None:
            return np.zeros(self.world.clusters.n_clusters)
        return np.asarray(self.world.supply.pue * standby.idle_w)

    @property
    def extra_w(self) -> Floats:
        """What each stretch draws at the meter on top of its nodes when idle."""
        types, option = self.world.types, self.stretches.option
        return self.power_w - types.nodes[option] * self.idle_w[types.cluster[option]]

    @cached_property
    def planned_s(self) -> Floats:
        """What each option takes as the scheduler knows it before a start: where it is told, no plan is too short."""
        types, scheduler = self.world.types, self.scheduler
        if scheduler is None or scheduler.overrun != "raise":
            return types.planned_s
        return np.maximum(types.planned_s, types.time_s)

    @property
    def is_as_planned(self) -> bool:
        """Whether nothing ran for longer than its planner knew."""
        if self.scheduler is None:
            return True
        types, option = self.world.types, self.stretches.option
        most_s = types.allowed_s if self.scheduler.overrun == "kill" else math.inf
        return not (np.minimum(types.time_s, most_s) > self.planned_s)[option].any()

    def ended(self, fate: Fate) -> Counts:
        """The jobs with this fate."""
        return np.flatnonzero(self.allocation.fate == fate)


JobRule: TypeAlias = Callable[[JobCase], Iterator[str]]

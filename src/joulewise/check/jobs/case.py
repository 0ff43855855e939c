"""What the rules on parallel jobs look at: a world, an allocation, and all stretches of running as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from joulewise.check.findings import findings
from joulewise.check.jobs.power import drawn_by_places, idle_site_w, is_by_place
from joulewise.check.jobs.struck import are_struck
from joulewise.model.arrays import Bools, Codes, Counts, Floats, Ints
from joulewise.model.jobs import Fate, JobAllocation, JobWorld
from joulewise.model.site import LAST as THE_LAST

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
    """Stretches of running of one job by one option, in order of job and then start.

    Those but the last of each job are pieces of the allocation, with their numbers there.
    """

    job: Ints
    option: Ints
    start_s: Floats
    end_s: Floats
    fate: Codes
    piece: Ints

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
            (np.full(last.size, THE_LAST), np.arange(pieces.job.size)),
        )
        joined: Any = (np.concatenate(column) for column in columns)
        rows = JobStretches(*joined)
        rows = rows.only(self.exists(rows.job, rows.option) & np.isfinite(rows.start_s) & np.isfinite(rows.end_s))
        return rows.only(np.lexsort((rows.start_s, rows.job)))

    @cached_property
    def is_struck(self) -> Bools:
        """Which stretches end as a node that they have on a site fails, and are lost or cancelled as that one says."""
        rows, site = self.stretches, self.world.site
        as_said = rows.fate == (LOST if site is None or site.requeues else Fate.CANCELLED)
        return np.asarray(as_said & are_struck(self.world, self.allocation, rows.job, rows.start_s))

    @cached_property
    def kept_until_s(self) -> Floats:
        """Until when each of the allocation's pieces of running kept what it has but processors.

        A job of a site that is suspended keeps that until it goes on, which may be never.
        """
        pieces, rows = self.allocation.pieces, self.stretches
        until_s = pieces.end_s.copy()
        for at in np.flatnonzero(~pieces.is_lost).tolist():
            mine = rows.start_s[rows.job == pieces.job[at]]
            until_s[at] = mine[mine >= pieces.end_s[at]].min(initial=math.inf)
        return until_s

    @cached_property
    def goes_on(self) -> Bools:
        """Which stretches go on with a job that was suspended before."""
        rows, is_cut = self.stretches, self.stretches.fate == CUT
        follows = np.zeros(rows.job.size, np.bool_)
        follows[1:] = (rows.job[1:] == rows.job[:-1]) & is_cut[:-1]
        return follows

    def exists(self, job: Ints | Counts, option: Ints) -> Bools:
        """Whether these are jobs, with options that their types have."""
        is_job = (job >= 0) & (job < self.world.n_jobs)
        kind = self.world.jobs.work.task_type[np.where(is_job, job, 0)]
        first = self.world.types.first
        return np.asarray(is_job & (option >= first[kind]) & (option < first[kind + 1]))

    @property
    def power_w(self) -> Floats:
        """What each stretch draws at the meter."""
        rows, power_w = self.stretches, self.world.types.power_w[self.stretches.option]
        if is_by_place(self.world) and self.allocation.places is not None:
            power_w = drawn_by_places(self.world, self.allocation, rows.job, rows.piece)
        return np.asarray(self.world.supply.pue * power_w)

    @property
    def idle_w(self) -> Floats:
        """What an idle node of each cluster draws at the meter."""
        standby = self.world.clusters.standby
        if standby is None:
            return np.zeros(self.world.clusters.n_clusters)
        return np.asarray(self.world.supply.pue * standby.idle_w)

    @property
    def all_idle_w(self) -> float:
        """What all nodes draw at the meter without a job."""
        of_clusters_w = float((self.world.clusters.n_nodes * self.idle_w).sum())
        return of_clusters_w + self.world.supply.pue * idle_site_w(self.world)

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

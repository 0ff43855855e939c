"""The section `[scheduler]` of a study file: every switch of how parallel jobs are scheduled."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from joulewise.errors import Problem, raise_if_any
from joulewise.policies.jobs.policy import Commitment, JobPolicy
from joulewise.simulate.jobs.scheduler import (
    LENIENCY,
    SHORTEST_INTERVAL_S,
    ClusterTies,
    DroppingBy,
    EnergyFilter,
    Nodes,
    Overrun,
    PassKind,
    Scheduler,
)
from joulewise.study.spec.parameters import InlineTable
from joulewise.worlds.parameters import explained

Weights: TypeAlias = Annotated[tuple[tuple[str, float], ...], InlineTable("{age = 1, fair_share = 2}")]
Standing: TypeAlias = Annotated[tuple[tuple[str, float], ...], InlineTable("{debug = 1, batch = 0.5}")]

MOST_JOBS = 20_000_000


@dataclass(frozen=True)
class SchedulerParameters:
    """How parallel jobs get their nodes."""

    policy: Annotated[str, Field(min_length=1)] = field(
        metadata={
            "help": 'a name of `joulewise list job-policies`, or "file.py:function" of your own',
            "file": "code",
        }
    )
    mapping_interval_s: Annotated[float | None, Field(ge=SHORTEST_INTERVAL_S)] = explained(
        None, "time between mapping events; left out: 1 min for a parallel-day, else at every arrival and end"
    )
    reservations_for: Annotated[int | None, Field(ge=0, le=MOST_JOBS)] = explained(
        None, "number of jobs that cannot start at once for which nodes are held ahead; left out: as the policy says"
    )
    commitment: Commitment | None = explained(
        None,
        "how long nodes are held ahead: until the job starts, or until the next mapping event; left out: as the policy",
    )
    cluster_ties: ClusterTies = explained(
        Scheduler.cluster_ties,
        "which cluster a job gets if it can start on several at the same instant: the first, or the fastest",
    )
    nodes: Nodes = explained(
        Scheduler.nodes,
        "which nodes a job gets is decided when it starts, or when it is planned, by the voids it leaves",
    )
    passes: PassKind = explained(
        Scheduler.passes,
        "on a site, jobs that wait are gone through whenever something changes; or as Slurm does it, by [slurm] of the "
        "site: up to the first that cannot start at every event, and beside whole nodes held ahead every bf_interval",
    )
    dropping_threshold: Annotated[float, Field(ge=0)] = explained(
        Scheduler.dropping_threshold, "a job that can no longer earn this utility is dropped; 0 drops nothing"
    )
    dropping_by: DroppingBy = explained(
        Scheduler.dropping_by,
        "a job is dropped if it would earn less when started now; or options that earn less are not taken",
    )
    energy_filter: EnergyFilter = explained(
        Scheduler.energy_filter,
        "options above a fair share of the remaining energy are removed: of each job, or of each core-second",
    )
    leniency: Annotated[float, Field(gt=0)] = explained(LENIENCY, "multiplies the fair share of the energy filter")
    adapts_leniency: bool = explained(
        False, "whether the leniency adapts to how fast the energy is used, in place of being given"
    )
    follows_tariff: bool = explained(
        Scheduler.follows_tariff,
        "whether energy counts more in hours in which it costs more than average, and less in cheaper hours",
    )
    overrun: Overrun = explained(
        Scheduler.overrun,
        "a job that runs longer than planned: its plan is raised to what it takes before it starts; it is raised step "
        "by step (1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50, 100 h) whenever it is outlived; the same, and the job is "
        "killed when the time that it asked for is over; or the planner keeps expecting it to end at once",
    )
    preempts: bool = explained(
        Scheduler.preempts, "whether a job that comes and cannot start may suspend running jobs where that earns more"
    )
    checkpoint_s: Annotated[float, Field(ge=0)] = explained(
        Scheduler.checkpoint_s, "time that suspending takes, on the nodes of the job"
    )
    restart_s: Annotated[float, Field(ge=0)] = explained(
        Scheduler.restart_s, "time that resuming takes, on top of what is left"
    )
    queue_thresholds: tuple[float, float] = explained(
        Scheduler.queue_thresholds,
        "queues by size: shares of the largest type's core-seconds above which jobs are medium, and large",
    )
    per_cycle: tuple[int, int, int] = explained(
        Scheduler.per_cycle, "queues by size: how many large, medium, small jobs a turn"
    )
    weights: Weights = explained(
        (),
        "of the policy multifactor: age, fair_share, size and queue; 1 if left out; on a site partition, qos and tres "
        "too, and those left out are the site's if its file has any",
    )
    standing: Standing = explained((), "of the policy multifactor: place of queues from 0 to 1, by their names")
    usage_half_life_s: Annotated[float | None, Field(gt=0)] = explained(
        Scheduler.usage_half_life_s,
        "of the policy multifactor: what a user has used counts half after this time; left out: as the file of a site "
        "says, or else 7 d",
    )

    def scheduler(self, policy: JobPolicy) -> Scheduler:
        """The scheduler with this policy; InputError where switches and policy do not fit."""
        values: dict[str, Any] = {found.name: getattr(self, found.name) for found in dataclasses.fields(self)}
        if self.mapping_interval_s is None:
            values["mapping_interval_s"] = math.inf
        if values.pop("adapts_leniency"):
            raise_if_any(_given_leniency(self))
            values["leniency"] = "adaptive"
        tables = {name: dict(values[name]) for name in ("weights", "standing")}
        return Scheduler(**{**values, **tables, "policy": policy})


def _given_leniency(p: SchedulerParameters) -> Iterator[Problem]:
    """A leniency that is given, where it adapts."""
    if p.leniency != SchedulerParameters.leniency:
        found, allowed = f"found {p.leniency:g} with adapts_leniency = true", "cannot be given where it adapts"
        yield Problem("scheduler.leniency", found, allowed, "leave one of the two out, or set them in variants")

"""Switches of schedulers that do nothing in the worlds of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from joulewise.study.jobs.sources import AS_LOGGED, JOB_TABLE, SITE, TRACE
from joulewise.study.kinds.switches import Use
from joulewise.study.spec.parts import WorldParts

if TYPE_CHECKING:
    from joulewise.simulate.jobs.scheduler import Scheduler


def _may_overrun(parts: WorldParts) -> bool:
    return parts.workload.source in (TRACE, JOB_TABLE)


_IN_QUEUES: Use[Scheduler] = Use(
    lambda _, scheduler: scheduler.policy.rule == "in-queues",
    "is for queues by size, and no policy here has them",
    'use policy = "fcfs-multiple-queues"',
)
_WEIGHTED: Use[Scheduler] = Use(
    lambda _, scheduler: scheduler.policy.is_weighted,
    "is for the policy multifactor, which is not used here",
    'use policy = "multifactor"',
)
_PREEMPTING: Use[Scheduler] = Use(
    lambda _, scheduler: scheduler.preempts, "is for jobs that are suspended", "set preempts = true"
)

USES: dict[str, Use[Scheduler]] = {
    "commitment": Use(
        lambda _, scheduler: scheduler.n_reservations != 0,
        "says how nodes are held ahead, and they are held for no job",
        "give reservations_for, or use another policy",
    ),
    "cluster_ties": Use(
        lambda parts, scheduler: (
            parts.system.source != AS_LOGGED and scheduler.policy.rule in ("in-order", "in-queues")
        ),
        "is for policies that go by an order, on several clusters",
        'use a policy such as "easy", and describe clusters in [system]',
    ),
    "leniency": Use(
        lambda _, scheduler: scheduler.energy_filter != "none",
        "multiplies a fair share, and nothing is filtered so",
        'set energy_filter = "per-task"',
    ),
    "follows_tariff": Use(
        lambda parts, scheduler: (
            parts.supply.parameters.tariff is not None
            and (scheduler.energy_filter != "none" or scheduler.policy.is_priced)
        ),
        "needs a tariff, and an energy filter or the policy prices",
        "give supply.tariff and energy_filter",
    ),
    "dropping_by": Use(
        lambda _, scheduler: scheduler.dropping_threshold > 0,
        "says which are dropped, but the threshold is 0",
        "give dropping_threshold",
    ),
    "overrun": Use(
        lambda parts, _: _may_overrun(parts),
        "is for jobs that run longer than planned, and all run exactly so",
        "use a trace, or a table of jobs with planned_s",
    ),
    "passes": Use(
        lambda parts, _: parts.system.source == SITE,
        "says how the jobs of a site are gone through, and there is none",
        "describe one: [system] site = FILE",
    ),
    "checkpoint_s": _PREEMPTING,
    "restart_s": _PREEMPTING,
    "queue_thresholds": _IN_QUEUES,
    "per_cycle": _IN_QUEUES,
    "standing": _WEIGHTED,
    "usage_half_life_s": _WEIGHTED,
}
"""The switches of a scheduler that do not always do something."""

"""Switches of schedulers that do nothing in the worlds of a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from joulewise.errors import Problem
from joulewise.study.jobs.sources import AS_LOGGED, JOB_TABLE, TRACE
from joulewise.study.parameters import shown
from joulewise.study.spec import WorldParts

if TYPE_CHECKING:
    from joulewise.simulate.jobs.scheduler import Scheduler


def _may_overrun(parts: WorldParts) -> bool:
    return parts.workload.source in (TRACE, JOB_TABLE)


class _Use(NamedTuple):
    """Where a switch of the scheduler does something, and what to say where it does nothing."""

    has_effect: Callable[[WorldParts, Scheduler], bool]
    allowed: str
    advice: str


_IN_QUEUES = _Use(
    lambda _, scheduler: scheduler.policy.rule == "in-queues",
    "is for queues by size, and no policy here has them",
    'use policy = "fcfs-multiple-queues"',
)
_WEIGHTED = _Use(
    lambda _, scheduler: scheduler.policy.is_weighted,
    "is for the policy multifactor, which is not used here",
    'use policy = "multifactor"',
)
_PREEMPTING = _Use(lambda _, scheduler: scheduler.preempts, "is for jobs that are suspended", "set preempts = true")

_USES = {
    "commitment": _Use(
        lambda _, scheduler: scheduler.n_reservations != 0,
        "says how nodes are held ahead, and they are held for no job",
        "give reservations_for, or use another policy",
    ),
    "cluster_ties": _Use(
        lambda parts, scheduler: (
            parts.system.source != AS_LOGGED and scheduler.policy.rule in ("in-order", "in-queues")
        ),
        "is for policies that go by an order, on several clusters",
        'use a policy such as "easy", and describe clusters in [system]',
    ),
    "leniency": _Use(
        lambda _, scheduler: scheduler.energy_filter != "none",
        "multiplies a fair share, and nothing is filtered so",
        'set energy_filter = "per-task"',
    ),
    "follows_tariff": _Use(
        lambda parts, scheduler: (
            parts.supply.parameters.tariff is not None
            and (scheduler.energy_filter != "none" or scheduler.policy.is_priced)
        ),
        "needs a tariff, and an energy filter or the policy prices",
        "give supply.tariff and energy_filter",
    ),
    "dropping_by": _Use(
        lambda _, scheduler: scheduler.dropping_threshold > 0,
        "says which are dropped, but the threshold is 0",
        "give dropping_threshold",
    ),
    "overrun": _Use(
        lambda parts, _: _may_overrun(parts),
        "is for jobs that run longer than planned, and all run exactly so",
        "use a trace, or a table of jobs with planned_s",
    ),
    "checkpoint_s": _PREEMPTING,
    "restart_s": _PREEMPTING,
    "queue_thresholds": _IN_QUEUES,
    "per_cycle": _IN_QUEUES,
    "standing": _WEIGHTED,
    "usage_half_life_s": _WEIGHTED,
}


def idle_switches(points: Iterable[tuple[WorldParts, Scheduler]]) -> Iterator[Problem]:
    """Switches of the scheduler that a study sets and that change nothing at any of its points."""
    points = list(points)
    for name, use in _USES.items():
        found = [point for point in points if getattr(point[1], name) != _default(point[1], name)]
        if found and not any(use.has_effect(*point) for point in found):
            value = getattr(found[0][1], name)
            told = shown(name, dict(value) if isinstance(value, Mapping) else value)
            where = f"scheduler.{name.removesuffix('_s')}"
            yield Problem(where, f"found {told}", use.allowed, f"{use.advice}, or leave it out")


def _default(scheduler: Scheduler, name: str) -> object:
    found = next(field for field in dataclasses.fields(scheduler) if field.name == name)
    factory = found.default_factory
    return found.default if factory is dataclasses.MISSING else factory()

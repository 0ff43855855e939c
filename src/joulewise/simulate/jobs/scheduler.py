"""How parallel jobs are scheduled: a policy and every switch of it, checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from joulewise.errors import Problem, check_kinds, raise_if_any, unknown_name
from joulewise.policies.jobs.orders import SITE_WEIGHTS, WEIGHTS, multifactor
from joulewise.policies.jobs.policy import ALL_JOBS, Commitment, JobOrder, JobPolicy

SHORTEST_INTERVAL_S = 1e-3
DAY_S = 86_400.0
HALF_LIFE_S = 7 * DAY_S
"""After which time what users have used counts half unless asked otherwise."""

LENIENCY = 1.0
"""Fair shares that the energy filter allows unless asked otherwise."""

_MINUTE_S, _HOUR_S = 60.0, 3_600.0
RAISING_STEPS_S = (
    *(minutes * _MINUTE_S for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR_S for hours in (1, 2, 5, 10, 20, 50, 100)),
)
"""By how much a plan is raised each time that its job outlives it (Tsafrir, Etsion and Feitelson 2007)."""

ReservationsFor: TypeAlias = Literal["none", "first", "all"] | int
DroppingBy: TypeAlias = Literal["task", "option"]
EnergyFilter: TypeAlias = Literal["none", "per-task", "per-resource"]
Overrun: TypeAlias = Literal["raise", "steps", "kill", "unaware"]
ClusterTies: TypeAlias = Literal["lowest", "fastest"]
Nodes: TypeAlias = Literal["counted", "pinned"]
PassKind: TypeAlias = Literal["always", "slurm"]

_CHOICES = {
    "dropping_by": DroppingBy,
    "energy_filter": EnergyFilter,
    "overrun": Overrun,
    "cluster_ties": ClusterTies,
    "nodes": Nodes,
    "passes": PassKind,
}
_NUMBERS = {"none": 0, "first": 1, "all": ALL_JOBS}


@dataclass(frozen=True, eq=False)
class Scheduler:
    """How parallel jobs are scheduled. Raises InputError with every problem.

    **Mapping events** happen at 0, 1, 2, ... times `mapping_interval_s`; infinite: whenever a job can be ready or has
    ended, or nodes or energy become free otherwise.

    **Nodes held ahead.** `reservations_for` this many jobs that cannot start at once ("none", "first", "all" or a
    number) nodes are held, by the `commitment`: "reservations" stay until the job starts, "place-holders" until the
    next mapping event. None leaves both to the policy. Equal starts go to the option that comes first ("lowest":
    by cluster, then P-state), or to the "fastest". Which `nodes` a job gets is decided when it starts ("counted"), or
    when it is planned ("pinned"): those that leave the fewest voids, of these the ones with the smallest void. On a
    site, the jobs that wait are gone through whenever something changes ("always"), or in the `passes` of its Slurm.

    **Dropping and energy.** With `dropping_by` "task" a job is dropped when it would earn less than
    `dropping_threshold` if it started now in its fastest option; with "option", an option that earns less is not
    taken. The `energy_filter` removes options by a fair share of energy, of each job or of each core-second, times
    `leniency`, which may be "adaptive"; with `follows_tariff` an hour's energy counts by its cost over the mean.

    **Plans and truth.** A job that runs longer than planned: its plan is raised to what it takes before it starts
    ("raise"); it is raised by the next of `RAISING_STEPS_S` whenever it is outlived, though not beyond the job's limit
    before that is outlived too ("steps"); the same, and the job is killed at its limit ("kill"); or the planner takes
    it to end right away ever again ("unaware"). With `preempts`, a job that comes and cannot start may suspend running
    jobs where that earns more: they write a checkpoint for `checkpoint_s`, and go on later for `restart_s` longer.

    **Queues and priorities.** Jobs are large, medium or small by their mean core-seconds as a share of the largest
    type's, split at `queue_thresholds`; each turn takes `per_cycle` of large, medium and small ones. `weights` are
    those of the multifactor order; `standing` gives queues a place from 0 to 1 in it, and what users have used
    counts half after `usage_half_life_s`. A site may say so itself: its weights stand for those that are left out,
    and so does its half-life; where neither says so, that is `HALF_LIFE_S`.
    """

    policy: JobPolicy
    mapping_interval_s: float = math.inf
    reservations_for: ReservationsFor | None = None
    commitment: Commitment | None = None
    dropping_threshold: float = 0.0
    dropping_by: DroppingBy = "task"
    energy_filter: EnergyFilter = "none"
    leniency: float | Literal["adaptive"] = LENIENCY
    follows_tariff: bool = False
    overrun: Overrun = "raise"
    preempts: bool = False
    checkpoint_s: float = 0.0
    restart_s: float = 0.0
    queue_thresholds: tuple[float, float] = (0.3, 0.6)
    per_cycle: tuple[int, int, int] = (1, 4, 8)
    weights: Mapping[str, float] = field(default_factory=dict)
    standing: Mapping[str, float] = field(default_factory=dict)
    usage_half_life_s: float | None = None
    cluster_ties: ClusterTies = "lowest"
    nodes: Nodes = "counted"
    passes: PassKind = "always"

    def __post_init__(self) -> None:
        check_kinds(("scheduler.policy", self.policy, JobPolicy, 'jw.jobs.find_policy("easy") gives one by its name'))
        for name in ("mapping_interval_s", "dropping_threshold", "checkpoint_s", "restart_s"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("weights", "standing"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        raise_if_any(_problems(self))

    @property
    def n_reservations(self) -> int:
        """For how many jobs nodes are held ahead; ALL_JOBS is for everybody."""
        asked = self.policy.reservations if self.reservations_for is None else self.reservations_for
        return _NUMBERS[asked] if isinstance(asked, str) else asked

    @property
    def holds_until_start(self) -> bool:
        """Whether nodes held ahead stay held until the job starts."""
        return (self.commitment or self.policy.commitment) == "reservations"

    @property
    def order(self) -> JobOrder | None:
        """The policy's order, with the scheduler's own weights."""
        return multifactor(self.weights) if self.policy.is_weighted else self.policy.order

    @property
    def half_life_s(self) -> float:
        """After which time what users have used counts half, where no site says so."""
        return HALF_LIFE_S if self.usage_half_life_s is None else float(self.usage_half_life_s)

    @property
    def is_adaptive(self) -> bool:
        """Whether leniency follows how fast energy is used."""
        return self.leniency == "adaptive"


def _problems(scheduler: Scheduler) -> Iterator[Problem]:
    for name, allowed in _CHOICES.items():
        if getattr(scheduler, name) not in get_args(allowed):
            yield unknown_name(f"scheduler.{name}", str(getattr(scheduler, name)), get_args(allowed))
    if scheduler.commitment is not None and scheduler.commitment not in get_args(Commitment):
        yield unknown_name("scheduler.commitment", str(scheduler.commitment), get_args(Commitment))
    yield from _number_problems(scheduler)
    yield from _holding_problems(scheduler)
    yield from _priority_problems(scheduler)
    yield from _fit_problems(scheduler)


def _number_problems(scheduler: Scheduler) -> Iterator[Problem]:
    if not scheduler.mapping_interval_s >= SHORTEST_INTERVAL_S:
        found, allowed = f"found {scheduler.mapping_interval_s} s", f"must be {SHORTEST_INTERVAL_S:g} s or more"
        yield Problem("scheduler.mapping_interval", found, allowed, "leave it out for events at every change")
    for name in ("dropping_threshold", "checkpoint_s", "restart_s"):
        value = getattr(scheduler, name)
        if not (value >= 0 and math.isfinite(value)):
            yield Problem(f"scheduler.{name}", f"found {value}", "must be 0 or more, and finite")
    leniency = scheduler.leniency
    if isinstance(leniency, str) and leniency != "adaptive":
        yield Problem("scheduler.leniency", f"found {leniency!r}", 'must be a number above 0, or "adaptive"')
    elif not isinstance(leniency, str) and not (leniency > 0 and math.isfinite(leniency)):
        advice = 'for no filtering leave energy_filter out, or set it to "none"'
        yield Problem("scheduler.leniency", f"found {leniency}", "must be above 0, and finite", advice)
    if not scheduler.half_life_s > 0:
        yield Problem("scheduler.usage_half_life", f"found {scheduler.usage_half_life_s} s", "must be above 0 s")


def _holding_problems(scheduler: Scheduler) -> Iterator[Problem]:
    asked = scheduler.reservations_for
    if isinstance(asked, str) and asked not in _NUMBERS:
        yield unknown_name("scheduler.reservations_for", asked, [*_NUMBERS, "a number"])
    elif isinstance(asked, int) and asked < 0:
        yield Problem("scheduler.reservations_for", f"found {asked}", 'must be 0 or more, or "all"')
    low, high = scheduler.queue_thresholds
    if not 0 <= low <= high <= 1:
        yield Problem("scheduler.queue_thresholds", f"found {low}, {high}", "must rise, from 0 to 1")
    if any(n < 0 for n in scheduler.per_cycle) or not all(scheduler.per_cycle):
        found = f"found {list(scheduler.per_cycle)}"
        yield Problem("scheduler.per_cycle", found, "must be 1 or more of large, medium and small jobs")


def _priority_problems(scheduler: Scheduler) -> Iterator[Problem]:
    for name in scheduler.weights:
        if name not in (*WEIGHTS, *SITE_WEIGHTS):
            yield unknown_name("scheduler.weights", name, (*WEIGHTS, *SITE_WEIGHTS))
    for name, weight in scheduler.weights.items():
        if not math.isfinite(weight):
            yield Problem(f"scheduler.weights.{name}", f"found {weight}", "must be finite")
    for name, standing in scheduler.standing.items():
        if not 0 <= standing <= 1:
            yield Problem(f"scheduler.standing.{name}", f"found {standing}", "must be from 0 to 1")


def _fit_problems(scheduler: Scheduler) -> Iterator[Problem]:
    """Switches that do not go together."""
    policy = scheduler.policy
    if scheduler.weights and not policy.is_weighted:
        found = f"found weights with the policy {policy.name}"
        yield Problem("scheduler.weights", found, "are those of the policy multifactor", "leave them out")
    if policy.rule in ("greedy", "assigned") and scheduler.reservations_for not in (None, "all"):
        found = f"found {scheduler.reservations_for!r} with the policy {policy.name}"
        yield Problem(
            "scheduler.reservations_for", found, "such a policy says itself for whom nodes are held", "leave it out"
        )
    if scheduler.overrun == "unaware" and math.isfinite(scheduler.mapping_interval_s):
        found = f"found 'unaware' with mapping events every {scheduler.mapping_interval_s:g} s"
        allowed = "must map at every change: nodes that are held may not be free when their time comes"
        yield Problem("scheduler.overrun", found, allowed, "leave mapping_interval out")
    if scheduler.nodes == "pinned" and scheduler.preempts:
        found, allowed = "found 'pinned' with preempts", "suspended jobs go on where nodes are free, not on their own"
        yield Problem("scheduler.nodes", found, allowed, "leave preempts out, or nodes")
    if scheduler.preempts and scheduler.overrun == "unaware":
        found, allowed = "found overrun 'unaware'", "plans must hold where jobs are suspended"
        yield Problem("scheduler.preempts", found, allowed, "leave overrun out")

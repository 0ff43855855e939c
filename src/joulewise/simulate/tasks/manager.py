"""How the resource manager works: its policy and every switch of Friese (2015), chapters 2 to 4, checked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from joulewise.errors import Problem, check_kinds, raise_if_any, unknown_name
from joulewise.model.groups import Dealing, can_be_divided
from joulewise.model.system import System
from joulewise.policies.tasks.policy import Policy

SHORTEST_INTERVAL_S = 1e-3
MOST_PERMUTED = 5

Environment: TypeAlias = Literal["queued", "polled"]
Filter: TypeAlias = Literal["none", "fair-share", "adaptive"]
MappingTime: TypeAlias = Literal["free", "given", "measured"]
DroppingBy: TypeAlias = Literal["all", "idle"]
Postponing: TypeAlias = Literal["each-event", "next-day"]

_OVERHEADS = ("checkpoint_s", "restart_s")
"""Times that suspending costs."""

_CHOICES = {
    "environment": get_args(Environment),
    "energy_filter": get_args(Filter),
    "mapping_time": get_args(MappingTime),
    "dropping_by": get_args(DroppingBy),
    "postponing": get_args(Postponing),
    "dealing": get_args(Dealing),
}


@dataclass(frozen=True, eq=False)
class Manager:
    """How the resource manager works. Raises InputError with every problem.

    **Dropping.** A task whose best possible utility is below `dropping_threshold` is dropped; 0 drops nothing.
    `class_thresholds` gives other thresholds to classes of tasks: a machine group ("special", for tasks that run
    fastest on a machine type of that group) or a level of one of the workload's tags ("critical"). With
    `follows_load` all of them are multiplied by the load at the event: the mean execution times of all that waits,
    over an hour of all machines. In the polled environment `dropping_by` may be the machines that are idle at the event
    alone; without such a threshold no task is dropped.

    **Mapping events** of batch mode happen at 0, 1, 2, ... times `mapping_interval_s`; with `mapping_arrivals` also
    as soon as this many tasks have arrived since the last one, and intervals count from the last event then. In
    immediate mode every arrival is one; who comes while the mapper is busy with another waits for its turn.
    `mapping_time` says what mapping costs on the simulated clock: nothing, `mapping_model` (seconds: constant, per
    task of the batch, per squared task), or what it really took.

    **Choices.** Tasks go only to the `best_types` machine types that run them fastest; None leaves that to the policy.
    In the queued environment every machine has a queue of which the first, the pending task, is no longer moved; in
    the polled one only machines that are idle at the event get a task. `permuted` first tasks of each virtual queue
    are put into the order that earns most. Choices that use too much energy are removed by the `energy_filter`,
    whose fair share is multiplied by `leniency`. `weight` is that of energy against utility in weighted policies.
    With `declines`, a choice whose value is not above 0 is never made; None leaves that to the policy. With
    `follows_tariff` an hour's energy counts more, or less, by its cost over the mean. A task that runs longer than
    `kill_factor` times its estimated time is killed. What does not fit into a day's budget is tried again at the next
    event or, `postponing` it, on the next day.

    **Groups.** With several `groups` the machines are divided evenly, and each group has a manager of its own that
    knows its machines, its share of the energy, and the tasks dealt to it: `dealing` says how.

    **Suspending.** With `preempts`, in the polled environment, a task that comes and gets no machine may suspend a
    running task where that earns more: that one writes a checkpoint for `checkpoint_s`, at once gets the machine of its
    type that is free first, and goes on there for `restart_s` longer, in the P-state it had. Each task is suspended
    once at most.
    """

    policy: Policy
    dropping_threshold: float = 0.0
    mapping_interval_s: float = 60.0
    best_types: int | None = None
    class_thresholds: Mapping[str, float] = field(default_factory=dict)
    mapping_arrivals: int | None = None
    mapping_time: MappingTime = "free"
    mapping_model: tuple[float, float, float] = (0.0, 0.0, 0.0)
    environment: Environment = "queued"
    permuted: int = 1
    energy_filter: Filter = "none"
    leniency: float = 1.0
    weight: float = 0.5
    declines: bool | None = None
    follows_tariff: bool = False
    kill_factor: float = math.inf
    dropping_by: DroppingBy = "all"
    follows_load: bool = False
    groups: int = 1
    dealing: Dealing = "in-turn"
    postponing: Postponing = "each-event"
    preempts: bool = False
    checkpoint_s: float = 0.0
    restart_s: float = 0.0

    def __post_init__(self) -> None:
        check_kinds(("manager.policy", self.policy, Policy, 'jw.find_policy("max-max-upt") gives one by its name'))
        for name in (*_OVERHEADS, "dropping_threshold", "mapping_interval_s", "leniency", "weight", "kill_factor"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "class_thresholds", MappingProxyType(dict(self.class_thresholds)))
        raise_if_any(_problems(self))

    @property
    def n_types(self) -> int | None:
        """How many machine types a task may go to, the fastest first; None means all."""
        return self.policy.best_types if self.best_types is None else self.best_types

    @property
    def only_worthwhile(self) -> bool:
        """Whether a choice whose value is not above 0 is never made."""
        return self.policy.declines if self.declines is None else self.declines


def _problems(manager: Manager) -> Iterator[Problem]:
    yield from _number_problems(manager)
    for name, allowed in _CHOICES.items():
        if getattr(manager, name) not in allowed:
            yield unknown_name(f"manager.{name}", str(getattr(manager, name)), allowed)
    yield from _mapping_problems(manager)
    yield from _fit_problems(manager)


def _number_problems(manager: Manager) -> Iterator[Problem]:
    thresholds = {"dropping_threshold": manager.dropping_threshold, **manager.class_thresholds}
    for name, threshold in thresholds.items():
        if not (threshold >= 0 and math.isfinite(threshold)):
            found = f"found {threshold}"
            yield Problem(f"manager.{name}", found, "must be 0 (drop nothing) or more, and finite")
    if manager.best_types is not None and manager.best_types < 1:
        found = f"found {manager.best_types}"
        yield Problem("manager.best_types", found, "must be 1 or more", "leave it out to allow what the policy does")
    if not (0 <= manager.weight <= 1):
        yield Problem("manager.weight", f"found {manager.weight}", "must be from 0 (utility alone) to 1 (energy alone)")
    if not (manager.leniency > 0 and math.isfinite(manager.leniency)):
        advice = 'for no filtering leave energy_filter out, or set it to "none"'
        yield Problem("manager.leniency", f"found {manager.leniency}", "must be above 0, and finite", advice)
    if not manager.kill_factor >= 1:
        found, allowed = f"found {manager.kill_factor}", "must be 1 or more: a task may run as long as estimated"
        yield Problem("manager.kill_factor", found, allowed)
    for name in _OVERHEADS:
        value = getattr(manager, name)
        if not (value >= 0 and math.isfinite(value)):
            yield Problem(f"manager.{name.removesuffix('_s')}", f"found {value} s", "must be 0 s or more, and finite")
    if manager.groups < 1:
        yield Problem("manager.groups", f"found {manager.groups}", "must be 1 (one manager for all) or more")
    if not 1 <= manager.permuted <= MOST_PERMUTED:
        yield Problem("manager.permuted", f"found {manager.permuted}", f"must be from 1 (none) to {MOST_PERMUTED}")


def _mapping_problems(manager: Manager) -> Iterator[Problem]:
    interval_s = manager.mapping_interval_s
    endless = manager.mapping_arrivals is None and not math.isfinite(interval_s)
    if not interval_s >= SHORTEST_INTERVAL_S or endless:
        found = f"found {interval_s} s"
        yield Problem("manager.mapping_interval", found, f"must be {SHORTEST_INTERVAL_S:g} s or more, and finite")
    if manager.mapping_arrivals is not None and manager.mapping_arrivals < 1:
        yield Problem("manager.mapping_arrivals", f"found {manager.mapping_arrivals}", "must be 1 or more")
    if any(not (part >= 0 and math.isfinite(part)) for part in manager.mapping_model):
        yield Problem("manager.mapping_model", f"found {list(manager.mapping_model)}", "must be 0 s or more each")


def _fit_problems(manager: Manager) -> Iterator[Problem]:
    """Switches that the policy's mode or rule has no use for."""
    if manager.policy.mode == "immediate":
        yield from _immediate_problems(manager)
    if manager.permuted > 1 and manager.environment == "polled":
        yield Problem(
            "manager.permuted", f"found {manager.permuted}", "the polled environment has no queues to permute"
        )
    if manager.dropping_by == "idle" and manager.environment == "queued":
        found, allowed = f"found {manager.dropping_by!r}", 'must be "all" where machines have queues'
        yield Problem("manager.dropping_by", found, allowed, 'set environment = "polled"')
    if manager.preempts:
        yield from _preempting_problems(manager)
    if manager.postponing == "next-day" and manager.environment == "polled":
        found, allowed = f"found {manager.postponing!r}", 'must be "each-event" where only idle machines get tasks'
        yield Problem("manager.postponing", found, allowed, 'set environment = "queued"')


def _preempting_problems(manager: Manager) -> Iterator[Problem]:
    """Tasks are suspended at mapping events that take no time, where nothing waits behind them on their machines."""
    if manager.environment == "queued":
        found, allowed = "found true where machines have queues", "what stands behind a suspended task would be moved"
        yield Problem("manager.preempts", found, allowed, 'set environment = "polled"')
    if manager.mapping_time != "free":
        found, allowed = f"found {manager.mapping_time!r} with preempts", 'must be "free" where tasks are suspended'
        yield Problem("manager.mapping_time", found, allowed, "leave it out, or preempts")


def _immediate_problems(manager: Manager) -> Iterator[Problem]:
    """Immediate mode has a mapper that may take time, and no other switch."""
    if others := [name for name in switches_on(manager) if name != "mapping_time"]:
        found = f"found {', '.join(others)} with the policy {manager.policy.name}"
        yield Problem("manager", found, "immediate mode takes none of these", "use a batch policy such as max-max-upt")
    if manager.mapping_time == "measured":
        found = f"found {manager.mapping_time!r} with the policy {manager.policy.name}"
        allowed = 'must be "free" or "given" in immediate mode'
        yield Problem("manager.mapping_time", found, allowed, 'set it to "given", with a mapping_model')


def group_problems(system: System, manager: Manager) -> Iterator[Problem]:
    """Where a system cannot be divided into as many groups as the manager has."""
    if not can_be_divided(system, manager.groups):
        found = f"found {manager.groups}, with which some group has no machine for some task type"
        yield Problem("manager.groups", found, "every group must be able to run every task", "ask for fewer groups")


def rising_problems(policy: Policy) -> Iterator[Problem]:
    """Where a policy cannot map tasks whose utility rises first."""
    if policy.rule == "sufferage":
        found, allowed = f"found {policy.name!r} where utilities rise first", "bounds what a task suffers by their fall"
        yield Problem("manager.policy", found, allowed, "use one such as max-max-util")


def switches_on(manager: Manager) -> list[str]:
    """The switches that differ from the defaults and need, in batch mode, the managed engine."""
    plain = {
        "mapping_arrivals": None,
        "mapping_time": "free",
        "environment": "queued",
        "permuted": 1,
        "energy_filter": "none",
        "follows_tariff": False,
        "kill_factor": math.inf,
        "dropping_by": "all",
        "follows_load": False,
        "postponing": "each-event",
        "preempts": False,
    }
    names = [name for name, value in plain.items() if getattr(manager, name) != value]
    return [*names, *(["declines"] if manager.declines else [])]


def uses_managed_engine(manager: Manager) -> bool:
    """Whether the manager does more than the plain engines know; immediate mode is theirs."""
    does_more = bool(switches_on(manager)) or manager.policy.needs_managing
    return does_more and manager.policy.mode == "batch"

"""Worlds and managers that do not go together, found from a study's sections before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from joulewise.errors import Problem, unknown_name
from joulewise.study.kinds.switches import Use
from joulewise.study.spec.machines import TABLES, build_machines
from joulewise.study.spec.parts import WorldParts
from joulewise.study.spec.source import Draw
from joulewise.worlds.utilities import PRIORITIES, URGENCIES

if TYPE_CHECKING:
    from joulewise.simulate.tasks.manager import Manager


class Asked(NamedTuple):
    """What the sections of a world ask of a manager."""

    has_budget: bool
    has_cap: bool
    has_failures: bool
    uncertain: tuple[str, ...]
    sleeps: bool
    rises_first: bool

    @property
    def needs(self) -> list[str]:
        """What policies of immediate mode know nothing of."""
        return [*_held({"a budget": self.has_budget, "a power cap": self.has_cap}), *self.uncertain]

    @property
    def unplanned(self) -> list[str]:
        """Where what suspended tasks take is not planned."""
        others = {"machines that sleep": self.sleeps, "utilities that rise first": self.rises_first}
        return [*self.needs, *_held(others)]


def _held(reasons: Mapping[str, bool]) -> Iterator[str]:
    return (reason for reason, holds in reasons.items() if holds)


def asked_by(parts: WorldParts) -> Asked:
    """What these sections ask for."""
    supply, has_failures = parts.supply.parameters, parts.system.parameters.mtbf_s is not None
    uncertain = {"failures": has_failures, "uncertain times": parts.workload.parameters.time_spread > 0}
    return Asked(
        has_budget=supply.budget_j is not None or supply.budget_total_j is not None,
        has_cap=supply.power_cap_w is not None or supply.power_cap_by_hour is not None,
        has_failures=has_failures,
        uncertain=tuple(_held(uncertain)),
        sleeps=getattr(parts.system.parameters, "sleep_after_s", None) is not None,
        rises_first=rises_first(parts),
    )


def fit_problems(asked: Asked, manager: Manager) -> Iterator[Problem]:
    """What the sections of a world ask for that the manager, or each other, cannot have."""
    policy = manager.policy
    if manager.energy_filter != "none" and not asked.has_budget:
        found = f"found {manager.energy_filter!r} without a budget"
        yield Problem("manager.energy_filter", found, "shares out a budget", "give supply.budget")
    if policy.mode == "immediate" and asked.needs:
        found = f"found {policy.name!r} in a world with {' and '.join(asked.needs)}"
        allowed = "policies of immediate mode know none of these"
        yield Problem("manager.policy", found, allowed, "use a batch policy such as max-max-upt")
    if asked.rises_first:
        from joulewise.simulate.tasks.manager import rising_problems

        yield from rising_problems(policy)
    if asked.has_cap and asked.uncertain:
        found = f"found a power cap in a world with {' and '.join(asked.uncertain)}"
        yield Problem("supply.power_cap", found, "a cap is kept by planned times, which must be certain")
    if manager.postponing == "next-day" and (not asked.has_budget or asked.has_cap or asked.has_failures):
        found = f"found {manager.postponing!r}"
        allowed = "needs a budget, and neither a power cap nor failures: only days postpone"
        yield Problem("manager.postponing", found, allowed, 'give supply.budget, or use "each-event"')
    if manager.preempts and asked.unplanned:
        found = f"found true in a world with {' and '.join(asked.unplanned)}"
        allowed = "what suspended tasks take in addition is not planned there"
        yield Problem("manager.preempts", found, allowed, "leave preempts out")


def rises_first(parts: WorldParts) -> bool:
    """Whether utilities of generated tasks rise first; a table of tasks says itself."""
    return parts.workload.source != TABLES and parts.workload.parameters.rising_share > 0


def class_problems(parts: WorldParts, managers: Sequence[Manager], draw: Draw) -> Iterator[Problem]:
    """Thresholds for classes that no generated task has; the tasks of a table say themselves which there are."""
    names = dict.fromkeys(name for manager in managers for name in manager.class_thresholds)
    if not names or parts.workload.source == TABLES:
        return
    groups = dict.fromkeys(build_machines(parts.system, draw).machine_group)
    known = [*groups, *PRIORITIES, *URGENCIES, *parts.workload.parameters.intervals]
    for name in names:
        if name not in known:
            yield unknown_name("manager.class_thresholds", name, dict.fromkeys(known))


def division_problems(parts: WorldParts, managers: Sequence[Manager], draw: Draw) -> Iterator[Problem]:
    """Groups into which the machines of the first trial cannot be divided; tables are held against managers whole."""
    from joulewise.simulate.tasks.manager import group_problems

    divided = [manager for manager in managers if manager.groups > 1]
    if divided and parts.system.source != TABLES:
        system = build_machines(parts.system, draw)
        yield from (problem for manager in divided for problem in group_problems(system, manager))


def _follows(parts: WorldParts, manager: Manager) -> bool:
    looks_at_energy = manager.policy.is_weighted or manager.policy.is_priced or manager.energy_filter != "none"
    return parts.supply.parameters.tariff is not None and looks_at_energy


def _is_uncertain(parts: WorldParts, manager: Manager) -> bool:  # noqa: ARG001 - like all of the table
    return parts.workload.source == TABLES or parts.workload.parameters.time_spread > 0


def _drops(parts: WorldParts, manager: Manager) -> bool:  # noqa: ARG001 - like all of the table
    return manager.dropping_threshold > 0 or any(manager.class_thresholds.values())


_PREEMPTING: Use[Manager] = Use(
    lambda _, manager: manager.preempts, "is for tasks that are suspended", "set preempts = true"
)

USES: dict[str, Use[Manager]] = {
    "leniency": Use(
        lambda _, manager: manager.energy_filter == "fair-share",
        "multiplies a fair share, and nothing is filtered so",
        'set energy_filter = "fair-share"',
    ),
    "weight": Use(
        lambda _, manager: manager.policy.is_weighted,
        "is for weighted policies, and there is none",
        "use one such as weighted-util",
    ),
    "follows_tariff": Use(
        _follows,
        "needs a tariff, and a policy with weights or prices, or an energy filter",
        "give supply.tariff and one of these",
    ),
    "mapping_model": Use(
        lambda _, manager: manager.mapping_time == "given",
        "is the time that mapping takes when it is given",
        'set mapping_time = "given"',
    ),
    "mapping_time": Use(
        lambda _, manager: manager.mapping_time == "measured" or any(manager.mapping_model),
        "needs a time above 0",
        "give mapping_model",
    ),
    "kill_factor": Use(
        _is_uncertain,
        "kills tasks that run longer than estimated, but all run exactly as estimated",
        "give workload.time_spread",
    ),
    "dropping_by": Use(_drops, "says which are dropped, but the threshold is 0", "give dropping_threshold"),
    "dealing": Use(lambda _, manager: manager.groups > 1, "deals tasks to groups, and there is one", "give groups"),
    "follows_load": Use(_drops, "multiplies the threshold, which is 0", "give dropping_threshold"),
    "checkpoint_s": _PREEMPTING,
    "restart_s": _PREEMPTING,
}
"""The switches of a manager that do not always do something."""

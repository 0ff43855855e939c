"""Users' own heuristics for tests: some never gain by waiting, some do, some do not care."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import get_args

from joulewise.policies.tasks.heuristic import heuristic
from joulewise.policies.tasks.policy import Mode, Policy, Value
from joulewise.policies.tasks.table import POLICIES


def utility_less_wait(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility - 0.1 * wait_s


def utility_per_energy(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility / energy_j


def least_energy(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return -energy_j


def longest_first(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return exec_s


def shortest_first(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return 1.0 / exec_s


def all_the_same(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return 0.0


def longest_wait(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return wait_s


def worth_of(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility


def least_utility(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return -utility


def latest(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return completion_s


def up_and_down(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return math.sin(wait_s)


def aged_utility(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
    return utility * (1.0 + wait_s) / exec_s


FALLING = (utility_less_wait, utility_per_energy, least_energy, longest_first, all_the_same)
RISING = (longest_wait, least_utility, latest, up_and_down, aged_utility)


def _policies(values: tuple[Value, ...], falls_with_time: bool, urgency: float = 0.0) -> list[Policy]:
    made = partial(heuristic, falls_with_time=falls_with_time, urgency=urgency)
    return [made(mode=mode, title=f"{value.__name__} ({mode})")(value) for value in values for mode in get_args(Mode)]


TABLE_POLICIES = list(POLICIES.values())
PLAIN_POLICIES = [policy for policy in TABLE_POLICIES if policy.rule == "sufferage" or not policy.needs_managing]
"""Those of the table whose day without any switch has a twin for itself; the others have that of managed days."""

FALLING_POLICIES = _policies(FALLING, falls_with_time=True)
RISING_POLICIES = _policies((*FALLING, *RISING), falls_with_time=False)
"""Those that may rise, and the falling ones without their claim: the plain engine must not need it."""
URGENT_POLICIES = [*_policies(FALLING, falls_with_time=True, urgency=0.7), *_policies(RISING, False, urgency=1.0)]
"""Those that see what waiting loses, with bounds and without."""

_BLIND_POLICIES = [
    POLICIES["min-min-comp"],
    *(policy for policy in _policies((least_energy, shortest_first, all_the_same), True) if policy.mode == "batch"),
]
"""Those whose objective sees neither utility nor waiting, whatever they claim."""


def claiming(policy: Policy, by_type: bool) -> Policy:
    """The policy with or without the claim that its objective sees neither utility nor waiting."""
    assert policy.objective is not None
    return replace(policy, objective=replace(policy.objective, by_type=by_type))


BY_TYPE_POLICIES = [claiming(policy, by_type=True) for policy in _BLIND_POLICIES]
"""The same on the engines with one queue per task type."""

OWN_POLICIES = [
    *_policies((utility_less_wait,), falls_with_time=True),
    *_policies((aged_utility,), falls_with_time=False),
]
"""Users' own on both kinds of engine."""

EVERY_POLICY = [*TABLE_POLICIES, *OWN_POLICIES]
"""What the conformance suite runs on: every row of the table, and users' own."""

A_POLICY = heuristic(mode="batch", title="longest_wait (batch)")(longest_wait)
"""What a package's entry point would name."""

"""The orders and objectives of the policies for parallel jobs; each is compiled as it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from joulewise.policies.jobs.policy import JobObjective, JobOrder

WEIGHTS: Mapping[str, float] = {"age": 1.0, "fair_share": 1.0, "size": 1.0, "queue": 1.0}
"""What the factors of the multifactor order count unless the scheduler says otherwise."""

SITE_WEIGHTS = ("partition", "qos", "tres")
"""Weights that sites have beside those."""

_ROUNDING = 1e-6
"""Priorities in whole numbers are rounded down, but not by what rounding alone has taken away."""

OLDEST_S = 7 * 86_400.0
"""A job that has waited this long has the whole factor of age."""


def _shortest(
    wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
) -> float:
    return -planned_s


def _largest(
    wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
) -> float:
    return resources


def _wfp3(
    wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
) -> float:
    return (wait_s / planned_s) ** 3 * nodes


def _unicef(
    wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
) -> float:
    return wait_s / (planned_s * math.log2(1.0 + nodes))


BY_ARRIVAL = JobOrder()
SHORTEST = JobOrder(_shortest)
LARGEST = JobOrder(_largest)
WFP3 = JobOrder(_wfp3)
UNICEF = JobOrder(_unicef)


def multifactor(weights: Mapping[str, float]) -> JobOrder:
    """Weighted factors from 0 to 1: of age, of what the user has left of an equal share, of size, of the queue.

    The weights are named as in WEIGHTS, which stand for those that are left out.
    """
    return _multifactor(*({**WEIGHTS, **weights}[name] for name in WEIGHTS))


@lru_cache(maxsize=64)
def by_shares(age: float, fair_share: float, oldest_s: float, is_whole: bool) -> JobOrder:
    """The multifactor order of sites: there `usage` is the factor of fair share, and `standing` all other factors.

    Where it `is_whole`, priorities are whole numbers of 1 or more.
    """

    def weighted(
        wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
    ) -> float:
        aged = wait_s / oldest_s if wait_s < oldest_s else 1.0
        return age * aged + fair_share * usage + standing

    def whole(
        wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
    ) -> float:
        aged = wait_s / oldest_s if wait_s < oldest_s else 1.0
        return max(math.floor(age * aged + fair_share * usage + standing + _ROUNDING), 1.0)

    return JobOrder(whole if is_whole else weighted)


@lru_cache(maxsize=64)
def _multifactor(age: float, fair_share: float, large: float, queue: float) -> JobOrder:
    def weighted(
        wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
    ) -> float:
        left = math.exp2(-usage)
        return age * min(wait_s / OLDEST_S, 1.0) + fair_share * left + large * size + queue * standing

    return JobOrder(weighted)


def _utility(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility


def _per_time(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / exec_s


def _per_resource(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / resources


def _per_energy(
    utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float, resources: float
) -> float:
    return utility / energy_j


UTILITY = JobObjective(_utility, falls_with_time=True)
PER_TIME = JobObjective(_per_time, falls_with_time=True)
PER_RESOURCE = JobObjective(_per_resource, falls_with_time=True)
PER_ENERGY = JobObjective(_per_energy, falls_with_time=True)

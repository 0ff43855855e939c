"""Where tasks that arrive over time come from, and who maps them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.files import sha256_of
from joulewise.model import System, Workload
from joulewise.study.spec.source import Draw, Section, Source
from joulewise.study.spec.tabled_tasks import TASK_TABLE
from joulewise.study.tasks.manager import ManagerParameters
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

if TYPE_CHECKING:
    from joulewise.policies.tasks.policy import Policy
    from joulewise.simulate.tasks.manager import Manager

MANAGER = "manager"


def _generated(parameters: WorkloadParameters, system: System, draw: Draw) -> Workload:
    return generate_workload(parameters, system, draw.seed, draw.trial)


WORKLOADS = (
    Source(
        "day",
        "a day of tasks at sinusoidal and bursty rates, worth less the later they end (Friese 2.6, app. B-F)",
        WorkloadParameters,
        _generated,
        is_random=lambda _: True,
        n_tasks=lambda day, _: day.n_tasks,
    ),
    TASK_TABLE,
)
"""Every source of tasks that arrive over time."""


def _manager(parameters: ManagerParameters, draw: Draw) -> Manager:
    return parameters.manager(policy_of(parameters.policy, draw.folder))


MANAGER_SECTION = Section(MANAGER, "the decisions over time, as tasks arrive", decides=True)
MANAGER_SOURCE = Source(MANAGER, "how tasks are mapped to machines", ManagerParameters, _manager)


def policy_of(spec: str, folder: Path) -> Policy:
    """The policy of a name; a user's file is loaded and compiled once for each content of it."""
    from joulewise.policies.user_files import is_file_spec

    path = folder / spec.partition(":")[0] if is_file_spec(spec) else None
    content = sha256_of(path) if path and path.is_file() else ""
    return _loaded_policy(spec, folder, content)


@lru_cache(maxsize=64)
def _loaded_policy(spec: str, folder: Path, content: str) -> Policy:  # noqa: ARG001 - part of the cache's key
    from joulewise.policies.tasks.heuristic import find_policy
    from joulewise.policies.user_files import is_file_spec

    policy = find_policy(spec, f"{MANAGER}.policy", folder)
    if policy.objective is not None and is_file_spec(spec):
        from joulewise.policies.tasks.compile import compiled

        compiled(policy.objective)
    return policy

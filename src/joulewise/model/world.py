"""A world: a system and the work that comes to it, checked to fit together."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.errors import InputError, Problem
from joulewise.model.system import System
from joulewise.model.workload import Workload


@dataclass(frozen=True, eq=False)
class World:
    """Everything a policy is judged on; InputError when the work names task types the system lacks."""

    system: System
    workload: Workload

    def __post_init__(self) -> None:
        highest = int(self.workload.task_type.max())
        if highest >= self.system.n_task_types:
            found = f"found task type number {highest}"
            allowed = f"the system has the task types 0 to {self.system.n_task_types - 1}"
            raise InputError(Problem("workload.task_type", found, allowed))

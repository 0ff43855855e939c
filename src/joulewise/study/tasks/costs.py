"""How long days of tasks take, told before they are run: figures of one ordinary processor of 2024."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from joulewise.study.searches.bounds import PREEMPTIVE
from joulewise.study.spec.machines import build_machines
from joulewise.study.spec.parts import Part, Point
from joulewise.study.spec.source import Draw
from joulewise.study.tasks.fitting import rises_first
from joulewise.worlds.frames import read_table
from joulewise.worlds.tasks.tables import WorkloadTable
from joulewise.worlds.utility_tables import STRETCH

if TYPE_CHECKING:
    from joulewise.policies.tasks.policy import Policy
    from joulewise.study.tasks.manager import ManagerParameters

_RUN_S, _TASK_S, _EVENT_S = 0.02, 1.6e-6, 3e-6
"""What a run takes apart from mapping: at all, for each task, and for each mapping event."""
_AT_ONCE_S = 5e-7
"""What it takes to map a task when it arrives."""
_TOGETHER_S: Mapping[str, float] = {
    "greedy": 2.7e-6, "sufferage": 1.2e-5, "in-order": 1.2e-6, "at-random": 1e-5, "assigned": 2e-4,
}  # fmt: skip
"""What it takes to map a task with those that wait, by rule, with an event each minute and one P-state."""
_RISING = 30.0
"""How much longer it takes where the values of those that wait may rise."""
_UNDROPPED, _UNDROPPED_RISING = 2.5, 10.0
"""How much longer it takes where nothing is dropped, so that more wait."""
_PERMUTING = 2.5
"""How much longer it takes to permute queues, beside how many tasks of them."""
_DAY_S, _EVERY_S, _CROWDING = 86_400.0, 60.0, 0.45
"""The usual time between events, and how the time of mapping grows with their number."""
_PSTATES = 0.8
"""How the time of mapping grows with the number of P-states."""
_PIECES = 3.0
"""How much longer the bound of tasks that run in pieces takes."""
_UNCERTAIN, _UNCERTAIN_BOUND = 2.5, 6.0
"""How much longer mapping takes where true times differ from those that are known, and the bound of such a world."""


def n_pstates_of(system: Part, draw: Draw) -> int:
    """How many P-states a system has; those of tables are looked up there."""
    asked = getattr(system.parameters, "pstates", None)
    return int(asked) if asked is not None else build_machines(system, draw).n_pstates


def has_true_times(workload: Part, draw: Draw) -> bool:
    """Whether true times differ from those that are known: drawn, or in a column of the table of tasks."""
    p = workload.parameters
    if isinstance(p, WorkloadTable) and STRETCH.name in read_table(p.tasks, draw.folder).columns:
        return True
    return bool(getattr(p, "time_spread", 0.0) > 0)


def run_s(point: Point, policy: Policy, n_tasks: float, n_pstates: int, *, has_truth: bool) -> float:
    """How long a run takes, without the bound of its world."""
    every_s = _between_events_s(point.decision.parameters, n_tasks)
    events_s = _EVENT_S * min(_DAY_S / every_s, n_tasks)
    return _RUN_S + events_s + n_tasks * (_TASK_S + _mapping_s(point, policy, n_pstates, every_s, has_truth))


def bound_s(bound: str, n_tasks: float, n_pstates: int, *, has_truth: bool) -> float:
    """How long the bound of a world takes: few tasks have more prices to look at for each."""
    whole_s = max(0.5 * math.pow(n_tasks / 1000, 0.45), 1.5e-5 * n_tasks * n_pstates)
    return whole_s * (_PIECES if bound == PREEMPTIVE else 1.0) * (_UNCERTAIN_BOUND if has_truth else 1.0)


def _mapping_s(point: Point, policy: Policy, n_pstates: int, every_s: float, has_truth: bool) -> float:
    """How long it takes to map a task."""
    if policy.mode == "immediate":
        return _AT_ONCE_S * n_pstates
    p, rises = point.decision.parameters, _rises(point, policy)
    waiting = (_UNDROPPED_RISING if rises else _UNDROPPED) if p.dropping_threshold == 0 else 1.0
    permuting = _PERMUTING + p.permuted if p.permuted > 1 else 1.0
    crowding = math.pow(_EVERY_S / every_s, _CROWDING)
    known = (_RISING if rises else 1.0) * (_UNCERTAIN if has_truth else 1.0)
    return _TOGETHER_S[policy.rule] * math.pow(n_pstates, _PSTATES) * known * waiting * permuting * crowding


def _between_events_s(p: ManagerParameters, n_tasks: float) -> float:
    """The time from one mapping event to the next."""
    by_arrivals_s = _DAY_S * p.mapping_arrivals / max(n_tasks, 1.0) if p.mapping_arrivals else math.inf
    return min(p.mapping_interval_s or math.inf, by_arrivals_s)


def _rises(point: Point, policy: Policy) -> bool:
    """Whether the values of waiting tasks may rise, so that more of them are looked at."""
    if policy.objective is None or policy.objective.by_type:
        return False
    return rises_first(point.world) or policy.objective.urgency > 0 or not policy.objective.falls_with_time

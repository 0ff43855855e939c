"""Joulewise: the most useful work out of every joule.

`import joulewise as jw` is quick: each name below is loaded from its room when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from joulewise._version import __version__

if TYPE_CHECKING:
    from joulewise.check import check_allocation
    from joulewise.errors import InputError, JoulewiseError, Problem
    from joulewise.model import (
        Allocation,
        Status,
        Supply,
        System,
        Tag,
        UtilityShapes,
        Workload,
        World,
        constant,
        linear,
        piecewise,
        step,
    )
    from joulewise.optimise import certified_bound, maximum_utility, price_bound, utility_ceiling
    from joulewise.policies import POLICIES, Objective, Policy, find_policy, heuristic
    from joulewise.simulate import Day, Manager, Outcome, measures, simulate_days
    from joulewise.simulate import simulate as run
    from joulewise.study import open_results, read_study, run_study
    from joulewise.worlds.affinity import affinity_report, with_affinity
    from joulewise.worlds.arrivals import WorkloadParameters, generate_days, generate_workload
    from joulewise.worlds.environment import SystemParameters, generate_system
    from joulewise.worlds.heterogeneity import heterogeneity
    from joulewise.worlds.tables import SystemTables, WorkloadTable, read_system, read_workload

_ROOM_OF = {
    "joulewise.check": ("check_allocation",),
    "joulewise.errors": ("InputError", "JoulewiseError", "Problem"),
    "joulewise.model": (
        "Allocation", "Status", "Supply", "System", "Tag", "UtilityShapes", "Workload", "World",
        "constant", "linear", "piecewise", "step",
    ),
    "joulewise.optimise": ("certified_bound", "maximum_utility", "price_bound", "utility_ceiling"),
    "joulewise.policies": ("POLICIES", "Objective", "Policy", "find_policy", "heuristic"),
    "joulewise.simulate": ("Day", "Manager", "Outcome", "measures", "simulate_days"),
    "joulewise.study": ("open_results", "read_study", "run_study"),
    "joulewise.worlds.affinity": ("affinity_report", "with_affinity"),
    "joulewise.worlds.arrivals": ("WorkloadParameters", "generate_days", "generate_workload"),
    "joulewise.worlds.environment": ("SystemParameters", "generate_system"),
    "joulewise.worlds.heterogeneity": ("heterogeneity",),
    "joulewise.worlds.tables": ("SystemTables", "WorkloadTable", "read_system", "read_workload"),
}  # fmt: skip
_ORIGINS = {name: (room, name) for room, names in _ROOM_OF.items() for name in names}
_ORIGINS["run"] = ("joulewise.simulate", "simulate")  # here `simulate` is the room

__all__ = [
    "POLICIES",
    "Allocation",
    "Day",
    "InputError",
    "JoulewiseError",
    "Manager",
    "Objective",
    "Outcome",
    "Policy",
    "Problem",
    "Status",
    "Supply",
    "System",
    "SystemParameters",
    "SystemTables",
    "Tag",
    "UtilityShapes",
    "Workload",
    "WorkloadParameters",
    "WorkloadTable",
    "World",
    "__version__",
    "affinity_report",
    "certified_bound",
    "check_allocation",
    "constant",
    "find_policy",
    "generate_days",
    "generate_system",
    "generate_workload",
    "heterogeneity",
    "heuristic",
    "linear",
    "maximum_utility",
    "measures",
    "open_results",
    "piecewise",
    "price_bound",
    "read_study",
    "read_system",
    "read_workload",
    "run",
    "run_study",
    "simulate_days",
    "step",
    "utility_ceiling",
    "with_affinity",
]


def __getattr__(name: str) -> Any:
    if name not in _ORIGINS:
        raise AttributeError(f"module 'joulewise' has no attribute {name!r}")
    room, origin = _ORIGINS[name]
    return getattr(importlib.import_module(room), origin)


def __dir__() -> list[str]:
    return sorted(__all__)

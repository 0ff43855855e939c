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
    from joulewise.optimise import maximum_utility, utility_ceiling
    from joulewise.policies import POLICIES, Objective, Policy, find_policy, heuristic
    from joulewise.simulate import Manager, Outcome, measures, simulate

_ROOM_OF = {
    "joulewise.check": ("check_allocation",),
    "joulewise.errors": ("InputError", "JoulewiseError", "Problem"),
    "joulewise.model": (
        "Allocation", "Status", "System", "Tag", "UtilityShapes", "Workload", "World",
        "constant", "linear", "piecewise", "step",
    ),
    "joulewise.optimise": ("maximum_utility", "utility_ceiling"),
    "joulewise.policies": ("POLICIES", "Objective", "Policy", "find_policy", "heuristic"),
    "joulewise.simulate": ("Manager", "Outcome", "measures", "simulate"),
}  # fmt: skip
_ROOMS = {name: room for room, names in _ROOM_OF.items() for name in names}

__all__ = [
    "POLICIES", "Allocation", "InputError", "JoulewiseError", "Manager", "Objective", "Outcome", "Policy",
    "Problem", "Status", "System", "Tag", "UtilityShapes", "Workload", "World", "__version__",
    "check_allocation", "constant", "find_policy", "heuristic", "linear", "maximum_utility", "measures",
    "piecewise", "simulate", "step", "utility_ceiling",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'joulewise' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

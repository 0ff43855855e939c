"""Our systems by name: what tells which of them to load, and no more; a test holds it against the systems."""

from __future__ import annotations

BUILT_IN = {
    "tasks": {"managed": ("manager", "manager")},
    "jobs": {"jobs": ("scheduler", "scheduler")},
    "bags": {"front": ("optimise", "front"), "profit": ("optimise", "profit")},
    "assignments": {"utility": ("optimise", "utility")},
    "facility": {"facility": ("optimise", "reward")},
}
"""Each system with its kinds of studies, and the section and goal that make a study one of them."""


def system_of(kind: str) -> str:
    """The name of our system that has a kind of study; "" where a package brought it."""
    return next((name for name, kinds in BUILT_IN.items() if kind in kinds), "")

"""Our systems by name: what tells which of them to load, and no more; a test holds it against the systems."""

from __future__ import annotations

BUILT_IN = {
    "tasks": {"managed": ("manager", "manager")},
    "jobs": {"jobs": ("scheduler", "scheduler")},
    "bags": {"front": ("optimise", "front"), "profit": ("optimise", "profit"), "pricing": ("optimise", "pricing")},
    "assignments": {"utility": ("optimise", "utility")},
    "facility": {"facility": ("optimise", "reward")},
}
"""Each system with its kinds of studies, and the section and goal that make a study one of them."""

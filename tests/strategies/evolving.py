"""Options of evolution as tests write them, by name alone."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from joulewise.optimise.islands import Archipelago
from joulewise.optimise.ways import Ways

GROUPS: dict[str, Any] = {"ways": Ways, "archipelago": Archipelago}


def grouped(**options: Any) -> dict[str, Any]:
    """The options with those that belong to a group in it."""
    for name, kind in GROUPS.items():
        own = {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
        options |= {name: kind(**own)} if own else {}
    return options

"""What the report of a study shows, where its file says so; no run depends on it."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.worlds.parameters import explained

REPORT = "report"
"""The section of a study file that says it."""


@dataclass(frozen=True)
class Shown:
    """What the report is to show."""

    figures: tuple[str, ...] = explained(
        (),
        "the figures of the report in their order, by their names, such as utility-by-policy; by default all that the "
        "results allow; `joulewise list figures` names them",
    )

"""Fronts of energy and makespan that each method found, against the proven bound."""

from __future__ import annotations

from joulewise.present.fronts import Look, cycled, found_panel, found_planes, front_panels
from joulewise.present.layout import Drawing, assemble
from joulewise.present.plane import FOUND, scale_said
from joulewise.present.records import METHOD, Records


def fronts(records: Records) -> Drawing:
    """The front that each method found, with its knee, and the proven bound."""
    panels, note = front_panels(records, FOUND)
    looks = {name: Look(colour) for name, colour in zip(records.labels(METHOD).values(), cycled(records), strict=True)}
    planes = found_planes(records, panels, METHOD)
    parts = [found_panel(records, panel, METHOD, looks, plane) for panel, plane in zip(panels, planes, strict=True)]
    caption = (
        "Each point is a whole allocation of the bag; left is cheaper, down is faster. No allocation lies below or "
        "left of the line, the proven bound. The ring marks the knee, the point farthest from the straight line "
        f"between the ends.{scale_said(planes)} First trial.{note}"
    )
    return Drawing(assemble(parts, across=2), caption)

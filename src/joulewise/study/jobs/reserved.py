"""Reservations of a site that are outside the log: over when it begins, or later than all that it tells of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from joulewise.errors import Problem
from joulewise.study.jobs.worlds import Scene

if TYPE_CHECKING:
    from joulewise.worlds.jobs.trace_jobs import TraceFinding


def reservations_outside(scene: Scene) -> Iterator[Problem]:
    """Reservations that change nothing, as they are over, or little, as no job of the log comes after their begin."""
    from joulewise.worlds.jobs.sites.ground import few
    from joulewise.worlds.jobs.sites.reservations import OF_BEFORE

    if scene.world.site is None or scene.trace is None:
        return
    findings: tuple[TraceFinding, ...] = scene.trace.findings
    for finding in findings:
        if finding.key == OF_BEFORE:
            yield Problem("system.site", f"found {finding.reason}", "they change nothing")
    kept, last_s = scene.world.site.kept, float(scene.world.jobs.work.arrival_s[-1])
    late = [name for name, start_s in zip(kept.names, kept.start_s.tolist(), strict=True) if start_s > last_s]
    if late:
        when = ", ".join(filter(None, ("the last job of the log", scene.clock.told(last_s))))
        found = f"found reservations that begin after {when} ({few(late)})"
        yield Problem("system.site", found, "they change only what jobs that still wait or run then find")

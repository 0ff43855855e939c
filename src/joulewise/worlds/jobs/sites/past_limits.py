"""Jobs that a limit of their holders never lets start, whatever else runs: of which limit, and how much it allows."""

from __future__ import annotations

import numpy as np

from joulewise.model.site import Demands
from joulewise.units import noun
from joulewise.worlds.jobs.sites.demands import NEVER_STARTED
from joulewise.worlds.jobs.sites.limits import JOBS, unit_of
from joulewise.worlds.jobs.sites.site import MEMORY_MIB, SiteTables
from joulewise.worlds.jobs.sites.too_little import amount_of
from joulewise.worlds.jobs.trace_jobs import TraceFinding


def note_past_limits(tables: SiteTables, demands: Demands, findings: list[TraceFinding]) -> None:
    """Note jobs each of which alone has more of something than a holder of it may have, by the first such limit."""
    limits, why = demands.limits, dict[str, int]()
    for row in np.flatnonzero(~limits.allow(demands.of_job)).tolist():
        uses = limits.uses[demands.of_job[row]]
        for holder in limits.holders[row][limits.holders[row] >= 0].tolist():
            over = np.flatnonzero(uses > limits.most[holder])
            if over.size:
                what = limits.what[over[0]]
                reason = (
                    f"a limit of {limits.names[holder]} allows {_amount(tables, what, limits.most[holder, over[0]])}"
                )
                why[reason] = why.get(reason, 0) + 1
                break
    for reason, n in why.items():
        told = f"jobs that the site would never start: {reason}"
        findings.append(TraceFinding(reason, n, told, NEVER_STARTED, "lost"))


def _amount(tables: SiteTables, what: str, most: int) -> str:
    """So much of what is limited, in words."""
    n = int(most) // unit_of(tables, what)
    if what == MEMORY_MIB:
        return f"{amount_of(what, n)} at most"
    return f"{n:,} {noun(n, 'job', 'jobs') if what == JOBS else what} at most"

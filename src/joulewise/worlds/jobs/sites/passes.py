"""From the settings of a Slurm to how it goes through the jobs that wait."""

from __future__ import annotations

import math

from joulewise.model.passes import USUAL, Passes
from joulewise.worlds.clock import Clock
from joulewise.worlds.jobs.sites.site import SiteTables

_MINUTE_S = 60.0
_BUILTIN = "sched/builtin"
OBEYED = ("schedulertype", "bf_interval", "bf_resolution", "bf_window", "bf_max_job_test", "default_queue_depth")
"""The settings that passes go by."""


def passes_of(tables: SiteTables, clock: Clock) -> Passes:
    """The passes of a site's Slurm over a log with this clock."""
    settings = {name: value for name, value in tables.slurm.items() if name in OBEYED}
    is_builtin = settings.pop("schedulertype", "") == _BUILTIN
    known = {name: float(value) for name, value in settings.items() if isinstance(value, int | float)}
    usual = USUAL
    interval_s = known.get("bf_interval", usual.interval_s)
    resolution_s = known.get("bf_resolution", usual.resolution_s)
    return Passes(
        interval_s=math.inf if is_builtin or interval_s < 0 else max(interval_s, 1.0),
        resolution_s=resolution_s,
        window_s=_MINUTE_S * known["bf_window"] if "bf_window" in known else usual.window_s,
        n_first=int(known.get("default_queue_depth", usual.n_first)),
        n_tested=int(known.get("bf_max_job_test", usual.n_tested)),
        clock_s=(clock.zero_s or 0.0) % resolution_s if resolution_s else 0.0,
    )

"""From the settings of a Slurm to how it goes through the jobs that wait."""

from __future__ import annotations

import math

from joulewise.model.passes import Passes
from joulewise.worlds.clock import Clock
from joulewise.worlds.jobs.sites.site import SiteTables
from joulewise.worlds.jobs.sites.slurm_settings import setting_of

_MINUTE_S = 60.0


def passes_of(tables: SiteTables, clock: Clock) -> Passes:
    """The passes of a site's Slurm over a log with this clock."""
    interval_s, full_s, resolution_s, window_min, n_first, n_tested = (
        float(setting_of(tables.slurm, key))
        for key in (
            "bf_interval", "sched_interval", "bf_resolution", "bf_window", "default_queue_depth", "bf_max_job_test",
        )
    )  # fmt: skip
    is_on = setting_of(tables.slurm, "schedulertype") != "sched/builtin" and interval_s >= 0
    return Passes(
        interval_s=max(interval_s, 1.0) if is_on else math.inf,
        full_s=max(full_s, 1.0) if full_s >= 0 else math.inf,
        resolution_s=resolution_s,
        window_s=window_min * _MINUTE_S,
        n_first=int(n_first),
        n_tested=int(n_tested),
        clock_s=(clock.zero_s or 0.0) % resolution_s if resolution_s else 0.0,
    )

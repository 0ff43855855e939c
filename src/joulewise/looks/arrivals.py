"""How much work arrives over time: of tasks, or of jobs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from joulewise.units import count, duration

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.model import Workload
    from joulewise.present.layout import Drawing

_STEPS_S = (1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0, 604800.0)
_MOST_STEPS = 1500


def arrival_pictures(work: Workload, what: str) -> Pictures:
    """The arrivals of a workload of tasks or jobs."""
    return {"arrivals": partial(_arrivals, work, what)}


def _arrivals(work: Workload, what: str) -> Drawing:
    import polars as pl

    from joulewise.present.arrivals import arrivals_line
    from joulewise.present.layout import Drawing

    first_s, last_s = float(work.arrival_s[0]), float(work.arrival_s[-1])
    step_s = next((step for step in _STEPS_S if (last_s - first_s) / step <= _MOST_STEPS), _STEPS_S[-1])
    counts = np.bincount(((work.arrival_s - first_s) // step_s).astype(np.int64))
    table = pl.DataFrame({"at_h": (first_s + step_s * np.arange(counts.size)) / 3600, "n": counts})
    caption = f"Arrivals in steps of {duration(step_s)}: {count(work.n_tasks, what)} in {duration(last_s - first_s)}."
    return Drawing(arrivals_line(table, "simulated time (h)", f"{what}s that arrive in {duration(step_s)}"), caption)

"""The clock of mapping events at multiples of an interval."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.jit import inlined


@inlined
def event_at_or_after(at_s, interval_s):
    """The number of the first mapping event (event j is at j * interval_s) that is not before this instant."""
    event = int(np.ceil(at_s / interval_s))
    while event > 0 and (event - 1) * interval_s >= at_s:
        event -= 1
    while event * interval_s < at_s:
        event += 1
    return event

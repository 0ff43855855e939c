"""What windows on waiting tasks and on waiting jobs share: numbers from 0 to 1, the line before them, and the day."""

from __future__ import annotations

import numpy as np

from joulewise.kernels.heap import pop
from joulewise.kernels.jit import inlined
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.ledger import NOW

WAIT_UNIT_S, QUEUE_UNIT = 600.0, 100.0
"""The units of a wait, and of how many wait."""


@inlined
def share(value, unit):
    """A number from 0 on as one from 0 to 1."""
    return value / (value + unit) if value < np.inf else 1.0


@inlined
def next_in_line(line):
    """Take the first one off the line, or NOBODY."""
    if line.size[0] == 0:
        return NOBODY
    i = line.items[0]
    pop(line)
    return i


@inlined
def see_day(window, limits, ledger, now_s):
    """See how much of the counted window is over, and what is left of the budget and of its day."""
    seen = window.seen
    seen[0] = min(max((now_s - window.start_s) / (window.end_s - window.start_s), 0.0), 1.0)
    seen[1] = seen[2] = 1.0
    if limits.has_budget:
        seen[1] = min(max(ledger.left_j[NOW] / limits.budget_j, 0.0), 1.0)
        seen[2] = min(max((ledger.day_end_s[0] - now_s) / window.day_s, 0.0), 1.0)


@inlined
def part_inside(from_s, until_s, start_s, end_s, is_prorated):
    """Which part of what a run earns counts in a window: all that ends in it or, prorated, its time there."""
    if is_prorated:
        return max(min(until_s, end_s) - max(from_s, start_s), 0.0) / (until_s - from_s)
    return 1.0 if start_s < until_s <= end_s else 0.0

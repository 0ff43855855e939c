"""Partitions that start jobs at some hours alone."""

from __future__ import annotations

import math

from joulewise.kernels.jit import inlined, shared


@inlined
def next_turn_s(hours):
    """When a partition begins or stops to start jobs; inf for never again."""
    at = hours.n_past[0]
    return hours.at_s[at] if at < hours.at_s.size else math.inf


@shared
def turn_partitions(run, hours, now_s):
    """Let partitions begin, or stop, to start jobs whose time it is; whether any do."""
    begin = hours.n_past[0]
    while next_turn_s(hours) <= now_s:
        at = hours.n_past[0]
        run.partitions.is_down[hours.partition[at]] = not hours.is_up[at]
        hours.n_past[0] += 1
    return hours.n_past[0] > begin

"""What one task or job earns, straight from the definition of its utility."""

from __future__ import annotations

import math

from joulewise.model import Workload


def utility_of(work: Workload, task: int, end_s: float) -> float:
    """What one task earns by ending at this instant, straight from the definition of its shape."""
    shapes = work.shapes
    x_s = max(0.0, end_s - float(work.arrival_s[task]) - float(work.hold_s[task]))
    segment = int(shapes.first[work.shape[task]])
    last = int(shapes.first[work.shape[task] + 1]) - 1
    while segment < last and shapes.start_s[segment + 1] <= x_s:
        segment += 1
    dx_s = x_s - float(shapes.start_s[segment])
    decayed = float(shapes.span[segment]) * math.exp(-float(shapes.rate_per_s[segment]) * dx_s)
    value = float(shapes.level[segment]) + decayed + float(shapes.slope_per_s[segment]) * dx_s
    rise_s = 0.0 if work.rise_s is None else float(work.rise_s[task])
    risen = 1.0 if rise_s == 0.0 else min(max(end_s - float(work.arrival_s[task]), 0.0) / rise_s, 1.0)
    return float(work.scale[task]) * value * risen

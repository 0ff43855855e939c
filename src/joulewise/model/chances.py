"""What execution times and powers may turn out to be, when all that is known in advance is how likely they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Floats, freeze_fields
from joulewise.visible import Visible


@dataclass(frozen=True, eq=False)
class Chances(Visible, looks="assignments"):
    """Equally likely execution times and powers, by [task type, machine type, P-state, point], rising along points.

    +inf where a choice cannot be made. The system's ETC and APC are the means of the points. `time_cov` and
    `power_cov`, by [task type, machine type, P-state], are given where the points stand for gamma distributions of
    these coefficients of variation, from which exact draws can be made; where they are None, the points are all
    there is. Raises InputError with every problem found.
    """

    time_s: Floats
    power_w: Floats
    time_cov: Floats | None = None
    power_cov: Floats | None = None

    def __post_init__(self) -> None:
        freeze_fields(self, dict.fromkeys(("time_s", "power_w", "time_cov", "power_cov"), np.float64))
        raise_if_any(_problems(self))

    @property
    def n_points(self) -> int:
        return int(self.time_s.shape[-1])


def _problems(chances: Chances) -> Iterator[Problem]:
    shape = chances.time_s.shape
    if len(shape) != 4 or chances.power_w.shape != shape:
        found = f"found the shapes {shape} and {chances.power_w.shape}"
        yield Problem("chances", found, "both must be [task type, machine type, P-state, point]")
        return
    for name in ("time_cov", "power_cov"):
        covs = getattr(chances, name)
        if covs is not None and (covs.shape != shape[:3] or not (covs[np.isfinite(covs)] >= 0).all()):
            yield Problem(f"chances.{name}", f"found the shape {covs.shape}", f"must be {shape[:3]}, all 0 or more")
    for name, least in (("time_s", "above 0"), ("power_w", "0 or more")):
        points = getattr(chances, name)
        finite = points[np.isfinite(chances.time_s)]
        is_wrong = np.isnan(finite).any() or not (finite > 0 if name == "time_s" else finite >= 0).all()
        if is_wrong or (np.diff(points[np.isfinite(chances.time_s).all(axis=-1)], axis=-1) < 0).any():
            yield Problem(f"chances.{name}", "found points out of range or order", f"must be {least}, rising")

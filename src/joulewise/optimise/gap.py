"""How far something is from its bound, for every system alike: what is only rounding is nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joulewise.model.arrays import Floats

ROUNDING = 1e-9


def gap_of(excess: ArrayLike, bound: ArrayLike, unit: ArrayLike = 0.0) -> Floats:
    """How far, as a share of its bound, something is from it: 0 for rounding, NaN where the bound is only that.

    `excess` is the distance in the bound's own unit, positive on the possible side. Rounding is a billionth of the
    bound or of `unit`, such as the amounts that both are differences of.
    """
    far, size, unit = np.asarray(excess, float), np.abs(bound), np.asarray(unit, float)
    share = np.divide(far, size, out=np.full(far.shape, np.nan), where=size > ROUNDING * unit)
    return np.where(np.abs(far) <= ROUNDING * np.maximum(size, unit), 0.0, share)

"""How much faster a parallel program runs on several processors.

A. B. Downey: "A model for speedup of parallel programs", UC Berkeley, technical report CSD-97-933, 1997.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joulewise.model.arrays import Floats


def downey_speedup(n: ArrayLike, parallelism: ArrayLike, sigma: ArrayLike) -> Floats:
    """Speed on n processors over that on one, for this average parallelism (1 or more) and its variation sigma."""
    n, a, s = np.broadcast_arrays(*(np.asarray(values, np.float64) for values in (n, parallelism, sigma)))
    return np.asarray(np.where(s <= 1, _low_variation(n, a, s), _high_variation(n, a, s)))


def _low_variation(n: Floats, a: Floats, s: Floats) -> Floats:
    rising = a * n / (a + s * (n - 1) / 2)
    flattening = a * n / (s * (a - 0.5) + n * (1 - s / 2))
    return np.select([n <= a, n <= 2 * a - 1], [rising, flattening], a)


def _high_variation(n: Floats, a: Floats, s: Floats) -> Floats:
    rising = n * a * (s + 1) / (s * (n + a - 1) + a)
    return np.where(n <= a + a * s - s, rising, a)

"""The coefficient-of-variation method of Ali et al. for matrices of execution times or powers.

S. Ali, H. J. Siegel, M. Maheswaran, D. Hensgen, S. Ali: "Representing task and machine heterogeneities for
heterogeneous computing systems", Tamkang Journal of Science and Engineering 3(3), 2000.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from joulewise.model.arrays import Floats

_NO_SPREAD = 1e-12
"""A spread below this is lost in rounding."""
MAX_COV = 3.0
"""Above this, gamma draws come so close to zero that a matrix holds no usable times."""


def gamma_values(generator: np.random.Generator, mean: ArrayLike, cov: float, shape: tuple[int, ...]) -> Floats:
    """Gamma draws of the given mean (any unit, broadcast to `shape`) and coefficient of variation.

    A COV of 0, or one so small that all draws would round to the mean, gives the mean itself, without a draw.
    """
    means = np.broadcast_to(np.asarray(mean, dtype=np.float64), shape)
    if cov < _NO_SPREAD:
        return means.copy()
    return generator.gamma(1 / cov**2, means * cov**2)


def cov_matrix(
    generator: np.random.Generator,
    n_task_types: int,
    n_machine_types: int,
    *,
    mean: float,
    task_cov: float,
    machine_cov: float,
) -> Floats:
    """A matrix [task type, machine type] of this mean, in the mean's unit.

    First one gamma mean for each task type (COV `task_cov`), then a row around each (COV `machine_cov`).
    """
    task_means = gamma_values(generator, mean, task_cov, (n_task_types, 1))
    return gamma_values(generator, task_means, machine_cov, (n_task_types, n_machine_types))

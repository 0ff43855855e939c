"""Plans that jobs outlive, and how they are raised then: step by step, not beyond the limit of a job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from joulewise.kernels.jit import inlined
from joulewise.kernels.records import record


@record
class Raising(NamedTuple):
    """By how much plans are raised, each time that jobs outlive theirs: by the next of `steps_s`, then always the last.

    `limit_s` is how long each job, or each option, may run; a plan stops there, unless the limit is outlived as well.
    `n_steps` counts the steps of each job. Without steps no plan is ever raised.
    """

    steps_s: NDArray[np.float64]
    limit_s: NDArray[np.float64]
    n_steps: NDArray[np.int64]


@inlined
def raised_end(raising, i, end_s, limit_end_s, now_s):
    """The planned end of job i after now, in place of one that has come; `limit_end_s` is when its limit is over."""
    while end_s <= now_s:
        later_s = end_s + raising.steps_s[min(raising.n_steps[i], raising.steps_s.size - 1)]
        end_s = min(later_s, limit_end_s) if end_s < limit_end_s else later_s
        raising.n_steps[i] += 1
    return end_s

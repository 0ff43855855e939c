"""The groups of machine types that generators and measures know."""

from __future__ import annotations

import numpy as np

from joulewise.model import System
from joulewise.model.arrays import Bools, Counts

SPECIAL, GENERAL = "special", "general"


def special_machine_types(system: System) -> Bools:
    """Whether a machine type is special-purpose; every other group counts as general-purpose."""
    return np.array([group == SPECIAL for group in system.machine_group])


def general_part(system: System) -> tuple[Counts, Counts]:
    """Indices of the task types that run on any general-purpose machine type, and of those machine types."""
    columns = np.flatnonzero(~special_machine_types(system))
    return np.flatnonzero(system.can_run[:, columns].any(axis=1)), columns

"""Partitions of a site that start jobs at some hours alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model.arrays import Bools, Floats, Ints, freeze_fields


@dataclass(frozen=True, eq=False)
class Hours:
    """From `at_s` on, which never falls, a `partition` starts jobs or not; before its first row it does.

    What runs goes on.
    """

    at_s: Floats
    partition: Ints
    is_up: Bools

    def __post_init__(self) -> None:
        freeze_fields(self, {"at_s": np.float64, "partition": np.int32, "is_up": np.bool_})
        if not self.at_s.shape == self.partition.shape == self.is_up.shape or (np.diff(self.at_s) < 0).any():
            raise InputError(Problem("site.hours", "found rows out of order", "must be by their instants"))

    def later(self, by_s: float) -> Hours:
        """The same hours, so much later."""
        return replace(self, at_s=self.at_s + by_s)


ALWAYS = Hours(np.empty(0), np.empty(0, np.int32), np.empty(0, np.bool_))

"""What uncertain assignments may be optimised for, and dropped by, apart from what carries it out."""

from __future__ import annotations

from typing import Literal, TypeAlias

StochasticObjective: TypeAlias = Literal["mean-times", "mean-completions", "expected", "percentile"]
DropBy: TypeAlias = Literal["sampled", "expected"]

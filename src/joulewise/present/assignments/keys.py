"""Keys of studies of tasks known in advance, and the aim that figures make of them."""

from __future__ import annotations

OBJECTIVE = "optimise.objective"
PERCENTILES = ("optimise.percentile_utility", "optimise.percentile_energy")
AIM = "aim"
"""What a run seeks, in words."""

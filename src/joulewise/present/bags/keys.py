"""Keys of studies of bags of tasks."""

from __future__ import annotations

RATIO = "optimise.profit_ratio"
SIZE = "workload.n_tasks"

"""Keys of studies of parallel jobs, and the scheduler that figures make of them."""

from __future__ import annotations

POLICY = "scheduler.policy"
COMMITMENT = "scheduler.commitment"
FILTER = "scheduler.energy_filter"
LENIENCY = "scheduler.leniency"
ADAPTS = "scheduler.adapts_leniency"
THRESHOLD = "scheduler.dropping_threshold"
LOAD = "workload.jobs_per_day"
PLANNED = "workload.planned"
SCHEDULER = "scheduler"
"""A policy with its commitment, and its filter where asked for."""

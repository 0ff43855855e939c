"""Keys of studies of serial tasks, and those that figures make of them."""

from __future__ import annotations

POLICY = "manager.policy"
THRESHOLD = "manager.dropping_threshold"
ENVIRONMENT = "manager.environment"
FILTER = "manager.energy_filter"
LENIENCY = "manager.leniency"
WEIGHT = "manager.weight"
LOAD = "workload.tasks_per_day"
SETTING = "setting"
"""The switches of the manager as one key."""

PRIORITY = "priority"
GROUP = "group"
"""Levels of priority and groups of machines, each with its own utility."""

"""Recorded jobs of squeue in the shapes that other versions document for them (data_parser v0.0.37 to v0.0.42)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

_COUNTS = ("array_job_id", "het_job_id", "het_job_offset", "array_max_tasks", "cpus", "node_count", "priority")
_LIMITS = ("time_limit", "array_task_id")
_INSTANTS = ("submit_time", "eligible_time", "start_time", "end_time")


def _wrapped(value: float | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def _bare(job: dict[str, Any]) -> None:
    """v0.0.37 (21.08): numbers stand for what is not set."""
    job["array_task_id"] = 2**32 - 2 if job["array_task_id"] is None else job["array_task_id"]
    job["time_limit"] = 2**32 - 1 if job["time_limit"] is None else job["time_limit"]


def _as_recorded(job: dict[str, Any]) -> None:
    """v0.0.38 (22.05)."""


def _counts_wrapped(job: dict[str, Any]) -> None:
    """v0.0.39 (23.02): counts and limits say whether they are set, with whom nodes are shared is a list."""
    for name in (*_COUNTS, *_LIMITS):
        job[name] = _wrapped(job[name])
    shared = job.pop("shared")
    job["shared"] = [shared] if shared else []
    job["exclusive"] = {None: [], "none": ["true"], "user": ["user"]}[shared]


def _all_wrapped(job: dict[str, Any]) -> None:
    """v0.0.40 (23.11): instants, too; states are lists."""
    _counts_wrapped(job)
    for name in _INSTANTS:
        job[name] = _wrapped(job[name])
    job["job_state"] = ["RUNNING", "COMPLETING"] if job["job_state"] == "COMPLETING" else [job["job_state"]]


SHAPES: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "v0.0.37": _bare,
    "v0.0.38": _as_recorded,
    "v0.0.39": _counts_wrapped,
    "v0.0.40": _all_wrapped,
    "v0.0.41": _all_wrapped,
    "v0.0.42": _all_wrapped,
}
"""How each shape differs from what was recorded."""


def dressed(answer: Mapping[str, Any], shape: str) -> dict[str, Any]:
    """A recorded answer in another shape."""
    jobs = copy.deepcopy(answer["jobs"])
    for job in jobs:
        SHAPES[shape](job)
    return {**answer, "jobs": jobs}

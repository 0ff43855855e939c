"""A user's own order or objective of parallel jobs, in a file or in the current program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joulewise.errors import InputError, Problem, unknown_name
from joulewise.policies.jobs.policy import JobObjective, JobOrder, JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.policies.user_files import from_file, is_file_spec

_WHAT = "job heuristic"
_DOORS = ("jobs.heuristic", "jobs.policy")


def job_heuristic(*, falls_with_time: bool = False, title: str = "") -> Callable[[Callable[..., float]], JobPolicy]:
    """Make a policy for parallel jobs of a function; its parameters say what it is.

    priority(wait_s, planned_s, nodes, size, resources, usage, standing) -> float orders jobs: the highest goes first,
    with one reservation that is made again at every mapping event, and backfilling behind it.
    value(utility, completion_s, exec_s, energy_j, wait_s, resources) -> float values choices: the highest is taken
    again and again, with place-holders. Declare `falls_with_time` when no choice is worth more for starting later: the
    fast exact engine is used then (and the claim is checked on samples).
    """

    def decorate(function: Callable[..., float]) -> JobPolicy:
        name = getattr(function, "__name__", "heuristic")
        summary = (inspect.getdoc(function) or "A heuristic of your own.").splitlines()[0]
        return JobPolicy(name, title or name, summary, function.__module__, **_what(name, function, falls_with_time))

    return decorate


def _what(name: str, function: Callable[..., float], falls_with_time: bool) -> dict[str, Any]:
    """The part of a policy that follows from a function; InputError when its parameters are not of either kind."""
    from joulewise.policies.jobs.compile import PRIORITY_PARAMETERS, VALUE_PARAMETERS

    parameters = tuple(inspect.signature(function).parameters)
    if parameters == PRIORITY_PARAMETERS:
        order = JobOrder(function)
        return {"rule": "in-order", "order": order, "reservations": 1, "commitment": "place-holders"}
    if parameters == VALUE_PARAMETERS:
        objective = JobObjective(function, falls_with_time)
        return {"rule": "greedy", "objective": objective, "commitment": "place-holders", "all_pstates": True}
    allowed = f"must be ({', '.join(PRIORITY_PARAMETERS)}) or ({', '.join(VALUE_PARAMETERS)})"
    found = f"found the parameters ({', '.join(parameters)})"
    raise InputError(Problem(f"{_WHAT} {name}", found, allowed))


def find_job_policy(spec: str, where: str = "scheduler.policy", folder: Path | None = None) -> JobPolicy:
    """The policy for parallel jobs that a study names: a row of the table, or "file.py:function".

    Files are looked up relative to `folder`. Raises InputError with the nearest valid name.
    """
    if spec in JOB_POLICIES:
        return JOB_POLICIES[spec]
    if is_file_spec(spec):
        return from_file(spec, where, folder or Path(), JobPolicy, _DOORS, "policy for jobs")
    raise InputError(unknown_name(where, spec, [*JOB_POLICIES, '"your_file.py:function"']))

"""A user's own policy of parallel jobs: code that sees a whole mapping event and starts what it likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from joulewise.policies.jobs.policy import JobPolicy
from joulewise.policies.own import own_of
from joulewise.policies.time_limit import TIME_LIMIT_S


@overload
def own_job_policy(code: Callable[..., Any], /) -> JobPolicy: ...
@overload
def own_job_policy(
    *, compiled: bool = False, title: str = "", time_limit_s: float = TIME_LIMIT_S
) -> Callable[[Callable[..., Any]], JobPolicy]: ...
def own_job_policy(
    code: Callable[..., Any] | None = None,
    /,
    *,
    compiled: bool = False,
    title: str = "",
    time_limit_s: float = TIME_LIMIT_S,
) -> JobPolicy | Callable[[Callable[..., Any]], JobPolicy]:
    """Make a policy for parallel jobs of a function decide(event), or of a class with `decide(event)`.

    It is asked at every mapping event and returns what starts now: a tuple of two columns (job, option), an array with
    these two columns, or None. Jobs are started in this order; those against a limit of energy or power, or against
    what is held, are left out and wait on. It may also call `event.hold`, which holds nodes ahead. Every run has an
    instance of a class for itself, which may have `start(world)`. A run that takes longer than `time_limit_s` fails.

    A `compiled` function is written for Numba: decide(event) gets a record of arrays, writes its rows into
    `event.answer` (job, option, and 1 where nodes are held ahead for a job that cannot start now) and returns how many
    they are. No Python runs at an event then. Only a run that ends can be found to have taken too long.
    """

    def decorate(code: Callable[..., Any]) -> JobPolicy:
        own = own_of(code, time_limit_s, is_compiled=compiled)
        return JobPolicy(*own.row(title), "assigned", commitment="place-holders", all_pstates=True, own=own)

    return decorate if code is None else decorate(code)

"""A user's own policy of tasks: code that sees a whole mapping event and assigns what it likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from joulewise.policies.own import own_of
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.time_limit import TIME_LIMIT_S


@overload
def own_policy(code: Callable[..., Any], /) -> Policy: ...
@overload
def own_policy(
    *, compiled: bool = False, title: str = "", best_types: int | None = None, time_limit_s: float = TIME_LIMIT_S
) -> Callable[[Callable[..., Any]], Policy]: ...
def own_policy(
    code: Callable[..., Any] | None = None,
    /,
    *,
    compiled: bool = False,
    title: str = "",
    best_types: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Policy | Callable[[Callable[..., Any]], Policy]:
    """Make a policy of a function decide(event), or of a class with `decide(event)` and, if it likes, `start(world)`.

    It is asked at every mapping event and returns assignments: a tuple of three columns (task, machine, P-state), an
    array with these three columns, or None. They are made in this order, each behind what is assigned to its machine.
    Those against a limit of energy or power, or on a machine that takes no task now, are left out, and their tasks wait
    on. Every run has an instance of a class for itself. A run that takes longer than `time_limit_s` fails.

    A `compiled` function is written for Numba: decide(event) gets a record of arrays, writes its rows into
    `event.answer` and returns how many they are. No Python runs at an event then. Only a run that ends can be found to
    have taken too long.
    """

    def decorate(code: Callable[..., Any]) -> Policy:
        own = own_of(code, time_limit_s, is_compiled=compiled)
        name, title_, summary, source = own.row(title)
        return Policy(name, title_, "batch", summary, source, best_types=best_types, rule="assigned", own=own)

    return decorate if code is None else decorate(code)

"""A user's own policy of tasks: code that sees a whole mapping event and assigns what it likes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from joulewise.errors import InputError, Problem
from joulewise.policies.own import TIME_LIMIT_S, Own
from joulewise.policies.tasks.policy import Policy


def own_policy(
    *,
    compiled: bool = False,
    title: str = "",
    best_types: int | None = None,
    time_limit_s: float = TIME_LIMIT_S,
) -> Callable[[Callable[..., Any]], Policy]:
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
        name = getattr(code, "__name__", "policy")
        _check(name, code, time_limit_s, compiled)
        summary = (inspect.getdoc(code) or "A policy of your own.").splitlines()[0]
        own = Own(code, time_limit_s, compiled)
        return Policy(
            name, title or name, "batch", summary, code.__module__, best_types=best_types, rule="assigned", own=own
        )

    return decorate


def _check(name: str, code: Callable[..., Any], time_limit_s: float, compiled: bool) -> None:
    where = f"policy {name}"
    if compiled and not inspect.isfunction(code):
        raise InputError(Problem(where, f"found {type(code).__name__}", "must be a function to be compiled"))
    if not time_limit_s > 0:
        raise InputError(Problem(where, f"found the time limit {time_limit_s} s", "must be above 0 s"))
    decide = getattr(code, "decide", None) if inspect.isclass(code) else code
    if decide is None:
        raise InputError(Problem(where, "found a class without decide", advice="give it decide(self, event)"))
    n_expected = 2 if inspect.isclass(code) else 1
    if len(parameters := inspect.signature(decide).parameters) != n_expected:
        found, allowed = f"found the parameters ({', '.join(parameters)})", "must be decide(event)"
        raise InputError(Problem(where, found, allowed))

"""From a function of a policy in Python to a compiled function pointer, which all kernels take alike."""

from __future__ import annotations

import dis
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba

from joulewise.errors import InputError, Problem
from joulewise.policies.own import Own
from joulewise.policies.user_files import place_of, reason
from joulewise.processes import collecting_seldom

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_NEVER_RAISE = frozenset({"abs", "float", "max", "min"})
_GUARD = """
def guarded({names}):
    try:
        return float(inner({names}))
    except Exception:
        return nan
"""


_ADVICE = "use arithmetic and the math module only, and return a float"
_ADVICE_ON_POLICIES = "use numbers, loops and NumPy, and return the number of rows on every path"


def function_pointer(
    where: str, signature: Any, function: Callable[..., float], advice: str = _ADVICE, **options: Any
) -> Any:
    """The function as kernels can call it, not-a-number where it raises; InputError, with advice, when it cannot be.

    Options of Numba hold for the function itself.
    """
    if "print" in function.__code__.co_names:
        found = "prints, which compiled code cannot do from here"
        raise InputError(Problem(where, found, advice="take the print out"))
    try:
        with collecting_seldom():  # the first one has Numba load much
            return numba.cfunc(signature, **_OPTIONS)(
                _guarded(function, options) if options or _may_raise(function) else function
            )
    except Exception as error:  # numba raises all kinds, and any of them means that it cannot be compiled
        found = f"could not be compiled: {reason(error)}"
        raise InputError(Problem(where, found, advice=advice)) from error


@lru_cache(maxsize=256)
def compiled_policy(own: Own, sees: Any) -> Any:
    """A whole-event policy as a function that kernels can call with what it `sees`; InputError when it cannot be one.

    Its indices are checked, so that a wrong one reads and writes nothing.
    """
    where, signature = place_of(own.code, "policy"), numba.float64(sees)
    return function_pointer(where, signature, own.code, _ADVICE_ON_POLICIES, boundscheck=True)


def _may_raise(function: Callable[..., float]) -> bool:
    """Whether a function may do more than arithmetic, which never raises; a guard compiles in seven times as long."""
    code = function.__code__
    is_known = _NEVER_RAISE.issuperset(code.co_names) and function.__globals__.keys().isdisjoint(code.co_names)
    raises = any(step.opname.startswith("RAISE") for step in dis.get_instructions(code))
    return raises or bool(code.co_freevars) or not is_known


def _guarded(function: Callable[..., float], options: dict[str, Any]) -> Callable[..., float]:
    """The function with not-a-number in place of an exception, which compiled code could not pass on."""
    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    space: dict[str, Any] = {"inner": numba.njit(**_OPTIONS, **options)(function), "nan": math.nan}
    exec(_GUARD.format(names=names), space)
    guarded: Callable[..., float] = space["guarded"]
    return guarded

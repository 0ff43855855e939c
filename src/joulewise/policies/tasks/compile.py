"""From an objective in Python to a compiled function pointer, with its claims checked on samples."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numba
import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.choice import OBJECTIVE_SIGNATURE
from joulewise.policies.tasks.policy import Objective, Value
from joulewise.policies.user_files import place_of, reason
from joulewise.rng import generator

_N_SAMPLES = 4000
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_ROUNDING = 1e-9


@lru_cache(maxsize=256)
def compiled(objective: Objective) -> Any:
    """The objective as a function that kernels can call; InputError when it cannot be one.

    All kernels take the same type of function pointer, so a new objective recompiles none of them.
    """
    where = place_of(objective.value)
    if "print" in objective.value.__code__.co_names:
        found, advice = "prints, which compiled code cannot do from here", "take the print out"
        raise InputError(Problem(where, found, advice=advice))
    try:
        function = numba.cfunc(OBJECTIVE_SIGNATURE, **_OPTIONS)(_guarded(objective.value))
    except Exception as error:  # numba raises all kinds, and any of them means that it cannot be compiled
        found = f"could not be compiled: {reason(error)}"
        advice = "use arithmetic and the math module only, and return a float"
        raise InputError(Problem(where, found, advice=advice)) from error
    _check_claims(where, objective, function.ctypes)
    return function


def _guarded(value: Value) -> Value:
    """The objective with not-a-number in place of an exception, which compiled code could not pass on."""
    inner = numba.njit(**_OPTIONS)(value)

    def guarded(utility: float, completion_s: float, exec_s: float, energy_j: float, wait_s: float) -> float:
        try:
            return float(inner(utility, completion_s, exec_s, energy_j, wait_s))
        except Exception:
            return math.nan

    return guarded


def looks_at_energy(function: Any) -> bool:
    """Whether a compiled objective depends on energy: without a number for it there is none for the value."""
    return math.isnan(function.ctypes(1.0, 100.0, 10.0, math.nan, 50.0))


def _check_claims(where: str, objective: Objective, value: Any) -> None:
    """Hold sampled choices against what the row declares."""
    for sooner, later in _samples():
        before, after = value(*sooner), value(*later)
        if math.isnan(before) or math.isnan(after):
            found = f"fails or is not a number at {_spelled(sooner if math.isnan(before) else later)}"
            raise InputError(Problem(where, found, "must return a number for every choice"))
        rises = after > before + _ROUNDING * max(abs(before), 1.0)
        if objective.falls_with_time and rises:
            found = f"rises from {before:g} at {_spelled(sooner)} to {after:g} at {_spelled(later)}"
            allowed = "declared falls_with_time, so waiting must never raise it"
            raise InputError(Problem(where, found, allowed, "leave falls_with_time out"))


def _samples() -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Pairs of choices (utility, completion_s, exec_s, energy_j, wait_s), the second the first one delayed."""
    rng = generator(0, "policies.compile")
    utility = rng.exponential(4.0, _N_SAMPLES) * (rng.random(_N_SAMPLES) < 0.9)
    arrival_s, exec_s = rng.uniform(0, 1e6, _N_SAMPLES), np.exp(rng.uniform(0, 12, _N_SAMPLES))
    energy_j = exec_s * rng.uniform(1, 400, _N_SAMPLES)
    wait_s = np.exp(rng.uniform(0, 14, _N_SAMPLES)) * (rng.random(_N_SAMPLES) < 0.8)
    delay_s = np.exp(rng.uniform(0, 14, _N_SAMPLES))
    kept = rng.random(_N_SAMPLES) ** (rng.random(_N_SAMPLES) < 0.5)
    sooner = np.stack([utility, arrival_s + wait_s + exec_s, exec_s, energy_j, wait_s], axis=1)
    later = np.stack(
        [utility * kept, arrival_s + wait_s + delay_s + exec_s, exec_s, energy_j, wait_s + delay_s], axis=1
    )
    return [(tuple(a), tuple(b)) for a, b in zip(sooner.tolist(), later.tolist(), strict=True)]


def _spelled(choice: tuple[float, ...]) -> str:
    names = ("utility", "completion_s", "exec_s", "energy_j", "wait_s")
    return ", ".join(f"{name} {number:.4g}" for name, number in zip(names, choice, strict=True))

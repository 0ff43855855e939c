"""From an objective in Python to a compiled function pointer, with its claims checked on samples."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numba
import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.choice import OBJECTIVE_SIGNATURE
from joulewise.kernels.tasks.valuer import RICH_SIGNATURE
from joulewise.policies.compile import function_pointer
from joulewise.policies.tasks.policy import RICH_PARAMETERS, Objective
from joulewise.policies.user_files import place_of
from joulewise.rng import generator

_N_SAMPLES = 4000
_ROUNDING = 1e-9


@lru_cache(maxsize=256)
def compiled(objective: Objective) -> Any:
    """The objective as a function that kernels can call; InputError when it cannot be one.

    All kernels take the same type of function pointer, so a new objective recompiles none of them. Of one that sees
    more than the five numbers, nothing but that it can be compiled is known beforehand.
    """
    if objective.sees:
        return _compiled_rich(objective)
    where = place_of(objective.value)
    function = function_pointer(where, OBJECTIVE_SIGNATURE, objective.value)
    _check_claims(where, objective, function.ctypes)
    return function


def _compiled_rich(objective: Objective) -> Any:
    """An objective with its own parameters as a function of all that there are."""
    space: dict[str, Any] = {"inner": numba.njit(error_model="numpy")(objective.value)}
    exec(f"def rich({', '.join(RICH_PARAMETERS)}):\n    return inner({', '.join(objective.sees)})", space)
    return function_pointer(place_of(objective.value), RICH_SIGNATURE, space["rich"])


def looks_at_energy(objective: Objective) -> bool:
    """Whether an objective depends on energy: without a number for it there is none for the value."""
    if objective.sees:
        return "energy_j" in objective.sees
    return math.isnan(compiled(objective).ctypes(1.0, 100.0, 10.0, math.nan, 50.0))


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
        if objective.by_type and value(0.0, *sooner[1:4], 0.0) != before:
            found = f"changes with utility or waiting at {_spelled(sooner)}"
            raise InputError(Problem(where, found, "declared by_type, so it must see neither", "leave by_type out"))


@cache
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

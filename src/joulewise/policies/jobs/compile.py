"""From an order or an objective of parallel jobs in Python to a compiled function pointer, its claims checked."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.kernels.jobs.choice import JOB_OBJECTIVE_SIGNATURE
from joulewise.kernels.jobs.orders import PRIORITY_SIGNATURE
from joulewise.model.arrays import Floats
from joulewise.policies.compile import function_pointer
from joulewise.policies.jobs.policy import JobObjective, JobOrder
from joulewise.policies.user_files import place_of
from joulewise.rng import generator

_N_SAMPLES = 2000
_ROUNDING = 1e-9

VALUE_PARAMETERS = ("utility", "completion_s", "exec_s", "energy_j", "wait_s", "resources")
PRIORITY_PARAMETERS = ("wait_s", "planned_s", "nodes", "size", "resources", "usage", "standing")


@lru_cache(maxsize=256)
def compiled_order(order: JobOrder) -> Any:
    """The order's priority as a function that kernels can call; InputError when it cannot be one."""
    if order.priority is None:
        return function_pointer("order", PRIORITY_SIGNATURE, _nobody_first)
    where = place_of(order.priority, "order")
    function = function_pointer(where, PRIORITY_SIGNATURE, order.priority)
    for row in _job_samples():
        if math.isnan(function.ctypes(*row)):
            found = f"fails or is not a number at {_spelled(PRIORITY_PARAMETERS, row)}"
            raise InputError(Problem(where, found, "must return a number for every job"))
    return function


@lru_cache(maxsize=256)
def compiled_objective(objective: JobObjective) -> Any:
    """The objective as a function that kernels can call; InputError when it cannot be one or breaks its promise."""
    where = place_of(objective.value)
    function = function_pointer(where, JOB_OBJECTIVE_SIGNATURE, objective.value)
    for sooner, later in zip(*_choice_samples(), strict=True):
        before, after = function.ctypes(*sooner), function.ctypes(*later)
        if math.isnan(before) or math.isnan(after):
            found = f"fails or is not a number at {_spelled(VALUE_PARAMETERS, later if before == before else sooner)}"
            raise InputError(Problem(where, found, "must return a number for every choice"))
        if objective.falls_with_time and after > before + _ROUNDING * max(abs(before), 1.0):
            found = f"rises from {before:g} to {after:g} when {_spelled(VALUE_PARAMETERS, sooner)} starts later"
            allowed = "declared falls_with_time, so waiting must never raise it"
            raise InputError(Problem(where, found, allowed, "leave falls_with_time out"))
    return function


def looks_at_energy(objective: JobObjective) -> bool:
    """Whether an objective depends on energy: without a number for it there is none for the value."""
    return math.isnan(compiled_objective(objective).ctypes(1.0, 100.0, 10.0, math.nan, 50.0, 40.0))


def _nobody_first(
    wait_s: float, planned_s: float, nodes: float, size: float, resources: float, usage: float, standing: float
) -> float:
    return 0.0


@cache
def _job_samples() -> list[list[float]]:
    """Jobs as orders see them."""
    rng = generator(0, "policies.job_compile", "jobs")
    wait_s = np.exp(rng.uniform(0, 14, _N_SAMPLES)) * (rng.random(_N_SAMPLES) < 0.8)
    planned_s, nodes = np.exp(rng.uniform(0, 12, _N_SAMPLES)), np.floor(np.exp(rng.uniform(0, 8, _N_SAMPLES)))
    usage = rng.exponential(1.0, _N_SAMPLES) * (rng.random(_N_SAMPLES) < 0.8)
    standing = rng.random(_N_SAMPLES) * (rng.random(_N_SAMPLES) < 0.5)
    columns = (wait_s, planned_s, nodes, nodes / 3000.0, planned_s * nodes * 16, usage, standing)
    return np.stack(columns, axis=1).tolist()  # type: ignore[no-any-return]


@cache
def _choice_samples() -> tuple[list[list[float]], list[list[float]]]:
    """Choices, and the same ones delayed."""
    rng = generator(0, "policies.job_compile", "choices")
    utility = rng.exponential(4.0, _N_SAMPLES) * (rng.random(_N_SAMPLES) < 0.9)
    arrival_s, exec_s = rng.uniform(0, 1e6, _N_SAMPLES), np.exp(rng.uniform(0, 12, _N_SAMPLES))
    resources = exec_s * np.floor(np.exp(rng.uniform(0, 10, _N_SAMPLES)))
    energy_j = resources * rng.uniform(1, 20, _N_SAMPLES)
    wait_s = np.exp(rng.uniform(0, 14, _N_SAMPLES)) * (rng.random(_N_SAMPLES) < 0.8)
    delay_s = np.exp(rng.uniform(0, 14, _N_SAMPLES))
    kept = rng.random(_N_SAMPLES) ** (rng.random(_N_SAMPLES) < 0.5)

    def rows(utility: Floats, wait_s: Floats) -> list[list[float]]:
        columns = (utility, arrival_s + wait_s + exec_s, exec_s, energy_j, wait_s, resources)
        return np.stack(columns, axis=1).tolist()  # type: ignore[no-any-return]

    return rows(utility, wait_s), rows(utility * kept, wait_s + delay_s)


def _spelled(names: tuple[str, ...], row: list[float]) -> str:
    return ", ".join(f"{name} {number:.4g}" for name, number in zip(names, row, strict=True))

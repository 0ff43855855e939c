"""Idle power as a share of what machines draw on average while they compute (Tarplee V-C)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import InputError, Problem
from joulewise.model import Standby, System
from joulewise.model.arrays import Floats
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative

IDLE = "idle_percent"


@dataclass(frozen=True, kw_only=True)
class IdleParameters:
    """What idle machines draw; by default nothing."""

    idle_percent: float = explained(
        0.0,
        "power of a machine that runs nothing, in percent of the mean over the task types of its power in P-state 0",
    )


def idle_problems(p: IdleParameters) -> Iterator[Problem]:
    """What is wrong with the idle power, apart from a system that it does not fit."""
    fine = is_not_negative(p.idle_percent) and p.idle_percent <= 100
    yield from broken_rules("system", p, [(IDLE, fine, "must be from 0 to 100")])


def with_idle_power(system: System, percent: float) -> System:
    """The system with this idle power; InputError when some task draws less than that."""
    if percent == 0:
        return system
    mean_w = _mean_power_w(system)
    assert system.power_w is not None
    least_w = np.where(np.isfinite(system.etc_s), system.power_w, np.inf).min(axis=(0, 2))
    most_percent = 100 * float((least_w / mean_w).min())
    if percent > most_percent:
        machine_type = system.machine_types[int(np.argmin(least_w / mean_w))]
        allowed = f"must be at most {most_percent:.4g}: a task on {machine_type} draws no more"
        raise InputError(Problem(f"system.{IDLE}", f"found {percent:g}", allowed))
    nothing = np.zeros(system.n_machine_types)
    never_s = np.full(system.n_machine_types, np.inf)
    return replace(system, standby=Standby(percent / 100 * mean_w, nothing, nothing, nothing, never_s))


def _mean_power_w(system: System) -> Floats:
    """Mean power of each machine type in P-state 0 over the task types that it runs."""
    assert system.power_w is not None
    total_w = np.where(system.can_run, system.power_w[:, :, 0], 0.0).sum(axis=0)
    return np.asarray(total_w / np.maximum(system.can_run.sum(axis=0), 1))

"""Systems of low and high task-machine affinity, made from a given one (Friese 3.5.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.worlds.groups import general_part, special_machine_types
from joulewise.worlds.heterogeneity import heterogeneity_metrics, standard_form, with_sums

Affinity = Literal["as drawn", "low", "high"]
AFFINITIES: tuple[Affinity, ...] = get_args(Affinity)

SPECIAL_SPEED_UP = 10.0
"""How much faster a special-purpose machine type is than the general-purpose ones on average."""
LEAST_SPEED = 0.1
"""What high affinity leaves of the speed of a task type on a machine type, as a part of what it was."""

_NOTHING = 1e-9
"""A singular value up to this is rounding: there is no direction in it to go further in."""


def with_affinity(system: System, affinity: Affinity) -> System:
    """The system with the lowest, or with a higher, task-machine affinity of its general-purpose machine types.

    Their TDH and MPH stay as they are. A special-purpose machine type becomes ten times as fast as they are on
    average. The ratios between P-states and all powers are kept. Raises InputError when a task type runs
    on some general-purpose machine types only.
    """
    if affinity == "as drawn":
        return system
    if affinity not in _CHANGES:
        raise InputError(unknown_name("affinity", str(affinity), AFFINITIES))
    raise_if_any(_problems(system))
    fastest_s = system.etc_s[:, :, 0].copy()
    rows, columns = general_part(system)
    speed = _changed(1 / fastest_s[np.ix_(rows, columns)], _CHANGES[affinity])
    fastest_s[np.ix_(rows, columns)] = 1 / speed
    special = system.can_run[rows] & special_machine_types(system)
    fastest_s[rows] = np.where(special, 1 / (SPECIAL_SPEED_UP * speed.mean(axis=1, keepdims=True)), fastest_s[rows])
    slower = np.ones_like(fastest_s)
    np.divide(fastest_s, system.etc_s[:, :, 0], out=slower, where=system.can_run)
    return replace(system, etc_s=system.etc_s * slower[:, :, None])


def affinity_report(system: System) -> list[dict[str, str | float]]:
    """TMA, TDH and MPH of the general-purpose part of a system, as it is and with low and high affinity."""
    return [{"affinity": affinity, **heterogeneity_metrics(with_affinity(system, affinity))} for affinity in AFFINITIES]


def _changed(speed: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """The speeds after a change of their standard form, with the row and column sums that they had."""
    standard = standard_form(speed)
    changed = None if standard is None else with_sums(change(standard), speed.sum(axis=1), speed.sum(axis=0))
    if changed is None:
        found = "the execution times on general-purpose machine types differ by too many orders of magnitude"
        raise InputError(Problem("system.etc_s", found, "must be times whose affinity can be measured"))
    return changed


def _rank_one(standard: Floats) -> Floats:
    """The rank-1 approximation of a standard form, in which all entries are equal."""
    return np.full_like(standard, standard.mean())


def _with_larger_singular_values(standard: Floats) -> Floats:
    """As much of each further pair of singular vectors added, in their order, as leaves every entry its least speed."""
    left, singular, right = np.linalg.svd(standard, full_matrices=False)
    least, matrix = LEAST_SPEED * standard, standard
    for i in range(1, int((singular > _NOTHING).sum())):
        direction = np.outer(left[:, i], right[i])
        matrix = np.maximum(matrix + _longest_step(matrix - least, direction) * direction, least)
    return matrix


def _longest_step(room: Floats, direction: Floats) -> float:
    """How often the direction fits before an entry has used up its room."""
    falling = direction < 0
    return float((room[falling] / -direction[falling]).min())


_CHANGES: dict[str, Callable[[Floats], Floats]] = {"low": _rank_one, "high": _with_larger_singular_values}
"""What makes a standard form one of another affinity; row and column sums of it stay equal."""


def _problems(system: System) -> Iterator[Problem]:
    rows, columns = general_part(system)
    if not rows.size:
        yield Problem(
            "system.machine_group",
            "no task type runs on a general-purpose machine type",
            advice="give the machine types that run all task types the group general",
        )
    for task_type, machine_type in np.argwhere(~system.can_run[np.ix_(rows, columns)])[:1]:
        yield Problem(
            f"system.etc_s: {system.task_types[rows[task_type]]} on {system.machine_types[columns[machine_type]]}",
            "cannot run, but runs on another general-purpose machine type",
            "a change of affinity needs a time on every general-purpose machine type",
            "give machine types that run a few task types only the group special",
        )

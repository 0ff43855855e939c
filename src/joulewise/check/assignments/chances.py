"""Assignments a second time where times and powers are drawn: numpy alone, all samples of a task side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr

from joulewise.model import World
from joulewise.model.arrays import Floats
from joulewise.model.assignment import NOT_RUN, Assignment
from joulewise.model.chances import Chances
from joulewise.rng import generator

_ROUNDING, _EDGE = 1e-5, 1e-3
"""How far single precision and tables of quantiles may be off, without and with tasks at the edge of being dropped."""

_LEAST_COV = 1e-3
_LANES = 16
_MOST_ODD = 0.02
"""Share of samples that may be off by more: in them a task at the edge falls to the other side early."""


class Totals(NamedTuple):
    """Of each sample: energy, utility, and how many tasks ran.

    Where tasks are dropped by their mean completion: `at_means`, (mean energy, utility at mean completions).
    """

    energy_j: Floats
    utility: Floats
    n_ran: Floats
    at_means: tuple[float, float]


class SampleDraws(NamedTuple):
    """What each task of an assignment takes in each sample: seconds and watts, by [task, sample]."""

    time_s: Floats
    power_w: Floats


def run_samples(world: World, assignment: Assignment, draws: SampleDraws, drop_below: float, by_mean: bool) -> Totals:
    """Run an assignment in all samples; tasks are dropped by what they earn in each, or at their mean completion."""
    system, work, pue = world.system, world.workload, world.supply.pue
    n_samples = draws.time_s.shape[1]
    energy_j, utility, n_ran = np.zeros((3, n_samples))
    mean_j = at_mean_ends = 0.0
    free_s = np.full((system.n_machines, n_samples), -np.inf)
    for i in np.lexsort((np.arange(assignment.n_tasks), assignment.order)):
        machine = assignment.machine[i]
        if machine == NOT_RUN:
            continue
        end_s = np.maximum(free_s[machine], work.arrival_s[i]) + draws.time_s[i]
        earned, at_mean = work.utility(i, end_s), float(work.utility(i, end_s.mean()))
        runs = np.full(n_samples, at_mean >= drop_below) if by_mean else earned >= drop_below
        free_s[machine] = np.where(runs, end_s, free_s[machine])
        energy_j += np.where(runs, pue * draws.time_s[i] * draws.power_w[i], 0.0)
        utility += np.where(runs, earned, 0.0)
        n_ran += runs
        if by_mean and runs[0]:
            mean_j += pue * float(system.eec_j[work.task_type[i], system.machine_type[machine], assignment.pstate[i]])
            at_mean_ends += at_mean
    return Totals(energy_j, utility, n_ran, (mean_j, at_mean_ends))


def at_rank(values: Floats, percent: int, *, falling: bool) -> float:
    """The value at a percentile of sorted values: of 100 values the one at place `percent`, from 1."""
    place = -(-percent * len(values) // 100)
    return float(np.sort(values)[-place if falling else place - 1])


def objective_of(totals: Totals, objective: str, percentile: tuple[int, int]) -> tuple[float, float]:
    """Energy and utility that a search has of an assignment; percentiles are of utility and of energy."""
    if objective == "mean-completions":
        return totals.at_means
    if objective == "expected":
        return float(totals.energy_j.mean()), float(totals.utility.mean())
    return at_rank(totals.energy_j, percentile[1], falling=False), at_rank(totals.utility, percentile[0], falling=True)


def search_draws(world: World, chances: Chances, assignment: Assignment, n_samples: int, seed: int) -> SampleDraws:
    """The samples of a search: one of the equally likely points for each task."""
    n_drawn = -(-n_samples // _LANES) * _LANES
    shape = (2, world.workload.n_tasks, n_drawn)
    point = generator(seed, "chances.samples").integers(0, chances.n_points, shape, np.uint8)[:, :, :n_samples]
    tables = (_of_tasks(world, assignment, points) for points in (chances.time_s, chances.power_w))
    return SampleDraws(*(np.take_along_axis(points, at, axis=1) for points, at in zip(tables, point, strict=True)))


def fresh_draws(world: World, chances: Chances, assignment: Assignment, n_samples: int, seed: int) -> SampleDraws:
    """Samples that no search has seen: of the gamma distributions where the chances have them, else of the points."""
    shape = (2, world.workload.n_tasks, n_samples)
    normal = generator(seed, "chances.fresh").standard_normal(shape, np.float32).astype(np.float64)
    both = ((chances.time_s, chances.time_cov), (chances.power_w, chances.power_cov))
    drawn = []
    for (points, cov), z in zip(both, normal, strict=True):
        own = _of_tasks(world, assignment, points)
        if cov is None:
            place = np.minimum(chances.n_points * ndtr(z), chances.n_points - 1).astype(np.int64)
            drawn.append(np.take_along_axis(own, place, axis=1))
        else:
            drawn.append(_gamma(own.mean(axis=1), _of_tasks(world, assignment, cov), z))
    return SampleDraws(*drawn)


def _of_tasks(world: World, assignment: Assignment, table: Floats) -> Floats:
    """What a table by [task type, machine type, P-state] has for each task where it runs; 1 where it does not."""
    runs, system = assignment.machine != NOT_RUN, world.system
    by_task = np.ones((assignment.n_tasks, *table.shape[3:]))
    kind, machine = world.workload.task_type[runs], system.machine_type[assignment.machine[runs]]
    by_task[runs] = table[kind, machine, assignment.pstate[runs]]
    return by_task


def _gamma(mean: Floats, cov: Floats, normal: Floats) -> Floats:
    """Gamma quantiles as probable as standard normal ones, [task, sample]."""
    shape, tail = 1.0 / np.maximum(cov, _LEAST_COV)[:, None] ** 2, ndtr(-np.abs(normal))
    quantile = np.where(normal > 0, gammainccinv(shape, tail), gammaincinv(shape, tail)) / shape
    return np.asarray(mean[:, None] * np.where(cov[:, None] < _LEAST_COV, 1.0, quantile))


def check_objective(
    expected: tuple[float, float], drop_below: float, *, energy_j: float, utility: float
) -> Iterator[str]:
    """What is wrong with the objectives that a search has of an assignment."""
    for name, found, right in zip(("energy_j", "utility"), (energy_j, utility), expected, strict=True):
        if not abs(found - right) <= _tolerance(drop_below) * abs(right) + _ROUNDING:
            yield f"{name}: found {found!r}; expected {right!r} in the samples of the search"


def check_cloud(
    expected: Totals, drop_below: float, *, energy_j: Floats, utility: Floats, n_ran: Floats
) -> Iterator[str]:
    """What is wrong with what an assignment is said to come to in fresh samples."""
    said = {"energy_j": energy_j, "utility": utility, "tasks that ran": n_ran}
    for (name, found), right in zip(said.items(), expected[:3], strict=True):
        odd = np.flatnonzero(~(np.abs(found - right) <= _tolerance(drop_below) * np.abs(right) + _ROUNDING))
        if odd.size > 1 + _MOST_ODD * found.size:
            at = int(odd[0])
            yield f"{name}: found {float(found[at])!r} in fresh sample {at}; expected {float(right[at])!r}"


def _tolerance(drop_below: float) -> float:
    return _EDGE if drop_below > 0 else _ROUNDING

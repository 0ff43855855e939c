"""Rates of arrival over a day, sinusoidal and bursty, and arrivals at them (Friese 2.6.4, app. F)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from joulewise.model import System
from joulewise.model.arrays import Bools, Floats, Ints
from joulewise.worlds.groups import special_machine_types

_HOUR_S = 3600.0
Burst = Literal["normalised", "literal"]

MAX_TASKS = 20_000_000

_VARIANCE_OVER_MEAN = 0.1

CYCLES_PER_DAY = (1, 24)

AMPLITUDE = (0.25, 0.9)

_BASELINE_FACTOR = (0.5, 0.75)

_BURST_FACTOR = (1.25, 1.5)

_BASELINE_S = (3 * _HOUR_S, 5 * _HOUR_S)

_BURST_S = (0.5 * _HOUR_S, 1.5 * _HOUR_S)


class DailyLoad(NamedTuple):
    """How many tasks are expected in a day of which length, and what bursts of special-purpose types mean.

    "normalised": the factors of each type are divided by their average, so that every type has its own mean rate.
    "literal": the factors are the published ones, and all types are scaled alike to the number of tasks asked for.
    """

    tasks_per_day: float
    day_s: float
    burst: Burst = "normalised"


@dataclass(frozen=True, eq=False)
class RatePatterns:
    """The arrival rate of each task type, periodic with `day_s`.

    rate(t) = mean_per_s * (1 + amplitude * sin(2 pi cycles t / day_s + phase)) * step(t), where `step` is
    piecewise constant: `step_factor[k]` holds for task type `step_task_type[k]` from `step_start_s[k]` of the
    day until its next step. Steps are sorted by task type, then start; each task type has one at 0 s.
    """

    day_s: float
    mean_per_s: Floats
    amplitude: Floats
    cycles: Floats
    phase: Floats
    step_task_type: Ints
    step_start_s: Floats
    step_factor: Floats

    def factor(self, task_type: Ints, at_s: Floats) -> Floats:
        """Rates at these instants relative to the task types' mean rates."""
        angle = (2 * math.pi / self.day_s) * self.cycles[task_type] * at_s + self.phase[task_type]
        key_s = self._key_s(task_type, np.mod(at_s, self.day_s))
        step = np.searchsorted(self._step_key_s, key_s, side="right") - 1
        return np.asarray((1 + self.amplitude[task_type] * np.sin(angle)) * self.step_factor[step])

    @property
    def peak(self) -> Floats:
        """An upper bound of `factor` for each task type."""
        highest = np.zeros(self.mean_per_s.size)
        np.maximum.at(highest, self.step_task_type, self.step_factor)
        return (1 + self.amplitude) * highest

    def _key_s(self, task_type: Ints, of_day_s: Floats) -> Floats:
        """One number for task type and instant of the day, rising with both.

        The keys of a task type fill half of its range: rounding never carries one into the next task type.
        """
        return task_type * (2 * self.day_s) + of_day_s

    @cached_property
    def _step_key_s(self) -> Floats:
        return self._key_s(self.step_task_type, self.step_start_s)


def is_special(system: System) -> Bools:
    """Which task types are special-purpose: those that a machine type of the group "special" can run."""
    columns = special_machine_types(system)
    return np.asarray(system.can_run[:, columns].any(axis=1))


def rate_patterns(load: DailyLoad, special: Bools, stream: np.random.Generator) -> RatePatterns:
    """Draw the mean rate and the pattern of every task type; the patterns do not depend on the load."""
    n = special.size
    mean_tasks = load.tasks_per_day / n
    spread = math.sqrt(_VARIANCE_OVER_MEAN * mean_tasks)
    tasks = np.maximum(mean_tasks + spread * stream.standard_normal(n), 0.0)
    amplitude = np.where(special, 0.0, stream.uniform(*AMPLITUDE, n))
    cycles = stream.integers(*CYCLES_PER_DAY, n, endpoint=True).astype(np.float64)
    phase = stream.uniform(0, 2 * math.pi, n)
    bursts = _bursts(load.day_s, int(special.sum()), stream)
    if load.burst == "normalised":
        bursts = bursts._replace(factor=bursts.factor / bursts.average)
    else:
        tasks = _as_many_in_all(tasks, special, bursts)
    return RatePatterns(load.day_s, tasks / load.day_s, amplitude, cycles, phase, *_steps(bursts, special, load.day_s))


class _Bursts(NamedTuple):
    """Starts and factors, as [task type, interval], and the averages of the factors over the day, as a column."""

    start_s: Floats
    factor: Floats
    average: Floats


def _as_many_in_all(tasks: Floats, special: Bools, bursts: _Bursts) -> Floats:
    """All types scaled alike, so that as many tasks arrive as the types should have together."""
    arriving = tasks.copy()
    arriving[special] *= bursts.average[:, 0]
    return tasks * (tasks.sum() / arriving.sum()) if arriving.any() else tasks


def _steps(bursts: _Bursts, special: Bools, day_s: float) -> tuple[Ints, Floats, Floats]:
    """Task types, starts and factors of the steps: bursts for special types, all 1 for the others."""
    general = np.flatnonzero(~special)
    rows = np.repeat(np.flatnonzero(special), bursts.start_s.shape[1])
    inside = bursts.start_s.ravel() < day_s
    task_type = np.concatenate((general, rows[inside])).astype(np.int32)
    begins_s = np.concatenate((np.zeros(general.size), bursts.start_s.ravel()[inside]))
    factors = np.concatenate((np.ones(general.size), bursts.factor.ravel()[inside]))
    order = np.lexsort((begins_s, task_type))
    return task_type[order], begins_s[order], factors[order]


def _bursts(day_s: float, n: int, stream: np.random.Generator) -> _Bursts:
    """Alternating baseline and burst intervals over the day, with the published factors.

    The day begins with a baseline interval; what lies beyond its end is cut off, because the day repeats.
    """
    n_pairs = math.ceil(day_s / (_BASELINE_S[0] + _BURST_S[0]))
    shape = (n, n_pairs)
    length_s = _alternate(stream.uniform(*_BASELINE_S, shape), stream.uniform(*_BURST_S, shape))
    factor = _alternate(stream.uniform(*_BASELINE_FACTOR, shape), stream.uniform(*_BURST_FACTOR, shape))
    end_s = np.minimum(np.cumsum(length_s, axis=1), day_s)
    start_s = np.concatenate((np.zeros((n, 1)), end_s[:, :-1]), axis=1)
    average = (factor * (end_s - start_s)).sum(axis=1, keepdims=True) / day_s
    return _Bursts(start_s, factor, average)


def _alternate(even: Floats, odd: Floats) -> Floats:
    """The columns of both in turn, beginning with those of `even`."""
    return np.stack((even, odd), axis=2).reshape(even.shape[0], 2 * even.shape[1])


def thin(patterns: RatePatterns, start_s: float, end_s: float, stream: np.random.Generator) -> tuple[Ints, Floats]:
    """Poisson arrivals in [start_s, end_s) at these rates, by thinning: task types and instants, unsorted."""
    peak = patterns.peak
    n_candidates = stream.poisson(patterns.mean_per_s * peak * (end_s - start_s))
    task_type = np.repeat(np.arange(peak.size, dtype=np.int32), n_candidates)
    at_s = stream.uniform(start_s, end_s, task_type.size)
    keep = stream.random(task_type.size) * peak[task_type] < patterns.factor(task_type, at_s)
    return task_type[keep], at_s[keep]


def step_along(
    patterns: RatePatterns, start_s: float, end_s: float, cap_s: float, stream: np.random.Generator
) -> tuple[Ints, Floats]:
    """Arrivals as the text has it: exponential steps at the rate where the step begins, at most `cap_s` long.

    Loses arrivals where the rate rises and adds them where it is very low. All task types step together.
    """
    task_type = np.flatnonzero(patterns.mean_per_s > 0).astype(np.int32)
    at_s = np.full(task_type.size, start_s)
    types, instants = [task_type[:0]], [at_s[:0]]
    while task_type.size:
        rate_per_s = patterns.mean_per_s[task_type] * patterns.factor(task_type, at_s)
        at_s = at_s + np.minimum(stream.standard_exponential(at_s.size) / rate_per_s, cap_s)
        inside = at_s < end_s
        task_type, at_s = task_type[inside], at_s[inside]
        types.append(task_type)
        instants.append(at_s)
    return np.concatenate(types), np.concatenate(instants)

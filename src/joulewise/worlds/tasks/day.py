"""Tasks that arrive over a day, at sinusoidal and bursty rates (Friese 2.6.4, app. F)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model import System, Workload
from joulewise.model.arrays import Bools, Codes, Floats, Ints
from joulewise.rng import generator
from joulewise.worlds.groups import special_machine_types
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive
from joulewise.worlds.tasks.truth import TruthParameters, truth_problems, truth_stream, with_truth
from joulewise.worlds.utilities import Levels, UtilityParameters, draw_levels, utility_problems, workload_of_levels

Burst = Literal["normalised", "literal"]
Arrivals = Literal["thinning", "stepping"]

MAX_TASKS = 20_000_000

_HOUR_S = 3600.0
_VARIANCE_OVER_MEAN = 0.1
CYCLES_PER_DAY = (1, 24)
AMPLITUDE = (0.25, 0.9)
_BASELINE_FACTOR = (0.5, 0.75)
_BURST_FACTOR = (1.25, 1.5)
_BASELINE_S = (3 * _HOUR_S, 5 * _HOUR_S)
_BURST_S = (0.5 * _HOUR_S, 1.5 * _HOUR_S)


@dataclass(frozen=True)
class WorkloadParameters(TruthParameters, UtilityParameters):
    """How many tasks arrive when, and what they are worth; the defaults are the published ones.

    Raises InputError with every problem found.
    """

    tasks_per_day: float = explained(33_000.0, "expected number of tasks that arrive in a counted day")
    warm_up_s: float = explained(2 * _HOUR_S, "time before the counted day, at the same rates")
    day_s: float = explained(24 * _HOUR_S, "length of a counted day")
    days: int = explained(1, "number of counted days, all with the same rates")
    burst: Burst = explained(
        "normalised", "rates of special-purpose types: averaging to the mean rate, or the published factors"
    )
    arrivals: Arrivals = explained(
        "thinning", "exact arrivals at the rates, or published steps (which lose some arrivals)"
    )
    step_cap_s: float = explained(24 * _HOUR_S / 50, 'longest interarrival time when arrivals = "stepping"')

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *truth_problems(self), *_arrival_problems(self)))

    @property
    def n_tasks(self) -> float:
        """Expected number of tasks, those of the warm-up included."""
        return self.tasks_per_day * (self.days + self.warm_up_s / self.day_s)


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


def generate_workload(parameters: WorkloadParameters, system: System, seed: int, trial: int) -> Workload:
    """The workload of one trial: tasks sorted by arrival, then task type, tagged with their levels.

    Task types that a machine type of the group "special" can run arrive in bursts, the others sinusoidally.
    """
    days = zip(*_tasks_by_day(parameters, system, seed, trial), strict=True)
    arrival_s, task_type, *levels = (np.concatenate(column) for column in days)
    window_s = (parameters.warm_up_s, parameters.warm_up_s + parameters.days * parameters.day_s)
    workload = workload_of_levels(arrival_s, task_type, Levels(*levels), system, parameters, *window_s)
    return with_truth(workload, parameters, truth_stream(seed, trial))


def generate_days(parameters: WorkloadParameters, system: System, seed: int, trial: int) -> Iterator[Workload]:
    """The same tasks as `generate_workload` has, day by day: each counted day is the window of a workload of its own.

    The first one has the warm-up before it. Only the day asked for is in memory.
    """
    truth = truth_stream(seed, trial)
    for day, (arrival_s, task_type, *levels) in enumerate(_tasks_by_day(parameters, system, seed, trial)):
        window_s = (parameters.warm_up_s + day * parameters.day_s, parameters.warm_up_s + (day + 1) * parameters.day_s)
        workload = workload_of_levels(arrival_s, task_type, Levels(*levels), system, parameters, *window_s)
        yield with_truth(workload, parameters, truth)


def _tasks_by_day(
    parameters: WorkloadParameters, system: System, seed: int, trial: int
) -> Iterator[tuple[Floats, Ints, Codes, Codes, Codes]]:
    """Arrivals, task types and levels of each day."""
    patterns = rate_patterns(parameters, is_special(system), generator(seed, trial, "workload.rates"))
    raise_if_any(_step_problems(parameters, system.n_task_types))
    for day in range(parameters.days):
        yield _tasks_of_day(parameters, patterns, day, seed, trial)


def _tasks_of_day(
    parameters: WorkloadParameters, patterns: RatePatterns, day: int, seed: int, trial: int
) -> tuple[Floats, Ints, Codes, Codes, Codes]:
    """Arrivals, task types and levels of one counted day, the first with the warm-up, in order of arrival.

    Every day has streams of its own, so that a further day changes nothing of those before it.
    """
    start_s = parameters.warm_up_s + day * parameters.day_s if day else 0.0
    end_s = parameters.warm_up_s + (day + 1) * parameters.day_s
    of_day = (day,) if day else ()
    stream = generator(seed, trial, "workload.arrivals", *of_day)
    if parameters.arrivals == "thinning":
        task_type, arrival_s = thin(patterns, start_s, end_s, stream)
    else:
        task_type, arrival_s = step_along(patterns, start_s, end_s, parameters.step_cap_s, stream)
    order = np.lexsort((task_type, arrival_s))
    levels = draw_levels(parameters, generator(seed, trial, "workload.utility", *of_day), order.size)
    return (arrival_s[order], task_type[order], *levels)


def is_special(system: System) -> Bools:
    """Which task types are special-purpose: those that a machine type of the group "special" can run."""
    columns = special_machine_types(system)
    return np.asarray(system.can_run[:, columns].any(axis=1))


def rate_patterns(parameters: WorkloadParameters, special: Bools, stream: np.random.Generator) -> RatePatterns:
    """Draw the mean rate and the pattern of every task type; the patterns do not depend on the load."""
    n = special.size
    mean_tasks = parameters.tasks_per_day / n
    spread = math.sqrt(_VARIANCE_OVER_MEAN * mean_tasks)
    tasks = np.maximum(mean_tasks + spread * stream.standard_normal(n), 0.0)
    amplitude = np.where(special, 0.0, stream.uniform(*AMPLITUDE, n))
    cycles = stream.integers(*CYCLES_PER_DAY, n, endpoint=True).astype(np.float64)
    phase = stream.uniform(0, 2 * math.pi, n)
    steps = _step_patterns(parameters, special, stream)
    return RatePatterns(parameters.day_s, tasks / parameters.day_s, amplitude, cycles, phase, *steps)


def _step_patterns(
    parameters: WorkloadParameters, special: Bools, stream: np.random.Generator
) -> tuple[Ints, Floats, Floats]:
    """Task types, starts and factors of the steps: bursts for special types, all 1 for the others."""
    start_s, factor = _bursts(parameters, int(special.sum()), stream)
    general = np.flatnonzero(~special)
    rows = np.repeat(np.flatnonzero(special), start_s.shape[1])
    inside = start_s.ravel() < parameters.day_s
    task_type = np.concatenate((general, rows[inside])).astype(np.int32)
    begins_s = np.concatenate((np.zeros(general.size), start_s.ravel()[inside]))
    factors = np.concatenate((np.ones(general.size), factor.ravel()[inside]))
    order = np.lexsort((begins_s, task_type))
    return task_type[order], begins_s[order], factors[order]


def _bursts(parameters: WorkloadParameters, n: int, stream: np.random.Generator) -> tuple[Floats, Floats]:
    """Starts and factors, as [task type, interval], of alternating baseline and burst intervals over the day.

    The day begins with a baseline interval; what lies beyond its end is cut off, because the day repeats.
    """
    n_pairs = math.ceil(parameters.day_s / (_BASELINE_S[0] + _BURST_S[0]))
    shape = (n, n_pairs)
    length_s = _alternate(stream.uniform(*_BASELINE_S, shape), stream.uniform(*_BURST_S, shape))
    factor = _alternate(stream.uniform(*_BASELINE_FACTOR, shape), stream.uniform(*_BURST_FACTOR, shape))
    end_s = np.minimum(np.cumsum(length_s, axis=1), parameters.day_s)
    start_s = np.concatenate((np.zeros((n, 1)), end_s[:, :-1]), axis=1)
    if parameters.burst == "normalised":
        average = (factor * (end_s - start_s)).sum(axis=1, keepdims=True) / parameters.day_s
        factor = factor / average
    return start_s, factor


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


def _arrival_problems(p: WorkloadParameters) -> Iterator[Problem]:
    n_tasks = p.n_tasks if is_positive(p.day_s) else 0.0
    rules = (
        ("tasks_per_day", is_positive(p.tasks_per_day), "must be above 0"),
        ("tasks_per_day", n_tasks <= MAX_TASKS, f"there may be up to {MAX_TASKS:,} tasks, warm-up included"),
        ("warm_up_s", is_not_negative(p.warm_up_s), "must be 0 s or more"),
        ("day_s", is_positive(p.day_s), "must be above 0 s"),
        ("days", p.days >= 1, "must be 1 or more"),
        ("step_cap_s", is_positive(p.step_cap_s), "must be above 0 s"),
    )
    yield from broken_rules("workload", p, rules)
    yield from _step_problems(p, n_task_types=1)
    for name, choices in (("burst", get_args(Burst)), ("arrivals", get_args(Arrivals))):
        if getattr(p, name) not in choices:
            yield unknown_name(f"workload.{name}", getattr(p, name), choices)


def _step_problems(p: WorkloadParameters, n_task_types: int) -> Iterator[Problem]:
    """A cap so short that the steps alone, one task each, would be more tasks than there may be."""
    if p.arrivals != "stepping" or not is_positive(p.step_cap_s, p.day_s):
        return
    n_steps = n_task_types * (p.warm_up_s + p.days * p.day_s) / p.step_cap_s
    if n_steps > MAX_TASKS:
        found = f"found {p.step_cap_s:g} s, which makes {n_steps:,.0f} tasks or more"
        allowed = f"task types x (warm-up + days) / step_cap may be up to {MAX_TASKS:,}"
        yield Problem("workload.step_cap", found, allowed, "raise step_cap")

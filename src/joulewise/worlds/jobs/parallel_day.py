"""Parallel jobs that arrive over a day, large ones in work hours, the others sinusoidally (Machovec IV.B)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import Workload
from joulewise.model.arrays import Bools, Codes, Floats, Ints
from joulewise.model.clusters import ClusterSystem, JobTypes, TypeTraits
from joulewise.model.jobs import Jobs
from joulewise.rng import generator
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative
from joulewise.worlds.rates import AMPLITUDE, CYCLES_PER_DAY, MAX_TASKS, RatePatterns, thin
from joulewise.worlds.utilities import Levels, UtilityParameters, workload_of_times

_HOUR_S = 3600.0
_DAY_S = 24 * _HOUR_S


FEWEST_JOBS = 25
"""With fewer expected, one trial in a thousand million would have no job at all, and fail."""


@dataclass(frozen=True)
class ParallelDayParameters:
    """How many jobs arrive when, and how their worth falls; the defaults are the published ones.

    Raises InputError with every problem found.
    """

    jobs_per_day: float = explained(5000.0, "expected number of jobs that arrive in a day, of each type as many")
    warm_up_s: float = explained(4 * _HOUR_S, "time before the counted days, at the same rates")
    days: int = explained(1, "number of counted days, from midnight on, all with the same rates")
    large_cores: int = explained(4096, "jobs of more cores arrive more often in work hours, the others sinusoidally")
    work_hours: tuple[float, float] = explained((9.0, 18.0), "hours of the day between which more large jobs arrive")
    work_rate: float = explained(
        2.0, "rate of large jobs in work hours over their mean rate; in other hours it is what keeps the mean"
    )
    decay_per_min: tuple[float, ...] = explained(
        (0.6, 0.2, 0.1, 0.01), "decay rate of extreme, high, medium and low urgency, per minute"
    )
    first_interval: tuple[float, ...] = explained(
        (0.8, 0.9, 1.0, 1.1),
        "how long the utility stays at its maximum, by urgency, in mean execution times of the job type over clusters",
    )
    utility_classes: tuple[str, ...] = explained(("A", "B", "C", "D"), "the utility classes that occur, each as often")
    class_variations: int = explained(
        5,
        "number of variations that take the place of each utility class, always the same ones; 0: the classes "
        "themselves",
    )

    def __post_init__(self) -> None:
        raise_if_any(_problems(self))
        _ = self.utilities

    @property
    def utilities(self) -> UtilityParameters:
        """The parameters of the utility functions; InputError when there is a problem in them."""
        return UtilityParameters(
            decay_per_min=self.decay_per_min,
            first_interval=self.first_interval,
            utility_classes=self.utility_classes,
            class_variations=self.class_variations,
        )

    @property
    def n_jobs(self) -> float:
        """Expected number of jobs, those of the warm-up included."""
        return self.jobs_per_day * (self.days + self.warm_up_s / _DAY_S)

    @property
    def end_s(self) -> float:
        """The end of the last counted day."""
        return self.warm_up_s + self.days * _DAY_S


def generate_parallel_day(parameters: ParallelDayParameters, system: ClusterSystem, seed: int, trial: int) -> Jobs:
    """The jobs of one trial, by arrival, then type; more counted days change nothing of those before them.

    InputError when nothing is known of what jobs of the system's types are worth.
    """
    if system.traits is None:
        found = 'found "parallel-day", but the system says nothing of what its jobs are worth'
        raise InputError(Problem("workload.generator", found, 'needs the system generator "clusters"'))
    patterns = _patterns(parameters, system.traits.cores > parameters.large_cores, seed, trial)
    arrivals = [_arrivals_of_day(parameters, patterns, day, seed, trial) for day in range(parameters.days)]
    job_type, arrival_s = (np.concatenate(column) for column in zip(*arrivals, strict=True))
    stream = generator(seed, trial, "jobs.utility class")
    classes = stream.integers(len(parameters.utilities.intervals), size=arrival_s.size, dtype=np.int8)
    return Jobs(_workload(parameters, system, system.traits, job_type, arrival_s, classes))


def _arrivals_of_day(
    p: ParallelDayParameters, patterns: RatePatterns, day: int, seed: int, trial: int
) -> tuple[Ints, Floats]:
    """Types and instants of the arrivals of one counted day, the first with the warm-up, in order of arrival."""
    start_s = p.warm_up_s + day * _DAY_S if day else 0.0
    stream = generator(seed, trial, "jobs.arrivals", day)
    job_type, arrival_s = thin(patterns, start_s, p.warm_up_s + (day + 1) * _DAY_S, stream)
    order = np.lexsort((job_type, arrival_s))
    return job_type[order], arrival_s[order]


def _patterns(p: ParallelDayParameters, is_large: Bools, seed: int, trial: int) -> RatePatterns:
    """The rates of all types: of mean 1 over a day, large types with steps, the others with a sine."""
    stream = generator(seed, trial, "jobs.rates")
    n = is_large.size
    amplitude = np.where(is_large, 0.0, stream.uniform(*AMPLITUDE, n))
    cycles = stream.integers(*CYCLES_PER_DAY, n, endpoint=True).astype(np.float64)
    phase = stream.uniform(0, 2 * math.pi, n)
    start_s, factor = _work_steps(p)
    steps = np.where(is_large[:, None], factor, 1.0).ravel()
    step_type = np.repeat(np.arange(n, dtype=np.int32), start_s.size)
    mean_per_s = np.full(n, p.jobs_per_day / n / _DAY_S)
    return RatePatterns(_DAY_S, mean_per_s, amplitude, cycles, phase, step_type, np.tile(start_s, n), steps)


def _work_steps(p: ParallelDayParameters) -> tuple[Floats, Floats]:
    """When the rate of large jobs changes, in seconds of the simulated clock modulo a day from 0 on, and to what.

    The warm-up ends at midnight.
    """
    begin_s, end_s = (hour * _HOUR_S for hour in p.work_hours)
    length_s = end_s - begin_s
    low = (_DAY_S - p.work_rate * length_s) / (_DAY_S - length_s)
    from_midnight_s = np.unique(np.mod([0.0, p.warm_up_s + begin_s, p.warm_up_s + end_s], _DAY_S))
    clock_s = np.mod(from_midnight_s - p.warm_up_s, _DAY_S)
    return from_midnight_s, np.where((clock_s >= begin_s) & (clock_s < end_s), p.work_rate, low)


def _workload(
    p: ParallelDayParameters,
    system: ClusterSystem,
    traits: TypeTraits,
    job_type: Ints,
    arrival_s: Floats,
    classes: Codes,
) -> Workload:
    """The jobs with what they are worth: their types say how much, and how urgent they are."""
    levels = Levels(traits.priority[job_type], traits.urgency[job_type], classes)
    mean_s = mean_times_s(system.types)[job_type]
    work = workload_of_times(arrival_s, job_type, levels, mean_s, p.utilities, p.warm_up_s, p.end_s)
    return replace(work, scale=traits.utility[job_type], is_prorated=True)


def mean_times_s(types: JobTypes) -> Floats:
    """The mean execution time of each type over its options in P-state 0; NaN where it has none."""
    is_fastest = types.pstate == 0
    job_type = types.of_option[is_fastest]
    total_s = np.bincount(job_type, types.time_s[is_fastest], types.n_types)
    n_options = np.bincount(job_type, minlength=types.n_types)
    return np.asarray(np.divide(total_s, n_options, out=np.full(types.n_types, np.nan), where=n_options > 0))


def _problems(p: ParallelDayParameters) -> Iterator[Problem]:
    begin, end = p.work_hours
    most_rate = 24 / (end - begin) if 0 <= begin < end < 24 else math.inf
    rules = (
        ("jobs_per_day", p.jobs_per_day >= FEWEST_JOBS, f"must be {FEWEST_JOBS} or more: a day needs a job"),
        ("jobs_per_day", p.n_jobs <= MAX_TASKS, f"there may be up to {MAX_TASKS:,} jobs, warm-up included"),
        ("warm_up_s", is_not_negative(p.warm_up_s), "must be 0 s or more"),
        ("days", p.days >= 1, "must be 1 or more"),
        ("large_cores", p.large_cores >= 0, "must be 0 or more"),
        ("work_hours", 0 <= begin < end <= 24 and end - begin < 24, "must be two hours of a day, the first one first"),
        (
            "work_rate",
            0 <= p.work_rate <= most_rate,
            f"must be from 0 to {most_rate:.3g}: no hour can have less than 0",
        ),
    )
    yield from broken_rules("workload", p, rules)

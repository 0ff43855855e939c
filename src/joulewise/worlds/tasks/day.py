"""Tasks that arrive over a day, and what they are worth (Friese 2.6.4, app. F)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from joulewise.errors import Problem, raise_if_any, unknown_name
from joulewise.model import System, Workload
from joulewise.model.arrays import Codes, Floats, Ints
from joulewise.rng import generator
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative, is_positive
from joulewise.worlds.rates import (
    MAX_TASKS,
    Burst,
    DailyLoad,
    RatePatterns,
    is_special,
    rate_patterns,
    step_along,
    thin,
)
from joulewise.worlds.tasks.truth import TruthParameters, truth_problems, truth_stream, with_truth
from joulewise.worlds.utilities import (
    Levels,
    UtilityParameters,
    draw_levels,
    utility_problems,
    with_rise,
    workload_of_levels,
)

Arrivals = Literal["thinning", "stepping"]


FEWEST_TASKS = 25
"""With fewer expected, one trial in a thousand million would have no task at all, and fail."""

_HOUR_S = 3600.0
HOURS = 24


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
        "normalised",
        "bursts of special-purpose types: averaging to the type's mean rate, or by the published factors, and all "
        "types scaled to the number of tasks",
    )
    arrivals: Arrivals = explained(
        "thinning", "exact arrivals at the rates, or published steps (which lose some arrivals)"
    )
    utility_by_hour: tuple[float, ...] = explained(
        (), "factor of the utility of tasks that arrive in each of the 24 hours of a counted day; left out: none"
    )
    rising_share: float = explained(
        0.0, "share of the tasks, drawn at random, whose utility first rises evenly from 0 to its maximum", late=True
    )
    rise: float = explained(2.0, "how long it rises, in mean execution times of the task type", late=True)
    step_cap_s: float = explained(24 * _HOUR_S / 50, 'longest interarrival time when arrivals = "stepping"')

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *truth_problems(self), *_arrival_problems(self)))

    @property
    def n_tasks(self) -> float:
        """Expected number of tasks, those of the warm-up included."""
        return self.tasks_per_day * (self.days + self.warm_up_s / self.day_s)


def generate_workload(parameters: WorkloadParameters, system: System, seed: int, trial: int) -> Workload:
    """The workload of one trial: tasks sorted by arrival, then task type, tagged with their levels.

    Task types that a machine type of the group "special" can run arrive in bursts, the others sinusoidally.
    """
    days = zip(*_tasks_by_day(parameters, system, seed, trial), strict=True)
    arrival_s, task_type, *levels = (np.concatenate(column) for column in days)
    window_s = (parameters.warm_up_s, parameters.warm_up_s + parameters.days * parameters.day_s)
    workload = workload_of_levels(arrival_s, task_type, Levels(*levels), system, parameters, *window_s)
    workload = _rising(_by_hour(workload, parameters), system, parameters, _rise_stream(seed, trial))
    return with_truth(workload, parameters, truth_stream(seed, trial))


def generate_days(parameters: WorkloadParameters, system: System, seed: int, trial: int) -> Iterator[Workload]:
    """The same tasks as `generate_workload` has, day by day: each counted day is the window of a workload of its own.

    The first one has the warm-up before it. Only the day asked for is in memory.
    """
    rises, truth = _rise_stream(seed, trial), truth_stream(seed, trial)
    for day, (arrival_s, task_type, *levels) in enumerate(_tasks_by_day(parameters, system, seed, trial)):
        window_s = (parameters.warm_up_s + day * parameters.day_s, parameters.warm_up_s + (day + 1) * parameters.day_s)
        workload = workload_of_levels(arrival_s, task_type, Levels(*levels), system, parameters, *window_s)
        workload = _rising(_by_hour(workload, parameters), system, parameters, rises)
        yield with_truth(workload, parameters, truth)


def day_patterns(parameters: WorkloadParameters, system: System, seed: int, trial: int) -> RatePatterns:
    """The rates at which tasks of each type arrive in a trial."""
    load = DailyLoad(parameters.tasks_per_day, parameters.day_s, parameters.burst)
    return rate_patterns(load, is_special(system), generator(seed, trial, "workload.rates"))


def _by_hour(workload: Workload, parameters: WorkloadParameters) -> Workload:
    """The workload with each task worth as much more, or less, as the hour at which it arrives says.

    Hours are parts of a counted day, of which the first one starts with it; the warm-up belongs to the days before.
    """
    if not parameters.utility_by_hour:
        return workload
    days = (workload.arrival_s - parameters.warm_up_s) / parameters.day_s
    hour = np.floor(HOURS * (days % 1.0)).astype(np.int64) % HOURS
    return replace(workload, scale=workload.scale * np.array(parameters.utility_by_hour)[hour])


def _rise_stream(seed: int, trial: int) -> np.random.Generator:
    """The random numbers of a trial that say which tasks rise, for all of them in their order."""
    return generator(seed, trial, "workload.rise")


def _rising(
    workload: Workload, system: System, parameters: WorkloadParameters, stream: np.random.Generator
) -> Workload:
    """The workload with a share of tasks whose utility rises first; the first interval follows the rise."""
    if parameters.rising_share == 0:
        return workload
    rises = stream.random(workload.n_tasks) < parameters.rising_share
    return with_rise(workload, parameters.rise * np.where(rises, system.mean_etc_s[workload.task_type], 0.0))


def _tasks_by_day(
    parameters: WorkloadParameters, system: System, seed: int, trial: int
) -> Iterator[tuple[Floats, Ints, Codes, Codes, Codes]]:
    """Arrivals, task types and levels of each day."""
    patterns = day_patterns(parameters, system, seed, trial)
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


def _arrival_problems(p: WorkloadParameters) -> Iterator[Problem]:
    n_tasks = p.n_tasks if is_positive(p.day_s) else 0.0
    rules = (
        ("tasks_per_day", p.tasks_per_day >= FEWEST_TASKS, f"must be {FEWEST_TASKS} or more: a day needs a task"),
        ("tasks_per_day", n_tasks <= MAX_TASKS, f"there may be up to {MAX_TASKS:,} tasks, warm-up included"),
        ("warm_up_s", is_not_negative(p.warm_up_s), "must be 0 s or more"),
        ("day_s", is_positive(p.day_s), "must be above 0 s"),
        ("days", p.days >= 1, "must be 1 or more"),
        ("utility_by_hour", len(p.utility_by_hour) in (0, HOURS), f"must be {HOURS} values, one for each hour"),
        ("utility_by_hour", is_positive(*p.utility_by_hour), "must be above 0"),
        ("rising_share", 0 <= p.rising_share <= 1, "must be a share of the tasks, from 0 to 1"),
        (
            "rising_share",
            p.rising_share == 0 or not p.prorated,
            "must be 0 where runs are prorated",
        ),
        ("rise", is_not_negative(p.rise), "must be 0 or more mean execution times"),
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

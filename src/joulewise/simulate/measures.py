"""What a run achieved, as flat numbers with units in their names."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from joulewise.model.allocation import Allocation, Status
from joulewise.model.arrays import Bools, Floats
from joulewise.model.world import World
from joulewise.simulate.power import Draws, lost_draws, run_draws, standby_draws
from joulewise.simulate.serial import Outcome

PRIORITY = "priority"
"""The tag whose levels have their own shares of utility."""

EXHAUSTED = 0.99
"""Energy counts as used up from this part of a day's budget on; the rest may be too little for any task."""

Metrics = dict[str, float | int]


def earned_utility(world: World, allocation: Allocation) -> Floats:
    """What each task earned in the counted window.

    That is all of its utility if it completed there; when prorated, the part of it that its run had there.
    """
    work, earned = world.workload, np.zeros(allocation.n_tasks)
    if work.is_prorated:
        done = np.flatnonzero(allocation.ran)
        share = counted_s(world, allocation)[done] / (allocation.end_s[done] - allocation.start_s[done])
    else:
        done = np.flatnonzero(allocation.ran & work.in_window(allocation.end_s))
        share = np.ones(done.size)
    earned[done] = share * work.utility(done, allocation.end_s[done])
    return earned


def counted_s(world: World, allocation: Allocation) -> Floats:
    """The seconds of each task's run that lie in the counted window; 0 for a task that did not run."""
    return np.where(allocation.used, _inside_s(world, allocation.start_s, allocation.end_s), 0.0)


def used_energy_j(world: World, allocation: Allocation) -> Floats:
    """The energy of each task's run inside the counted window, at the meter; NaN without power figures.

    Runs that were lost are not in it.
    """
    return run_draws(world, allocation).power_w * counted_s(world, allocation)


def window_end_s(world: World, allocation: Allocation) -> float:
    """When the counted window ends; one without an end is over with the last run, or arrival."""
    if math.isfinite(world.workload.end_s):
        return world.workload.end_s
    ends_s = np.concatenate((allocation.end_s[allocation.used], allocation.lost.end_s))
    return float(ends_s.max(initial=world.workload.arrival_s[-1]))


def all_draws(world: World, allocation: Allocation) -> Draws:
    """Everything that was drawn in the counted window, by runs, lost runs and machines without a run."""
    return _together(world, allocation, *_draws(world, allocation))


def budget_until_j(world: World, at_s: Floats, last_s: float) -> Floats:
    """The budget of all counted days up to those of these instants, in a window that ends at `last_s`."""
    supply = world.supply
    n_days = np.maximum(np.ceil((at_s - world.workload.start_s) / supply.day_s), 1.0)
    day_j = supply.budget_j / _n_days(world, last_s) if supply.is_total else supply.budget_j
    return np.asarray(n_days * day_j)


def measures(world: World, outcome: Outcome) -> Metrics:
    """The metrics of a run over the counted window; tasks are counted by the window they arrive in.

    NaN stands for what is not there, such as energy in a system without power figures. Machine groups and levels of
    priority have metrics of their own, named after them.
    """
    allocation, work = outcome.allocation, world.workload
    arrived = work.in_window(work.arrival_s) | (work.arrival_s == work.start_s)
    done = allocation.ran & work.in_window(allocation.end_s)
    earned = earned_utility(world, allocation)
    counted = {
        "tasks_arrived": arrived,
        "tasks_completed": done,
        **{
            f"tasks_{status.name.lower()}": arrived & (allocation.status == status)
            for status in (Status.DROPPED, Status.KILLED, Status.WAITING)
        },
    }
    return {
        "utility": float(earned.sum()),
        **{name: int(tasks.sum()) for name, tasks in counted.items()},
        "runs_lost": int(work.in_window(allocation.lost.end_s).sum()),
        **_of_energy(world, allocation),
        **_of_machine_time(world, allocation),
        "mapping_events": outcome.n_counted_events,
        "late_events": outcome.n_late_events,
        "mapping_s": outcome.mapping_s,
        **_of_priorities(world, earned, counted),
        **_of_groups(world, allocation, earned),
    }


def _of_energy(world: World, allocation: Allocation) -> Metrics:
    """Energy at the meter: what was used, of which budget, how evenly and at what cost."""
    names = (
        "energy_j",
        "standby_energy_j",
        "energy_peak_w",
        "energy_cost",
        "budget_j",
        "budget_percent",
        "exhausted_s",
    )
    if world.system.power_w is None:
        return dict.fromkeys(names, math.nan)
    runs, lost, standby = _draws(world, allocation)
    draws = _together(world, allocation, runs, lost, standby)
    last_s = window_end_s(world, allocation)
    energy_j, budget_j = float(draws.energy_j.sum()), _budget_j(world, last_s)
    values = (
        energy_j,
        float(_together(world, allocation, standby).energy_j.sum()),
        draws.peak_w,
        draws.cost(world.supply),
        budget_j,
        100 * energy_j / budget_j,
        _exhausted_at_s(world, draws, last_s),
    )
    return dict(zip(names, values, strict=True))


def _of_machine_time(world: World, allocation: Allocation) -> Metrics:
    """What machines did with their time: a run, or nothing; the rest of it they were down."""
    lost, outages = allocation.lost, world.outages
    last_s = window_end_s(world, allocation)
    machine_s = world.system.n_machines * max(last_s - world.workload.start_s, np.finfo(float).tiny)
    busy_s = counted_s(world, allocation).sum() + _inside_s(world, lost.start_s, lost.end_s).sum()
    down_s = _inside_s(world, outages.start_s, np.minimum(outages.end_s, last_s)).sum()
    return {
        "busy_percent": 100 * float(busy_s / machine_s),
        "idle_percent": 100 * float((machine_s - busy_s - down_s) / machine_s),
    }


def _of_priorities(world: World, earned: Floats, counted: Mapping[str, Bools]) -> Metrics:
    """The tasks of each level that are counted, and how much of what they would be worth at their start was earned."""
    tag = world.workload.tags.get(PRIORITY)
    if tag is None:
        return {}
    most = np.bincount(tag.codes, np.where(counted["tasks_arrived"], world.workload.scale, 0.0), len(tag.names))
    found = np.bincount(tag.codes, earned, len(tag.names))
    numbers = {metric: np.bincount(tag.codes[tasks], minlength=len(tag.names)) for metric, tasks in counted.items()}
    return {
        **{
            f"{metric}:{name}": int(number[i]) for metric, number in numbers.items() for i, name in enumerate(tag.names)
        },
        **{
            f"priority_percent:{name}": 100 * float(part / whole) if whole > 0 else math.nan
            for name, part, whole in zip(tag.names, found, most, strict=True)
        },
    }


def _of_groups(world: World, allocation: Allocation, earned: Floats) -> Metrics:
    """The part of the utility that was earned on the machines of each group."""
    total, groups = float(earned.sum()), world.system.machine_group
    by_type = np.bincount(
        world.system.machine_type[allocation.machine[allocation.ran]], earned[allocation.ran], len(groups)
    )
    return {
        f"group_percent:{group}": 100 * float(by_type[np.array(groups) == group].sum()) / total if total else math.nan
        for group in dict.fromkeys(groups)
    }


def _draws(world: World, allocation: Allocation) -> tuple[Draws, Draws, Draws]:
    return run_draws(world, allocation), lost_draws(world, allocation), standby_draws(world, allocation)


def _together(world: World, allocation: Allocation, *parts: Draws) -> Draws:
    """What of several draws lies in the counted window."""
    columns = zip(*((part.start_s, part.end_s, part.power_w) for part in parts), strict=True)
    draws = Draws(*(np.concatenate(column) for column in columns))
    return draws.within(world.workload.start_s, window_end_s(world, allocation))


def _n_days(world: World, last_s: float) -> int:
    """How many days the counted window has, a day that is cut counted as one."""
    return max(1, math.ceil((last_s - world.workload.start_s) / world.supply.day_s))


def _budget_j(world: World, last_s: float) -> float:
    """The budget of all counted days together; NaN without one."""
    budget_j = float(budget_until_j(world, np.asarray(last_s), last_s))
    return budget_j if math.isfinite(budget_j) else math.nan


def _exhausted_at_s(world: World, draws: Draws, last_s: float) -> float:
    """When the first counted day had used up its budget; NaN if it never had."""
    start_s = world.workload.start_s
    day_j = float(budget_until_j(world, np.asarray(start_s), last_s))
    return draws.within(start_s, start_s + world.supply.day_s).reached_at_s(EXHAUSTED * day_j)


def _inside_s(world: World, start_s: Floats, end_s: Floats) -> Floats:
    """How many seconds of intervals lie in the counted window."""
    work = world.workload
    return np.asarray(np.maximum(np.minimum(end_s, work.end_s) - np.maximum(start_s, work.start_s), 0.0))

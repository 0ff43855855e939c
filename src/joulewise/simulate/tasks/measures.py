"""What a run achieved, as flat numbers with units in their names."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from joulewise.model.allocation import Allocation, Status
from joulewise.model.arrays import Bools, Floats
from joulewise.model.world import World
from joulewise.simulate import meter
from joulewise.simulate.meter import Metrics
from joulewise.simulate.power import Draws, broken_draws, run_draws, standby_draws
from joulewise.simulate.tasks.serial import Outcome

PRIORITY = "priority"
"""The tag whose levels have their own shares of utility."""


def earned_utility(world: World, allocation: Allocation) -> Floats:
    """What each task earned in the counted window.

    That is all of its utility if it completed there; when prorated, the part of it that its running had there, without
    what was lost.
    """
    work, earned = world.workload, np.zeros(allocation.n_tasks)
    if work.is_prorated:
        done, pieces = np.flatnonzero(allocation.ran), allocation.pieces
        whole_s = allocation.end_s - allocation.start_s
        np.add.at(whole_s, pieces.task, pieces.end_s - pieces.start_s)
        share = counted_s(world, allocation)[done] / whole_s[done]
    else:
        done = np.flatnonzero(allocation.ran & work.in_window(allocation.end_s))
        share = np.ones(done.size)
    earned[done] = share * work.utility(done, allocation.end_s[done])
    return earned


def counted_s(world: World, allocation: Allocation) -> Floats:
    """The seconds of each task's running that lie in the counted window, without what was lost; 0 if it did not run."""
    work, pieces = world.workload, allocation.pieces
    inside_s = np.where(allocation.used, meter.inside_s(work, allocation.start_s, allocation.end_s), 0.0)
    np.add.at(inside_s, pieces.task, meter.inside_s(work, pieces.start_s, pieces.end_s))
    return inside_s


def used_energy_j(world: World, allocation: Allocation) -> Floats:
    """The energy of each task's running inside the counted window, at the meter; NaN without power figures.

    Runs that were lost are not in it; all stretches of a task that was suspended are, which are of one power.
    """
    return run_draws(world, allocation).power_w * counted_s(world, allocation)


def window_end_s(world: World, allocation: Allocation) -> float:
    """When the counted window ends; one without an end is over with the last run, or arrival."""
    if math.isfinite(world.workload.end_s):
        return world.workload.end_s
    ends_s = np.concatenate((allocation.end_s[allocation.used], allocation.lost.end_s))
    return float(ends_s.max(initial=world.workload.arrival_s[-1]))


def all_draws(world: World, allocation: Allocation) -> Draws:
    """Everything that was drawn in the counted window, by runs, broken runs and machines without a run."""
    return meter.together(world.workload, window_end_s(world, allocation), *_draws(world, allocation))


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
        **_of_pieces(world, allocation),
        **(energies := _of_energy(world, allocation)),
        **_of_machine_time(world, allocation, energies["exhausted_s"]),
        "mapping_events": outcome.n_counted_events,
        "late_events": outcome.n_late_events,
        "mapping_s": outcome.mapping_s,
        **_of_priorities(world, earned, counted),
        **_of_groups(world, allocation, earned),
    }


def _of_pieces(world: World, allocation: Allocation) -> Metrics:
    """How many runs were suspended, if any were."""
    n_preempted = int(world.workload.in_window(allocation.pieces.end_s).sum())
    return {"runs_preempted": n_preempted} if n_preempted else {}


def _of_energy(world: World, allocation: Allocation) -> Metrics:
    """Energy at the meter: what was used, of which budget, how evenly and at what cost."""
    if world.system.power_w is None:
        return dict.fromkeys(meter.NAMES, math.nan)
    runs, broken, standby = _draws(world, allocation)
    last_s = window_end_s(world, allocation)
    return {**meter.energy_measures(world.workload, world.supply, meter.joined(runs, broken), standby, last_s)}


def _of_machine_time(world: World, allocation: Allocation, exhausted_s: float) -> Metrics:
    """What machines did with their time: a run, or nothing; the rest of it they were down."""
    last_s = window_end_s(world, allocation)
    busy, idle = _busy_and_idle(world, allocation, last_s)
    _, idle_with_energy = _busy_and_idle(world, allocation, last_s if math.isnan(exhausted_s) else exhausted_s)
    return {
        "busy_percent": 100 * busy,
        "idle_percent": 100 * idle,
        "idle_with_energy_percent": 100 * idle_with_energy,
    }


def _busy_and_idle(world: World, allocation: Allocation, until_s: float) -> tuple[float, float]:
    """The parts of machine time with a run and without one, from the start of the counted window to an instant."""
    work = world.workload
    runs_s, broken_s, down_s = (
        meter.inside_s(work, spans.start_s, np.minimum(spans.end_s, until_s))
        for spans in (allocation, allocation.broken, world.outages)
    )
    machine_s = world.system.n_machines * max(until_s - work.start_s, np.finfo(float).tiny)
    busy_s = np.where(allocation.used, runs_s, 0.0).sum() + broken_s.sum()
    return float(busy_s / machine_s), float((machine_s - busy_s - down_s.sum()) / machine_s)


def _of_priorities(world: World, earned: Floats, counted: Mapping[str, Bools]) -> Metrics:
    """The tasks of each level that are counted, and how much of what they were worth on arrival was earned."""
    tag = world.workload.tags.get(PRIORITY)
    if tag is None:
        return {}
    most = np.bincount(tag.codes, np.where(counted["tasks_arrived"], world.workload.scale, 0.0), len(tag.names))
    earned_by_level = np.bincount(tag.codes, earned, len(tag.names))
    numbers = {metric: np.bincount(tag.codes[tasks], minlength=len(tag.names)) for metric, tasks in counted.items()}
    return {
        **{
            f"{metric}:{name}": int(number[i]) for metric, number in numbers.items() for i, name in enumerate(tag.names)
        },
        **{
            f"priority_percent:{name}": 100 * float(part / whole) if whole > 0 else math.nan
            for name, part, whole in zip(tag.names, earned_by_level, most, strict=True)
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
    return run_draws(world, allocation), broken_draws(world, allocation), standby_draws(world, allocation)

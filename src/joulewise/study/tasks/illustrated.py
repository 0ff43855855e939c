"""Tables that show a world of tasks: what tasks are worth, when they arrive, and the queues at a mapping event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from joulewise.study.parsing.study import Study
from joulewise.study.spec.source import Draw
from joulewise.study.tasks.sources import MANAGER_SOURCE
from joulewise.worlds.rates import is_special
from joulewise.worlds.tasks.day import WorkloadParameters, day_patterns
from joulewise.worlds.utilities import PRIORITIES, URGENCIES, Levels, workload_of_levels

if TYPE_CHECKING:
    from joulewise.model import Workload, World
    from joulewise.model.arrays import Floats
    from joulewise.simulate.tasks.manager import Manager

EXECUTING, PENDING, VIRTUAL = "executing", "pending", "in the virtual queue"
_HOUR_S, _MINUTE_S = 3600.0, 60.0
_STEP_MIN, _STEP_S = 0.05, 120.0


class ShownDay(NamedTuple):
    """The world and the manager of the first trial of a point, with the parameters and the draw of its tasks."""

    world: World
    manager: Manager
    parameters: WorkloadParameters
    draw: Draw


class TaskLevels(NamedTuple):
    """Priority, urgency and utility class of a task."""

    priority: str
    urgency: str
    utility_class: str


def shown_day(study: Study, variant: str) -> ShownDay:
    """The first trial of the first point of a variant whose workload is a generated day."""
    point = next(point for point in study.points if point.variant == variant)
    draw = Draw(study.heading.seed, 0, study.folder)
    manager = MANAGER_SOURCE.build(point.decision.parameters, draw)
    return ShownDay(study.kind.build_world(point.world, draw), manager, point.workload.parameters, draw)


def level_names(day: ShownDay) -> dict[str, tuple[str, ...]]:
    """What tasks may have of each of their levels, in the order of `TaskLevels`."""
    return {"priority": PRIORITIES, "urgency": URGENCIES, "utility_class": tuple(day.parameters.intervals)}


def utility_curves(day: ShownDay, levels: Sequence[TaskLevels], last_min: float) -> pl.DataFrame:
    """What tasks of the first general-purpose type are worth by minutes since their arrival: `at_min`, `utility`.

    One curve for each of the levels, which are columns as well.
    """
    work = _arrived_together(day, levels)
    at_min = np.arange(0.0, last_min + _STEP_MIN / 2, _STEP_MIN)
    return pl.concat(
        pl.DataFrame({**{name: [value] * at_min.size for name, value in one._asdict().items()},
                      "at_min": at_min, "utility": work.utility(i, _MINUTE_S * at_min)})
        for i, one in enumerate(levels)
    )  # fmt: skip


def interval_starts(day: ShownDay, levels: TaskLevels) -> list[float]:
    """When the intervals of a utility function start, in minutes since the arrival; the first is the hold."""
    work = _arrived_together(day, [levels])
    first, end = work.shapes.first[work.shape[0] : work.shape[0] + 2]
    return [0.0, *((work.hold_s[0] + work.shapes.start_s[first:end]) / _MINUTE_S).tolist()]


def _arrived_together(day: ShownDay, levels: Sequence[TaskLevels]) -> Workload:
    """Tasks of the first general-purpose type with these levels, all arriving at 0 s."""
    columns = zip(level_names(day).values(), zip(*levels, strict=True), strict=True)
    codes = [np.array([names.index(value) for value in column], np.int8) for names, column in columns]
    n, system = len(levels), day.world.system
    task_type = np.full(n, np.flatnonzero(~is_special(system))[0], np.int32)
    return workload_of_levels(np.zeros(n), task_type, Levels(*codes), system, day.parameters)


def arrival_rates(day: ShownDay, n_types: int, *, special: bool) -> pl.DataFrame:
    """The rates of the first task types of a group: `task_type`, `at_h`, `per_h`, and `mean_per_h` of a counted day."""
    system, parameters = day.world.system, day.parameters
    types = np.flatnonzero(is_special(system) == special)[:n_types].astype(np.int32)
    patterns = day_patterns(parameters, system, day.draw.seed, day.draw.trial)
    at_s = np.arange(0.0, day.world.workload.end_s, _STEP_S)
    factor = patterns.factor(types[:, None], at_s[None, :])
    per_h: Floats = _HOUR_S * np.multiply(patterns.mean_per_s[types, None], factor)
    means = per_h[:, at_s >= parameters.warm_up_s].mean(axis=1)
    return pl.concat(
        pl.DataFrame({"task_type": [system.task_types[t]] * at_s.size, "at_h": at_s / _HOUR_S, "per_h": rates,
                      "mean_per_h": np.full(at_s.size, mean)})
        for t, rates, mean in zip(types, per_h, means, strict=True)
    )  # fmt: skip


def arrivals_by_minute(day: ShownDay) -> pl.DataFrame:
    """How many tasks arrive in each minute of the warm-up and the counted day: `at_h`, `n`."""
    work = day.world.workload
    n_minutes = round(work.end_s / _MINUTE_S)
    tasks = np.bincount((work.arrival_s // _MINUTE_S).astype(np.int64), minlength=n_minutes)
    return pl.DataFrame({"at_h": np.arange(n_minutes) / 60, "n": tasks[:n_minutes]})


def queues_at(day: ShownDay, event_s: float) -> pl.DataFrame:
    """What machines have after a mapping event: `machine`, `task`, `start_s` and `end_s` as planned, and `slot`.

    The plan of an event is what becomes of the tasks if nobody arrives after it: where nothing is dropped and values
    only fall with time, later events come to the same plan.
    """
    from joulewise.simulate.tasks.serial import simulate

    arrived = np.flatnonzero(day.world.workload.arrival_s <= event_s)
    world = replace(day.world, workload=replace(day.world.workload.some(arrived), end_s=np.inf))
    plan = simulate(world, day.manager, day.draw.seed, day.draw.trial).allocation
    rows = pl.DataFrame({"machine": plan.machine, "task": arrived, "start_s": plan.start_s, "end_s": plan.end_s})
    queues = rows.filter(pl.col("end_s") > event_s).sort("machine", "start_s")
    started = (pl.col("start_s") <= event_s).sum().over("machine")
    place = pl.int_range(pl.len()).over("machine") - started
    slot = pl.when(place < 0).then(pl.lit(EXECUTING)).when(place == 0).then(pl.lit(PENDING)).otherwise(pl.lit(VIRTUAL))
    return queues.with_columns(slot=slot)

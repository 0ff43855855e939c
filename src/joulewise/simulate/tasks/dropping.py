"""Which tasks are dropped below which utility: one threshold, or one by class of task."""

from __future__ import annotations

import numpy as np

from joulewise.errors import InputError, unknown_name
from joulewise.model.arrays import Bools, Floats
from joulewise.model.world import World
from joulewise.simulate.tasks.manager import Manager

LOAD_WINDOW_S = 3600.0
"""The load is 1 when the work that waits fills all machines for so long."""


def thresholds(world: World, manager: Manager) -> Floats:
    """The utility below which each task is dropped, -inf where nothing is; InputError for an unknown class.

    A task of several classes has the lowest of their thresholds.
    """
    lowest = np.full(world.workload.n_tasks, np.inf)
    for name, of_class in manager.class_thresholds.items():
        members = members_of(world, name)
        lowest[members] = np.minimum(lowest[members], of_class)
    threshold = np.where(np.isinf(lowest), manager.dropping_threshold, lowest)
    return np.where(threshold > 0, threshold, -np.inf)  # a utility of 0 may be rounded to just below it


def load_by_type(world: World) -> Floats:
    """The load that a waiting task is, by its type: its mean execution time over an hour of all machines."""
    return np.asarray(world.system.mean_etc_s / (world.system.n_machines * LOAD_WINDOW_S))


def members_of(world: World, name: str) -> Bools:
    """The tasks of a class: a level of a tag, or the group of the machine type that runs a task fastest."""
    system, work = world.system, world.workload
    for tag in work.tags.values():
        if name in tag.names:
            return np.asarray(tag.codes == tag.names.index(name))
    if name in system.machine_group:
        fastest = np.where(system.counts > 0, system.etc_s[:, :, 0], np.inf).argmin(axis=1)
        in_group = np.array(system.machine_group) == name
        return np.asarray(in_group[fastest][work.task_type])
    levels = [level for tag in work.tags.values() for level in tag.names]
    raise InputError(unknown_name("manager.class_thresholds", name, [*dict.fromkeys(system.machine_group), *levels]))

"""A world as kernels see it, made once per world and number of machine types looked at."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from joulewise.kernels.layout import Options, Tasks, Utilities, pack_options
from joulewise.model.system import System
from joulewise.model.utility import UtilityShapes
from joulewise.model.workload import Workload
from joulewise.model.world import World


class WorldArrays(NamedTuple):
    """The arrays that every kernel takes."""

    tasks: Tasks
    utilities: Utilities
    options: Options


_LAYOUTS: WeakKeyDictionary[World, dict[int | None, WorldArrays]] = WeakKeyDictionary()


def layout_of(world: World, best_types: int | None = None) -> WorldArrays:
    """The world's arrays for kernels; writable copies, so that all worlds look alike to the compiler.

    With `best_types` the options are only those on this many machine types that run a task fastest.
    """
    layouts = _LAYOUTS.setdefault(world, {})
    if best_types not in layouts:
        layouts[best_types] = _make_layout(world) if best_types is None else _restricted(world, best_types)
    return layouts[best_types]


def _restricted(world: World, best_types: int) -> WorldArrays:
    return layout_of(world)._replace(options=_options(world.system, best_types))


def _options(system: System, best_types: int | None) -> Options:
    return pack_options(system.etc_s, system.eec_j, system.best_types(best_types))


def _make_layout(world: World) -> WorldArrays:
    return WorldArrays(tasks_of(world.workload), utilities_of(world.workload.shapes), _options(world.system, None))


def tasks_of(work: Workload) -> Tasks:
    """Tasks, or jobs, as kernels see them."""
    rise_s = np.zeros(work.n_tasks) if work.rise_s is None else work.rise_s.copy()
    kinds = (work.task_type.copy(), work.shape.copy())
    return Tasks(work.arrival_s.copy(), *kinds, work.scale.copy(), work.hold_s.copy(), rise_s)


def utilities_of(shapes: UtilityShapes) -> Utilities:
    """Utility functions as kernels see them."""
    columns = (shapes.start_s, shapes.level, shapes.span, shapes.rate_per_s, shapes.slope_per_s, shapes.floor)
    return Utilities(shapes.first.copy(), np.stack(columns, axis=1))

"""A world as kernels see it, made once per world."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from joulewise.kernels.layout import Options, Tasks, Utilities, pack_options
from joulewise.model.world import World


class Layout(NamedTuple):
    """The arrays that every kernel takes."""

    tasks: Tasks
    utilities: Utilities
    options: Options


_LAYOUTS: WeakKeyDictionary[World, Layout] = WeakKeyDictionary()


def layout_of(world: World) -> Layout:
    """The world's arrays for kernels; writable copies, so that all worlds look alike to the compiler."""
    layout = _LAYOUTS.get(world)
    if layout is None:
        layout = _LAYOUTS[world] = _make_layout(world)
    return layout


def _make_layout(world: World) -> Layout:
    system, work = world.system, world.workload
    shapes = work.shapes
    columns = (shapes.start_s, shapes.level, shapes.span, shapes.rate_per_s, shapes.slope_per_s, shapes.floor)
    return Layout(
        Tasks(work.arrival_s.copy(), work.task_type.copy(), work.shape.copy(), work.scale.copy(), work.hold_s.copy()),
        Utilities(shapes.first.copy(), np.stack(columns, axis=1)),
        pack_options(system.etc_s, system.eec_j, system.counts),
    )

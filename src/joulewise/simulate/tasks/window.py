"""The window through which an agent sees a run: its arrays, and what each entry of what is seen means."""

from __future__ import annotations

from itertools import product

import numpy as np

from joulewise.kernels.heap import empty_heap
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.tasks.state import ManagedWorld
from joulewise.kernels.tasks.window import Window
from joulewise.model.system import System
from joulewise.model.world import World
from joulewise.simulate.window import EVENT, OPTION, PLACE, Meaning, Sight

TYPE = "machine type"

MEANINGS = (
    Meaning("day", EVENT, "the part of the counted window that is over"),
    Meaning("energy", EVENT, "the part of the day's budget that is left; 1 without a budget"),
    Meaning("rest", EVENT, "the part of the budget's day that is left; 1 without a budget"),
    Meaning("waiting", EVENT, "x / (x + 100) of the x tasks that wait"),
    Meaning("open", EVENT, "the part of all machines that take a task now"),
    Meaning("open", TYPE, "the part of the machines of the type that take a task now"),
    Meaning("soon", TYPE, "x / (x + 600 s) of the time x until the first of these is free; 1 if none takes a task"),
    Meaning("there", PLACE, "1 if a task stands in the place, else 0"),
    Meaning("waited", PLACE, "x / (x + 600 s) of the time x that it has waited"),
    Meaning("best", PLACE, "what the best of its choices earns, as a part of the highest scale in trial 0; 1 at most"),
    Meaning("earns", OPTION, "what the choice earns, as the same part; 0 for one that is not allowed"),
    Meaning("time", OPTION, "x / (x + m) of how long it runs, m the mean of all options; 0 likewise"),
    Meaning("uses", OPTION, "x / (x + m) of its energy, m the mean of all options; 0 likewise, 1 without powers"),
)  # fmt: skip
"""In the order of entries: those of the event, then all of each machine type, then of each place its own and those of
each of its options, by machine type and P-state.
"""


def sight_of(system: System) -> Sight:
    """What is seen of a system."""
    options = (f"{kind}, P-state {p}" for kind, p in product(system.machine_types, range(system.n_pstates)))
    return Sight(MEANINGS, TYPE, system.machine_types, tuple(options))


def window_of(world: World, setting: ManagedWorld, n_places: int, *, by_worth: bool, most: float) -> Window:
    """A window on a run that has not begun; `most` is the unit of what is earned."""
    work, options, sight = world.workload, setting.options, sight_of(world.system)
    return Window(
        by_worth,
        empty_heap(work.n_tasks),
        np.full(n_places, NOBODY, np.int64),
        np.full(world.system.n_machine_types, NOBODY, np.int64),
        work.start_s,
        work.end_s,
        world.supply.day_s,
        most,
        float(options.exec_s.mean()),
        float(options.energy_j.mean()),
        np.zeros(sight.n_entries(n_places), np.float32),
        np.zeros(sight.n_choices(n_places), np.int8),
    )

"""The window through which an agent sees a run: its arrays, and what each entry of what is seen means."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from joulewise.kernels.heap import empty_heap
from joulewise.kernels.layout import NOBODY
from joulewise.kernels.tasks.state import ManagedWorld
from joulewise.kernels.tasks.window import Window
from joulewise.model.system import System
from joulewise.model.world import World

EVENT, TYPE, PLACE, OPTION = "event", "machine type", "place", "option"


class Meaning(NamedTuple):
    """What an entry of what is seen says, of which there is one `per` event, machine type, place or option."""

    name: str
    per: str
    text: str


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
    Meaning("best", PLACE, "the most that one of its choices earns, as a part of the highest scale of a task"),
    Meaning("earns", OPTION, "what the choice earns, as a part of the highest scale; 0 for one that is not allowed"),
    Meaning("time", OPTION, "x / (x + m) of how long it runs, m the mean of all options; 0 likewise"),
    Meaning("uses", OPTION, "x / (x + m) of its energy, m the mean of all options; 0 likewise, 1 without powers"),
)  # fmt: skip
"""In the order of entries: those of the event, then all of each machine type, then of each place its own and those of
each of its options, by machine type and P-state.
"""


def entries(system: System, n_places: int) -> Iterator[str]:
    """The name of each entry, in order."""
    yield from (meaning.name for meaning in MEANINGS if meaning.per == EVENT)
    yield from (
        f"{kind}: {meaning.name}" for kind in system.machine_types for meaning in MEANINGS if meaning.per == TYPE
    )
    options = [f"{kind}, P-state {p}" for kind, p in product(system.machine_types, range(system.n_pstates))]
    for place in range(n_places):
        yield from (f"place {place}: {meaning.name}" for meaning in MEANINGS if meaning.per == PLACE)
        yield from (
            f"place {place}, {o}: {meaning.name}" for o in options for meaning in MEANINGS if meaning.per == OPTION
        )


def n_entries(system: System, n_places: int) -> int:
    """How many entries there are."""
    return sum(1 for _ in entries(system, n_places))


def n_choices(system: System, n_places: int) -> int:
    """How many choices there are, with that to close the event."""
    return n_places * system.n_machine_types * system.n_pstates + 1


def window_of(world: World, setting: ManagedWorld, n_places: int, *, by_worth: bool) -> Window:
    """A window on a run that has not begun."""
    work, options = world.workload, setting.options
    return Window(
        by_worth,
        empty_heap(work.n_tasks),
        np.full(n_places, NOBODY, np.int64),
        np.full(world.system.n_machine_types, NOBODY, np.int64),
        work.start_s,
        work.end_s,
        world.supply.day_s,
        float(work.scale.max()) or 1.0,
        float(options.exec_s.mean()),
        float(options.energy_j.mean()),
        np.zeros(n_entries(world.system, n_places), np.float32),
        np.zeros(n_choices(world.system, n_places), np.int8),
    )

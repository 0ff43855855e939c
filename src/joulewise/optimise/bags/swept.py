"""The bound of a bag by our own sweep: the bag as the kernel wants it, room to work in, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from joulewise.errors import JoulewiseError
from joulewise.kernels.bags.sweep import FULL, BagChoices, Step, SweepPrices, Vertices, sweep
from joulewise.kernels.linear import REASONS, SOLVED, Basis, new_basis
from joulewise.model.arrays import Counts, Floats
from joulewise.model.bag import Bag

_sweep: Any = sweep
_LIKE_VERTICES = ("weight_w", "extra_j", "makespan_s", "task_type", "column", "value", "price", "n_switches")


class GaveUpError(JoulewiseError):
    """The sweep could not go on with the accuracy it has."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the sweep gave up on this bag: {reason}; engine 'highs' or 'auto' will do it")
        self.reason = reason

    def __reduce__(self) -> tuple[type[GaveUpError], tuple[str]]:
        return (type(self), (self.reason,))


@dataclass(frozen=True, eq=False)
class Swept:
    """The vertices of a bag as the sweep leaves them."""

    choices: BagChoices
    vertices: Vertices

    def split(self, vertex: int) -> Floats:
        """Tasks of each [task type, column]: inside columns as they are, the rest with the key."""
        vertices, n = self.vertices, int(self.vertices.n_switches[vertex])
        key = vertices.first_key.copy()
        key[vertices.switched[:n]] = vertices.switched_to[:n]
        inside = vertices.task_type[vertex] >= 0
        task_type, column = vertices.task_type[vertex][inside], vertices.column[vertex][inside]
        value = vertices.value[vertex][inside]
        left = self.choices.n_tasks - np.bincount(task_type, value, key.size)
        split, present = np.zeros(self.choices.exec_s.shape), self.choices.present
        split[present, key[present]] = np.maximum(left[present], 0.0)
        split[task_type, column] += value
        return split


def sweep_bag(bag: Bag, extra_j: Floats, until_w: float) -> Swept:
    """All vertices up to a weight, with these costs of [task type, column]; GaveUpError where accuracy was lost."""
    choices, room, end = _choices(bag, extra_j), 4 * (bag.counts.size + bag.system.n_machine_types), FULL
    while end == FULL:
        room *= 4
        vertices = _room_for(choices, room)
        n, end = _sweep(choices, *_workplace(choices), vertices, until_w)
    if end != SOLVED:
        raise GaveUpError(REASONS[end])
    return Swept(choices, _cut_to(vertices, n))


def time_s(bag: Bag) -> Floats:
    """Execution time of each choice, 0 where it cannot be made."""
    return np.where(np.isfinite(bag.exec_s), bag.exec_s, 0.0)


def _choices(bag: Bag, extra_j: Floats) -> BagChoices:
    """The bag as the sweep wants it."""
    machine_type = np.repeat(np.arange(bag.system.n_machine_types), bag.system.n_pstates)
    n_machines, n_tasks = bag.system.counts.astype(np.float64), bag.counts.astype(np.float64)
    costs = np.array(extra_j)  # the kernel is compiled for arrays that can be written
    return BagChoices(
        time_s(bag).reshape(costs.shape), costs, machine_type, n_machines, n_tasks, np.flatnonzero(n_tasks)
    )


def _workplace(choices: BagChoices) -> tuple[Basis, SweepPrices, Step]:
    """Room for the sweep to work in."""
    (n_types, n_columns), n = choices.exec_s.shape, choices.n_machines.size
    prices = SweepPrices(np.empty(n), np.empty(n), np.empty(n_columns), np.empty(n_columns))
    return new_basis(n_types, n), prices, Step(np.empty(n), _ints(n + 1), np.empty(n + 1), np.empty(n), np.empty(n))


def _room_for(choices: BagChoices, room: int) -> Vertices:
    """Room for this many vertices."""
    n_types, n = choices.n_tasks.size, choices.n_machines.size
    return Vertices(
        weight_w=np.empty(room), extra_j=np.empty(room), makespan_s=np.empty(room), task_type=_ints(room, n),
        column=_ints(room, n), value=np.empty((room, n)), price=np.empty((room, n)), n_switches=_ints(room),
        first_key=_ints(n_types), switched=_ints(room), switched_to=_ints(room), last_slope=np.empty(n),
    )  # fmt: skip


def _cut_to(vertices: Vertices, n: int) -> Vertices:
    """The first n vertices, without the room for more."""
    n_switches = int(vertices.n_switches[n - 1])
    fields = vertices._asdict()
    cut = {name: fields[name][:n] for name in _LIKE_VERTICES}
    return vertices._replace(
        **cut, switched=vertices.switched[:n_switches], switched_to=vertices.switched_to[:n_switches]
    )


def _ints(*shape: int) -> Counts:
    return np.empty(shape, np.int64)

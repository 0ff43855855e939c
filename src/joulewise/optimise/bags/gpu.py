"""Bags on a GPU: chromosomes are weighed in whole ticks, so points are those of cores to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.bags.genes import BagFacts
from joulewise.optimise.gpu import GpuPool, compiled, int32, shared_bytes

_WEIGHING = 256
_TICK_BYTES = 8


class BagEvaluator:
    """The facts of one bag on the GPU. Raises InputError for more machines than one block can count for."""

    def __init__(self, facts: BagFacts) -> None:
        import cupy

        self.n_machines = int(facts.machine[-1]) + 1
        raise_if_any(_size_problems(self.n_machines))
        self.kernel = compiled(Path(__file__).parent, "weigh")["weigh"]
        self.kernel.max_dynamic_shared_size_bytes = shared_bytes()
        self.n_places = np.int32(facts.cost.shape[1])
        self.tables = (int32(facts.task_type), int32(facts.machine), cupy.asarray(facts.cost))
        self.units = (facts.tick_s, facts.tick_j, facts.idle_w)

    def evaluate(self, pool: GpuPool, rows: Any) -> None:
        """Set the points of these rows."""
        sizes = (np.int32(pool.n_tasks), np.int32(self.n_machines), self.n_places)
        arguments = (*sizes, rows, pool.genes, *self.tables, *self.units, pool.points)
        self.kernel((int(rows.size),), (_WEIGHING,), arguments, shared_mem=_TICK_BYTES * self.n_machines)


def _size_problems(n_machines: int) -> Iterator[Problem]:
    most = shared_bytes() // _TICK_BYTES
    if n_machines > most:
        yield Problem(
            "system.counts", f"found {n_machines:,} machines", f"a GPU takes {most:,} at most", "use the cores"
        )

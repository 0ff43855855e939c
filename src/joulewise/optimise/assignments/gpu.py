"""Assignments on a GPU: chromosomes are evaluated in all samples at once.

A problem without chances is one of a single sample, in which all is as estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import Problem, raise_if_any
from joulewise.kernels.assignments.chances import EXPECTED, LANES, MEAN_COMPLETIONS, PERCENTILE, ChanceFacts
from joulewise.kernels.assignments.evaluation import AssignmentFacts
from joulewise.optimise.gpu import THREADS, GpuPool, compiled, int32, shared_bytes

MOST_SAMPLES_BY_MEAN = 1024
"""A mean over samples is taken within one block."""

MOST_MACHINES, MOST_TASKS = 65_535, 1 << 24
"""The key that a task is sorted by has room for so many."""

_FEWEST_KEYS, _KEYS_PER_THREAD = 128, 4
_EVALUATING, _JUDGING = 64, 128
_WALKS = {False: ("evaluate<1>", 1, 1), True: ("evaluate<4>", 4, 32)}
"""By whether there are several samples: the kernel, its samples per thread, and the threads of a machine."""

_CHUNK_SHARE = 4
"""Results by machine and sample use at most one part in this many of the free memory; children beyond it wait."""

_SEGMENT_COLUMNS = 8
SLOPE = 4
"""The column of slopes in a table of segments."""


class AssignmentEvaluator:
    """The facts of one problem on the GPU, and room for the results of as many rows at a time as memory allows."""

    def __init__(self, facts: ChanceFacts, n: int) -> None:
        import cupy

        raise_if_any(_size_problems(facts))
        certain, self.kernels = facts.facts, _kernels()
        self.n_tasks, self.n_machines = certain.tasks.arrival_s.size, int(certain.machine[-1]) + 1
        self.n_points = facts.time_s.shape[2]
        self.n_samples, self.n_stored, self.n_choices = (
            facts.n_samples,
            facts.time_point.shape[1],
            facts.time_s.shape[1],
        )
        self.ranks = (facts.utility_rank, facts.energy_rank) if facts.objective == PERCENTILE else (0, 0)
        self.task_type, self.machine = int32(certain.tasks.task_type), int32(certain.machine)
        self.choice = int32(certain.choice)
        mean_j = _float32(certain.energy_j) if facts.objective == MEAN_COMPLETIONS else np.uint64(0)
        self.by_mean = (mean_j,) if _is_by_mean(facts) else ()
        self.tables = (
            _float32(_task_rows(facts)), int32(certain.utilities.first), _float32(_segment_rows(facts)),
            np.int32(facts.segments[:, SLOPE].any()), _float32(facts.time_s), _float32(facts.power_w),
            cupy.asarray(facts.time_point), cupy.asarray(facts.power_point), np.float32(certain.drop_below),
        )  # fmt: skip
        self.chunk = self._chunk(n)
        self.n_keys = max(1 << (self.n_tasks - 1).bit_length(), _FEWEST_KEYS)
        self.own_bytes = 8 * self.n_keys if 8 * self.n_keys <= shared_bytes() else 0
        self.keys = np.uint64(0) if self.own_bytes else cupy.zeros((self.chunk, self.n_keys), np.uint64)
        self.first = cupy.zeros((self.chunk, self.n_machines + 1), np.int32)
        self.sequence = cupy.zeros((self.chunk, self.n_tasks, 2), np.int32)
        results = (self.chunk, self.n_machines, self.n_stored)
        self.utility, self.energy_j = cupy.zeros(results, np.float32), cupy.zeros(results, np.float32)
        self.totals = cupy.zeros((self.chunk, 2, self.n_samples))

    def _chunk(self, n: int) -> int:
        """How many rows are evaluated at a time."""
        import cupy

        free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
        per_row = 8 * self.n_machines * self.n_stored + 24 * self.n_tasks + 16 * self.n_samples
        return int(min(max(free // (_CHUNK_SHARE * per_row), 1), n))

    def evaluate(self, pool: GpuPool, rows: Any) -> None:
        """Set the points of these rows."""
        for begin in range(0, int(rows.size), self.chunk):
            some = rows[begin : begin + self.chunk]
            self._arrange(pool, some)
            self._walk(int(some.size))
            sizes = (np.int32(self.n_machines), np.int32(self.n_samples), np.int32(self.n_stored))
            ranks = map(np.int32, self.ranks)
            arguments = (*sizes, some, self.utility, self.energy_j, *ranks, self.totals, pool.points)
            self.kernels["judge"]((int(some.size),), (_JUDGING,), arguments)

    def _arrange(self, pool: GpuPool, rows: Any) -> None:
        """The tasks of each row by machine, in their order."""
        sizes = map(np.int32, (self.n_tasks, self.n_keys, pool.n_rows, self.n_machines, self.n_choices))
        facts = (self.task_type, self.machine, self.choice)
        arguments = (*sizes, rows, pool.genes, *facts, self.keys, self.first, self.sequence)
        threads = min(THREADS, self.n_keys // _KEYS_PER_THREAD)
        self.kernels["arrange"]((int(rows.size),), (threads,), arguments, shared_mem=self.own_bytes)

    def _walk(self, n: int) -> None:
        """Utility and energy by row, machine and sample."""
        sizes = map(np.int32, (self.n_tasks, self.n_machines, self.n_stored, self.n_points))
        arguments = (*sizes, self.first, self.sequence, *self.tables, *self.by_mean, self.utility, self.energy_j)
        if self.by_mean:
            threads = -(-self.n_samples // 32) * 32
            self.kernels["evaluate_by_mean"]((self.n_machines, n), (threads,), (np.int32(self.n_samples), *arguments))
        else:
            name, each, lanes = _WALKS[self.n_samples > 1]
            grid = (-(-self.n_machines * lanes // _EVALUATING), n, -(-self.n_samples // (each * lanes)))
            self.kernels[name](grid, (_EVALUATING,), (np.int32(lanes), *arguments))


def certain_facts(facts: AssignmentFacts) -> ChanceFacts:
    """Assignments in one sample in which everything takes its mean time and energy."""
    power_w = np.divide(
        facts.energy_j, facts.exec_s, out=np.full_like(facts.exec_s, np.inf), where=np.isfinite(facts.exec_s)
    )
    time_s, power_w = (table[:, :, None].astype(np.float32) for table in (facts.exec_s, power_w))
    point = np.zeros((facts.tasks.arrival_s.size, LANES), np.uint8)
    segments = facts.utilities.segments.astype(np.float32)
    return ChanceFacts(facts, time_s, power_w, point, point, segments, 1, EXPECTED, 1, 1, False)


def _is_by_mean(facts: ChanceFacts) -> bool:
    """Whether what is dropped goes by mean completions."""
    return facts.drop_by_mean or facts.objective == MEAN_COMPLETIONS


def _size_problems(facts: ChanceFacts) -> Iterator[Problem]:
    n_machines, n_tasks = int(facts.facts.machine[-1]) + 1, facts.facts.tasks.arrival_s.size
    if n_machines > MOST_MACHINES:
        yield Problem("system.counts", f"found {n_machines:,} machines", f"a GPU takes {MOST_MACHINES:,} at most")
    if n_tasks > MOST_TASKS:
        yield Problem("workload.n_tasks", f"found {n_tasks:,}", f"a GPU takes {MOST_TASKS:,} at most")
    if _is_by_mean(facts) and facts.n_samples > MOST_SAMPLES_BY_MEAN:
        allowed = f"must be {MOST_SAMPLES_BY_MEAN} at most on a GPU when tasks are dropped by their mean completion"
        yield Problem("n_samples", f"found {facts.n_samples}", allowed)


def _kernels() -> dict[str, Any]:
    walks = (name for name, _, _ in _WALKS.values())
    kernels = compiled(Path(__file__).parent, "arrange", "evaluate_by_mean", "judge", *walks)
    kernels["arrange"].max_dynamic_shared_size_bytes = shared_bytes()
    return kernels


def _float32(table: NDArray[Any]) -> Any:
    """A table on the device, with its choices that cannot be made, which no gene ever names, at 0."""
    import cupy

    return cupy.asarray(np.where(np.isinf(table), 0, table).astype(np.float32))


def _segment_rows(facts: ChanceFacts) -> NDArray[np.float32]:
    """Segments as the kernels read them: start, level, span, rate, slope, floor, and room up to eight numbers."""
    rows = np.zeros((len(facts.segments), _SEGMENT_COLUMNS), np.float32)
    rows[:, : facts.segments.shape[1]] = facts.segments
    return rows


def _task_rows(facts: ChanceFacts) -> NDArray[np.float32]:
    """Tasks as the kernels read them: arrival, end of the hold, scale, and the bits of the shape's number."""
    tasks = facts.facts.tasks
    rows = np.stack([tasks.arrival_s, tasks.arrival_s + tasks.hold_s, tasks.scale, np.zeros_like(tasks.scale)], axis=1)
    rows = rows.astype(np.float32)
    rows[:, 3] = tasks.shape.astype(np.int32).view(np.float32)
    return rows

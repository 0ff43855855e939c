"""NSGA-II over assignments with everything on a GPU: genes, samples, archive and all decisions.

Needs CuPy and a CUDA device. The kernels are CUDA C in gpu_kernels.cu; CuPy compiles them once for each kind of
device, and keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.assignments.chances import EXPECTED, LANES, MEAN_COMPLETIONS, PERCENTILE, ChanceFacts
from joulewise.kernels.assignments.evaluation import AssignmentFacts
from joulewise.model.arrays import Floats, Ints
from joulewise.optimise.front import Front, front_of
from joulewise.optimise.population import Population
from joulewise.optimise.ways import Ways

MOST_ROWS = 800
"""Parents and children together: one block sorts them in its shared memory."""

MOST_SAMPLES_BY_MEAN = 1024
"""A mean over samples is taken within one block."""

MOST_MACHINES, MOST_TASKS = 65_535, 1 << 24
"""The key that a task is sorted by has room for so many."""

_THREADS, _EVALUATING, _JUDGING, _GENES_PER_BLOCK, _POINTS_PER_BLOCK = 1024, 64, 128, 512, 256
_WALKS = {False: ("evaluate<1>", 1, 1), True: ("evaluate<4>", 4, 32)}
"""By whether there are several samples: the kernel, its samples per thread, and the threads of a machine."""

_CHUNK_SHARE = 4
"""Results by machine and sample use at most one part in this many of the free memory; children beyond it wait."""

_ARCHIVE_ROOM, _ARCHIVE_SPARE = 1024, 4
_SEGMENT_COLUMNS = 8
_SORTING_BYTES = 56
_REMEMBER, _SELECT = 0, 1
SLOPE = 4
"""The column of slopes in a table of segments."""

_KINDS = 2
_ADVICE = "take fewer samples or a smaller population, or another engine"


@cache
def gpu_name() -> str:
    """The name of the GPU that would be used, "" where there is none or CuPy is missing."""
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount() < 1:
            return ""
        return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except Exception:  # a broken driver raises what it likes, and means: no GPU
        return ""


class GpuHerd:
    """A population of one island as it lives on, its offspring and its archive, all on a GPU.

    A problem without chances is one of a single sample, in which all is as estimated. Steps are queued, and reading
    anything waits for them. Raises InputError where the device cannot hold the problem.
    """

    def __init__(self, problem: Any, start: Population, ways: Ways) -> None:
        raise_if_any(_engine_problems())
        facts = getattr(problem, "chance_facts", None) or _certain(problem.facts)
        raise_if_any(_size_problems(facts, start.size))
        self.problem, self.ways, self.states = problem, ways, start.states
        with _Memory():
            self.evaluator, self.pool = _Evaluator(facts, start.size), _GpuPool(problem, start)
            self.archive = _GpuArchive(start, ways.archive)
            self.evaluator.evaluate(self.pool, self.pool.parents)
            self.archive.remember(self.pool, self.pool.parents)

    @property
    def engine(self) -> str:
        """What it lives on."""
        return f"GPU {gpu_name()}"

    def step(self) -> None:
        """One generation."""
        with _Memory():
            self.pool.breed(self.states[0], self.ways.mutation)
            self.evaluator.evaluate(self.pool, self.pool.children)
            self.archive.remember_and_select(self.pool, self.ways.ranks == "dominators")

    def front(self) -> Front:
        """The front so far, points only."""
        points, _ = self.archive.content() if self.ways.archive else self.pool.content()
        return front_of(points, objectives=self.problem.objectives)

    def population(self) -> Population:
        """The population as it is now."""
        (points, genes), (archive_points, archive_genes) = self.pool.content(), self.archive.content()
        rows = np.append(self.pool.parents.get(), self.pool.children.get())[None]
        generation = int(self.pool.generation.get()[0])
        return Population(
            self.problem.fingerprint,
            generation,
            self.states,
            genes,
            points,
            rows,
            archive_genes,
            archive_points,
            np.array([len(archive_points)]),
        )


class _GpuPool:
    """Chromosomes by row, and which rows are parents and children, now and in the next generation."""

    def __init__(self, problem: Any, start: Population) -> None:
        import cupy

        certain: AssignmentFacts = problem.facts
        self.leaves_out = np.int32(problem.leaves_out)
        n, self.kernels = start.size, _kernels()
        self.n, self.n_rows, self.n_tasks = n, 2 * n, start.genes.shape[2]
        self.parents, self.children = _int32(start.rows[0, :n]), _int32(start.rows[0, n:])
        self.next_parents, self.next_children = cupy.zeros(n, np.int32), cupy.zeros(n, np.int32)
        self.points, self.genes = cupy.zeros((2 * n, 2)), cupy.zeros((_KINDS, 2 * n, self.n_tasks), np.int32)
        self.genes[:, self.parents] = cupy.asarray(start.genes)
        self.generation = cupy.full(1, start.generation, np.int64)
        self.task_type = _int32(certain.tasks.task_type)
        self.allowed, self.n_allowed = _int32(certain.allowed), _int32(certain.n_allowed)

    def breed(self, seed: np.uint64, mutation: float) -> None:
        """Fill the children's rows."""
        sizes = (np.int32(self.n), np.int32(self.n_tasks), np.int32(self.n_rows))
        facts = (self.task_type, self.allowed, np.int32(self.allowed.shape[1]), self.n_allowed, self.leaves_out)
        arguments = (seed, self.generation, *sizes, self.parents, self.children, float(mutation), *facts, self.genes)
        self.kernels["breed"]((self.n, -(-self.n_tasks // _GENES_PER_BLOCK)), (_GENES_PER_BLOCK,), arguments)

    def go_on(self) -> None:
        """What was selected for the next generation becomes that of this one."""
        self.parents, self.next_parents = self.next_parents, self.parents
        self.children, self.next_children = self.next_children, self.children

    def content(self) -> tuple[Floats, Ints]:
        """Points and genes of the parents."""
        rows = self.parents.get()
        return self.points.get()[rows], self.genes.get()[:, rows]


class _Evaluator:
    """The facts of one problem on the GPU, and room for the results of as many rows at a time as memory allows."""

    def __init__(self, facts: ChanceFacts, n: int) -> None:
        import cupy

        certain, self.kernels = facts.facts, _kernels()
        self.n_tasks, self.n_machines = certain.tasks.arrival_s.size, int(certain.machine[-1]) + 1
        self.n_points = facts.time_s.shape[2]
        self.n_samples, self.n_stored, self.n_choices = (
            facts.n_samples,
            facts.time_point.shape[1],
            facts.time_s.shape[1],
        )
        self.ranks = (facts.utility_rank, facts.energy_rank) if facts.objective == PERCENTILE else (0, 0)
        self.task_type, self.machine = _int32(certain.tasks.task_type), _int32(certain.machine)
        self.choice = _int32(certain.choice)
        mean_j = _float32(certain.energy_j) if facts.objective == MEAN_COMPLETIONS else np.uint64(0)
        self.by_mean = (mean_j,) if _is_by_mean(facts) else ()
        self.tables = (
            _float32(_task_rows(facts)), _int32(certain.utilities.first), _float32(_segment_rows(facts)),
            np.int32(facts.segments[:, SLOPE].any()), _float32(facts.time_s), _float32(facts.power_w),
            cupy.asarray(facts.time_point), cupy.asarray(facts.power_point), np.float32(certain.drop_below),
        )  # fmt: skip
        self.chunk = self._chunk(n)
        self.n_keys = 1 << max(self.n_tasks - 1, 1).bit_length()
        self.own_bytes = 8 * self.n_keys if 8 * self.n_keys <= _shared_bytes() else 0
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

    def evaluate(self, pool: _GpuPool, rows: Any) -> None:
        """Set the points of these rows."""
        for begin in range(0, int(rows.size), self.chunk):
            some = rows[begin : begin + self.chunk]
            self._arrange(pool, some)
            self._walk(int(some.size))
            sizes = (np.int32(self.n_machines), np.int32(self.n_samples), np.int32(self.n_stored))
            ranks = map(np.int32, self.ranks)
            arguments = (*sizes, some, self.utility, self.energy_j, *ranks, self.totals, pool.points)
            self.kernels["judge"]((int(some.size),), (_JUDGING,), arguments)

    def _arrange(self, pool: _GpuPool, rows: Any) -> None:
        """The tasks of each row by machine, in their order."""
        sizes = map(np.int32, (self.n_tasks, self.n_keys, pool.n_rows, self.n_machines, self.n_choices))
        facts = (self.task_type, self.machine, self.choice)
        arguments = (*sizes, rows, pool.genes, *facts, self.keys, self.first, self.sequence)
        threads = min(_THREADS, max(self.n_keys // 2, 32))
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


class _GpuArchive:
    """What is non-dominated so far, in slots of which some are free; selects, too, which is done at the same time."""

    def __init__(self, start: Population, keeps: bool) -> None:
        import cupy

        n, n_kept = start.size, len(start.archive_points)
        self.keeps, self.n, self.n_tasks, self.kernels = keeps, n, start.genes.shape[2], _kernels()
        self.enters, self.slot, self.free_slot, self.size = (cupy.zeros(size, np.int32) for size in (n, n, n, 1))
        self.at_most = n_kept
        self._take_room(max(_ARCHIVE_ROOM, n_kept + _ARCHIVE_SPARE * n) if keeps else 1)
        if keeps:
            self.points[:n_kept], self.alive[:n_kept] = cupy.asarray(start.archive_points), 1
            self.genes[:, :n_kept] = cupy.asarray(start.archive_genes)

    def _take_room(self, room: int) -> None:
        import cupy

        self.points, self.alive = cupy.zeros((room, 2)), cupy.zeros(room, np.int32)
        self.genes = cupy.zeros((_KINDS, room, self.n_tasks), np.int32)

    def remember(self, pool: _GpuPool, rows: Any) -> None:
        """Add the rows that nothing in the archive dominates or equals, and drop what they dominate."""
        if self.keeps:
            self._settle(pool, rows, _REMEMBER, 1, by_dominators=False)
            self._store(pool, rows)

    def remember_and_select(self, pool: _GpuPool, by_dominators: bool) -> None:
        """The children enter the archive, if there is one; the best rows become the parents of the next generation."""
        first = _REMEMBER if self.keeps else _SELECT
        self._settle(pool, pool.children, first, _SELECT + 1 - first, by_dominators)
        if self.keeps:
            self._store(pool, pool.children)
        pool.go_on()

    def _settle(self, pool: _GpuPool, rows: Any, first: int, n_parts: int, by_dominators: bool) -> None:
        self._grow_if_full()
        n, room = np.int32(self.n), np.int32(self.alive.size)
        if first == _REMEMBER:
            compared = (n, room, rows, pool.points, self.points, self.alive, self.enters)
            self.kernels["compare"]((self.n,), (_POINTS_PER_BLOCK,), compared)
        archive = (self.enters, self.points, self.alive, self.slot, self.free_slot, self.size)
        selected = (np.int32(by_dominators), pool.next_parents, pool.next_children, pool.generation)
        shared = _SORTING_BYTES * pool.n_rows
        self.kernels["settle"](
            (n_parts,),
            (_THREADS,),
            (np.int32(first), n, room, rows, pool.points, *archive, *selected),
            shared_mem=shared,
        )

    def _store(self, pool: _GpuPool, rows: Any) -> None:
        sizes = map(np.int32, (self.n_tasks, pool.n_rows, self.alive.size))
        self.kernels["store"]((self.n,), (_GENES_PER_BLOCK,), (*sizes, rows, pool.genes, self.slot, self.genes))
        self.at_most += self.n

    def _grow_if_full(self) -> None:
        """Ask the device how many points there are only when there might be too many."""
        if not self.keeps or self.at_most + self.n <= self.alive.size:
            return
        self.at_most = int(self.size.get()[0])
        if self.at_most + _ARCHIVE_SPARE * self.n > self.alive.size:
            points, genes, alive, room = self.points, self.genes, self.alive, self.alive.size
            self._take_room(2 * room)
            self.points[:room], self.genes[:, :room], self.alive[:room] = points, genes, alive

    def content(self) -> tuple[Floats, Ints]:
        """Points and genes by first objective."""
        points, slots = self.points.get(), np.flatnonzero(self.alive.get())
        slots = slots[np.argsort(points[slots, 0])]
        return points[slots], self.genes[:, slots].get()


def _certain(facts: AssignmentFacts) -> ChanceFacts:
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


def _engine_problems() -> Iterator[Problem]:
    if not gpu_name():
        yield Problem("engine", "found no GPU, or no CuPy", "needs both", "install joulewise[gpu], or use all cores")


def _size_problems(facts: ChanceFacts, n: int) -> Iterator[Problem]:
    if 2 * n > MOST_ROWS:
        yield Problem("population", f"found {n}", f"must be {MOST_ROWS // 2} at most on a GPU")
    if facts.facts.machine[-1] >= MOST_MACHINES:
        yield Problem(
            "system.counts", f"found {facts.facts.machine[-1] + 1} machines", f"a GPU takes {MOST_MACHINES:,}"
        )
    if facts.facts.tasks.arrival_s.size > MOST_TASKS:
        yield Problem(
            "workload.n_tasks", f"found {facts.facts.tasks.arrival_s.size:,}", f"a GPU takes {MOST_TASKS:,} at most"
        )
    if _is_by_mean(facts) and facts.n_samples > MOST_SAMPLES_BY_MEAN:
        allowed = f"must be {MOST_SAMPLES_BY_MEAN} at most on a GPU when tasks are dropped by their mean completion"
        yield Problem("n_samples", f"found {facts.n_samples}", allowed)


class _Memory:
    """Turns the device's running out of memory into what a user can do about it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if kind is not None and kind.__name__ == "OutOfMemoryError":
            raise InputError(
                Problem("engine", f"the GPU ran out of memory ({error})", "must hold it", _ADVICE)
            ) from error


@cache
def _kernels() -> dict[str, Any]:
    """The compiled kernels."""
    import cupy

    walks = tuple(name for name, _, _ in _WALKS.values())
    names = ("breed", "arrange", "evaluate_by_mean", "judge", "compare", "settle", "store", *walks)
    source = Path(__file__).with_name("gpu_kernels.cu").read_text()
    module = cupy.RawModule(code=source, options=("-std=c++17",), name_expressions=walks)
    kernels = {name: module.get_function(name) for name in names}
    kernels["arrange"].max_dynamic_shared_size_bytes = _shared_bytes()
    return kernels


@cache
def _shared_bytes() -> int:
    """How much shared memory a block may have."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


def _int32(values: NDArray[Any]) -> Any:
    import cupy

    return cupy.asarray(np.ascontiguousarray(values, np.int32))


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

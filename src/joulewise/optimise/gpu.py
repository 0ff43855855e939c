"""NSGA-II with everything on a GPU: genes, archive and all decisions, for problems that evaluate chromosomes there.

Needs CuPy and a CUDA device. The kernels are CUDA C in files gpu_kernels.cu beside the modules; CuPy compiles them once
for each kind of device, and keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model.arrays import Floats, Ints
from joulewise.optimise.front import Front, FrontObjective, front_of
from joulewise.optimise.population import Population
from joulewise.optimise.ways import Ways

MOST_ROWS = 800
"""Parents and children together: one block sorts them in its shared memory."""

THREADS = 1024
"""As many as a block can have."""

_GENES_PER_BLOCK, _POINTS_PER_BLOCK = 512, 256
_ARCHIVE_ROOM, _ARCHIVE_SPARE = 1024, 4
_SORTING_BYTES, _DECLARED_BYTES = 56, 1024
_REMEMBER, _SELECT = 0, 1
_ADVICE = "take fewer samples or a smaller population, or another engine"


class TaskPlaces(NamedTuple):
    """Where the tasks of chromosomes may run: `allowed[task type, :n_allowed]`, and nowhere if some may be left out."""

    task_type: NDArray[Any]
    allowed: NDArray[Any]
    n_allowed: NDArray[Any]
    leaves_out: bool = False


class GpuEvaluator(Protocol):
    """The facts of one problem on the GPU."""

    def evaluate(self, pool: GpuPool, rows: Any) -> None:
        """Set the points of these rows."""


@runtime_checkable
class GpuProblem(Protocol):
    """A problem whose populations can live on a GPU."""

    objectives: tuple[FrontObjective, FrontObjective]

    @property
    def fingerprint(self) -> str: ...
    @property
    def places(self) -> TaskPlaces:
        """Where mutation may put tasks."""

    def gpu_evaluator(self, n: int) -> GpuEvaluator:
        """What evaluates n rows at a time; InputError where the device cannot hold the problem."""


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

    Steps are queued, and reading anything waits for them. Raises InputError where the device cannot hold the problem.
    """

    def __init__(self, problem: GpuProblem, start: Population, ways: Ways) -> None:
        raise_if_any(_engine_problems())
        raise_if_any(_size_problems(start.size))
        self.problem, self.ways, self.states = problem, ways, start.states
        with _Memory():
            self.evaluator, self.pool = problem.gpu_evaluator(start.size), GpuPool(problem.places, start)
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


class GpuPool:
    """Chromosomes by row, and which rows are parents and children, now and in the next generation."""

    def __init__(self, places: TaskPlaces, start: Population) -> None:
        import cupy

        n, self.kernels = start.size, _kernels()
        self.n, self.n_rows, (self.n_kinds, _, self.n_tasks) = n, 2 * n, start.genes.shape
        self.parents, self.children = int32(start.rows[0, :n]), int32(start.rows[0, n:])
        self.next_parents, self.next_children = cupy.zeros(n, np.int32), cupy.zeros(n, np.int32)
        self.points, self.genes = cupy.zeros((2 * n, 2)), cupy.zeros((self.n_kinds, 2 * n, self.n_tasks), np.int32)
        self.genes[:, self.parents] = cupy.asarray(start.genes)
        self.generation = cupy.full(1, start.generation, np.int64)
        self.task_type, self.leaves_out = int32(places.task_type), np.int32(places.leaves_out)
        self.allowed, self.n_allowed = int32(places.allowed), int32(places.n_allowed)

    def breed(self, seed: np.uint64, mutation: float) -> None:
        """Fill the children's rows."""
        sizes = (np.int32(self.n), np.int32(self.n_tasks), np.int32(self.n_rows))
        places = (self.task_type, self.allowed, np.int32(self.allowed.shape[1]), self.n_allowed, self.leaves_out)
        chosen = (*sizes, self.parents, self.children, float(mutation), *places, np.int32(self.n_kinds))
        arguments = (seed, self.generation, *chosen, self.genes)
        self.kernels["breed"]((self.n, -(-self.n_tasks // _GENES_PER_BLOCK)), (_GENES_PER_BLOCK,), arguments)

    def go_on(self) -> None:
        """What was selected for the next generation becomes that of this one."""
        self.parents, self.next_parents = self.next_parents, self.parents
        self.children, self.next_children = self.next_children, self.children

    def content(self) -> tuple[Floats, Ints]:
        """Points and genes of the parents."""
        rows = self.parents.get()
        return self.points.get()[rows], self.genes.get()[:, rows]


class _GpuArchive:
    """What is non-dominated so far, in slots of which some are free; selects, too, which is done at the same time."""

    def __init__(self, start: Population, keeps: bool) -> None:
        import cupy

        n, n_kept = start.size, len(start.archive_points)
        self.keeps, self.n, self.kernels = keeps, n, _kernels()
        self.n_kinds, _, self.n_tasks = start.genes.shape
        self.enters, self.slot, self.free_slot, self.size = (cupy.zeros(size, np.int32) for size in (n, n, n, 1))
        self.at_most = n_kept
        self._take_room(max(_ARCHIVE_ROOM, n_kept + _ARCHIVE_SPARE * n) if keeps else 1)
        if keeps:
            self.points[:n_kept], self.alive[:n_kept] = cupy.asarray(start.archive_points), 1
            self.genes[:, :n_kept] = cupy.asarray(start.archive_genes)

    def _take_room(self, room: int) -> None:
        import cupy

        self.points, self.alive = cupy.zeros((room, 2)), cupy.zeros(room, np.int32)
        self.genes = cupy.zeros((self.n_kinds, room, self.n_tasks), np.int32)

    def remember(self, pool: GpuPool, rows: Any) -> None:
        """Add the rows that nothing in the archive dominates or equals, and drop what they dominate."""
        if self.keeps:
            self._settle(pool, rows, _REMEMBER, 1, by_dominators=False)
            self._store(pool, rows)

    def remember_and_select(self, pool: GpuPool, by_dominators: bool) -> None:
        """The children enter the archive, if there is one; the best rows become the parents of the next generation."""
        first = _REMEMBER if self.keeps else _SELECT
        self._settle(pool, pool.children, first, _SELECT + 1 - first, by_dominators)
        if self.keeps:
            self._store(pool, pool.children)
        pool.go_on()

    def _settle(self, pool: GpuPool, rows: Any, first: int, n_parts: int, by_dominators: bool) -> None:
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
            (THREADS,),
            (np.int32(first), n, room, rows, pool.points, *archive, *selected),
            shared_mem=shared,
        )

    def _store(self, pool: GpuPool, rows: Any) -> None:
        sizes = map(np.int32, (self.n_kinds, self.n_tasks, pool.n_rows, self.alive.size))
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


def _engine_problems() -> Iterator[Problem]:
    if not gpu_name():
        yield Problem("engine", "found no GPU, or no CuPy", "needs both", "install joulewise[gpu], or use all cores")


def _size_problems(n: int) -> Iterator[Problem]:
    if 2 * n > MOST_ROWS:
        yield Problem("population", f"found {n}", f"must be {MOST_ROWS // 2} at most on a GPU")


class _Memory:
    """Turns the device's running out of memory into what a user can do about it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if kind is not None and kind.__name__ == "OutOfMemoryError":
            raise InputError(
                Problem("engine", f"the GPU ran out of memory ({error})", "must hold it", _ADVICE)
            ) from error


def _kernels() -> dict[str, Any]:
    return compiled(Path(__file__).parent, "breed", "compare", "settle", "store")


@cache
def compiled(folder: Path, *names: str) -> dict[str, Any]:
    """The kernels of a folder by name; names with angle brackets are of templates."""
    import cupy

    source = (folder / "gpu_kernels.cu").read_text()
    templates = tuple(name for name in names if "<" in name)
    module = cupy.RawModule(code=source, options=("-std=c++17",), name_expressions=templates)
    return {name: module.get_function(name) for name in names}


@cache
def shared_bytes() -> int:
    """How much shared memory a block may ask for, beside the little that kernels declare."""
    import cupy

    return int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]) - _DECLARED_BYTES


def int32(values: NDArray[Any]) -> Any:
    import cupy

    return cupy.asarray(np.ascontiguousarray(values, np.int32))

"""NSGA-II over assignments with everything on a GPU: genes, samples, archive and all decisions.

Needs CuPy and a CUDA device. The kernels are CUDA C in gpu_kernels.cu; CuPy compiles them once for each kind of
device and number of points, and keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.kernels.chances import MEAN_COMPLETIONS, PERCENTILE, ChanceFacts
from joulewise.model.arrays import Counts, Floats, Ints
from joulewise.optimise.front import Front, front_of
from joulewise.rng import generator

MOST_ROWS = 1024
"""Parents and children together: one block sorts them in its shared memory."""

MOST_SAMPLES_BY_MEAN = 1024
"""A mean over samples is taken within one block."""

_SAMPLES_PER_BLOCK = 128
_CHUNK_SHARE = 4
"""Results by machine and sample use at most one part in so many of the free memory; children beyond it wait."""

_ARCHIVE_ROOM = 1024
_SEGMENT_COLUMNS = 6
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
    except Exception:  # noqa: BLE001 - a broken driver raises what it likes, and means: no GPU
        return ""


class GpuHerd:
    """The population, its offspring and the archive on a GPU; steps are queued, and reading anything waits for them.

    Raises InputError where the device cannot hold the problem.
    """

    def __init__(self, problem: Any, facts: ChanceFacts, seeds: Sequence[Any], n: int, keeps: bool, seed: int) -> None:
        raise_if_any(_problems(facts, n))
        self.problem = problem
        draws = generator(seed, "genetic")
        self.seed = np.uint64(draws.integers(0, 2**64, 1, np.uint64)[0])
        genes = np.zeros((_KINDS, 2 * n, problem.n_genes), np.int32)
        genes[:, len(seeds) : n] = problem.random_genes(draws, n - len(seeds))
        for row, payload in enumerate(seeds):
            genes[:, row] = problem.genes_of(payload)
        with _memory():
            self.device = _Device(facts, genes, n)
            self.archive = _Archive(n, problem.n_genes) if keeps else None
            self.device.evaluate(self.device.parents)
            self._remember(self.device.parents)

    def step(self, mutation: float, by_dominators: bool) -> None:
        """One generation."""
        with _memory():
            self.device.breed(self.seed, mutation)
            self.device.evaluate(self.device.children)
            self._remember(self.device.children)
            self.device.select(by_dominators)

    def front(self, with_payload: bool = False) -> Front:
        """The front so far."""
        points, genes = self.device.population() if self.archive is None else self.archive.content()
        found = front_of(points, range(len(points)), self.problem.objectives)
        payload = tuple(self.problem.payload(genes[:, row]) for row in found.payload) if with_payload else ()
        return Front(self.problem.objectives, found.points, payload)

    def _remember(self, rows: Any) -> None:
        if self.archive is not None:
            self.archive.remember(rows, self.device)


class _Device:
    """The arrays of one problem on the GPU, and the kernels over them."""

    def __init__(self, facts: ChanceFacts, genes: Ints, n: int) -> None:
        import cupy

        known, self.kernels = facts.facts, _kernels(facts.time_s.shape[2])
        self.n, (_, self.n_rows, self.n_tasks) = n, genes.shape
        self.n_machines, self.n_samples = int(known.machine[-1]) + 1, facts.n_samples
        self.n_stored, self.n_choices = facts.time_point.shape[1], facts.time_s.shape[1]
        self.rank = (facts.utility_rank, facts.energy_rank) if facts.objective == PERCENTILE else (0, 0)
        self.at_means = facts.objective == MEAN_COMPLETIONS
        self.by_mean = facts.drop_by_mean or self.at_means
        self.drop_below = np.float32(known.drop_below)
        self.genes, self.points = cupy.asarray(genes), cupy.zeros((self.n_rows, 2))
        self.parents, self.children = (cupy.arange(at, at + n, dtype=np.int32) for at in (0, n))
        self.generation = cupy.zeros(1, np.int64)
        self.task_type, self.machine, self.choice = map(_int32, (known.tasks.task_type, known.machine, known.choice))
        self.allowed, self.n_allowed = _int32(known.allowed), _int32(known.n_allowed)
        self.tasks, self.first_segment = cupy.asarray(_task_rows(facts)), _int32(known.utilities.first)
        self.segments, self.time_s, self.power_w = (
            cupy.asarray(np.ascontiguousarray(table, np.float32))
            for table in (facts.segments, _finite(facts.time_s), _finite(facts.power_w))
        )
        self.time_point, self.power_point = cupy.asarray(facts.time_point), cupy.asarray(facts.power_point)
        self.energy_j = cupy.asarray(_finite(known.energy_j).astype(np.float32))
        self._make_room(cupy)

    def _make_room(self, cupy: Any) -> None:
        """Room for the results of as many children at a time as memory allows."""
        per_child = 8 * self.n_machines * self.n_samples + 16 * self.n_tasks + 16 * self.n_samples
        free, _ = cupy.cuda.runtime.memGetInfo()
        self.chunk = chunk = int(min(max(free // (_CHUNK_SHARE * per_child), 1), self.n))
        self.keys = cupy.zeros((chunk, self.n_tasks), np.uint64)
        self.first = cupy.zeros((chunk, self.n_machines + 1), np.int32)
        self.sequence = cupy.zeros((chunk, self.n_tasks, 2), np.int32)
        self.utility, self.used_j = (cupy.zeros((chunk, self.n_machines, self.n_samples), np.float32) for _ in range(2))
        self.totals = cupy.zeros((chunk, 2, self.n_samples))

    def breed(self, seed: np.uint64, mutation: float) -> None:
        """Fill the children's rows."""
        i32 = np.int32
        arguments = (
            seed, self.generation, i32(self.n), i32(self.n_tasks), i32(self.n_rows), self.parents, self.children,
            float(mutation), self.task_type, self.allowed, i32(self.allowed.shape[1]), self.n_allowed, self.genes,
        )  # fmt: skip
        self.kernels["breed"]((self.n // 2,), (512,), arguments)

    def evaluate(self, rows: Any) -> None:
        """Set the points of these rows."""
        for begin in range(0, self.n, self.chunk):
            self._evaluate_chunk(rows[begin : begin + self.chunk])

    def _evaluate_chunk(self, rows: Any) -> None:
        i32, n = np.int32, int(rows.size)
        sizes = (i32(self.n_tasks), i32(self.n_machines), i32(self.n_samples), i32(self.n_stored))
        arranged = (
            i32(self.n_tasks), i32(self.n_rows), i32(self.n_machines), i32(self.n_choices), rows, self.genes,
            self.task_type, self.machine, self.choice, self.keys, self.first, self.sequence,
        )  # fmt: skip
        self.kernels["arrange"]((n,), (1024,), arranged, shared_mem=4 * (self.n_machines + 1))
        tables = (
            self.first, self.sequence, self.tasks, self.first_segment, self.segments, self.time_s, self.power_w,
            self.time_point, self.power_point, self.drop_below,
        )  # fmt: skip
        if self.by_mean:
            threads = -(-self.n_samples // 32) * 32
            means = self.energy_j if self.at_means else np.uint64(0)
            arguments = (*sizes, *tables, means, self.utility, self.used_j)
            self.kernels["evaluate_by_mean"]((self.n_machines, n), (threads,), arguments)
        else:
            threads = min(-(-self.n_samples // 32) * 32, _SAMPLES_PER_BLOCK)
            grid = (self.n_machines, n, -(-self.n_samples // threads))
            self.kernels["evaluate"](grid, (threads,), (*sizes, *tables, self.utility, self.used_j))
        judged = (
            i32(self.n_machines), i32(self.n_samples), rows, self.utility, self.used_j, *map(i32, self.rank),
            self.totals, self.points,
        )  # fmt: skip
        self.kernels["judge"]((n,), (_SAMPLES_PER_BLOCK,), judged)

    def select(self, by_dominators: bool) -> None:
        """The best rows become the parents."""
        i32, threads = np.int32, -(-self.n_rows // 32) * 32
        arguments = (
            i32(self.n_rows), i32(self.n), i32(by_dominators), self.points, self.parents, self.children, self.generation,
        )  # fmt: skip
        self.kernels["select"]((1,), (min(threads, 1024),), arguments, shared_mem=40 * self.n_rows)

    def population(self) -> tuple[Floats, Ints]:
        """Points and genes of the parents."""
        rows = self.parents.get()
        return self.points.get()[rows], self.genes.get()[:, rows]


class _Archive:
    """What is non-dominated so far, in slots of which some are free."""

    def __init__(self, n: int, n_tasks: int) -> None:
        import cupy

        self.n, self.kernels = n, _kernels(1)
        self.slot, self.free_slot = cupy.zeros(n, np.int32), cupy.zeros(n, np.int32)
        self.size = cupy.zeros(1, np.int32)
        self.at_most = 0
        self._take_room(max(_ARCHIVE_ROOM, 4 * n), n_tasks)

    def _take_room(self, room: int, n_tasks: int) -> None:
        import cupy

        self.points, self.alive = cupy.zeros((room, 2)), cupy.zeros(room, np.int32)
        self.genes = cupy.zeros((_KINDS, room, n_tasks), np.int32)

    def remember(self, rows: Any, device: _Device) -> None:
        """Add the rows that nothing in the archive dominates or equals, and drop what they dominate."""
        self._grow_if_full(device.n_tasks)
        i32, n, room = np.int32, int(rows.size), self.alive.size
        arguments = (
            i32(n), i32(room), rows, device.points, self.points, self.alive, self.slot, self.free_slot, self.size,
        )  # fmt: skip
        self.kernels["remember"]((1,), (1024,), arguments)
        copied = (i32(device.n_tasks), i32(device.n_rows), i32(room), rows, device.genes, self.slot, self.genes)
        self.kernels["store"]((n,), (512,), copied)
        self.at_most += n

    def _grow_if_full(self, n_tasks: int) -> None:
        """Ask the device how many points there are only when there might be too many."""
        if self.at_most + self.n <= self.alive.size:
            return
        self.at_most = int(self.size.get()[0])
        if self.at_most + 4 * self.n > self.alive.size:
            points, genes, alive, room = self.points, self.genes, self.alive, self.alive.size
            self._take_room(2 * room, n_tasks)
            self.points[:room], self.genes[:, :room], self.alive[:room] = points, genes, alive

    def content(self) -> tuple[Floats, Ints]:
        """Points and genes, in no particular order."""
        import cupy

        slots = cupy.flatnonzero(self.alive)
        return self.points[slots].get(), self.genes[:, slots].get()


def _problems(facts: ChanceFacts, n: int) -> Iterator[Problem]:
    if 2 * n > MOST_ROWS:
        yield Problem("population", f"found {n}", f"must be {MOST_ROWS // 2} at most on a GPU")
    by_mean = facts.drop_by_mean or facts.objective == MEAN_COMPLETIONS
    if by_mean and facts.n_samples > MOST_SAMPLES_BY_MEAN:
        allowed = f"must be {MOST_SAMPLES_BY_MEAN} at most on a GPU when tasks are dropped by their mean completion"
        yield Problem("n_samples", f"found {facts.n_samples}", allowed)
    if not gpu_name():
        yield Problem("engine", "found no GPU, or no CuPy", "needs both", "install joulewise[gpu], or use all cores")


class _memory:
    """Turns the device's running out of memory into what a user can do about it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if kind is not None and kind.__name__ == "OutOfMemoryError":
            raise InputError(
                Problem("engine", f"the GPU ran out of memory ({error})", "must hold it", _ADVICE)
            ) from error


@cache
def _kernels(n_points: int) -> dict[str, Any]:
    """The compiled kernels for tables of so many points."""
    import cupy

    names = ("breed", "arrange", "evaluate", "evaluate_by_mean", "judge", "select", "remember", "store")
    sizes = {"KINDS": _KINDS, "N_POINTS": n_points, "N_SEGMENT_COLUMNS": _SEGMENT_COLUMNS}
    source = Path(__file__).with_name("gpu_kernels.cu").read_text()
    options = ("-std=c++17", *(f"-D{name}={value}" for name, value in sizes.items()))
    module = cupy.RawModule(code=source, options=options)
    return {name: module.get_function(name) for name in names}


def _int32(values: Counts | Ints) -> Any:
    import cupy

    return cupy.asarray(np.ascontiguousarray(values, np.int32))


def _finite(table: NDArray[Any]) -> NDArray[Any]:
    """The table with 0 for choices that cannot be made, which no gene ever names."""
    return np.where(np.isfinite(table), table, 0)


def _task_rows(facts: ChanceFacts) -> NDArray[np.float32]:
    """Tasks as the kernels read them: arrival, end of the hold, scale, and the bits of the shape's number."""
    tasks = facts.facts.tasks
    rows = np.stack([tasks.arrival_s, tasks.arrival_s + tasks.hold_s, tasks.scale, np.zeros_like(tasks.scale)], axis=1)
    rows = rows.astype(np.float32)
    rows[:, 3] = tasks.shape.astype(np.int32).view(np.float32)
    return np.ascontiguousarray(rows)

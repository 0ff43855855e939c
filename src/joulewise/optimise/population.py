"""What evolution can go on from: chromosomes, all that is non-dominated so far, and the state of the draws."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.files import replacing
from joulewise.model.arrays import Counts, Floats, Ints, freeze_fields
from joulewise.visible import Visible

_DTYPES = {
    "states": np.uint64,
    "genes": np.int32,
    "points": np.float64,
    "rows": np.int64,
    "archive_genes": np.int32,
    "archive_points": np.float64,
    "archive_sizes": np.int64,
}
_UNREADABLE = (ValueError, TypeError, LookupError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
"""What reading a file that is no population, or only a part of one, may raise."""


def fingerprint_of(*facts: Any) -> str:
    """A short text that is the same for the same facts: arrays, numbers, texts, and tuples of them."""
    digest = hashlib.sha256()
    for part in _flat(facts):
        array = np.asarray(part)
        digest.update(f"{array.dtype.str}{array.shape};".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _flat(facts: Any) -> Iterator[Any]:
    """The facts one by one; every tuple is told from its parts."""
    if isinstance(facts, tuple):
        yield len(facts)
        for part in facts:
            yield from _flat(part)
    else:
        yield facts


@dataclass(frozen=True, eq=False)
class Population(Visible, looks="evolutions"):
    """The state of evolution after this many generations, on one island or several, and what it has seen.

    `genes[kind of gene, row, gene]` and `points[row, objective]` are the chromosomes of one island after the other, as
    many on each. `rows[island]` are the rows of an island's pool: where its chromosomes are, then those that are free;
    `states[island]` are the states of the draws. `archive_genes` and `archive_points` are what is non-dominated, so
    many on each island as `archive_sizes` says, or none at all. Raises InputError with every problem.
    """

    fingerprint: str
    generation: int
    states: NDArray[np.uint64]
    genes: Ints
    points: Floats
    rows: Counts
    archive_genes: Ints
    archive_points: Floats
    archive_sizes: Counts

    def __post_init__(self) -> None:
        freeze_fields(self, _DTYPES)
        raise_if_any(_problems(self))

    @property
    def n_islands(self) -> int:
        return self.states.size

    @property
    def size(self) -> int:
        """How many chromosomes an island has."""
        return int(self.rows.shape[1]) // 2

    @property
    def has_archive(self) -> bool:
        return bool(self.archive_sizes.any())

    @property
    def best(self) -> tuple[Floats, Ints]:
        """Points and genes of the archive, or without one of all chromosomes; some may be dominated."""
        return (self.archive_points, self.archive_genes) if self.has_archive else (self.points, self.genes)

    def island(self, number: int) -> Population:
        """The population of one island."""
        own = slice(number * self.size, (number + 1) * self.size)
        ends = np.append(0, np.cumsum(self.archive_sizes))
        kept = slice(ends[number], ends[number + 1])
        one = slice(number, number + 1)
        return Population(
            self.fingerprint,
            self.generation,
            self.states[one],
            self.genes[:, own],
            self.points[own],
            self.rows[one],
            self.archive_genes[:, kept],
            self.archive_points[kept],
            self.archive_sizes[one],
        )

    @staticmethod
    def joined(islands: Sequence[Population]) -> Population:
        """Populations of single islands as one, in this order."""
        first = islands[0]
        return Population(
            first.fingerprint,
            first.generation,
            np.concatenate([island.states for island in islands]),
            np.concatenate([island.genes for island in islands], axis=1),
            np.concatenate([island.points for island in islands]),
            np.concatenate([island.rows for island in islands]),
            np.concatenate([island.archive_genes for island in islands], axis=1),
            np.concatenate([island.archive_points for island in islands]),
            np.concatenate([island.archive_sizes for island in islands]),
        )

    def save(self, path: Path) -> None:
        """Write the population to a file (.npz), whole or not at all."""
        content: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **content)

    @staticmethod
    def load(path: Path) -> Population:
        """The population that was saved. Raises InputError when there is none, or only a part of one."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in _DTYPES}
                return Population(str(saved["fingerprint"]), int(saved["generation"]), **arrays)
        except OSError as error:
            problem = Problem(str(path), f"cannot be read: {error.strerror}", "must be a file of a saved population")
            raise InputError(problem) from error
        except (InputError, *_UNREADABLE) as error:
            advice = "was it cut short while it was copied? save the population again"
            raise InputError(Problem(str(path), "found no whole population", "must be a saved one", advice)) from error


def _problems(population: Population) -> Iterator[Problem]:
    n_islands, n_pool = population.states.size, population.rows.shape[-1]
    n_rows, n_kept = n_islands * n_pool // 2, int(population.archive_sizes.sum())
    n_kinds, n_genes = population.genes.shape[0], population.genes.shape[-1]
    shapes: dict[str, tuple[int, ...]] = {
        "states": (n_islands,),
        "rows": (n_islands, n_pool),
        "genes": (n_kinds, n_rows, n_genes),
        "points": (n_rows, 2),
        "archive_genes": (n_kinds, n_kept, n_genes),
        "archive_points": (n_kept, 2),
        "archive_sizes": (n_islands,),
    }
    for name, shape in shapes.items():
        values = getattr(population, name)
        if values.shape != shape:
            yield Problem(f"population.{name}", f"found the shape {values.shape}", f"must have the shape {shape}")
        elif not np.isfinite(values).all():
            yield Problem(f"population.{name}", "found NaN or infinity", "must be finite")
    if not n_islands or (np.sort(population.rows, axis=-1) != np.arange(n_pool)).any():
        yield Problem("population.rows", "found other rows", "must be those of a pool, each once, for every island")
    if (population.archive_sizes < 0).any():
        yield Problem("population.archive_sizes", f"found {population.archive_sizes.min()}", "must be 0 or more")
    if population.generation < 0:
        yield Problem("population.generation", f"found {population.generation}", "must be 0 or more")

"""What studies say of NSGA-II, whatever it evolves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from joulewise.errors import Problem
from joulewise.optimise.ways import Ranks, Ways
from joulewise.study.searches.methods import Uses

if TYPE_CHECKING:
    import polars as pl

    from joulewise.model.arrays import Floats
    from joulewise.optimise.evolution import Engine, Evolution

NSGA2: Final = "nsga2"
ONE_CORE: Final = "one core"
GPU: Final = "gpu"
MOST_GENERATIONS = 10_000_000
GENETIC_KEYS = ("population", "generations", "mutation", "archive", "ranks", "snapshots")
"""What parameters say of it."""
ISLAND_USES: Uses = {"exchange_every": (lambda p: p.islands > 1, "two islands or more")}
"""What keys of islands need."""


class GeneticParameters(Protocol):
    """Parameters with those of NSGA-II among them."""

    @property
    def islands(self) -> int: ...
    @property
    def exchange_every(self) -> int: ...
    @property
    def engine(self) -> str: ...
    @property
    def population(self) -> int: ...
    @property
    def generations(self) -> int: ...
    @property
    def mutation(self) -> float: ...
    @property
    def archive(self) -> bool: ...
    @property
    def ranks(self) -> Ranks: ...
    @property
    def snapshots(self) -> tuple[int, ...]: ...


def genetic_ways(p: GeneticParameters) -> dict[str, Any]:
    """How NSGA-II evolves, as `evolve` takes it."""
    ways = Ways(p.mutation, p.ranks, p.archive, p.snapshots)
    return {"population": p.population, "generations": p.generations, "ways": ways}


def evolution_of(p: GeneticParameters, n_cores: int, *, on_gpu: bool) -> Callable[..., Evolution]:
    """What evolves the problem that a function makes: islands, a GPU, or cores."""
    from joulewise.optimise.evolution import evolve
    from joulewise.optimise.islands import Archipelago, evolve_islands

    if p.islands > 1:
        return partial(evolve_islands, archipelago=Archipelago(p.islands, p.exchange_every, workers=n_cores))
    engine: Engine = "gpu" if on_gpu else "cores"
    return lambda make_problem, seeds, **ways: evolve(make_problem(), seeds, engine=engine, **ways)


def gpu_problems(p: GeneticParameters) -> Iterator[Problem]:
    """What keeps a GPU from searching, where it is asked for."""
    from joulewise.optimise.gpu import gpu_name

    found, advice = f"found {p.engine!r}", "leave it out"
    if p.engine == GPU and not gpu_name():
        yield Problem("optimise.engine", found, "needs a CUDA device and joulewise[gpu]", advice)
    elif p.engine == GPU and p.islands > 1:
        yield Problem("optimise.engine", found, "evolves one population", advice)


def gpu_hindrance(used_gpu: bool) -> str:
    """Why a stored search would not come out here: it takes a GPU which is not there."""
    from joulewise.optimise.gpu import gpu_name

    return "what a GPU decided needs one to come out again" if used_gpu and not gpu_name() else ""


def snapshots_of(table: pl.DataFrame, objectives: Sequence[str]) -> dict[int, Floats]:
    """The points of the snapshots in a table of fronts, by their generations."""
    stored = table.filter(table["curve"] == "snapshot")
    by_generation = stored.partition_by("generation", maintain_order=True)
    return {part["generation"][0]: part.select(objectives).to_numpy() for part in by_generation}


def genetic_problems(p: GeneticParameters) -> Iterator[Problem]:
    """Populations that cannot be paired, and snapshots that will never be."""
    if p.population % 2:
        yield Problem("optimise.population", f"found {p.population}", "must be even: chromosomes are paired")
    wrong = [n for n in p.snapshots if not 0 <= n <= p.generations]
    if wrong:
        yield Problem("optimise.snapshots", f"found {wrong[0]}", f"must be from 0 to generations, {p.generations}")
    if len(set(p.snapshots)) < len(p.snapshots):
        yield Problem("optimise.snapshots", f"found {list(p.snapshots)}", "must differ from each other")

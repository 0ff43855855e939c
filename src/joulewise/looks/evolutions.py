"""How what evolution found, and what it can go on from, show themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from joulewise.looks.look import Facts, Look, whole

if TYPE_CHECKING:
    from joulewise.looks.look import Pictures
    from joulewise.optimise.evolution import Evolution
    from joulewise.optimise.population import Population
    from joulewise.study.store.store import Tables


def evolution_look(front: Look) -> Look:
    """The look of what evolution found, from that of its front."""

    def facts(found: Evolution) -> Facts:
        speed = f"{found.n_generations:,} at {whole(found.generations_per_s)} per second"
        return {"generations": speed, **front.facts(found.front)}

    def tables(found: Evolution) -> Tables:
        return front.tables(found.front)

    def pictures(named: Mapping[str, Evolution], bound: Any) -> Pictures:
        return front.pictures({name: found.front for name, found in named.items()}, bound)

    return Look("What evolution found", facts, tables, pictures, bound=front.bound)


def _population_facts(population: Population) -> Facts:
    return {
        "chromosomes": f"{len(population.points):,}",
        "genes": f"{population.genes.shape[2]:,} each",
        "generation": f"{population.generation:,}",
        "islands": f"{population.n_islands:,}" if population.n_islands > 1 else "",
    }


def _population_tables(population: Population) -> Tables:
    import polars as pl

    first, second = population.points.T
    return {"points": pl.DataFrame({"first": first, "second": second})}


LOOKS = {"Population": Look("What evolution can go on from", _population_facts, _population_tables)}

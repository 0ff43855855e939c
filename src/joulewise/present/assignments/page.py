"""The page of a study of tasks known in advance: a front of utility and energy, certain or stochastic."""

from __future__ import annotations

from joulewise.present.assignments.densities import densities, has_variations
from joulewise.present.assignments.findings import utility_findings
from joulewise.present.assignments.fronts import (
    fronts_by_seeds,
    has_populations,
    has_rates,
    hypervolume_by_generations,
    steps_of,
    utility_front,
    utility_per_energy,
    with_end,
)
from joulewise.present.assignments.fuzzy import (
    CLOUDS,
    fuzzy_front,
    fuzzy_fronts_compared,
    has_clouds,
    has_spread,
    several_aims,
    spread_of_points,
)
from joulewise.present.assignments.glossary import GLOSSARY
from joulewise.present.assignments.keys import AIM
from joulewise.present.fronts import front_by_generations
from joulewise.present.page import Figure, Need, Page
from joulewise.present.plane import FOUND, FRONTS, SNAPSHOT, has_curve
from joulewise.present.records import SEEDS, Key
from joulewise.present.tables import search_tables

_FRONT = Need("front of utility", lambda records: has_curve(records, FOUND))
_SAMPLES = Need("samples", has_clouds)
_SPREAD = Need("means and variances", has_spread)

_FIGURES = (
    Figure("utility-front", "Utility and energy", (_FRONT,), utility_front),
    Figure(
        "fronts-by-seeds", "What the populations became", (Need("several populations", has_populations),),
        fronts_by_seeds,
    ),
    Figure(
        "front-by-generations", "How the search came there",
        (Need("generations", lambda records: has_curve(records, SNAPSHOT)),
         Need("one population", lambda records: not has_populations(records))),
        front_by_generations,
    ),
    Figure(
        "hypervolume-by-generations", "How fast the search came there",
        (_FRONT, Need("hypervolumes by generation", lambda records: len(steps_of(with_end(records))) > 1)),
        hypervolume_by_generations,
    ),
    Figure(
        "utility-per-energy", "Where a joule earns most", (Need("utility per energy", has_rates),),
        utility_per_energy,
    ),
    Figure("fuzzy-front", "What may happen", (_SAMPLES, _SPREAD), fuzzy_front),
    Figure(
        "fuzzy-fronts-compared", "What may happen, by objective",
        (_SAMPLES, _SPREAD, Need("several objectives", several_aims)), fuzzy_fronts_compared,
    ),
    Figure("spread-of-points", "How much utility and energy vary", (_SPREAD,), spread_of_points),
    Figure("densities", "How much times and powers vary", (Need("variations", has_variations),), densities),
)  # fmt: skip
METRICS = (
    "points", "hypervolume_percent", "normalised_percent", "fresh_percent", "fresh_mean_percent", "gap_percent",
    "least_energy_j", "most_utility", "utility_bound", "peak_utility_per_mj", "peak_energy_j", "energy_sd_percent",
    "utility_sd_percent", "tasks_dropped", "solve_s",
)  # fmt: skip
_KEYS = {
    "workload.n_tasks": Key("size", "tasks"),
    SEEDS: Key("seeds", values={"": "random"}),
    AIM: Key("aim", stands_alone=True),
}

PAGES = {
    "utility": Page(
        utility_findings, lambda records: search_tables(records, METRICS), _FIGURES, GLOSSARY,
        {FRONTS: None, CLOUDS: None}, _KEYS,
    ),
}  # fmt: skip

"""The pages of studies of bags: a front of energy and makespan, the most profit, or prices for customers."""

from __future__ import annotations

from joulewise.present.bags import glossary
from joulewise.present.bags.findings import front_findings, profit_findings
from joulewise.present.bags.fronts import fronts
from joulewise.present.bags.gaps import has_gaps, profit_by_ratio, profit_gap
from joulewise.present.bags.keys import RATIO, SIZE
from joulewise.present.bags.machines import (
    MACHINES,
    finishing_times,
    has_machines,
    machine_energies,
    machines_by_type,
)
from joulewise.present.bags.pricing import has_prices, pricing_findings, profit_by_price
from joulewise.present.bags.profit import feasible_region, profit_on_front, with_optima
from joulewise.present.fronts import front_by_generations
from joulewise.present.page import Figure, Need, Page
from joulewise.present.plane import BOUND, FOUND, FRONTS, REGION, SNAPSHOT, has_curve
from joulewise.present.records import SEEDS, Key, Records
from joulewise.present.tables import search_tables


def _has_optima(records: Records) -> bool:
    return records.measures("optimum_energy_j") and not with_optima(records).is_empty()


def _has_ratios(records: Records) -> bool:
    return records.varies(RATIO) and records.measures("profit_bound_per_s")


_FRONT = Need("front", lambda records: has_curve(records, FOUND))
_BOUND = Need("bound front", lambda records: has_curve(records, BOUND))
_MACHINES = Need("machines", has_machines)
_OPTIMA = Need("optima", _has_optima)

_FRONT_FIGURES = (
    Figure("front", "Energy and makespan", (_FRONT, _BOUND), fronts),
    Figure(
        "front-by-generations", "How the search came there",
        (Need("generations", lambda records: has_curve(records, SNAPSHOT)),), front_by_generations,
    ),
    Figure("finishing-times", "Finishing times of the machines", (_MACHINES, _FRONT, _BOUND), finishing_times),
    Figure("machine-energies", "Energies of the machines", (_MACHINES, _FRONT, _BOUND), machine_energies),
    Figure("machines-by-type", "Machines by type", (_MACHINES, _FRONT, _BOUND), machines_by_type),
)  # fmt: skip
_PROFIT_FIGURES = (
    Figure("profit-on-front", "Most profit along the front", (_OPTIMA, _BOUND), profit_on_front),
    Figure(
        "profit-gap", "Distance to the bound on profit", (Need("many trials of a profit", has_gaps),), profit_gap
    ),
    Figure("profit-by-ratio", "Profit by profit ratio", (Need("profit ratios", _has_ratios),), profit_by_ratio),
    Figure(
        "feasible-region", "What can be reached, and its profit",
        (_OPTIMA, Need("region", lambda records: has_curve(records, REGION))), feasible_region,
    ),
)  # fmt: skip
_PRICING_FIGURES = (Figure("profit-by-price", "Profit by price", (Need("fixed prices", has_prices),), profit_by_price),)
FRONT_METRICS = (
    "points", "hypervolume_percent", "gap_percent", "least_energy_j", "energy_bound_j", "least_makespan_s",
    "makespan_bound_s", "knee_energy_j", "knee_makespan_s", "unused_types", "solve_s",
)  # fmt: skip
PROFIT_METRICS = (
    "profit_per_s", "profit_bound_per_s", "gap_percent", "energy_j", "makespan_s", "mean_power_w",
    "on_front_percent", "solve_s",
)  # fmt: skip
PRICING_METRICS = (
    "profit", "unseen_bound", "profit_bound", "gap_percent", "customers", "sold", "mean_price", "mean_wait_s", "income",
    "energy_cost", "solve_s",
)  # fmt: skip
_KEYS = {SIZE: Key("size", "tasks"), SEEDS: Key("seeds", values={"": "random"})}

PAGES = {
    "front": Page(
        front_findings, lambda records: search_tables(records, FRONT_METRICS), _FRONT_FIGURES, glossary.FRONT,
        {FRONTS: None, MACHINES: None}, _KEYS,
    ),
    "profit": Page(
        profit_findings, lambda records: search_tables(records, PROFIT_METRICS), _PROFIT_FIGURES, glossary.PROFIT,
        {FRONTS: None}, _KEYS,
    ),
    "pricing": Page(
        pricing_findings, lambda records: search_tables(records, PRICING_METRICS), _PRICING_FIGURES, glossary.PRICING,
        keys=_KEYS,
    ),
}  # fmt: skip

"""The page of a study that plans a facility."""

from __future__ import annotations

from dataclasses import replace

from joulewise.present.facility.bars import compares_rates, rates_by_technique
from joulewise.present.facility.cores import cores_of_nodes, has_cores
from joulewise.present.facility.findings import facility_findings
from joulewise.present.facility.floor import has_nodes
from joulewise.present.facility.glossary import GLOSSARY
from joulewise.present.facility.map import map_of_powers, map_of_temperatures
from joulewise.present.facility.progress import has_progress, rate_over_time
from joulewise.present.facility.sweep import has_sweep, rates_by_number
from joulewise.present.facility.view import CORES, CRACS, NODES, PASSES_BOUND, PROGRESS, RATES
from joulewise.present.page import Figure, Need, Page
from joulewise.present.records import Key, Records
from joulewise.present.tables import Table, measured_table, search_tables

_NODES = Need("nodes of a facility", has_nodes)

_FIGURES = (
    Figure("rates-by-technique", "Reward rate by technique", (Need("techniques", compares_rates),), rates_by_technique),
    Figure(
        "rates-by-number", "Reward rate as one number changes", (Need("a number turned", has_sweep),), rates_by_number
    ),
    Figure("rate-over-time", "Reward rate by time of the search", (Need("progress", has_progress),), rate_over_time),
    Figure("cores-of-nodes", "What the cores do", (Need("cores of a facility", has_cores),), cores_of_nodes),
    Figure("map-of-temperatures", "How warm the air is", (_NODES,), map_of_temperatures),
    Figure("map-of-powers", "Where the power goes", (_NODES,), map_of_powers),
)
_METRICS = (
    "crr_percent", "rr_percent", "bound_percent", "gap_percent", "total_w", "cap_w", "cooling_w",
    "redline_margin_k", "supply_mean_c", "n_idle_cores", "heavy_neighbours", "value_per_kw", "value_per_k",
    "solve_s",
)  # fmt: skip
_DAY = (
    "day_planned_percent", "day_earned_percent", "earned_of_planned_percent", "day_late_percent",
    "day_dropped_percent", "day_peak_w", "cap_w", "day_above_cap_percent", "day_redline_margin_k", "day_plans",
)  # fmt: skip
"""The metrics of a day of a facility, the first of which all that have a day have."""


def facility_tables(records: Records) -> list[Table]:
    """What plans reached beside what is proven, and what is earned where they are followed through a day."""
    day = measured_table(records, _DAY, "A day that follows the plans") if records.measures(_DAY[0]) else []
    return [*search_tables(records, _METRICS), *(replace(table, note=_noted(table.note)) for table in day)]


def _noted(note: str) -> str:
    return f"{PASSES_BOUND} {note}".rstrip()


_KEYS = {"system.nodes": Key("size", "nodes"), "system.cap_share": Key("power cap", "of full power")}

PAGES = {
    "facility": Page(
        facility_findings, facility_tables, _FIGURES, GLOSSARY,
        dict.fromkeys((NODES, CRACS, CORES, RATES, PROGRESS)), _KEYS,
    ),
}  # fmt: skip

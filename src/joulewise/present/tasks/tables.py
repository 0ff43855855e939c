"""The tables of a report on a managed day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joulewise.present.records import Records
from joulewise.present.tables import BEST, Cell, Table, cost_tables, pivots, plus_minus
from joulewise.present.tasks.keys import THRESHOLD


def day_tables(records: Records) -> list[Table]:
    """Utility and the cost of energy at each setting."""
    return [*utility_tables(records), *cost_tables(records, THRESHOLD)]


def utility_tables(records: Records) -> list[Table]:
    """Mean percentage of maximum utility with its interval, one table per setting."""
    best = set(records.clear_best.select(records.varying).iter_rows()) if records.main else set()

    def cell(row: Mapping[str, Any]) -> Cell:
        is_best = tuple(row[key] for key in records.varying) in best
        return Cell(plus_minus(row), BEST) if is_best else Cell(plus_minus(row))

    note = "In % of the maximum utility: mean ± half of the 95 % interval, the best in bold."
    if records.clear_best.height < records.best.height:
        note += " Where runs have no result, none is called the best."
    return pivots(records, records.utility(), cell, note, "Utility", THRESHOLD)

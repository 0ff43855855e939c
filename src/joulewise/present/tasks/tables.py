"""The tables of a report on a managed day."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joulewise.present.records import Records
from joulewise.present.tables import ALIKE, Cell, Table, cost_tables, pivots, plus_minus, spread_note
from joulewise.present.tasks.keys import THRESHOLD
from joulewise.study.answers.statistics import BEST, TIED

_MARKS = {BEST: "best", TIED: ALIKE}
"""How the cells of points look that stand first in their world."""


def day_tables(records: Records) -> list[Table]:
    """Utility and the cost of energy at each setting."""
    return [*utility_tables(records), *cost_tables(records, THRESHOLD)]


def utility_tables(records: Records) -> list[Table]:
    """Mean share of utility with its interval, one table per setting; the best of each world and its ties marked."""
    if not records.measures(records.share):
        return []
    leaders = records.gaps.drop_nulls("standing")
    kinds = {
        tuple(row[key] for key in records.varying): _MARKS[row["standing"]] for row in leaders.iter_rows(named=True)
    }

    def cell(row: Mapping[str, Any]) -> Cell:
        return Cell(plus_minus(row), kinds.get(tuple(row[key] for key in records.varying), ""))

    where = f" of each {' and '.join(records.words(key).name for key in records.places)}" if records.places else ""
    bold = f" Bold: the best{where}." if leaders.height else ""
    tied = " Italics: not told apart from it by these trials." if TIED in leaders["standing"] else ""
    note = f"In % of {records.whole}{spread_note(records, records.utility())}.{bold}{tied}"
    if records.runs[records.share].null_count():
        note += " Where runs have no result, none is called the best."
    return pivots(records, records.utility(), cell, note, "Utility", THRESHOLD)

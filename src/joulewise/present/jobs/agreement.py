"""Logged waits beside those of a replay: how near a scheduler comes to what its site did."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from joulewise.present.formats import MISSING, metric_value
from joulewise.present.jobs.bars import WAIT
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import LOGGED, kept
from joulewise.present.layout import panels_of
from joulewise.present.records import Records
from joulewise.present.tables import Cell, Table

_SHARES = ("within_minute_percent", "within_ten_minutes_percent", "within_hour_percent")
_COLUMNS = ("by", "name", "jobs", "mean_logged_wait_s", "mean_wait_s", *_SHARES)
_SHOWN = {"all": "all", "partition": "partition {}", "size": "processors: {}"}
_HEADINGS = ("Jobs", "Logged mean wait", "Simulated", "Within 1 min", "10 min", "1 h")


def agreement_tables(seen: Records) -> list[Table]:
    """A table for each scheduler of the first setting, over all jobs and by partition and size."""
    rows = kept(seen, LOGGED, list(_COLUMNS))
    if rows.is_empty():
        return []
    panels, _ = panels_of(seen, rows, [name for name in seen.varying if name != SCHEDULER])
    labels = seen.labels(SCHEDULER)
    schedulers = [value for value in labels if value in set(panels[0].rows[SCHEDULER])]
    note = (
        "Jobs of the first kept trial whose wait the log tells; shares are of waits that differ by no more than that."
    )
    return [
        Table(
            f"Logged and simulated waits, {labels[value]}", "Jobs", _HEADINGS, tuple(_rows(panels[0].rows, value)), note
        )
        for value in schedulers
    ]


def _rows(rows: pl.DataFrame, scheduler: object) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """What stands in front, and the cells; where all jobs are of one partition or size, that has no row."""
    of_one = rows.filter(pl.col(SCHEDULER) == scheduler)
    for by, words in _SHOWN.items():
        some = of_one.filter(pl.col("by") == by)
        for row in some.iter_rows(named=True) if by == "all" or some.height > 1 else ():
            waits = (metric_value(WAIT, row[column]) for column in ("mean_logged_wait_s", "mean_wait_s"))
            shares = (MISSING if row[column] is None else f"{row[column]:.1f} %" for column in _SHARES)
            cells = (Cell(f"{row['jobs']:,}"), *map(Cell, waits), *map(Cell, shares))
            yield words.format(row["name"] if row["name"] is not None else "not known"), cells

"""The tables of a report on parallel jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present.formats import MISSING, fixed, metric_value, number
from joulewise.present.jobs.agreement import agreement_tables
from joulewise.present.jobs.bars import BUSY, SLOWDOWN, WAIT
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import FINDINGS, JOBS, QUEUES, USERS, is_sited, job_view, kept, node_word
from joulewise.present.layout import Panel, panels_of, sentence
from joulewise.present.records import POSSIBLE, UTILITY, Records
from joulewise.present.tables import WORDS, Cell, Table, cost_tables, measured_table, points_table
from joulewise.study.answers import statistics

_METRICS = (
    POSSIBLE, UTILITY, WAIT, "median_wait_s", "p95_wait_s", "mean_turnaround_s", SLOWDOWN, BUSY, "mean_queue_length",
    "energy_j", "energy_per_job_j", "jobs_completed", "jobs_dropped", "jobs_waiting", "makespan_s", "fairness",
)  # fmt: skip
_OF_RULES = (POSSIBLE, UTILITY, "energy_j", "energy_per_job_j")
"""What logs do not tell, and rules may."""
_CHANGING = (WAIT, "median_wait_s", "p95_wait_s", SLOWDOWN, BUSY)
_MOST_ROWS = 25
_PARTITION = "partition"
_SUMMARIES = {
    _PARTITION: ("Partitions", "also those outside the counted window; most jobs first", "jobs"),
    "queue": ("Queues", "most jobs first", "jobs"),
    "user": ("Users", "most time on {}s first", "node_s"),
}


def job_tables(records: Records) -> list[Table]:
    """What came out for every scheduler, the cost of energy, and the summaries by queue and by user."""
    if not records.n_runs:
        return []
    seen, best = job_view(records)
    metrics = [metric for metric in _METRICS if seen.tells_utility or metric not in _OF_RULES]
    came_out = [*measured_table(seen, metrics, f"What came out.{best}".removesuffix(".")), *_changes(seen)]
    summaries = [*_by_partition(seen), *_by(seen, "queue", QUEUES), *_by(seen, "user", USERS)]
    return [*came_out, *cost_tables(seen), *summaries, *agreement_tables(seen), *_log_tables(seen)]


def _changes(seen: Records) -> list[Table]:
    """Where waits are what people see first, how each differs in them from the first that is compared, in pairs."""
    metrics = [name for name in _CHANGING if seen.measures(name)]
    if seen.tells_utility or seen.main is None or not metrics:
        return []
    base = seen.values(seen.main)[0]
    found = statistics.differences(seen.runs, seen.study.axes, metrics, seen.main, seen.error)
    rows = found.filter(pl.col("against") == pl.lit(base, found["against"].dtype))
    named = seen.phrase(seen.main, base)
    note = f"Less {named}, on the same trials: of waits and slowdowns, what is below 0 is shorter. "
    spread = "The trials do not tell a difference from none where its half-interval is larger than the difference."
    table = points_table(replace(seen, summary=rows), metrics, f"Difference from {named}")
    return [replace(table, note=f"{note}{spread if rows['low'].count() else ''}".strip())] if rows.height else []


def _log_tables(seen: Records) -> list[Table]:
    """What was odd in a log, and what was done about it; of the first log that was kept."""
    if not seen.keeps(FINDINGS, "n", "reason", "done"):
        return []
    oddities = seen.frame(FINDINGS)
    first = oddities.filter(pl.col("run") == oddities["run"][0])
    rows = tuple(
        (sentence(reason), (Cell(fixed(n, 0)), Cell(done, WORDS)))
        for reason, n, done in first.select("reason", "n", "done").iter_rows()
    )
    return [Table("What was odd in the log", "What", ("How often", "What was done"), rows)]


def _by(seen: Records, key: str, table: str) -> list[Table]:
    """Mean wait and bounded slowdown of the jobs of each queue or user, at the first setting."""
    return _summaries(seen, key, kept(seen, table, [key, "jobs", "node_s", WAIT, SLOWDOWN]))


def _by_partition(seen: Records) -> list[Table]:
    """The same of the jobs of each partition of a site, as their log names it."""
    if not is_sited(seen):
        return []
    jobs = kept(seen, JOBS, [_PARTITION, "wait_s", "bounded_slowdown"])
    if jobs.is_empty():
        return []
    keys = [name for name in jobs.columns if name not in ("job", "wait_s", "bounded_slowdown")]
    had_nodes = jobs.drop_nulls([_PARTITION, "wait_s", "bounded_slowdown"])
    means = (pl.col("wait_s").mean().alias(WAIT), pl.col("bounded_slowdown").mean().alias(SLOWDOWN))
    rows = had_nodes.group_by(keys, maintain_order=True).agg(pl.len().alias("jobs"), *means)
    return _summaries(seen, _PARTITION, rows)


def _summaries(seen: Records, key: str, rows: pl.DataFrame) -> list[Table]:
    if rows.is_empty():
        return []
    panels, _ = panels_of(seen, rows.drop_nulls(key), [name for name in seen.varying if name != SCHEDULER])
    return [_summary_table(seen, key, panel) for panel in panels[:1] if panel.rows[key].n_unique() > 1]


def _summary_table(seen: Records, key: str, panel: Panel) -> Table:
    title, order, weight = _SUMMARIES[key]
    sizes = panel.rows.group_by(key).agg(pl.col(weight).max()).sort(weight, key, descending=[True, False])
    names = sizes[key].to_list()
    here = {(row[key], row[SCHEDULER]): row for row in panel.rows.iter_rows(named=True)}
    schedulers = {
        value: label for value, label in seen.labels(SCHEDULER).items() if value in set(panel.rows[SCHEDULER])
    }
    rows = tuple((str(name), _cells([here.get((name, value)) for value in schedulers])) for name in names[:_MOST_ROWS])
    left = f" The first {_MOST_ROWS} of {len(names)}." if len(names) > _MOST_ROWS else ""
    place = f", {panel.title}" if panel.title else ""
    columns = ("Jobs", *(f"{label}: mean wait; bounded slowdown" for label in schedulers.values()))
    note = f"Jobs that ran, first kept trial; {order.format(node_word(seen))}.{left}"
    return Table(f"{title}: mean wait and bounded slowdown{place}", sentence(key), columns, rows, note)


def _cells(rows: Sequence[Mapping[str, Any] | None]) -> tuple[Cell, ...]:
    """The number of jobs, and wait and slowdown with each scheduler."""
    n_jobs = next((fixed(row["jobs"], 0) for row in rows if row is not None), MISSING)
    return (Cell(n_jobs), *map(_cell, rows))


def _cell(row: Mapping[str, Any] | None) -> Cell:
    if row is None or row[WAIT] is None:
        return Cell(MISSING)
    return Cell(f"{metric_value(WAIT, row[WAIT])}; {number(row[SLOWDOWN])}")

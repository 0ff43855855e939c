"""The headline and the tables of a report on parallel jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from joulewise.present.findings import Finding, findings
from joulewise.present.formats import MISSING, fixed, metric_value, number, percent
from joulewise.present.jobs.bars import earn_apart
from joulewise.present.jobs.view import FINDINGS, QUEUES, USERS, job_view, kept, of_jobs
from joulewise.present.layout import Panel, hold, panels_of, sentence
from joulewise.present.records import SCHEDULER, UTILITY, Records
from joulewise.present.tables import Cell, Table, cost_tables, points_table
from joulewise.units import count, duration

_WAIT, _SLOWDOWN, _IMPOSSIBLE = "mean_wait_s", "mean_bounded_slowdown", "jobs_impossible"
_MAX_FINDINGS = 6
_TOLD = (
    UTILITY, "possible_percent", "energy_j", "energy_per_job_j", "jobs_completed", "jobs_dropped", "jobs_waiting",
    "mean_wait_s", "median_wait_s", "mean_turnaround_s", "mean_bounded_slowdown", "busy_percent", "mean_queue_length",
    "makespan_s", "fairness",
)  # fmt: skip
_MOST_ROWS = 25
_SUMMARIES = {
    "queue": ("Queues", "most jobs first", "jobs"),
    "user": ("Users", "most time on nodes first", "node_s"),
}


# --- findings -------------------------------------------------------------------------------------------


def job_findings(records: Records) -> list[Finding]:
    """Which scheduler earned most, with which jobs waited least, and what never ran."""
    if not of_jobs(records):
        return [Finding("No run has a result yet.")]
    seen, _ = job_view(records, folds=True)
    earned = findings(seen) if earn_apart(records) else []
    return [*earned[:_MAX_FINDINGS], *_wait_findings(seen), *_impossible(seen)]


def _wait_findings(seen: Records) -> list[Finding]:
    """At each setting the scheduler with the shortest mean wait."""
    if not seen.measures(_WAIT, _SLOWDOWN):
        return []
    keys = [key for key in seen.varying if key != SCHEDULER]
    panels, _ = panels_of(seen, seen.summary.filter(pl.col("metric") == _WAIT, pl.col("mean").is_not_null()), keys)
    return [_wait_finding(seen, panel) for panel in panels[:_MAX_FINDINGS]]


def _wait_finding(seen: Records, panel: Panel) -> Finding:
    row = panel.rows.sort("mean", maintain_order=True).row(0, named=True)
    name = seen.phrases(row, [key for key in (SCHEDULER,) if key in seen.varying])
    place = f"{panel.title}: " if panel.title else ""
    of_several = panel.rows.height > 1 and name
    lead = (
        f"with {name} jobs waited least: {duration(row['mean'])}"
        if of_several
        else f"jobs waited {duration(row['mean'])}"
    )
    return Finding(f"{sentence(place + lead)} on average.", _beside(_means(seen, row)))


def _beside(means: Mapping[str, float]) -> str:
    """The slowdown, and how busy the clusters were."""
    parts = [f"their mean bounded slowdown was {number(means[_SLOWDOWN])}"]
    if "busy_percent" in means:
        parts.append(f"{percent(means['busy_percent'], 1)} of the cores' time was used")
    return f"{sentence('; '.join(parts))}."


def _means(seen: Records, row: Mapping[str, Any]) -> dict[str, float]:
    """The means of all metrics at the point of a row of the summary."""
    here = hold(seen.summary, {key: row[key] for key in seen.study.axes})
    return {name: mean for name, mean in here.select("metric", "mean").iter_rows() if mean is not None}


def _impossible(seen: Records) -> list[Finding]:
    """How many jobs fit nowhere, in the run with most of them."""
    if not seen.measures(_IMPOSSIBLE):
        return []
    most = int(seen.runs[_IMPOSSIBLE].max() or 0)  # type: ignore[arg-type]
    fit = "fits" if most == 1 else "fit"
    said = f"{count(most, 'job')} {fit} on no cluster and never ran."
    return [Finding(said, "They are larger than every cluster that they may use.")] if most else []


# --- tables ---------------------------------------------------------------------------------------------


def job_tables(records: Records) -> list[Table]:
    """What came out for every scheduler, the cost of energy, and the summaries by queue and by user."""
    if not of_jobs(records):
        return []
    seen, best = job_view(records)
    found = set(seen.summary["metric"])
    metrics = [name for name in _TOLD if name in found and seen.measures(name)]
    table = points_table(seen, metrics, f"What came out.{best}".removesuffix("."))
    summaries = [*_by(seen, "queue", QUEUES), *_by(seen, "user", USERS)]
    return [table, *cost_tables(seen), *summaries, *_log_tables(seen)]


def _log_tables(seen: Records) -> list[Table]:
    """What was odd in a log, and what was done about it; of the first log that was kept."""
    if not seen.keeps(FINDINGS, "n", "reason", "done"):
        return []
    oddities = seen.frame(FINDINGS)
    first = oddities.filter(pl.col("run") == oddities["run"][0])
    rows = tuple(
        (sentence(reason), (Cell(fixed(n, 0)), Cell(done, "words")))
        for reason, n, done in first.select("reason", "n", "done").iter_rows()
    )
    return [Table("What was odd in the log", "What", ("How often", "What was done"), rows)]


def _by(seen: Records, key: str, table: str) -> list[Table]:
    """Mean wait and bounded slowdown of the jobs of each queue or user, at the first setting."""
    rows = kept(seen, table, [key, "jobs", "node_s", _WAIT, _SLOWDOWN])
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
    note = f"Jobs that ran, first kept trial; {order}.{left}"
    return Table(f"{title}: mean wait and bounded slowdown{place}", sentence(key), columns, rows, note)


def _cells(rows: Sequence[Mapping[str, Any] | None]) -> tuple[Cell, ...]:
    """The number of jobs, and wait and slowdown with each scheduler."""
    n_jobs = next((fixed(row["jobs"], 0) for row in rows if row is not None), MISSING)
    return (Cell(n_jobs), *map(_cell, rows))


def _cell(row: Mapping[str, Any] | None) -> Cell:
    if row is None or row[_WAIT] is None:
        return Cell(MISSING)
    return Cell(f"{metric_value(_WAIT, row[_WAIT])}; {number(row[_SLOWDOWN])}")

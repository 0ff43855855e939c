"""Logged waits beside those of a replay: how near a scheduler comes to what its site did, and why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from joulewise.present.formats import MISSING, metric_value
from joulewise.present.jobs.bars import WAIT
from joulewise.present.jobs.keys import SCHEDULER
from joulewise.present.jobs.view import LOGGED, WAITS, kept
from joulewise.present.layout import panels_of, sentence
from joulewise.present.records import Records
from joulewise.present.tables import WORDS, Cell, Table
from joulewise.study.jobs.agreement import NEAR_S
from joulewise.study.jobs.reasons import REASONS
from joulewise.units import duration

_SHARES = tuple(f"within_{name}_percent" for name in NEAR_S)
_COLUMNS = ("by", "name", "jobs", "mean_logged_wait_s", "mean_wait_s", *_SHARES)
_SHOWN = {"all": "all", "partition": "partition {}", "size": "processors: {}"}
_HEADINGS = ("Jobs", "Logged mean wait", "Simulated", "Within 1 min", "10 min", "1 h")
_OF_JOBS = ("job_id", "processors", "logged_wait_s", "wait_s", "difference_s", "first_start_s", "reason")
_BESIDE = ("partition", "queue", "user")
_MOST = 10
_UNKNOWN = "not known"


def agreement_tables(seen: Records) -> list[Table]:
    """For each scheduler of the first setting how near it comes, why not nearer, and where most and where first."""
    labels = [name for name in _BESIDE if name in seen.frame(WAITS).columns]
    return [
        *_tables(seen, LOGGED, _COLUMNS, _nearness),
        *_tables(seen, WAITS, _OF_JOBS, _reasons),
        *_tables(seen, WAITS, (*_OF_JOBS, *labels), _largest),
        *_tables(seen, WAITS, (*_OF_JOBS, *labels), _first),
    ]


def _tables(
    seen: Records, table: str, columns: tuple[str, ...], made: Callable[[pl.DataFrame, str], Table | None]
) -> Iterator[Table]:
    """What is made of a detail table for each scheduler of the first setting."""
    rows = kept(seen, table, list(columns))
    panels, _ = panels_of(seen, rows, [name for name in seen.varying if name != SCHEDULER])
    for panel in panels[:1]:
        for value, label in seen.labels(SCHEDULER).items():
            of_one = panel.rows.filter(pl.col(SCHEDULER) == value)
            found = None if of_one.is_empty() else made(of_one, label)
            if found is not None:
                yield found


# --- how near -------------------------------------------------------------------------------------------


def _nearness(rows: pl.DataFrame, scheduler: str) -> Table:
    note = (
        "Jobs of the first kept trial whose wait the log tells; shares are of waits that differ by no more than that."
    )
    return Table(f"Logged and simulated waits, {scheduler}", "Jobs", _HEADINGS, tuple(_rows(rows)), note)


def _rows(rows: pl.DataFrame) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """What stands in front, and the cells; where all jobs are of one partition or size, that has no row."""
    for by, words in _SHOWN.items():
        some = rows.filter(pl.col("by") == by)
        for row in some.iter_rows(named=True) if by == "all" or some.height > 1 else ():
            waits = (metric_value(WAIT, row[column]) for column in ("mean_logged_wait_s", "mean_wait_s"))
            shares = (MISSING if row[column] is None else f"{row[column]:.1f} %" for column in _SHARES)
            cells = (Cell(f"{row['jobs']:,}"), *map(Cell, waits), *map(Cell, shares))
            yield words.format(row["name"] if row["name"] is not None else _UNKNOWN), cells


# --- why not nearer -------------------------------------------------------------------------------------


def _reasons(jobs: pl.DataFrame, scheduler: str) -> Table | None:
    """How many jobs differ for which reason, the most frequent one first; None where none does."""
    apart_s = pl.col("difference_s").abs()
    counts = (
        jobs.drop_nulls(_OF_JOBS)
        .group_by(pl.col("reason").cast(pl.String))
        .agg(
            pl.len().alias("jobs"),
            *((apart_s > near_s).sum().alias(name) for name, near_s in list(NEAR_S.items())[1:]),
            mean_s=pl.col("difference_s").mean(),
        )
        .sort("jobs", "reason", descending=[True, False])
    )
    if counts.is_empty():
        return None
    rows = tuple((sentence(row["reason"]), _reason_cells(row)) for row in counts.iter_rows(named=True))
    columns = ("More than 1 min apart", "10 min", "1 h", "Simulated less logged, mean", "What that says")
    note = (
        "Jobs of the first kept trial by what held them at the instant at which they had started on one side, in the "
        "log or in the replay, and still waited on the other. The first reason that holds counts."
    )
    return Table(f"Why waits differ, {scheduler}", "Reason", columns, rows, note)


def _reason_cells(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    numbers = (row["jobs"], *(row[name] for name in list(NEAR_S)[1:]))
    counts = (Cell(f"{n:,}") for n in numbers)
    return (*counts, Cell(more(row["mean_s"])), Cell(REASONS.get(row["reason"], ""), WORDS))


def _largest(jobs: pl.DataFrame, scheduler: str) -> Table | None:
    """The jobs whose waits differ most."""
    note = "Jobs of the first kept trial. The table `waits` of the results has all jobs."
    by_size = jobs.sort(pl.col("difference_s").abs(), descending=True, maintain_order=True)
    return _of_jobs(by_size, f"The largest differences of waits, {scheduler}", note)


def _first(jobs: pl.DataFrame, scheduler: str) -> Table | None:
    """The jobs whose waits differ first, by the earlier one of their starts."""
    note = (
        "Jobs of the first kept trial. Before the first of them all waits are alike to within a minute, so "
        "look here for causes: a difference makes others, which come later and may be larger."
    )
    by_start = jobs.sort("first_start_s", maintain_order=True)
    return _of_jobs(by_start, f"The first differences of waits, {scheduler}", note)


def _of_jobs(jobs: pl.DataFrame, caption: str, note: str) -> Table | None:
    """The first of those jobs whose waits differ; None where none do."""
    rows = jobs.drop_nulls(_OF_JOBS).head(_MOST)
    if rows.is_empty():
        return None
    beside = [name for name in _BESIDE if name in jobs.columns and jobs[name].n_unique() > 1]
    columns = (*map(sentence, beside), "Processors", "Logged wait", "Simulated", "Difference", "Reason")
    cells = tuple((str(row["job_id"]), _job_cells(row, beside)) for row in rows.iter_rows(named=True))
    return Table(caption, "Job", columns, cells, note)


def _job_cells(row: Mapping[str, Any], beside: list[str]) -> tuple[Cell, ...]:
    names = (Cell(_UNKNOWN if row[name] is None else str(row[name]), WORDS) for name in beside)
    waits = (Cell(duration(row[name])) for name in ("logged_wait_s", "wait_s"))
    return (*names, Cell(f"{row['processors']:,}"), *waits, Cell(more(row["difference_s"])), Cell(row["reason"], WORDS))


def more(length_s: float) -> str:
    """A difference of two lengths of time with its sign."""
    sign = "+" if length_s > 0 else "\N{MINUS SIGN}" if length_s < 0 else ""
    return f"{sign}{duration(abs(length_s))}"

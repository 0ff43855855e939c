"""What an imported log holds, and everything about it that is odd, counted by reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from joulewise.errors import InputError
from joulewise.model.arrays import Bools
from joulewise.worlds.jobs.logged_conditions import LoggedConditions, n_odd_dependencies
from joulewise.worlds.jobs.logs import SCHEMA, LogAbout
from joulewise.worlds.jobs.trace_files import TraceTable
from joulewise.worlds.jobs.trace_jobs import (
    COLUMNS,
    TraceConventions,
    TraceFinding,
    findings_of_reading,
    jobs_to_replay,
)

_ROWS_AT_ONCE = 100_000


_END_OF_CALENDAR_S = 253_402_300_800
"""The year 10000."""


@dataclass(frozen=True)
class TraceReport:
    """A log in figures. `n_jobs` can be replayed under the usual conventions, of `n_logged` in the file, and fit there.

    `read` says of how many jobs the log tells what stands in each column, and `findings` what was changed or guessed,
    and what is lost.
    `load_percent` is what they need of the log's own machine from the first submission to the last; None where the
    size of that is not known.
    """

    source: str
    about: LogAbout
    n_logged: int
    n_jobs: int
    n_users: int
    n_queues: int
    first_s: int
    span_s: int
    load_percent: float | None
    read: dict[str, int]
    findings: tuple[TraceFinding, ...]

    @property
    def first_at(self) -> str:
        """When the first job was submitted, in UTC or as the log has it; "" where it is not known."""
        start_s = self.about.start_unix_s
        if start_s is None or not 0 <= start_s + self.first_s < _END_OF_CALENDAR_S:
            return ""
        return datetime.fromtimestamp(start_s + self.first_s, UTC).replace(tzinfo=None).isoformat()


def report_on(path: Path, table: TraceTable) -> TraceReport:
    """The report on a file that a log was imported to, of which `table` tells all but the jobs."""
    jobs = pl.scan_parquet(path, glob=False)
    n_logged, first_s, span_s, n_users, n_queues = (
        jobs.select(
            pl.len(),
            first=pl.col("submit_s").min(),
            span=pl.col("submit_s").max() - pl.col("submit_s").min(),
            users=pl.col("user").drop_nulls().n_unique(),
            queues=pl.col("queue").drop_nulls().n_unique(),
        )
        .collect(engine="streaming")
        .row(0)
    )
    read = jobs.select(pl.col(*SCHEMA).count()).collect(engine="streaming").row(0, named=True)
    cores, work_core_s, n_jobs = table.about.cores or table.about.nodes, 0.0, 0
    findings: dict[str, TraceFinding] = {}
    for part in _parts(jobs, n_logged):
        kept, more = jobs_to_replay(replace(table, jobs=part), TraceConventions())
        _add(findings, more)
        if kept is not None:
            fits = kept.cores <= (cores or kept.cores.max())
            _add(findings, _of_machine(~fits, kept.log))
            n_jobs += int(fits.sum())
            work_core_s += float((kept.run_s * kept.cores)[fits].sum())
    load = 100 * work_core_s / (cores * span_s) if cores and span_s else None
    waits = _of_conditions(jobs, table) if read["dependency"] else []
    everything = (*findings_of_reading(table), *_of_log(table.about, n_logged), *findings.values(), *waits)
    return TraceReport(
        table.source, table.about, n_logged, n_jobs, n_users, n_queues, first_s, span_s, load, read, everything
    )


def _parts(jobs: pl.LazyFrame, n: int) -> Iterator[pl.DataFrame]:
    for first in range(0, n, _ROWS_AT_ONCE):
        yield jobs.slice(first, _ROWS_AT_ONCE).select(COLUMNS).collect()


def _of_conditions(jobs: pl.LazyFrame, table: TraceTable) -> list[TraceFinding]:
    """What is odd about what jobs wait for, which the log as a whole tells; what a replay refuses is told by it."""
    kept, _ = jobs_to_replay(replace(table, jobs=jobs.select(COLUMNS).collect()), TraceConventions())
    findings: list[TraceFinding] = []
    if kept is not None:
        everything = np.ones(kept.cores.size, np.bool_)
        with suppress(InputError):
            LoggedConditions(kept, table.source, has_site=True).conditions(everything, findings)
    return findings


def _of_log(about: LogAbout, n: int) -> list[TraceFinding]:
    """What a log says of itself that its jobs do not bear out, what it does not say, and what in it is not read."""
    n_records = about.records or n
    is_local = about.start_unix_s is not None and about.clock != "UTC"
    findings = [
        TraceFinding(
            "not in the log", n_records - n, f"jobs of the {n_records:,} that the header counts are not in the log",
            "nothing is known of them", "lost",
        ),
        TraceFinding(
            "unread column", len(about.unread), f"columns of the log: {', '.join(about.unread)}", "not read", "lost"
        ),
        TraceFinding(
            "no size", 0 if about.cores else about.nodes or 0,
            "nodes of a machine of which the processors are not told", "taken as one processor each", "guessed",
        ),
        TraceFinding(
            "no known zone", n * is_local, "jobs with times of a clock in no known zone",
            "taken as if it were never changed: from summer to winter they may be an hour apart", "guessed",
        ),
    ]  # fmt: skip
    return [finding for finding in findings if finding.n > 0]


def _of_machine(is_too_large: Bools, log: pl.DataFrame) -> list[TraceFinding]:
    n_following = log.height - log["after_job"].null_count()
    findings = [
        TraceFinding(
            "too large", int(is_too_large.sum()), "jobs larger than the log's own machine", "impossible on it", "lost"
        ),
        TraceFinding(
            "follows another job",
            n_following,
            "jobs that follow another",
            "submitted after it has ended, if it is an earlier job of the log that can run",
        ),
        TraceFinding(
            "odd dependency", n_odd_dependencies(log), "jobs with a dependency that Slurm would not take",
            "refused by a replay, unless dependencies are left out of it", "lost",
        ),
    ]  # fmt: skip
    return [finding for finding in findings if finding.n]


def _add(findings: dict[str, TraceFinding], more: list[TraceFinding]) -> None:
    for finding in more:
        before = findings.get(finding.key)
        findings[finding.key] = finding._replace(n=finding.n + (before.n if before else 0))

"""The clock of a log: when its jobs were submitted by a calendar, and local times put right where the zone is known."""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo
from zoneinfo import ZoneInfo

import polars as pl

from joulewise.worlds.clock import Clock, zone_named
from joulewise.worlds.jobs.logs import LogAbout
from joulewise.worlds.jobs.trace_files import TraceTable
from joulewise.worlds.jobs.trace_jobs import TraceFinding

UTC_CLOCK = "UTC"


def with_zone(table: TraceTable, zone: ZoneInfo) -> tuple[TraceTable, list[TraceFinding]]:
    """The jobs by a clock that is never put forward or back, where the log has the local time of a zone.

    What clocks show twice is taken for the first time. What they skip is taken as if they had not been put forward.
    """
    about = table.about
    if about.start_unix_s is None or about.clock == UTC_CLOCK:
        return table, []
    wall = pl.from_epoch(pl.col("submit_s") + about.start_unix_s, "s")
    known = table.jobs.select(
        first=_in_zone(wall, zone, "earliest"),
        last=_in_zone(wall, zone, "latest"),
        skipped=_in_zone(wall.dt.offset_by("-2h"), zone, "earliest") + 2 * 3600,
    )
    n_twice, n_skipped = int((known["first"] < known["last"]).sum()), known["first"].null_count()
    submit_s = known.select((pl.coalesce("first", "skipped") - about.start_unix_s).cum_max()).to_series()
    jobs = table.jobs.with_columns(submit_s=submit_s)
    findings = [
        TraceFinding(
            "shown twice", n_twice, f"jobs submitted in an hour that clocks of {zone} show twice", "taken for the first"
        ),
        TraceFinding(
            "skipped",
            n_skipped,
            f"jobs submitted in an hour that clocks of {zone} skip",
            "taken as if clocks had not been put forward",
        ),
    ]
    moved = replace(table, jobs=jobs, about=replace(about, clock=UTC_CLOCK))
    return moved, [finding for finding in findings if finding.n]


def _in_zone(wall: pl.Expr, zone: ZoneInfo, ambiguous: str) -> pl.Expr:
    """The Unix seconds at which clocks of a zone show this; null where they skip it."""
    placed = wall.dt.replace_time_zone(zone.key, ambiguous=ambiguous, non_existent="null")  # type: ignore[arg-type]
    return placed.dt.epoch("s")


def clock_of_log(about: LogAbout, first_s: int, zone: tzinfo | None) -> Clock:
    """The clock of a replay in which instant 0 is this instant of the log; without a zone, that which the log names."""
    zero_s = None if about.start_unix_s is None else float(about.start_unix_s + first_s)
    is_local = zero_s is not None and about.clock != UTC_CLOCK
    return Clock(zero_s, is_local, zone or (None if is_local else zone_named(about.zone)), is_of_log=True)

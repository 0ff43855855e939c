"""`joulewise import`: a log of real jobs becomes a file that studies replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.output import AsJson, print_json, print_table, working
from joulewise.errors import InputError, Problem
from joulewise.units import count, duration

if TYPE_CHECKING:
    from joulewise.worlds.jobs.trace_report import TraceReport


def import_(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help="A log of jobs: Standard Workload Format, sacct --parsable2 or --json, or a list of pods of Alibaba's "
            "GPU cluster; plain or packed by gzip.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The file to write, if not the log's name with .parquet, in this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import a log of real jobs.

    A study replays the file that is written. What was read, changed, guessed and lost is counted by reason.
    """
    from joulewise.worlds.jobs.trace_files import import_log
    from joulewise.worlds.jobs.trace_report import report_on

    path = out or Path(_stem(log) + ".parquet")
    _check_target(path, log)
    with working(f"Reading {log.name}", quiet=as_json):
        table = import_log(log, path)
        report = report_on(path, table)
    if as_json:
        print_json(_as_json(report, path))
        return
    print_table(f"Read from {report.source}: {count(report.n_logged, 'job')}", list(_facts(report)), header=False)
    for part, title in _PARTS.items():
        rows = [
            {"": f"{found.n:,}", "what": found.reason, "what becomes of it": found.done}
            for found in report.findings
            if found.part == part
        ]
        print_table(title if rows else f"{title}: nothing", rows, numbers=("",))
    print(f"Jobs: {path}")


_PARTS = {
    "changed": "Changed, under the usual conventions",
    "guessed": "Guessed, under the usual conventions",
    "lost": "Lost, or not replayed on plain clusters",
}
"""The parts of what an import tells beside what was read, in this order."""


def _stem(log: Path) -> str:
    name = log.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _check_target(path: Path, log: Path) -> None:
    """InputError when the file to write is another one that somebody may want."""
    from joulewise.worlds.jobs.trace_files import holds_jobs

    if holds_jobs(log):
        raise InputError(Problem(str(log), "is an import already", advice="a study replays it as it is"))
    if path.is_dir():
        raise InputError(Problem(str(path), "found a folder", "must be a file", "name one with --out"))
    if not path.parent.is_dir():
        raise InputError(Problem(str(path.parent), "there is no such folder", advice="make it, or name another file"))
    if path.exists() and (path.resolve() == log.resolve() or not holds_jobs(path)):
        raise InputError(Problem(str(path), "is there already, and no import", advice="name another file with --out"))


def _facts(report: TraceReport) -> list[dict[str, str]]:
    about = report.about
    size = [count(n, what) for n, what in ((about.nodes, "node"), (about.cores, "processor")) if n]
    load = "" if report.load_percent is None else f"{report.load_percent:.1f} % of the machine"
    facts = {
        "format": about.form,
        "machine": ", ".join(filter(None, [about.name, *size])) or "not told",
        "first submitted": f"{report.first_at} {about.clock}" if report.first_at else "at an unknown instant",
        "submitted within": duration(report.span_s),
        "users and queues": f"{report.n_users:,} and {report.n_queues:,}",
        "told of all jobs": _columns(report, lambda n: n == report.n_logged),
        "told of some jobs": _columns(report, lambda n: 0 < n < report.n_logged),
        "not told": _columns(report, lambda n: n == 0),
        "can be replayed": f"{report.n_jobs:,}" + (f", which need {load}" if load else ""),
        "acknowledge": about.acknowledge,
    }
    return [{"what": what, "how much": said} for what, said in facts.items() if said]


def _columns(report: TraceReport, holds: Callable[[int], bool]) -> str:
    """The columns of which the log tells for as many jobs; with how many these are, where it is not all or none."""
    told = ((name, n) for name, n in report.read.items() if holds(n))
    return ", ".join(name if n in (0, report.n_logged) else f"{name} ({n:,})" for name, n in told)


def _as_json(report: TraceReport, path: Path) -> dict[str, Any]:
    about = {name: value for name, value in vars(report.about).items() if name != "comments"}
    findings = [found._asdict() for found in report.findings]
    return {**vars(report), "about": about, "findings": findings, "first_at": report.first_at, "file": str(path)}

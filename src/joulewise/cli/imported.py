"""What `joulewise import` tells of a log: four parts in the terminal, in JSON and on a page beside the jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import print_json, print_table
from joulewise.units import count, duration

if TYPE_CHECKING:
    from joulewise.worlds.jobs.trace_report import TraceReport

_PARTS = {
    "changed": "Changed, under the usual conventions",
    "guessed": "Guessed, under the usual conventions",
    "lost": "Lost, or not replayed on plain clusters",
}
"""The parts beside what was read, in this order."""


def page_of(path: Path) -> Path:
    """Where the page on an import stands: beside the file of its jobs."""
    return path.with_name(path.name.removesuffix(".parquet") + ".html")


def tell_import(report: TraceReport, path: Path, *, as_json: bool) -> None:
    """Write the page on an import, and print the same."""
    from joulewise.present.imported import write_import_page
    from joulewise.worlds.jobs.logs import LOG_COLUMNS

    facts, parts = _facts(report), {title: _rows(report, part) for part, title in _PARTS.items()}
    columns = [(column.name, f"{report.read[column.name]:,}", column.meaning) for column in LOG_COLUMNS]
    write_import_page(page_of(path), report.source, facts, parts, columns)
    if as_json:
        print_json(_as_json(report, path))
        return
    title = f"Read from {report.source}: {count(report.n_logged, 'job')}"
    print_table(title, [{"what": what, "how much": said} for what, said in facts.items()], header=False)
    for title, rows in parts.items():
        cells = [dict(zip(("", "what", "what becomes of it"), row, strict=True)) for row in rows]
        print_table(title if rows else f"{title}: nothing", cells, numbers=("",))
    print(f"Jobs: {path}")
    print(f"Page: {page_of(path)}")


def _rows(report: TraceReport, part: str) -> list[tuple[str, str, str]]:
    return [(f"{found.n:,}", found.reason, found.done) for found in report.findings if found.part == part]


def _facts(report: TraceReport) -> dict[str, str]:
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
    return {what: said for what, said in facts.items() if said}


def _columns(report: TraceReport, holds: Callable[[int], bool]) -> str:
    """The columns of which the log tells for as many jobs; with how many these are, where it is not all or none."""
    told = ((name, n) for name, n in report.read.items() if holds(n))
    return ", ".join(name if n in (0, report.n_logged) else f"{name} ({n:,})" for name, n in told)


def _as_json(report: TraceReport, path: Path) -> dict[str, Any]:
    about = {name: value for name, value in vars(report.about).items() if name != "comments"}
    findings = [found._asdict() for found in report.findings]
    places = {"file": str(path), "page": str(page_of(path))}
    return {**vars(report), "about": about, "findings": findings, "first_at": report.first_at, **places}

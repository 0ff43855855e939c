"""`joulewise import`: a log of real jobs, or the files of a site, become a file that studies use."""

from __future__ import annotations

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
        Path | None,
        typer.Argument(
            metavar="LOG",
            help="A log of jobs: Standard Workload Format, sacct --parsable2 or sacct --json, plain or packed by gzip.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="In place of a log, a file that describes a site: slurm.conf, what scontrol show config, partition or "
            "node prints, or sacctmgr show qos or assoc, or a list of nodes. If given again, all together describe it.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write, if not the log's name with .parquet, or site.toml for a site, in this folder."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import a log of real jobs, or a site.

    A study replays the log that is written, or runs on the site. Everything odd in a log is counted by reason. Of a
    site it is told what was read, changed, guessed, and what is not modelled.
    """
    if log is not None and not config:
        _import_log(log, out, as_json=as_json)
    elif config and log is None:
        _import_site(config, out or Path("site.toml"), as_json=as_json)
    else:
        found = f"found {log} and --config" if log else "found neither a log nor --config"
        raise InputError(Problem("import", found, "must be one of them", "import one after the other" if log else ""))


def _import_log(log: Path, out: Path | None, *, as_json: bool) -> None:
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
    print_table(f"{report.source}: {count(report.n_logged, 'job')}", list(_facts(report)), header=False)
    rows = [{"": f"{found.n:,}", "odd": found.reason, "what becomes of them": found.done} for found in report.findings]
    if rows:
        print_table("Everything odd, under the usual conventions", rows, numbers=("",))
    print(f"Jobs: {path}")


def _import_site(files: list[Path], path: Path, *, as_json: bool) -> None:
    from joulewise.worlds.jobs.sites.import_site import import_site, write_site

    _check_place(path)
    if path.exists():
        advice = "name another file with --out, or remove it"
        raise InputError(Problem(str(path), "is there already, and may have changes of yours", advice=advice))
    with working(f"Reading {', '.join(file.name for file in files)}", quiet=as_json):
        imported = import_site(files)
        write_site(imported, path, [file.name for file in files])
    if as_json:
        print_json(
            {
                "site": imported.site.name,
                "nodes": sum(group.count for group in imported.site.nodes),
                "partitions": [partition.name for partition in imported.site.partitions],
                "findings": [found._asdict() for found in imported.findings],
                "file": str(path),
            }
        )
        return
    rows = [{"": found.fate, "what": found.what, "how": found.said} for found in imported.findings]
    print_table(f"{imported.site.name}: what became of {', '.join(file.name for file in files)}", rows)
    print(f"Site: {path}")


def _stem(log: Path) -> str:
    name = log.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _check_target(path: Path, log: Path) -> None:
    """InputError when the file to write is another one that somebody may want."""
    from joulewise.worlds.jobs.trace_files import holds_jobs

    if holds_jobs(log):
        raise InputError(Problem(str(log), "is an import already", advice="a study replays it as it is"))
    _check_place(path)
    if path.exists() and (path.resolve() == log.resolve() or not holds_jobs(path)):
        raise InputError(Problem(str(path), "is there already, and no import", advice="name another file with --out"))


def _check_place(path: Path) -> None:
    """InputError where no file can be written."""
    if path.is_dir():
        raise InputError(Problem(str(path), "found a folder", "must be a file", "name one with --out"))
    if not path.parent.is_dir():
        raise InputError(Problem(str(path.parent), "there is no such folder", advice="make it, or name another file"))


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
        "can be replayed": f"{report.n_jobs:,}" + (f", which need {load}" if load else ""),
        "acknowledge": about.acknowledge,
    }
    return [{"what": what, "how much": said} for what, said in facts.items() if said]


def _as_json(report: TraceReport, path: Path) -> dict[str, Any]:
    about = {name: value for name, value in vars(report.about).items() if name != "comments"}
    findings = [found._asdict() for found in report.findings]
    return {**vars(report), "about": about, "findings": findings, "first_at": report.first_at, "file": str(path)}

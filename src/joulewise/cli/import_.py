"""`joulewise import`: a log of real jobs, or the files of a site, become a file that studies use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.imported import page_of, tell_import
from joulewise.cli.output import AsJson, print_json, print_table, working
from joulewise.errors import InputError, Problem

_ANOTHER = "name another file with --out"


def import_(
    log: Annotated[
        Path | None,
        typer.Argument(
            metavar="LOG",
            help="A log of jobs: Standard Workload Format, sacct --parsable2 or --json, or a list of pods of Alibaba's "
            "GPU cluster; plain or packed by gzip.",
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

    A study replays the log that is written, or runs on the site. It is told what was read, changed, guessed and lost;
    of a log on a page beside it as well.
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
    tell_import(report, path, as_json=as_json)


def _import_site(files: list[Path], path: Path, *, as_json: bool) -> None:
    from joulewise.worlds.jobs.sites.import_site import import_site, write_site

    _check_place(path)
    if path.exists():
        advice = f"{_ANOTHER}, or remove it"
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
    """InputError when a file to write is another one that somebody may want."""
    from joulewise.present.imported import is_import_page
    from joulewise.worlds.jobs.trace_files import holds_jobs

    if holds_jobs(log):
        raise InputError(Problem(str(log), "is an import already", advice="a study replays it as it is"))
    _check_place(path)
    if path.exists() and (path.resolve() == log.resolve() or not holds_jobs(path)):
        raise InputError(Problem(str(path), "is there already, and no import", advice=_ANOTHER))
    page = page_of(path)
    if page.exists() and not is_import_page(page):
        raise InputError(Problem(str(page), "is there already, and no page on an import", advice=_ANOTHER))


def _check_place(path: Path) -> None:
    """InputError where no file can be written."""
    if path.is_dir():
        raise InputError(Problem(str(path), "found a folder", "must be a file", "name one with --out"))
    if not path.parent.is_dir():
        raise InputError(Problem(str(path.parent), "there is no such folder", advice="make it, or name another file"))

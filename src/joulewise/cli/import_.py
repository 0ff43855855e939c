"""`joulewise import`: a log of real jobs becomes a file that studies replay."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.imported import page_of, tell_import
from joulewise.cli.output import AsJson, working
from joulewise.errors import InputError, Problem


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

    A study replays the file that is written. A page beside it tells what was read, changed, guessed and lost.
    """
    from joulewise.worlds.jobs.trace_files import import_log
    from joulewise.worlds.jobs.trace_report import report_on

    path = out or Path(_stem(log) + ".parquet")
    _check_target(path, log)
    with working(f"Reading {log.name}", quiet=as_json):
        table = import_log(log, path)
        report = report_on(path, table)
    tell_import(report, path, as_json=as_json)


_ANOTHER = "name another file with --out"


def _stem(log: Path) -> str:
    name = log.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def _check_target(path: Path, log: Path) -> None:
    """InputError when a file to write is another one that somebody may want."""
    from joulewise.present.imported import is_import_page
    from joulewise.worlds.jobs.trace_files import holds_jobs

    if holds_jobs(log):
        raise InputError(Problem(str(log), "is an import already", advice="a study replays it as it is"))
    if path.is_dir():
        raise InputError(Problem(str(path), "found a folder", "must be a file", "name one with --out"))
    if not path.parent.is_dir():
        raise InputError(Problem(str(path.parent), "there is no such folder", advice="make it, or name another file"))
    if path.exists() and (path.resolve() == log.resolve() or not holds_jobs(path)):
        raise InputError(Problem(str(path), "is there already, and no import", advice=_ANOTHER))
    page = page_of(path)
    if page.exists() and not is_import_page(page):
        raise InputError(Problem(str(page), "is there already, and no page on an import", advice=_ANOTHER))

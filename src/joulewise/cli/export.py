"""`joulewise export`: schedules and records of stored results as files for others."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, FolderPath, note, print_paths, progress, working

_LARGE_BYTES = 100e6


def export(
    folder: FolderPath,
    kind: Annotated[str, typer.Option("--format", help="What the files are: csv or parquet.")] = "csv",
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder for the files, if not FOLDER/export.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write schedules and records as files for others.

    There is a file for each detail table, with the point and trial of each row, one that says what their columns mean,
    and a picture of the schedule where the study has one.
    """
    from joulewise.present.results import schedule_figures
    from joulewise.study import open_results
    from joulewise.study.answers.export import to_export
    from joulewise.units import count, size

    with working("Looking at the tables", quiet=as_json):
        work = to_export(folder, kind, out)
    if work.n_bytes > _LARGE_BYTES and not as_json:
        about = size(float(f"{work.n_bytes:.2g}"))
        note(f"Writing {count(work.n_rows, 'row')}, about {about}, into {work.folder.path}.")
    with progress("Writing", quiet=as_json) as move:
        written = work.write(move)
    with working("Drawing the schedule", quiet=as_json):
        written += [
            work.folder.write(f"{name}.png", partial(_write_bytes, drawn))
            for name, drawn in schedule_figures(open_results(folder))
        ]
    print_paths(written, as_json=as_json)


def _write_bytes(data: bytes, path: Path) -> None:
    path.write_bytes(data)

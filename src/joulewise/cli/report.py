"""`joulewise report`: write the report page and figures of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, FolderPath, print_paths, progress, working


def report(
    folder: FolderPath,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", help="Also write every figure as png, svg, pdf or html; may be repeated."),
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option("--figure", metavar="NAME", help="A figure to draw, in place of all; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report and figures of results."""
    from joulewise.present.gallery import check_names
    from joulewise.present.results import write_figures, write_report
    from joulewise.study import open_results

    results, figures, names = open_results(folder), list[Path](), figure or []
    check_names(results.study, names, "--figure")
    if formats:  # first, since only here another mistake can come to light
        with progress("Drawing figures", quiet=as_json) as move:
            figures = write_figures(results, formats=formats, on_progress=move, names=names)
    with working("Writing the report", quiet=as_json):
        written = [write_report(results, names), *figures]
    print_paths(written, as_json=as_json)

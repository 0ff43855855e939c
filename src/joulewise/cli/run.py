"""`joulewise run`: run a study, or what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, StudyPath, following, note, print_json, working
from joulewise.errors import InputError
from joulewise.units import noun

if TYPE_CHECKING:
    from joulewise.progress import Progress
    from joulewise.study import Results, Study


def run(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option(help="The results folder, if not results/NAME.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as processors if left out.")] = None,
    report: Annotated[bool, typer.Option(help="Write report.html as well.")] = True,
    as_json: AsJson = False,
) -> None:
    """Run a study, or what is left of it.

    Runs that are stored already are not repeated, and a report that is up to date is not written again; Ctrl-C keeps
    what is finished.
    """
    from joulewise.cli.result import show_failures, show_summary
    from joulewise.study import read_study

    with working(f"Checking {study}", quiet=as_json):
        checked = read_study(study)
    results = run_shown(checked, out, workers, quiet=as_json)
    page, lost = None, None
    if report:
        try:
            page = report_of(results, quiet=as_json)
        except InputError as error:  # where figures cannot be drawn, results are told all the same
            lost = error
    if as_json:
        counts = {"n_runs": results.n_runs, "n_failed": results.failed.height}
        places = {"folder": str(results.folder), "report": page and str(page)}
        print_json({**places, **counts, "summary": results.summary().to_dicts()})
    else:
        show_summary(results, page)
    if not results.failed.is_empty():
        show_failures(results)
        raise typer.Exit(SOME_RUNS_FAILED)
    if lost:
        raise lost


def run_shown(study: Study, out: Path | None, workers: int | None, *, quiet: bool) -> Results:
    """Run a study with a progress bar."""
    from joulewise.study import run_study

    with following(f"Running {study.name}", quiet=quiet) as follow:

        def tell(now: Progress) -> None:
            if now.n_done == 0 < now.n_total:
                _announce_compilation(study.kind.name)
            if now.n_total == 0 < now.n_reused and not quiet:
                was = noun(now.n_reused, "run was", "runs were")
                note(f"{now.n_reused:,} {was} there already: nothing is computed.")
            follow(now)

        return run_study(study, out, workers, tell)


def report_of(results: Results, *, quiet: bool) -> Path:
    """The report of results, written unless it is there."""
    from joulewise.present.results import current_report, write_report

    with working("Writing the report", quiet=quiet):
        return current_report(results) or write_report(results)


def _announce_compilation(kind: str) -> None:
    from joulewise.kernels.jit import kernels_are_compiled

    if not kernels_are_compiled(kind):
        note("Compiling for this machine, once; this takes a minute or two.")

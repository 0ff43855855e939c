"""`joulewise run`: run a study, or what is left of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.cli.interrupts import take_time
from joulewise.cli.output import AsJson, StudyPath, following, note, print_json, working
from joulewise.errors import InputError, Problem
from joulewise.units import noun

if TYPE_CHECKING:
    from joulewise.progress import Progress
    from joulewise.study import Results, Study
    from joulewise.study.running.engines.engine import Engine


def run(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option(help="The results folder, if not results/NAME.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as processors if left out.")] = None,
    dask: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler: an address, or its file."),
    ] = None,
    dask_slurm: Annotated[
        Path | None,
        typer.Option(metavar="PROFILE", help="Start workers through a queue (Slurm, PBS, LSF, SGE) as this file says."),
    ] = None,
    report: Annotated[bool, typer.Option(help="Write report.html as well.")] = True,
    as_json: AsJson = False,
) -> None:
    """Run a study, or what is left of it.

    Runs that are stored already are not repeated, and a report that is up to date is not written again; Ctrl-C keeps
    what is finished.
    """
    from joulewise.cli.result import show_failures, show_summary
    from joulewise.study import read_study

    engine = _engine_of(workers, dask, dask_slurm)
    with working(f"Checking {study}", quiet=as_json):
        checked = read_study(study)
        if checked.shown.figures:  # else what draws is loaded when there is something to draw
            from joulewise.present.gallery import check_choice

            check_choice(checked)
    results = run_shown(checked, out, workers, engine, quiet=as_json)
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


def _engine_of(workers: int | None, dask: str | None, profile: Path | None) -> Engine | None:
    """What computes elsewhere than in processes here, if that is asked for; InputError where two things are."""
    given = {"--workers": workers, "--dask": dask, "--dask-slurm": profile}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        found, advice = f"found {' and '.join(names)}", "each says by itself who computes: keep one of them"
        raise InputError(Problem("options", found, advice=advice))
    if dask is not None:
        from joulewise.study import Dask

        return Dask(dask)
    if profile is not None:
        from joulewise.study import Queued, read_profile

        take_time()  # jobs of a queue are cancelled before this process ends
        return Queued(read_profile(profile))
    return None


def run_shown(
    study: Study, out: Path | None, workers: int | None, engine: Engine | None = None, *, quiet: bool
) -> Results:
    """Run a study with a progress bar."""
    from joulewise.study import run_study

    told = losses = ""
    with following(f"Running {study.name}", quiet=quiet) as follow:

        def tell(now: Progress) -> None:
            nonlocal told, losses
            if now.n_done == 0 < now.n_total:
                _announce_compilation(study.kind.name)
            if now.n_total == 0 < now.n_reused and not quiet:
                was = noun(now.n_reused, "run was", "runs were")
                note(f"{now.n_reused:,} {was} there already: nothing is computed.")
            if now.now and now.now != told and not quiet:
                note(now.now)
            told, losses = now.now, now.losses
            follow(now)

        results = run_study(study, out, workers, tell, engine=engine)
    if losses and not quiet:
        note(f"{losses}.")
    return results


def report_of(results: Results, *, quiet: bool) -> Path:
    """The report of results, written unless it is there."""
    from joulewise.present.kept import current_report

    if page := current_report(results):
        return page
    with working("Writing the report", quiet=quiet):
        from joulewise.present.results import write_report

        return write_report(results)


def _announce_compilation(kind: str) -> None:
    from joulewise.kernels.jit import kernels_are_compiled

    if not kernels_are_compiled(kind):
        note("Compiling for this machine, once; this takes a minute or two.")

"""`joulewise check`: say what is wrong with a study, or what running it would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.output import AsJson, StudyPath, print_json, print_table, working
from joulewise.errors import printable
from joulewise.units import count

if TYPE_CHECKING:
    from joulewise.study.running.heterogeneity import SystemMeasures


def check(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option(help="The results folder, if not results/NAME.")] = None,
    measures: Annotated[
        bool, typer.Option("--measures", help="Measure TMA, TDH and MPH of the systems over all trials as well.")
    ] = False,
    dask_slurm: Annotated[
        Path | None,
        typer.Option(metavar="PROFILE", help="Check this file for a queue (Slurm, PBS, LSF, SGE), and show its job."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a study without running it.

    Its files and policies are checked as well; then runs, time, disk and memory are estimated, and
    refused where this computer has not so much. Of a profile of a queue, the script of a job is shown.
    """
    from joulewise.present.gallery import check_choice
    from joulewise.study import read_study
    from joulewise.study.running.estimate import estimate
    from joulewise.study.running.heterogeneity import measure_systems
    from joulewise.study.running.running import default_folder

    with working(f"Checking {study}", quiet=as_json):
        found = read_study(study)
        check_choice(found)
        folder = out or default_folder(found)
        cost = estimate(found, folder)
        systems = list(measure_systems(found)) if measures else []
        jobs = _jobs(dask_slurm) if dask_slurm else {}
    if as_json:
        more: dict[str, Any] = {"queue": jobs} if jobs else {}
        more |= {"systems": [vars(row) for row in systems], "warnings": [vars(warning) for warning in found.warnings]}
        print_json({"name": found.name, "results": str(folder), **vars(cost), **more})
        return
    rows = [{"what": name, "how much": value} for name, value in cost.lines(folder)]
    verdict = f"no mistake, {count(len(found.warnings), 'warning')}" if found.warnings else "nothing wrong"
    print_table(f"{found.name}: {verdict}", rows, header=False)
    for warning in found.warnings:
        print(f"Warning: {warning}")
    if systems:
        print_table(
            "Systems, general-purpose part, least to most over the trials", [_row(system) for system in systems]
        )
    if jobs:
        _show_jobs(jobs)


def _jobs(path: Path) -> dict[str, Any]:
    """What a study would submit with the profile of a queue."""
    from joulewise.study import read_profile
    from joulewise.study.running.engines.queued import job_script, lacking

    profile = read_profile(path)
    return {
        "profile": str(path),
        "jobs_least": profile.min_jobs,
        "jobs_most": profile.max_jobs,
        "workers_of_a_job": profile.workers,
        "warnings": [str(problem) for problem in lacking(profile)],
        "script": job_script(profile),
    }


def _show_jobs(jobs: dict[str, Any]) -> None:
    """How many jobs there would be, and the script of each."""
    each, least, most = jobs["workers_of_a_job"], jobs["jobs_least"], jobs["jobs_most"]
    print(f"Profile {jobs['profile']}; nothing was submitted.")
    in_all = f"{least * each:,} to {most * each:,} in all"
    print(f"{least:,} to {count(most, 'job')} with {count(each, 'worker')} each: {in_all}.")
    for warning in jobs["warnings"]:
        print(f"Warning: {warning}")
    print("The script of a job:")
    for line in jobs["script"].splitlines():
        print(printable(line))


def _row(system: SystemMeasures) -> dict[str, Any]:
    ranges = {
        name: None if found is None else "{:.4g} to {:.4g}".format(*found) for name, found in system.ranges.items()
    }
    return {"system": system.source, **system.differs, "trials": system.n_trials, **ranges}

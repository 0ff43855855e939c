"""`joulewise check`: say what is wrong with a study, or what running it would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.output import AsJson, StudyPath, print_json, print_table, working
from joulewise.units import count

if TYPE_CHECKING:
    from joulewise.study.running.heterogeneity import SystemMeasures


def check(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option(help="The results folder, if not results/NAME.")] = None,
    measures: Annotated[
        bool, typer.Option("--measures", help="Measure TMA, TDH and MPH of the systems over all trials as well.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a study without running it.

    Its files and policies are checked as well; then runs, time, disk and memory are estimated, and
    refused where this computer has not so much.
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
    if as_json:
        more = {"systems": [vars(row) for row in systems], "warnings": [vars(warning) for warning in found.warnings]}
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


def _row(system: SystemMeasures) -> dict[str, Any]:
    ranges = {
        name: None if found is None else "{:.4g} to {:.4g}".format(*found) for name, found in system.ranges.items()
    }
    return {"system": system.source, **system.differs, "trials": system.n_trials, **ranges}

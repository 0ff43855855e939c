"""`joulewise check`: say what is wrong with a study, or what running it would take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from joulewise.cli.output import AsJson, StudyPath, print_json, print_table


def check(
    study: StudyPath,
    out: Annotated[Path | None, typer.Option(help="The results folder, if not results/NAME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a study without running it.

    Its files and policies are checked as well; then runs, time and disk are estimated.
    """
    from joulewise.study import read_study
    from joulewise.study.estimate import estimate
    from joulewise.study.running import default_folder

    found = read_study(study)
    folder = out or default_folder(found)
    cost = estimate(found, folder)
    if as_json:
        print_json({"name": found.name, "results": str(folder), **vars(cost)})
        return
    rows = [{"what": name, "how much": value} for name, value in cost.lines(folder)]
    print_table(f"{found.name}: nothing wrong", rows, header=False)

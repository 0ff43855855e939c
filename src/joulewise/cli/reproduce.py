"""`joulewise reproduce`: run a published experiment again and judge what was claimed of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli import SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, note, print_json, print_table

if TYPE_CHECKING:
    from joulewise.study.catalogue import Experiment, Finding

FOLDER = Path("results") / "reproduce"


def reproduce(
    experiment: Annotated[
        str | None, typer.Argument(help="The experiment, as listed when left out.", metavar="[ID]")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials, if not the published number.")] = None,
    out: Annotated[Path | None, typer.Option(help=f"The results folder, if not {FOLDER}/ID.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; as many as processors if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a published experiment and say which of its claims come out; without ID, list the experiments."""
    from joulewise.errors import InputError, unknown_name
    from joulewise.study.catalogue import EXPERIMENTS

    if experiment is None:
        _show_experiments(as_json)
    elif experiment in EXPERIMENTS:
        _reproduce(EXPERIMENTS[experiment], trials, out, workers, as_json)
    else:
        raise InputError(unknown_name("experiment", experiment, EXPERIMENTS))


def _show_experiments(as_json: bool) -> None:
    from joulewise.study.catalogue import EXPERIMENTS

    rows = [
        {
            "id": experiment.id,
            "title": experiment.title,
            "source": experiment.source,
            "claims": ", ".join(claim.id for claim in experiment.claims),
        }
        for experiment in EXPERIMENTS.values()
    ]
    if as_json:
        print_json(rows)
    else:
        print_table("Published experiments", rows)


def _reproduce(
    experiment: Experiment, trials: int | None, out: Path | None, workers: int | None, as_json: bool
) -> None:
    from joulewise.cli.result import frames, show_failures, write_page
    from joulewise.cli.run import run_shown
    from joulewise.files import write_atomic
    from joulewise.present import write_figures

    folder = out or FOLDER / experiment.id
    results = run_shown(experiment.study(trials), folder, workers, quiet=as_json)
    if results.failed.height == results.runs.height:
        show_failures(results)
        raise typer.Exit(SOME_RUNS_FAILED)
    findings = experiment.findings(experiment.measured(results))
    page = write_page(results)
    pictures = write_figures(folder / "figures", **frames(results))
    write_atomic(folder / "findings.md", _markdown(experiment, findings, results.study.heading.trials))
    if as_json:
        print_json({"id": experiment.id, "reading": experiment.reading, "folder": str(folder),
                    "trials": results.study.heading.trials, "findings": [asdict(f) for f in findings]})  # fmt: skip
    else:
        _show_findings(experiment, findings, page, pictures)
    if not results.failed.is_empty():
        show_failures(results)
        raise typer.Exit(SOME_RUNS_FAILED)


def _show_findings(experiment: Experiment, findings: list[Finding], page: Path, pictures: list[Path]) -> None:
    rows = [
        {"claim": f.claim, "says": f.says, "published": f.published, "ours": f.ours, "verdict": f.verdict}
        for f in findings
    ]
    print_table(f"{experiment.id}: {experiment.title}", rows)
    for finding in findings:
        if finding.note:
            print(f"{finding.claim}: {finding.note}.")
    print(f"Reading: {experiment.reading}.")
    figure = next((path for path in pictures if path.stem == experiment.figure), None)
    print(f"Figure:  {figure or 'none'}\nReport:  {page}\nFindings: {page.parent / 'findings.md'}")
    note("Verdicts go by one stated rule: `joulewise explain verdict`.")


def _markdown(experiment: Experiment, findings: list[Finding], trials: int) -> str:
    """The findings as a table for the documentation."""
    lines = [
        f"### `{experiment.id}`: {experiment.title}",
        "",
        f"{experiment.source}; {trials} trials; `joulewise reproduce {experiment.id}`. Reading: {experiment.reading}.",
        "",
        "| claim | what it says | published | ours (mean ± 95 % interval) | verdict |",
        "|---|---|---|---|---|",
        *(
            f"| {f.claim} | {f.says}{f' ({f.note})' if f.note else ''} | {f.published} | {f.ours} | {f.verdict} |"
            for f in findings
        ),
        "",
    ]
    return "\n".join(lines)

"""`joulewise reproduce`: run a published experiment again and judge what was claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, note, print_json, print_table

if TYPE_CHECKING:
    from joulewise.measure.analysis.published import PrintedTables
    from joulewise.study.catalogue import ClaimFinding, Experiment

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
    """Run a published experiment and judge its claims.

    Without ID, the experiments are listed.
    """
    from joulewise.errors import InputError, unknown_name
    from joulewise.study.catalogue import Experiment

    known = all_experiments()
    if experiment is None:
        _show_experiments(known.values(), as_json)
    elif experiment not in known:
        raise InputError(unknown_name("experiment", experiment, known))
    elif isinstance(found := known[experiment], Experiment):
        _reproduce(found, trials, out, workers, as_json)
    else:
        _judge_printed(found, trials, out, as_json)


def all_experiments() -> dict[str, Experiment | PrintedTables]:
    """Every published experiment: those that can be run, and the one of which only printed tables can be judged."""
    from joulewise.measure.analysis.published import CHAPTER_8
    from joulewise.study.catalogue import EXPERIMENTS

    return {**EXPERIMENTS, CHAPTER_8.id: CHAPTER_8}


def _show_experiments(experiments: Iterable[Experiment | PrintedTables], as_json: bool) -> None:
    rows = [
        {
            "id": experiment.id,
            "title": experiment.title,
            "source": experiment.source,
            "claims": ", ".join(claim.id for claim in experiment.claims),
        }
        for experiment in experiments
    ]
    if as_json:
        print_json(rows)
    else:
        print_table("Published experiments", rows)


def _reproduce(
    experiment: Experiment, trials: int | None, out: Path | None, workers: int | None, as_json: bool
) -> None:
    from joulewise.cli.result import show_failures
    from joulewise.cli.run import report_of, run_shown
    from joulewise.files import write_atomic
    from joulewise.present.results import current_report, write_figures

    folder = out or FOLDER / experiment.id
    results = run_shown(experiment.study(trials), folder, workers, quiet=as_json)
    if results.failed.height == results.runs.height:
        show_failures(results)
        raise typer.Exit(SOME_RUNS_FAILED)
    findings = experiment.findings(experiment.measured(results))
    figure = folder / "figures" / f"{experiment.figure}.png"
    if current_report(results) is None or not figure.is_file():
        write_figures(results)
    page = report_of(results, quiet=as_json)
    how_often = results.study.heading.trials
    write_atomic(folder / "findings.md", _markdown(experiment, findings, f"{how_often} trials"))
    if as_json:
        _print_findings(experiment, findings, folder, trials=how_often)
    else:
        _show_findings(experiment, findings, folder, {"Figure": figure if figure.is_file() else "none", "Report": page})
    if not results.failed.is_empty():
        show_failures(results)
        raise typer.Exit(SOME_RUNS_FAILED)


def _judge_printed(printed: PrintedTables, trials: int | None, out: Path | None, as_json: bool) -> None:
    from joulewise.errors import InputError, Problem
    from joulewise.files import write_atomic
    from joulewise.measure.analysis.published import published_findings

    if trials is not None:
        advice = "leave --trials out; `joulewise measure` runs programs of your own"
        raise InputError(Problem("--trials", f"found {trials}", f"nothing of {printed.id} is run here", advice))
    folder, findings = out or FOLDER / printed.id, published_findings()
    write_atomic(folder / "findings.md", _markdown(printed, findings, "nothing is run"))
    if as_json:
        _print_findings(printed, findings, folder)
    else:
        _show_findings(printed, findings, folder, {})


def _print_findings(
    experiment: Experiment | PrintedTables, findings: list[ClaimFinding], folder: Path, **more: object
) -> None:
    facts = {"id": experiment.id, "reading": experiment.reading, "folder": str(folder), **more}
    print_json({**facts, "findings": [asdict(finding) for finding in findings]})


def _show_findings(
    experiment: Experiment | PrintedTables, findings: list[ClaimFinding], folder: Path, places: Mapping[str, object]
) -> None:
    rows = [
        {"claim": f.claim, "says": f.says, "published": f.published, "ours": f.ours, "verdict": f.verdict}
        for f in findings
    ]
    print_table(f"{experiment.id}: {experiment.title}", rows)
    for finding in findings:
        if finding.note:
            print(f"{finding.claim}: {finding.note}.")
    print(f"Reading: {experiment.reading}.")
    for what, path in {**places, "Findings": folder / "findings.md"}.items():
        print(f"{what + ':':<9} {path}")
    note("Verdicts go by one stated rule: `joulewise explain verdict`.")


def _markdown(experiment: Experiment | PrintedTables, findings: list[ClaimFinding], effort: str) -> str:
    """The findings as a table for the documentation."""
    lines = [
        f"### `{experiment.id}`: {experiment.title}",
        "",
        f"{experiment.source}; {effort}; `joulewise reproduce {experiment.id}`. Reading: {experiment.reading}.",
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

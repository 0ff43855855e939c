"""`joulewise reproduce`: run a published experiment again and judge what was claimed of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.cli.output import AsJson, note, print_json, print_table

if TYPE_CHECKING:
    from joulewise.errors import Problem
    from joulewise.measure.analysis.published import PrintedTables
    from joulewise.study.answers.results import Results
    from joulewise.study.catalogue import Experiment, Illustrations
    from joulewise.study.catalogue.record import FindingsRecord

    CatalogueEntry = Experiment | PrintedTables | Illustrations

FOLDER, SMOKE_FOLDER = Path("results") / "reproduce", Path("results") / "smoke"


def reproduce(
    experiment: Annotated[
        str | None, typer.Argument(help="The experiment, as listed when left out.", metavar="[ID]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Run every experiment, or what is left of it.")] = False,
    smoke: Annotated[
        bool,
        typer.Option(
            "--smoke", help="Two trials of small days and short searches: to see that all works; nothing is judged."
        ),
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Write tables, totals and dates of findings into this page.")
    ] = None,
    rule: Annotated[
        bool, typer.Option("--rule", help="Show how often the rule of verdicts is right, by trials and true distance.")
    ] = False,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Let a GPU search what evolves (chapters 5 and 7, two of ours).")
    ] = False,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials, if not the published number.")] = None,
    out: Annotated[Path | None, typer.Option(help=f"The results folder, if not {FOLDER}/ID.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes; if left out, as many as processors, and one with --smoke.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a published experiment and judge its claims.

    The entry `illustrations` is not run: it draws utility functions, queues and arrivals of a published world.
    Without ID, the experiments are listed. With --all, results lie in a folder by ID each, and what is finished is not
    repeated. --page takes what was found by ID, or else by any experiment, and keeps it with its runs in findings/
    beside the page; all that is kept is judged by the rules of today.
    """
    _refuse_pairs(
        {"ID": experiment, "--all": every, "--rule": rule, "--page": page, "--smoke": smoke, "--trials": trials,
         "--gpu": gpu}
    )  # fmt: skip
    if page is not None:
        _check_page(page, experiment)
    extent, folder = Extent(trials, workers, smoke, gpu, as_json), SMOKE_FOLDER if smoke else FOLDER
    if rule:
        _show_rule(out or folder / "rule", as_json)
    elif every:
        _reproduce_all(extent, out or folder)
    elif experiment is not None:
        _reproduce_one(experiment, extent, out or folder / experiment)
    elif page is None:
        _show_experiments(all_experiments().values(), as_json)
    if page is not None:
        _write_page(page, _folders(experiment, out, folder), as_json)


_APART = (("ID", "--all"), ("ID", "--rule"), ("--all", "--rule"), ("--rule", "--page"),
          ("--smoke", "--page"), ("--smoke", "--trials"), ("--smoke", "--rule"), ("--smoke", "--gpu"))  # fmt: skip
"""What cannot be asked for at once."""


def _refuse_pairs(asked: Mapping[str, object]) -> None:
    from joulewise.errors import Problem, raise_if_any

    given = {name for name, value in asked.items() if value not in (None, False)}
    problems = [
        Problem(one, f"found with {other}", "one of them at a time", "leave one out")
        for one, other in _APART
        if {one, other} <= given
    ]
    if not {"ID", "--all"} & given:
        of_runs = [name for name in ("--smoke", "--trials", "--gpu") if name in given]
        problems += [Problem(name, "found, and nothing to run", "with an ID or --all", "give one") for name in of_runs]
    raise_if_any(problems)


_NAMED = 3
"""How many of what is missing are named."""


class Extent(NamedTuple):
    """How much is run, and how it is told."""

    trials: int | None
    workers: int | None
    is_smoke: bool
    on_gpu: bool
    as_json: bool


def _reproduce_one(name: str, extent: Extent, folder: Path) -> None:
    from joulewise.errors import InputError, raise_if_any, unknown_name

    experiments = all_experiments()
    if name not in experiments:
        raise InputError(unknown_name("experiment", name, experiments))
    raise_if_any(_gpu_problems(experiments[name], extent))
    _refuse_trials(experiments[name], extent)
    if not _carry_out(experiments[name], extent, folder):
        raise typer.Exit(SOME_RUNS_FAILED)


def _gpu_problems(experiment: CatalogueEntry, extent: Extent) -> Iterator[Problem]:
    from joulewise.errors import Problem
    from joulewise.study.catalogue import EXPERIMENTS

    suited = [name for name, other in EXPERIMENTS.items() if other.suits_gpu]
    if extent.on_gpu and experiment.id not in suited:
        yield Problem("--gpu", f"found with {experiment.id}", f"for {', '.join(suited)}", "leave it out")


def _reproduce_all(extent: Extent, folder: Path) -> None:
    """Run every experiment; one that fails does not keep the others from running."""
    experiments = all_experiments()
    broken = [name for name, found in experiments.items() if not _carry_out(found, extent, folder / name)]
    if broken:
        note(f"Runs failed in {', '.join(broken)}.")
        raise typer.Exit(SOME_RUNS_FAILED)


def _carry_out(entry: CatalogueEntry, extent: Extent, folder: Path) -> bool:
    """Run an experiment, judge its printed tables or draw its world; False where runs failed."""
    from joulewise.study.catalogue import Experiment, Illustrations

    if isinstance(entry, Experiment):
        return _reproduce(entry, extent, folder)
    if isinstance(entry, Illustrations):
        _illustrate(entry, folder, as_json=extent.as_json)
    else:
        _judge_printed(entry, folder, as_json=extent.as_json)
    return True


def all_experiments() -> dict[str, CatalogueEntry]:
    """Every entry: experiments that can be run, one of which only tables can be judged, and a world that is drawn."""
    from joulewise.measure.analysis.published import CHAPTER_8
    from joulewise.study.catalogue import EXPERIMENTS, ILLUSTRATIONS

    return {ILLUSTRATIONS.id: ILLUSTRATIONS, **EXPERIMENTS, CHAPTER_8.id: CHAPTER_8}


def _show_experiments(experiments: Iterable[CatalogueEntry], as_json: bool) -> None:
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


def _reproduce(experiment: Experiment, extent: Extent, folder: Path) -> bool:
    from joulewise.cli.result import show_failures
    from joulewise.cli.run import report_of, run_shown
    from joulewise.present.kept import current_report
    from joulewise.present.results import write_figures
    from joulewise.study.catalogue.record import FindingsRecord

    quiet = extent.as_json
    study = experiment.smoke_study() if extent.is_smoke else experiment.study(extent.trials, on_gpu=extent.on_gpu)
    workers = extent.workers or (1 if extent.is_smoke else None)  # to start processes takes longer than what they do
    results = run_shown(study, folder, workers, quiet=quiet)
    if results.failed.height == results.n_runs:
        show_failures(results)
        return False
    findings = experiment.findings(experiment.measured(results, is_smoke=extent.is_smoke))
    figure = folder / "figures" / f"{experiment.figure}.png"
    if current_report(results) is None or not figure.is_file():
        write_figures(results, names=[experiment.figure])
    page = report_of(results, quiet=quiet)
    trials = results.study.heading.trials
    record = FindingsRecord(*_named(experiment), trials, _about(results), tuple(findings))
    _tell(record, folder, {"Figure": figure if figure.is_file() else "none", "Report": page}, as_json=quiet)
    if not results.failed.is_empty():
        show_failures(results)
    return results.failed.is_empty()


def _about(results: Results) -> dict[str, Any]:
    """When, with what, on what and how long an experiment was run."""
    about = {key: results.about[key] for key in ("joulewise", "python", "machine", "run_at")}
    engines = results.runs["engine"].drop_nulls().unique().sort() if "engine" in results.columns else ()
    return {**about, "engine": ", ".join(engines), "seconds": results.seconds}


def _named(experiment: CatalogueEntry) -> tuple[str, str, str, str]:
    return experiment.id, experiment.title, experiment.source, experiment.reading


def _refuse_trials(entry: CatalogueEntry, extent: Extent) -> None:
    from joulewise.errors import InputError, Problem
    from joulewise.study.catalogue import Experiment

    if extent.trials is not None and not isinstance(entry, Experiment):
        found, allowed = f"found {extent.trials}", f"nothing of {entry.id} is run here"
        raise InputError(Problem("--trials", found, allowed, "leave --trials out"))


def _illustrate(entry: Illustrations, folder: Path, *, as_json: bool) -> None:
    from joulewise.present.export import export
    from joulewise.present.page import page_of

    study = entry.study()
    rows = []
    for illustration in page_of(study.kind.name).illustrations:
        drawing = illustration.draw(study)
        path = export(drawing.chart, folder / "figures" / f"{illustration.name}.png")
        rows.append({"figure": path.stem, "title": illustration.title, "shows": drawing.caption})
    if as_json:
        print_json({"id": entry.id, "folder": str(folder), "figures": rows})
        return
    print_table(f"{entry.id}: {entry.title}", rows)
    print(f"Reading: {entry.reading}.")
    print(f"Figures:  {folder / 'figures'}")


def _judge_printed(printed: PrintedTables, folder: Path, *, as_json: bool) -> None:
    from joulewise.measure.analysis.published import published_findings
    from joulewise.study.catalogue.record import FindingsRecord

    record = FindingsRecord(*_named(printed), 0, {}, tuple(published_findings()))
    _tell(record, folder, {}, as_json=as_json)


def _tell(record: FindingsRecord, folder: Path, places: Mapping[str, object], *, as_json: bool) -> None:
    """Write what was found, and show it."""
    from joulewise.files import write_atomic
    from joulewise.study.catalogue.page import section_of
    from joulewise.study.catalogue.record import FILE

    record.write(folder / FILE)
    write_atomic(folder / "findings.md", section_of(record))
    if as_json:
        print_json({**asdict(record), "folder": str(folder)})
    else:
        _show_findings(record, folder, places)


def _folders(experiment: str | None, out: Path | None, folder: Path) -> dict[str, Path]:
    """Where results may lie that a page is written from, by experiment."""
    if experiment is not None:
        return {experiment: out or folder / experiment}
    return {name: (out or folder) / name for name in all_experiments()}


def _check_page(page: Path, experiment: str | None) -> None:
    """InputError where a page cannot take what an experiment will find: before it is run."""
    from joulewise.study.catalogue.page import check_places

    check_places(_page_text(page), [experiment] if experiment in all_experiments() else [])


def _page_text(page: Path) -> str:
    from joulewise.study.parsing.file import read_source

    return read_source(page, "give a page with places for findings")


def _write_page(page: Path, folders: Mapping[str, Path], as_json: bool) -> None:
    from joulewise.files import write_changed
    from joulewise.study.catalogue import EXPERIMENTS
    from joulewise.study.catalogue.kept import KEPT, keep, keep_records, kept_records
    from joulewise.study.catalogue.page import filled, unfilled
    from joulewise.study.catalogue.record import FILE

    text, kept = _page_text(page), page.parent / KEPT
    new = [name for name, folder in folders.items() if (folder / FILE).is_file()]
    for name in new:
        keep(folders[name], kept, EXPERIMENTS.get(name))
    records = kept_records(kept, all_experiments(), EXPERIMENTS)
    write_changed(page, filled(text, records))
    keep_records(records, kept)
    for name in new:
        _copy_figure(name, folders[name], page.parent / "images" / f"{name}.png")
    left = unfilled(text, records)
    if as_json:
        print_json({"page": str(page), "written": new, "left": left})
        return
    print(f"Page:     {page}, with {len(new)} new of {len(records)} experiments")
    if left:
        some = ", ".join(left[:_NAMED]) + (f" and {len(left) - _NAMED} more" if len(left) > _NAMED else "")
        words = "what the page has of them stays, and totals are those of the others"
        note(f"In {kept} are no findings of {some}: {words}.")


def _copy_figure(name: str, folder: Path, picture: Path) -> None:
    """Put the figure of an experiment in the place of an older one; a page without such a picture gets none."""
    from joulewise.files import write_changed
    from joulewise.study.catalogue import EXPERIMENTS

    figure = folder / "figures" / f"{EXPERIMENTS[name].figure}.png" if name in EXPERIMENTS else picture
    if picture.is_file() and figure.is_file():
        write_changed(picture, figure.read_bytes())


def _show_rule(folder: Path, as_json: bool) -> None:
    from joulewise.files import write_atomic
    from joulewise.present.export import export
    from joulewise.present.verdicts import operating_chart
    from joulewise.study.catalogue.characteristics import characteristics

    table = characteristics()
    write_atomic(folder / "rule.csv", table.write_csv())
    picture = export(operating_chart(table), folder / "rule.png")
    if as_json:
        print_json({"figure": str(picture), "chances": table.to_dicts()})
        return
    print(f"Figure:   {picture}")
    print(f"Table:    {folder / 'rule.csv'}")
    note("The rule itself: `joulewise explain verdict`.")


def _show_findings(record: FindingsRecord, folder: Path, places: Mapping[str, object]) -> None:
    rows = [
        {"claim": f.claim, "says": f.says, "published": f.published, "ours": f.ours, "verdict": f.words}
        for f in record.findings
    ]
    print_table(f"{record.id}: {record.title}", rows)
    for finding in record.findings:
        if finding.note:
            print(f"{finding.claim}: {finding.note}.")
    print(f"Reading: {record.reading}.")
    for what, path in {**places, "Findings": folder / "findings.md"}.items():
        print(f"{what + ':':<9} {path}")
    note("Verdicts go by one stated rule: `joulewise explain verdict`.")

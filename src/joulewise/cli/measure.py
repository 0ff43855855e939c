"""`joulewise measure`: run programs alone and together on this machine, and tell what follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from joulewise.cli.codes import SOME_RUNS_FAILED
from joulewise.cli.interrupts import take_time
from joulewise.cli.output import AsJson, following, note, print_json, print_table, working

if TYPE_CHECKING:
    from joulewise.measure.analysis.analysis import Analysis
    from joulewise.measure.bench.laboratory import LaboratoryOutcome
    from joulewise.measure.bench.store import LaboratoryStore
    from joulewise.measure.machine.machine import Machine
    from joulewise.measure.plan.plan import Plan
    from joulewise.measure.plan.schedule import PlanEstimate, PlannedRun
    from joulewise.present.measure.report import MeasureInfo

_MOST_ROWS = 40
_MOST_PROBLEMS = 5


def measure(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="The plan file.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write, if not results/NAME.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the schedule and how long it takes; run nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to a plan that takes more than 12 hours.")] = False,
    probes: Annotated[
        bool,
        typer.Option(
            "--probes", help="Say what can be read on this machine, what cannot and why, and what would help."
        ),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Analyse a folder of measurements again.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how programs slow each other down.

    They run alone and together, at each clock; what was measured already is not measured again, and Ctrl-C keeps it.
    """
    _check_choice(plan, probes, report)
    _check_options(plan, {"--out": out is not None, "--dry-run": dry_run, "--yes": yes})
    if probes:
        _show_probes(as_json=as_json)
    elif report is not None:
        _show_findings(report, None, as_json=as_json)
    elif plan is not None and dry_run:
        _show_schedule(plan, out, as_json=as_json)
    elif plan is not None:
        _measure(plan, out, is_agreed=yes, as_json=as_json)


def _check_choice(plan: Path | None, probes: bool, report: Path | None) -> None:
    from joulewise.errors import InputError, Problem
    from joulewise.measure.plan.plan import START

    named = {"PLAN": plan is not None, "--probes": probes, "--report": report is not None}
    given = [name for name, is_given in named.items() if is_given]
    if len(given) != 1:
        found = f"found {' and '.join(given)}" if given else "found nothing to measure"
        allowed = "must be a plan file, --probes, or --report FOLDER"
        raise InputError(Problem("joulewise measure", found, allowed, "" if given else f"{START}, and runs as it is"))


def _check_options(plan: Path | None, given: Mapping[str, bool]) -> None:
    """InputError where options would be ignored."""
    from joulewise.errors import InputError, Problem

    of_plans = [name for name, is_given in given.items() if is_given]
    if plan is None and of_plans:
        raise InputError(
            Problem("joulewise measure", f"found {' and '.join(of_plans)}", "must stand beside a plan file")
        )


def _folder(plan: Plan, out: Path | None) -> Path:
    return out or Path("results") / plan.name


# --- measuring ---------------------------------------------------------------------------------------------------


def _measure(path: Path, out: Path | None, *, is_agreed: bool, as_json: bool) -> None:
    from joulewise.measure.bench.laboratory import measure
    from joulewise.measure.bench.setting import opened
    from joulewise.measure.machine.holding import ending_in_order
    from joulewise.measure.plan.file import read_plan

    plan = read_plan(path)
    folder = _folder(plan, out)
    take_time()
    with (
        following(f"Measuring {plan.name}", quiet=as_json) as follow,
        ending_in_order(),
        opened(plan, folder) as setting,
    ):
        outcome = measure(plan, folder, setting, follow, is_agreed=is_agreed)
    _show_findings(folder, outcome, as_json=as_json)
    if outcome.n_valid < outcome.n_runs:
        _show_failures(outcome)
        raise typer.Exit(SOME_RUNS_FAILED)


def _show_failures(outcome: LaboratoryOutcome) -> None:
    from joulewise.units import count

    n_left = outcome.n_runs - outcome.n_valid
    note(f"{n_left:,} of {count(outcome.n_runs, 'run')} failed. To try them again, run the same command. Why:")
    for group, problem in outcome.problems[:_MOST_PROBLEMS]:
        note(f"  {group}: {problem}")
    others = len(outcome.problems) - _MOST_PROBLEMS
    if others > 0:
        place = outcome.folder / "observations.csv"
        note(f"  and {count(others, 'more group')}: the column problem of {place} has all")


# --- what follows ------------------------------------------------------------------------------------------------


def _show_findings(folder: Path, outcome: LaboratoryOutcome | None, *, as_json: bool) -> None:
    """Analyse a folder, write its tables and its report, and print what was found; both stay if a plan left them so."""
    from joulewise.present.measure.findings import measure_findings
    from joulewise.present.measure.runs import run_counts

    with working("Writing the report", quiet=as_json):
        analysis, info, page = analysed(folder, keeps_report=outcome is not None)
    findings = measure_findings(analysis, info.idle_notes)
    if as_json:
        counts = _counts(outcome) if outcome else {}
        found = [{"finding": finding.lead, "support": finding.support} for finding in findings]
        print_json({"folder": str(folder), "report": str(page), **counts, "findings": found,
                    "missing": list(analysis.missing)})  # fmt: skip
        return
    for finding in findings:
        print(finding.lead, finding.support, sep="\n  " if finding.support else "")
    for missing in analysis.missing:
        print(f"Missing: {missing}")
    print(f"{run_counts(analysis, info.n_planned).words()}. Measurements: {folder}")
    print(f"Report:  {page}")


def _counts(outcome: LaboratoryOutcome) -> dict[str, Any]:
    return {name: getattr(outcome, name) for name in ("n_runs", "n_valid", "n_reused", "problems")}


def analysed(folder: Path, *, keeps_report: bool = False) -> tuple[Analysis, MeasureInfo, Path]:
    """Everything that is made of the journal, written again while no other process writes to the folder.

    Where it `keeps_report`, one that this version made of the same measurements stays, and the tables with it.
    """
    from joulewise.files import locked
    from joulewise.measure.analysis.analysis import analyse
    from joulewise.measure.analysis.export import write_tables
    from joulewise.measure.bench.store import LaboratoryStore, machine_from
    from joulewise.present.kept import mark_of, marked_report
    from joulewise.present.measure.report import write_measure_report

    store = LaboratoryStore(folder)
    machine = machine_from(store.existing()["machine"])
    with locked(folder):
        analysis = analyse(store.write_tables(), store.idle_powers())
        analysis = replace(analysis, missing=(*analysis.missing, *filter(None, [store.uncovered()])))
        info, mark = _info(store, machine), mark_of(store.stamp())
        page = marked_report(folder, mark) if keeps_report else None
        if page is None:
            write_tables(folder, analysis, machine)
            page = write_measure_report(folder, analysis, info, mark)
        return analysis, info, page


def _info(store: LaboratoryStore, machine: Machine) -> MeasureInfo:
    from joulewise.measure.bench.store import last_runs
    from joulewise.measure.machine.availability import Availability
    from joulewise.present.measure.report import MeasureInfo

    marker = store.existing()
    made = last_runs(store.records())
    runs = [made[key] for key in marker["runs"] if key in made]
    return MeasureInfo(
        name=marker["name"],
        description=marker["description"],
        plan=store.plan_text(),
        plan_name=marker["plan_file"],
        machine=machine,
        probes=[Availability(**probe) for probe in marker["probes"]],
        seconds=sum(run["group_s"] or 0.0 for run in runs),
        made_at=max((run["started"] for run in runs), default=""),
        n_planned=len(marker["runs"]),
        idle_notes=[record["note"] for record in store.idle_readings()],
    )


# --- looking ahead -----------------------------------------------------------------------------------------------


def _show_schedule(path: Path, out: Path | None, *, as_json: bool) -> None:
    from joulewise.measure.bench.laboratory import estimate_left, runs_of
    from joulewise.measure.bench.setting import machine_of
    from joulewise.measure.bench.store import LaboratoryStore
    from joulewise.measure.plan.file import read_plan

    plan = read_plan(path)
    folder, machine = _folder(plan, out), machine_of(plan)
    records = LaboratoryStore(folder).records()
    runs, left = runs_of(plan, machine, records)
    cost, noted = estimate_left(plan, runs, left, records), _noted(plan, machine, runs)
    if as_json:
        about = {"name": plan.name, "folder": str(folder), "n_runs": len(runs), "n_reused": len(runs) - len(left)}
        time_s = {"seconds": None if cost.unknown else cost.seconds, "most_s": cost.most_s}
        needs_yes = plan.synthetic is None and cost.must_be_agreed_to
        more = {"unknown": list(cost.unknown), "needs_yes": needs_yes, "noted": noted}
        print_json({**about, **time_s, **more, "schedule": [_row(run) for run in left]})
        return
    if left:
        print_table(f"{plan.name}: the next runs, in their order", [_row(run) for run in left[:_MOST_ROWS]])
    if len(left) > _MOST_ROWS:
        print(f"... and {len(left) - _MOST_ROWS:,} more; --json has all.")
    for note_of_run, groups in noted.items():
        print(_how_noted(runs, note_of_run, groups))
    print(_how_long(len(runs), cost, is_made_up=plan.synthetic is not None))


def _noted(plan: Plan, machine: Machine, runs: Iterable[PlannedRun]) -> dict[str, list[str]]:
    """The notes that runs will have for where their members are pinned, and the groups that have each."""
    from joulewise.measure.machine.places import place_notes

    experiments = [run.experiment for run in runs]
    placed = sorted({(found.group, tuple(member.cores for member in found.members)) for found in experiments})
    noted: dict[str, dict[str, None]] = {}
    for group, places in placed:
        for words in place_notes(plan, machine, places):
            noted.setdefault(words, {})[group] = None
    return {words: list(groups) for words, groups in noted.items()}


def _how_noted(runs: Iterable[PlannedRun], words: str, groups: Sequence[str]) -> str:
    from joulewise.units import count

    n_groups = len({run.experiment.group for run in runs})
    return f"Runs of {len(groups):,} of {count(n_groups, 'group')} will have a note: {words}."


def _row(run: PlannedRun) -> dict[str, Any]:
    experiment = run.experiment
    cores = " ".join(",".join(map(str, member.cores)) for member in experiment.members)
    return {"group": experiment.group, "clock": experiment.clock.label, "way": experiment.way, "cores": cores,
            "repetition": run.repetition}  # fmt: skip


def _how_long(n_runs: int, cost: PlanEstimate, *, is_made_up: bool) -> str:
    from joulewise.units import count, roughly

    done = f" ({n_runs - cost.n_runs:,} of {n_runs:,} are there already)" if cost.n_runs < n_runs else ""
    told = f"{count(cost.n_runs, 'run')}{done}"
    if cost.n_runs == 0:
        return f"Nothing is left to measure: all {count(n_runs, 'run')} are there already."
    if is_made_up:
        return f"{told}, which take no time: the machine is made up."
    if not cost.unknown:
        return f"{told}, about {roughly(cost.seconds)}.{_agreement(cost)}"
    return f"{told}, at most {roughly(cost.most_s)} by the time limits. {_unknown(cost.unknown)}{_agreement(cost)}"


def _agreement(cost: PlanEstimate) -> str:
    """What a dry run says of --yes."""
    from joulewise.measure.plan.schedule import LONG_S
    from joulewise.units import duration

    long = f"more than {duration(LONG_S)}"
    return {
        True: f" That is {long}: it must be agreed to with --yes.",
        None: f" Should it be {long}, it must be agreed to with --yes.",
        False: "",
    }[cost.must_be_agreed_to]


def _unknown(names: Sequence[str]) -> str:
    """Of which programs it is not known how long they take, and when it will be."""
    takes, it_has = ("takes", "it has") if len(names) == 1 else ("take", "they have")
    return f"How long {', '.join(names)} {takes} will be known once {it_has} run alone; say it with `takes`."


def _show_probes(*, as_json: bool) -> None:
    from joulewise.measure.machine.survey import survey

    found = survey()
    if as_json:
        print_json([probe._asdict() for probe in found])
        return
    for probe in found:
        print(f"{probe.name}: {'yes' if probe.is_available else 'no'}, {probe.found}")
        if probe.remedy:
            print(f"    would help: {probe.remedy}")

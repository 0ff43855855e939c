"""Results of a study as verbs show them: the table, the failures, the report page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import note, print_table
from joulewise.units import duration

if TYPE_CHECKING:
    from joulewise.present import StudyInfo
    from joulewise.study import Results

_MOST_ROWS = 60
_MOST_FAILURES = 5


def show_summary(results: Results, page: Path | None) -> None:
    """Print the percentage of maximum utility at every point, and where everything is."""
    from joulewise.study.results import HEADLINE, POSSIBLE
    from joulewise.study.statistics import best

    summary = results.summary()
    rows = [row for row in summary.iter_rows(named=True) if row["metric"] == HEADLINE]
    winner = best(summary, HEADLINE)
    axes = results.study.axes
    possible = {_place(row, axes): row["mean"] for row in summary.iter_rows(named=True) if row["metric"] == POSSIBLE}
    shown = [_line(row, axes, possible.get(_place(row, axes)), is_best=row == winner) for row in rows[:_MOST_ROWS]]
    title = f"{results.study.name}: percent of maximum utility, mean and 95 % interval over trials"
    print_table(title, shown, numbers=("mean", "±", "trials", "of possible"))
    if len(rows) > len(shown):
        print(f"... and {len(rows) - len(shown)} more points.")
    print(f"{results.runs.height} runs in {duration(results.about['seconds'])}. Results: {results.folder}")
    if page is not None:
        print(f"Report:  {page}")


def show_failures(results: Results) -> None:
    """Say which runs failed and why."""
    failed = results.failed
    note(f"{failed.height} of {results.runs.height} runs failed; running again repeats only them. Why:")
    reasons = failed.group_by("error", maintain_order=True).len().head(_MOST_FAILURES)
    for reason, n in reasons.iter_rows():
        note(f"  {n} x {reason}")


def write_page(results: Results) -> Path:
    """Write the report page of the results and return its path."""
    from joulewise.present import write_report

    return write_report(results.folder, **frames(results))


def frames(results: Results) -> dict[str, Any]:
    """What the figures and the page are made from."""
    titles, modes = _policies(results)
    return {
        "study": _info(results),
        "runs": results.runs,
        "summary": results.summary(),
        "differences": results.differences(),
        "traces": results.traces(),
        "titles": titles,
        "modes": modes,
    }


def _policies(results: Results) -> tuple[dict[str, str], dict[str, str]]:
    """Titles and modes of policies, as the study's run stored them; a report runs no code of a user."""
    stored = results.about["policies"]
    return ({name: said["title"] for name, said in stored.items()},
            {name: said["mode"] for name, said in stored.items()})  # fmt: skip


def _info(results: Results) -> StudyInfo:
    from joulewise.present import StudyInfo

    study, about = results.study, results.about
    return StudyInfo(
        name=study.name,
        seed=study.heading.seed,
        trials=study.heading.trials,
        axes=study.axes,
        source=study.source,
        version=about["joulewise"],
        description=study.heading.description,
        file_name=about["study_file"],
        study_hash=about["study_hash"],
        machine=about["machine"],
        made_at=about["run_at"],
        seconds=about["seconds"],
        n_failed=results.failed.height,
    )


def _place(row: dict[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[axis] for axis in axes)


def _line(row: dict[str, Any], axes: tuple[str, ...], possible: float | None, *, is_best: bool) -> dict[str, Any]:
    half = None if row["high"] is None else f"{row['high'] - row['mean']:.2f}"
    cells = {axis.rpartition(".")[2]: row[axis] for axis in axes}
    numbers = {"mean": f"{row['mean']:.2f}", "±": half, "trials": row["n"]}
    numbers["of possible"] = None if possible is None else f"≥ {possible:.1f} %"
    return {**cells, **numbers, "": "best" if is_best else ""}

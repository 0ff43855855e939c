"""Results of a study as verbs show them: the table, the failures, the report page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import note, print_table
from joulewise.errors import as_written
from joulewise.units import duration

if TYPE_CHECKING:
    from joulewise.present import StudyInfo
    from joulewise.study import Results

_MOST_ROWS = 60
_MOST_FAILURES = 5


def show_summary(results: Results, page: Path | None) -> None:
    """Print the percentage of maximum utility at every point, and where everything is."""
    from joulewise.present.formats import count
    from joulewise.study.results import HEADLINE, POSSIBLE
    from joulewise.study.statistics import best

    summary = results.summary()
    rows = [row for row in summary.iter_rows(named=True) if row["metric"] == HEADLINE]
    winner = best(summary, HEADLINE) if results.failed.is_empty() else None  # on fewer trials nobody is the best
    axes = results.study.axes
    possible = {_place(row, axes): row["mean"] for row in summary.iter_rows(named=True) if row["metric"] == POSSIBLE}
    shown = [_line(row, axes, possible.get(_place(row, axes)), is_best=row == winner) for row in rows[:_MOST_ROWS]]
    title = f"{results.study.name}: percent of maximum utility, mean and 95 % interval over trials"
    print_table(title, shown, numbers=("mean", "±", "trials", "of possible"))
    if len(rows) > len(shown):
        print(f"... and {count(len(rows) - len(shown), 'more point')}.")
    n_runs = count(results.runs.height, "run")
    print(f"{n_runs} in {duration(results.about['seconds'])}. Results: {results.folder}")
    if page is not None:
        print(f"Report:  {page}")


def show_failures(results: Results) -> None:
    """Say how many runs failed and why, the most frequent reasons first."""
    from joulewise.present.formats import count

    failed, n_runs = results.failed, count(results.runs.height, "run")
    note(f"{failed.height:,} of {n_runs} failed. To do only what failed again, run the study again. Why:")
    reasons = failed.group_by("error", maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    for reason, n in reasons.head(_MOST_FAILURES).iter_rows():
        note(f"  {n:,} x {reason}")
    others = reasons.slice(_MOST_FAILURES)
    if others.height:
        n_others = count(others.height, "other reason")
        note(f"  {others['len'].sum():,} x {n_others}: the column error of {results.folder / 'runs.parquet'} has all")


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
    is_timed = any(point.manager.parameters.mapping_time == "measured" for point in study.points)
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
        deterministic=not is_timed,
    )


def _place(row: dict[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[axis] for axis in axes)


def _cell(value: object) -> object:
    """A swept value as the study file has it."""
    return as_written(value) if isinstance(value, bool | list) else value


def _line(row: dict[str, Any], axes: tuple[str, ...], possible: float | None, *, is_best: bool) -> dict[str, Any]:
    half = None if row["high"] is None else f"{row['high'] - row['mean']:.2f}"
    cells = {axis.rpartition(".")[2]: _cell(row[axis]) for axis in axes}
    numbers = {"mean": f"{row['mean']:.2f}", "±": half, "trials": row["n"]}
    numbers["of possible"] = None if possible is None else f"≥ {possible:.1f} %"
    return {**cells, **numbers, "": "best" if is_best else ""}

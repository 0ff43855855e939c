"""Results of a study as verbs show them: the table, the failures, the report page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.cli.output import note, print_table
from joulewise.errors import as_written
from joulewise.study.column import (
    CLOUDS,
    CLUSTERS,
    CORES,
    CRACS,
    FINDINGS,
    FRONTS,
    JOB_TRACES,
    JOB_TYPES,
    JOBS,
    MACHINES,
    NODES,
    PIECES,
    PROGRESS,
    QUEUES,
    RATES,
    TRACES,
    USERS,
)
from joulewise.units import duration

if TYPE_CHECKING:
    import polars as pl

    from joulewise.present import StudyInfo
    from joulewise.study import Results
    from joulewise.study.column import Column

_FRAMES = (
    TRACES, FRONTS, MACHINES, CLOUDS,
    JOBS, JOB_TRACES, JOB_TYPES, USERS, QUEUES, CLUSTERS, PIECES, FINDINGS,
    NODES, CRACS, CORES, RATES, PROGRESS,
)  # fmt: skip
"""The detail tables that figures and pages are made from."""

_MOST_ROWS = 60
_MOST_FAILURES = 5


def show_summary(results: Results, page: Path | None) -> None:
    """Print what matters most at every point, what was found, and where everything is."""
    from joulewise.study.statistics import best
    from joulewise.units import count

    summary, kind = results.summary(), results.study.kind
    headline, *others = _ranked(kind.shown(), summary)
    rows = [row for row in summary.iter_rows(named=True) if row["metric"] == headline.name]
    is_whole = results.failed.is_empty()  # on fewer trials nobody is the best
    differ = len({row["mean"] for row in rows}) > 1 or len(rows) == 1
    winner = best(summary, headline.name) if kind.has_best and is_whole and differ else None
    means = {(row["metric"], *_place(row, results.study.axes)): row["mean"] for row in summary.iter_rows(named=True)}
    shown = [
        {**_line(row, results.study.axes, headline), **_others(row, results.study.axes, others, means),
         "": "best" if row == winner else ""}
        for row in rows[:_MOST_ROWS]
    ]  # fmt: skip
    title = f"{results.study.name}: {kind.title}, mean and 95 % interval over trials"
    print_table(title, shown, numbers=(headline.title, "±", "trials", *(other.title for other in others)))
    if len(rows) > len(shown):
        print(f"... and {count(len(rows) - len(shown), 'more point')}.")
    for sentence in kind.sentences(results.runs, results.study.axes):
        print(sentence)
    n_runs = count(results.runs.height, "run")
    print(f"{n_runs}, {duration(time_of_runs_s(results.runs))} of computing. Results: {results.folder}")
    if page is not None:
        print(f"Report:  {page}")


def time_of_runs_s(runs: pl.DataFrame) -> float:
    """How long these runs took one after the other; a run at several points counts once, a failed one not at all."""
    return float(runs.unique("run")["run_s"].sum()) if "run_s" in runs.columns else 0.0


def _ranked(shown: Sequence[Column], summary: pl.DataFrame) -> list[Column]:
    """The metrics that some point has, after the first of those that all points have."""
    n_points = dict(summary.group_by("metric").len().iter_rows())
    there = [each for each in shown if n_points.get(each.name)] or list(shown)
    most = max(n_points.get(each.name, 0) for each in there)
    headline = next(each for each in there if n_points.get(each.name, 0) == most)
    return [headline, *(each for each in there if each != headline)]


def show_failures(results: Results) -> None:
    """Say how many runs failed and why, the most frequent reasons first."""
    from joulewise.units import count

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
    from joulewise.present import draft_report

    return draft_report(**frames(results)).write(results.folder)


def frames(results: Results) -> dict[str, Any]:
    """What the figures and the page are made from."""
    from joulewise.present.jobs.view import JOB_COLUMNS

    titles, modes = _policies(results)
    drawn = {JOBS: JOB_COLUMNS}
    return {
        "study": _info(results),
        "runs": results.runs,
        "summary": results.summary(),
        "differences": results.differences(),
        **{table: _or_none(results.details(table, drawn.get(table))) for table in _FRAMES},
        "titles": titles,
        "modes": modes,
    }


def _or_none(table: pl.DataFrame) -> pl.DataFrame | None:
    return None if table.is_empty() else table


def _policies(results: Results) -> tuple[dict[str, str], dict[str, str]]:
    """Titles and modes of policies, as the study's run stored them; a report runs no code of a user."""
    stored = results.about["policies"]
    return ({name: said["title"] for name, said in stored.items()},
            {name: said["mode"] for name, said in stored.items()})  # fmt: skip


def _info(results: Results) -> StudyInfo:
    from joulewise.present import StudyInfo

    study, about = results.study, results.about
    is_timed = any(_is_timed(point.decision.parameters) for point in study.points)
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
        seconds=time_of_runs_s(results.runs),
        n_failed=results.failed.height,
        deterministic=not is_timed,
        kind=study.kind.name,
    )


def _is_timed(decision: Any) -> bool:
    """Whether what is decided depends on how long deciding takes."""
    is_measured = getattr(decision, "mapping_time", "free") == "measured"
    return is_measured or getattr(decision, "time_limit_s", None) is not None


def _place(row: dict[str, Any], axes: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[axis] for axis in axes)


def _cell(value: object) -> object:
    """A swept value as the study file has it."""
    return as_written(value) if isinstance(value, bool | list) else value


def _line(row: dict[str, Any], axes: tuple[str, ...], headline: Column) -> dict[str, Any]:
    """The axes of a point and its headline."""
    half = None if row["high"] is None else headline.form(row["high"] - row["mean"])
    cells = {axis.rpartition(".")[2]: _cell(row[axis]) for axis in axes}
    return {**cells, headline.title: headline.form(row["mean"]), "±": half, "trials": row["n"]}


def _others(
    row: dict[str, Any], axes: tuple[str, ...], others: Sequence[Column], means: Mapping[tuple[Any, ...], float]
) -> dict[str, str | None]:
    """The other metrics of a point, None where it has none."""
    values = {other: means.get((other.name, *_place(row, axes))) for other in others}
    return {other.title: None if mean is None else other.form(mean) for other, mean in values.items()}

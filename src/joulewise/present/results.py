"""From the results of a study to its report and figures, without the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.present.export import FORMATS, export
from joulewise.present.page import drawable, page_of
from joulewise.present.records import Records, StudyInfo, tidy
from joulewise.present.report import draft_of, mark_of, marked_report
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    from joulewise.study import Results


def records_of(results: Results) -> Records:
    """What the report and the figures of results are made from."""
    page = page_of(results.study.kind.name)
    details = {name: results.details(name, columns) for name, columns in page.frames.items()}
    policies = results.about["policies"]
    return Records(
        _info(results),
        tidy(results.judged),
        tidy(results.summary()),
        tidy(results.differences()),
        {name: row["title"] for name, row in policies.items()},
        {name: row["mode"] for name, row in policies.items()},
        {name: table for name, table in details.items() if not table.is_empty()},
        page.keys,
        results.study.kind.headings(),
        tidy(results.tuned()),
    )


def write_report(results: Results) -> Path:
    """Write `report.html` into the folder of the results and return its path."""
    mark = _mark(results)
    return draft_of(records_of(results)).write(results.folder, mark)


def current_report(results: Results) -> Path | None:
    """The report in the folder of the results, if this version made it of them; None where it must be written."""
    return marked_report(results.folder, _mark(results))


def _mark(results: Results) -> str:
    return mark_of(results.study.kind.version, Store(results.folder).stamp())


def write_figures(
    results: Results,
    folder: Path | None = None,
    formats: Sequence[str] = ("png",),
    on_progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> list[Path]:
    """Write every figure the results allow as `NAME.FORMAT` in each format and return the paths.

    The folder is `figures` in that of the results, if none is given. `on_progress` hears how many figures of how many
    are written. Raises InputError for a format that is not in FORMATS.
    """
    place = folder or results.folder / "figures"
    if place.is_symlink() and folder is None:
        advice = "remove the link, or write the figures into a folder that you name"
        raise InputError(Problem(str(place), "is a link to another place", "must be a folder of the results", advice))
    return draw_figures(records_of(results), place, formats, on_progress)


def draw_figures(
    records: Records,
    folder: Path,
    formats: Sequence[str] = ("png",),
    on_progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> list[Path]:
    """Write every figure the records allow into a folder, as `write_figures` does."""
    raise_if_any(unknown_name("figure format", kind, FORMATS) for kind in formats if kind not in FORMATS)
    figures, written = drawable(records), list[Path]()
    for number, figure in enumerate(figures, 1):
        chart = figure.draw(records).chart
        written += [export(chart, folder / f"{figure.name}.{kind}") for kind in formats]
        on_progress(number, len(figures))
    return written


def _info(results: Results) -> StudyInfo:
    study, about = results.study, results.about
    return StudyInfo(
        name=study.name,
        seed=study.heading.seed,
        trials=results.n_trials,
        axes=results.axes,
        source=study.source,
        version=about["joulewise"],
        description=study.heading.description,
        file_name=about["study_file"],
        study_hash=about["study_hash"],
        machine=about["machine"],
        made_at=about["run_at"],
        seconds=results.seconds,
        n_failed=results.failed.height,
        deterministic=not any(map(study.kind.is_timed, study.points)),
        kind=study.kind.name,
        notes=results.notes,
    )

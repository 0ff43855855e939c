"""From the results of a study to its report and figures, without the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from joulewise.errors import raise_if_any, unknown_name
from joulewise.present.export import FORMATS, export, render, spec_of
from joulewise.present.findings import Finding
from joulewise.present.gallery import check_choice, check_names, figures_of, hung
from joulewise.present.kept import mark_of_results
from joulewise.present.layout import Drawing
from joulewise.present.overview import findings as overview_findings
from joulewise.present.overview import records_of_values
from joulewise.present.page import Figure, page_of
from joulewise.present.records import WHOLES, Records, StudyInfo, tidy
from joulewise.present.report import Draft, draft_of, overview_draft
from joulewise.study.answers.overview import Overview, is_large
from joulewise.study.store.store import DONE, Store
from joulewise.study.store.tables import results_of

if TYPE_CHECKING:
    from joulewise.study import Results

_GLIMPSED = 4
"""How many runs are looked at of tables that have a row for each task."""


def records_of(results: Results) -> Records:
    """What the report and the figures of results are made from."""
    return Records(
        _info(results),
        tidy(results.judged),
        tidy(results.summary()),
        tidy(results.differences(list(WHOLES))),
        frames=_frames(results),
        tuned=tidy(results.tuned()),
        headline=results.headline.name if results.study.first_columns else "",
        error=results.error,
        **_words(results),
    )


def records_of_runs(results: Results, runs: pl.DataFrame) -> Records:
    """Records of these runs that tell how to speak of them; nothing is summed up."""
    return Records(_info(results), tidy(runs), pl.DataFrame(), pl.DataFrame(), **_words(results))


def _records_of_schedules(results: Results) -> Records:
    """What pictures of schedules are made from: of what came out, the shares of utility alone, however many runs."""
    others = {*results_of(results.columns)} - {"status", *WHOLES, *results.error.sampling.needs}
    runs = results.judging().select(name for name in results.columns if name not in others).collect()
    summary = tidy(results.summary(list(WHOLES)))
    words = _words(results) | {"frames": _frames(results), "error": results.error}
    return Records(_info(results), tidy(runs), summary, pl.DataFrame(), **words)


def _frames(results: Results) -> dict[str, pl.DataFrame]:
    """The detail tables that the page reads, as far as runs have them."""
    page = page_of(results.study.kind.name)
    details = {name: results.details(name, columns) for name, columns in page.frames.items()}
    details |= {name: results.details(name, columns, _a_few(results)) for name, columns in page.glimpses.items()}
    return {name: table for name, table in details.items() if not table.is_empty()}


def _words(results: Results) -> dict[str, Any]:
    """How what is in the results is spoken of."""
    policies = results.about["policies"]
    return {
        "titles": {name: row["title"] for name, row in policies.items()},
        "modes": {name: row["mode"] for name, row in policies.items()},
        "keys": page_of(results.study.kind.name).keys,
        "headings": results.study.kind.headings(),
    }


def _overview(results: Results) -> tuple[Overview, Records]:
    """The overview of very many runs, with records of the values that they have."""
    overview = Overview(results)
    return overview, records_of_values(overview, _info(results), tuned=tidy(results.tuned()), **_words(results))


def _a_few(results: Results) -> list[str]:
    """The first run of each of the first points, and that of the point which is best on average."""
    axes, kind = list(results.axes), results.study.kind
    metric = next((column.name for column in results.study.first_columns if column.name in results.columns), None)
    sampling = results.error.sampling
    wanted = dict.fromkeys(["run", *axes, *([metric] if metric else []), *sampling.needs])
    done = results.judging().filter(pl.col("status") == DONE).select(*wanted).collect()
    first = done.unique(axes, keep="first", maintain_order=True)
    keys = first["run"].head(_GLIMPSED).to_list()
    if metric and kind.has_best and first.height > _GLIMPSED:
        means = done.group_by(axes, maintain_order=True).agg(sampling.figure(pl.col(metric))).drop_nulls(metric)
        top = means.sort(pl.col(metric) * kind.sense_of(metric), descending=True, maintain_order=True).head(1)
        best = first.join(top, on=axes, how="semi", nulls_equal=True)["run"].to_list()
        keys = list(dict.fromkeys([*keys[: _GLIMPSED - len(best)], *best]))
    return keys


def write_report(results: Results, figures: Sequence[str] = ()) -> Path:
    """Write `report.html` into the folder of the results and return its path.

    Its figures are those of these names, else those that the study names, else all that the results allow. InputError
    for a name that is that of no figure.
    """
    names = _chosen(results, figures)
    return _draft(results, names).write(results.folder, mark_of_results(results, names))


def draft_of_results(results: Results, figures: Sequence[str] = ()) -> Draft:
    """The report of results but for its pictures, with the figures that `write_report` would draw."""
    return _draft(results, _chosen(results, figures))


def _draft(results: Results, names: Sequence[str]) -> Draft:
    return overview_draft(*_overview(results), names) if is_large(results) else draft_of(records_of(results), names)


def findings_of(results: Results) -> Sequence[Finding]:
    """What the report of results finds, in words, without its figures."""
    if is_large(results):
        return overview_findings(*_overview(results))
    records = records_of(results)
    return page_of(records.study.kind).findings(records)


def _chosen(results: Results, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The names of figures that are asked for, here or by the study; InputError where there is no such figure."""
    if names:
        check_names(results.study, names, "figures")
        return tuple(names)
    check_choice(results.study)
    return results.study.shown.figures


def write_figures(
    results: Results,
    folder: Path | None = None,
    formats: Sequence[str] = ("png",),
    on_progress: Callable[[int, int], object] = lambda _done, _total: None,
    names: Sequence[str] = (),
) -> list[Path]:
    """Write the figures that a report with these names has as `NAME.FORMAT` and return the paths.

    The folder is `figures` in that of the results, if none is given. `on_progress` hears how many figures of how many
    are written. Raises InputError for a format that is not in FORMATS, and for a name that is that of no figure.
    """
    advice = "remove the link, or write the figures into a folder that you name"
    place = folder or Store(results.folder).own_folder("figures", advice)
    chosen = _chosen(results, names)
    if is_large(results):
        overview, records = _overview(results)
        return _exported(records, figures_of(records, chosen, overview), place, formats, on_progress)
    return draw_figures(records_of(results), place, formats, on_progress, chosen)


def schedule_figures(results: Results) -> Iterator[tuple[str, bytes]]:
    """The figures of results that show where and when things ran, each with its name, as PNG."""
    figures = [figure for figure in page_of(results.study.kind.name).figures if figure.is_schedule]
    if not figures:
        return
    records = _records_of_schedules(results)
    for figure in figures:
        if figure.is_drawable(records):
            drawn = render(spec_of(figure.draw(records).chart), "png")
            assert isinstance(drawn, bytes), "a PNG is no text"
            yield figure.name, drawn


def draw_figures(
    records: Records,
    folder: Path,
    formats: Sequence[str] = ("png",),
    on_progress: Callable[[int, int], object] = lambda _done, _total: None,
    names: Sequence[str] = (),
) -> list[Path]:
    """Write figures of the records into a folder, as `write_figures` does."""
    return _exported(records, figures_of(records, names), folder, formats, on_progress)


def _exported(
    records: Records,
    figures: Sequence[Figure],
    folder: Path,
    formats: Sequence[str],
    on_progress: Callable[[int, int], object],
) -> list[Path]:
    """Draw figures and write those that show something; InputError for a format that is not in FORMATS."""
    raise_if_any(unknown_name("figure format", kind, FORMATS) for kind in formats if kind not in FORMATS)
    written = list[Path]()
    for number, (figure, drawing) in enumerate(hung(records, figures), 1):
        if isinstance(drawing, Drawing):
            written += [export(drawing.chart, folder / f"{figure.file_name}.{kind}") for kind in formats]
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
        deterministic=not any(map(study.kind.is_timed, study.decisions)),
        kind=study.kind.name,
        notes=results.notes,
    )

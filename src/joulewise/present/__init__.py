"""Figures and the report page, made from a study's records alone.

Altair and vl-convert are imported when the first figure is drawn, not with this package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from joulewise.errors import raise_if_any, unknown_name
from joulewise.present.export import FORMATS, export
from joulewise.present.records import Records, StudyInfo, tidy

if TYPE_CHECKING:
    from joulewise.present.report import Draft

__all__ = ["FORMATS", "Records", "StudyInfo", "draft_report", "write_figures"]


def draft_report(
    *,
    study: StudyInfo,
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    differences: pl.DataFrame,
    traces: pl.DataFrame | None = None,
    titles: Mapping[str, str],
    modes: Mapping[str, str] | None = None,
    **details: pl.DataFrame | None,
) -> Draft:
    """A report that can be written; it keeps none of the frames, which are those of `Records`, `details` by name."""
    from joulewise.present.report import draft_of

    return draft_of(_records(study, runs, summary, differences, traces, titles, modes, details))


def write_figures(
    folder: Path,
    *,
    study: StudyInfo,
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    differences: pl.DataFrame,
    traces: pl.DataFrame | None = None,
    titles: Mapping[str, str],
    modes: Mapping[str, str] | None = None,
    formats: Sequence[str] = ("png",),
    on_progress: Callable[[int, int], object] = lambda _done, _total: None,
    **details: pl.DataFrame | None,
) -> list[Path]:
    """Write every figure the records allow as `folder/NAME.FORMAT` in each format and return the paths.

    `on_progress` is told how many figures of how many are written. The frames are those of `Records`, `details` by
    name. Raises InputError for a format that is not in FORMATS.
    """
    from joulewise.present.figures import drawable

    raise_if_any(unknown_name("figure format", kind, FORMATS) for kind in formats if kind not in FORMATS)
    records = _records(study, runs, summary, differences, traces, titles, modes, details)
    figures, written = drawable(records), list[Path]()
    for number, figure in enumerate(figures, 1):
        chart = figure.draw(records).chart
        written += [export(chart, folder / f"{figure.name}.{kind}") for kind in formats]
        on_progress(number, len(figures))
    return written


def _records(
    study: StudyInfo,
    runs: pl.DataFrame,
    summary: pl.DataFrame,
    differences: pl.DataFrame,
    traces: pl.DataFrame | None,
    titles: Mapping[str, str],
    modes: Mapping[str, str] | None,
    details: Mapping[str, pl.DataFrame | None],
) -> Records:
    return Records(study, tidy(runs), tidy(summary), tidy(differences), traces, titles, modes or {}, **details)

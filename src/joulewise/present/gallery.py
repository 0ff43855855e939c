"""Which figures a report shows: those that are chosen by name, or all that the results allow, if they show anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from inspect import getdoc
from typing import NamedTuple

from joulewise.errors import nearest, raise_if_any, unknown_name
from joulewise.present.blank import is_blank
from joulewise.present.export import spec_of
from joulewise.present.layout import Drawing
from joulewise.present.page import Figure, Need, drawable, kinds_of_figures, page_of
from joulewise.present.records import Records
from joulewise.present.sweeps import Sweep, draw_sweep, headline_sweeps, sweep_names, sweep_of, sweep_title
from joulewise.study.answers.overview import LARGE, Overview
from joulewise.study.parsing.study import VARIANT, Study
from joulewise.study.spec.report import REPORT

MOST_OPEN = 12
"""So many figures of a report are seen at once; the others are behind a fold."""
_METRIC = "METRIC"
ANY_SWEEP = Sweep(_METRIC, "KEY").name
"""How figures of any metric against any swept number are listed."""
_FEWER_RUNS = Need(f"a study of {LARGE:,} runs or fewer", lambda _: False)
_NOTHING_DIFFERS = "nothing in it differs"


class Described(NamedTuple):
    """A figure in words: its name, the studies that may have it, what it shows and what it needs."""

    name: str
    studies: str
    shows: str
    needs: str


def described() -> list[Described]:
    """Every figure that there is, those of any metric against any number as one."""
    found = kinds_of_figures().items()
    of_pages = [Described(each.name, ", ".join(kinds), each.shows, each.needs_words) for each, kinds in found]
    shows = (getdoc(draw_sweep) or "").partition("\n")[0].removesuffix(".")
    return [*of_pages, Described(ANY_SWEEP, "all", shows, "several numbers of the key")]


def check_choice(study: Study) -> None:
    """InputError where the study names a figure that there is not."""
    check_names(study, study.shown.figures, f"{study.file_name}: {REPORT}.figures")


def check_names(study: Study, names: Sequence[str], where: str) -> None:
    """InputError where one of the names is that of no figure that a report of the study may have."""
    fixed = [figure.name for figure in page_of(study.kind.name).figures]
    metrics = [column.name for column in study.kind.all_columns() if column.is_metric]
    keys = [axis for axis in study.axes if axis not in (VARIANT, study.kind.main_axis)]
    every = [*fixed, *sweep_names(metrics, keys)]
    told = [*fixed, *sweep_names([_METRIC], keys)]
    wrong = [name for name in names if not any(fnmatchcase(name, known) for known in every)]
    raise_if_any(replace(unknown_name(where, name, told), advice=_advice(name, every)) for name in wrong)


def _advice(name: str, names: Sequence[str]) -> str:
    guess = nearest(name, names)
    return f"did you mean {guess!r}?" if guess else "`joulewise list figures` describes them"


def figures_of(records: Records, names: Sequence[str] = (), overview: Overview | None = None) -> list[Figure]:
    """The figures with these names, or all that the records allow: those of the page, and the headline by numbers.

    Of very many runs, which have an `overview`, there are those against numbers alone.
    """
    of_page = {figure.name: figure for figure in page_of(records.study.kind).figures}
    if overview:
        of_page = {name: replace(figure, needs=(_FEWER_RUNS,)) for name, figure in of_page.items()}
    sweeps = {sweep.name: sweep for sweep in (map(sweep_of, names) if names else headline_sweeps(records)) if sweep}
    known = {name: _sweep_figure(records, sweep, overview) for name, sweep in sweeps.items()} | of_page
    default = [*(figure.name for figure in ([] if overview else drawable(records))), *sweeps]
    return [known[name] for name in dict.fromkeys(names or default)]


def _sweep_figure(records: Records, sweep: Sweep, overview: Overview | None) -> Figure:
    """The figure of a metric against a swept number."""
    needs = (
        Need(f"values of {sweep.metric}", lambda records: (overview or records).measures(sweep.metric)),
        Need(
            f"several numbers of {sweep.along}",
            lambda records: records.varies(sweep.along) and records.is_number(sweep.along),
        ),
    )
    return Figure(sweep.name, sweep_title(records, sweep), needs, partial(draw_sweep, sweep=sweep, overview=overview))


def hung(records: Records, figures: Iterable[Figure]) -> Iterator[tuple[Figure, Drawing | str]]:
    """Each of the figures with its drawing, or with why it has none."""
    for figure in figures:
        drawing = figure.draw(records) if figure.is_drawable(records) else f"it needs {figure.lacking(records)}"
        is_empty = isinstance(drawing, Drawing) and is_blank(spec_of(drawing.chart))
        yield figure, _NOTHING_DIFFERS if is_empty else drawing

"""The page of a comparison: what came out, figures, every difference, what differs and what was paired."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import polars as pl

from joulewise._version import __version__
from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.files import write_atomic
from joulewise.present.comparison.differences import draw_differences
from joulewise.present.comparison.tables import difference_tables, made_table, pairs_table, settings_table
from joulewise.present.comparison.values import draw_distributions, draw_trials, has_pairs, has_spread
from joulewise.present.comparison.view import Amount, View, interval_text
from joulewise.present.export import FORMATS, export
from joulewise.present.findings import MAX_FINDINGS, Finding
from joulewise.present.glossary import STATISTICS
from joulewise.present.html import libraries
from joulewise.present.layout import Drawing
from joulewise.present.parts import unchecked
from joulewise.present.report import Draft, plate_of
from joulewise.study.answers.comparison import HIGHER, LOWER, SAME, Comparison
from joulewise.study.answers.points import STUDY
from joulewise.study.answers.statistics import TIED
from joulewise.units import count

_INTERVAL = "95 % confidence interval"
GLOSSARY = {
    "Base": "The study that was named first; it is subtracted from the others.",
    "Paired": (
        "Trials of one number and seed are held against each other one by one, so that what they share cancels."
    ),
    _INTERVAL: STATISTICS[_INTERVAL],
    "Effect": (
        "The difference in standard deviations, corrected for few trials: those of paired differences (Cohen's d_z), "
        "or those of trials where nothing is paired (Hedges' g). The two are not on one scale."
    ),
    "p alone": "The chance of a difference at least so large, to either side, if there were none (Student, Welch).",
    "p": (
        "The same, corrected for all differences of this page together (Holm): where it is at most 0.05, the trials "
        "tell the two apart, and the chance that this is wrong anywhere on the page is at most 5 %."
    ),
    "Tied": (
        "These trials do not tell the two apart. A difference may be there all the same; more trials would tell, or, "
        "of resamples, a longer log."
    ),
}


class _Figure(NamedTuple):
    name: str
    title: str
    is_there: Callable[[Comparison], bool]
    draw: Callable[[View], Drawing]


def _has_differences(comparison: Comparison) -> bool:
    return comparison.differences["difference"].count() > 0


FIGURES = (
    _Figure("differences", "Differences to the base", _has_differences, draw_differences),
    _Figure("distributions", "Trials of each study", has_spread, draw_distributions),
    _Figure("trials", "Trial by trial", has_pairs, draw_trials),
)


def drawable(comparison: Comparison) -> list[_Figure]:
    """The figures that make sense for a comparison."""
    return [figure for figure in FIGURES if figure.is_there(comparison)]


def write_comparison(comparison: Comparison, path: Path | str, formats: Sequence[str] = ()) -> list[Path]:
    """Write the page of a comparison, and beside it each figure in these formats; the paths, the page first.

    Figures are called by the page and themselves, such as `page-differences.png`. InputError where the page is not to
    be an HTML file, or for a format that is not in FORMATS.
    """
    path = Path(path)
    problems = [unknown_name("figure format", kind, FORMATS) for kind in formats if kind not in FORMATS]
    if path.suffix != ".html":
        problems.append(Problem(str(path), "found another ending", "must be a file that ends in .html"))
    raise_if_any(problems)
    _refuse_ours(path)
    draft = draft_of_comparison(comparison)
    figures = [
        export(plate.spec, path.with_name(f"{path.stem}-{plate.name}.{kind}"))
        for plate in draft.plates
        for kind in formats
    ]
    write_atomic(path, draft.html())
    return [path, *figures]


def draft_of_comparison(comparison: Comparison) -> Draft:
    """The page of a comparison but for its still pictures."""
    view = View(comparison)
    with unchecked():
        drawn = {figure: figure.draw(view) for figure in drawable(comparison)}
    plates = tuple(plate_of(figure.name, figure.title, drawing) for figure, drawing in drawn.items())
    return Draft(plates, _values(view), "comparison.html")


def _refuse_ours(path: Path) -> None:
    """InputError where a page would take the place of a report."""
    if path.name == "report.html" and (path.parent / "study.json").is_file():
        raise InputError(Problem(str(path), "is the report of a study", "must be another file"))


def _values(view: View) -> dict[str, object]:
    comparison = view.comparison
    labels = comparison.labels
    about = {"name": f"{', '.join(labels[1:])} against {labels[0]}", "description": "", "version": __version__}
    facts = [count(comparison.pairs.height, "pair of points", "pairs of points"),
             f"{count(comparison.n_corrected, 'difference')} tested"]  # fmt: skip
    return {
        "about": about,
        "facts": facts,
        "libraries": libraries() if drawable(comparison) else "",
        "findings": list(islice(findings(view), MAX_FINDINGS)),
        "difference_tables": difference_tables(view),
        "settings": settings_table(view),
        "notes": comparison.notes,
        "pairs": pairs_table(view),
        "made": made_table(view),
        "glossary": GLOSSARY,
    }


def findings(view: View) -> Iterator[Finding]:
    """How each study stands to the base in each metric, and where they differ most."""
    for study in view.comparison.labels[1:]:
        for metric in view.comparison.metrics:
            yield _finding(view, study, metric)


def _finding(view: View, study: str, metric: str) -> Finding:
    found = view.rows(metric).filter(pl.col(STUDY) == study)
    amount = view.amount(metric)
    counts = [(word, found.filter(pl.col("verdict") == word).height) for word in _VERDICTS]
    told = [f"{word} at {n:,}" for word, n in counts if n]
    at = f" of {count(found.height, 'point')}" if found.height > 1 else ""
    alone = next((word for word, n in counts if n), "not to be judged")
    lead = f"{', '.join(told)}{at}" if at and told else alone
    return Finding(f"{amount.title}: {study} against {view.base} is {lead}.", _largest(view, found, amount))


def _largest(view: View, found: pl.DataFrame, amount: Amount) -> str:
    """The largest difference, of those that the trials show if there are any; nothing where all is the same."""
    shown = found.filter(pl.col("verdict").is_in([HIGHER, LOWER]))
    size = pl.col("difference").abs()
    most = (found if shown.is_empty() else shown).filter(size == size.max()).head(1)
    if most.is_empty() or most["verdict"].item() == SAME:
        return ""
    row = most.row(0, named=True)
    place = f"Most at {view.point(row)}: " if found.height > 1 else "The difference is "
    unit = f" {amount.of_differences}" if amount.of_differences else ""
    return f"{place}{interval_text(row, amount.size)}{unit}."


_VERDICTS = (HIGHER, LOWER, TIED, SAME)

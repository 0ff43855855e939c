"""What pages of days share: which run is seen, which window of it, and where one may go from there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.present.formats import fixed
from joulewise.present.windows import Window
from joulewise.serve.answer import Answer, Cell, Link, Links, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish
from joulewise.serve.timeline import FROM, HOUR_S, TO
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject

RUN = "run"
"""The key of a query that says which run is seen."""
N_BINS = 120
"""Into so many pieces a window is cut: as many as a screen can show."""
_MOST_DAYS = 4
"""So many days of a study are kept at hand."""
_MOST_LOOKED_AT = 12
_STEP_H = 0.01
_LEAST_H = 0.001

Day = TypeVar("Day")


def has_tables(*names: str) -> Callable[[Subject], bool]:
    """Whether runs of a study may have these detail tables."""
    return lambda subject: set(names) <= set(subject.study.kind.tables)


def wishes(subject: Subject, table: str, more: Sequence[Wish] = ()) -> Sequence[Wish]:
    """Which run and which window may be asked for; none where no run kept its tables."""
    runs = _kept_runs(subject, table)
    if not runs:
        return ()
    start_h, end_h = subject.kept(("span", table), lambda: _span_h(subject, table, list(runs)))
    hours: dict[str, Any] = {"low": start_h, "high": end_h, "step": _STEP_H, "unit": "h"}
    return (
        Choice(RUN, "Run", "Those whose detail tables were kept.", options=runs),
        Number(FROM, "From", "Where the window begins.", default=start_h, **hours),
        Number(TO, "To", "Where it ends.", default=end_h, **hours),
        *more,
    )


def _kept_runs(subject: Subject, table: str) -> dict[str, str]:
    """The runs with detail tables, by key, in the order of the study, with what tells each from the others."""
    return subject.kept(("kept runs", table), lambda: _named_runs(subject, table))


def _named_runs(subject: Subject, table: str) -> dict[str, str]:
    from joulewise.present.results import records_of_runs

    results = subject.results
    stored = Store(results.folder).detail_keys(table)
    runs = results.judging().filter(pl.col("run").is_in(list(stored))).collect()
    records = records_of_runs(results, runs)
    told = ["trial"] if runs["trial"].n_unique() > 1 or not records.varying else []
    return {
        row["run"]: ", ".join(
            [*filter(None, [records.phrases(row, records.varying)]), *(f"trial {row[k]}" for k in told)]
        )
        for row in runs.iter_rows(named=True)
    }


def _span_h(subject: Subject, table: str, runs: Sequence[str]) -> tuple[float, float]:
    """When the first of a few of the kept days begins and the last ends, in whole hours."""
    few = runs[:: max(1, len(runs) // _MOST_LOOKED_AT)]
    at_h = subject.results.details(table, ["at_s"], few)["at_s"] / HOUR_S
    first, last = float(at_h.min() or 0.0), float(at_h.max() or 0.0)  # type: ignore[arg-type]
    return float(math.floor(first)), float(max(math.ceil(last), math.floor(first) + 1))


def day_asked(subject: Subject, asked: Asked, make: Callable[[Mapping[str, pl.DataFrame]], Day]) -> Day:
    """The day of the run that was asked for; the last few are kept at hand."""
    read = subject.kept(("days", make), lambda: lru_cache(_MOST_DAYS)(lambda key: make(subject.results.tables(key))))
    return read(asked[RUN])


def run_asked(asked: Asked) -> str:
    """The run that was asked for, in words."""
    options = next(wish.options for wish in asked.wishes if isinstance(wish, Choice) and wish.key == RUN)
    return f"{options[asked[RUN]]}."


def row_asked(subject: Subject, asked: Asked) -> dict[str, Any]:
    """The row of the run that was asked for."""
    rows = subject.results.scan().filter(pl.col("run") == asked[RUN]).collect()
    return rows.row(0, named=True)


def window_asked(asked: Asked, whole: Window) -> Window:
    """The window that was asked for, within the whole; InputError where it is empty."""
    from_h, to_h = asked[FROM], asked[TO]
    if to_h - from_h < _LEAST_H:
        raise InputError(Problem(FROM, f"found {from_h:g} h to {to_h:g} h", "the window must end after it begins"))
    start_s, end_s = max(from_h * HOUR_S, whole.start_s), min(to_h * HOUR_S, whole.end_s)
    if end_s <= start_s:
        allowed = f"the counted window is from {_told_h(whole.start_s)} to {_told_h(whole.end_s)}"
        raise InputError(Problem(FROM, f"found {from_h:g} h to {to_h:g} h", allowed, "ask for a part of it"))
    return Window(start_s, end_s)


def title_of(window: Window) -> str:
    """A window in words."""
    return f"From {_told_h(window.start_s)} to {_told_h(window.end_s)}"


def _told_h(at_s: float) -> str:
    return f"{at_s / HOUR_S:.6g} h"


def ways(asked: Asked, window: Window, whole: Window) -> Links:
    """Where one may look from a window, without drawing a span."""
    if window == whole:
        return Links([Link("Closer", asked.query(**_hours(_scaled(window, 0.5))), "the half in the middle")])
    length_s = window.end_s - window.start_s
    moved = {"Earlier": _moved(window, -length_s / 2, whole), "Later": _moved(window, length_s / 2, whole)}
    sized = {"Closer": _scaled(window, 0.5), "Wider": _inside(_scaled(window, 2.0), whole)}
    links = [Link(name, asked.query(**_hours(to))) for name, to in {**moved, **sized}.items() if to != window]
    usual = {wish.key: wish.usual for wish in asked.wishes}
    return Links([*links, Link("All of it", asked.query(**{key: usual[key] for key in (FROM, TO)}))])


def _hours(window: Window) -> dict[str, float]:
    return {FROM: round(window.start_s / HOUR_S, 4), TO: round(window.end_s / HOUR_S, 4)}


def _scaled(window: Window, part: float) -> Window:
    middle_s, half_s = (window.start_s + window.end_s) / 2, part * (window.end_s - window.start_s) / 2
    return Window(middle_s - half_s, middle_s + half_s)


def _moved(window: Window, by_s: float, whole: Window) -> Window:
    by_s = min(max(by_s, whole.start_s - window.start_s), whole.end_s - window.end_s)
    return Window(window.start_s + by_s, window.end_s + by_s)


def _inside(window: Window, whole: Window) -> Window:
    return Window(max(window.start_s, whole.start_s), min(window.end_s, whole.end_s))


def nothing_kept(subject: Subject, title: str) -> Answer:
    """What a page says where no run kept its tables."""
    keep = subject.study.heading.keep
    said = Said(
        "No run of this study kept its detail tables, so its days cannot be seen.",
        f'The study file says keep = "{keep}". Write keep = "first" into it, which keeps the first trial of each '
        f'point, or keep = "all"; then run it again: `joulewise run` with the study file.',
    )
    return Answer(title, [Sentences([said])])


def numbers_table(caption: str, columns: Mapping[str, Sequence[float]], digits: Mapping[str, int]) -> Table:
    """What figures show as numbers, folded away; a row for each of some instants, the first column says which."""
    rows = [
        [Cell(fixed(value, digits.get(name, 1)), value) for name, value in zip(columns, values, strict=True)]
        for values in zip(*columns.values(), strict=True)
    ]
    return Table(caption, list(columns), rows, folded=True)


def thinned(n: int, most: int) -> Iterator[slice]:
    """The bins that rows of a table put together."""
    each = -(-n // most)
    return (slice(first, min(first + each, n)) for first in range(0, n, each))

"""What pages of days share: which run is seen, which window of it, and where one may go from there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.present.formats import fixed
from joulewise.present.windows import Window
from joulewise.serve import solving
from joulewise.serve.answer import Cell, Link, Links, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish
from joulewise.serve.timeline import FROM, HOUR_S, TO
from joulewise.serve.whatif import POINT, point_wish, question
from joulewise.study.store.store import Store

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject

_NOTHING_KEPT = "kept no detail tables"
_KEEP = 'write keep = "first", for the first trial of each point, or keep = "all" into it and run it again'
RUN = "run"
"""The key of a query that says which run is seen."""
SHADE, BUSY, POWER = "shade", "busy", "power"
"""The key of a query that says what cells of machines show, and what they may show."""
N_BINS = 120
"""Into so many pieces a window is cut: as many as a screen can show."""
_MOST_DAYS = 4
"""So many days of a study are kept at hand."""
_STEP_H = 0.01
_LEAST_H = 0.001


class HasWhole(Protocol):
    """A day that knows its counted window."""

    @property
    def whole(self) -> Window:
        """The counted window."""


Day = TypeVar("Day", bound=HasWhole)
Make = Callable[[Mapping[str, pl.DataFrame]], Day]


class Seen(NamedTuple, Generic[Day]):
    """A day with the columns of its run."""

    day: Day
    columns: Mapping[str, Any]


def wishes(subject: Subject, table: str) -> Sequence[Wish]:
    """Which day may be asked for: that of a run that kept its tables, or, where none did, that of a point."""
    runs = _kept_runs(subject, table)
    if not runs:
        return (point_wish(subject),)
    return (Choice(RUN, "Run", "Those whose detail tables were kept.", options=runs),)


def window_wishes(whole: Window) -> Sequence[Wish]:
    """Which window of a day may be asked for."""
    start_h, end_h = math.floor(whole.start_s / HOUR_S), math.ceil(whole.end_s / HOUR_S)
    hours: dict[str, Any] = {"low": float(start_h), "high": float(max(end_h, start_h + 1)), "unit": "h"}
    return (
        Number(FROM, "From", "Where the window begins.", default=hours["low"], step=_STEP_H, **hours),
        Number(TO, "To", "Where it ends.", default=hours["high"], step=_STEP_H, **hours),
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
    has_trials = runs["trial"].n_unique() > 1 or not records.varying

    def words(row: Mapping[str, Any]) -> str:
        trial = f"trial {row['trial']}" if has_trials else ""
        return ", ".join(filter(None, (records.phrases(row, records.varying), trial)))

    return {row["run"]: words(row) for row in runs.iter_rows(named=True)}


def seen(subject: Subject, asked: Asked, make: Make[Day]) -> Seen[Day]:
    """The day that was asked for; the last few of a study are kept at hand."""
    read = subject.kept(("days", make), lambda: lru_cache(_MOST_DAYS)(partial(_read, subject, make)))
    key = (RUN, asked[RUN]) if RUN in asked.values else (POINT, question(subject, asked))
    found: Seen[Day] = read(*key)
    return found


def _read(subject: Subject, make: Make[Day], what: str, key: Any) -> Seen[Day]:
    if what == POINT:
        return _computed(subject, make, key)
    row = subject.results.scan().filter(pl.col("run") == key).collect().row(0, named=True)
    return Seen(make(subject.results.tables(key)), row)


def _computed(subject: Subject, make: Make[Day], asked: solving.Question) -> Seen[Day]:
    """The day of a point, computed anew; InputError, with what else one can do, where that takes too much."""
    with TemporaryDirectory(prefix="joulewise-") as scratch:
        folder = Path(scratch)
        try:
            columns = subject.desk.solve(solving.tables_into, asked, folder)
        except InputError as error:
            raise InputError(*error.problems, Problem("the study", _NOTHING_KEPT, advice=_KEEP)) from None
        return Seen(make({path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}), columns)


def told(subject: Subject, asked: Asked) -> Sequence[Sentences]:
    """That a day was computed anew, where it was."""
    if RUN in asked.values:
        return ()
    lead = f"This day is computed anew, as the study {_NOTHING_KEPT}."
    kept = f'The study file says keep = "{subject.study.heading.keep}"; {_KEEP}.'
    return (Sentences([Said(lead, kept)]),)


def name_asked(asked: Asked) -> str:
    """The run or the point that was asked for, in words."""
    wish = asked.wishes[0]
    return f"{wish.options[asked[wish.key]]}." if isinstance(wish, Choice) else ""


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
    length_s = window.end_s - window.start_s
    closer = {"Closer": _scaled(window, 0.5)} if length_s > 4 * _LEAST_H * HOUR_S else {}
    if window == whole:
        return Links([Link(name, asked.query(**_hours(to)), "the half in the middle") for name, to in closer.items()])
    moved = {"Earlier": _moved(window, -length_s / 2, whole), "Later": _moved(window, length_s / 2, whole)}
    there = {**moved, **closer, "Wider": _inside(_scaled(window, 2.0), whole)}
    links = [Link(name, asked.query(**_hours(to))) for name, to in there.items() if to != window]
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

"""What-if for every kind of study: settings of one of its points moved, and the point solved again.

Which settings there are follows from the registration of the kind: the numbers of its sections, with the bounds that
their parameters have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, get_args

from joulewise.serve import solving
from joulewise.serve.answer import Answer, Cell, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish, around
from joulewise.serve.board import Board

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject
    from joulewise.study.parsing.study import Study
    from joulewise.study.spec.column import Column
    from joulewise.study.spec.parts import Part

POINT = "point"
MOST_POINTS = 200
MOST_KNOBS = 12
_UNITS = {"_w": "_w", "_j": "_j", "_s": "_s"}
_NEVER = ("time_limit_s", "seed", "generations", "population", "mutation", "gene_mutation", "samples", "day_s")
"""Settings that say how a search goes, and not what is decided."""


@dataclass(frozen=True)
class Knob:
    """A setting that can be moved: its dotted key, what it is called, its unit's size, and its range in that unit."""

    key: str
    label: str
    help: str
    low: float
    high: float
    step: float
    usual: float
    unit: str = ""
    size: float = 1.0
    is_whole: bool = False

    @property
    def wish(self) -> Number:
        """What asks for it."""
        return Number(self.key, self.label, self.help, self.low, self.high, self.step, self.usual, self.unit)

    def value(self, asked: float) -> float | int:
        """The value of the setting for what was asked."""
        return round(asked) if self.is_whole else asked * self.size


def point_wish(subject: Subject) -> Choice:
    """Which point of the study is asked about."""
    return Choice(POINT, "Point of the study", options=subject.kept("points", lambda: _points(subject)))


def _points(subject: Subject) -> dict[str, str]:
    """What the points are called, by their numbers."""
    from joulewise.present.formats import key_name, key_value

    study = subject.study
    rows = [point.cells() for point in study.points[:MOST_POINTS]]
    told = [key for key in study.axes if len({str(row.get(key)) for row in rows}) > 1]
    names = [", ".join(f"{key_name(key)} {key_value(key, row.get(key))}" for key in told) for row in rows]
    return {str(i): name or "the only one" for i, name in enumerate(names)}


def question(subject: Subject, asked: Asked, changes: solving.Changes = ()) -> solving.Question:
    """The question about a point of a study."""
    return question_of(subject, int(asked[POINT]), changes)


def question_of(subject: Subject, at: int, changes: solving.Changes = (), trial: int = 0) -> solving.Question:
    """The question about the point with this number."""
    allows_code = subject.desk.allows_code
    return solving.Question(_root_of(subject), subject.folder, subject.stamp, at, changes, allows_code, trial)


def _root_of(subject: Subject) -> Path:
    """The served folder as the place of the study tells it: a study in no other folder below it may be all of it."""
    above = PurePosixPath(subject.place).parts[1:]
    return subject.folder.parents[len(above)] if above else subject.folder


def point_number(subject: Subject, row: dict[str, Any]) -> int:
    """The number of the point that a run is of."""
    study = subject.study
    wanted = {key: row.get(key) for key in study.axes}
    cells = (point.cells() for point in study.points)
    return next(i for i, found in enumerate(cells) if {key: found.get(key) for key in study.axes} == wanted)


def first_run(subject: Subject, at: int) -> dict[str, Any]:
    """The stored run of the first trial of the point with this number; nothing where it has no result."""
    wanted = subject.study.points[at].cells()
    runs = subject.records.runs.sort("trial", maintain_order=True).iter_rows(named=True)
    return next((row for row in runs if all(row[key] == wanted.get(key) for key in subject.study.axes)), {})


def trial_told(subject: Subject) -> str:
    """Which trial of a point is solved again, in words."""
    n = subject.results.n_trials
    return "the only trial" if n == 1 else f"the first trial of {n:,}"


# --- which settings there are -------------------------------------------------------------------------------------


def knobs_of(study: Study, at: int) -> list[Knob]:
    """The settings of a point that can be moved: those that the study sweeps come first, then what decides."""
    point = study.points[at]
    parts = (point.decision, point.supply, point.workload, point.system)
    found = [knob for part in parts for knob in _of_part(part)]
    ranked = sorted(found, key=lambda knob: knob.key not in study.axes)
    return ranked[:MOST_KNOBS]


def _of_part(part: Part) -> Iterator[Knob]:
    from joulewise.study.spec.parameters import hints_of, is_number

    owner: type = type(part.parameters)
    hints = hints_of(owner)
    for each in fields(part.parameters):
        value = getattr(part.parameters, each.name)
        is_asked = isinstance(value, int | float) and not isinstance(value, bool) and each.name not in _NEVER
        if is_asked and is_number(hints[each.name]) and math.isfinite(value):
            yield _knob(part, each.name, hints[each.name], float(value), str(each.metadata.get("help", "")))


def _knob(part: Part, name: str, hint: Any, value: float, text: str) -> Knob:
    from joulewise.study.spec.parameters import is_whole

    least, most = _bounds(hint)
    whole = is_whole(hint)
    unit, size = _unit(name, value)
    key, label = f"{part.section}.{name}", f"{part.section}: {_name(name)}"
    shown = around(key, label, text, value / size, unit)
    low, high = max(shown.low, least / size), min(shown.high, most / size)
    if whole:
        low, high = math.ceil(low), math.floor(max(high, low + 1))
    return Knob(key, label, text, low, high, 1.0 if whole else shown.step, shown.usual, unit, size, whole)


def _name(name: str) -> str:
    return (name[:-2] if name[-2:] in _UNITS else name).replace("_", " ")


def _bounds(hint: Any) -> tuple[float, float]:
    """The least and the most that a parameter may be, as its type says."""
    least, most = -math.inf, math.inf
    for mark in _marks(hint):
        for limit in ("ge", "gt"):
            least = max(least, float(value)) if (value := getattr(mark, limit, None)) is not None else least
        for limit in ("le", "lt"):
            most = min(most, float(value)) if (value := getattr(mark, limit, None)) is not None else most
    return least, most


def _marks(hint: Any) -> Iterator[Any]:
    for mark in getattr(hint, "__metadata__", ()):
        yield mark
        yield from getattr(mark, "metadata", ())
    for arm in get_args(hint):
        if hasattr(arm, "__metadata__"):
            yield from _marks(arm)


def _unit(name: str, value: float) -> tuple[str, float]:
    """The unit that suits a setting, and its size."""
    from joulewise.present.formats import energy_unit, power_unit, time_unit

    of = {"_w": power_unit, "_j": energy_unit, "_s": time_unit}.get(name[-2:])
    return of(value) if of and value > 0 else ("", 1.0)


# --- what comes out -----------------------------------------------------------------------------------------------


def _wishes(subject: Subject) -> Sequence[Wish]:
    return (point_wish(subject),)


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    return [knob.wish for knob in _knobs(subject, asked)]


def _knobs(subject: Subject, asked: Asked) -> list[Knob]:
    at = int(asked[POINT])
    return subject.kept(("knobs", at), lambda: knobs_of(subject.study, at))


def solve_again(subject: Subject, asked: Asked) -> Answer:
    """The point as it is and with what was asked, column by column, with what changed and by how much."""
    knobs = _knobs(subject, asked)
    changes = changes_of(knobs, asked)
    before = subject.desk.solve(solving.columns_of, question(subject, asked))
    after = subject.desk.solve(solving.columns_of, question(subject, asked, changes)) if changes else before
    columns = [column for column in subject.study.kind.columns if column.name in before and column.table == "runs"]
    rows = [row for column in columns if (row := _row(column, before, after, subject))]
    headline = next(iter(subject.study.kind.shown()), None)
    lines = [_sentence(headline, before, after, _moved(knobs, asked, changes), subject)] if headline else []
    headings = ["What", "As it is", "As asked", "Change"]
    return Answer(
        f"What if: {subject.title}",
        [Sentences(lines), Table("Solved again for the first trial", headings, rows)],
        "Move a setting, and the first trial of the point is solved again by the code that the study runs.",
    )


def changes_of(knobs: Sequence[Knob], asked: Asked) -> solving.Changes:
    """The settings that were moved, with their values."""
    return tuple((knob.key, knob.value(asked[knob.key])) for knob in knobs if asked[knob.key] != knob.usual)


def _moved(knobs: Sequence[Knob], asked: Asked, changes: solving.Changes) -> list[str]:
    """The settings that were moved, in words."""
    moved = {key for key, _ in changes}
    return [
        f"{knob.label} {'up' if asked[knob.key] > knob.usual else 'down'} from {_told(knob, knob.usual)} to "
        f"{_told(knob, asked[knob.key])}"
        for knob in knobs
        if knob.key in moved
    ]


def _told(knob: Knob, value: float) -> str:
    return f"{knob.wish.told(value)} {knob.unit}".rstrip()


def _row(column: Column, before: dict[str, Any], after: dict[str, Any], subject: Subject) -> list[Cell] | None:
    from joulewise.present.formats import metric_title

    was, now = before.get(column.name), after.get(column.name)
    if column.is_measured or not (_is_known(was) or _is_known(now)):
        return None
    title = metric_title(column.name, subject.study.kind.headings())
    is_number = not isinstance(was if was is not None else now, str)
    kind = "" if is_number else "words"
    return [
        Cell(title),
        *(Cell(_text(column.name, value), value, kind=kind) for value in (was, now)),
        _change(was, now),
    ]


def _text(name: str, value: Any) -> str:
    from joulewise.present.formats import metric_value, plain

    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return metric_value(name, float(value)) if is_number else plain(value)


def _change(was: Any, now: Any) -> Cell:
    from joulewise.present.formats import THIN, signed

    if was == now:
        return Cell("same")
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in (was, now)) or was == 0:
        return Cell("changed")
    change = 100 * (now - was) / abs(was)
    return Cell(f"{signed(change, 1)}{THIN}%", change)


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _sentence(
    column: Column, before: dict[str, Any], after: dict[str, Any], moved: Sequence[str], subject: Subject
) -> Said:
    from joulewise.present.formats import metric_title

    title = metric_title(column.name, subject.study.kind.headings())
    was, now = (_text(column.name, found.get(column.name)) for found in (before, after))
    if not moved:
        return Said(f"{title[:1].upper()}{title[1:]}: {was}.", "Nothing was moved yet.")
    told = "stays" if was == now else "goes from"
    end = was if was == now else f"{was} to {now}"
    return Said(f"{title[:1].upper()}{title[1:]} {told} {end}.", f"Because of {'; '.join(moved)}.")


WHAT_IF = Board(
    "what-if",
    "What if",
    "One point of the study solved again with other settings.",
    lambda _: True,
    solve_again,
    _wishes,
    _further,
    is_live=True,
)

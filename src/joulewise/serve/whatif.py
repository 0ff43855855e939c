"""What-if for every kind of study: settings of one of its points moved, and the point solved again.

Which settings there are follows from the registration of the kind: the numbers of its sections, with the bounds that
their parameters have.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, get_args

from joulewise.errors import InputError
from joulewise.serve import solving
from joulewise.serve.answer import Answer, Cell, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish, around
from joulewise.serve.board import Board
from joulewise.study.spec.source import SUPPLY, SYSTEM, WORKLOAD

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject
    from joulewise.study.kinds.kind import Kind
    from joulewise.study.parsing.study import Study
    from joulewise.study.spec.column import Column
    from joulewise.study.spec.parts import Part

POINT = "point"
MOST_POINTS = 200
MOST_KNOBS = 12
_AT_ZERO = {"s": ("min", 60.0, 20.0), "W": ("kW", 1e3, 10.0), "J": ("MJ", 1e6, 100.0)}
"""The unit of a setting that is 0, its size, and how far it can be moved in it, by the unit of its values."""
_OPEN = ("budget_j", "power_cap_w")
"""Limits of the supply that can be asked for where the study sets none."""
_OPEN_HELP = "At the right end it is not set, as in the study."
_BEYOND = 1.2
"""So many times what a run took is the right end of a limit that it did not have."""


@dataclass(frozen=True)
class Knob:
    """A setting that can be moved: its dotted key, what it is called, its unit's size, and its range in that unit.

    One that `is_open` is not set at the right end of its range.
    """

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
    is_open: bool = False

    @property
    def wish(self) -> Number:
        """What asks for it."""
        return Number(
            self.key, self.label, self.help, self.low, self.high, self.step, self.usual, self.unit, self.is_whole
        )

    def value(self, asked: float) -> float | int | None:
        """The value of the setting for what was asked."""
        if self.is_open and asked >= self.high:
            return None
        return round(asked) if self.is_whole else asked * self.size

    def told(self, asked: float) -> str:
        """What was asked, in words."""
        if self.value(asked) is None:
            return "not set"
        return f"{self.wish.told(asked)} {self.unit}".rstrip()


def point_wish(subject: Subject) -> Choice:
    """Which point of the study is asked about; where there are very many, some of all parts of it can be."""
    points = subject.kept("points", lambda: _points(subject))
    left = len(subject.study.points) - len(points)
    help_ = f"{left:,} more points are not shown." if left else ""
    return Choice(POINT, "Point of the study", help_, points)


def _points(subject: Subject) -> dict[str, str]:
    """What the points are called, by their numbers."""
    from joulewise.present.formats import key_name, key_value

    study = subject.study
    rows = {i: study.points[i].cells() for i in evenly(len(study.points), MOST_POINTS)}
    told = [key for key in study.axes if len({str(row.get(key)) for row in rows.values()}) > 1]
    names = {i: ", ".join(f"{key_name(key)} {key_value(key, row.get(key))}" for key in told) for i, row in rows.items()}
    return {str(i): name or "the only one" for i, name in names.items()}


def evenly(n: int, most: int) -> list[int]:
    """At most so many of n numbers from 0 on, evenly apart, with the first and the last one."""
    return list(range(n)) if n <= most else [i * (n - 1) // (most - 1) for i in range(most)]


def question(subject: Subject, asked: Asked, changes: solving.Changes = ()) -> solving.Question:
    """The question about a point of a study."""
    return question_of(subject, int(asked[POINT]), changes)


def question_of(subject: Subject, at: int, changes: solving.Changes = (), trial: int = 0) -> solving.Question:
    """The question about the point with this number."""
    allows_code = subject.desk.allows_code
    return solving.Question(subject.root, subject.folder, subject.stamp, at, changes, allows_code, trial)


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


def knobs_of(study: Study, at: int, taken: Mapping[str, float]) -> list[Knob]:
    """The settings of a point that can be moved: those that the study sweeps come first, then what decides.

    What its runs took, by the unit at the end of names, says how far limits can be moved that the study does not have.
    """
    point = study.points[at]
    parts = (point.decision, point.supply, point.workload, point.system)
    found = [knob for part in parts for knob in _of_part(study.kind, part, taken)]
    return sorted(found, key=lambda knob: knob.key not in study.axes)


def _of_part(kind: Kind, part: Part, taken: Mapping[str, float]) -> Iterator[Knob]:
    from joulewise.study.spec.parameters import hints_of, is_number

    owner: type = type(part.parameters)
    hints = hints_of(owner)
    for each in fields(part.parameters):
        value = getattr(part.parameters, each.name)
        if each.metadata.get("search") or not _matters(kind, part, each.name) or not is_number(hints[each.name]):
            continue
        help_ = str(each.metadata.get("help", ""))
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield from _knob(part, each.name, hints[each.name], float(value), help_)
        elif value is None and part.section == SUPPLY and each.name in _OPEN:
            yield from _open_knob(part, each.name, hints[each.name], taken)


def _matters(kind: Kind, part: Part, name: str) -> bool:
    """Whether such studies use a setting of the supply, or of the method that the point has."""
    if part.section == SUPPLY:
        return name in kind.supply_keys
    users = [method for method, about in kind.methods.items() if name in about.keys]
    return part.section != kind.section.name or not users or part.parameters.method in users


def _knob(part: Part, name: str, hint: Any, value: float, text: str) -> Iterator[Knob]:
    """The setting, from a part of its value to several times as much, as far as its parameters allow."""
    from joulewise.study.spec.parameters import is_whole

    whole, (unit, size, most) = is_whole(hint), _unit(name, hint, value)
    key, label = _named(part, name, hint)
    wish = (
        Number(key, label, text, 0.0, most, most / 100, 0.0, unit)
        if most
        else around(key, label, text, value / size, unit)
    )
    step = 1.0 if whole else wish.step
    low, high = _allowed(hint, wish.low, wish.high, step, size)
    if whole:
        low, high = math.ceil(low), math.floor(high)
    low, high = (_taken(part, name, wish.usual, end, step, size) for end in (low, high))
    if low < high:
        yield Knob(key, label, text, low, high, step, wish.usual, unit, size, whole)


def _open_knob(part: Part, name: str, hint: Any, taken: Mapping[str, float]) -> Iterator[Knob]:
    """A limit that is not set, up to more than runs of the study took; none where that is not known."""
    most = taken.get(name[-2:], 0.0)
    if not 0 < most < math.inf:
        return
    unit, size, _ = _unit(name, hint, most)
    high = float(f"{_BEYOND * most / size:.3g}")
    step = 10.0 ** (math.floor(math.log10(high)) - 2)
    if _takes(part, name, step * size) and _takes(part, name, high * size):
        yield Knob(*_named(part, name, hint), _OPEN_HELP, step, high, step, high, unit, size, is_open=True)


def _most_taken(subject: Subject) -> dict[str, float]:
    """The most power and energy that runs of a study took, by the end of the names of such columns."""
    runs = subject.records.runs
    named = {end: [name for name in runs.columns if name.endswith(end) and "." not in name] for end in ("_w", "_j")}
    values = {end: [value for name in names for value in runs[name].to_list()] for end, names in named.items()}
    return {end: max(filter(_is_finite, found), default=0.0) for end, found in values.items()}


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _named(part: Part, name: str, hint: Any) -> tuple[str, str]:
    """The dotted key of a setting, and what it is called."""
    from joulewise.study.spec.parameters import key_of

    return f"{part.section}.{name}", f"{part.section}: {key_of(name, hint).replace('_', ' ')}"


def _allowed(hint: Any, low: float, high: float, step: float, size: float) -> tuple[float, float]:
    """The range, as far as the type of a setting allows it."""
    least, most = _bounds(hint, step * size)
    return max(low, least / size), min(high, most / size)


def _taken(part: Part, name: str, usual: float, end: float, step: float, size: float) -> float:
    """An end of a range, or the step next to it that the parameters take, which may know more than their types."""
    far = math.ceil(abs(end - usual) / step - 1e-9)
    ways = [end, *(usual + math.copysign(i * step, end - usual) for i in range(far - 1, 0, -1))]
    first = bisect_left(range(len(ways)), True, key=lambda i: _takes(part, name, ways[i] * size))
    return ways[first] if first < len(ways) else usual


def _takes(part: Part, name: str, value: float) -> bool:
    """Whether the parameters take a value."""
    own = getattr(part.parameters, name)
    try:
        replace(part.parameters, **{name: round(value) if isinstance(own, int) else value})
    except InputError:
        return False
    return True


def _bounds(hint: Any, step: float) -> tuple[float, float]:
    """The least and the most that a parameter may be, as its type says; a step away from what it may not be itself."""
    least, most = [-math.inf], [math.inf]
    for mark in _marks(hint):
        for ends, limit, inwards in ((least, "ge", 0.0), (least, "gt", step), (most, "le", 0.0), (most, "lt", -step)):
            if (value := getattr(mark, limit, None)) is not None:
                ends.append(float(value) + inwards)
    return max(least), min(most)


def _marks(hint: Any) -> Iterator[Any]:
    for mark in getattr(hint, "__metadata__", ()):
        yield mark
        yield from getattr(mark, "metadata", ())
    for arm in get_args(hint):
        if hasattr(arm, "__metadata__"):
            yield from _marks(arm)


def _unit(name: str, hint: Any, value: float) -> tuple[str, float, float]:
    """The unit that suits a setting, its size, and, where it is 0, how far it can be moved."""
    from joulewise.present.formats import energy_unit, power_unit, time_unit
    from joulewise.study.spec.parameters import unit_of

    unit = unit_of(name, hint)
    if unit is None:
        return "", 1.0, 0.0
    if value == 0:
        return _AT_ZERO[unit.name]
    return *{"s": time_unit, "W": power_unit, "J": energy_unit}[unit.name](abs(value)), 0.0


# --- what comes out -----------------------------------------------------------------------------------------------


def _wishes(subject: Subject) -> Sequence[Wish]:
    return (point_wish(subject),)


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    return [knob.wish for knob in _knobs(subject, asked)[:MOST_KNOBS]]


def _knobs(subject: Subject, asked: Asked) -> list[Knob]:
    at = int(asked[POINT])
    return subject.kept(("knobs", at), lambda: knobs_of(subject.study, at, _most_taken(subject)))


def solve_again(subject: Subject, asked: Asked) -> Answer:
    """The point as it is and with what was asked, column by column, with what changed and by how much."""
    every = _knobs(subject, asked)
    knobs = every[:MOST_KNOBS]
    changes = changes_of(knobs, asked)
    before = subject.desk.solve(solving.columns_of, question(subject, asked))
    after = subject.desk.solve(solving.columns_of, question(subject, asked, changes)) if changes else before
    columns = [column for column in subject.study.kind.columns if column.name in before and column.table == "runs"]
    rows = [row for column in columns if (row := _row(column, before, after, subject))]
    known = (column for column in subject.study.first_columns if _is_known(before.get(column.name)))
    told = [_sentence(column, before, after, subject) for column in known][:1]
    support = _support(subject, _moved(knobs, asked, changes), changes)
    headings, trial = ["What", "As it is", "As asked", "Change"], trial_told(subject)
    left = f" {len(every) - len(knobs):,} more settings are not shown." if len(every) > len(knobs) else ""
    return Answer(
        f"What if: {subject.title}",
        [Sentences([Said(lead, support) for lead in told]), Table(f"Solved again: {trial}", headings, rows)],
        f"Move a setting, and {trial} of the point is solved again by the code that the study runs: once as it is and "
        f"once as asked, each with a time limit of its own.{left}",
    )


def changes_of(knobs: Sequence[Knob], asked: Asked) -> solving.Changes:
    """The settings that were moved, with their values."""
    return tuple((knob.key, knob.value(asked[knob.key])) for knob in knobs if asked[knob.key] != knob.usual)


def _moved(knobs: Sequence[Knob], asked: Asked, changes: solving.Changes) -> list[str]:
    """The settings that were moved, in words."""
    moved = {key for key, _ in changes}
    return [
        f"{knob.label} {'up' if asked[knob.key] > knob.usual else 'down'} from {knob.told(knob.usual)} to "
        f"{knob.told(asked[knob.key])}"
        for knob in knobs
        if knob.key in moved
    ]


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


def _sentence(column: Column, before: dict[str, Any], after: dict[str, Any], subject: Subject) -> str:
    """What became of the first thing that is told of a run."""
    from joulewise.present.formats import metric_title

    title = metric_title(column.name, subject.study.kind.headings())
    told = title[:1].upper() + title[1:]
    was, now = (_text(column.name, found.get(column.name)) for found in (before, after))
    if after is before:
        return f"{told}: {was}."
    if not _is_known(after.get(column.name)):
        return f"{told} was {was}, and there is none now."
    return f"{told} stays {was}." if was == now else f"{told} goes from {was} to {now}."


def _support(subject: Subject, moved: Sequence[str], changes: solving.Changes) -> str:
    """With what that is so, and what else is other than in the study."""
    if not moved:
        return "Nothing was moved yet."
    anew = {key.partition(".")[0] for key, _ in changes} & {SYSTEM, WORKLOAD}
    world = " The world was made anew with that, so it is another one." if anew else ""
    return f"With {'; '.join(moved)}.{world} This is {trial_told(subject)}: others may say otherwise."


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

"""The most profit of a bag, solved again whenever a term is moved: with its bound, and why it changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError
from joulewise.present.formats import MISSING, energy_unit, time_unit
from joulewise.serve import drawing
from joulewise.serve.answer import Answer, Block, Cell, Facts, Plot, Said, Sentences, Table
from joulewise.serve.asking import Asked, Number, Wish, around
from joulewise.serve.bags import solves
from joulewise.serve.bags.solves import Earned, Terms, Usual
from joulewise.serve.board import Board
from joulewise.serve.whatif import POINT, point_wish, question, trial_told
from joulewise.units import duration, energy, power

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject

_CAP, _COST, _COUNT = "cap", "cost", "n-"
_MOST_TYPES = 24
"""So many machine types have a slider."""
_SAME_PERCENT = 0.05
_BINDS = 0.999


@dataclass(frozen=True)
class Move:
    """A term that was moved: in words, and the terms in which it alone was."""

    words: str
    alone: Terms


# --- what can be asked ----------------------------------------------------------------------------------------------


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    return list(_wishes(_usual(subject, asked)))


def _usual(subject: Subject, asked: Asked) -> Usual:
    return subject.kept(("terms", asked[POINT]), lambda: subject.desk.solve(solves.usual, question(subject, asked)))


def _wishes(usual: Usual) -> Iterator[Wish]:
    terms = usual.terms
    assert terms.price is not None
    assert terms.cost is not None
    assert terms.pue is not None
    unit = usual.unit or "per kWh"
    yield around("price", "Price of the bag", "What the customer pays for the bag.", terms.price)
    if usual.has_tariff:
        yield Number(_COST, "Electricity, of the tariff", "", 0.25, 4.0, 0.01, 1.0, "times")
    else:
        yield around(_COST, "Electricity", "What a kilowatt-hour costs.", terms.cost, unit)
    yield _cap_wish(usual)
    yield Number(
        "pue", "PUE", "Energy at the meter over that of the machines.", 1.0, max(3.0, terms.pue), 0.01, terms.pue
    )
    if usual.has_idle:
        yield Number("idle", "Idle power", "Of what idle machines draw now.", 0.0, 200.0, 1.0, 100.0, "%")
    for i, name in enumerate(usual.machine_types[:_MOST_TYPES]):
        n = (terms.counts or ())[i]
        yield Number(f"{_COUNT}{i}", f"Machines: {name}", "", 0, max(4, 3 * n), 1, n, is_whole=True)


def _cap_wish(usual: Usual) -> Number:
    """A slider of the power cap, whose upper end is no cap where the study has none."""
    full_kw = 1e-3 * usual.full_w * (usual.terms.pue or 1.0)
    cap_kw = None if usual.terms.cap_w is None else 1e-3 * usual.terms.cap_w
    most = float(f"{1.2 * max(full_kw, cap_kw or 0.0):.3g}")
    help_ = "On average over the bag." + ("" if cap_kw else " At the right end there is none.")
    step = 10.0 ** (math.floor(math.log10(most)) - 2)
    return Number(_CAP, "Power cap", help_, min(step, cap_kw or step), most, step, cap_kw or most, "kW")


# --- what is moved --------------------------------------------------------------------------------------------------


def _moves(usual: Usual, asked: Asked) -> Iterator[Move]:
    """The terms that were moved, one by one."""
    own = {wish.key: wish for wish in asked.wishes if wish.key != POINT}
    counts = list(usual.terms.counts or ())
    for key, wish in own.items():
        value = asked[key]
        if value == wish.usual:
            continue
        words = f"{_lowered(wish.label)} {_told(wish, wish.usual)} → {_told(wish, value)}"
        if key.startswith(_COUNT):
            at = int(key.removeprefix(_COUNT))
            yield Move(words, Terms(counts=(*counts[:at], round(value), *counts[at + 1 :])))
        else:
            yield Move(words, _FIELDS[key](value))


_FIELDS = {
    "price": lambda value: Terms(price=value),
    _COST: lambda value: Terms(cost=value),
    _CAP: lambda value: Terms(cap_w=1e3 * value),
    "pue": lambda value: Terms(pue=value),
    "idle": lambda value: Terms(idle=value / 100),
}


def _lowered(label: str) -> str:
    return label if label.isupper() else label[:1].lower() + label[1:]


def _told(wish: Any, value: float) -> str:
    if wish.key == _CAP and value == wish.high == wish.usual:
        return "none"
    return f"{value:.4g} {wish.unit}".strip()


def _together(usual: Usual, moves: Sequence[Move]) -> Terms:
    """All that was moved, at once."""
    terms, own = Terms(), list(usual.terms.counts or ())
    for move in moves:
        given = {name: value for name, value in vars(move.alone).items() if value is not None and name != "counts"}
        terms = replace(terms, **given)
        if move.alone.counts is not None:
            before = terms.counts or tuple(own)
            changed = [b if b != o else n for b, o, n in zip(before, own, move.alone.counts, strict=True)]
            terms = replace(terms, counts=tuple(changed))
    return terms


# --- what comes out -------------------------------------------------------------------------------------------------


def answer(subject: Subject, asked: Asked) -> Answer:
    """The most profit under the terms that are asked for, beside that of the study."""
    usual, about = _usual(subject, asked), question(subject, asked)
    moves = list(_moves(usual, asked))
    alone = [move.alone for move in moves] if len(moves) > 1 else []
    before, after, *apart = subject.desk.solve(solves.earned_by, about, (Terms(), _together(usual, moves), *alone))
    if isinstance(before, InputError):
        raise before
    title, trial = f"Profit: {subject.title}", trial_told(subject)
    lead = f"The bag of {trial}, scheduled again at every move.{_left_out(usual)}"
    heading = f"In the study ({trial.removeprefix('the ')})"
    if isinstance(after, InputError):
        lines = [Said("No schedule is possible with that.", str(after))]
        return Answer(title, [Sentences(lines), _compared([(heading, before)])], lead)
    effects = [_effect(before, move, found) for move, found in zip(moves, apart)]
    lines = [_headline(before, after, moves, trial), Said(after.sentence), *_reasons(before, after, moves, effects)]
    compared = _compared([(heading, before), ("As asked", after)])
    blocks: list[Block] = [Sentences(lines), _facts(after), _plot(before, after), compared, *_machines(after, usual)]
    return Answer(title, blocks, lead)


def _left_out(usual: Usual) -> str:
    """That some machine types cannot be moved, where there are very many."""
    n = len(usual.machine_types) - _MOST_TYPES
    return f" {n:,} more machine types have no slider." if n > 0 else ""


def _effect(before: Earned, move: Move, found: Earned | InputError) -> str:
    """What a move alone does to the profit."""
    if isinstance(found, InputError):
        return f"{move.words}: alone impossible"
    return f"{move.words}: {_change(before.profit_per_s, found.profit_per_s)} alone"


def _change(was: float, now: float) -> str:
    """A change in percent, in words."""
    if not math.isfinite(was) or not math.isfinite(now):
        return MISSING
    if was == now:
        return "no change"
    if was == 0:
        return f"{now:+.4g} per second"
    percent = 100 * (now - was) / abs(was)
    return "no change" if abs(percent) < _SAME_PERCENT else f"{percent:+.1f} %".replace("-", "\N{MINUS SIGN}")


def _headline(before: Earned, after: Earned, moves: Sequence[Move], trial: str) -> Said:
    if not moves:
        return Said(
            f"{_most_told(after)} in {trial}; {_bound_told(after)}.", "Move one of the terms to see what that changes."
        )
    change = _change(before.profit_per_s, after.profit_per_s)
    lead = f"The profit found goes from {before.profit_per_s:.4g} to {after.profit_per_s:.4g} per second"
    unrun = "" if after.runs else " (the bag is not run)"
    return Said(f"{lead} ({change}) in {trial}{unrun}; {_bound_told(after)}.")


def _most_told(found: Earned) -> str:
    return f"The profit found is {found.profit_per_s:.4g} per second{'' if found.runs else ' (the bag is not run)'}"


def _bound_told(found: Earned) -> str:
    """What is proven: of every schedule, or, where nothing runs, of those that would."""
    if not math.isfinite(found.bound_per_s):
        return "no schedule keeps the limits"
    if not found.runs:
        return f"a schedule that runs it would earn at most {found.bound_per_s:.4g}"
    gap = f", {100 * found.gap:.2g} % more" if math.isfinite(found.gap) else ""
    return f"no schedule earns more than {found.bound_per_s:.4g}{gap}"


def _reasons(before: Earned, after: Earned, moves: Sequence[Move], alone: Sequence[str]) -> Iterator[Said]:
    """Why the profit changed: income and cost of energy, the schedule that is best now, and the limits that bind."""
    if not moves:
        return
    told = f"With {moves[0].words}." if len(moves) == 1 else f"With {'; '.join(alone)}."
    if before.runs and after.runs:
        parts = [
            f"income per second {_change(before.income_per_s, after.income_per_s)}",
            f"cost of energy per second {_change(before.energy_cost_per_s, after.energy_cost_per_s)}",
            f"makespan {_change(before.makespan_s, after.makespan_s)}",
            f"energy {_change(before.energy_j, after.energy_j)}",
        ]
        told += f" What is best now has: {', '.join(parts)}."
    if after.runs and after.mean_power_w >= _BINDS * after.cap_w:
        told += " The power cap binds."
    yield Said("What changed", told)


def _facts(found: Earned) -> Facts:
    known = [(title, _cell(name, getattr(found, name)).text) for title, name in _rows([found])]
    return Facts([("Verdict", found.verdict), *known])


_Rows = tuple[tuple[str, str], ...]
_OF_ALL: _Rows = (("Profit per second", "profit_per_s"),)
_OF_RUNNING: _Rows = (
    ("Proven bound on it", "bound_per_s"), ("Gap", "gap"), ("Income per second", "income_per_s"),
    ("Cost of energy per second", "energy_cost_per_s"), ("Energy", "energy_j"), ("Makespan", "makespan_s"),
    ("Waiting on purpose", "wait_s"), ("Mean power", "mean_power_w"),
)  # fmt: skip
_OF_STANDING: _Rows = (("Proven bound on running it", "bound_per_s"),)
_FORMS = {"_j": energy, "_s": duration, "_w": power}


def _rows(every: Sequence[Earned]) -> _Rows:
    """What there is to tell: a bag that is not run has a bound on what running it would earn, and no schedule."""
    of_running = _OF_RUNNING if any(found.runs for found in every) else ()
    return (*_OF_ALL, *of_running, *(() if all(found.runs for found in every) else _OF_STANDING))


def _value(found: Earned, title: str, name: str) -> float:
    """A value of a row; NaN where the row is not of what was found."""
    is_of = (title, name) in (*_OF_ALL, *(_OF_RUNNING if found.runs else _OF_STANDING))
    return getattr(found, name) if is_of else math.nan


def _cell(name: str, value: float) -> Cell:
    if not math.isfinite(value):
        return Cell(MISSING)
    if name == "gap":
        return Cell(f"{100 * value:.3g} %", value)
    return Cell(f"{value:.6g}" if name.endswith("_per_s") else _FORMS[name[-2:]](value), value)


def _compared(every: Sequence[tuple[str, Earned]]) -> Table:
    """What each comes to, and the change where there are two."""
    rows = []
    for title, name in _rows([found for _, found in every]):
        values = [_value(found, title, name) for _, found in every]
        changes = [Cell(_change(values[0], values[1]))] if len(values) > 1 else []
        rows.append([Cell(title), *(_cell(name, value) for value in values), *changes])
    changed = ["Change"] if len(every) > 1 else []
    caption = "As in the study, and as asked" if len(every) > 1 else "As in the study"
    return Table(caption, ["What", *(heading for heading, _ in every), *changed], rows)


def _machines(found: Earned, usual: Usual) -> Iterator[Table]:
    """What the machines do, where the bag is run."""
    if not found.runs:
        return
    rows = [
        [Cell(name), Cell(f"{tasks:,}", tasks), Cell(f"{100 * busy:.0f} %", 100 * busy)]
        for name, tasks, busy in zip(usual.machine_types, found.tasks, found.busy, strict=True)
    ]
    headings = ["Machine type", "Tasks", "Computing, of the makespan"]
    yield Table("What the machines do, as asked", headings, rows, folded=True)


def _plot(before: Earned, after: Earned) -> Plot:
    from joulewise.present import theme

    every = [*before.front, *after.front]
    (unit_j, size_j), (unit_s, size_s) = energy_unit(max(e for e, _ in every)), time_unit(max(s for _, s in every))

    def rows(places: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        known = [(e, s) for e, s in places if math.isfinite(e) and math.isfinite(s)]
        return [{"x": e / size_j, "y": s / size_s, "i": i} for i, (e, s) in enumerate(known)]

    tips = {"x": f"energy ({unit_j})", "y": f"makespan ({unit_s})"}
    was, now = ([(found.energy_j, found.makespan_s)] if found.runs else [] for found in (before, after))
    layers = [
        drawing.line(rows(before.front), theme.NOTHING, strokeWidth=1.5),
        drawing.line(rows(after.front), theme.PALETTE[0], strokeWidth=2),
        drawing.points(rows(was), theme.MUTED, tips, "diamond", 70),
        drawing.points(rows([after.optimum]), theme.PALETTE[2], tips, "square", 80),
        drawing.points(rows(now), theme.PALETTE[1], tips, "diamond", 90),
    ]
    caption = (
        "No schedule lies below or left of the line, the proven bound: grey in the study, blue as asked. The orange "
        "diamond is the schedule that earns most as asked, the grey one that of the study, the green square the "
        "optimum of the bound."
    )
    spec = drawing.plane(layers, tips["x"], tips["y"])
    return Plot("profit-plane", "Where the most profit lies", caption, spec)


BOARD = Board(
    "profit",
    "Profit what-if",
    "The most profit under other prices, limits and machines, with its bound.",
    lambda subject: subject.kind == "profit",
    answer,
    lambda subject: (point_wish(subject),),
    _further,
    is_live=True,
)

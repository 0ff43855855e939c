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
from joulewise.serve.whatif import POINT, point_wish, question
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
        yield Number(f"{_COUNT}{i}", f"Machines: {name}", "", 0, max(4, 3 * n), 1, n)


def _cap_wish(usual: Usual) -> Number:
    """A slider of the power cap, whose upper end is no cap where the study has none."""
    full_kw = 1e-3 * usual.full_w * (usual.terms.pue or 1.0)
    cap_kw = None if usual.terms.cap_w is None else 1e-3 * usual.terms.cap_w
    most = float(f"{1.2 * max(full_kw, cap_kw or 0.0):.3g}")
    help_ = "On average over the bag." + ("" if cap_kw else " At the right end there is none.")
    return Number(_CAP, "Power cap", help_, 0.0, most, 10.0 ** (math.floor(math.log10(most)) - 2), cap_kw or most, "kW")


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
    title = f"Profit: {subject.title}"
    if isinstance(after, InputError):
        lines = [Said("No schedule is possible with that.", str(after))]
        return Answer(title, [Sentences(lines), *_told_of(before, before, usual)])
    effects = [_effect(before, move, found) for move, found in zip(moves, apart)]
    lines = [_headline(before, after, moves), Said(after.sentence), *_reasons(before, after, moves, effects)]
    return Answer(title, [Sentences(lines), *_told_of(before, after, usual)])


def _effect(before: Earned, move: Move, found: Earned | InputError) -> str:
    """What a move alone does to the profit."""
    if isinstance(found, InputError):
        return f"{move.words}: alone impossible"
    return f"{move.words}: {_change(before.profit_per_s, found.profit_per_s)} alone"


def _change(was: float, now: float) -> str:
    """A change in percent, in words."""
    if was == now:
        return "no change"
    if was == 0:
        return f"{now:+.4g} per second"
    percent = 100 * (now - was) / abs(was)
    return "no change" if abs(percent) < _SAME_PERCENT else f"{percent:+.1f} %".replace("-", "\N{MINUS SIGN}")


def _headline(before: Earned, after: Earned, moves: Sequence[Move]) -> Said:
    if not moves:
        return Said(f"The most profit is {after.profit_per_s:.4g} per second; {_bound_told(after)}.", "Move a term.")
    lead = f"The most profit goes from {before.profit_per_s:.4g} to {after.profit_per_s:.4g} per second"
    return Said(f"{lead} ({_change(before.profit_per_s, after.profit_per_s)}); {_bound_told(after)}.")


def _bound_told(found: Earned) -> str:
    if not math.isfinite(found.bound_per_s):
        return "no schedule keeps the limits"
    gap = f", {100 * found.gap:.2g} % more" if math.isfinite(found.gap) else ""
    return f"no schedule earns more than {found.bound_per_s:.4g}{gap}"


def _reasons(before: Earned, after: Earned, moves: Sequence[Move], alone: Sequence[str]) -> Iterator[Said]:
    """Why the profit changed: income and cost of energy, the schedule that is best now, and the limits that bind."""
    if not moves:
        return
    because = f"Because of {moves[0].words}." if len(moves) == 1 else f"Because of: {'; '.join(alone)}."
    if before.runs and after.runs:
        parts = [
            f"income per second {_change(before.income_per_s, after.income_per_s)}",
            f"cost of energy per second {_change(before.energy_cost_per_s, after.energy_cost_per_s)}",
            f"makespan {_change(before.makespan_s, after.makespan_s)}",
            f"energy {_change(before.energy_j, after.energy_j)}",
        ]
        because += f" What is best now has: {', '.join(parts)}."
    if after.runs and after.mean_power_w >= _BINDS * after.cap_w:
        because += " The power cap binds."
    yield Said("Why", because)


def _told_of(before: Earned, after: Earned, usual: Usual) -> list[Block]:
    return [_facts(after), _plot(before, after), _compared(before, after), _machines(after, usual)]


def _facts(found: Earned) -> Facts:
    gap = f"{100 * found.gap:.3g} %" if math.isfinite(found.gap) else MISSING
    return Facts(
        [
            ("Verdict", found.verdict),
            ("Profit per second", f"{found.profit_per_s:.4g}"),
            ("Proven bound", f"{found.bound_per_s:.4g}"),
            ("Gap", gap),
            ("Energy", energy(found.energy_j)),
            ("Makespan", duration(found.makespan_s)),
            ("Mean power", power(found.mean_power_w)),
        ]
    )


_ROWS = (
    ("Profit per second", "profit_per_s"), ("Proven bound on it", "bound_per_s"), ("Income per second", "income_per_s"),
    ("Cost of energy per second", "energy_cost_per_s"), ("Energy", "energy_j"), ("Makespan", "makespan_s"),
    ("Waiting on purpose", "wait_s"), ("Mean power", "mean_power_w"),
)  # fmt: skip
_FORMS = {"_j": energy, "_s": duration, "_w": power}


def _compared(before: Earned, after: Earned) -> Table:
    rows = []
    for title, name in _ROWS:
        was, now = getattr(before, name), getattr(after, name)
        is_rate = name.endswith("_per_s")
        form = (lambda value: f"{value:.6g}") if is_rate else _FORMS[name[-2:]]
        rows.append([Cell(title), Cell(form(was), was), Cell(form(now), now), Cell(_change(was, now))])
    return Table("As in the study, and as asked", ["What", "In the study", "As asked", "Change"], rows)


def _machines(found: Earned, usual: Usual) -> Table:
    rows = [
        [Cell(name), Cell(f"{tasks:,}", tasks), Cell(f"{100 * busy:.0f} %", 100 * busy)]
        for name, tasks, busy in zip(usual.machine_types, found.tasks, found.busy, strict=True)
    ]
    headings = ["Machine type", "Tasks", "Computing, of the makespan"]
    return Table("What the machines do, as asked", headings, rows, folded=True)


def _plot(before: Earned, after: Earned) -> Plot:
    from joulewise.present import theme

    every = [*before.front, *after.front]
    (unit_j, size_j), (unit_s, size_s) = energy_unit(max(e for e, _ in every)), time_unit(max(s for _, s in every))

    def rows(places: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
        known = [(e, s) for e, s in places if math.isfinite(e) and math.isfinite(s)]
        return [{"x": e / size_j, "y": s / size_s, "i": i} for i, (e, s) in enumerate(known)]

    tips = {"x": f"energy ({unit_j})", "y": f"makespan ({unit_s})"}
    found = [(f.energy_j, f.makespan_s) for f in (before, after) if f.runs]
    layers = [
        drawing.line(rows(before.front), theme.NOTHING, strokeWidth=1.5),
        drawing.line(rows(after.front), theme.PALETTE[0], strokeWidth=2),
        drawing.points(rows(found[:1]), theme.MUTED, tips, "diamond", 70),
        drawing.points(rows([after.optimum]), theme.PALETTE[2], tips, "square", 80),
        drawing.points(rows(found[1:]), theme.PALETTE[1], tips, "diamond", 90),
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

"""The boards of studies of a facility: what to set in its room, and what if its limits were others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from joulewise.errors import InputError
from joulewise.serve.answer import Answer, Block, Cell, Facts, Plot, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish, around
from joulewise.serve.board import Board
from joulewise.serve.facility import solves
from joulewise.serve.facility.solves import Limits, Planned, Site
from joulewise.serve.whatif import POINT, point_wish, question
from joulewise.units import power

if TYPE_CHECKING:
    from joulewise.serve.subject import Subject

_NONE = "none"


def _site(subject: Subject, asked: Asked) -> Site:
    return subject.kept(("site", asked[POINT]), lambda: subject.desk.solve(solves.site, question(subject, asked)))


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    site = _site(subject, asked)
    units = {_NONE: "all work", **{str(i): f"{name} fails" for i, name in enumerate(site.cracs)}}
    cap_help = "All power of the facility, cooling included."
    return (
        around("cap", "Power cap", cap_help, 1e-3 * site.cap_w, "kW", least=0.5, most=2.0),
        Number("redline", "Redlines raised by", "", -5.0, 10.0, 0.5, 0.0, "K"),
        Number("load", "Tasks that come", "Of those that come in the study.", 25.0, 200.0, 1.0, 100.0, "%"),
        Number("hot", "Hot air taken in", "Of what nodes take in of each other's air.", 50.0, 150.0, 1.0, 100.0, "%"),
        Choice("failed", "CRAC units", options=units),
    )


def _limits(asked: Asked) -> Limits:
    usual = {wish.key: wish.usual for wish in asked.wishes}
    return Limits(
        None if asked["cap"] == usual["cap"] else 1e3 * asked["cap"],
        asked["redline"],
        asked["load"] / 100,
        None if asked["failed"] == _NONE else int(asked["failed"]),
        asked["hot"] / 100,
    )


def answer(subject: Subject, asked: Asked) -> Answer:
    """The best plan under the limits that are asked for, beside that under those of the study."""
    about, limits = question(subject, asked), _limits(asked)
    before = subject.desk.solve(solves.planned, about, Limits())
    title = f"Facility: {subject.title}"
    try:
        after = subject.desk.solve(solves.planned, about, limits) if limits != Limits() else before
    except InputError as error:
        lines = [Said("No plan keeps these limits.", str(error)), Said("As in the study", before.sentence)]
        return Answer(title, [Sentences(lines), *_shown(before, before)])
    moved = list(_moved(asked))
    lines = [_headline(before, after, moved), Said("What to set", after.sentence), *_worth(after)]
    return Answer(title, [Sentences(lines), *_shown(before, after)])


def _moved(asked: Asked) -> Iterator[str]:
    """What was moved, in words."""
    for wish in asked.wishes:
        value = asked[wish.key]
        if wish.key == POINT or value == wish.usual:
            continue
        if isinstance(wish, Choice):
            yield wish.options[value]
        else:
            unit = f" {getattr(wish, 'unit', '')}".rstrip()
            yield f"{wish.label[:1].lower()}{wish.label[1:]} {value:.4g}{unit} instead of {wish.usual:.4g}{unit}"


def _headline(before: Planned, after: Planned, moved: Sequence[str]) -> Said:
    row = after.row
    proven = f"no plan earns more than {row['bound_percent']:.2f} % (gap {row['gap_percent']:.2g} %)"
    if not moved:
        return Said(f"The plan earns {row['crr_percent']:.2f} % of all reward; {proven}.", "Move a limit.")
    change = 100 * (after.reward_per_s / before.reward_per_s - 1) if before.reward_per_s > 0 else math.nan
    told = (
        f"{abs(change):.1f} % {'more' if change > 0 else 'less'} reward" if abs(change) >= 0.05 else "the same reward"
    )
    lead = f"The plan earns {told}: {row['crr_percent']:.2f} % of all that comes; {proven}."
    return Said(lead, f"Because of {'; '.join(moved)}.{_binding(after)}")


def _binding(found: Planned) -> str:
    row = found.row
    binds = row["total_w"] >= (1 - 1e-3) * row["cap_w"]
    return " The power cap binds." if binds else f" {power(row['cap_w'] - row['total_w'])} of the cap are left."


def _worth(found: Planned) -> Iterator[Said]:
    """What the next kilowatt and the next kelvin are worth at most."""
    name, by, unit, _, percent = found.eased[0]
    worth = f"{percent:.2f} % more reward at most" if percent > 0 else "nothing"
    yield Said(f"The next {'kilowatt' if unit == 'kW' and by == 1 else f'{by:g} {unit} of {name}'} is worth {worth}.")


def _shown(before: Planned, after: Planned) -> list[Block]:
    row = after.row
    facts = Facts(
        [
            ("Reward rate", f"{after.reward_per_s:.5g} per second"),
            ("Proven bound", f"{after.bound_per_s:.5g} per second"),
            ("Gap", f"{row['gap_percent']:.3g} %"),
            ("Power", power(row["total_w"])),
            ("of the cap", power(row["cap_w"])),
            ("Cooling", power(row["cooling_w"])),
            ("Hottest inlet", f"{row['hottest_inlet_c']:.1f} °C"),
        ]
    )
    maps = [Plot(each.name, each.title, each.caption, each.spec) for each in after.maps]
    return [facts, *maps[:1], _units(before, after), _eased(after), *maps[1:], _compared(before, after)]


def _units(before: Planned, after: Planned) -> Table:
    own = {unit.name: unit.supply_c for unit in before.units}
    rows = [
        [
            Cell(f"CRAC {unit.name}", unit.name),
            Cell(f"{own[unit.name]:.1f} °C", own[unit.name]),
            Cell(f"{unit.supply_c:.1f} °C", unit.supply_c),
            Cell(f"{unit.coldest_c:.1f} to {unit.hottest_c:.1f} °C"),
            Cell(power(unit.power_w), unit.power_w),
        ]
        for unit in after.units
    ]
    return Table("What to set", ["Unit", "In the study", "As asked", "May be", "Draws"], rows)


def _eased(found: Planned) -> Table:
    rows = [
        [Cell(f"{limit} by {by:g} {unit}"), Cell(f"{worth:.4g}", worth), Cell(f"{percent:.2f} %", percent)]
        for limit, by, unit, worth, percent in found.eased
    ]
    note = "What the prices of the bound prove: no plan under the eased limit earns more than that beyond the bound."
    return Table(
        "What easing a limit is worth at most", ["Limit eased", "Reward per second", "Of the reward"], rows, note
    )


_ROWS = (
    ("Reward, of all that comes (%)", "crr_percent"), ("Proven bound (%)", "bound_percent"), ("Gap (%)", "gap_percent"),
    ("Power (W)", "total_w"), ("Power cap (W)", "cap_w"), ("Power of cooling (W)", "cooling_w"),
    ("Hottest inlet (°C)", "hottest_inlet_c"), ("Mean supply (°C)", "supply_mean_c"),
    ("A kilowatt more is worth (per second)", "value_per_kw"), ("A kelvin more is worth (per second)", "value_per_k"),
)  # fmt: skip


def _compared(before: Planned, after: Planned) -> Table:
    rows = [[Cell(title), *(Cell(f"{each.row[name]:,.5g}", each.row[name]) for each in (before, after))]
            for title, name in _ROWS]  # fmt: skip
    return Table("As in the study, and as asked", ["What", "In the study", "As asked"], rows, folded=True)


BOARDS: tuple[Board, ...] = (
    Board(
        "facility",
        "Facility what-if",
        "Maps of the room, what to set, and the best plan under other limits.",
        lambda subject: subject.kind == "facility",
        answer,
        lambda subject: (point_wish(subject),),
        _further,
        is_live=True,
    ),
)

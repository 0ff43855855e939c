"""The boards of studies of a facility: what to set in its room, and what if its limits were others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError
from joulewise.present.formats import MISSING
from joulewise.serve.answer import Answer, Block, Cell, Facts, Plot, Said, Sentences, Table
from joulewise.serve.asking import Asked, Choice, Number, Wish, around
from joulewise.serve.board import Board
from joulewise.serve.facility import solves
from joulewise.serve.facility.solves import PLANNER, Limits, Planned, Site
from joulewise.serve.whatif import POINT, first_run, point_wish, question, trial_told
from joulewise.study.facility.methods import METHODS
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


@dataclass(frozen=True)
class Told:
    """What the page says of its plans: the trial that they are of, and what the study has for the point, if another
    method than that of the page made it."""

    trial: str
    method: str = ""
    stored: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """What the plan under the limits of the study is called in tables."""
        whose = "Plan of this page" if self.method else "In the study"
        return f"{whose} ({self.trial.removeprefix('the ')})"

    @property
    def lines(self) -> Iterator[Said]:
        """What is said where the plans of the page are no plans of the study."""
        if self.method:
            percent = self.stored.get("crr_percent")
            earned = "has no result" if percent is None else f"earned {percent:.2f} % of all reward"
            lead = f"In the study, {self.method} {earned} in {self.trial}."
            yield Said(lead, f"This page plans by {METHODS[PLANNER].title}, whatever the method of the study.")


def _told(subject: Subject, asked: Asked) -> Told:
    at, trial = int(asked[POINT]), trial_told(subject)
    method = subject.study.points[at].decision.parameters.method
    return Told(trial) if method == PLANNER else Told(trial, METHODS[method].title, first_run(subject, at))


def answer(subject: Subject, asked: Asked) -> Answer:
    """The best plan under the limits that are asked for, beside that under those of the study."""
    about, limits, told = question(subject, asked), _limits(asked), _told(subject, asked)
    before = subject.desk.solve(solves.planned, about, Limits())
    title, lead = f"Facility: {subject.title}", f"The room of {told.trial}, planned by {METHODS[PLANNER].title}."
    try:
        after = subject.desk.solve(solves.planned, about, limits) if limits != Limits() else before
    except InputError as error:
        lines = [Said("No plan keeps these limits.", str(error)), *told.lines]
        return Answer(title, [Sentences(lines), _compared([(told.heading, before)], told)], lead)
    moved = list(_moved(asked))
    lines = [_headline(before, after, moved, told), *told.lines, Said("What to set", after.sentence), *_worth(after)]
    return Answer(title, [Sentences(lines), *_shown(before, after, told)], lead)


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


def _headline(before: Planned, after: Planned, moved: Sequence[str], about: Told) -> Said:
    row, of = after.row, f"of all reward in {about.trial}"
    proven = f"no plan earns more than {row['bound_percent']:.2f} % (gap {row['gap_percent']:.2g} %)"
    if not moved:
        return Said(
            f"The plan earns {row['crr_percent']:.2f} % {of}; {proven}.",
            "Move one of the limits to see what that changes.",
        )
    change = 100 * (after.reward_per_s / before.reward_per_s - 1) if before.reward_per_s > 0 else math.nan
    told = (
        f"{abs(change):.1f} % {'more' if change > 0 else 'less'} reward" if abs(change) >= 0.05 else "the same reward"
    )
    lead = f"The plan earns {told}: {row['crr_percent']:.2f} % {of}; {proven}."
    return Said(lead, f"With {'; '.join(moved)}.{_binding(after)}")


def _binding(found: Planned) -> str:
    row = found.row
    binds = row["total_w"] >= (1 - 1e-3) * row["cap_w"]
    return " The power cap binds." if binds else f" {power(row['cap_w'] - row['total_w'])} of the cap are left."


def _worth(found: Planned) -> Iterator[Said]:
    """What the next kilowatt and the next kelvin are worth at most."""
    name, by, unit, _, percent = found.eased[0]
    worth = f"{percent:.2f} % more reward at most" if percent > 0 else "nothing"
    yield Said(f"The next {'kilowatt' if unit == 'kW' and by == 1 else f'{by:g} {unit} of {name}'} is worth {worth}.")


def _shown(before: Planned, after: Planned, told: Told) -> list[Block]:
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
    compared = _compared([(told.heading, before), ("As asked", after)], told)
    return [facts, *maps[:1], _units(before, after, told), _eased(after), *maps[1:], compared]


def _units(before: Planned, after: Planned, told: Told) -> Table:
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
    return Table("What to set", ["Unit", told.heading, "As asked", "May be", "Draws"], rows)


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


def _compared(plans: Sequence[tuple[str, Planned]], told: Told) -> Table:
    """What plans come to, beside what is stored of the point where another method made it."""
    stored = [(f"In the study: {told.method}", told.stored)] if told.method else []
    columns = [*stored, *((heading, plan.row) for heading, plan in plans)]
    rows = [[Cell(title), *(_cell(row.get(name)) for _, row in columns)] for title, name in _ROWS]
    caption = "As in the study, and as asked" if len(plans) > 1 else "As in the study"
    return Table(caption, ["What", *(heading for heading, _ in columns)], rows, folded=len(plans) > 1)


def _cell(value: float | None) -> Cell:
    return Cell(MISSING if value is None else f"{value:,.5g}", value)


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

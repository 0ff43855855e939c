"""The boards of serial tasks under a manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.serve.asking import Choice, Wish
from joulewise.serve.board import Board

if TYPE_CHECKING:
    from joulewise.serve.answer import Answer
    from joulewise.serve.asking import Asked
    from joulewise.serve.subject import Subject

SHADE, BUSY, POWER = "shade", "busy", "power"
_TRACES = "traces"


def _wishes(subject: Subject) -> Sequence[Wish]:
    from joulewise.serve.kept_day import wishes

    return wishes(subject, _TRACES)


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    from joulewise.serve.kept_day import seen, window_wishes
    from joulewise.serve.tasks.day import day_of

    shades = {BUSY: "time with a run", POWER: "power of runs"}
    whole = seen(subject, asked, day_of).day.whole
    return (*window_wishes(whole), Choice(SHADE, "Machines by", options=shades))


def _day(subject: Subject, asked: Asked) -> Answer:
    from joulewise.serve.tasks.day_page import day_page

    return day_page(subject, asked)


DAY = Board(
    "day",
    "Day",
    "What a manager earned, used, dropped and ran over the day, machine by machine, as close as one likes to look.",
    lambda subject: {"records", _TRACES} <= set(subject.study.kind.tables),
    _day,
    _wishes,
    _further,
    is_live=True,
)

BOARDS: tuple[Board, ...] = (DAY,)

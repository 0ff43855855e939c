"""The boards of serial tasks under a manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.serve.board import Board

if TYPE_CHECKING:
    from joulewise.serve.answer import Answer
    from joulewise.serve.asking import Asked, Wish
    from joulewise.serve.subject import Subject

_TRACES = "traces"


def _wishes(subject: Subject) -> Sequence[Wish]:
    from joulewise.serve.kept_day import wishes

    return wishes(subject, _TRACES)


def _further(subject: Subject, asked: Asked) -> Sequence[Wish]:
    from joulewise.serve.tasks.day_page import day_wishes

    return day_wishes(subject, asked)


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

"""The board of a day, which systems fill with pages of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from joulewise.serve.board import Board

if TYPE_CHECKING:
    from joulewise.serve.answer import Answer
    from joulewise.serve.asking import Asked, Wish
    from joulewise.serve.subject import Subject

Pages: TypeAlias = "tuple[Callable[[Subject, Asked], Sequence[Wish]], Callable[[Subject, Asked], Answer]]"
"""What a page of a day can be asked, and what it says."""


def day_board(pages: Callable[[], Pages], summary: str, traces: str, *others: str) -> Board:
    """The board of studies that keep these tables; its pages are loaded when somebody asks."""

    def wishes(subject: Subject) -> Sequence[Wish]:
        from joulewise.serve import kept_day

        return kept_day.wishes(subject, traces)

    return Board(
        "day",
        "Day",
        summary,
        lambda subject: {traces, *others} <= set(subject.study.kind.tables),
        lambda subject, asked: pages()[1](subject, asked),
        wishes,
        lambda subject, asked: pages()[0](subject, asked),
        is_live=True,
    )

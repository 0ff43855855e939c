"""The boards of serial tasks under a manager."""

from __future__ import annotations

from joulewise.serve.board import Board
from joulewise.serve.day_board import Pages, day_board


def _pages() -> Pages:
    from joulewise.serve.tasks.day_page import day_page, day_wishes

    return day_wishes, day_page


DAY = day_board(
    _pages,
    "What a manager earned, used, dropped and ran over the day, machine by machine, as close as one likes to look.",
    "traces",
    "records",
)

BOARDS: tuple[Board, ...] = (DAY,)

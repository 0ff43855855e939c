"""The boards of parallel jobs under a scheduler."""

from __future__ import annotations

from joulewise.serve.board import Board
from joulewise.serve.day_board import Pages, day_board


def _pages() -> Pages:
    from joulewise.serve.jobs.day_page import day_page, day_wishes

    return day_wishes, day_page


DAY = day_board(
    _pages,
    "What a scheduler ran on which nodes, what waited and how it was slowed down, as close as one likes to look.",
    "job_traces",
    "jobs",
    "clusters",
)

BOARDS: tuple[Board, ...] = (DAY,)

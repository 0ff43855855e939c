"""The boards of studies of tasks known in advance: the front of energy and utility, with what chance may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.serve.assignments import solves
from joulewise.serve.board import Board
from joulewise.serve.front import Clock, FrontSide, Row, front_board
from joulewise.serve.whatif import point_number, question_of

if TYPE_CHECKING:
    import polars as pl

    from joulewise.serve.subject import Subject

_OF_CHANCE = ("fuzzy-front", "fuzzy-fronts-compared", "spread-of-points")
_CLOCK = Clock("done_s", "When each machine is done", "Done after")


def _machines(subject: Subject, run: Row, points: Sequence[int]) -> pl.DataFrame:
    """What follows from the stored assignments."""
    asked = question_of(subject, point_number(subject, run), trial=int(run["trial"]))
    return subject.desk.solve(solves.machines, asked, run["run"], tuple(points))


BOARDS: tuple[Board, ...] = (
    front_board(
        FrontSide("utility", "utility", "{:,.4g}".format, "assignments", _machines, _OF_CHANCE, _CLOCK),
        "utility",
    ),
)

"""The front of a bag: energy against makespan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from joulewise.serve.front import FrontSide, Row, front_board, work_of
from joulewise.units import duration

if TYPE_CHECKING:
    import polars as pl

    from joulewise.serve.subject import Subject


def _machines(subject: Subject, run: Row, points: Sequence[int]) -> pl.DataFrame:
    """What the study kept of the machines at its points."""
    return work_of("machines", subject, run["run"], points)


BOARD = front_board(FrontSide("makespan_s", "makespan", duration, "counts", _machines), "front")

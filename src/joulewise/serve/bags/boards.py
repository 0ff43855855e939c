"""The boards of studies of bags."""

from __future__ import annotations

from joulewise.serve.bags import profit
from joulewise.serve.board import Board

BOARDS: tuple[Board, ...] = (profit.BOARD,)

"""The boards of studies of bags."""

from __future__ import annotations

from joulewise.serve.bags import front, profit
from joulewise.serve.board import Board

BOARDS: tuple[Board, ...] = (front.BOARD, profit.BOARD)

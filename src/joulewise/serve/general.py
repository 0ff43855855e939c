"""The boards that every study has, whatever its system."""

from __future__ import annotations

from joulewise.serve.board import Board
from joulewise.serve.whatif import WHAT_IF

BOARDS: tuple[Board, ...] = (WHAT_IF,)

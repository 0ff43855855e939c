"""The boards of this system."""

from __future__ import annotations

from joulewise.serve.board import Board

BOARDS: tuple[Board, ...] = ()

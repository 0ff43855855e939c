"""The boards that every study has, whatever its system."""

from __future__ import annotations

from joulewise.serve.board import Board

BOARDS: tuple[Board, ...] = ()

"""A page in Markdown with marked parts, into which the tables of all policies are written.

A part stands between `<!-- arena SET -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from joulewise.errors import Problem, raise_if_any
from joulewise.present.arena.tables import Board, markdown, standings_table, worlds_table

_PART = re.compile(r"(<!-- arena (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, boards: Sequence[Board]) -> str:
    """The page with the tables of these sets in their parts; other parts stay. InputError where a set has none."""
    parts = {board.world_set.name: _part(board) for board in boards}
    there = {name for _, name, _ in _PART.findall(page)}
    advice = "put `<!-- arena {} -->` and `<!-- end -->` where its table belongs"
    raise_if_any(
        Problem("--page", f"has no part for {name}", advice=advice.format(name)) for name in parts if name not in there
    )
    return _PART.sub(lambda part: f"{part[1]}{parts.get(part[2], '')}{part[3]}" if part[2] in parts else part[0], page)


def _part(board: Board) -> str:
    """The table of a set, below what it is of: how policies stand, or in each world where one trial gives no places."""
    table = standings_table(board) if board.standings.has_places else worlds_table(board)
    return f"\n{table.caption}:\n\n{markdown(table)}\n"

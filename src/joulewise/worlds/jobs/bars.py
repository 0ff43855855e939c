"""Lines of cells between "|" in which somebody has written a "|": they are put right where only one way of it fits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb
from typing import NamedTuple

from joulewise.worlds.jobs.logs import text_of

BAR_IN_A_CELL = "\x1f"
"""Stands for it until the cells are apart; `pieces_of_text` lets no text through that has it."""

FREE = (
    "admincomment", "comment", "constraints", "container", "extra", "jobname", "stderr", "stdin", "stdout",
    "submitline", "systemcomment", "wckey", "workdir",
)  # fmt: skip
"""Columns of sacct in which people may have written one."""

_MOST_WAYS = 50
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}")


class Columns(NamedTuple):
    """The names of the columns in small letters, and the forms of cells by their places."""

    names: Sequence[str]
    forms: Mapping[int, str]


def mended(line: bytes, columns: Columns) -> bytes | None:
    """A line with too many cells, without bars in what people wrote; None where no way fits, or several do."""
    cells = text_of(line)[0].split("|")
    free = [place for place, name in enumerate(columns.names) if name in FREE]
    surplus = len(cells) - len(columns.names)
    if surplus < 1 or not free or comb(len(free) + surplus - 1, surplus) > _MOST_WAYS:
        return None
    ways = (_joined(cells, columns, way) for way in combinations_with_replacement(free, surplus))
    fitting = {way for way in ways if way is not None}
    return fitting.pop().encode() if len(fitting) == 1 else None


def _joined(cells: Sequence[str], columns: Columns, way: Sequence[int]) -> str | None:
    """The cells with those put together again that a way names; None where they do not fit their columns.

    A time in what is put together is a sign of two lines in one.
    """
    joined, at = [], 0
    for place in range(len(columns.names)):
        end = at + 1 + way.count(place)
        joined.append(BAR_IN_A_CELL.join(cells[at:end]))
        at = end
    fits = all(re.match(form, joined[place].strip()) for place, form in columns.forms.items())
    hides = any(_INSTANT.search(joined[place]) for place in way)
    has_spare = any(cell.strip() for cell, name in zip(joined, columns.names, strict=True) if not name)
    return "|".join(joined) if fits and not hides and not has_spare else None

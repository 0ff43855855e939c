"""No function takes more than ten arguments without a reason: what belongs together goes around as one record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.strategies.sources import PACKAGE, SOURCES, read_source

MOST = 10

REASONS = {"cli/arena.py arena": "each is an option of the command"}
"""Functions with more arguments, and why they are better so."""


def arguments_of(source: Path) -> Iterator[tuple[str, int]]:
    """Every function of a source, and how many arguments it takes."""
    place = source.relative_to(PACKAGE).as_posix()
    return ((f"{place} {name}", n) for name, n in read_source(source).functions)


def test_functions_take_ten_arguments_at_most_or_have_a_reason() -> None:
    large = {name for source in SOURCES for name, n in arguments_of(source) if n > MOST}
    assert large == REASONS.keys()

"""No function takes more than ten arguments without a reason: what belongs together goes around as one record."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "joulewise"
MOST = 10

REASONS: dict[str, str] = {}
"""Functions with more arguments, and why they are better so."""


def arguments_of(source: Path) -> Iterator[tuple[str, int]]:
    """Every function of a source, and how many arguments it takes."""
    place = source.relative_to(SOURCES).as_posix()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            taken = node.args
            yield f"{place} {node.name}", len(taken.posonlyargs) + len(taken.args) + len(taken.kwonlyargs)


def test_functions_take_ten_arguments_at_most_or_have_a_reason() -> None:
    large = {name for source in SOURCES.rglob("*.py") for name, n in arguments_of(source) if n > MOST}
    assert large == REASONS.keys()

"""No two modules of the package import each other, directly or around, not even for types."""

from __future__ import annotations

from pathlib import Path

from tools.house import circles, imports, sources

SRC = Path(__file__).parent.parent / "src"


def test_no_circle_of_imports() -> None:
    trees = sources(SRC)
    assert circles({name: set(imports(trees, name)) for name in trees}) == []

"""No two modules of the package import each other, directly or around, not even for types."""

from __future__ import annotations

from pathlib import Path

from tests.strategies.sources import PACKAGE, SOURCES, Imported, read_source
from tools.house import circles


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_circle_of_imports() -> None:
    modules = {module_of(path): path for path in SOURCES}

    def origin(imported: Imported) -> str:
        return imported.full if imported.full in modules else imported.module

    graph = {name: {origin(imported) for imported in read_source(path).imports} for name, path in modules.items()}
    assert circles({name: others & modules.keys() for name, others in graph.items()}) == []

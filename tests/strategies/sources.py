"""What stands in the sources of the package: each is parsed once, and of its tree only what tests ask for is kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "src" / "joulewise"
EXAMPLES = PACKAGE / "examples"
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if EXAMPLES not in path.parents)


class Imported(NamedTuple):
    """A name that is imported from a module, "" for the module itself."""

    module: str
    name: str

    @property
    def full(self) -> str:
        """The module and the name, as one."""
        return f"{self.module}.{self.name}" if self.name else self.module


class Source(NamedTuple):
    """What a source imports anywhere, its functions with their numbers of arguments, and the names that it uses.

    Of `a.b` these are `a`, `.b` and `a.b`. Choices are what stands in each `Literal`.
    """

    imports: tuple[Imported, ...]
    functions: tuple[tuple[str, int], ...]
    names: frozenset[str]
    choices: tuple[str, ...]


@cache
def read_source(path: Path) -> Source:
    """A source as Python reads it; imports inside functions and for types only count too."""
    package = ("joulewise", *path.relative_to(PACKAGE).parent.parts)
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return Source(
        imports=tuple(imported for node in nodes for imported in _imports(node, package)),
        functions=tuple((node.name, _n_arguments(node.args)) for node in functions),
        names=frozenset(name for node in nodes for name in _names(node)),
        choices=tuple(choice for node in nodes for choice in _choices(node)),
    )


def _imports(node: ast.AST, package: tuple[str, ...]) -> Iterator[Imported]:
    if isinstance(node, ast.Import):
        yield from (Imported(alias.name, "") for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parents = package[: len(package) - node.level + 1] if node.level else ()
        module = ".".join((*parents, *filter(None, [node.module])))
        yield from (Imported(module, alias.name) for alias in node.names)


def _n_arguments(taken: ast.arguments) -> int:
    return len(taken.posonlyargs) + len(taken.args) + len(taken.kwonlyargs)


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield f".{node.attr}"
        if isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"


def _choices(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal":
        yield ast.unparse(node.slice)

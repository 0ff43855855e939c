"""The house in numbers: `python -m tools.house [SRC]` counts functions, arguments, vague words, names and imports.

SRC is the folder that holds the package, by default this checkout's; give that of another version to compare.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SYSTEMS = ("tasks", "jobs", "bags", "assignments", "facility")
VAGUE = ("found", "known", "told")
MOST_ARGUMENTS = 10

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources(src: Path) -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    return {_dotted(path.relative_to(src)): ast.parse(path.read_text("utf-8")) for path in sorted(src.rglob("*.py"))}


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def functions(trees: dict[str, ast.Module]) -> list[Function]:
    return [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]


def n_lines(function: Function) -> int:
    """The lines of a function from `def` to its end, without its docstring."""
    first = function.body[0]
    has_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if has_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def n_arguments(function: Function) -> int:
    """The parameters of a function, without `self` and `cls`."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def bound_names(trees: dict[str, ast.Module]) -> Counter[str]:
    """How often each name is given a value: by assignments, loops and parameters."""
    names: Counter[str] = Counter()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] += 1
            elif isinstance(node, ast.arg):
                names[node.arg] += 1
    return names


def repeated_classes(trees: dict[str, ast.Module]) -> dict[str, int]:
    """Names of classes that stand more than once."""
    names = Counter(
        node.name.lstrip("_") for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )
    return {name: n for name, n in names.most_common() if n > 1}


def imports(trees: dict[str, ast.Module], name: str) -> Iterator[str]:
    """The modules of the package that one of them imports, for types too."""
    for node in ast.walk(trees[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in trees)
        elif isinstance(node, ast.ImportFrom) and node.module in trees:
            whole = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (full if full in trees else str(node.module) for full in whole)


def system_of(name: str) -> str | None:
    """The system whose folder a module lies in."""
    return next((part for part in name.split(".")[2:] if part in SYSTEMS), None)


def between_systems(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Imports from one system's folder into another's."""
    pairs = ((name, other) for name, others in graph.items() for other in others)
    return sorted((a, b) for a, b in pairs if system_of(a) and system_of(b) and system_of(a) != system_of(b))


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            groups.append(group)

    for name in graph:
        if name not in index:
            visit(name)
    return [sorted(group) for group in groups if len(group) > 1]


def figures(src: Path) -> Iterator[tuple[str, object]]:
    """What is counted, with its name."""
    trees = sources(src)
    every = functions(trees)
    lengths = statistics.quantiles([n_lines(function) for function in every], n=100)
    wide = sorted(((n_arguments(f), f.name) for f in every if n_arguments(f) > MOST_ARGUMENTS), reverse=True)
    names, graph = bound_names(trees), {name: set(imports(trees, name)) - {name} for name in trees}
    yield "modules", len(trees)
    yield "lines", sum(len(path.read_text("utf-8").splitlines()) for path in src.rglob("*.py"))
    yield "functions", len(every)
    yield "lines of a function, median / p90 / p99", " / ".join(f"{lengths[at - 1]:.0f}" for at in (50, 90, 99))
    yield f"functions with more than {MOST_ARGUMENTS} parameters", f"{len(wide)} {wide[:5]}"
    yield "vague words bound", {word: names[word] for word in VAGUE}
    classes = repeated_classes(trees)
    yield "class names that stand more than once", f"{len(classes)} {dict(list(classes.items())[:8])}"
    yield "imports between systems", len(between_systems(graph))
    yield "import circles", [len(group) for group in circles(graph)]


def main() -> None:
    src = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "src"
    for name, value in figures(src):
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()

"""Public names from stubs: what editors, type checkers and documentation read is the one list of them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach_stub(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a module: the names its stub imports, each loaded when first used."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    origins = {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}

    def fetch(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, origin = origins[name]
        if home == module:
            return importlib.import_module(f"{home}.{origin}")
        return getattr(importlib.import_module(home), origin)

    return fetch, lambda: sorted(origins), sorted(origins)

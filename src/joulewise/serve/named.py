"""What a study may name in a workbench: files in the served folder, and Python only where that is allowed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from joulewise.errors import Problem

if TYPE_CHECKING:
    from joulewise.study.spec.parts import Part

_PYTHON = "Python files are not run here", "start the workbench with --allow-code to run them"
_OUTSIDE = "must lie in the folder that is served", "serve a folder that holds it"


def refused(part: Part, file: Path, root: Path, *, allows_code: bool) -> Iterator[Problem]:
    """What a section of a study file names that it may not: Python, and files that lie outside of the served folder.

    Nothing is looked at. A relative name begins in the folder of the file, which must then be a served one too.
    """
    code = dict(part.code())
    ours = _fields_of_code(part) - code.keys()
    for field, name in part.files():
        where = f"{file.name}: {part.section}.{field}"
        if field in code and not allows_code:
            yield Problem(where, f"found {code[field]!r}", *_PYTHON)
        elif not (_stays_in(file.parent, name) if field in ours else _is_served(file.parent, name, root)):
            yield Problem(where, f"found {name!r}", *_OUTSIDE)


def _fields_of_code(part: Part) -> set[str]:
    """The fields that name code: that of a file, or some of ours by its name."""
    return {field.name for field in dataclasses.fields(part.parameters) if field.metadata.get("file") == "code"}


def _is_served(base: Path, name: str, root: Path) -> bool:
    return _lies_in(base / name, root) and (Path(name).is_absolute() or _lies_in(base, root))


def _stays_in(base: Path, name: str) -> bool:
    return _lies_in(base / name, base)


def _lies_in(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError, ValueError):  # a name with a zero in it, links in a circle
        return False

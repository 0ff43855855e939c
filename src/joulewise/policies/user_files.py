"""Functions in files of users: how a study names them, how they are loaded, and where one finds them."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from joulewise.errors import InputError, Problem, unknown_name
from joulewise.policies.time_limit import TIME_LIMIT_S, TimeUpError, within
from joulewise.units import roughly


def is_file_spec(spec: str) -> bool:
    """Whether a policy is named by a file rather than by a table."""
    return spec.partition(":")[0].endswith(".py")


_MOST_SAID = 200
"""So many letters of a compiler's message are told: it may spell out types of thousands."""

Kind = TypeVar("Kind")


def from_file(spec: str, where: str, folder: Path, kind: type[Kind], doors: Sequence[str], what: str) -> Kind:
    """What a user's file has of a kind, by name or as the only one; InputError, which says `what`, for none.

    `doors` are the decorators that make it.
    """
    file, _, name = spec.partition(":")
    module = _load(folder / file, where)
    offered = {key: value for key, value in vars(module).items() if isinstance(value, kind)}
    if not name and len(offered) == 1:
        return next(iter(offered.values()))
    if name in offered:
        return offered[name]
    advice = f"write {' or '.join(f'@joulewise.{door}()' for door in doors)} above your function"
    if not offered:
        raise InputError(Problem(where, f"found no {what} in {file}", advice=advice))
    if name in vars(module):
        raise InputError(Problem(where, f"found {spec!r}, which is no {what}", advice=advice))
    raise InputError(unknown_name(where, spec, [f"{file}:{key}" for key in offered]))


def _load(path: Path, where: str) -> ModuleType:
    """Run a user's file as a module of its own; its mistakes become an InputError.

    The text itself is compiled each time: bytecode that Python keeps beside files can be older than they are.
    """
    if not path.is_file():
        raise InputError(Problem(where, f"found no file {path}", advice="give the path from the study's folder"))
    name = "joulewise_user_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    with within(TIME_LIMIT_S) as is_late:
        _execute(path, module, where)
    if is_late.is_set():
        found = f"could not load {path}: it was not over after {roughly(TIME_LIMIT_S)}"
        raise InputError(Problem(where, found, advice="compute in the policy, not while its file is loaded"))
    return module


def _execute(path: Path, module: ModuleType, where: str) -> None:
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except InputError as error:
        raise InputError(*(replace(one, where=f"{path.name}: {one.where}") for one in error.problems)) from None
    except (KeyboardInterrupt, TimeUpError):
        raise
    except BaseException as error:  # such as the end of the program
        line = f"{path}: {type(error).__name__}: {error}"
        raise InputError(Problem(where, f"could not load {line}", advice="fix the file and try again")) from error


def place_of(function: Callable[..., float], what: str = "heuristic") -> str:
    """Where a user finds a function of theirs: its file, and its name."""
    return f"{Path(function.__code__.co_filename).name}: {what} {function.__name__}"


def reason(error: Exception) -> str:
    """The line of a compiler's message that says what is wrong."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if strange := re.search(r"Unknown attribute '(\w+)' of type (?:[\w.]+\.)?(\w+)", plain):
        return f"there is no {strange[1]!r} in what it sees{_line_of(plain)}"
    if "Function(<class 'float'>)" in plain:
        return f"it returns no number{_line_of(plain)}"
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith("Failed in")), type(error).__name__)
    return f"{said[:_MOST_SAID]}{_line_of(plain)}"


def _line_of(message: str) -> str:
    """The last line of a file that a compiler's message names, if it names any."""
    named = re.findall(r'File "[^"]*", line (\d+)', message)
    return f" (line {named[-1]})" if named else ""

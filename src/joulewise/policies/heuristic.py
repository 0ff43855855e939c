"""A user's own heuristic: an objective in a file, in a package's entry point, or in the session at hand."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import get_args

from joulewise.errors import InputError, Problem, unknown_name
from joulewise.policies.policy import Mode, Objective, Policy, Value
from joulewise.policies.table import POLICIES

ENTRY_POINTS = "joulewise.heuristics"
PARAMETERS = ("utility", "completion_s", "exec_s", "energy_j", "wait_s")


def heuristic(*, mode: Mode = "batch", falls_with_time: bool = False, title: str = "") -> Callable[[Value], Policy]:
    """Make a policy of a function value(utility, completion_s, exec_s, energy_j, wait_s) -> float.

    The highest value is taken; ties go to the earlier completion, then the earlier arrival. Declare
    `falls_with_time` when a choice is never worth more for starting later: the fast exact engine is used then
    (and the claim is checked on samples); otherwise the plain exact one.
    """
    if mode not in get_args(Mode):
        raise InputError(unknown_name("heuristic mode", str(mode), get_args(Mode)))

    def decorate(value: Value) -> Policy:
        name = getattr(value, "__name__", "heuristic")
        where = f"heuristic {name}"
        if tuple(inspect.signature(value).parameters) != PARAMETERS:
            found = f"found the parameters {inspect.signature(value)}"
            raise InputError(Problem(where, found, f"must be ({', '.join(PARAMETERS)})"))
        summary = (inspect.getdoc(value) or "A heuristic of your own.").splitlines()[0]
        objective = Objective(value, falls_with_time=falls_with_time)
        return Policy(name, title or name, mode, summary, f"{value.__module__}", objective=objective)

    return decorate


def find_policy(spec: str, where: str = "manager.policy", folder: Path | None = None) -> Policy:
    """The policy a study names: a row of the table, "file.py:function", or an installed entry point.

    Files are looked up relative to `folder`. Raises InputError with the nearest valid name.
    """
    if spec in POLICIES:
        return POLICIES[spec]
    if is_file_spec(spec):
        return _from_file(spec, where, folder or Path())
    installed = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if spec in installed:
        return _from_entry_point(installed[spec], where)
    raise InputError(unknown_name(where, spec, [*POLICIES, *installed, '"your_file.py:function"']))


def is_file_spec(spec: str) -> bool:
    """Whether a policy is named by a file rather than by a table."""
    return spec.partition(":")[0].endswith(".py")


def _from_file(spec: str, where: str, folder: Path) -> Policy:
    file, _, name = spec.partition(":")
    module = _load(folder / file, where)
    found = {key: value for key, value in vars(module).items() if isinstance(value, Policy)}
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if name in found:
        return found[name]
    if not found:
        advice = "write @joulewise.heuristic() above your function"
        raise InputError(Problem(where, f"found no heuristic in {file}", advice=advice))
    raise InputError(unknown_name(where, spec, [f"{file}:{key}" for key in found]))


def _load(path: Path, where: str) -> ModuleType:
    """Run a user's file as a module of its own; its mistakes become an InputError."""
    if not path.is_file():
        raise InputError(Problem(where, f"found no file {path}", advice="give the path from the study's folder"))
    name = "joulewise_user_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except Exception as error:
        line = f"{path}: {type(error).__name__}: {error}"
        raise InputError(Problem(where, f"could not load {line}", advice="mend the file and try again")) from error
    return module


def _from_entry_point(point: EntryPoint, where: str) -> Policy:
    try:
        loaded = point.load()
    except Exception as error:
        found = f"could not load the entry point {point.name!r}: {type(error).__name__}: {error}"
        raise InputError(Problem(where, found, advice="mend or remove the package that offers it")) from error
    if isinstance(loaded, Policy):
        return loaded
    found = f"the entry point {point.name!r} gives {type(loaded).__name__}"
    raise InputError(Problem(where, found, "must be a function decorated with @joulewise.heuristic()"))

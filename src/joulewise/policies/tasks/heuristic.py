"""A user's own heuristic: an objective in a file, in a package's entry point, or in the current program."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import get_args

from joulewise.errors import InputError, Problem, raise_if_any, unknown_name
from joulewise.policies.tasks.policy import PARAMETERS, RICH_PARAMETERS, Mode, Objective, Policy, Value
from joulewise.policies.tasks.table import POLICIES
from joulewise.policies.user_files import from_file, is_file_spec

ENTRY_POINTS = "joulewise.heuristics"
_DOORS = ("heuristic", "policy")
"""What makes policies of users' functions."""
_EITHER = " or ".join(f"@joulewise.{door}()" for door in _DOORS)


def heuristic(
    *, mode: Mode = "batch", falls_with_time: bool = False, urgency: float = 0.0, title: str = ""
) -> Callable[[Value], Policy]:
    """Make a policy of a function value(utility, completion_s, exec_s, energy_j, wait_s) -> float.

    The highest value is taken; ties go to the earlier completion, then the earlier arrival. Declare
    `falls_with_time` when a choice is never worth more for starting later, unless it earns more then: the fast exact
    engines are used then (and the claim is checked on samples); otherwise one that values all choices at all events.
    Of what a task would still earn one execution time later, the part `urgency` (0 to 1) is taken off the utility that
    the function sees: at 1 that is what waiting loses.

    A function with other parameters sees what they name: besides these five `task_type`, `machine_type`, `pstate`,
    `queue_length` (tasks planned on the machine at this event), `slack_s` (from the completion to when the task is
    worth nothing), `price_per_s` (of the machine's time) and `price_per_j` (of energy), as Prices finds them. It is for
    batch mode, and all its values are renewed at every event.
    """
    if mode not in get_args(Mode):
        raise InputError(unknown_name("heuristic mode", str(mode), get_args(Mode)))
    raise_if_any(_urgency_problems(urgency))

    def decorate(value: Value) -> Policy:
        name = getattr(value, "__name__", "heuristic")
        where = f"heuristic {name}"
        sees = tuple(inspect.signature(value).parameters)
        if sees != PARAMETERS:
            raise_if_any(_rich_problems(where, sees, mode, falls_with_time))
        summary = (inspect.getdoc(value) or "A heuristic of your own.").splitlines()[0]
        more = () if sees == PARAMETERS else sees
        objective = Objective(value, falls_with_time=falls_with_time, urgency=urgency, sees=more)
        is_priced = not {"price_per_s", "price_per_j"}.isdisjoint(more)
        return Policy(
            name, title or name, mode, summary, f"{value.__module__}", objective=objective, is_priced=is_priced
        )

    return decorate


def _rich_problems(where: str, sees: tuple[str, ...], mode: Mode, falls_with_time: bool) -> Iterator[Problem]:
    """What is wrong with an objective whose parameters are not the five."""
    if not sees or not set(sees) <= set(RICH_PARAMETERS):
        found = f"found the parameters ({', '.join(sees)})"
        yield Problem(where, found, f"must be ({', '.join(PARAMETERS)}), or some of {', '.join(RICH_PARAMETERS)}")
    if mode == "immediate":
        yield Problem(where, "found the mode 'immediate'", f"must be 'batch' for other parameters than {PARAMETERS}")
    if falls_with_time:
        found = "found falls_with_time with other parameters than the five"
        yield Problem(where, found, "its values are renewed at every event", "leave falls_with_time out")


def _urgency_problems(urgency: float) -> Iterator[Problem]:
    if not 0 <= urgency <= 1:
        yield Problem("heuristic urgency", f"found {urgency}", "must be from 0 (utility) to 1 (what waiting loses)")


def find_policy(spec: str, where: str = "manager.policy", folder: Path | None = None) -> Policy:
    """The policy a study names: a row of the table, "file.py:function", or an installed entry point.

    Files are looked up relative to `folder`. Raises InputError with the nearest valid name.
    """
    if spec in POLICIES:
        return POLICIES[spec]
    if is_file_spec(spec):
        return from_file(spec, where, folder or Path(), Policy, _DOORS, "policy")
    points = _installed()
    if spec in points:
        return _from_entry_point(points[spec], where)
    raise InputError(unknown_name(where, spec, [*POLICIES, *points, '"your_file.py:function"']))


def installed_heuristics() -> list[str]:
    """The names that installed packages offer, other than those of the table."""
    return [name for name in _installed() if name not in POLICIES]


def installed_identity(spec: str) -> str | None:
    """Where an installed heuristic comes from: distribution, version and a hash of its module's source.

    None for a name that no installed package offers, and for those of the table.
    """
    point = None if spec in POLICIES else _installed().get(spec)
    if point is None:
        return None
    origin = _origin(point.module)
    source = hashlib.sha256(origin.read_bytes()).hexdigest() if origin is not None else "no source"
    package = f"{point.dist.name} {point.dist.version}" if point.dist is not None else "no distribution"
    return f"{point.value} of {package}, {source}"


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _origin(module: str) -> Path | None:
    """The file of an installed module, or None when it has none that can be read."""
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # a package may raise anything when it is looked into; using the heuristic will say what
        return None
    origin = None if spec is None or spec.origin is None else Path(spec.origin)
    return origin if origin is not None and origin.is_file() else None


def _from_entry_point(point: EntryPoint, where: str) -> Policy:
    try:
        loaded = point.load()
    except Exception as error:
        found = f"could not load the entry point {point.name!r}: {type(error).__name__}: {error}"
        raise InputError(Problem(where, found, advice="fix or remove the package that offers it")) from error
    if isinstance(loaded, Policy):
        return loaded
    found = f"the entry point {point.name!r} gives {type(loaded).__name__}"
    raise InputError(Problem(where, found, f"must be a function decorated with {_EITHER}"))

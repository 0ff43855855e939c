"""One point of a study solved again with other settings, by what its kind computes; runs in a worker of the desk."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, Problem, attempt, raise_if_any

if TYPE_CHECKING:
    from joulewise.study.kinds.case import Outcome
    from joulewise.study.parsing.study import Study
    from joulewise.study.spec.parts import Part, Point, WorldParts

_KEY = "0" * 32
"""What stands for keys of runs and worlds where nothing is stored by them."""

Changes = tuple[tuple[str, Any], ...]
"""Settings by their dotted keys, such as ("supply.power_cap_w", 1000.0)."""


@dataclass(frozen=True)
class Asked:
    """Which point of which study: its folder, what tells its content, the number of the point, the
    changes, and the trial."""

    folder: Path
    stamp: object
    point: int
    changes: Changes = ()
    allows_code: bool = False
    trial: int = 0


def columns_of(asked: Asked) -> dict[str, Any]:
    """The columns of a run of a point with its changes."""
    with tempfile.TemporaryDirectory(prefix="joulewise-") as folder:
        return dict(outcome_of(asked, Path(folder)).columns)


def outcome_of(asked: Asked, scratch: Path) -> Outcome:
    """What comes out of such a run; what it stores goes into a scratch folder."""
    from joulewise.study.kinds.case import Case
    from joulewise.study.spec.run import Run
    from joulewise.study.spec.source import Draw
    from joulewise.study.store.store import Store

    study, point = point_of(asked)
    kind, heading = study.kind, study.heading
    world = world_of(asked, point.world)
    decision = kind.build(point.decision, Draw(heading.seed, asked.trial, study.folder))
    bound = kind.bound(point.decision, heading.bound)
    run = Run(_KEY, _KEY, point, heading.seed, asked.trial, keep=False, bound=bound)
    return kind.compute(Case(run, world, decision, Store(scratch)))


def point_of(asked: Asked) -> tuple[Study, Point]:
    """The study, and the point with its changes; InputError for those that its parameters refuse."""
    study = _study(asked.folder, asked.stamp)
    point = study.points[asked.point]
    _refuse_code(point, allows_code=asked.allows_code)
    return study, changed_point(point, asked.changes)


def changed_point(point: Point, changes: Changes) -> Point:
    """A point with other settings; InputError with all that its parameters refuse."""
    problems: list[Problem] = []
    world = [attempt(problems, _changed, part, changes) for part in point.world]
    decision = attempt(problems, _changed, point.decision, changes)
    raise_if_any(problems)
    return point._replace(world=type(point.world)(*world), decision=decision)  # type: ignore[arg-type]


def _changed(part: Part, changes: Changes) -> Part:
    names = {field.name for field in fields(part.parameters)}
    new = {key.partition(".")[2]: value for key, value in changes if key.partition(".")[0] == part.section}
    return replace(part, parameters=replace(part.parameters, **new)) if new.keys() & names else part


def _refuse_code(point: Point, *, allows_code: bool) -> None:
    """InputError where a point runs code of a file, and that is not allowed."""
    code = [text for part in point.parts for _, text in part.code()]
    if code and not allows_code:
        advice = "start the workbench with --allow-code to run it"
        raise InputError(Problem("the study", f"names code in {code[0]!r}", "is not run here", advice))


def world_of(asked: Asked, parts: WorldParts) -> Any:
    """The world of a trial, kept for the next question."""
    return _world(asked.folder, asked.stamp, parts, asked.trial)


@lru_cache(maxsize=8)
def _study(folder: Path, _stamp: object) -> Study:
    from joulewise.study.answers.results import study_in

    return study_in(folder)[0]


@lru_cache(maxsize=8)
def _world(folder: Path, stamp: object, parts: WorldParts, trial: int) -> Any:
    from joulewise.study.spec.source import Draw

    study = _study(folder, stamp)
    return study.kind.build_world(parts, Draw(study.heading.seed, trial, study.folder))

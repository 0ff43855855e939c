"""One point of a study solved again with other settings, by what its kind computes; runs in a worker of the desk."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import Problem, attempt, raise_if_any
from joulewise.serve.named import refused

if TYPE_CHECKING:
    from joulewise.study.kinds.case import Outcome
    from joulewise.study.parsing.study import Study
    from joulewise.study.spec.parts import Part, Point, WorldParts

_KEY = "0" * 32
"""What stands for keys of runs and worlds where nothing is stored by them."""

Changes = tuple[tuple[str, Any], ...]
"""Settings by their dotted keys, such as ("supply.power_cap_w", 1000.0)."""


@dataclass(frozen=True)
class Question:
    """Which point of which study: the served folder, that of the study, what tells its content, the number of the
    point, the changes, and the trial."""

    root: Path
    folder: Path
    stamp: object
    point: int
    changes: Changes = ()
    allows_code: bool = False
    trial: int = 0


def columns_of(asked: Question) -> dict[str, Any]:
    """The columns of a run of a point with its changes."""
    with tempfile.TemporaryDirectory(prefix="joulewise-") as folder:
        return dict(outcome_of(asked, Path(folder)).columns)


def outcome_of(asked: Question, scratch: Path) -> Outcome:
    """What comes out of such a run; what it stores goes into a scratch folder."""
    from joulewise.study.kinds.case import Case
    from joulewise.study.spec.run import Run
    from joulewise.study.spec.source import Draw
    from joulewise.study.store.store import Store

    study, point = point_of(asked)
    kind, heading = study.kind, study.heading
    world = world_of(asked, point.world)
    decision = kind.build(point.decision, Draw(heading.seed, asked.trial, study.folder))
    bound = kind.bound(point.decision, study.bound)
    run = Run(_KEY, _KEY, point, heading.seed, asked.trial, keep=False, bound=bound)
    return kind.compute(Case(run, world, decision, Store(scratch)))


def point_of(asked: Question) -> tuple[Study, Point]:
    """The study, and the point with its changes; InputError for what it may not name, and for
    changes that its parameters refuse."""
    study = _study(asked.folder, asked.stamp)
    point = study.points[asked.point]
    file = study.folder / study.file_name
    raise_if_any(
        problem for part in point.parts for problem in refused(part, file, asked.root, allows_code=asked.allows_code)
    )
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


def world_of(asked: Question, parts: WorldParts) -> Any:
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


def tables_into(asked: Question, folder: Path) -> dict[str, Any]:
    """The columns of such a run; its detail tables are written into a folder, each as `NAME.parquet`."""
    with tempfile.TemporaryDirectory(prefix="joulewise-") as scratch:
        outcome = outcome_of(asked, Path(scratch))
        for name, table in outcome.tables().items():
            table.write_parquet(folder / f"{name}.parquet")
        return dict(outcome.columns)

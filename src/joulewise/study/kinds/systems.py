"""Every system that studies can be of: ours by a table, those of installed packages by their entry points."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import NamedTuple

from joulewise.errors import Problem
from joulewise.study.kinds.built_in import BUILT_IN
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.packages import loaded
from joulewise.study.kinds.system import System
from joulewise.study.spec.column import Column
from joulewise.study.spec.parts import Part
from joulewise.study.spec.sections import SUPPLY_SECTION, SYSTEM_SECTION, WORKLOAD_SECTION
from joulewise.study.spec.source import SUPPLY, SYSTEM, WORKLOAD, Section, Source

ENTRY_POINTS = "joulewise.systems"

_WORLD = (SYSTEM, WORKLOAD, SUPPLY)
_ONE = {"name": str, "summary": str, "section": Section, "decision": Source, "main": str, "title": str}
_EACH = {"systems": Source, "workloads": Source, "columns": Column}
REQUIRED = (*_ONE, *_EACH)
"""What a kind must have; a test holds it against the class."""

_SECTIONS = (*_WORLD, *dict.fromkeys(section for kinds in BUILT_IN.values() for section, _ in kinds.values()))


class Installed(NamedTuple):
    """The systems of installed packages, and why others are none."""

    systems: tuple[System, ...]
    problems: tuple[Problem, ...]


def built_in(name: str) -> System:
    """One of our systems, loaded when it is first asked for."""
    system: System = import_module(f"joulewise.study.{name}.system").SYSTEM
    return system


@cache
def installed() -> Installed:
    """What installed packages bring; one that is broken keeps nobody else from working."""
    systems: list[System] = []
    problems: list[Problem] = []
    for point in entry_points(group=ENTRY_POINTS):
        found = loaded(point, "system", System, partial(_flaws, others=systems))
        systems += [found] if isinstance(found, System) else []
        problems += [found] if isinstance(found, Problem) else []
    return Installed(tuple(systems), tuple(problems))


def _flaws(system: System, others: Collection[System]) -> Iterator[str]:
    """What keeps a system from being used beside ours and others."""
    if not isinstance(system.lists, Mapping):
        yield f"its lists are a {type(system.lists).__name__}, and must be a mapping from names to functions"
    for kind in system.kinds:
        yield from _kind_flaws(kind)
    yield from _clashes(system, others)


def _kind_flaws(kind: object) -> Iterator[str]:
    """What keeps a thing from being used as a kind of study."""
    if not isinstance(kind, Kind):
        yield f"found {kind!r} among its kinds of studies, which must be instances of Kind"
    name = type(kind).__name__
    yield from (f"its kind {name} has no {key}" for key in REQUIRED if not hasattr(kind, key))
    for key, wanted in _ONE.items():
        if not isinstance(getattr(kind, key), wanted):
            yield f"its kind {name} has a {key} that must be a {wanted.__name__}"
    for key, wanted in _EACH.items():
        if not all(isinstance(each, wanted) for each in getattr(kind, key)):
            yield f"its kind {name} has {key} that must each be a {wanted.__name__}"


def _clashes(system: System, others: Collection[System]) -> Iterator[str]:
    """Names of a system, its kinds and their goals that another has."""
    taken = {name: dict(kinds) for name, kinds in BUILT_IN.items()}
    taken |= {other.name: {kind.name: _decides(kind) for kind in other.kinds} for other in others}
    decided = {at for kinds in taken.values() for at in kinds.values()}
    if system.name in taken:
        yield f"the system {system.name!r} is there already"
    for kind in system.kinds:
        if any(kind.name in kinds for kinds in taken.values()):
            yield f"the kind of study {kind.name!r} is there already"
        if _decides(kind) in decided or kind.section.name in _WORLD:
            yield f"what decides in its kind {kind.name!r} is decided already"


def _decides(kind: Kind) -> tuple[str, str]:
    return kind.section.name, kind.decision.name


def all_systems() -> tuple[System, ...]:
    """Every system, ours first."""
    return (*map(built_in, BUILT_IN), *installed().systems)


def all_kinds() -> dict[str, Kind]:
    """Every kind of study by its name."""
    return {kind.name: kind for system in all_systems() for kind in system.kinds}


def section_names(keys: Collection[str] = ()) -> tuple[str, ...]:
    """The names of all sections; where a file has a key that is none of ours, those of installed packages too."""
    if all(key in _SECTIONS for key in keys):
        return _SECTIONS
    return tuple(dict.fromkeys((*_SECTIONS, *(kind.section.name for kind in _installed_kinds()))))


def kind_of(decision: Part) -> Kind:
    """The kind of study that a section makes it."""
    return kind_at(decision.section, decision.source)


def kind_at(section: str, goal: object) -> Kind:
    """The kind of study that a section with a goal makes it; the first of the section where none has that goal."""
    for name, kinds in BUILT_IN.items():
        for kind, decides in kinds.items():
            if decides in ((section, goal), (section, section)):
                return next(found for found in built_in(name).kinds if found.name == kind)
    foreign = [kind for kind in _installed_kinds() if kind.section.name == section]
    exact = [kind for kind in foreign if kind.decision.name == goal]
    return (exact or [*_built_in_kinds(section), *foreign])[0]


def _built_in_kinds(section: str) -> Iterator[Kind]:
    """Our kinds of studies that a section makes."""
    for name, kinds in BUILT_IN.items():
        if any(section == decides for decides, _ in kinds.values()):
            yield from (kind for kind in built_in(name).kinds if kind.section.name == section)


def _installed_kinds() -> list[Kind]:
    return [kind for system in installed().systems for kind in system.kinds]


def all_sections() -> dict[str, Section]:
    """Every section of a study file with all of its sources, in the order in which sweeps multiply."""
    kinds = list(all_kinds().values())
    world = [
        section.of(source for kind in kinds for source in kind.uses(section.name))
        for section in (SYSTEM_SECTION, WORKLOAD_SECTION)
    ]
    deciding = {kind.section.name: kind.section for kind in kinds}
    filled = [
        section.of(kind.decision for kind in kinds if kind.section.name == name) for name, section in deciding.items()
    ]
    return {section.name: section for section in (*world, SUPPLY_SECTION, *filled)}

"""Every system that studies can be of: ours by a table, those of installed packages by their entry points."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from joulewise.errors import Problem
from joulewise.study.built_in import BUILT_IN
from joulewise.study.kind import Kind
from joulewise.study.sections import SUPPLY_SECTION, SYSTEM_SECTION, WORKLOAD_SECTION
from joulewise.study.source import SUPPLY, SYSTEM, WORKLOAD, Section
from joulewise.study.spec import Part
from joulewise.study.system import System

ENTRY_POINTS = "joulewise.systems"

_WORLD = (SYSTEM, WORKLOAD, SUPPLY)
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
        found = _loaded(point, systems)
        systems += [found] if isinstance(found, System) else []
        problems += [found] if isinstance(found, Problem) else []
    return Installed(tuple(systems), tuple(problems))


def _loaded(point: EntryPoint, others: Collection[System]) -> System | Problem:
    """The system of an entry point, or why it is none that can be used."""
    where = f"system {point.name!r} of the package {point.dist.name if point.dist else point.module!r}"
    advice = "fix the package, or remove it"
    try:
        system = point.load()
    except Exception as error:  # whatever a foreign package raises must not stop the others
        return Problem(where, f"cannot be loaded: {type(error).__name__}: {error}", advice=advice)
    if not isinstance(system, System):
        return Problem(where, f"found {point.value}, a {type(system).__name__}", "must be a System", advice)
    clashes = list(_clashes(system, others))
    return Problem(where, clashes[0], "names of others are taken", advice) if clashes else system


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

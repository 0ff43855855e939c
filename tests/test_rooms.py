"""Rooms by system: who imports whom inside the house, and what modules are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.strategies.sources import PACKAGE, read_source
from tests.test_project import ROOM_SOURCES, ROOT, SYSTEMS, identify, imported_modules, room_of

LOAD_BY_NAME = ["_lazy", "present.page", "serve.house", "study.kinds.systems", "visible"]
"""The modules that load what has a name: public names, and the system, page, board or look that is asked for."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "joulewise.measure.analysis.colocation_data",
        "joulewise.worlds.facility.colocation",
    ): "pairs measured elsewhere are a table of a facility, and the laboratory analyses them as its own",
    (
        "joulewise.study.searches.simulating",
        "joulewise.policies.tasks",
    ): "a search of assignments may start from what a policy of tasks does",
    (
        "joulewise.study.searches.simulating",
        "joulewise.simulate.tasks",
    ): "what a policy of tasks does is found by simulating it",
    (
        "joulewise.study.spec.tabled_tasks",
        "joulewise.worlds.tasks",
    ): "people's own tables of tasks are read alike for managers and for searches of assignments",
    (
        "joulewise.cli.import_",
        "joulewise.worlds.jobs",
    ): "the verb turns logs of jobs into files, and no other system has logs",
    (
        "joulewise.cli.imported",
        "joulewise.worlds.jobs",
    ): "what that verb tells is about logs of jobs",
}
"""Module and what it may import although that is another system's, with the reason."""

MOST_EXCEPTIONS = 10

OF_ONE_SYSTEM = {"slurm": "jobs"}
"""Rooms that serve one system alone, and so have no folder for it."""


def system_of(module: str) -> str:
    """The system whose folder a module lies in, "" for shared code."""
    inner = module.split(".")[2:]
    return inner[0] if inner and inner[0] in SYSTEMS else ""


def module_of(path: Path) -> str:
    return ".".join(("joulewise", *path.relative_to(PACKAGE).with_suffix("").parts))


def borrowed() -> Iterator[tuple[str, str]]:
    """Every import of what is another system's, module by module."""
    for path in ROOM_SOURCES:
        module = module_of(path)
        own = system_of(module) or OF_ONE_SYSTEM.get(room_of(path), "")
        yield from ((module, name) for name in imported_modules(path) if system_of(name) not in ("", own))


def allowed(module: str, name: str) -> bool:
    return any(module == of and f"{name}.".startswith(f"{what}.") for of, what in EXCEPTIONS)


def test_no_system_imports_another() -> None:
    assert sorted({pair for pair in borrowed() if not allowed(*pair)}) == []


def rooms_of_study() -> dict[str, int]:
    """The rooms inside `study` with their rank, as the architecture's table has them."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    section = page.partition("## Inside `study`")[2].partition("\n## ")[0]
    rows = [
        re.findall(r"`(\w+)`", line.split("|")[1])
        for line in section.splitlines()
        if line.startswith("| `") and "room of" not in line
    ]
    return {room: rank for rank, names in enumerate(rows) for room in names}


def test_rooms_of_study_import_only_those_above() -> None:
    ranks = rooms_of_study()
    rooms = {path.name for path in (PACKAGE / "study").iterdir() if (path / "__init__.py").is_file()}
    assert rooms == set(ranks)
    for path in (PACKAGE / "study").glob("*/**/*.py"):
        own = path.relative_to(PACKAGE / "study").parts[0]
        inner = (name.split(".")[2:3] for name in imported_modules(path) if name.startswith("joulewise.study."))
        below = {room for names in inner for room in names if ranks.get(room, 0) > ranks[own]}
        assert not below, f"{identify(path)} imports {below}"


def test_only_public_names_lie_at_the_root_of_study() -> None:
    assert [path.name for path in (PACKAGE / "study").glob("*.py")] == ["__init__.py"]


def test_few_modules_load_others_by_name() -> None:
    loading = [path for path in ROOM_SOURCES if {"import_module", ".import_module"} & read_source(path).names]
    assert [module_of(path).removeprefix("joulewise.") for path in loading] == LOAD_BY_NAME


def test_exceptions_are_few_and_needed() -> None:
    pairs = list(borrowed())
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS
    for of, what in EXCEPTIONS:
        assert any(module == of and f"{name}.".startswith(f"{what}.") for module, name in pairs), (of, what)


def test_no_module_has_a_system_as_its_prefix() -> None:
    prefix = re.compile(r"(task|job|bag|assignment|facility)s?_")
    assert [identify(path) for path in ROOM_SOURCES if prefix.match(path.name)] == []

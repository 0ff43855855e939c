"""Names that users have: what stubs list is there, is loaded when used, and is documented."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import joulewise
from joulewise._lazy import attach_stub
from joulewise.study import Cancelled, Results, Study
from tests.strategies.sources import PACKAGE
from tests.test_project import ROOT, SYSTEMS, run_python

SPACES = {name: importlib.import_module(f"joulewise.{name}") for name in (*SYSTEMS, "measure")}
DOORS = {"": joulewise, **SPACES}
STUBBED = {**DOORS, "study": importlib.import_module("joulewise.study")}
MOST_FIRST_NAMES = 36
BELONGS_TO = {"task": "tasks", "job": "jobs", "bag": "bags", "assignment": "assignments", "facility": "facility"}


def stub_of(door: ModuleType) -> list[ast.stmt]:
    return ast.parse(Path(str(door.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")).body


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


@pytest.mark.parametrize("door", STUBBED.values(), ids=STUBBED)
def test_every_public_name_is_there(door: ModuleType) -> None:
    assert [name for name in door.__all__ if getattr(door, name) is None] == []
    assert dir(door) == sorted(door.__all__)


@pytest.mark.parametrize("door", STUBBED.values(), ids=STUBBED)
def test_type_checkers_see_the_same_names(door: ModuleType) -> None:
    *_, listed = stub_of(door)
    assert isinstance(listed, ast.Assign)
    assert sorted(ast.literal_eval(listed.value)) == door.__all__


def test_a_missing_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'joulewise\.tasks' has no attribute 'no_such_name'"):
        _ = joulewise.tasks.no_such_name  # type: ignore[attr-defined]


def test_a_stub_may_rename(tmp_path: Path) -> None:
    (tmp_path / "door.pyi").write_text("from json import dumps, loads as read\n")
    fetch, names, exported = attach_stub("door", str(tmp_path / "door.py"))
    assert names() == exported == ["dumps", "read"]
    assert fetch("read")("1") == 1


def test_few_names_come_first() -> None:
    assert len(set(joulewise.__all__) - set(DOORS) - {"__version__"}) <= MOST_FIRST_NAMES


def test_what_a_study_gives_and_raises_has_a_first_name() -> None:
    assert joulewise.Cancelled is Cancelled
    assert (joulewise.Study, joulewise.Results) == (Study, Results)


def test_no_public_name_is_hidden_by_a_room() -> None:
    """A room that is imported becomes an attribute of the package, and would take the place of a function."""
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()} - set(SPACES)
    assert rooms.isdisjoint(joulewise.__all__)
    inner = {path.name for path in (PACKAGE / "measure").iterdir()}
    assert inner.isdisjoint(SPACES["measure"].__all__)


@pytest.mark.parametrize("system", SYSTEMS)
def test_names_do_not_repeat_their_system(system: str) -> None:
    mine = {word for word, owner in BELONGS_TO.items() if owner == system}
    itself = {word.capitalize() for word in mine} | {system.capitalize()}
    names = set(SPACES[system].__all__) - itself
    assert [name for name in names if mine & set(words_of(name))] == sorted(NAMED_AFTER_PARTS & names)


NAMED_AFTER_PARTS = {"facility_of"}
"""It makes a facility of its parts; `of` alone would say nothing."""


def test_a_system_loads_nothing_of_another(tmp_path: Path) -> None:
    code = """
import sys
import joulewise as jw
for name in dir(jw.tasks):
    getattr(jw.tasks, name)
print(*sys.modules)
"""
    loaded = run_python(code, cwd=tmp_path).split()
    others = set(SYSTEMS) - {"tasks"}
    assert [name for name in loaded if name.startswith("joulewise.") and others & set(name.split(".")[2:])] == []


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^::: joulewise\.?(\w*)\n    options:\n      members: \[(.*)\]$", page, re.MULTILINE)
    described = {(space, name) for space, members in blocks if space in DOORS for name in members.split(", ")}
    mentioned = {(space, name) for space, name in re.findall(r"`jw(?:\.(\w+))?\.(\w+)`", page)}
    spaces = {("", name) for name in (*SPACES, "__version__")}
    public = {(space, name) for space, door in DOORS.items() for name in door.__all__}
    assert sorted(public - described - mentioned - spaces) == []
    assert sorted(described - public) == []


def test_a_manager_by_the_name_of_a_policy_is_told_how_to_find_it() -> None:
    with pytest.raises(joulewise.InputError, match=r"policy: found .max-max-upt.; must be a Policy; jw.find_policy"):
        joulewise.Manager("max-max-upt")  # type: ignore[arg-type]

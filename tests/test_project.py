"""The project itself: who imports whom, what prints, what lock, wheel and docs hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import pytest
from dependency_groups import resolve
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import joulewise
from tools import reference

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "joulewise"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SYSTEMS = ("tasks", "jobs", "bags", "assignments", "facility")
FRONT_DOOR = tuple(PACKAGE / f"{name}.py" for name in ("__init__", "__main__", *SYSTEMS))
ROOM_SOURCES = [path for path in SOURCES if path not in FRONT_DOOR]

HEAVY = ("altair", "fastapi", "highspy", "numba", "polars", "pydantic", "rich", "scipy", "typer")
LATE = ("altair", "highspy", "polars", "pydantic")
"""What the model and the kernels must not need, so that a worker on another machine can do without."""

KERNELS_MAY_USE = {"numpy", "numba", "llvmlite"}  # llvmlite is numba's own back-end


def run_python(code: str, *arguments: str, cwd: Path, path: Path | None = None) -> str:
    """What a fresh interpreter prints; warnings are errors there too."""
    environment = {"PYTHONPATH": str(path)} if path else {}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def identify(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


# --- which room may import which ------------------------------------------------------------------------


@cache
def house() -> dict[str, set[str]]:
    """Room -> rooms it may import, read from the table in docs/explanation/architecture.md."""
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("| room |")[2].partition("\n\n")[0]
    cells = [line.split("|") for line in table.splitlines()[2:]]
    rows = [(names_in(row[1]), names_in(row[3])) for row in cells]
    for_all, _ = rows[0]
    return {room: allowed | for_all | {room} for rooms, allowed in rows for room in rooms}


def names_in(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def imported_modules(path: Path) -> Iterator[str]:
    """Full names of all modules that a source imports anywhere, also inside functions and for types only."""
    package = ("joulewise", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*parents, *filter(None, [node.module])))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported_rooms(path: Path) -> set[str]:
    names = (f"{module}.".split(".") for module in imported_modules(path))
    return {room or "the package itself" for top, room, *_ in names if top == "joulewise"}


def test_every_room_stands_in_the_architecture_table() -> None:
    assert {room_of(path) for path in ROOM_SOURCES} <= set(house())


def test_rooms_of_the_table_exist() -> None:
    assert set(house()) <= {room_of(path) for path in ROOM_SOURCES}


def test_no_two_rooms_import_each_other() -> None:
    first_row = set.intersection(*house().values())
    pairs = [(a, b) for a, allowed in house().items() for b in allowed if a < b and a in house()[b]]
    assert [pair for pair in pairs if not set(pair) <= first_row] == []


@pytest.mark.parametrize("path", ROOM_SOURCES, ids=identify)
def test_a_room_imports_only_what_the_table_allows(path: Path) -> None:
    assert imported_rooms(path) <= house()[room_of(path)]


@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(path) == "kernels"], ids=identify)
def test_kernels_use_numpy_and_numba_only(path: Path) -> None:
    outside = {module.partition(".")[0] for module in imported_modules(path)} - {"joulewise"}
    assert outside - sys.stdlib_module_names <= KERNELS_MAY_USE


# --- light imports, quiet rooms -------------------------------------------------------------------------


def test_importing_joulewise_loads_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys, joulewise; print(*sorted(set(sys.argv[1:]) & set(sys.modules)))"
    assert run_python(code, *HEAVY, cwd=tmp_path).split() == []


def test_model_kernels_and_the_gpu_engine_import_without_the_other_libraries(tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # None there makes an import fail
import joulewise
for name in ("joulewise.model", "joulewise.kernels"):
    room = importlib.import_module(name)
    for module in pkgutil.walk_packages(room.__path__, name + "."):
        importlib.import_module(module.name)
for name in ("optimise.assignments.gpu", "optimise.assignments.stochastic", "optimise.assignments.fuzzy",
             "worlds.assignments.chances", "worlds.assignments.known"):
    importlib.import_module("joulewise." + name)
"""
    run_python(code, *LATE, "scipy.optimize", cwd=tmp_path)


@pytest.mark.parametrize("path", [path for path in SOURCES if room_of(path) != "cli"], ids=identify)
def test_only_the_cli_prints(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id == "print"]
    streams = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")]
    assert [node.lineno for node in (*names, *streams)] == []


# --- the files of the project ---------------------------------------------------------------------------


def lock_lines() -> list[str]:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()


def pins() -> dict[str, Version]:
    found = [line.split()[0].split("==") for line in lock_lines() if "==" in line and line[0] not in "# "]
    return {canonicalize_name(name): Version(number) for name, number in found}


def wanted() -> list[Requirement]:
    """What the lock must satisfy: the core, every extra but [gpu], the development tools."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    extras = [lines for extra, lines in project["optional-dependencies"].items() if extra != "gpu"]
    tools = resolve(pyproject["dependency-groups"], "dev")
    return [Requirement(line) for line in chain(project["dependencies"], *extras, tools)]


@pytest.mark.parametrize("requirement", wanted(), ids=lambda requirement: str(requirement.name))
def test_the_lock_satisfies_what_the_project_asks_for(requirement: Requirement) -> None:
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


def test_every_pin_has_a_hash() -> None:
    starts = [index for index, line in enumerate(lock_lines()) if line[0] not in "# "]
    assert [lock_lines()[index] for index in starts if "--hash=sha256:" not in lock_lines()[index + 1]] == []


def test_the_lock_names_no_place_to_fetch_from() -> None:
    assert [line for line in lock_lines() if line.startswith("-") or "://" in line or " @ " in line] == []


def test_the_lock_holds_no_gpu_packages() -> None:
    assert [name for name in pins() if re.match(r"cupy|nvidia|cuda|torch|triton", name)] == []


def test_installed_citation_and_changelog_tell_the_same_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version("joulewise") == joulewise.__version__
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [joulewise.__version__]
    assert f"## {joulewise.__version__}" in changelog


# --- the wheel and the docs -----------------------------------------------------------------------------


def shipped(folder: Path) -> set[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def installed_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built wheel installed, without its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, "-m", *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    install = ["pip", "install", "--no-deps", "--no-index", "--target", str(folder / "site"), str(wheel)]
    subprocess.run([sys.executable, "-m", *install], check=True, capture_output=True)
    return folder / "site"


@pytest.mark.slow
def test_the_wheel_ships_every_file_of_the_package(installed_wheel: Path) -> None:
    assert shipped(installed_wheel / "joulewise") == shipped(PACKAGE)


@pytest.mark.slow
def test_the_wheel_ships_the_bundled_studies(installed_wheel: Path) -> None:
    assert list((installed_wheel / "joulewise").rglob("*.toml"))


@pytest.mark.slow
def test_every_module_of_the_wheel_imports(installed_wheel: Path, tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, joulewise
for module in pkgutil.walk_packages(joulewise.__path__, "joulewise."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(joulewise.__file__)
"""
    found = run_python(code, cwd=tmp_path, path=installed_wheel)
    assert Path(found.strip()) == installed_wheel / "joulewise" / "__init__.py"


@pytest.mark.slow
def test_the_command_of_the_wheel_tells_its_version(installed_wheel: Path, tmp_path: Path) -> None:
    code = "import sys; from joulewise.cli import main; main(['versions', '--json'])"
    assert f'"joulewise": "{joulewise.__version__}"' in run_python(code, cwd=tmp_path, path=installed_wheel)


def files_in(page: Path) -> Iterator[tuple[str, str]]:
    """The code blocks of a page, each with the file name that the text gave last."""
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```(csv|python|toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        kind = {"python": "py"}.get(block[1], block[1])
        names: list[str] = re.findall(rf"`(\w+\.{kind})`", text[: block.start()])
        yield (names[-1] if names else f"unnamed.{kind}"), block[2]


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda page: str(page.stem))
def test_studies_in_the_docs_are_valid(page: Path, tmp_path: Path) -> None:
    studies: list[Path] = []
    for name, text in files_in(page):
        needs_more = "trace = " in text or '"tables/' in text  # what `import` and `measure` write
        if ("[manager]" in text or ("[scheduler]" in text and "name = " in text)) and not needs_more:
            studies.append(tmp_path / f"{len(studies)}.toml")
            studies[-1].write_text(text, encoding="utf-8")
        elif not name.endswith(".toml"):
            (tmp_path / name).write_text(text, encoding="utf-8")
    for study in studies:
        run_python("import sys; from joulewise.cli import main; main(sys.argv[1:])", "check", str(study), cwd=tmp_path)


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_pages_are_those_of_the_tables(name: str) -> None:
    assert (reference.FOLDER / name).read_text(encoding="utf-8") == reference.page(name), "run `make reference`"


FETCHED = re.compile(r"<(?:script|link|img|iframe|source)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
STYLED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]*")


@pytest.mark.slow
def test_the_docs_build_strictly_and_fetch_nothing_from_outside(tmp_path: Path) -> None:
    # Without --quiet: it would silence the warnings before --strict can count them.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path: FETCHED.findall(path.read_text("utf-8")) for path in tmp_path.rglob("*.html")}
    styles = {path: STYLED.findall(path.read_text("utf-8")) for path in tmp_path.rglob("*.css")}
    assert tmp_path / "index.html" in pages
    assert {path.name: found for path, found in (pages | styles).items() if found} == {}

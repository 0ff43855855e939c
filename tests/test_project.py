"""The project itself: who imports whom, what prints, what lock, wheel and docs hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from sysconfig import get_path
from zipfile import ZipFile

import pytest
from dependency_groups import resolve
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import joulewise
from tests.strategies.calling import call
from tests.strategies.sources import EXAMPLES, PACKAGE, SOURCES, read_source
from tools import reference

ROOT = Path(__file__).parent.parent
SYSTEMS = ("tasks", "jobs", "bags", "assignments", "facility")
FRONT_DOOR = tuple(PACKAGE / f"{name}.py" for name in ("__init__", "__main__", *SYSTEMS))
ROOM_SOURCES = [path for path in SOURCES if path not in FRONT_DOOR]

HEAVY = ("altair", "fastapi", "gymnasium", "highspy", "numba", "polars", "pydantic", "rich", "scipy", "typer")
LATE = ("altair", "highspy", "polars", "pydantic")
"""What the model and the kernels must not need, so that a worker on another machine can do without."""

CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Where kernels that are compiled already lie, for processes with a home of their own too."""

KERNELS_MAY_USE = {"numpy", "numba", "llvmlite"}  # llvmlite is numba's own back-end


def run_python(code: str, *arguments: str, cwd: Path, path: Path | None = None) -> str:
    """What a fresh interpreter prints; warnings are errors there too."""
    environment = {"PYTHONPATH": str(path)} if path else {}
    return run_command(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "XDG_CACHE_HOME": str(CACHES), **environment},
    )


def run_command(command: list[str], cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """What a command that must succeed prints."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
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
    """Full names of all that a source imports anywhere, also inside functions and for types only."""
    return (imported.full for imported in read_source(path).imports)


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


def test_a_room_imports_only_what_the_table_allows() -> None:
    strangers = {identify(path): imported_rooms(path) - house()[room_of(path)] for path in ROOM_SOURCES}
    assert {path: rooms for path, rooms in strangers.items() if rooms} == {}


def test_kernels_use_numpy_and_numba_only() -> None:
    kernels = [path for path in SOURCES if room_of(path) == "kernels"]
    outside = {identify(path): {module.partition(".")[0] for module in imported_modules(path)} for path in kernels}
    allowed = KERNELS_MAY_USE | {"joulewise"} | sys.stdlib_module_names
    assert {path: libraries - allowed for path, libraries in outside.items() if libraries - allowed} == {}


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


PRINTING = {"print", ".stdout", ".stderr"}


def test_only_the_cli_prints() -> None:
    quiet = [path for path in SOURCES if room_of(path) != "cli"]
    assert [identify(path) for path in quiet if PRINTING & read_source(path).names] == []


def test_a_choice_is_written_down_once() -> None:
    counts = Counter(choice for path in SOURCES for choice in read_source(path).choices)
    assert [choice for choice, n in counts.items() if n > 1] == []


# --- the files of the project ---------------------------------------------------------------------------


def lock_lines() -> list[str]:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()


def pins() -> dict[str, Version]:
    rows = [line.split()[0].split("==") for line in lock_lines() if "==" in line and line[0] not in "# "]
    return {canonicalize_name(name): Version(number) for name, number in rows}


def wanted() -> list[Requirement]:
    """What the lock must satisfy: the core, every extra but [gpu], the development tools."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    extras = [lines for extra, lines in project["optional-dependencies"].items() if extra != "gpu"]
    tools = resolve(pyproject["dependency-groups"], "dev")
    return [Requirement(line) for line in chain(project["dependencies"], *extras, tools)]


def test_the_lock_satisfies_what_the_project_asks_for() -> None:
    pinned = pins()
    assert [str(each) for each in wanted() if pinned[canonicalize_name(each.name)] not in each.specifier] == []


def test_every_pin_has_a_hash() -> None:
    lines = lock_lines()
    starts = [index for index, line in enumerate(lines) if line[0] not in "# "]
    assert [lines[index] for index in starts if "--hash=sha256:" not in lines[index + 1]] == []


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


# --- the wheel, the code and the docs -------------------------------------------------------------------


def shipped(folder: Path) -> set[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run_command([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)])
    (archive,) = folder.glob("*.whl")
    return archive


@pytest.fixture(scope="module")
def wheel(archive: Path) -> Path:
    """The wheel, unpacked: what an installer copies."""
    ZipFile(archive).extractall(archive.parent / "site")
    return archive.parent / "site"


@pytest.fixture(scope="module")
def installed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment in which the wheel was installed, beside the libraries of this one."""
    folder = tmp_path_factory.mktemp("environment")
    run_command([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    (libraries,) = folder.glob("lib/python*/site-packages")
    (libraries / "of-the-tests.pth").write_text(get_path("purelib"), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check"]
    run_command([*pip, "install", "--quiet", "--no-compile", "--no-index", "--no-deps", str(archive)])
    return folder / "bin"


def test_the_wheel_ships_every_file_of_the_package_and_no_tests(wheel: Path) -> None:
    assert shipped(wheel / "joulewise") == shipped(PACKAGE)
    assert list((wheel / "joulewise").rglob("*.toml"))
    assert {path.name.partition("-")[0] for path in wheel.iterdir()} == {"joulewise"}


def around(installed: Path, home: Path) -> dict[str, str]:
    """What commands of the wheel find around them: nothing of this folder, so that their joulewise is the wheel's."""
    numba = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    return {"PATH": f"{installed}:/usr/bin:/bin", "HOME": str(home), "XDG_CACHE_HOME": str(CACHES), **numba}


@pytest.mark.thorough("starts processes and takes seconds")
def test_an_installed_wheel_writes_and_runs_an_example(installed: Path, tmp_path: Path) -> None:
    environment, command = around(installed, tmp_path), str(installed / "joulewise")
    assert run_command([command, "--version"], tmp_path, environment) == f"joulewise {joulewise.__version__}\n"
    run_command([command, "new", "--example", "first"], tmp_path, environment)
    assert "report" in run_command([command, "run", "first.toml", "--workers", "1"], tmp_path, environment)
    assert (tmp_path / "results" / "first" / "report.html").is_file()


@pytest.mark.thorough("checks every example in a process of its own; others check them every day")
def test_an_installed_wheel_writes_and_checks_all_examples(installed: Path, tmp_path: Path) -> None:
    code = """
import joulewise
from joulewise.cli import main
from joulewise.study.parsing.examples import examples

def call(*words):
    try:
        main(list(words))
    except SystemExit as ended:
        assert not ended.code, words

for name, example in examples().items():
    call("new", "--example", name)
    call(*["measure", "--dry-run"] if example.is_plan else ["check"], f"{name}.toml")
print(joulewise.__file__)
"""
    place = run_command([str(installed / "python"), "-c", code], tmp_path, around(installed, tmp_path)).splitlines()[-1]
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} <= {path.name for path in tmp_path.iterdir()}
    assert installed.parent in Path(place).parents


@pytest.mark.thorough("loads everything in a process of its own")
def test_every_module_of_the_wheel_imports_and_its_command_runs(wheel: Path, tmp_path: Path) -> None:
    code = """
import importlib, pkgutil, joulewise
for module in pkgutil.walk_packages(joulewise.__path__, "joulewise."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(joulewise.__file__, flush=True)
from joulewise.cli import main
main(["versions", "--json"])
"""
    place, _, versions = run_python(code, cwd=tmp_path, path=wheel).partition("\n")
    assert Path(place) == wheel / "joulewise" / "__init__.py"
    assert f'"joulewise": "{joulewise.__version__}"' in versions


@pytest.mark.parametrize("tool", ["ruff check .", "ruff format --check ."])
def test_the_code_is_clean(tool: str) -> None:
    run_command([str(Path(sys.executable).parent / word) if not i else word for i, word in enumerate(tool.split())])


@pytest.mark.first("mypy starts from nothing in a fresh clone")
@pytest.mark.thorough("takes a minute of a processor and more; `make lint` does it too")
def test_types_are_those_that_are_said_everywhere() -> None:
    run_command([str(Path(sys.executable).parent / "mypy")])


def is_study(text: str) -> bool:
    """Whether a block is a whole study, no policy of the bridge, without files that `import` and `measure` write."""
    whole = "[manager]" in text or ("[scheduler]" in text and "name = " in text)
    return whole and not any(word in text for word in ("trace = ", '"tables/', "[slurm]"))


def files_in(page: Path) -> Iterator[tuple[str, str]]:
    """The code blocks of a page, each with the file name that the text gave last."""
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(r"^```(csv|python|toml)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        kind = {"python": "py"}.get(block[1], block[1])
        names: list[str] = re.findall(rf"`(\w+\.{kind})`", text[: block.start()])
        yield (names[-1] if names else f"unnamed.{kind}"), block[2]


PAGES_WITH_STUDIES = [
    page for page in sorted((ROOT / "docs").rglob("*.md")) if any(is_study(text) for _, text in files_in(page))
]


@pytest.mark.parametrize("page", PAGES_WITH_STUDIES, ids=lambda page: str(page.stem))
def test_studies_in_the_docs_are_valid(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    studies = [text for _, text in files_in(page) if is_study(text)]
    for name, text in files_in(page):
        if not name.endswith(".toml"):
            Path(name).write_text(text, encoding="utf-8")
    for study in studies:
        Path("study.toml").write_text(study, encoding="utf-8")
        said = call(capsys, "check", "study.toml")
        assert said.code == 0, f"{said.err}\n{study}"


@pytest.mark.parametrize("name", reference.PAGES)
def test_reference_pages_are_those_of_the_tables(name: str) -> None:
    assert (reference.FOLDER / name).read_text(encoding="utf-8") == reference.page(name), "run `make reference`"


FETCHED = re.compile(r"<(?:script|link|img|iframe|source)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
STYLED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]*")


@pytest.mark.thorough("takes seconds; others look at less of it")
@pytest.mark.first("reads every module")
def test_the_docs_build_strictly_and_fetch_nothing_from_outside(tmp_path: Path) -> None:
    # Without --quiet: it would silence the warnings before --strict can count them.
    run_command([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)])
    pages = {path: FETCHED.findall(path.read_text("utf-8")) for path in tmp_path.rglob("*.html")}
    styles = {path: STYLED.findall(path.read_text("utf-8")) for path in tmp_path.rglob("*.css")}
    assert tmp_path / "index.html" in pages
    assert {path.name: hits for path, hits in (pages | styles).items() if hits} == {}
    assert (tmp_path / "search" / "search_index.js").is_file()  # what pages that are opened as files search in
    assert 'src="javascripts/iframe-worker.js"' in (tmp_path / "index.html").read_text("utf-8")

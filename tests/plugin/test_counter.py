"""A package outside ours brings a system, and its kind, column and figure go everywhere without a word of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from joulewise.cli.catalogue import lists
from joulewise.errors import InputError
from joulewise.serve.house import installed_boards
from joulewise.study import parse_study, plan, read_study, run_study
from joulewise.study.kinds import systems
from joulewise.study.kinds.kind import Kind
from joulewise.study.kinds.systems import all_kinds, installed
from tests.strategies.calling import COMMAND, call
from tests.strategies.served import client_of

Capture = pytest.CaptureFixture[str]

HERE = Path(__file__).parent
TEXT = """
name = "queue"
trials = 2
[system]
generator = "counter"
[workload]
generator = "visitors"
n_visitors = 4
[serving]
rule = ["in-order", "shortest"]
"""


def forget() -> None:
    installed.cache_clear()
    installed_boards.cache_clear()
    lists.cache_clear()


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package beside this file, installed."""
    monkeypatch.syspath_prepend(HERE)
    forget()
    yield
    forget()


@pytest.fixture
def queue(tmp_path: Path, package: None) -> Path:
    path = tmp_path / "queue.toml"
    path.write_text(TEXT)
    return path


def test_it_is_checked_run_verified_and_reported(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "results"
    assert "nothing wrong" in call(capsys, "check", queue, "--out", folder).out
    said = call(capsys, "run", queue, "--out", folder, "--workers", 1)
    assert (said.code, "mean wait" in said.out) == (0, True)
    runs = pl.read_parquet(folder / "runs.parquet")
    assert runs["mean_wait_s"].null_count() == 0
    assert runs["serving.rule"].to_list() == ["in-order", "in-order", "shortest", "shortest"]
    assert "4 of 4 runs hold" in call(capsys, "verify", folder).out
    assert call(capsys, "report", folder, "--format", "svg").code == 0
    assert (folder / "figures" / "waits-at-a-counter.svg").is_file()
    page = (folder / "report.html").read_text()
    assert "8 people waited" in page
    assert "where people are served" in page


def test_a_wrong_number_is_found(queue: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "results"
    call(capsys, "run", queue, "--out", folder, "--workers", 1, "--no-report")
    runs = pl.read_parquet(folder / "runs.parquet")
    runs.with_columns(pl.col("mean_wait_s") + 1).write_parquet(folder / "runs.parquet")
    assert call(capsys, "verify", folder).code == 1


def test_another_version_of_it_takes_no_stored_run(package: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(plan(parse_study(TEXT, "queue.toml", Path())))
    monkeypatch.setattr(type(all_kinds()["serving"]), "version", "2")
    after = list(plan(parse_study(TEXT, "queue.toml", Path())))
    assert {run.key for run in before}.isdisjoint(run.key for run in after)
    assert {run.world_key for run in before}.isdisjoint(run.world_key for run in after)


def test_it_is_listed_and_explained(package: None, capsys: Capture) -> None:
    kinds, methods, columns = (json.loads(call(capsys, "list", name, "--json").out)[name]
                               for name in ("kinds", "methods", "columns"))  # fmt: skip
    assert "serving" in [row["name"] for row in kinds]
    assert "shortest" in [row["name"] for row in methods]
    assert ("mean_wait_s", "serving") in [(row["column"], row["studies"]) for row in columns]
    assert "waits" in call(capsys, "explain", "patient").out
    assert "how many people come" in call(capsys, "explain", "n_visitors").out
    assert "Waits at a counter" in call(capsys, "explain", "waits-at-a-counter").out


def test_it_is_in_the_schema_and_has_a_study_to_start_from(package: None, tmp_path: Path, capsys: Capture) -> None:
    schema = json.loads(call(capsys, "schema").out)
    assert schema["properties"]["serving"]["properties"]["rule"]["default"] == "in-order"
    assert {"required": ["system", "workload", "serving"]} in schema["anyOf"]
    path = tmp_path / "new.toml"
    assert call(capsys, "new", path, "--kind", "serving").code == 0
    assert parse_study(path.read_text(), path.name, tmp_path).kind.name == "serving"


def test_mistakes_are_told_in_its_words(package: None) -> None:
    with pytest.raises(InputError, match="in-order"):
        parse_study(TEXT.replace('"shortest"', '"shortst"'), "queue.toml", Path())
    with pytest.raises(InputError, match=r"\[serving\]"):
        parse_study(TEXT.replace("[serving]\nrule", '[manager]\npolicy = "random"\n#'), "queue.toml", Path())


@pytest.mark.thorough("starts processes")
def test_processes_find_it_by_its_entry_point(tmp_path: Path) -> None:
    (tmp_path / "queue.toml").write_text(TEXT)
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    command = [*COMMAND, "run", "queue.toml", "--workers", "2", "--no-report", "--json"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_failed"] == 0


IMPORTS = """
from joulewise.study.bags.front import FrontKind
from joulewise.study.kinds.system import Entry, System
class Mine(FrontKind):
    name = "mine"
"""
BROKEN = {
    "raises": ("raise ImportError('no such thing')", "cannot be loaded: ImportError: no such thing"),
    "none": ("SYSTEM = 3", "found broken_package:SYSTEM, a int"),
    "clash": ("SYSTEM = System('mine', (FrontKind(),))", "the kind of study 'front' is there already"),
    "no kind": ("SYSTEM = System('mine', (3,))", "found 3 among its kinds of studies, which must be instances of Kind"),
    "no kinds": ("SYSTEM = System('mine', 3)", "cannot be loaded: TypeError"),
    "a class": ("SYSTEM = System('mine', (FrontKind,))", "which must be instances of Kind"),
    "no lists": ("SYSTEM = System('mine', (), 3)", "its lists are a int"),
    "no section": ("Mine.section = 'mine'\nSYSTEM = System('mine', (Mine(),))", "a section that must be a Section"),
    "no column": ("Mine.columns = ('wait',)\nSYSTEM = System('mine', (Mine(),))", "that must each be a Column"),
    "bare": (
        "from joulewise.study.kinds.kind import Kind\n"
        "class Bare(Kind):\n    build_world = compute = judge = print\n    name = summary = 'bare'\n"
        "SYSTEM = System('mine', (Bare(),))",
        "its kind Bare has no section",
    ),
}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Installs a package of this code and these entry points."""

    def write(code: str, points: str) -> None:
        (tmp_path / "broken_package.py").write_text(IMPORTS + code)
        about = tmp_path / "broken_package-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-package\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(points)
        monkeypatch.syspath_prepend(tmp_path)
        sys.modules.pop("broken_package", None)
        forget()

    yield write
    forget()


A_SYSTEM = "[joulewise.systems]\nbroken = broken_package:SYSTEM\n"


def rows_of(name: str, capsys: Capture) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(call(capsys, "list", name, "--json").out)[name]
    return rows


@pytest.mark.parametrize(("code", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_is_told_of_and_breaks_nothing_else(
    code: str, told: str, install: Callable[[str, str], None], capsys: Capture
) -> None:
    install(code, A_SYSTEM)
    assert "managed" in all_kinds()
    assert told in next(row for row in rows_of("kinds", capsys) if "broken-package" in row["name"])["summary"]
    said = call(capsys, "schema")
    assert (said.code, told in said.err) == (0, True)
    with pytest.raises(InputError, match=r"(?s)serving.*broken-package"):
        parse_study(TEXT, "queue.toml", Path())


def test_all_that_a_kind_must_have_is_looked_at() -> None:
    assert set(systems.REQUIRED) == {name for name in Kind.__annotations__ if not hasattr(Kind, name)}


def test_a_list_whose_name_is_taken_is_told_of_and_ours_stays(
    install: Callable[[str, str], None], capsys: Capture
) -> None:
    install("SYSTEM = System('mine', (), {'policies': list, 'rules': list})", A_SYSTEM)
    assert "max-max-upt" in call(capsys, "explain", "max-max-upt").out
    told = {row["name"]: row["summary"] for row in rows_of("kinds", capsys)}
    assert "is there already" in told["list 'policies' of the system 'mine'"]
    assert "is there already" in told["list 'rules' of the system 'mine'"]


@pytest.mark.parametrize(("made", "told"), [("lambda: 1 / 0", "ZeroDivisionError"), ("lambda: [3]", "no Entry")])
def test_a_broken_list_concerns_that_list_only(
    made: str, told: str, install: Callable[[str, str], None], capsys: Capture
) -> None:
    install(f"SYSTEM = System('mine', (), {{'moods': {made}}})", A_SYSTEM)
    assert call(capsys, "explain", "max-max-upt").code == 0
    assert told in rows_of("moods", capsys)[0]["summary"]


def test_a_page_that_cannot_be_used_is_told_of(install: Callable[[str, str], None], capsys: Capture) -> None:
    points = "[joulewise.pages]\nmine = broken_package:NOTHING\nmanaged = broken_package:PAGE\n"
    install("from joulewise.present.page import Page\nPAGE = Page()\n", points)
    rows = {row["name"]: row["shows"] for row in rows_of("figures", capsys)}
    assert "cannot be loaded" in rows["page 'mine' of the package 'broken-package'"]
    assert "'managed' has a page already" in rows["page 'managed' of the package 'broken-package'"]


def test_the_workbench_has_its_page_and_what_if(queue: Path, tmp_path: Path) -> None:
    results = run_study(read_study(queue), tmp_path / "all" / "queue", 1)
    client = client_of(tmp_path / "all")
    assert not installed_boards().problems
    page = client.get("/api/studies/queue/waiting").json()
    assert page["blocks"][0]["pairs"] == [["Runs", str(results.n_runs)]]
    assert client.get("/studies/queue").status == 200
    keys = [wish["key"] for wish in client.get("/api/studies/queue/what-if").json()["wishes"]]
    assert "workload.n_visitors" in keys

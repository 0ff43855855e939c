"""`joulewise arena`: a policy meets its sets, its entry is verified, and mistakes are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joulewise.study.arena.kept import keep
from joulewise.study.arena.sets import SETS
from tests.strategies.calling import call
from tests.strategies.looking_ahead import TASKS_AHEAD
from tests.strategies.small import HEURISTIC
from tests.strategies.small_arena import made_rows, put_small_sets

Capture = pytest.CaptureFixture[str]
RAISING = HEURISTIC.replace("falls_with_time=True", "").replace("utility / exec_s", "utility / nothing")


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Small sets, and an empty working folder."""
    (tmp_path / "sets").mkdir()
    put_small_sets(monkeypatch, tmp_path / "sets")
    monkeypatch.chdir(tmp_path)


def test_a_policy_is_judged_and_its_entry_holds(capsys: Capture) -> None:
    keep(SETS["tasks"], made_rows({}))
    Path("mine.py").write_text(HEURISTIC)
    said = call(capsys, "arena", "mine.py:mine", "--workers", 1, "--entry", "mine.json", "--out", "mine.html")
    assert said.code == 0, said.err
    assert "8 runs to compute" not in said.err
    assert "4 runs to compute, which takes about" in said.err
    shown = ("arena-tasks-7: percent of the proven bound, mean over 2 worlds", "mine.py:mine", "Entry:   mine.json")
    assert [words for words in shown if words not in said.out] == []
    assert "<h2>Figures</h2>" in Path("mine.html").read_text()

    refused = call(capsys, "arena", "--verify", "mine.json")
    assert (refused.code, "nothing that came with an entry is run" in refused.err) == (2, True)
    said = call(capsys, "arena", "--verify", "mine.json", "--trust-code", ".", "--workers", 1)
    assert said.code == 0, said.err
    assert "mine.py:mine: 4 of 4 rows hold" in said.out

    found = json.loads(Path("mine.json").read_text())
    found["rows"][1]["utility"] += 1.0
    Path("mine.json").write_text(json.dumps(found))
    said = call(capsys, "arena", "--verify", "mine.json", "--trust-code", ".", "--workers", 1, "--json")
    assert said.code == 1
    rows = json.loads(said.out)["rows"]
    assert [bool(row["problems"]) for row in rows] == [False, True, False, False]

    del found["rows"][3]
    Path("mine.json").write_text(json.dumps(found))
    said = call(capsys, "arena", "--verify", "mine.json", "--trust-code", ".", "--workers", 1)
    assert (said.code, said.out) == (2, "")
    assert f"mine.json: rows: of tasks, {rows[3]['world']!r}, trial {rows[3]['trial']}: missing" in said.err
    assert "to compute" not in said.err


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_a_policy_that_looks_ahead_has_no_place_and_its_entry_says_so(capsys: Capture) -> None:
    keep(SETS["tasks"], made_rows({}))
    Path("ahead.py").write_text(TASKS_AHEAD)
    said = call(capsys, "arena", "ahead.py:by_start", "--workers", 1, "--entry", "ahead.json", "--out", "ahead.html")
    assert said.code == 0, said.err
    assert "clairvoyant" in said.out
    assert "It has no place, as it decides by what is still to come" in Path("ahead.html").read_text()
    found = json.loads(Path("ahead.json").read_text())
    assert [row["trial"] for row in found["rows"] if row["foresight"] is not None] == [0, 0]
    found["rows"] = [{**row, "foresight": None} for row in found["rows"]]
    Path("ahead.json").write_text(json.dumps(found))
    said = call(capsys, "arena", "--verify", "ahead.json", "--trust-code", ".", "--workers", 1, "--json")
    assert said.code == 1
    problems = [row["problems"] for row in json.loads(said.out)["rows"] if row["problems"]]
    assert [problem[0].partition(" is stored")[0] for problem in problems] == ["foresight: None"] * 2


def test_a_world_that_a_policy_cannot_have_fails_alone(capsys: Capture) -> None:
    said = call(capsys, "arena", "max-util", "--quick", "--workers", 1, "--json")
    assert said.code == 3
    (board,) = json.loads(said.out)["sets"]
    assert [(row["world"], row["trial"]) for row in board["failed"]] == [("a budget", 0)]
    assert "must be a batch policy" in board["failed"][0]["error"]
    assert board["worlds"]["calm"][0]["share"] > 0
    assert not Path("results/arena/max-util.json").exists()
    said = call(capsys, "arena", "max-util", "--quick", "--workers", 1)
    assert "No result on arena-tasks-7" in said.out


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_files_of_one_name_in_two_folders_are_kept_apart(capsys: Capture) -> None:
    for folder, worth in (("one", "utility / exec_s"), ("other", "exec_s / utility")):
        Path(folder).mkdir()
        Path(folder, "mine.py").write_text(
            HEURISTIC.replace("falls_with_time=True", "").replace("utility / exec_s", worth)
        )
        said = call(capsys, "arena", f"{folder}/mine.py:mine", "--quick", "--workers", 1)
        assert said.code == 0, said.err
        assert "2 runs to compute" in said.err
    assert {path.name for path in Path("results/arena").iterdir()} == {"one+mine.py_mine", "other+mine.py_mine"}


def test_a_policy_that_raises_fails_and_others_are_shown(capsys: Capture) -> None:
    Path("bad.py").write_text(RAISING)
    said = call(capsys, "arena", "bad.py", "--quick", "--workers", 1)
    assert said.code in (2, 3)
    assert "nothing" in said.out + said.err


def test_policies_with_hostile_names_stay_text(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<img src=x onerror=alert(1)>.py"
    Path(name).write_text(HEURISTIC)
    said = call(capsys, "arena", name, "--quick", "--workers", 1, "--out", "page.html")
    assert said.code == 0, said.err
    assert "<img src=x" not in Path("page.html").read_text()


def test_all_policies_are_run_once_and_kept(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(SETS["tasks"]), "table", lambda _: {"prices": "Prices", "max-max-upt": "Max-Max UPT"})
    assert "nothing is kept of these sets" in call(capsys, "arena", "--all").err
    Path("page.md").write_text("# All\n<!-- arena tasks -->\n<!-- end -->\nend\n")
    arguments = ("arena", "--all", "--write", "--workers", 1)
    said = call(capsys, *arguments, "--page", "page.md")
    assert said.code == 0, said.err
    assert "8 runs to compute" in said.err
    assert "| Max-Max UPT | " in Path("page.md").read_text()
    assert Path("page.md").read_text().endswith("<!-- end -->\nend\n")
    assert "to compute" not in call(capsys, *arguments).err
    said = call(capsys, "arena", "prices", "--workers", 1, "--json")
    found = json.loads(said.out)["sets"][0]["standings"]
    assert sorted(row["policy"] for row in found) == ["max-max-upt", "prices"]


def test_worlds_to_tune_on_are_others_and_judge_nothing(capsys: Capture) -> None:
    said = call(capsys, "arena", "max-max-upt", "--tune", "--workers", 1)
    assert said.code == 0, said.err
    assert "Entry" not in said.out


def test_sets_are_listed_and_missing_logs_are_told(capsys: Capture) -> None:
    assert "JOULEWISE_DATA names the folder of real logs" in " ".join(call(capsys, "arena").out.split())
    assert [row["set"] for row in json.loads(call(capsys, "arena", "--json").out)] == ["tasks", "logs"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "manager.policy: found 'nobody'"),
        (["none.py:f"], "found no file none.py"),
        (["prices", "--all"], "POLICY: found with --all"),
        (["prices", "--set", "chess"], "must be one of tasks, logs"),
        (["prices", "--set", "logs"], "'prices' is for tasks"),
        (["prices", "--quick", "--tune"], "--quick: found with --tune"),
        (["prices", "--trust-code", "."], "goes with --verify"),
        (["--write"], "goes with --all"),
        (["--verify", "none.json"], "none.json: cannot be read"),
        (["prices", "--quick", "--out", "page.pdf"], "must be a file that ends in .html"),
    ],
)
def test_mistakes_are_told(arguments: list[str], words: str, capsys: Capture) -> None:
    said = call(capsys, "arena", *arguments)
    assert (said.code, words in said.err) == (2, True), said.err

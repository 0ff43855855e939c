"""The verb measure: schedules, probes, findings and reports, on a synthetic machine and on this one."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from joulewise.cli.measure import _how_long, _how_noted, _noted
from joulewise.cli.output import progress
from joulewise.files import locked
from joulewise.measure.machine.places import BEYOND_QUOTA, SHARED_CORES
from joulewise.measure.plan.programs import resolved
from joulewise.measure.plan.schedule import PlanEstimate, schedule
from joulewise.progress import Progress
from tests.strategies.calling import call
from tests.strategies.small_lab import MACHINE, SYNTHETIC, small_plan
from tests.strategies.sources import EXAMPLES

Capture = pytest.CaptureFixture[str]

REAL = """
name = "real"
repetitions = 2
cores = "any"
[[program]]
name = "short"
command = "sleep 0.05"
warm_up = 0
takes = "0.05 s"
[[program]]
name = "broken"
command = ["sh", "-c", "echo lost; exit 3"]
takes = "0.05 s"
[together]
pairs = "none"
[idle]
wait = "1 ms"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with plans, on a machine of which no other laboratory knows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("joulewise.measure.machine.holding.SHARED", tmp_path)
    (tmp_path / "syn.toml").write_text(SYNTHETIC)
    (tmp_path / "real.toml").write_text(REAL)
    return tmp_path


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_synthetic_machine_is_measured_reported_and_reported_again(folder: Path, capsys: Capture) -> None:
    said = call(capsys, "measure", "syn.toml", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert (found["n_runs"], found["n_valid"], found["problems"]) == (10, 10, [])
    assert found["findings"]
    html = (folder / "results" / "syn" / "report.html").read_text()
    assert "Two made-up programs." in html
    assert "Measured on a made-up machine" in html
    assert (folder / "results" / "syn" / "tables" / "etc_s.csv").is_file()
    assert call(capsys, "measure", "syn.toml", "--dry-run").out.startswith("Nothing is left to measure: all 10 runs")
    before = {path: path.stat().st_mtime_ns for path in Path("results/syn").rglob("*") if path.is_file()}
    assert json.loads(call(capsys, "measure", "syn.toml", "--json").out) == {**found, "n_reused": 10}
    assert {path: path.stat().st_mtime_ns for path in before} == before
    again = call(capsys, "measure", "--report", "results/syn")
    assert again.code == 0
    assert "Report:  results/syn/report.html" in again.out
    assert call(capsys, "measure", "--report", "nowhere").code == 2
    assert not (folder / "nowhere").exists()
    with locked(folder / "results" / "syn"):
        assert "another process is writing here" in call(capsys, "measure", "--report", "results/syn").err


def test_the_bar_says_what_is_done_and_what_became_of_the_rest() -> None:
    assert Progress(0, 0, 0, 0, "calibrating triad").doing == "calibrating triad"
    now = Progress(9, 4, 1, 12, "triad at as is")
    assert (now.doing, now.kept) == ("triad at as is; 1 failed; 12 were there already", "15 of 21")


@pytest.mark.parametrize(("quiet", "told"), [(False, "Measuring it: 3 of 12 (a + b)\n"), (True, "")])
def test_off_a_terminal_lines_stand_for_the_bar(
    quiet: bool, told: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("joulewise.cli.output.LINE_EVERY_S", 0.0)
    with progress("Measuring it", quiet=quiet) as move:
        move(3, 12, "a + b")
    assert capsys.readouterr().err == told


def test_a_program_that_fails_is_told_and_the_others_are_measured(folder: Path, capsys: Capture) -> None:
    said = call(capsys, "measure", "real.toml", "--json")
    assert said.code == 3, said.err
    found = json.loads(said.out)
    assert (found["n_runs"], found["n_valid"]) == (4, 2)
    assert "broken failed when it was warmed up" in said.err
    again = call(capsys, "measure", "--report", "results/real")
    assert "2 of 4 runs count; 2 failed. Measurements" in again.out
    assert "lost" in said.err


def test_being_told_to_end_while_meters_are_looked_at_ends_in_order(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def ended(*_: object) -> Iterator[None]:
        os.kill(os.getpid(), signal.SIGTERM)
        yield

    monkeypatch.setattr("joulewise.measure.bench.setting.opened", ended)
    said = call(capsys, "measure", "real.toml")
    assert (said.code, "Interrupted" in said.err) == (130, True)


def test_dry_runs_print_the_schedule_and_how_long_it_takes(folder: Path, capsys: Capture) -> None:
    said = call(capsys, "measure", "syn.toml", "--dry-run")
    assert said.code == 0, said.err
    assert "bodytrack + canneal" in said.out
    assert "10 runs, which take no time" in said.out
    assert not (folder / "results").exists()
    found = json.loads(call(capsys, "measure", "real.toml", "--dry-run", "--json").out)
    assert (found["n_runs"], found["unknown"], len(found["schedule"])) == (4, [], 4)
    assert (found["needs_yes"], SHARED_CORES in found["noted"]) == (False, False)


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (PlanEstimate(9, 191.0, 9e3, (), 191.0), "9 runs (1 of 10 are there already), about 3.2 min."),
        (PlanEstimate(10, 1e5, 1e5, (), 1e5), "about 1.2 d. That is more than 12 h: it must be agreed to with --yes."),
        (
            PlanEstimate(10, 9e3, 9e3, ("a",), 8.0),
            "at most 2.5 h by the time limits. How long a takes will be known once it has",
        ),
        (PlanEstimate(10, 1e5, 1e5, ("a",), 8.0), "Should it be more than 12 h, it must be agreed to with --yes."),
    ],
)
def test_a_dry_run_says_how_long_it_takes_and_what_must_be_agreed_to(cost: PlanEstimate, told: str) -> None:
    assert told in _how_long(10, cost, is_made_up=False)


def test_a_dry_run_says_which_groups_will_have_notes() -> None:
    plan = small_plan('[together]\ngroups = [["a", "a", "b"]]')
    runs = schedule(plan, MACHINE, resolved(plan, lambda _: ()))
    noted = _noted(plan, replace(MACHINE, core_quota=1.5), runs)
    assert noted == {BEYOND_QUOTA: ["2 a", "2 a + b", "2 b", "a + b"], SHARED_CORES: ["2 a + b"]}
    assert _how_noted(runs, SHARED_CORES, noted[SHARED_CORES]) == (
        "Runs of 1 of 6 groups will have a note: members shared physical cores as siblings."
    )


def test_probes_say_what_is_there_and_what_would_help(capsys: Capture) -> None:
    said = call(capsys, "measure", "--probes")
    assert said.code == 0
    assert "times: yes" in said.out
    assert {probe["name"] for probe in json.loads(call(capsys, "measure", "--probes", "--json").out)} >= {"energy"}


def test_nothing_or_too_much_to_do_is_told(folder: Path, capsys: Capture) -> None:
    assert "--kind measure" in call(capsys, "measure").err
    assert call(capsys, "measure", "syn.toml", "--probes").code == 2
    said = call(capsys, "measure", "--probes", "--dry-run", "--out", "x")
    assert (said.code, "found --out and --dry-run" in said.err) == (2, True)


def test_studies_and_plans_that_are_mistaken_for_each_other_are_told(folder: Path, capsys: Capture) -> None:
    assert "run it with `joulewise measure`" in call(capsys, "run", "real.toml").err
    call(capsys, "new")
    assert "run it with `joulewise run`" in call(capsys, "measure", "study.toml").err
    (folder / "measure.json").write_text("{}")
    for verb in ("report", "verify"):
        assert "`joulewise measure --report .`" in call(capsys, verb, ".").err


def test_the_example_is_the_plan_that_new_writes(folder: Path, capsys: Capture) -> None:
    said = call(capsys, "new", "--kind", "measure")
    assert "joulewise measure measure.toml --dry-run" in said.out
    assert (folder / "measure.toml").read_text() == (EXAMPLES / "measure.toml").read_text()
    assert call(capsys, "measure", "measure.toml", "--dry-run", "--json").code == 0
    assert "a new plan overwrites nothing" in call(capsys, "new", "--kind", "measure").err

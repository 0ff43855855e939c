"""Every benchmark runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.measure import Case
from benchmarks.subjects import SUBJECTS, subject_of

ROOT = Path(__file__).parent.parent

LONG = {
    "manager": {"quality"},
    "cluster": {"curie", "figure_9"},
    "day": {"start_up"},
    "fronts": {"stochastic"},
    "laboratory": {"costs", "speed"},
    "estimates": {"tasks", "assignments", "facility"},
    "sites": {"peers", "flow"},
    "studies": {"overhead", "efficiency", "million", "again"},
    "doors": {"compiled", "jobs", "looks"},
    "scaling": {"facility", "studies", "workers"},
    "workbench": {"whatif", "load"},
}
"""Groups that start processes, compile policies of users, or do what another group does too but for longer."""


@pytest.mark.first("compiles most kernels, while other tests run that need none")
@pytest.mark.parametrize("name", SUBJECTS)
def test_benchmarks_run_at_a_tiny_size(name: str) -> None:
    case = Case(smoke=True)
    subject = subject_of(name)
    groups, left_out = subject.chosen(case, on_gpu=False), LONG.get(name, set())
    assert left_out < groups.keys()
    for group in groups:
        if group not in left_out:
            assert subject.run(case, group)["figures"]


def test_the_command_runs_one_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bag", "--smoke", "--only", "large", "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["figures"]


@pytest.mark.thorough("some groups start processes, and some take long")
def test_every_group_runs_at_a_tiny_size_by_the_command() -> None:
    command = [sys.executable, "-m", "benchmarks", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""Every benchmark runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.measure import Case
from benchmarks.subjects import subject_of

ROOT = Path(__file__).parent.parent

DAILY = [
    ("bag", "large"), ("cluster", "easy"), ("cluster", "conservative"), ("day", "ratio"), ("facility", "small"),
    ("sites", "whole"), ("sites", "shared"), ("sites", "year"),
]  # fmt: skip
"""Groups that take a second; the others start processes, compile policies of users, or take longer."""


@pytest.mark.parametrize(("name", "group"), DAILY)
def test_a_benchmark_runs_at_a_tiny_size(name: str, group: str) -> None:
    assert subject_of(name).run(Case(smoke=True), group)["figures"]


def test_the_command_runs_one_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bag", "--smoke", "--only", "large", "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["figures"]


@pytest.mark.thorough("some groups start processes, and some take long")
def test_every_group_runs_at_a_tiny_size_by_the_command() -> None:
    command = [sys.executable, "-m", "benchmarks", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

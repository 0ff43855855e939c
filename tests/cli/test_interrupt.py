"""Ctrl-C in the middle of a study: what is finished is kept, and the next run goes on from there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from joulewise.study import parse_study, run_study
from tests.strategies.calling import call, started
from tests.strategies.small import TEXT, lasting, n_kept

MANY = TEXT.replace("trials = 2", "trials = 6")
N_RUNS = 24


def wait_for_runs(folder: Path, n: int, limit_s: float = 120.0) -> None:
    deadline = time.monotonic() + limit_s
    while n_kept(folder) < n:
        assert time.monotonic() < deadline, "no run was finished"
        time.sleep(0.01)


def test_ctrl_c_keeps_finished_runs_and_the_next_run_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(MANY)
    first = started(tmp_path, "run", "study.toml", "--workers", 2, "--no-report")
    folder = tmp_path / "results" / "small"
    wait_for_runs(folder, 3)
    for _ in range(5):  # the later ones hit what clears up after the first
        os.killpg(first.pid, signal.SIGINT)  # a terminal sends it to the workers as well
    out, err = first.communicate(timeout=60)
    assert first.returncode == 130
    assert out == ""
    assert re.search(rf"Interrupted; finished runs are kept \(\d+ of {N_RUNS}\)\. To go on", err)
    assert "Traceback" not in err
    assert 3 <= n_kept(folder) < N_RUNS
    assert not (folder / "runs.parquet").exists()
    _no_process_is_left(first.pid)

    monkeypatch.chdir(tmp_path)
    again = call(capsys, "run", "study.toml", "--workers", 1, "--no-report", "--json")
    assert (again.code, again.err) == (0, "")
    straight = run_study(parse_study(MANY, "study.toml", tmp_path), tmp_path / "straight", workers=1)
    resumed = pl.read_parquet(folder / "runs.parquet")
    assert resumed.height == N_RUNS
    assert list(folder.rglob("*.tmp")) == []
    assert lasting(resumed).equals(lasting(straight.runs))


DEAF = """
import time
from joulewise.cli.interrupts import ending_soon, last_words

with ending_soon(), last_words(lambda: "all is kept"):
    print("ready", flush=True)
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""


def test_what_does_not_end_by_itself_is_ended() -> None:
    deaf = subprocess.Popen([sys.executable, "-c", DEAF], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert deaf.stdout is not None
    assert deaf.stdout.readline() == "ready\n"
    deaf.send_signal(signal.SIGINT)
    _, err = deaf.communicate(timeout=60)
    assert (deaf.returncode, err) == (130, "all is kept\n")


@pytest.mark.thorough("starts a study with processes")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(MANY)
    command = started(tmp_path, "run", "study.toml", "--workers", 2, "--no-report")
    wait_for_runs(tmp_path / "results" / "small", 1)
    command.kill()
    command.communicate(timeout=60)
    _no_process_is_left(command.pid)


def _no_process_is_left(group: int, limit_s: float = 30.0) -> None:
    """Wait until the process group is empty."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("a worker outlived its parent")

"""A wall clock that jumps a day back and forth changes no record, no time left, and no lock."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from joulewise.errors import InputError
from joulewise.files import locked
from joulewise.study import Cancelled, CancelToken, Progress, Study, open_results, read_study, run_study
from tests.strategies.clock import DAY_S, WHY_NOT, can_jump, jumping_clock
from tests.strategies.dask_cluster import dask_cluster
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, TEXT

HOUR_S = 3_600
needs_jumps = pytest.mark.skipif(not can_jump(), reason=WHY_NOT)

TOLD_AT_ONCE = """
import sys
import joulewise.cli.output
from joulewise.cli import main

joulewise.cli.output.LINE_EVERY_S = 0.0
main(sys.argv[1:])
"""
"""The command, which tells at each step how far it is."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text('keep = "all"\n' + QUICKLY + TEXT)
    return read_study(path)


@pytest.fixture
def _jumping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are started from now on have such a clock."""
    for name, value in jumping_clock(tmp_path).items():
        monkeypatch.setenv(name, value)


def test_jumps_in_one_process_change_nothing(
    study: Study, expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead_s, seen = itertools.cycle((0, -DAY_S, DAY_S)), list[Progress]()
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + next(ahead_s))
    began_s = time.monotonic()
    results = run_study(study, tmp_path / "out", 1, seen.append)
    taken_s = time.monotonic() - began_s
    assert_same_records(results.folder, expected)
    assert all(now.runs_per_s >= 0.0 for now in seen)
    assert [now.n_done for now in seen] == sorted(now.n_done for now in seen)
    assert 0 <= results.about["seconds"] <= taken_s


@pytest.mark.parametrize("ahead_s", [-HOUR_S, HOUR_S])
def test_what_is_left_is_done_after_the_clock_was_set_by_an_hour(
    ahead_s: int, study: Study, expected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, seen = CancelToken(), list[Progress]()
    with pytest.raises(Cancelled):
        run_study(study, tmp_path, 1, lambda now: token.cancel() if now.n_done == 3 else None, token)
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + ahead_s)
    results = run_study(study, tmp_path, 1, seen.append)
    assert (seen[0].n_reused, seen[0].n_total) == (3, results.n_runs - 3)
    assert all(now.left_s is None or 0.0 <= now.left_s < HOUR_S / 2 for now in seen)
    assert_same_records(results.folder, expected)


def run_told(study: Study, out: Path, *options: str) -> list[str]:
    """What a run tells of itself in a process of its own, line by line."""
    words = [sys.executable, "-c", TOLD_AT_ONCE, "run", "study.toml", "--out", str(out), "--no-report", *options]
    done = subprocess.run(words, cwd=study.folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def assert_sane(told: list[str]) -> None:
    """Progress was told, and nothing in it takes hours."""
    steps = [line for line in told if re.search(r": \d+ of 8|: \d+ of 7", line)]
    assert steps
    assert [line for line in steps if re.search(r"\d (h|d|hours?|days?)\b|-\d", line)] == []


@needs_jumps
@pytest.mark.thorough("starts processes with a clock of their own")
@pytest.mark.usefixtures("_jumping")
def test_jumps_in_all_processes_change_nothing(study: Study, expected: Path, tmp_path: Path) -> None:
    assert_sane(run_told(study, tmp_path / "out", "--workers", "2"))
    assert_same_records(tmp_path / "out", expected)
    assert 0 <= open_results(tmp_path / "out").about["seconds"] < DAY_S / 2


@needs_jumps
@pytest.mark.thorough("starts a cluster with a clock of its own")
@pytest.mark.usefixtures("_jumping")
def test_jumps_in_a_cluster_and_in_whoever_asks_it_change_nothing(study: Study, expected: Path, tmp_path: Path) -> None:
    with dask_cluster(tmp_path / "cluster", 2) as cluster:
        assert_sane(run_told(study, tmp_path / "out", "--dask", cluster.address))
    assert_same_records(tmp_path / "out", expected)


@needs_jumps
@pytest.mark.thorough("starts a process with a clock of its own")
@pytest.mark.usefixtures("_jumping")
def test_a_folder_that_is_held_is_held_whatever_the_clock_says(study: Study, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "joulewise", "run", "study.toml", "--out", str(tmp_path / "out")]
    with locked(tmp_path / "out"):
        done = subprocess.run(words, cwd=study.folder, capture_output=True, text=True, timeout=300, check=False)
        with pytest.raises(InputError, match="another process is writing here"):
            run_study(study, tmp_path / "out", 1)
    assert (done.returncode, "another process is writing here" in done.stderr) == (2, True)

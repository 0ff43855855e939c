"""Kill -9 of the coordinator, a worker or the scheduler at a random moment: what is resumed equals what was never
disturbed, to the bit."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from joulewise.study import Dask, Study, read_study, run_study
from tests.strategies.calling import started
from tests.strategies.dask_cluster import DaskCluster
from tests.strategies.same import assert_same_records
from tests.strategies.small import QUICKLY, TEXT, n_kept

TRIALS = 12
SEEDS = 99
"""Killed each: coordinators, workers and schedulers in turn."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text('keep = "all"\n' + QUICKLY + TEXT.replace("trials = 2", f"trials = {TRIALS}"))
    return read_study(path)


def disturb(study: Study, cluster: DaskCluster, out: Path, seed: int) -> None:
    """Start the study from a process of its own, kill one of all processes after a while, and have it all end."""
    draw = random.Random(seed)
    command = started(study.folder, "run", "study.toml", "--dask", cluster.address, "--out", out, "--no-report")
    victim = ("coordinator", "worker", "scheduler")[seed % 3]
    until = draw.randrange(4 * TRIALS)
    deadline = time.monotonic() + 120
    while command.poll() is None and n_kept(out) < until and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(draw.random() * 0.3)
    if victim == "coordinator":
        command.kill()
    elif victim == "worker":
        cluster.kill(cluster.workers.pop(0))
        cluster.start_worker()
    else:
        cluster.close()
        cluster.start_scheduler()
        cluster.workers = [cluster.start_worker(), cluster.start_worker()]
    _, told = command.communicate(timeout=120)
    assert "Traceback" not in told
    assert "fault of Joulewise" not in told


def resumed_equals(study: Study, cluster: DaskCluster, expected: Path, out: Path) -> None:
    results = run_study(study, out, engine=Dask(cluster.address))
    assert_same_records(results.folder, expected)


@pytest.mark.thorough("starts processes and takes seconds")
def test_a_killed_coordinator_changes_no_record(
    study: Study, cluster: DaskCluster, expected: Path, tmp_path: Path
) -> None:
    disturb(study, cluster, tmp_path / "out", 0)
    resumed_equals(study, cluster, expected, tmp_path / "out")


@pytest.mark.thorough("kills processes at random moments, a hundred times")
@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_whatever_is_killed_changes_no_record(
    seed: int, study: Study, cluster: DaskCluster, expected: Path, tmp_path: Path
) -> None:
    disturb(study, cluster, tmp_path / "out", seed)
    resumed_equals(study, cluster, expected, tmp_path / "out")

"""A real Slurm and the simulator run the same jobs: who starts when, by partition."""

from __future__ import annotations

import tarfile
from pathlib import Path
from random import Random

import pytest

from tests.strategies.slurm_accounts import WHY_NOT, can_run
from tests.strategies.slurm_jobs import N_JOBS, SEED, jobs_at_random, replayed, run_by_slurm, taus

RECORDED = Path(__file__).parents[3] / "data" / "real-slurm.tar.gz"
"""What a real Slurm printed after such a run: `python -m tools.real_slurm --keep FILE` writes it."""


def test_jobs_start_in_the_order_of_a_slurm_that_was_recorded(tmp_path: Path) -> None:
    with tarfile.open(RECORDED) as packed:
        packed.extractall(tmp_path, filter="data")
    replay = replayed(tmp_path)
    agreement = taus(replay.partition, replay.logged_s, replay.start_s)
    assert replay.world.n_jobs == N_JOBS
    assert min(agreement.values()) >= 0.95, agreement


@pytest.mark.thorough("runs jobs for six minutes")
@pytest.mark.skipif(not can_run(), reason=WHY_NOT)
def test_jobs_start_in_the_order_of_a_real_slurm(tmp_path: Path) -> None:
    """Not in quite the same: what Slurm does within a second decides who is there first, and two runs of it differ."""
    run_by_slurm([tmp_path], jobs_at_random(Random(SEED)))
    replay = replayed(tmp_path)
    agreement = taus(replay.partition, replay.logged_s, replay.start_s)
    assert min(agreement.values()) >= 0.95, agreement

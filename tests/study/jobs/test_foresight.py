"""Worlds with another future are the same up to its instant, and policies that look ahead are found in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joulewise.model.jobs import JobWorld, NodeOutages
from joulewise.policies.jobs.heuristic import find_job_policy
from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.study.jobs.conformance import JobTrial, small_job_world, trials, unlike
from joulewise.study.jobs.foresight import another_future
from joulewise.study.kinds.conformance import CHECKS
from tests.strategies.looking_ahead import JOBS_AHEAD

AT_S = 2500.5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with policies that look ahead, each in its own way."""
    (tmp_path / "ahead.py").write_text(JOBS_AHEAD)
    return tmp_path


def failing(world: JobWorld) -> JobWorld:
    """The world with failures all along."""
    start_s = np.arange(500.0, 9000.0, 1200.0)
    n = start_s.size
    outages = NodeOutages(
        np.zeros(n, np.int32), np.ones(n, np.int32), start_s, start_s + 300, np.zeros(n, np.bool_), np.full(n, 0.5)
    )
    return replace(world, outages=outages)


def test_another_future_begins_at_its_instant_and_has_the_same_work() -> None:
    world = failing(unlike(small_job_world(60)))
    easy = Scheduler(find_job_policy("easy"))
    here = simulate_jobs(world, easy).allocation
    other = another_future(world, here, AT_S)
    is_past = world.jobs.work.arrival_s <= AT_S
    one, two = world.jobs.labels["user"].codes, other.jobs.labels["user"].codes
    assert (one[is_past] == two[is_past]).all()
    assert (one != two).any()
    assert (np.sort(one) == np.sort(two)).all()
    there = simulate_jobs(other, easy).allocation
    ended, runs = here.end_s <= AT_S, (here.start_s < AT_S) & (here.end_s > AT_S)
    assert ended.any()
    assert runs.any()
    for name in ("option", "start_s"):
        assert (getattr(there, name)[ended | runs] == getattr(here, name)[ended | runs]).all()
    assert (there.end_s[ended] == here.end_s[ended]).all()
    assert (there.end_s[runs] > AT_S).all()
    assert (there.end_s[runs] != here.end_s[runs]).any()


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize("name", ["by_arrivals", "by_users", "by_truth", "by_failures"])
def test_a_policy_that_looks_ahead_is_found(name: str, folder: Path) -> None:
    policy, world = find_job_policy(f"ahead.py:{name}", "test", folder), small_job_world(60)
    truth = unlike(world)
    odd = np.random.default_rng(1).uniform(0.5, 0.9, truth.types.n_types)[truth.types.of_option]
    truth = replace(truth, types=replace(truth.types, time_s=odd * truth.types.planned_s))
    trials_of = (JobTrial("", policy, each, Scheduler(policy)) for each in (failing(world), truth))
    assert any("starts at" in CHECKS["causal"].find(trial) for trial in trials_of)


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_a_policy_that_only_knows_the_past_passes_in_all_worlds(folder: Path) -> None:
    for trial in trials("ahead.py:by_the_past", folder):
        assert CHECKS["causal"].find(trial) == ""

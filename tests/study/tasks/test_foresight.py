"""Worlds with another future are the same up to its instant, and policies that look ahead are found in them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joulewise.model.world import Outages, World
from joulewise.policies.tasks.heuristic import find_policy
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from joulewise.study.kinds.conformance import CHECKS
from joulewise.study.tasks.conformance import TaskTrial, small_world, trials, uncertain
from joulewise.study.tasks.foresight import another_future
from tests.strategies.looking_ahead import TASKS_AHEAD

AT_S = 333.3


def failing(world: World) -> World:
    """The world with failures all along."""
    machine, start_s = np.repeat(np.arange(3, dtype=np.int32), 4), np.tile(np.arange(100.0, 1000.0, 250.0), 3)
    return replace(world, outages=Outages(machine, start_s, start_s + 30.0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with policies that look ahead, each in its own way."""
    (tmp_path / "ahead.py").write_text(TASKS_AHEAD)
    return tmp_path


@pytest.mark.parametrize("world", [small_world(100), uncertain(failing(small_world(100)))])
def test_another_future_begins_at_its_instant_and_has_the_same_work(world: World) -> None:
    allocation = simulate(world, Manager(find_policy("max-max-upt"))).allocation
    other = another_future(world, allocation, AT_S)
    here, there = world.workload, other.workload
    is_past = here.arrival_s <= AT_S
    for name in ("arrival_s", "task_type", "shape", "scale", "hold_s"):
        one, two = getattr(here, name), getattr(there, name)
        assert (one[is_past] == two[is_past]).all()
        assert (one[~is_past] != two[~is_past]).any() or name == "hold_s"
        if name != "arrival_s":
            assert (np.sort(one) == np.sort(two)).all()
    assert there.arrival_s[~is_past].min() == AT_S
    came = world.outages.start_s <= AT_S
    assert (other.outages.start_s[came] == world.outages.start_s[came]).all()
    assert (other.outages.start_s[~came] > world.outages.start_s[~came]).all()


def test_what_has_ended_took_what_it_took_and_what_runs_ends_later_than_the_instant() -> None:
    world, manager = uncertain(small_world(100)), Manager(find_policy("max-max-upt"))
    here = simulate(world, manager).allocation
    there = simulate(another_future(world, here, AT_S), manager).allocation
    ended, runs = here.end_s <= AT_S, (here.start_s < AT_S) & (here.end_s > AT_S)
    assert ended.any()
    assert runs.any()
    assert (there.end_s[ended] == here.end_s[ended]).all()
    assert (there.start_s[runs] == here.start_s[runs]).all()
    assert ((there.end_s[runs] > AT_S) & (there.end_s[runs] < here.end_s[runs])).all()


@pytest.mark.thorough("compiles a policy, or runs many worlds")
@pytest.mark.parametrize("name", ["by_arrivals", "by_truth", "by_failures", "by_start", "compiled_by_arrivals"])
def test_a_policy_that_looks_ahead_is_found(name: str, folder: Path) -> None:
    policy = find_policy(f"ahead.py:{name}", "test", folder)
    worlds = (failing(small_world(100)), uncertain(small_world(100)))
    found = [CHECKS["causal"].find(TaskTrial("", policy, world, Manager(policy))) for world in worlds]
    assert any("starts at" in said and "had another future come after" in said for said in found)


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_a_policy_that_only_knows_the_past_passes_in_all_worlds(folder: Path) -> None:
    for trial in trials("ahead.py:by_the_past", folder):
        assert CHECKS["causal"].find(trial) == ""

"""What an agent sees of parallel jobs and may choose, beside sessions, and the slowdowns that it is paid by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from joulewise.kernels.window import QUEUE_UNIT, WAIT_UNIT_S
from joulewise.model.jobs import JobWorld
from joulewise.simulate.jobs.event import JobEvent
from joulewise.simulate.jobs.measures import SHORTEST_S, arrived_inside, job_times
from joulewise.simulate.jobs.session import JobSession
from joulewise.simulate.jobs.window import ways_of
from tests.gym.days import VARIANTS, at_random, made, study

pytestmark = pytest.mark.thorough("compiles what policies from outside see")

PLACES = 4


def share(value: float, unit: float) -> float:
    return value / (value + unit) if value < np.inf else 1.0


def seen_by_hand(world: JobWorld, event: JobEvent, jobs: list[int], most: float) -> tuple[dict[str, float], list[bool]]:
    """What the window shows of these jobs, by name, and whether each of their ways can start now."""
    named, mask, ways = {"waiting": share(event.job.size, QUEUE_UNIT)}, [], ways_of(world)
    named["open"] = event.n_free.sum() / event.n_nodes.sum()
    for r, name in enumerate(world.clusters.names):
        profile = event.profile(r)
        more = np.flatnonzero(profile.n_free > profile.n_free[0])
        named[f"{name}: open"] = event.n_free[r] / event.n_nodes[r]
        named[f"{name}: soon"] = share(profile.time_s[more[0]] - event.now_s if more.size else np.inf, WAIT_UNIT_S)
    for place, job in enumerate(jobs):
        named[f"place {place}: there"] = 1.0
        named[f"place {place}: waited"] = share(event.now_s - event.ready_s[event.job == job][0], WAIT_UNIT_S)
        for way, option in zip(ways.names, ways.option_at[world.jobs.work.task_type[job]].tolist(), strict=True):
            start_s = float(event.earliest_s(job, option)[0]) if option >= 0 else np.inf
            mask.append(start_s == event.now_s)
            where = f"place {place}, {way}"
            named[f"{where}: soon"] = share(start_s - event.now_s, WAIT_UNIT_S)
            if start_s < np.inf:
                earned = event.utility(start_s + event.options.planned_s[option], job)
                named[f"{where}: earns"] = min(float(earned) / most, 1.0)
                cluster = event.options.cluster[option]
                named[f"{where}: nodes"] = event.options.nodes[option] / event.n_nodes[cluster]
    return named, mask


def test_what_is_seen_is_what_a_session_tells(tmp_path: Path) -> None:
    """The first jobs in order of arrival start wherever they can, in an environment and in a session."""
    env = made(tmp_path, "jobs", order="arrival", window=PLACES)
    seen, info = env.reset(seed=2)
    game: Any = env._begun()
    world, is_over, n_started = env.day.world, False, 0
    for event in JobSession(world, game.turns.scheduler):
        jobs = event.job[:PLACES].tolist()
        named, mask = seen_by_hand(world, event, jobs, env._days.of(0).most)
        entries = dict(zip(env.entries, seen.tolist(), strict=True))
        assert named == pytest.approx({name: entries[name] for name in named}, rel=1e-6, abs=1e-7)
        assert info["action_mask"][: len(mask)].tolist() == mask
        if True in mask:
            choice = mask.index(True)
            n_ways = len(mask) // len(jobs)
            job = jobs[choice // n_ways]
            option = ways_of(world).option_at[world.jobs.work.task_type[job], choice % n_ways]
            assert event.start(job, option).all()
            env.step(choice)
            n_started += 1
        seen, _, is_over, _, info = env.step(info["action_mask"].size - 1)
    assert is_over
    assert n_started > 20


@pytest.mark.parametrize("variant", ["budget", "failing", "killed", "moldable"])
def test_slowdowns_are_those_of_the_jobs(tmp_path: Path, variant: str) -> None:
    env = made(tmp_path, "jobs", reward="slowdown")
    env = type(env)(study(tmp_path, VARIANTS["jobs", variant]), reward="slowdown")  # type: ignore[call-arg]
    total = 0.0
    for reward in at_random(env, 3):
        total += reward
    assert total == -env._sums["slowdown"]
    world, allocation = env.day.world, env.outcome().allocation
    asked = arrived_inside(world)
    had_nodes = job_times(world, allocation).bounded_slowdown[asked & allocation.used]
    without = np.flatnonzero(asked & ~allocation.used & (allocation.fate != 4))
    needs_s = world.types.fastest_s[world.jobs.work.task_type[without]]
    waited_s = world.jobs.work.end_s - world.jobs.work.arrival_s[without]
    theirs = np.maximum((waited_s + needs_s) / np.maximum(needs_s, SHORTEST_S), 1.0)
    assert -total == pytest.approx(had_nodes.sum() + theirs.sum(), rel=1e-12)


def test_a_moldable_job_has_a_way_for_each_size(tmp_path: Path) -> None:
    env = made(tmp_path, "jobs")
    env = type(env)(study(tmp_path, VARIANTS["jobs", "moldable"]))  # type: ignore[call-arg]
    env.reset(seed=0)
    ways = ways_of(env.day.world)
    assert ways.names == ("a, P-state 0", "b, P-state 0", "b, P-state 0, size 1")
    assert ways.option_at.tolist() == [[0, 1, 2]]

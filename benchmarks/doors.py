"""A researcher's own policies of tasks and jobs: plain Python, and a whole event compiled, beside the built-in ones
that do the same; and steps of an environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.looks import BARS as OF_LOOKS
from benchmarks.looks import looks
from benchmarks.manager import THRESHOLD, chapter_2
from benchmarks.measure import Bar, Case, Subject
from benchmarks.own_jobs import easy_compiled, easy_in_python
from benchmarks.own_tasks import compiled_policy, in_python
from joulewise.model.clusters import Clusters, ClusterSystem
from joulewise.model.jobs import JobWorld
from joulewise.policies.jobs.policy import JobPolicy
from joulewise.policies.jobs.table import JOB_POLICIES
from joulewise.policies.tasks.policy import Policy
from joulewise.policies.tasks.table import POLICIES
from joulewise.simulate.jobs.run import JobEngine, JobOutcome, simulate_jobs
from joulewise.simulate.jobs.scheduler import Scheduler
from joulewise.simulate.tasks.manager import Manager
from joulewise.simulate.tasks.serial import simulate
from joulewise.worlds.jobs.lublin import LublinParameters, generate_lublin

BUILT_IN, EASY = POLICIES["max-max-upt"], JOB_POLICIES["easy"]


def python(case: Case) -> dict[str, float]:
    """Seconds of a day of 50,000 tasks in plain Python, and whether that assigns what the built-in one does."""
    return _beside(case, "python", in_python, 1)


def compiled(case: Case) -> dict[str, float]:
    """The same for the compiled policy, over the seconds of the built-in one."""
    return _beside(case, "compiled", compiled_policy(), 1 if case.smoke else 5)


def _beside(case: Case, name: str, own: Policy, repeats: int) -> dict[str, float]:
    world = chapter_2(case)
    ours, theirs = _in_turn(lambda of: simulate(world, Manager(of, THRESHOLD)), (own, BUILT_IN), repeats)
    is_same = np.array_equal(ours.allocation.start_s, theirs.allocation.start_s, equal_nan=True)
    return {
        f"{name}.day_s": ours.mapping_s,
        f"{name}.built_in_s": theirs.mapping_s,
        f"{name}.over_built_in": ours.mapping_s / theirs.mapping_s,
        f"{name}.same_assignments": float(is_same),
    }


def _in_turn(run: Callable[[Any], Any], policies: Sequence[Any], repeats: int) -> list[Any]:
    """The fastest run of each policy, run in turn, so that other work on the machine slows all alike."""
    runs = zip(*([run(of) for of in policies] for _ in range(repeats)), strict=True)
    return [min(of_one, key=lambda done: done.mapping_s) for of_one in runs]


def gym(case: Case) -> dict[str, float]:
    """Steps of a processor second in each environment, of days whose first allowed action is taken each time."""
    import joulewise.gym

    figures = {"gym.steps_per_s": joulewise.gym.TASKS, "gym.jobs_steps_per_s": joulewise.gym.JOBS}
    return {figure: _most_steps_per_s(name, case) for figure, name in figures.items()}


def _most_steps_per_s(name: str, case: Case) -> float:
    import gymnasium

    env = gymnasium.make(name, disable_env_checker=True)
    return max(_steps_per_s(env, case.seed + day) for day in range(1 if case.smoke else 5))


def _steps_per_s(env: Any, day: int) -> float:
    _, info = env.reset(seed=day)
    is_over, n, began_s = False, 0, time.process_time()
    while not is_over:
        _, _, is_over, _, info = env.step(int(info["action_mask"].argmax()))
        n += 1
    return n / (time.process_time() - began_s)


def of_jobs(case: Case) -> dict[str, float]:
    """Seconds of a log of 5,000 jobs with EASY in plain Python and compiled, and whether jobs start as built in.

    The compiled one is held against the built-in one in the same event loop: another, for replays alone, is faster.
    """
    world, repeats = _log(case), 1 if case.smoke else 5
    plain, replayed = (simulate_jobs(world, Scheduler(of)) for of in (easy_in_python, EASY))
    compiled, built_in = _in_turn(lambda of: _in_events(world, of), (easy_compiled(), EASY), repeats)
    return {
        "jobs.log_s": plain.mapping_s,
        "jobs.event_ms": 1e3 * plain.mapping_s / plain.n_mapping_events,
        "jobs.compiled_s": compiled.mapping_s,
        "jobs.built_in_s": built_in.mapping_s,
        "jobs.replay_s": replayed.mapping_s,
        "jobs.over_built_in": compiled.mapping_s / built_in.mapping_s,
        "jobs.same_starts": float(_starts_alike(plain, replayed)),
        "jobs.same_starts_compiled": float(_starts_alike(compiled, replayed)),
    }


def _log(case: Case) -> JobWorld:
    """Jobs on one cluster of 128 nodes that take half of the time that they are planned to."""
    one = np.ones(1, np.int64)
    system = ClusterSystem(Clusters(("cluster",), 128 * one, one, one))
    parameters = LublinParameters(n_jobs=200 if case.smoke else 5000, gap_factor=0.6)
    system, work = generate_lublin(parameters, system, case.seed, 0)
    types = replace(system.types, time_s=np.ceil(system.types.planned_s / 2))
    return JobWorld(system.clusters, types, work)


def _in_events(world: JobWorld, of: JobPolicy) -> JobOutcome:
    """A run in the event loop that knows everything."""
    engine = JobEngine(world, Scheduler(of))
    engine.warm_up()
    began = time.perf_counter()
    engine.run(world.jobs.work.end_s)
    return engine.outcome(time.perf_counter() - began)


def _starts_alike(one: JobOutcome, other: JobOutcome) -> bool:
    return np.array_equal(one.allocation.start_s, other.allocation.start_s)


SUBJECT = Subject(
    "doors",
    {"python": python, "compiled": compiled, "jobs": of_jobs, "gym": gym, "looks": looks},
    (
        Bar("a day of 50,000 tasks, Max-Max UPT in plain Python, in s", "python.day_s", "at most", 30),
        Bar("it assigns what the built-in one does", "python.same_assignments", "at least", 1),
        Bar("the compiled policy over the built-in one", "compiled.over_built_in", "at most", 2),
        Bar("it assigns what the built-in one does, compiled", "compiled.same_assignments", "at least", 1),
        Bar("steps of an environment in a processor second", "gym.steps_per_s", "at least", 10_000),
        Bar("steps of one of parallel jobs in a processor second", "gym.jobs_steps_per_s", "at least", 10_000),
        Bar("a log of 5,000 jobs, EASY in plain Python, in s", "jobs.log_s", "at most", 10),
        Bar("it starts jobs when the built-in one does", "jobs.same_starts", "at least", 1),
        Bar("the compiled policy of jobs over the built-in one", "jobs.over_built_in", "at most", 2),
        Bar("it starts jobs when the built-in one does, compiled", "jobs.same_starts_compiled", "at least", 1),
        *OF_LOOKS,
    ),
)

"""Studies of short days to play, and agents that play them."""

from __future__ import annotations

from pathlib import Path

from joulewise.gym.days import EXAMPLES
from joulewise.gym.env import Environment
from joulewise.gym.jobs.env import Jobs
from joulewise.gym.tasks.env import Tasks
from tests.strategies.small_jobs import LOG, LOGGED, TABLED, TABLES

TASKS = (EXAMPLES / "training.toml").read_text("utf-8")
TASKS = TASKS.replace('day = "4 h"', 'day = "1 h"').replace("600", "150").replace("23 MJ", "6 MJ")

JOBS = (EXAMPLES / "training-jobs.toml").read_text("utf-8").replace('bound = "prices"', 'bound = "trivial"')
JOBS = JOBS.replace("300", "80").replace("3_000", "1_000").replace("350 MJ", "100 MJ").replace('"5 min"', '"15 min"')

MADE: dict[str, tuple[type[Environment], str]] = {"tasks": (Tasks, TASKS), "jobs": (Jobs, JOBS)}

VARIANTS = {
    ("tasks", "budget"): TASKS,
    ("tasks", "uncertain"): TASKS.replace("[workload]", "[workload]\ntime_spread = 0.5"),
    ("tasks", "polled"): TASKS + '\nenvironment = "polled"\n',
    ("tasks", "clock"): TASKS + '\nmapping_interval = "5 min"\nenergy_filter = "adaptive"\n',
    ("jobs", "budget"): JOBS,
    ("jobs", "failing"): JOBS.replace("cores =", 'mtbf = "1 d"\nmttr = "1 h"\ncores ='),
    ("jobs", "killed"): LOGGED.replace('["easy", "conservative"]', '"easy"\noverrun = "kill"'),
    ("jobs", "moldable"): TABLED,
}
"""Texts of studies: what managers and schedulers can have that changes what an agent may do and earns."""


def study(folder: Path, text: str) -> Path:
    """A file of short days, with the files that it may name."""
    for name, content in {**TABLES, "log.swf": LOG, "short.toml": text}.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder / "short.toml"


def made(folder: Path, system: str = "tasks", **options: object) -> Environment:
    """An environment of short days."""
    kind, text = MADE[system]
    return kind(study(folder, text), **options)  # type: ignore[arg-type]


def at_random(env: Environment, seed: int) -> list[float]:
    """The rewards of an episode of allowed actions at random, none of which is refused."""
    _, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards, is_over = [], False
    while not is_over:
        mask = info["action_mask"] if env.action_space.shape == () else None
        _, reward, is_over, _, info = env.step(env.action_space.sample(mask))
        rewards.append(reward)
        assert "refused" not in info
    assert info["regret"] == info["bound"] - info["utility"] >= 0.0
    return rewards

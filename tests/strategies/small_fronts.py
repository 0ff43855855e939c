"""Studies of fronts of utility small enough for tests."""

from __future__ import annotations

from pathlib import Path

from joulewise.study import Results, run_study
from tests.strategies.small_bags import Change, bag_study, unchanged

WORLD = """
[system]
generator = "nine-machines"
counts = [1, 2, 1]
task_types = 5
mean_etc = "1.5 min"

[workload]
generator = "known"
n_tasks = 40
span = "10 min"
"""
CHANCES = "time_cov_range = [0.1, 0.5]\npower_cov_range = [0.1, 0.5]\n"
UTILITY = (
    """
name = "utility"
trials = 2
"""
    + WORLD
    + """
[optimise]
goal = "utility"
"""
)
EVOLVED = 'method = "nsga2"\npopulation = 10\ngenerations = 12\nsnapshots = [0, 5]\n'


def uncertain(text: str) -> str:
    """A study whose times and powers are uncertain."""
    return text.replace("[workload]", CHANCES + "\n[workload]")


def run_fronts(text: str, out: Path, change: Change = unchanged) -> Results:
    """A study of a text changed as asked, run into a folder."""
    return run_study(bag_study(text, change), out, 1)

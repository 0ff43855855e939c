"""Studies of bags small enough for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from joulewise.study import Results, Study, parse_study, run_study

WORLD = """
[system]
generator = "cov"
task_types = 5
machine_types = 3
machines = 6
idle_percent = 5

[workload]
generator = "bag"
n_tasks = 80
"""
TABLED = """
[system]
etc_s = "etc.csv"
power_w = "power.csv"
machines = "machines.csv"
[workload]
bag = "bag.csv"
"""
"""The same from tables."""
FRONT = (
    """
name = "front"
trials = 2
"""
    + WORLD
    + """
[optimise]
goal = "front"
n_points = 10
"""
)
PROFIT = (
    """
name = "profit"
trials = 2
"""
    + WORLD
    + """
[optimise]
goal = "profit"
profit_ratio = [0.8, 1.2]
cost_per_kwh = 0.1
"""
)
PRICING = (
    FRONT.replace('"front"', '"pricing"', 1)
    .replace('generator = "bag"', 'generator = "customers"\ncustomers_per_day = 20\ndays = 1\npatience = "6 h"')
    .partition("[optimise]")[0]
    + """
[optimise]
goal = "pricing"
method = ["fixed", "alone", "backlog"]
profit_ratio = 2
cost_per_kwh = 0.1
"""
)
EVERY_METHOD = (
    'method = ["lp", "annealing", "nsga2"]\nmoves = 20_000\npopulation = 10\ngenerations = 20\nsnapshots = [0, 5]\n'
)

Change = Callable[[str], str]


def unchanged(text: str) -> str:
    """The text itself."""
    return text


def bag_study(text: str, change: Change = unchanged, folder: Path = Path()) -> Study:
    """A study of a text changed as asked, checked as a file would be."""
    return parse_study(change(text), "study.toml", folder, check_inputs=True)


def run_bags(text: str, out: Path, change: Change = unchanged) -> Results:
    """Such a study run into a folder."""
    return run_study(bag_study(text, change), out, 1)

"""A study small enough for tests, and what they do with studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import polars as pl

from joulewise.study import Results, Study, parse_study, run_study
from joulewise.study.kinds.columns import all_columns
from joulewise.study.store.store import Store
from joulewise.study.store.stored import Stored

SYSTEM = """
[system]
generator = "oversubscribed"
task_types = 12
special_task_types = 4
special_counts = [1]
general_counts = [2, 3]
"""
WORKLOAD = """
[workload]
generator = "day"
tasks_per_day = 150
warm_up = "10 min"
day = "2 h"
"""
MANAGER = """
[manager]
policy = ["random", "max-max-upt"]
dropping_threshold = [0, 0.5]
"""
HEADING = """
name = "small"
trials = 2
"""
QUICKLY = 'bound = "trivial"\n'
TEXT = HEADING + SYSTEM + WORKLOAD + MANAGER

HERE = Path(__file__).parent

MEASURED = [described.column.name for described in all_columns() if described.column.is_measured]

HEURISTIC = """
import joulewise


@joulewise.heuristic(mode="batch", falls_with_time=True)
def mine(utility, completion_s, exec_s, energy_j, wait_s):
    return utility / exec_s
"""


def small(change: Callable[[str], str] = lambda text: text, folder: Path = HERE) -> Study:
    """The small study, its text changed as asked."""
    return parse_study(change(TEXT), "study.toml", folder)


def run_small(out: Path, workers: int = 1, change: Callable[[str], str] = lambda text: text) -> Results:
    """The small study run into a folder."""
    return run_study(small(change), out, workers)


def lasting(runs: pl.DataFrame) -> pl.DataFrame:
    """The columns that must be the same whenever and wherever a study is run."""
    return runs.drop(MEASURED, strict=False)


def with_runs(results: Results, runs: pl.DataFrame) -> Results:
    """The results in a folder of their own whose runs are these."""
    folder = Path(mkdtemp(dir=results.folder.parent))
    store = Store(folder)
    store.write_table(store.runs_file, runs)
    return replace(results, folder=folder)


def n_kept(folder: Path) -> int:
    """Of how many runs a folder holds rows, merged or not."""
    return Stored(Store(folder)).index.height


def timed(text: str) -> str:
    """The study with one policy, which decides as fast as it can."""
    one = text.replace("[0, 0.5]", "0.5").replace('["random", "max-max-upt"]', '"max-max-upt"')
    return one + 'mapping_time = "measured"\n'

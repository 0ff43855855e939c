"""Mistakes in studies of fronts of utility are told where they are, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from joulewise.optimise.assignments.choices import StochasticObjective
from joulewise.study import plan
from joulewise.study.assignments.parameters import OBJECTIVES
from tests.strategies.small import MANAGER, TEXT
from tests.strategies.small_bags import FRONT, Change, bag_study
from tests.strategies.small_fronts import CHANCES, EVOLVED, UTILITY, uncertain
from tests.study.bags.test_bad import lines, put

TABLES = """
name = "tables"
[system]
etc_s = "etc.csv"
power_w = "power.csv"
[workload]
tasks = "tasks.csv"
[optimise]
goal = "utility"
"""


def add(more: str) -> Change:
    return lambda text: text + more


BAD: dict[str, tuple[str, Change, str]] = {
    "unknown method": (UTILITY, add('method = "lp"'), "optimise.method: found 'lp'"),
    "moves of evolution": (
        UTILITY, add('method = "nsga2"\nmoves = 5'), "optimise.moves: found 5 with method 'nsga2'; is for 'annealing'",
    ),
    "generations of annealing": (UTILITY, add("generations = 5"), "optimise.generations: found 5 with method 'anneal"),
    "a bag": (UTILITY, put('"known"', '"bag"'), "workload.generator: found 'bag'; is for studies with [optimise]"),
    "a day": (UTILITY, put('"known"', '"day"'), "workload.generator: found 'day'; is for studies with [manager]"),
    "known tasks with a manager": (
        UTILITY, lambda t: t.partition("[optimise]")[0] + MANAGER, "workload.generator: found 'known'; is for",
    ),
    "a budget": (UTILITY, add('[supply]\nbudget = "1 GJ"'), "supply.budget: found 1 GJ; of [supply], this goal uses"),
    "failures": (UTILITY, put("task_types", 'mtbf = "1 h"\nmttr = "1 min"\ntask_types'), "system.mtbf: found machines"),
    "idle power": (UTILITY, put("task_types", "idle_percent = 5\ntask_types"), "system: found machines that draw"),
    "no mean time": (UTILITY, put('"1.5 min"', '"0 s"'), "system.mean_etc: found '0 s'"),
    "one seed twice": (UTILITY, add(EVOLVED + 'seeds = ["min-min", "min-min"]'), "optimise.seeds: found"),
    "unknown seed": (UTILITY, add(EVOLVED + 'seeds = ["min-max"]'), "optimise.seeds[0]: found 'min-max'"),
    "too many seeds": (
        UTILITY, add('method = "nsga2"\npopulation = 4\nseeds = ["all"]'),
        "optimise.population: found 4; must hold the 8 seeds",
    ),
    "population of one": (UTILITY, add('method = "nsga2"\npopulation = 1'), "optimise.population: found 1"),
    "odd population": (UTILITY, add('method = "nsga2"\npopulation = 11'), "optimise.population: found 11"),
    "late snapshot": (UTILITY, add('method = "nsga2"\nsnapshots = [2000]'), "optimise.snapshots: found 2000"),
    "chance without chances": (
        UTILITY, add(EVOLVED + 'objective = "expected"'), "optimise.objective: found 'expected' with certain times",
    ),
    "percentile of nothing": (
        UTILITY, add(EVOLVED + 'objective = "percentile"\npercentile_utility = 0'),
        "optimise.percentile_utility: found 0; must be 1 or more",
    ),
    "percentile beyond all": (
        UTILITY, add(EVOLVED + 'objective = "percentile"\npercentile_energy = 101'),
        "optimise.percentile_energy: found 101; must be 100 or less",
    ),
    "percentiles of means": (
        uncertain(UTILITY), add(EVOLVED + "percentile_utility = 90"),
        "optimise.percentile_utility: found 90; is for objective",
    ),
    "samples of means": (uncertain(UTILITY), add(EVOLVED + "n_samples = 9"), "optimise.n_samples: found 9; is for"),
    "no samples": (
        uncertain(UTILITY), add(EVOLVED + 'objective = "expected"\nn_samples = 0'), "optimise.n_samples: found 0",
    ),
    "exchange on one island": (UTILITY, add(EVOLVED + "exchange_every = 7"), "optimise.exchange_every: found 7"),
    "cores for one": (UTILITY, add(EVOLVED + 'engine = "all cores"'), "optimise.engine: found 'all cores'; is for"),
    "no such population": (UTILITY, add(EVOLVED + 'start_from = "x.npz"'), ""),
    "tolerance without chance": (UTILITY, add("tolerance = 0.1"), "optimise.tolerance: found 0.1 with certain times"),
    "negative threshold": (UTILITY, add("drop_below = -1"), "optimise.drop_below: found -1"),
    "range the wrong way": (
        uncertain(UTILITY), put("time_cov_range = [0.1", "time_cov_range = [0.6"), "system.time_cov_range: found [0.6",
    ),
    "absurd COV": (uncertain(UTILITY), put("0.5]", "50.0]"), "system.time_cov_range: found [0.1, 50.0]"),
    "half a range": (uncertain(UTILITY), put("[0.1, 0.5]\npower", "[0.1]\npower"), "system.time_cov_range"),
    "samples and ranges": (
        uncertain(UTILITY), put("time_cov", 'samples = "s.csv"\ntime_cov'), "system.samples: found time_cov_range",
    ),
    "chances with a manager": (
        TEXT, put("special_task_types", CHANCES + "special_task_types"),
        "system.time_cov_range: found [0.1, 0.5]; is for [optimise] with goal = \"utility\"; workload.time_spread",
    ),
    "chances of a bag": (
        FRONT, put("task_types", CHANCES + "task_types"), "system.power_cov_range: found [0.1, 0.5]; the times and",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_reported_where_it_is(case: str) -> None:
    text, change, line = BAD[case]
    found = lines(change(text))
    assert any(problem.startswith(f"study.toml: {line}" if line else "x.npz") for problem in found), found


def write_tables(folder: Path) -> None:
    (folder / "etc.csv").write_text("task_type,a,b\nx,10,20\ny,30,10\n")
    (folder / "power.csv").write_text("task_type,a,b\nx,100,40\ny,90,50\n")
    (folder / "tasks.csv").write_text("arrival_s,task_type,max_utility\n0,x,5\n1,y,4\n")


def test_every_objective_is_explained() -> None:
    assert tuple(OBJECTIVES) == get_args(StochasticObjective)


def test_known_tasks_may_come_from_a_table_without_a_window(tmp_path: Path) -> None:
    write_tables(tmp_path)
    bag_study(TABLES, folder=tmp_path)
    for more, line in (('end = "1 h"', "workload: found the counted window"), ("time_spread = 0.5", "workload.time_")):
        (found,) = lines(TABLES.replace("[optimise]", more + "\n[optimise]"), tmp_path)
        assert found.startswith(f"study.toml: {line}")


def test_a_task_that_nobody_runs_is_refused(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,10,20\ny,,10\n")
    (tmp_path / "power.csv").write_text("task_type,a,b\nx,100,40\ny,,50\n")
    (found,) = lines(TABLES.replace("[workload]", "counts = [1, 0]\n[workload]"), tmp_path)
    assert found.startswith("study.toml: system.etc_s: y: no machine can run")


def test_systems_of_uncertain_times_differ_from_trial_to_trial(tmp_path: Path) -> None:
    write_tables(tmp_path)
    text = "trials = 2\n" + TABLES
    assert len({run.world_key for run in plan(bag_study(text, folder=tmp_path))}) == 1
    assert len({run.world_key for run in plan(bag_study(uncertain(text), folder=tmp_path))}) == 2

"""Study files: what is read, and every problem of a bad one at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.policies.tasks.policy import Policy
from joulewise.study import parse_study, read_study
from joulewise.study.spec import parameters
from joulewise.study.tasks import day
from joulewise.study.tasks.sources import policy_of
from tests.strategies import small_bags, small_facility, small_jobs
from tests.strategies.small import HEADING, HEURISTIC, MANAGER, SYSTEM, TEXT, WORKLOAD, small

WORLD = HEADING + SYSTEM + WORKLOAD


def lines(text: str, folder: Path = Path()) -> list[str]:
    """What is said of a bad study."""
    with pytest.raises(InputError) as caught:
        parse_study(text, "study.toml", folder, check_inputs=True)
    return [str(problem) for problem in caught.value.problems]


def test_a_sound_file_gives_resolved_points_in_a_fixed_order() -> None:
    study = small()
    assert (study.name, study.heading.trials, study.heading.seed, study.heading.keep) == ("small", 2, 0, "first")
    managers = [(p.decision.parameters.policy, p.decision.parameters.dropping_threshold) for p in study.points]
    assert managers == [("random", 0), ("random", 0.5), ("max-max-upt", 0), ("max-max-upt", 0.5)]
    assert study.points[0].workload.parameters.warm_up_s == 600
    assert study.points[0].decision.parameters.mapping_interval_s == 60
    assert study.axes == ("manager.policy", "manager.dropping_threshold")


BAD: dict[str, tuple[Callable[[str], str], str]] = {
    "unknown key at the top": (
        lambda text: "trils = 3\n" + text,
        "study.toml: trils: there is no such key; must be one of name, description, seed, trials, samples, keep, "
        "bound, system, workload, supply, manager, scheduler, optimise, variant, tune, report; did you mean 'trials'?",
    ),
    "unknown section": (lambda text: text + "[managr]\nx = 1", "study.toml: managr: there is no such key"),
    "unknown key in a section": (
        lambda text: text.replace("tasks_per_day", "task_per_day"),
        "study.toml: workload.task_per_day: there is no such key",
    ),
    "unknown generator": (
        lambda text: text.replace('"oversubscribed"', '"oversubscribd"'),
        "study.toml: system.generator: found 'oversubscribd'; must be one of oversubscribed, nine-machines, "
        "cov, gpus; did you mean 'oversubscribed'?",
    ),
    "unknown policy": (
        lambda text: text.replace('"random"', '"randm"'),
        "study.toml: manager.policy: found 'randm'",
    ),
    "missing section": (
        lambda text: text.replace(WORKLOAD, ""),
        "study.toml: workload: says nothing of where its values come from; must have generator or tasks",
    ),
    "missing policy": (
        lambda text: text.replace('policy = ["random", "max-max-upt"]', ""),
        "study.toml: manager.policy: missing; must be given: text",
    ),
    "missing name": (lambda text: text.replace('name = "small"', ""), "study.toml: name: missing"),
    "name that is no folder": (
        lambda text: text.replace('"small"', '"../small"'),
        "study.toml: name: found '../small'; must start with a letter or digit",
    ),
    "quantity without unit": (
        lambda text: text.replace('"10 min"', "600"),
        'study.toml: workload.warm_up: found 600 without a unit; must be a duration in quotes, for example "10 min"',
    ),
    "wrong unit": (
        lambda text: text.replace('"10 min"', '"10 kW"'),
        "study.toml: workload.warm_up: found the unit 'kW' in '10 kW'",
    ),
    "negative time": (
        lambda text: text.replace('"10 min"', '"-10 min"'),
        "study.toml: workload.warm_up: found '-10 min'; must be 0 s or more",
    ),
    "NaN": (
        lambda text: text.replace("[0, 0.5]", "[0, nan]"),
        "study.toml: manager.dropping_threshold[1]: found nan; must be a finite number",
    ),
    "infinite size": (
        lambda text: text.replace("= 150", "= inf"),
        "study.toml: workload.tasks_per_day: found inf; must be a finite number",
    ),
    "absurd size": (
        lambda text: text.replace("= 150", "= 1e15"),
        "study.toml: workload.tasks_per_day: found 1000000000000000.0; there may be up to 20,000,000 tasks",
    ),
    "absurd number of machines": (
        lambda text: text.replace("[2, 3]", "[2, 3000000000]"),
        "study.toml: system.general_counts: found [2, 3000000000]; there may be up to 1,000,000 machines in all",
    ),
    "absurd number of runs": (
        lambda text: text.replace("trials = 2", "trials = 100_000").replace("= 150", f"= {list(range(100, 150))}"),
        "study.toml: found 200 points and so 20,000,000 runs; a study may have 1,000,000 at most",
    ),
    "no trial": (
        lambda text: text.replace("trials = 2", "trials = 0"),
        "study.toml: trials: found 0; must be 1 or more",
    ),
    "text for a number": (
        lambda text: text.replace("trials = 2", 'trials = "2"'),
        "study.toml: trials: found '2'; must be a whole number",
    ),
    "empty sweep": (
        lambda text: text.replace("[0, 0.5]", "[]"),
        "study.toml: manager.dropping_threshold: found an empty list; a sweep needs at least one value",
    ),
    "values that do not go together": (
        lambda text: text.replace("special_task_types = 4", "special_task_types = 9"),
        "study.toml: system.special_task_types: found 9; must be from 3 to 5",
    ),
    "section that is a value": (
        lambda text: "workload = 3\n" + text.replace(WORKLOAD, ""),
        "study.toml: workload: found a value; must be a section, [workload]",
    ),
    "list of generators": (
        lambda text: text.replace('generator = "day"', 'generator = ["day"]'),
        "study.toml: workload.generator: found ['day']; must be one name",
    ),
    "variant without a name": (
        lambda text: text + "[[variant]]\nmanager.dropping_threshold = 1",
        "study.toml: variant[0].name: found None; must be a name",
    ),
    "variants of one name": (
        lambda text: text + '[[variant]]\nname = "a"\n[[variant]]\nname = "a"',
        "study.toml: variant[1].name: found 'a' twice; names must differ",
    ),
    "variant with a bad value": (
        lambda text: text + '[[variant]]\nname = "a"\nmanager.dropping_threshold = -1',
        "study.toml: variant 'a': manager.dropping_threshold: found -1; must be 0 or more",
    ),
    "variants that are no list": (lambda text: "variant = 3\n" + text, "study.toml: variant: found no list of tables"),
    "no variant in the list": (lambda text: "variant = []\n" + text, "study.toml: variant: found no list of tables"),
    "absurd sweeps in two sections": (
        lambda text: text.replace("= 150", f"= {list(range(1, 3000))}").replace(
            "task_types = 12", f"task_types = {list(range(12, 3000))}"
        ),
        "study.toml: found 35,844,048 points and so 71,688,096 runs; a study may have 1,000,000 at most",
    ),
    "budget of zero": (
        lambda text: text + '[supply]\nbudget = "0 J"',
        "study.toml: supply.budget: found '0 J'; must be above 0 J",
    ),
    "budget that no task fits into": (
        lambda text: text + '[supply]\nbudget = ["1 GJ", "1 J"]',
        "study.toml: supply.budget: found 1 J; must be ",
    ),
    "cap that no task fits under": (
        lambda text: text + '[supply]\npower_cap = "1 W"',
        "study.toml: supply.power_cap: found 1 W at most; must be ",
    ),
    "two budgets": (
        lambda text: text + '[supply]\nbudget = "1 GJ"\nbudget_total = "1 GJ"',
        "study.toml: supply.budget_total: found budget as well; must be exactly one of the two",
    ),
    "tariff that is not there": (
        lambda text: text + '[supply]\ntariff = "prices.csv"',
        "prices.csv: ",
    ),
    "section with a generator that has none": (
        lambda text: text + '[supply]\ngenerator = "grid"',
        "study.toml: supply.generator: there is no such key",
    ),
    "leniency out of range": (
        lambda text: text + "leniency = [1.5, 0]",
        "study.toml: manager.leniency[1]: found 0; must be above 0",
    ),
    "weight out of range": (
        lambda text: text + "weight = 1.5",
        "study.toml: manager.weight: found 1.5; must be 1 or less",
    ),
    "threshold of a class out of range": (
        lambda text: text + "class_thresholds = [{special = 0.5}, {special = -1}]",
        "study.toml: manager.class_thresholds[1].special: found -1; must be 0 or more",
    ),
    "thresholds that are no table": (
        lambda text: text + "class_thresholds = 3",
        "study.toml: manager.class_thresholds: found 3; must be a table, for example {special = 0.5}",
    ),
    "mapping model of two numbers": (
        lambda text: text + "mapping_model = [1.0, 2.0]",
        "study.toml: manager.mapping_model[2]: missing",
    ),
    "unknown filter": (
        lambda text: text + 'energy_filter = "adaptve"',
        "study.toml: manager.energy_filter: found 'adaptve'; must be one of none, fair-share, adaptive; did you mean",
    ),
    "switch that a policy has no use for": (
        lambda text: text + 'environment = "polled"',
        "study.toml: manager: found environment with the policy random; immediate mode takes none of these",
    ),
    "policy that knows no budget": (
        lambda text: text + '[supply]\nbudget = "1 GJ"\npower_cap = "1 MW"',
        "study.toml: manager.policy: found 'random' in a world with a budget and a power cap; policies of immediate",
    ),
    "policy that knows no rises": (
        lambda text: text.replace('"random"', '"sufferage"').replace("= 150", "= 150\nrising_share = 0.5"),
        "study.toml: manager.policy: found 'sufferage' where utilities rise first; bounds what a task suffers by",
    ),
    "rises that are prorated": (
        lambda text: text.replace("= 150", "= 150\nrising_share = 0.5\nprorated = true"),
        "study.toml: workload.rising_share: found 0.5; must be 0 where runs are prorated",
    ),
    "filter without a budget": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"') + 'energy_filter = "adaptive"',
        "study.toml: manager.energy_filter: found 'adaptive' without a budget; shares out a budget; give supply.budget",
    ),
    "leniency without a fair share": (
        lambda text: text + "leniency = [1.0, 1.5]",
        "study.toml: manager.leniency: found 1.5; multiplies a fair share, and nothing is filtered so; set",
    ),
    "weight without a weighted policy": (
        lambda text: text + "weight = 0.25",
        "study.toml: manager.weight: found 0.25; is for weighted policies, and there is none; use one such as",
    ),
    "tariff to follow that is not there": (
        lambda text: text.replace('["random", "max-max-upt"]', '"weighted-util"') + "follows_tariff = true",
        "study.toml: manager.follows_tariff: found true; needs a tariff, and a policy with weights or prices",
    ),
    "mapping model that nobody asks": (
        lambda text: text + "mapping_model = [1.0, 0.0, 0.0]",
        "study.toml: manager.mapping_model: found [1.0, 0.0, 0.0]; is the time that mapping takes when it is given",
    ),
    "given mapping time of nothing": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"') + 'mapping_time = "given"',
        "study.toml: manager.mapping_time: found 'given'; needs a time above 0; give mapping_model, or leave it out",
    ),
    "kill factor that kills everybody": (
        lambda text: text + "kill_factor = 0.5",
        "study.toml: manager.kill_factor: found 0.5; must be 1 or more",
    ),
    "kill factor that kills nobody": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"') + "kill_factor = 2",
        "study.toml: manager.kill_factor: found 2; kills tasks that run longer than estimated, but all run exactly "
        "as estimated",
    ),
    "idle machines that nobody is dropped by": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"').replace("[0, 0.5]", "0")
        + 'environment = "polled"\ndropping_by = "idle"',
        "study.toml: manager.dropping_by: found 'idle'; says which are dropped, but the threshold is 0",
    ),
    "idle machines where there are queues": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"') + 'dropping_by = "idle"',
        "study.toml: manager.dropping_by: found 'idle'; must be \"all\" where machines have queues",
    ),
    "postponing without days": (
        lambda text: text.replace('["random", "max-max-upt"]', '"max-max-upt"') + 'postponing = "next-day"',
        "study.toml: manager.postponing: found 'next-day'; needs a budget, and neither a power cap nor failures",
    ),
    "threshold of a class that is not there": (
        lambda text: text + "class_thresholds = {special = 0.5, critcal = 1}",
        "study.toml: manager.class_thresholds: found 'critcal'; must be one of special, general, critical, high,",
    ),
    "cap in an uncertain world": (
        lambda text: text.replace("[workload]", "[workload]\ntime_spread = 0.5") + '[supply]\npower_cap = "1 MW"',
        "study.toml: supply.power_cap: found a power cap in a world with uncertain times; a cap is kept by planned",
    ),
    "failures that leave no machine": (
        lambda text: text.replace("[workload]", 'mtbf = "1 min"\nmttr = "1 d"\n[workload]'),
        "study.toml: system.mttr: found 1 d: machines would work 0.069 % of the time",
    ),
    "failures without repairs": (
        lambda text: text.replace("[workload]", 'mtbf = "1 d"\n[workload]'),
        "study.toml: system.mttr: missing; mtbf and mttr go together",
    ),
    "TOML that is none": (
        lambda text: text.replace('"small"', "small"),
        "study.toml: not valid TOML: Invalid value (at line 2, column 8)",
    ),
    "key given twice": (
        lambda text: text.replace("trials = 2", "trials = 2\ntrials = 3"),
        "study.toml: not valid TOML: Cannot overwrite a value (at line 4, column 11)",
    ),
    "file without an ending we read": (
        lambda text: text.replace(SYSTEM, '[system]\netc_s = "etc.xlsx"\n'),
        "etc.xlsx: found the ending '.xlsx'; must be one of .csv, .parquet",
    ),
    "heuristic file that is not there": (
        lambda text: text.replace('"random"', '"mine.py:best"'),
        "study.toml: manager.policy: found no file mine.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_one_problem_is_reported_where_it_is(case: str) -> None:
    change, line = BAD[case]
    assert any(found.startswith(line) for found in lines(change(TEXT))), lines(change(TEXT))


def test_all_problems_are_reported_together() -> None:
    text = TEXT
    for old, new in (("trials = 2", "trils = 2"), ('"10 min"', "600"), ("= 150", "= -1"), ('"random"', '"randm"'),
                     ("[0, 0.5]", "[0, -1]"), ('"oversubscribed"', '"x"')):  # fmt: skip
        text = text.replace(old, new)
    places = [line.split(": ")[1] for line in lines(text)]
    assert places == [
        "trils", "system.generator", "workload.warm_up", "workload.tasks_per_day",
        "manager.dropping_threshold[1]", "manager.policy",
    ]  # fmt: skip


def test_files_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    for name, found in (("none.toml", "No such file"), ("latin.toml", "byte 11 is not UTF-8 text"), (".", "directory")):
        with pytest.raises(InputError, match=found):
            read_study(tmp_path / name)


# --- tables ---------------------------------------------------------------------------------------------

TABLES = HEADING + """
[system]
etc_s = "etc.csv"
machines = "machines.csv"
[workload]
tasks = "tasks.csv"
start = "1 min"
""" + MANAGER  # fmt: skip
BATCH_TABLES = TABLES.replace('["random", "max-max-upt"]', '"max-max-upt"')


def write_tables(folder: Path, **changed: str) -> None:
    tables = {
        "etc": "task_type,small,large\nrender,60,30\nindex,120,\n",
        "machines": "machine_type,count\nsmall,2\nlarge,1\n",
        "tasks": "arrival_s,task_type,utility,duration_s\n0,render,linear,600\n30,index,linear,600\n90,render,,\n",
    }
    for name, text in (tables | changed).items():
        (folder / f"{name}.csv").write_text(text)


def test_tables_make_a_world_that_no_trial_changes(tmp_path: Path) -> None:
    from joulewise.study import plan

    write_tables(tmp_path)
    runs = plan(parse_study(TABLES, "study.toml", tmp_path, check_inputs=True))
    assert len({run.world_key for run in runs}) == 1
    assert len({run.key for run in runs}) == len(runs) == 6
    n_trials = Counter(run.point.decision.parameters.policy for run in runs)
    assert n_trials == {"random": 4, "max-max-upt": 2}  # where nothing is random, one trial says it all


def test_a_switch_that_some_points_use_is_not_refused() -> None:
    policies = '["max-max-upt", "weighted-util"]'
    text = TEXT.replace('["random", "max-max-upt"]', policies) + "weight = [0.25, 0.75]\nleniency = 1.5\n"
    text += 'energy_filter = ["none", "fair-share"]\n[supply]\nbudget = "1 GJ"\n'
    parse_study(text, "study.toml", Path(), check_inputs=True)


def test_what_only_the_tables_tell_is_told_before_a_run(tmp_path: Path) -> None:
    powers = 'power_w = "power.csv"\n[workload]'
    write_tables(tmp_path, power="task_type,small,large\nrender,10,20\nindex,10,\n")
    budget = '[supply]\nbudget = "1 GJ"\n'
    (line,) = lines(BATCH_TABLES.replace("[workload]", powers) + budget, tmp_path)
    assert line.startswith("study.toml: workload: found a counted window without an end; must end where a budget")
    (line,) = lines(BATCH_TABLES + "class_thresholds = {critical = 1}\n", tmp_path)
    assert line.startswith("study.toml: manager.class_thresholds: found 'critical'; must be one of ")
    (line,) = lines(BATCH_TABLES.replace("max-max-upt", "max-max-upe"), tmp_path)
    assert line.startswith("study.toml: manager.policy: the policy max-max-upe looks at energy, but the system has no")


def test_limits_need_powers(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (line,) = lines(BATCH_TABLES + '[supply]\nbudget = "1 GJ"\n', tmp_path)
    assert line.startswith("study.toml: supply: limits energy, but the system has no power figures")


def test_failures_of_tables_need_an_end_and_make_trials_differ(tmp_path: Path) -> None:
    from joulewise.study import plan

    write_tables(tmp_path)
    text = BATCH_TABLES.replace("[workload]", 'mtbf = "1 d"\nmttr = "1 h"\n[workload]')
    assert "found failures, but the workload has no end" in lines(text, tmp_path)[0]
    text = text.replace('start = "1 min"', 'start = "1 min"\nend = "1 h"')
    assert len({run.world_key for run in plan(parse_study(text, "study.toml", tmp_path, check_inputs=True))}) == 2


def test_a_spread_of_times_makes_trials_differ(tmp_path: Path) -> None:
    from joulewise.study import plan

    write_tables(tmp_path)
    text = BATCH_TABLES.replace("[workload]", "[workload]\ntime_spread = 0.5")
    runs = plan(parse_study(text, "study.toml", tmp_path, check_inputs=True))
    assert len({run.world_key for run in runs}) == 2


BAD_TABLES = {
    "task type that no machine can run": ({"etc": "task_type,small,large\nrender,60,30\nindex,,inf\n"}, "index"),
    "negative time": ({"etc": "task_type,small,large\nrender,-60,30\nindex,120,\n"}, "etc.csv: line 2, small"),
    "NaN time": ({"etc": "task_type,small,large\nrender,nan,30\nindex,120,\n"}, "etc.csv: line 2, small"),
    "duplicate task types": ({"etc": "task_type,small,large\nindex,60,30\nindex,120,\n"}, "index"),
    "duplicate machine types": ({"etc": "task_type,small,small\nrender,60,30\nindex,120,\n"}, "small"),
    "mismatched shapes": ({"machines": "machine_type,count\nsmall,2\nhuge,1\n"}, "huge"),
    "truncated file": ({"etc": "task_type,small,large\nrender,60,30\nindex,12"}, "line 3"),
    "empty file": ({"tasks": ""}, "tasks.csv"),
    "empty workload": ({"tasks": "arrival_s,task_type\n"}, "tasks.csv"),
    "unsorted arrivals": ({"tasks": "arrival_s,task_type\n50,render\n20,index\n"}, "tasks.csv"),
    "missing arrival": ({"tasks": "arrival_s,task_type\n,render\n20,index\n"}, "tasks.csv: line 2, arrival_s"),
    "missing column": ({"tasks": "arrival_s\n20\n"}, "tasks.csv"),
    "unknown task type": ({"tasks": "arrival_s,task_type\n20,rendr\n"}, "did you mean 'render'?"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_is_reported(case: str, tmp_path: Path) -> None:
    changed, words = BAD_TABLES[case]
    write_tables(tmp_path, **changed)
    assert any(words in line for line in lines(TABLES, tmp_path)), lines(TABLES, tmp_path)


def test_problems_of_tables_and_of_the_study_are_reported_together(tmp_path: Path) -> None:
    write_tables(tmp_path, tasks="arrival_s,task_type\n20,rendr\n")
    found = "\n".join(lines(TABLES.replace("trials = 2", "trials = -2").replace('"random"', '"randm"'), tmp_path))
    assert all(words in found for words in ("trials", "randm", "rendr"))


def test_parquet_tables_are_read_as_well_and_damaged_ones_reported(tmp_path: Path) -> None:
    write_tables(tmp_path)
    text = TABLES.replace("tasks.csv", "tasks.parquet")
    pl.read_csv(tmp_path / "tasks.csv").write_parquet(tmp_path / "tasks.parquet")
    parse_study(text, "study.toml", tmp_path, check_inputs=True)
    whole = (tmp_path / "tasks.parquet").read_bytes()
    (tmp_path / "tasks.parquet").write_bytes(whole[: len(whole) // 2])
    assert any("tasks.parquet" in line for line in lines(text, tmp_path))


# --- heuristics of one's own ----------------------------------------------------------------------------


def test_a_heuristic_of_ones_own_is_found_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC)
    text = TEXT.replace('"random"', '"mine.py:mine"')
    parse_study(text, "study.toml", tmp_path, check_inputs=True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def mine(", "def mine(", "did you mean 'mine.py:mine'?"),
        ("return utility / exec_s", "return utility /", "could not load"),
        ("return utility / exec_s", "return [utility]", "could not be compiled"),
        ("return utility / exec_s", "return wait_s", "rises"),
        ("@joulewise", "# @joulewise", "found no policy"),
    ],
)
def test_a_bad_heuristic_is_reported(old: str, new: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEURISTIC.replace(old, new))
    spec = "mine.py:mien" if old == new else "mine.py:mine"
    assert any(words in line for line in lines(TEXT.replace("random", spec), tmp_path))


SITE = small_facility.TABLED.replace('"speeds.csv"', '"speeds.csv"\nslowdowns = "slow.csv"')
SITE_FILES = {
    "types": "type,cores,pstates,overhead_w,core_w\nA,2,2,20,10\nB,2,1,20,10\n",
    "nodes": "node,type\nn1,A\nn2,B\n",
    "cracs": "crac,coldest_c\nc1,10\n",
    "heat": "taker,n1,n2,c1\nn1,0.1,0.1,0.8\nn2,0.1,0.1,0.8\nc1,0.4,0.4,0.2\n",
    "tasks": "task_type,rate_per_s,class\nx,1,light\ny,1,light\n",
    "speeds": "task_type,node_type,pstate,speed_per_s,power_w\nx,A,0,2,9\nx,A,1,1,5\ny,A,0,2,9\ny,A,1,1,5\n"
    "x,B,0,2,9\ny,B,0,2,9\n",
    "slow": "class,light\nlight,0.1\n",
}
CLUSTER_FILES = {
    "clusters": "cluster,nodes\nc,4\n",
    "times": "job_type,cluster,nodes,time_s\na,c,2,60\n",
    "jobs": "arrival_s,job_type,utility\n0,a,constant\n",
}
BAG_FILES = {
    "etc": "task_type,m\nx,60\n",
    "power": "task_type,m\nx,100\n",
    "machines": "machine_type,count\nm,2\n",
    "bag": "task_type,count\nx,3\n",
}


def write_files(folder: Path, files: dict[str, str], **changes: str) -> None:
    for name, text in {**files, **changes}.items():
        (folder / f"{name}.csv").write_text(text)


@pytest.mark.parametrize(
    ("text", "files", "changes"),
    [
        (SITE, SITE_FILES, {
            "types": "type,cores,pstates,overhead_w\nA,2.5,2,20\n", "nodes": "node,type,redline_c\nn1,A,hot\n",
            "cracs": "crac,coldest_c\nc1,cold\n", "heat": "", "tasks": "task_type,rate_per_s\nx,-1\n",
            "speeds": "task_type,node_type,speed_per_s,power_w\nx,A,fast,9\n", "slow": "",
        }),
        (small_jobs.TABLED, CLUSTER_FILES, {
            "clusters": "cluster,nodes\nc,0\n", "times": "job_type,cluster,nodes,time_s\na,c,2,-60\n",
            "jobs": "arrival_s,job_type,utility\n-5,a,constant\n",
        }),
        (small_bags.FRONT.replace(small_bags.WORLD, small_bags.TABLED), BAG_FILES, {
            "etc": "", "power": "task_type,m\nx,-1\n",
            "machines": "machine_type,count\nm,2.5\n", "bag": "task_type,count\nx,-3\n",
        }),
    ],
    ids=["facility", "clusters", "bag"],
)  # fmt: skip
def test_the_problems_of_all_files_are_told_at_once(
    text: str, files: dict[str, str], changes: dict[str, str], tmp_path: Path
) -> None:
    write_files(tmp_path, files)
    assert parse_study(text, "study.toml", tmp_path, check_inputs=True).points
    write_files(tmp_path, files, **changes)
    told = lines(text, tmp_path)
    assert {f"{name}.csv" for name in changes} == {line.partition(":")[0] for line in told}


def test_the_problems_of_a_system_and_of_its_tasks_are_told_at_once(tmp_path: Path) -> None:
    write_tables(tmp_path, etc="task_type,small,large\nrender,-60,30\n", tasks="arrival_s,task_type\nsoon,render\n")
    assert [line.partition(":")[0] for line in lines(TABLES, tmp_path)] == ["etc.csv", "tasks.csv"]


def test_a_row_of_speeds_that_is_lost_is_told(tmp_path: Path) -> None:
    write_files(tmp_path, SITE_FILES, speeds=SITE_FILES["speeds"].replace("x,A,1,1,5\n", ""))
    allowed = "a task type needs a row for each P-state of a node type, or none where it cannot run"
    assert lines(SITE, tmp_path) == [f"speeds.csv: has no row for 'x' on 'A' in P-state 1; {allowed}"]
    write_files(tmp_path, SITE_FILES, speeds=SITE_FILES["speeds"].replace("x,A,0,2,9\nx,A,1,1,5\n", ""))
    study = parse_study(SITE, "study.toml", tmp_path, check_inputs=True)
    assert [warning.found for warning in study.warnings] == ["'x' has no speed on 'A', and never runs there"]


def test_swept_values_are_read_once_each_whatever_their_product(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Mapping[str, Any]] = []
    values_of = parameters.values_of

    def noted(owner: type, raw: Mapping[str, Any]) -> dict[str, Any]:
        read.append(raw)
        return values_of(owner, raw)

    monkeypatch.setattr(parameters, "values_of", noted)
    manager = f"dropping_threshold = {[i / 10 for i in range(30)]}\nweight = {[i / 40 for i in range(40)]}"
    study = parse_study(f"{WORLD}[manager]\npolicy = 'weighted-util'\n{manager}\n", "study.toml", Path())
    assert len({point.decision for point in study.points}) == len(study.points) == 1200
    assert len(read) < 200


def test_a_policy_is_looked_for_once_whatever_the_number_of_points(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[str] = []

    def noted(spec: str, folder: Path) -> Policy:
        sought.append(spec)
        return policy_of(spec, folder)

    monkeypatch.setattr(day, "policy_of", noted)
    manager = f"policy = ['max-max-upt', 'max-max-tpu']\ndropping_threshold = {[i / 10 for i in range(30)]}"
    with pytest.raises(InputError) as error:
        parse_study(f"{WORLD}[manager]\n{manager}\n", "study.toml", Path(), check_inputs=True)
    assert [problem.where for problem in error.value.problems] == ["study.toml: manager.policy"]
    assert sought == ["max-max-upt", "max-max-tpu"]


def test_points_that_are_written_twice_are_one() -> None:
    study = parse_study(f"{WORLD}[manager]\npolicy = ['random', 'random', 'max-util']\n", "study.toml", Path())
    assert [point.decision.parameters.policy for point in study.points] == ["random", "max-util"]

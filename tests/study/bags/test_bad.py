"""Mistakes in studies of bags are told where they are, all at once, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from joulewise.errors import InputError
from tests.strategies.small import MANAGER
from tests.strategies.small_bags import FRONT, PRICING, PROFIT, TABLED, WORLD, Change, bag_study

OTHER = '{goal = "profit", price = 1, cost_per_kwh = 1}'


def lines(text: str, folder: Path = Path()) -> list[str]:
    with pytest.raises(InputError) as caught:
        bag_study(text, folder=folder)
    return str(caught.value).splitlines()


def put(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new)


BAD: dict[str, tuple[str, Change, str]] = {
    "both sections": (FRONT, lambda t: t + MANAGER, "found [manager] and [optimise]; a study has one"),
    "no goal": (FRONT, put('goal = "front"', ""), "optimise: says nothing of where"),
    "unknown goal": (FRONT, put('"front"\nn_', '"fornt"\nn_'), "optimise.goal: found 'fornt'"),
    "unknown method": (FRONT, lambda t: t + 'method = "lpp"', "optimise.method: found 'lpp'"),
    "key of another goal": (FRONT, lambda t: t + "price = 1", "optimise.price: there is no such key"),
    "a sweep of a key of another goal": (
        FRONT, lambda t: t + "price = [1, 2]", "optimise.price: there is no such key; must be one of",
    ),
    "tasks that arrive": (
        FRONT, put('generator = "bag"\nn_tasks = 80', 'tasks = "tasks.csv"'),
        "workload.tasks: found 'tasks.csv'; is for studies with [manager] or [optimise] and goal = \"utility\"",
    ),
    "a bag with a manager": (
        WORLD.join(["name = 'a'", MANAGER]), put('generator = "bag"\nn_tasks = 80', 'bag = "bag.csv"'),
        "workload.bag: found 'bag.csv'; is for studies with [optimise] and goal = \"front\" or \"profit\"; here, give",
    ),
    "keys of another method": (
        FRONT, lambda t: t + "moves = 5", "optimise.moves: found 5 with method 'lp'; is for 'annealing'",
    ),
    "exchanges on one island": (
        FRONT, lambda t: t.replace("n_points = 10\n", "") + 'method = "nsga2"\nexchange_every = 7',
        "optimise.exchange_every: found 7; is for two islands or more",
    ),
    "islands on a GPU": (
        FRONT, lambda t: t.replace("n_points = 10\n", "") + 'method = "nsga2"\nislands = 2\nengine = "gpu"',
        "optimise.engine: found 'gpu'; ",
    ),
    "points of a genetic search": (
        FRONT, lambda t: t + 'method = "nsga2"', "optimise.n_points: found 10 with method 'nsga2'; is for 'lp' and",
    ),
    "a day": (FRONT, put('"bag"', '"day"'), "workload.generator: found 'day'"),
    "two kinds": (
        FRONT, lambda t: t + f"[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\noptimise = {OTHER}",
        "optimise: found variants of the kinds front and profit",
    ),
    "no tasks": (FRONT, put("= 80", "= 0"), "workload.n_tasks: found 0"),
    "too many tasks": (FRONT, put("= 80", f"= {2**53}"), "workload.n_tasks: found 9007199254740992"),
    "tasks beyond 64 bits": (FRONT, put("= 80", f"= {2**70}"), "workload.n_tasks"),
    "no machines": (FRONT, put("machines = 6", "machines = 0"), "system.machines: found 0"),
    "failures": (
        FRONT, put("idle_percent", 'mtbf = "1 h"\nmttr = "1 min"\nidle_percent'),
        "system.mtbf: found machines that fail",
    ),
    "a budget": (FRONT, lambda t: t + '[supply]\nbudget = "1 GJ"', "supply.budget: found 1 GJ; this goal uses nothing"),
    "a cap on a front": (FRONT, lambda t: t + '[supply]\npower_cap = "1 kW"', "supply.power_cap: found 1 kW; this"),
    "a budget for profit": (PROFIT, lambda t: t + '[supply]\nbudget = "1 GJ"', "supply.budget: found"),
    "odd population": (FRONT, lambda t: t + "population = 11", "optimise.population: found 11"),
    "late snapshot": (FRONT, lambda t: t + "snapshots = [2000]", "optimise.snapshots: found 2000"),
    "too many tasks for genes": (
        FRONT, lambda t: t.replace("= 80", "= 1_000_000_000") + 'method = "nsga2"', "workload: found 1,000,000",
    ),
    "zero price": (PROFIT, put("profit_ratio = [0.8, 1.2]", "price = 0"), "optimise.price: found 0"),
    "negative ratio": (PROFIT, put("[0.8,", "[-0.8,"), "optimise.profit_ratio[0]: found -0.8"),
    "price and ratio": (PROFIT, lambda t: t + "price = 1", "optimise.price: found profit_ratio as well"),
    "no price": (PROFIT, put("profit_ratio = [0.8, 1.2]", ""), "optimise.price: found neither"),
    "zero cost": (PROFIT, put("= 0.1", "= 0"), "optimise.cost_per_kwh: found 0"),
    "no cost": (PROFIT, put("cost_per_kwh = 0.1", ""), "optimise.cost_per_kwh: found neither it nor"),
    "wear of nothing": (
        PROFIT, lambda t: t + "wear_per_hour = {quantum = 1}", "optimise.wear_per_hour: found 'quantum'",
    ),
    "a fixed price of nothing": (
        PRICING, put("profit_ratio = 2", ""), 'optimise.profit_ratio: found none; must be given with method = "fixed"',
    ),
    "a ratio that no price uses": (
        PRICING, put('"fixed", ', ""), "optimise.profit_ratio: found 2 with method 'alone'; is for 'fixed'",
    ),
    "sales without costs": (PRICING, put("cost_per_kwh = 0.1", ""), "optimise.cost_per_kwh: found neither it nor"),
    "a cap on sales": (PRICING, lambda t: t + '[supply]\npower_cap = "1 kW"', "supply.power_cap: found 1 kW; of"),
    "unknown prices": (PRICING, put('"alone"', '"auction"'), "optimise.method[1]: found 'auction'"),
    "a bag without customers": (PRICING, put('"customers"', '"bag"'), "workload.generator: found 'bag'"),
    "no patience": (PRICING, put('"6 h"', '"0 s"'), "workload.patience: found"),
    "values of no law": (PRICING, put("days = 1", 'days = 1\nvalues = "normal"'), "workload.values: found 'normal'"),
    "too many customers": (PRICING, put("= 20\n", "= 1e9\n"), "workload.customers_per_day: found"),
    "cap below idle power": (
        PROFIT, lambda t: t + '[supply]\npower_cap = "10 W"', "supply.power_cap: found 10 W, and idle machines",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_reported_where_it_is(case: str) -> None:
    text, change, line = BAD[case]
    assert any(found.startswith(f"study.toml: {line}") for found in lines(change(text))), lines(change(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("profit_ratio = [0.8, 1.2]", "price = 0"),
        ("[0.8, 1.2]", "-1"),
        ("[0.8, 1.2]", "[1, nan]"),
        ("cost_per_kwh = 0.1", "cost_per_kwh = -3"),
    ],
)
def test_what_is_wrong_is_not_missed_as_well(old: str, new: str) -> None:
    assert len(lines(PROFIT.replace(old, new))) == 1


def test_a_key_that_some_method_uses_is_no_mistake() -> None:
    bag_study(FRONT + 'method = ["lp", "annealing"]\nmoves = 5\n')


def test_a_cap_below_idle_power_says_by_how_much() -> None:
    (line,) = lines(PROFIT.replace("[0.8, 1.2]", "1") + '[supply]\npower_cap = "10 W"')
    assert "W higher" in line


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("etc.csv", "task_type,a,b\nx,1,2\ny,,\n", "y: no machine can run this task type"),
        ("etc.csv", "task_type,a,b\nx,1,nan\ny,1,1\n", "etc.csv"),
        ("power.csv", "task_type,a,b\nx,1,nan\ny,1,1\n", "power.csv"),
        ("power.csv", "task_type,a,b\nx,1,\ny,1,1\n", "power.csv: line 2, b: found nothing"),
        ("machines.csv", "machine_type,count\na,0\nb,0\n", "machines.csv: count: found no machines"),
        ("bag.csv", "task_type,count\nx,1\nz,1\n", "bag.csv: line 3, task_type: found 'z'"),
        ("bag.csv", f"task_type,count\nx,{2**53}\n", "bag.csv: line 2, count"),
        ("bag.csv", "task_type,count\nx,nan\n", "bag.csv: line 2, count"),
        ("bag.csv", "task_type,count\nx,0\n", "workload: found 0 tasks in all"),
    ],
)
def test_a_mistake_in_a_table_is_reported(name: str, content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,1,2\ny,3,1\n")
    (tmp_path / "power.csv").write_text("task_type,a,b\nx,100,40\ny,90,50\n")
    (tmp_path / "bag.csv").write_text("task_type,count\nx,30\ny,50\n")
    (tmp_path / "machines.csv").write_text("machine_type,count\na,2\nb,3\n")
    bag_study(FRONT.replace(WORLD, TABLED), folder=tmp_path)
    (tmp_path / name).write_text(content)
    found = lines(FRONT.replace(WORLD, TABLED), tmp_path)
    assert any(words in line for line in found), found


def test_a_system_without_power_figures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,1,2\ny,3,1\n")
    (tmp_path / "bag.csv").write_text("task_type,count\nx,30\ny,50\n")
    text = FRONT.replace(WORLD, TABLED).replace('power_w = "power.csv"\nmachines = "machines.csv"\n', "")
    assert lines(text, tmp_path) == ["study.toml: system.power_w: found none; a bag needs the power of every choice"]


def test_machines_that_are_all_alike_are_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,2,2\ny,2,2\n")
    (tmp_path / "power.csv").write_text("task_type,a,b\nx,50,50\ny,50,50\n")
    (tmp_path / "bag.csv").write_text("task_type,count\nx,30\ny,50\n")
    bag_study(FRONT.replace(WORLD, TABLED.replace('machines = "machines.csv"\n', "")), folder=tmp_path)

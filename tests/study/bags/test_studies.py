"""Studies of bags end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.study import Results, open_results, parse_study, plan, run_study, verify
from joulewise.study.bags import tables as bag_tables
from joulewise.study.bags.front import FrontKind
from joulewise.study.kinds.case import Case
from joulewise.study.parsing.schema import study_keys
from joulewise.study.spec.column import COUNTS, FRONTS, MACHINES, RUNS, SALES
from joulewise.study.spec.source import Draw
from joulewise.study.spec.trials import STAGE
from joulewise.study.store.store import Store
from tests.strategies.proofs import alter_proofs
from tests.strategies.small import lasting
from tests.strategies.small_bags import EVERY_METHOD, FRONT, PRICING, PROFIT, WORLD, bag_study, run_bags


@pytest.fixture(scope="module")
def fronts(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_bags(FRONT, tmp_path_factory.mktemp("fronts"), lambda text: text + EVERY_METHOD)


@pytest.fixture(scope="module")
def profits(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_bags(PROFIT, tmp_path_factory.mktemp("profits"))


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_bags(PRICING, tmp_path_factory.mktemp("prices"))


@pytest.fixture(params=["fronts", "profits", "prices"])
def results(request: pytest.FixtureRequest) -> Results:
    found: Results = request.getfixturevalue(request.param)
    return found


def test_every_run_is_done_and_holds(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    verdicts = verify(results.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (results.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(results: Results) -> None:
    kind = results.study.kind
    store, run = Store(results.folder), results.runs["run"][-2]
    for table in kind.tables:
        wanted = [column.name for column in kind.columns if column.table == table]
        assert store.read_table(store.detail_file(table, run)).columns == wanted
    wanted = [column.name for column in kind.all_columns() if column.table == RUNS]
    written = [name for name in results.runs.columns if "." not in name]
    assert {next((w for w in wanted if fnmatchcase(name, w)), name) for name in written} == set(wanted) - {STAGE}
    assert {name for name in results.runs.columns if "." in name.partition(":")[0]} <= {
        key.column for key in study_keys()
    }


def test_nothing_beats_its_bound(fronts: Results, profits: Results) -> None:
    runs = fronts.runs
    assert (runs["least_energy_j"] >= runs["energy_bound_j"] * (1 - 1e-9)).all()
    assert (runs["least_makespan_s"] >= runs["makespan_bound_s"] * (1 - 1e-9)).all()
    assert (runs["hypervolume_percent"] < 100).all()
    assert (fronts.details(FRONTS)["gap_percent"].drop_nulls() >= -1e-6).all()
    ran = profits.runs.drop_nulls("makespan_s")
    assert (ran["profit_per_s"] <= ran["profit_bound_per_s"] * (1 + 1e-9)).all()


def test_methods_share_worlds_and_annealing_is_best(fronts: Results) -> None:
    runs = fronts.runs
    assert runs.group_by("trial").agg(pl.col("world").n_unique())["world"].to_list() == [1, 1]
    by_method = {row["optimise.method"]: row["hypervolume_percent"] for row in runs.iter_rows(named=True)}
    assert by_method["annealing"] >= by_method["lp"] > by_method["nsga2"]
    assert runs["hypervolume_percent:0"].count() == runs["hypervolume_percent:5"].count() == 2
    assert fronts.compared == "optimise.method"


def test_what_came_of_an_engine_that_is_not_here_is_derived(
    fronts: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FrontKind, "hindrance", lambda *_: "what a GPU decided needs one")
    assert {verdict.problems for verdict in verify(fronts.folder)} == {()}
    shutil.copytree(fronts.folder, tmp_path, dirs_exist_ok=True)
    store, run = Store(tmp_path), fronts.runs.filter(pl.col("optimise.method") == "nsga2")["run"][0]
    runs = store.read_table(store.runs_file)
    off = pl.when(pl.col("run") == run).then(1.01).otherwise(1.0)
    store.write_table(store.runs_file, runs.with_columns(pl.col("hypervolume_percent:5") * off))
    wrong = {verdict.run: verdict.problems for verdict in verify(tmp_path) if verdict.problems}
    assert list(wrong) == [run]
    assert "hypervolume_percent:5" in wrong[run][0]


def test_islands_evolve_apart_and_exchange_as_often_as_asked(tmp_path: Path) -> None:
    search = 'method = "nsga2"\ngenerations = 9\npopulation = 6\nislands = 3\nexchange_every = [2, 100]\n'
    runs = run_bags(FRONT, tmp_path, lambda text: text.replace("n_points = 10\n", search)).runs
    assert set(runs["status"]) == {"done"}
    assert runs.filter(pl.col("trial") == 0)["hypervolume_percent"].n_unique() == 2


def test_a_front_has_its_points_its_bound_and_snapshots(fronts: Results) -> None:
    run = fronts.runs.filter(pl.col("optimise.method") == "nsga2")["run"][0]
    table = fronts.details(FRONTS).filter(pl.col("run") == run)
    assert set(table["curve"]) == {"front", "bound", "snapshot"}
    points = table.filter(pl.col("curve") == "front")
    assert points["energy_j"].is_sorted()
    assert points["makespan_s"].is_sorted(descending=True)
    assert points["is_knee"].sum() == 1
    machines = fronts.details(MACHINES).filter(pl.col("run") == run)
    assert machines.group_by("point").agg(pl.col("tasks").sum())["tasks"].unique().to_list() == [80]
    by_point = machines.group_by("point", maintain_order=True).agg(pl.col("energy_j").sum(), pl.col("busy_s").max())
    assert by_point["energy_j"].to_list() == pytest.approx(points["energy_j"].to_list())
    assert by_point["busy_s"].to_list() == pytest.approx(points["makespan_s"].to_list())


def test_a_price_below_the_costs_is_told_apart(profits: Results) -> None:
    low, high = (profits.runs.filter(pl.col("optimise.profit_ratio") == ratio) for ratio in (0.8, 1.2))
    assert set(low["verdict"]) == {"better not to run"}
    assert low["energy_j"].count() == 0
    assert set(high["verdict"]) == {"profit"}
    assert high["profit_ratio"].to_list() == pytest.approx([1.2, 1.2])
    curves = profits.details(FRONTS).group_by("run").agg(pl.col("curve").unique().sort())
    assert ["allocation", "bound", "optimum", "region"] in curves["curve"].to_list()


def test_verdicts_are_told_with_their_reasons_and_places(profits: Results) -> None:
    low = profits.runs.filter(pl.col("optimise.profit_ratio") == 0.8)
    assert all("switched off" in reason for reason in low["reason"])
    verdicts, reason, most = profits.study.kind.sentences(profits.runs, profits.study.axes)
    assert verdicts == "Verdicts: better not to run (2 of 4), profit (2 of 4)."
    assert reason.startswith("Better not to run at profit_ratio 0.8, trial 0: ")
    assert most.startswith("The most is ")
    assert "per second (at trial " in most


def test_a_front_is_told_with_its_method_and_trial(fronts: Results) -> None:
    (told,) = fronts.study.kind.sentences(fronts.runs, fronts.study.axes)
    assert told.startswith("Annealing (trial ")


@pytest.mark.parametrize(("text", "change"), [(FRONT, ""), (PROFIT, "price = 1")], ids=["front", "profit"])
def test_energy_may_be_nothing(text: str, change: str, tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,1,2\ny,3,1\n")
    (tmp_path / "power.csv").write_text("task_type,a,b\nx,0,0\ny,0,0\n")
    (tmp_path / "bag.csv").write_text("task_type,count\nx,30\ny,50\n")
    tables = '[system]\netc_s = "etc.csv"\npower_w = "power.csv"\ncounts = [2, 3]\n[workload]\nbag = "bag.csv"\n'
    text = text.replace(WORLD, tables).replace("profit_ratio = [0.8, 1.2]", change)
    results = run_study(bag_study(text, folder=tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.runs["gap_percent"].is_between(0, 30).all()


def test_bounds_that_were_removed_are_proven_again(tmp_path: Path) -> None:
    run_bags(PROFIT, tmp_path)
    for path in (tmp_path / "bounds").iterdir():
        path.unlink()
    run_bags(PROFIT, tmp_path)
    assert {verdict.problems for verdict in verify(tmp_path)} == {()}


def test_what_is_stored_is_found_again(results: Results) -> None:
    again = run_bags(FRONT if results.study.name == "front" else PROFIT, results.folder, lambda _: results.study.source)
    assert again.runs.equals(results.runs)
    assert lasting(open_results(results.folder).runs).equals(lasting(results.runs))


def test_the_market_of_a_study_is_that_of_its_sections(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("hour,price\n0,0.1\n1,0.3\n")
    more = 'deadline = "1 h"\noverhead = 0.001\nwear_per_hour = {machine-1 = 0.01}\ndepreciation_per_hour = 0.02\n'
    supply = '[supply]\npue = 1.5\npower_cap = "2 kW"\ntariff = "prices.csv"\n'
    text = PROFIT.replace("cost_per_kwh = 0.1\n", "must_run = true\n") + more + supply
    study = parse_study(text.replace("[0.8, 1.2]", "3"), "study.toml", tmp_path, check_inputs=True)
    results = run_study(study, tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.runs["mean_power_w"].max() <= 2000 * (1 + 1e-9)  # type: ignore[operator]
    assert results.runs["makespan_s"].max() <= 3600  # type: ignore[operator]
    assert results.runs["cost_per_kwh"].to_list() == pytest.approx([0.1, 0.1])  # done within the first hour
    assert {verdict.problems for verdict in verify(tmp_path / "out", files=tmp_path)} == {()}


def test_points_without_chance_are_run_once(tmp_path: Path) -> None:
    (tmp_path / "etc.csv").write_text("task_type,a,b\nx,1,2\ny,3,1\n")
    (tmp_path / "power.csv").write_text("task_type,a,b\nx,100,40\ny,90,50\n")
    (tmp_path / "bag.csv").write_text("task_type,count\nx,30\ny,50\n")
    tables = '[system]\netc_s = "etc.csv"\npower_w = "power.csv"\ncounts = [2, 3]\n[workload]\nbag = "bag.csv"\n'
    text = FRONT.replace(WORLD, tables) + 'method = ["lp", "nsga2"]\n'
    runs = plan(bag_study(text, folder=tmp_path))
    assert [(run.point.decision.parameters.method, run.trial) for run in runs] == [
        ("lp", 0),
        ("nsga2", 0),
        ("nsga2", 1),
    ]
    assert {name for name, _ in runs[0].files} == {"etc.csv", "power.csv", "bag.csv"}
    assert runs[0].cells()["workload.generator"] == "bag table"


@pytest.fixture(scope="module", params=[FRONT, PROFIT], ids=["front", "profit"])
def once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    text = request.param.replace("trials = 2", "").replace("[0.8, 1.2]", "1.2")
    return run_bags(text, tmp_path_factory.mktemp("once"))


def change_first(table: str, column: str, value: float) -> Callable[[Store, str], None]:
    """The first value of a column of a detail table is more by so much."""

    def change(store: Store, run: str) -> None:
        path = store.detail_file(table, run)
        more = pl.col(column) + (pl.int_range(pl.len()) == 0) * value
        store.write_table(path, store.read_table(path).with_columns(more))

    return change


def change_prices(store: Store, _: str) -> None:
    def change(proof: dict[str, Any]) -> dict[str, Any]:
        proof["seen"]["price"][0][0] += 0.001
        return proof

    alter_proofs(store, change)


def change_counts(store: Store, run: str) -> None:
    path = store.detail_file(COUNTS, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("tasks") + (pl.int_range(pl.len()) == 0)))


def change_points(store: Store, run: str) -> None:
    path = store.detail_file(FRONTS, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("energy_j") * 1.001))


def change_runs(store: Store, _: str) -> None:
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(pl.col("gap_percent") + 1))


def change_certificate(store: Store, _: str) -> None:
    for path in (store.folder / "bounds").iterdir():
        prices = pl.col("task_price").list.eval(pl.element() * 1.01)
        store.write_table(path, store.read_table(path).with_columns(prices))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_counts, "counts: tasks"),
        (change_points, "fronts: energy_j"),
        (change_runs, "runs: gap_percent"),
        (change_certificate, "bounds: what is stored as duals proves nothing"),
    ],
)
def test_what_was_changed_is_noticed(
    change: Callable[[Store, str], None], words: str, once: Results, tmp_path: Path
) -> None:
    shutil.copytree(once.folder, tmp_path, dirs_exist_ok=True)
    change(Store(tmp_path), once.runs["run"][0])
    (verdict,) = verify(tmp_path)
    assert any(words in problem for problem in verdict.problems), verdict.problems


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_first(COUNTS, "tasks", 1), "counts: tasks"),
        (change_first(SALES, "price", 0.5), "sales: price"),
        (change_runs, "runs: gap_percent"),
        (change_prices, "bounds: profit proven by prices"),
    ],
)
def test_what_was_changed_of_sales_is_noticed(
    change: Callable[[Store, str], None], words: str, prices: Results, tmp_path: Path
) -> None:
    shutil.copytree(prices.folder, tmp_path, dirs_exist_ok=True)
    change(Store(tmp_path), prices.runs["run"][0])
    problems = [problem for verdict in verify(tmp_path) for problem in verdict.problems]
    assert any(words in problem for problem in problems), problems


def test_sales_that_did_not_happen_are_told_by_other_code(prices: Results) -> None:
    """What `judge` says where everything else agrees with the tables."""
    kind, results, row = prices.study.kind, open_results(prices.folder), prices.runs.row(0, named=True)
    run = next(run for run in plan(prices.study) if run.key == row["run"])
    world = kind.build_world(run.point.world, Draw(run.seed, run.trial, Path()))
    case, tables = Case(run, world, run.point.decision.parameters, Store(prices.folder)), results.tables(run.key)
    assert not list(kind.judge(case, row, tables))
    sales = tables[SALES]
    for altered, words in (
        (sales.with_columns(pl.col("start_s") + 1), "start_s: found"),
        (sales.with_columns(~pl.col("is_bought")), "the bag is worth"),
        (sales.with_columns(pl.col("price") * 0.9), "runs: profit, of the mean worth"),
        (sales.with_columns(schedule=pl.lit(99)), "sales: schedule"),
    ):
        assert any(words in line for line in kind.judge(case, row, {**tables, SALES: altered})), words


def test_prices_are_asked_of_the_same_customers_and_stay_below_the_bound(prices: Results) -> None:
    runs, sales = prices.runs, prices.details(SALES)
    assert runs.group_by("trial").agg(pl.col("world").n_unique())["world"].to_list() == [1, 1]
    assert (runs["profit"] <= runs["profit_bound"]).all()
    assert (runs["unseen_bound"] <= runs["profit_bound"]).all()
    assert runs["profit"].to_list() == pytest.approx((runs["income"] - runs["energy_cost"]).to_list())
    by_run = sales.group_by("run", maintain_order=True).agg(pl.col("is_bought").sum(), pl.col("worth").sum())
    assert by_run["worth"].n_unique() == 1
    kept = runs.filter(pl.col("trial") == 0)
    assert dict(by_run.select("run", "is_bought").iter_rows()) == dict(kept.select("run", "sold").iter_rows())
    assert prices.compared == "optimise.method"


def test_prices_follow_a_tariff(tmp_path: Path) -> None:
    (tmp_path / "tariff.csv").write_text("hour,eur\n0,0.1\n1,0.3\n")
    text = PRICING.replace("cost_per_kwh = 0.1", "") + '[supply]\ntariff = "tariff.csv"\ntariff_unit = "EUR"\n'
    results = run_study(bag_study(text, folder=tmp_path), tmp_path / "out", 1)
    assert set(results.runs["status"]) == {"done"}
    asked = results.details(SALES).join(results.runs.select("run", "optimise.method"), on="run")
    alone = asked.filter((pl.col("optimise.method") == "alone") & (pl.col("start_s") == pl.col("arrival_s")))
    dear = alone.group_by((pl.col("start_s") // 3600) % 2).agg(pl.col("price").mean()).sort("start_s")
    assert dear["price"][0] < dear["price"][1]
    assert {verdict.problems for verdict in verify(tmp_path / "out", files=tmp_path)} == {()}


def test_the_knee_is_that_point_where_a_rounding_dominates_another() -> None:
    points = np.array([[1.0, 9.0], [1.0 + 1e-16, 9.5], [2.0, 3.0], [9.0, 1.0]])
    assert bag_tables.knee_of(points) == 2

"""Studies of fronts of utility end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.study import Results, open_results, run_study, verify
from joulewise.study.columns import ASSIGNMENTS, CLOUDS, COLUMNS, FRONTS, RUNS
from joulewise.study.optimising import UtilityFrontParameters
from joulewise.study.schema import study_keys
from joulewise.study.sources import Draw
from joulewise.study.store import Store
from joulewise.study.uncertain import build_world
from joulewise.study.utility_methods import seeds_of
from tests.study.small import lasting
from tests.study.small_bags import bag_study
from tests.study.small_fronts import EVOLVED, UTILITY, run_fronts, uncertain
from tests.study.test_bad_fronts import TABLES, write_tables

OF_CHANCE = """
method = "nsga2"
population = 10
generations = 6
drop_below = 0.5
objective = ["mean-times", "mean-completions", "expected", "percentile"]
n_samples = 20
fresh_samples = 30
"""


@pytest.fixture(scope="module")
def certain(tmp_path_factory: pytest.TempPathFactory) -> Results:
    methods = EVOLVED.replace('"nsga2"', '["nsga2", "annealing"]') + "moves = 2000\n"
    return run_fronts(UTILITY, tmp_path_factory.mktemp("certain"), lambda text: text + methods)


@pytest.fixture(scope="module")
def chances(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_fronts(uncertain(UTILITY) + OF_CHANCE, tmp_path_factory.mktemp("chances"))


@pytest.fixture(params=["certain", "chances"])
def results(request: pytest.FixtureRequest) -> Results:
    found: Results = request.getfixturevalue(request.param)
    return found


def test_every_run_is_done_and_holds(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    verdicts = verify(results.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (results.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(results: Results) -> None:
    store, run, kind = Store(results.folder), results.runs["run"][0], results.study.kind.name
    for table in (FRONTS, ASSIGNMENTS, *([CLOUDS] if results.study.axes == ("optimise.objective",) else [])):
        wanted = [column.name for column in COLUMNS if column.table == table and column.is_of(kind)]
        assert store.read_table(store.detail_file(table, run)).columns == wanted
    wanted = [column.name for column in COLUMNS if column.table == RUNS and column.is_of(kind)]
    written = [name for name in results.runs.columns if "." not in name.partition(":")[0]]
    patterns = {next((w for w in wanted if fnmatchcase(name, w)), name) for name in written}
    assert patterns >= {name for name in wanted if ":" not in name}
    assert patterns <= set(wanted)
    assert {name for name in results.runs.columns if "." in name} <= {key.column for key in study_keys()}


def test_nothing_beats_its_bound(certain: Results) -> None:
    assert (certain.runs["hypervolume_percent"] < 100).all()
    assert (certain.runs["normalised_percent"] < certain.runs["hypervolume_percent"]).all()
    assert (certain.runs["most_utility"] <= certain.runs["utility_bound"]).all()
    assert (certain.fronts()["gap_percent"].drop_nulls() >= 0).all()


def test_a_front_has_its_points_its_bound_and_snapshots(certain: Results) -> None:
    row = certain.runs.row(0, named=True)
    table = certain.fronts().filter(pl.col("run") == row["run"])
    assert set(table["curve"]) == {"front", "bound", "snapshot"}
    points = table.filter(pl.col("curve") == "front")
    assert points["energy_j"].is_sorted()
    assert points["utility"].is_sorted()
    assert points["is_knee"].sum() == points["is_peak"].sum() == 1
    assert points["utility_per_mj"].max() == row["peak_utility_per_mj"]
    assert row["hypervolume_percent:0"] < row["hypervolume_percent:5"] < row["hypervolume_percent"]
    assert row["least_energy_j"] * 1.8 == pytest.approx(row["reference_energy_j"])
    assert Store(certain.folder).population_file(row["run"]).is_file()


def test_what_is_stored_is_found_again(certain: Results) -> None:
    again = run_fronts(UTILITY, certain.folder, lambda _: certain.study.source)
    assert again.runs.equals(certain.runs)
    assert lasting(open_results(certain.folder).runs).equals(lasting(certain.runs))


def test_the_best_front_is_told(certain: Results) -> None:
    (told,) = certain.study.kind.sentences(certain.runs, certain.study.axes)
    assert told.startswith("Annealing (trial ")
    assert "% of the best possible hypervolume; from" in told


def test_every_point_is_seen_in_every_fresh_sample(chances: Results) -> None:
    clouds, fronts = chances.clouds(), chances.fronts().filter(pl.col("curve") == "front")
    assert clouds.height == 30 * fronts.height
    means = clouds.group_by("run", "point", maintain_order=True).agg(
        pl.col("energy_j", "utility", "tasks_dropped").mean()
    )
    assert means["energy_j"].to_list() == pytest.approx(fronts["mean_energy_j"].to_list())
    assert means["utility"].to_list() == pytest.approx(fronts["mean_utility"].to_list())
    assert means["tasks_dropped"].to_list() == pytest.approx(fronts["tasks_dropped"].to_list())
    assert (fronts["sd_utility"] > 0).any()


def test_only_objectives_without_chance_have_a_bound(chances: Results) -> None:
    kinds = chances.runs.group_by("optimise.objective", maintain_order=True).agg(
        pl.col("hypervolume_percent", "normalised_percent", "fresh_percent").count(), pl.col("bound").first()
    )
    assert kinds["hypervolume_percent"].to_list() == [2, 0, 0, 0]
    assert kinds["bound"].to_list() == ["front-prices-0.5", "none", "none", "none"]
    assert kinds["normalised_percent"].to_list() == kinds["fresh_percent"].to_list() == [2, 2, 2, 2]


def change_order(store: Store, run: str) -> None:
    path = store.detail_file(ASSIGNMENTS, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("order").reverse()))


def change_machine(store: Store, run: str) -> None:
    path = store.detail_file(ASSIGNMENTS, run)
    store.write_table(path, store.read_table(path).with_columns(machine=pl.lit(99, pl.Int32)))


def lose_a_point(store: Store, run: str) -> None:
    path = store.detail_file(ASSIGNMENTS, run)
    store.write_table(path, store.read_table(path).filter(pl.col("point") > 0))


def change_points(store: Store, run: str) -> None:
    path = store.detail_file(FRONTS, run)
    store.write_table(path, store.read_table(path).with_columns(pl.col("utility") * 1.001))


def change_runs(store: Store, _: str) -> None:
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(pl.col("knee_utility") + 1))


def change_certificate(store: Store, _: str) -> None:
    for path in (store.folder / "bounds").iterdir():
        stored = json.loads(path.read_text())
        stored["proof"]["value"] = [0.99 * value for value in stored["proof"]["value"]]
        path.write_text(json.dumps(stored))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_order, "utility: found"),
        (change_machine, "machine"),
        (lose_a_point, "fronts: "),
        (change_points, "utility: found"),
        (change_runs, "runs: knee_utility"),
        (change_certificate, "but the prices prove only"),
    ],
)
def test_what_was_changed_is_noticed(
    change: Callable[[Store, str], None], words: str, evolved: Path, tmp_path: Path
) -> None:
    shutil.copytree(evolved, tmp_path, dirs_exist_ok=True)
    change(Store(tmp_path), open_results(tmp_path).runs["run"][0])
    (verdict,) = verify(tmp_path)
    assert any(words in problem for problem in verdict.problems), verdict.problems


ONCE = UTILITY.replace("trials = 2", "") + EVOLVED


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_fronts(ONCE, tmp_path_factory.mktemp("evolved")).folder


def test_a_search_goes_on_where_it_stopped(evolved: Path, tmp_path: Path) -> None:
    (population,) = (evolved / "populations").iterdir()
    shutil.copy(population, tmp_path / "saved.npz")
    more = ONCE.replace("generations = 12", 'generations = 5\nstart_from = "saved.npz"')
    went_on = run_study(bag_study(more, folder=tmp_path), tmp_path / "out", 1)
    at_once = run_fronts(ONCE.replace("generations = 12", "generations = 17"), tmp_path / "whole")
    assert went_on.failed.is_empty(), went_on.failed["error"].to_list()
    assert went_on.runs["hypervolume_percent"].equals(at_once.runs["hypervolume_percent"])
    assert {verdict.problems for verdict in verify(tmp_path / "out")} == {()}
    with pytest.raises(InputError, match=r"optimise\.start_from: found a population of another study"):
        bag_study(more.replace("n_tasks = 40", "n_tasks = 41"), folder=tmp_path)
    with pytest.raises(InputError, match=r"optimise\.population: found 12; must be 10"):
        bag_study(more.replace("population = 10", "population = 12"), folder=tmp_path)


def test_islands_are_run_in_studies(tmp_path: Path) -> None:
    results = run_fronts(ONCE + "islands = 2\nexchange_every = 4\n", tmp_path)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert results.runs["engine"].to_list() == ["one core"]


def test_times_and_powers_may_be_those_that_were_observed(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (tmp_path / "samples.csv").write_text("task_type,machine_type,time_s,power_w\nx,a,5,90\nx,a,25,110\n")
    text = TABLES.replace("[workload]", 'samples = "samples.csv"\n[workload]')
    evolved = EVOLVED + 'objective = "expected"\nn_samples = 16\nseeds = []\n'
    results = run_study(bag_study(text + evolved, folder=tmp_path), tmp_path / "out", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    assert set(results.clouds()["energy_j"].round(6)) <= {
        energy_j + other_j
        for energy_j in (5 * 90.0, 5 * 110.0, 25 * 90.0, 25 * 110.0, 20 * 40.0)
        for other_j in (2700.0, 500.0)
    }


def test_what_policies_do_can_be_seeds() -> None:
    parts = bag_study(ONCE).points[0]
    world = build_world(parts.world, Draw(0, 0, Path())).world
    seeds = seeds_of(world, UtilityFrontParameters(method="nsga2", seeds=("all",)))
    assert len(seeds) == 8
    assert all(seed.runs.all() for seed in seeds)


def test_choices_under_chance_are_valued(chances: Results) -> None:
    runs, fronts = chances.runs, chances.fronts().filter(pl.col("is_cautious"))
    assert (runs["information_value"] >= 0).all()
    assert (runs["solution_value"] >= 0).all()
    kept = runs.filter(pl.col("trial") == 0)
    assert fronts["mean_utility"].to_list() == pytest.approx(kept["cautious_utility"].to_list())
    assert fronts["sd_utility"].to_list() == pytest.approx(kept["cautious_sd_utility"].to_list())

"""Studies of fronts of utility end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from joulewise.errors import InputError
from joulewise.optimise.front import front_of
from joulewise.optimise.gpu import gpu_name
from joulewise.study import Results, open_results, plan, run_study, verify
from joulewise.study.assignments.methods import seeds_of
from joulewise.study.assignments.parameters import UtilityFrontParameters
from joulewise.study.kinds.case import NOT_CHECKED
from joulewise.study.parsing.schema import study_keys
from joulewise.study.spec.column import ASSIGNMENTS, CLOUDS, FRONTS, RUNS
from joulewise.study.spec.source import Draw
from joulewise.study.spec.trials import STAGE
from joulewise.study.store.store import Store
from tests.strategies.proofs import alter_proofs
from tests.strategies.small import lasting
from tests.strategies.small_bags import bag_study
from tests.strategies.small_fronts import EVOLVED, UTILITY, run_fronts, uncertain
from tests.study.assignments.test_bad import TABLES, write_tables

OF_CHANCE = """
method = "nsga2"
population = 10
generations = 6
drop_below = 0.5
objective = ["mean-times", "mean-completions", "expected", "percentile"]
n_samples = 20
fresh_samples = 30
"""


UNCERTAIN = pytest.mark.thorough("compiles the kernels of uncertain times")


@pytest.fixture(scope="module")
def certain(tmp_path_factory: pytest.TempPathFactory) -> Results:
    methods = EVOLVED.replace('"nsga2"', '["nsga2", "annealing"]') + "moves = 2000\n"
    return run_fronts(UTILITY, tmp_path_factory.mktemp("certain"), lambda text: text + methods)


@pytest.fixture(scope="module")
def chances(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_fronts(uncertain(UTILITY) + OF_CHANCE, tmp_path_factory.mktemp("chances"))


@pytest.fixture(params=["certain", pytest.param("chances", marks=UNCERTAIN)])
def results(request: pytest.FixtureRequest) -> Results:
    found: Results = request.getfixturevalue(request.param)
    return found


def test_every_run_is_done_and_holds(results: Results) -> None:
    assert results.failed.is_empty(), results.failed["error"].to_list()
    verdicts = verify(results.folder, files=results.study.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (results.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(results: Results) -> None:
    store, run, kind = Store(results.folder), results.runs["run"][0], results.study.kind
    for table in (FRONTS, ASSIGNMENTS, *([CLOUDS] if results.study.axes == ("optimise.objective",) else [])):
        wanted = [column.name for column in kind.columns if column.table == table]
        assert store.read_table(store.detail_file(table, run)).columns == wanted
    wanted = [column.name for column in kind.all_columns() if column.table == RUNS]
    written = [name for name in results.runs.columns if "." not in name.partition(":")[0]]
    patterns = {next((w for w in wanted if fnmatchcase(name, w)), name) for name in written}
    assert patterns >= {name for name in wanted if ":" not in name} - {STAGE}
    assert patterns <= set(wanted)
    assert {name for name in results.runs.columns if "." in name} <= {key.column for key in study_keys()}


def test_nothing_beats_its_bound(certain: Results) -> None:
    assert (certain.runs["hypervolume_percent"] < 100).all()
    assert (certain.runs["normalised_percent"] < certain.runs["hypervolume_percent"]).all()
    assert (certain.runs["most_utility"] <= certain.runs["utility_bound"]).all()
    assert (certain.details(FRONTS)["gap_percent"].drop_nulls() >= 0).all()


def test_a_front_has_its_points_its_bound_and_snapshots(certain: Results) -> None:
    row = certain.runs.row(0, named=True)
    table = certain.details(FRONTS).filter(pl.col("run") == row["run"])
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


@UNCERTAIN
def test_every_point_is_seen_in_every_fresh_sample(chances: Results) -> None:
    clouds, fronts = chances.details(CLOUDS), chances.details(FRONTS).filter(pl.col("curve") == "front")
    assert clouds.height == 30 * fronts.height
    means = clouds.group_by("run", "point", maintain_order=True).agg(
        pl.col("energy_j", "utility", "tasks_dropped").mean()
    )
    assert means["energy_j"].to_list() == pytest.approx(fronts["mean_energy_j"].to_list())
    assert means["utility"].to_list() == pytest.approx(fronts["mean_utility"].to_list())
    assert means["tasks_dropped"].to_list() == pytest.approx(fronts["tasks_dropped"].to_list())
    assert (fronts["sd_utility"] > 0).any()


@UNCERTAIN
def test_only_objectives_without_chance_have_a_bound(chances: Results) -> None:
    kinds = chances.runs.group_by("optimise.objective", maintain_order=True).agg(
        pl.col("hypervolume_percent", "normalised_percent", "fresh_percent", "fresh_mean_percent").count(),
        pl.col("bound").first(),
    )
    assert kinds["hypervolume_percent"].to_list() == [2, 0, 0, 0]
    assert kinds["bound"].to_list() == ["front-prices-0.5", "none", "none", "none"]
    assert kinds["normalised_percent"].to_list() == kinds["fresh_mean_percent"].to_list() == [2, 2, 2, 2]
    assert kinds["fresh_percent"].to_list() == [0, 2, 2, 2]


@UNCERTAIN
def test_fresh_samples_tell_of_the_objective_that_was_searched(chances: Results) -> None:
    for row in chances.runs.filter(pl.col("trial") == 0).iter_rows(named=True):
        clouds = chances.details(CLOUDS).filter(pl.col("run") == row["run"]).group_by("point", maintain_order=True)
        means = clouds.agg(pl.col("energy_j", "utility").mean())
        ranked = clouds.agg(pl.col("energy_j").sort().get(14), pl.col("utility").sort(descending=True).get(14))
        assert row["fresh_mean_percent"] == pytest.approx(_area_percent(row, means))
        if row["optimise.objective"] == "percentile":
            assert row["fresh_percent"] == pytest.approx(_area_percent(row, ranked))
        if row["optimise.objective"] == "expected":
            assert row["fresh_percent"] == row["fresh_mean_percent"]


def _area_percent(row: dict[str, Any], points: pl.DataFrame) -> float:
    ends = points.select(pl.col("energy_j"), -pl.col("utility")).to_numpy()
    area = front_of(ends).hypervolume((row["reference_energy_j"], 0.0))
    return float(100 * area / (row["reference_energy_j"] * row["utility_ceiling"]))


@UNCERTAIN
def test_the_sentence_compares_like_with_like(chances: Results) -> None:
    def told(objective: str) -> str:
        runs = chances.runs.filter(pl.col("optimise.objective") == objective)
        return next(iter(chances.study.kind.sentences(runs, chances.study.axes)))

    assert "of the best possible hypervolume at mean times;" in told("mean-times")
    best = (
        chances.runs.filter(pl.col("optimise.objective") == "percentile").sort("fresh_mean_percent").row(-1, named=True)
    )
    loss = best["normalised_percent"] - best["fresh_percent"]
    words = f"{abs(loss):.2f} percentage points {'less' if loss > 0 else 'more'}" if round(loss, 2) else "the same"
    assert f", of the whole {words} on fresh samples;" in told("percentile")


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


def change_certificate(factor: float, store: Store, _: str) -> None:
    alter_proofs(store, lambda proof: proof | {"value": [factor * value for value in proof["value"]]})


def change_bound(store: Store, _: str) -> None:
    alter_proofs(store, lambda proof: proof | {"drop_below": 0.25})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_bound, "bounds: found a bound for drop_below = 0.25; must be for 0.0"),
        (change_order, "assignments: order"),
        (change_machine, "machine"),
        (lose_a_point, "assignments: 1000 rows"),
        (change_points, "fronts: utility"),
        (change_runs, "runs: knee_utility"),
        (partial(change_certificate, 0.99), "but the prices prove"),
        (partial(change_certificate, 1.01), "but the prices prove"),
    ],
)
def test_what_was_changed_is_noticed(
    change: Callable[[Store, str], None], words: str, evolved: Path, tmp_path: Path
) -> None:
    shutil.copytree(evolved, tmp_path, dirs_exist_ok=True)
    change(Store(tmp_path), open_results(tmp_path).runs["run"][0])
    (verdict,) = verify(tmp_path)
    assert any(words in problem for problem in verdict.problems), verdict.problems


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_samples_are_drawn_again_and_searches_of_gpus_only_there(chances: Results, tmp_path: Path) -> None:
    shutil.copytree(chances.folder, tmp_path, dirs_exist_ok=True)
    store, run = Store(tmp_path), chances.runs.filter(pl.col("optimise.objective") == "expected")["run"][0]
    for table in (CLOUDS, FRONTS):
        path = store.detail_file(table, run)
        store.write_table(path, store.read_table(path).with_columns(pl.col("energy_j") * 1.01))
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(engine=pl.lit("GPU of others")))
    verdicts = verify(tmp_path)
    problems = next(verdict.problems for verdict in verdicts if verdict.run == run)
    assert any("clouds: energy_j" in problem for problem in problems)
    assert any("fronts: energy_j" in problem for problem in problems)
    if not gpu_name():
        (notes,) = {verdict.notes for verdict in verdicts if not verdict.has_records}
        assert notes[0].startswith(f"{NOT_CHECKED}: what a GPU decided")


def test_runs_of_gpus_and_of_cores_are_different_runs() -> None:
    def keys(text: str, has_gpu: bool) -> list[str]:
        return [run.key for run in plan(bag_study(uncertain(UTILITY) + OF_CHANCE + text), has_gpu)]

    cores, gpu = keys("", has_gpu=False), keys("", has_gpu=True)
    assert [one == other for one, other in zip(cores, gpu, strict=True)] == 2 * [True] + 6 * [False]
    assert keys("islands = 2", has_gpu=True) == keys("islands = 2", has_gpu=False)


def test_nothing_to_earn_is_no_share_of_anything(tmp_path: Path) -> None:
    write_tables(tmp_path)
    (tmp_path / "tasks.csv").write_text("arrival_s,task_type,max_utility\n0,x,0\n1,y,0\n")
    results = run_study(bag_study(TABLES + 'method = "nsga2"\ngenerations = 2\n', folder=tmp_path), tmp_path / "out", 1)
    assert results.runs.select("hypervolume_percent", "normalised_percent", "gap_percent").row(0) == (None, None, 0.0)
    assert len(list(results.study.kind.sentences(results.runs, results.study.axes))) == 1


def test_bounds_of_other_limits_have_other_names() -> None:
    text = UTILITY + EVOLVED + "drop_below = [0, 0.5, 0.5000001]\n"
    assert [run.bound for run in plan(bag_study(text))][::2] == [f"front-prices-{n}" for n in ("0", "0.5", "0.5000001")]


ONCE = UTILITY.replace("trials = 2", "") + EVOLVED


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_fronts(ONCE, tmp_path_factory.mktemp("evolved")).folder


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_a_search_goes_on_where_it_stopped(evolved: Path, tmp_path: Path) -> None:
    (population,) = (evolved / "populations").iterdir()
    shutil.copy(population, tmp_path / "saved.npz")
    more = ONCE.replace("generations = 12", 'generations = 5\nstart_from = "saved.npz"')
    went_on = run_study(bag_study(more, folder=tmp_path), tmp_path / "out", 1)
    at_once = run_fronts(ONCE.replace("generations = 12", "generations = 17"), tmp_path / "whole")
    assert went_on.failed.is_empty(), went_on.failed["error"].to_list()
    assert went_on.runs["hypervolume_percent"].equals(at_once.runs["hypervolume_percent"])
    assert {verdict.problems for verdict in verify(tmp_path / "out", files=tmp_path)} == {()}
    with pytest.raises(InputError, match=r"optimise\.start_from: found a population of another study"):
        bag_study(more.replace("n_tasks = 40", "n_tasks = 41"), folder=tmp_path)
    with pytest.raises(InputError, match=r"optimise\.start_from: found 'saved.npz' with trials = 2; is of one trial"):
        bag_study("trials = 2\n" + more, folder=tmp_path)
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
    assert set(results.details(CLOUDS)["energy_j"].round(6)) <= {
        energy_j + other_j
        for energy_j in (5 * 90.0, 5 * 110.0, 25 * 90.0, 25 * 110.0, 20 * 40.0)
        for other_j in (2700.0, 500.0)
    }


def test_what_policies_do_can_be_seeds() -> None:
    study = bag_study(ONCE)
    world = study.kind.build_world(study.points[0].world, Draw(0, 0, Path())).world
    seeds = seeds_of(world, UtilityFrontParameters(method="nsga2", seeds=("all",)))
    assert len(seeds) == 8
    assert all(seed.runs.all() for seed in seeds)


@UNCERTAIN
def test_choices_under_chance_are_valued(chances: Results) -> None:
    runs, fronts = chances.runs, chances.details(FRONTS).filter(pl.col("is_cautious"))
    assert (runs["information_value"] >= 0).all()
    assert runs["solution_value"].is_finite().all()
    kept = runs.filter(pl.col("trial") == 0)
    assert fronts["mean_utility"].to_list() == pytest.approx(kept["cautious_utility"].to_list())
    assert fronts["sd_utility"].to_list() == pytest.approx(kept["cautious_sd_utility"].to_list())

"""Studies of fronts of utility end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

from fnmatch import fnmatchcase

import polars as pl
import pytest

from joulewise.study import Results, open_results, verify
from joulewise.study.columns import ASSIGNMENTS, CLOUDS, COLUMNS, FRONTS, RUNS
from joulewise.study.schema import study_keys
from joulewise.study.store import Store
from tests.study.small import lasting
from tests.study.small_fronts import EVOLVED, UTILITY, run_fronts, uncertain

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

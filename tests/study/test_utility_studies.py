"""Studies of fronts of utility end to end: what they write, what is proven of it, and that it can be verified."""

from __future__ import annotations

from fnmatch import fnmatchcase

import polars as pl
import pytest

from joulewise.study import Results, open_results, verify
from joulewise.study.columns import ASSIGNMENTS, COLUMNS, FRONTS, RUNS
from joulewise.study.schema import study_keys
from joulewise.study.store import Store
from tests.study.small import lasting
from tests.study.small_fronts import EVOLVED, UTILITY, run_fronts


@pytest.fixture(scope="module")
def certain(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run_fronts(UTILITY, tmp_path_factory.mktemp("certain"), lambda text: text + EVOLVED)


def test_every_run_is_done_and_holds(certain: Results) -> None:
    assert certain.failed.is_empty(), certain.failed["error"].to_list()
    verdicts = verify(certain.folder)
    assert {verdict.problems for verdict in verdicts} == {()}
    assert [verdict.has_records for verdict in verdicts] == (certain.runs["trial"] == 0).to_list()


def test_every_column_that_is_written_is_documented(certain: Results) -> None:
    store, run, kind = Store(certain.folder), certain.runs["run"][0], certain.study.kind.name
    for table in (FRONTS, ASSIGNMENTS):
        wanted = [column.name for column in COLUMNS if column.table == table and column.is_of(kind)]
        assert store.read_table(store.detail_file(table, run)).columns == wanted
    wanted = [column.name for column in COLUMNS if column.table == RUNS and column.is_of(kind)]
    written = [name for name in certain.runs.columns if "." not in name]
    assert {next((w for w in wanted if fnmatchcase(name, w)), name) for name in written} == set(wanted)
    assert {name for name in certain.runs.columns if "." in name} <= {key.column for key in study_keys()}


def test_nothing_beats_its_bound(certain: Results) -> None:
    assert (certain.runs["hypervolume_percent"] < 100).all()
    assert (certain.runs["normalised_percent"] < certain.runs["hypervolume_percent"]).all()
    assert (certain.runs["most_utility"] <= certain.runs["utility_bound"]).all()
    assert (certain.fronts()["gap_percent"].drop_nulls() >= 0).all()


def test_a_front_has_its_points_its_bound_and_snapshots(certain: Results) -> None:
    table, row = certain.fronts(), certain.runs.row(0, named=True)
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
    assert told.startswith("NSGA-II (trial ")
    assert "% of the best possible hypervolume; from" in told

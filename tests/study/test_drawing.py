"""Which runs `verify` computes again: drawn by chance, within half of what running the study costs."""

from __future__ import annotations

from math import comb
from pathlib import Path

import polars as pl
import pytest

from joulewise.study import open_results, to_verify, verify
from joulewise.study.kinds.case import FAILED_BEFORE
from joulewise.study.store.store import Store
from joulewise.study.verifying import drawing, sight
from joulewise.study.verifying.costs import running_s, verifying_s
from joulewise.study.verifying.drawing import SHARE, SHORT_S, chance, draw

N_POINTS, N_TRIALS = 10, 20


def made(run_s: float = 10.0, world_s: float = 0.0, judge_s: float = 30.0, check_s: float = 0.0) -> pl.DataFrame:
    """The costs of a study of two places, five points in each, whose trials share worlds."""
    rows = [(point, point // 5, trial) for point in range(N_POINTS) for trial in range(N_TRIALS)]
    table = pl.DataFrame(rows, ["point", "place", "trial"], orient="row").with_row_index("at")
    return table.with_columns(
        run=pl.format("{}", "at"), world=pl.format("{}/{}", "place", "trial"), is_judged=True,
        run_s=pl.lit(run_s), world_s=pl.lit(world_s), judge_s=pl.lit(judge_s), check_s=pl.lit(check_s),
    )  # fmt: skip


def test_half_the_cost_of_running_is_kept_to_and_used() -> None:
    costs = made()
    drawn = draw(costs, 1, every=False).drawn
    budget_s = SHARE * running_s(costs)
    assert budget_s - 30 < verifying_s(drawn) <= budget_s
    assert drawn["at"].is_sorted()
    assert drawn["at"].is_unique().all()


def test_each_point_is_drawn_as_often_as_any_other() -> None:
    counts = draw(made(), 1, every=False).drawn["point"].value_counts()["count"]
    assert counts.len() == N_POINTS
    assert counts.max() - counts.min() <= 1  # type: ignore[operator]


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    first, again, other = (draw(made(), seed, every=False).drawn["at"].to_list() for seed in (1, 1, 2))
    assert first == again != other


def test_worlds_come_whole_where_they_cost_most() -> None:
    drawn = draw(made(run_s=1.0, world_s=100.0, judge_s=1.0, check_s=100.0), 1, every=False)
    runs = drawn.drawn["world"].value_counts()["count"].sort()
    assert (runs[1:] == 5).all()  # the last one as far as it fits
    assert drawn.drawn["place"].n_unique() == 2
    assert drawn.n_worlds[0] == runs.len() < drawn.n_worlds[1]


def test_at_least_one_run_is_drawn() -> None:
    assert draw(made(judge_s=1e9), 1, every=False).drawn.height == 1


@pytest.mark.parametrize("costs", [made(judge_s=SHORT_S / 200), made(judge_s=5.0)], ids=["short", "less than half"])
def test_all_are_drawn_where_that_costs_little(costs: pl.DataFrame) -> None:
    assert draw(costs, 1, every=False).is_whole


def test_all_are_drawn_where_that_is_asked_for() -> None:
    found = draw(made(judge_s=1e9), 1, every=True)
    assert found.is_whole
    assert found.found == 1.0


def test_runs_that_cannot_be_judged_count_in_no_chance() -> None:
    costs = made().with_columns(is_judged=pl.col("trial") < 10)
    found = draw(costs.with_columns(pl.col("judge_s") * pl.col("is_judged")), 1, every=False)
    assert found.n_judged[1] == 100
    assert found.n_altered == 1
    assert found.found == pytest.approx(found.n_judged[0] / 100)


def test_chances_are_those_of_drawing_without_putting_back() -> None:
    assert chance(500, 1000, 10) == pytest.approx(1 - comb(990, 500) / comb(1000, 500))
    assert chance(1, 4, 1) == 0.25
    assert chance(2, 4, 2) == pytest.approx(1 - 1 / 6)
    assert chance(3, 4, 2) == 1.0


# --- a study that was run ----------------------------------------------------------------------------------------


@pytest.fixture
def drawn_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is short, and half of the small study is its budget."""
    monkeypatch.setattr(drawing, "SHORT_S", 0.0)


@pytest.mark.usefixtures("drawn_in_part")
def test_only_runs_that_are_drawn_are_computed_again(small_results: Path) -> None:
    work = to_verify(small_results, seed=3)
    assert 1 <= work.n_again < work.n_runs == 8
    assert work.seconds < to_verify(small_results, every=True).seconds
    verdicts = work.verdicts()
    assert [verdict.is_drawn for verdict in verdicts] == [True] * work.n_again
    assert [verdict.run for verdict in verdicts] == [each.run for each in verify(small_results, seed=3)]
    assert len(verify(small_results, every=True)) == 8


@pytest.mark.usefixtures("drawn_in_part")
def test_an_altered_run_is_found_where_it_is_drawn(small_copy: Path) -> None:
    store, work = Store(small_copy), to_verify(small_copy, seed=3)
    at = work.drawing.drawn["at"][0]
    table = store.read_table(store.runs_file)
    altered = pl.when(pl.int_range(pl.len()) == at).then(pl.col("utility") + 1).otherwise("utility")
    store.write_table(store.runs_file, table.with_columns(utility=altered))
    told = [verdict for verdict in verify(small_copy, seed=3) if verdict.problems]
    assert [verdict.run for verdict in told] == [table["run"][at]]
    missing = next(seed for seed in range(100) if at not in to_verify(small_copy, seed=seed).drawing.drawn["at"])
    assert not any(verdict.problems for verdict in verify(small_copy, seed=missing))


@pytest.mark.usefixtures("drawn_in_part")
def test_what_is_seen_at_sight_is_told_of_all_runs(small_copy: Path) -> None:
    store, runs = Store(small_copy), open_results(small_copy).runs
    work = to_verify(small_copy, seed=3)
    others = [run for at, run in enumerate(runs["run"]) if at not in work.drawing.drawn["at"]]
    kept = [run for run in others if store.detail_file("records", run).is_file()]
    gone, cut = store.detail_file("records", kept[0]), store.detail_file("records", kept[1])
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:60])
    store.bounds_file.unlink()
    told = {verdict.run: verdict.problems for verdict in verify(small_copy, seed=3)}
    assert told.keys() == set(runs["run"])
    assert all("bounds: the proof of the world's bound is missing" in problems for problems in told.values())
    assert "records: the table is missing" in told[kept[0]]
    assert any(problem.startswith("records: cannot be read") for problem in told[kept[1]])


@pytest.mark.usefixtures("drawn_in_part")
def test_a_table_of_runs_that_was_not_sealed_again_is_told(small_copy: Path) -> None:
    store = Store(small_copy)
    assert to_verify(small_copy, seed=3).problems == ()
    store.read_table(store.runs_file).write_parquet(store.runs_file)
    assert to_verify(small_copy, seed=3).problems == ("runs.parquet: cannot be read: it is not as Joulewise wrote it",)
    assert to_verify(small_copy, every=True).problems == ()


@pytest.mark.usefixtures("drawn_in_part")
def test_runs_that_failed_are_told_though_they_are_not_drawn(small_copy: Path) -> None:
    store = Store(small_copy)
    said = {"status": pl.lit("failed"), "error": pl.lit("no room")}
    store.write_table(store.runs_file, store.read_table(store.runs_file).with_columns(**said))
    others = [verdict for verdict in verify(small_copy, seed=3) if not verdict.is_drawn]
    assert others
    assert all(verdict.notes == (FAILED_BEFORE,) for verdict in others)


def test_rows_are_read_piece_by_piece(small_results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "PIECE_ROWS", 3)
    monkeypatch.setattr("joulewise.study.verifying.verification.PIECE_ROWS", 3)
    assert [verdict.problems for verdict in verify(small_results)] == [()] * 8

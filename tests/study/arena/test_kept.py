"""What the package keeps of all policies is of the sets and policies of today, and comes out again to the bit."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from joulewise.present.arena.marked import filled
from joulewise.present.arena.tables import kept_boards
from joulewise.study import run_study
from joulewise.study.arena.kept import keep, kept_rows, unkept
from joulewise.study.arena.rows import OF_COMPUTER, RUN, rows_of
from joulewise.study.arena.sets import SETS, WorldSet
from tests.strategies.small_arena import made_rows, put_small_sets
from tests.test_project import ROOT

SHIPPED = [SETS[name] for name in ("tasks", "jobs")]
ADVICE = "run `joulewise arena --all --write --page docs/explanation/arena.md`"


@pytest.mark.parametrize("each", SHIPPED, ids=lambda each: each.name)
def test_all_policies_are_kept_on_every_world_and_trial(each: WorldSet) -> None:
    assert unkept(each) == [], ADVICE
    n_trials = each.study(["prices"]).heading.trials
    rows = kept_rows(each)
    assert set(rows["policy"]) == set(each.table())
    assert rows.height == len(each.table()) * len(each.worlds) * n_trials
    assert (rows["utility"] <= rows["utility_bound"] * (1 + 1e-9)).all()


def test_the_table_of_all_policies_in_the_docs_is_current() -> None:
    page = (ROOT / "docs" / "explanation" / "arena.md").read_text()
    assert page == filled(page, kept_boards(SETS.values())), ADVICE


def comes_out(name: str, policies: list[str], stage: str, folder: Path, *, to_the_bit: bool) -> None:
    """Hold what comes out for policies on a set against what is kept."""
    anew = rows_of(run_study(SETS[name].study(policies, stage), folder, 1))
    there = kept_rows(SETS[name]).join(anew, on=RUN, how="semi")
    kept_slices = pl.col("slices").cast(pl.List(pl.Float32)).cast(pl.List(pl.Float64))
    left = [table.sort(RUN).drop(OF_COMPUTER) for table in (there, anew.with_columns(kept_slices))]
    assert there.height == anew.height
    assert_frame_equal(left[0], left[1], check_exact=to_the_bit, rel_tol=1e-6)


@pytest.mark.thorough("compiles a policy, or runs many worlds")
def test_jobs_come_out_again(tmp_path: Path) -> None:
    """But for rounding: mathematical functions may differ in the last bit from one processor to another."""
    comes_out("jobs", ["fcfs"], "quick", tmp_path, to_the_bit=False)


@pytest.mark.thorough("takes minutes")
@pytest.mark.parametrize(
    ("name", "policies"),
    [
        ("tasks", ["prices", "max-max-upe", "fcfs-all", "random"]),
        ("jobs", ["prices", "easy", "max-upr"]),
    ],
)
def test_samples_come_out_again_to_the_bit(name: str, policies: list[str], tmp_path: Path) -> None:
    comes_out(name, policies, "judging", tmp_path, to_the_bit=True)


def test_more_than_the_proven_bound_is_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_small_sets(monkeypatch, tmp_path)
    study = SETS["tasks"].study(["random-batch"], "quick")
    results = run_study(study, tmp_path / "out", 1)
    assert rows_of(results)["error"].null_count() == 2
    monkeypatch.setattr("joulewise.study.arena.rows._ROUNDING", -1.0)
    rows = rows_of(results)
    assert rows["utility"].null_count() == rows["slices"].null_count() == 2
    assert rows["error"].str.starts_with("it claims more than the proven bound").all()


def test_new_rows_take_the_place_of_older_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_small_sets(monkeypatch, tmp_path)
    tasks, logs = SETS["tasks"], SETS["logs"]
    assert kept_rows(tasks).is_empty()
    keep(tasks, made_rows({"prices": [[50.0]], "random": [[20.0]]}))
    keep(logs, made_rows({"easy": [[30.0]]}))
    keep(tasks, made_rows({"prices": [[60.0]]}))
    assert dict(kept_rows(tasks).select("policy", "utility").iter_rows()) == {"random": 10.0, "prices": 30.0}
    assert kept_rows(logs)["policy"].to_list() == ["easy"]
    assert not {"prices", "random"} & set(unkept(tasks))
    (tmp_path / "tasks.toml").write_text((tmp_path / "tasks.toml").read_text() + "\n")
    put = WorldSet("tasks", "tasks", "policies")
    assert kept_rows(put).is_empty()
    keep(put, made_rows({"random": [[25.0]]}))
    assert kept_rows(tasks).is_empty()

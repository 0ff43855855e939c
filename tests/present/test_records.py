"""Views of the records: order, labels, the best and its rivals."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from joulewise.present.records import VARIANT, tidy
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, LOAD, POLICY, THRESHOLD
from tests.strategies.made import TITLES, make_records


def test_policies_stand_by_mode_and_then_as_in_their_table() -> None:
    records = make_records({POLICY: ["mine.py:f", "max-max-upt", "max-upt", "random"]})
    assert records.values(POLICY) == ["random", "max-upt", "max-max-upt", "mine.py:f"]


def test_numbers_ascend_and_other_values_keep_their_order() -> None:
    records = make_records({THRESHOLD: [1.5, 0.0, 0.5], "system.source": ["b", "a"]})
    assert records.values(THRESHOLD) == [0.0, 0.5, 1.5]
    assert records.values("system.source") == ["b", "a"]


def test_equal_titles_are_told_apart() -> None:
    records = make_records({POLICY: ["a.py:f", "b.py:f"]}, titles={"a.py:f": "f", "b.py:f": "f"}, modes={})
    assert list(records.labels(POLICY).values()) == ["f [a.py:f]", "f [b.py:f]"]


def test_the_policy_is_compared_before_a_variant_before_anything_else() -> None:
    assert make_records().main == POLICY
    assert make_records({LOAD: [1, 2], VARIANT: ["a", "b"]}).main == VARIANT
    assert make_records({LOAD: [1, 2]}).main == LOAD
    assert make_records({LOAD: [1]}).main is None


def test_the_best_is_found_at_every_setting() -> None:
    records = make_records()
    assert records.others == (THRESHOLD, LOAD)
    assert records.best.height == 6
    assert set(records.best[POLICY]) == {"max-max-upt"}


def test_rivals_are_compared_with_the_best_only() -> None:
    behind = make_records().behind_best
    assert set(behind["against"]) == {"max-max-upt"}
    assert behind.height == 6 * (len(TITLES) - 1)
    assert behind["mean"].max() < 0  # type: ignore[operator]


def test_without_differences_there_are_no_rivals() -> None:
    assert make_records({LOAD: [1]}).behind_best.is_empty()


def test_phrases_stand_alone() -> None:
    records = make_records()
    assert (
        records.phrases({LOAD: 33000, THRESHOLD: 0.5}, (LOAD, THRESHOLD)) == "33,000 tasks/day, dropping threshold 0.5"
    )


def test_keys_are_spoken_of_as_their_page_says_or_read_out() -> None:
    records = make_records()
    assert records.title(LOAD) == "load (tasks/day)"
    assert records.title("system.some_key") == "some key"
    assert records.phrase(ENVIRONMENT, "queued") == "queued environment"
    assert (records.phrase(FILTER, "none"), records.label(FILTER, "none")) == ("no energy filter", "none")


def test_runs_with_results_are_counted() -> None:
    records = make_records({LOAD: [1, 2]})
    assert records.n_runs == 6
    status = pl.Series("status", ["failed", *["done"] * 5])
    assert replace(records, runs=records.runs.with_columns(status)).n_runs == 5


def test_a_detail_table_that_was_not_kept_is_empty() -> None:
    records = make_records()
    assert records.keeps("traces", "at_s", "utility_cumulative")
    assert not records.keeps("traces", "another")
    assert not records.keeps("fronts")
    assert records.frame("fronts").is_empty()


def test_lists_are_spelt_out() -> None:
    frame = tidy(pl.DataFrame({"a": [[1, 2], None], "b": [1.0, 2.0]}))
    assert frame["a"].to_list() == ["1, 2", None]
    assert frame["b"].to_list() == [1.0, 2.0]


def test_a_switch_is_said_with_its_name() -> None:
    assert make_records().phrase("manager.follows_tariff", False) == "follows tariff: no"


def test_nobody_is_the_best_where_runs_have_no_result() -> None:
    records = make_records()
    lost = (pl.col(LOAD) == 50000) & (pl.col(THRESHOLD) == 0.5) & (pl.col(POLICY) == "random") & (pl.col("trial") == 0)
    runs = records.runs.with_columns(pl.when(~lost).then(pl.col("utility_percent")).alias("utility_percent"))
    found = replace(records, runs=runs).gaps
    assert records.gaps["standing"].to_list().count("best") == 2  # one for each load
    assert found["standing"].to_list().count("best") == 1
    assert set(found[LOAD]) == {33000}
    alone = make_records({POLICY: ["random", "max-upt"]})
    runs = alone.runs.with_columns(
        pl.when(pl.col("trial") > 0).then(pl.col("utility_percent")).alias("utility_percent")
    )
    assert replace(alone, runs=runs).gaps.is_empty()


def test_lists_that_are_text_are_spelt_out_in_study_keys_only() -> None:
    frame = tidy(pl.DataFrame({"optimise.seeds": ['["min-energy", "min-min"]', "[]", None, "[x"], "note": ["[]"] * 4}))
    assert frame["optimise.seeds"].to_list() == ["min-energy, min-min", "", None, "[x"]
    assert frame["note"].to_list() == ["[]"] * 4

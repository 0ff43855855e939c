"""Figures of managed days."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from joulewise.present.export import spec_of
from joulewise.present.layout import Drawing
from joulewise.present.lines import BUDGET, PUBLISHED
from joulewise.present.page import drawable
from joulewise.present.records import VARIANT, Records
from joulewise.present.tasks.keys import ENVIRONMENT, FILTER, LENIENCY, LOAD, POLICY, THRESHOLD, WEIGHT
from joulewise.present.views import beside, reshaped
from joulewise.study.catalogue import EXPERIMENTS
from tests.strategies.made import BUDGET_J, GAINED, MANAGED, TITLES, WEIGHED, drawings, make_records, with_frames
from tests.strategies.vega import is_vega_lite


def _names(records: Records) -> list[str]:
    return [figure.name for figure in drawable(records)]


def _drawn(records: Records, name: str) -> Drawing:
    return next(figure for figure in drawable(records) if figure.name == name).draw(records)


def _rows(drawing: Drawing) -> list[dict[str, Any]]:
    return [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]


def _strings(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set().union(*map(_strings, node.values()))
    if isinstance(node, list):
        return set().union(*map(_strings, node))
    return {node} if isinstance(node, str) else set()


def test_each_figure_needs_what_it_shows() -> None:
    assert "utility-over-time" not in _names(make_records(traces=False))
    assert "utility-by-threshold" not in _names(make_records({POLICY: list(TITLES)}))
    of_one_point = {"fates", "utility-by-priority", "utility-by-group", "fates-by-priority"}
    assert set(_names(make_records({LOAD: [33000]}, traces=False))) == of_one_point


def test_figures_of_managed_days_need_what_they_show() -> None:
    assert not {"utility-by-setting", "utility-by-leniency", "utility-by-weight"} & set(_names(make_records()))
    managed = _names(make_records(MANAGED))
    assert {"utility-by-setting", "utility-by-leniency"} <= set(managed)
    assert not {"utility-by-policy", "utility-by-weight"} & set(managed)
    without_filter = make_records({POLICY: list(TITLES), FILTER: ["none"], LENIENCY: [0.5, 1.0]})
    assert "utility-by-leniency" not in _names(without_filter)
    metrics = [
        name for name in make_records().runs.columns if name.partition(":")[2] or name in ("energy_j", "utility")
    ]
    bare = make_records()
    traces = bare.frame("traces").drop("energy_cumulative_j")
    bare = with_frames(replace(bare, runs=bare.runs.drop(metrics)), traces=traces)
    assert not {
        "utility-against-energy", "energy-over-time", "utility-by-priority", "utility-by-group", "fates-by-priority"
    } & set(_names(bare))  # fmt: skip


@pytest.mark.thorough("draws many figures")
@pytest.mark.parametrize(
    "sweep",
    [
        {POLICY: list(TITLES)},
        {POLICY: ["mine.py:f", "random"], THRESHOLD: [0.0, 0.5]},
        {THRESHOLD: [0.5, 1.0, 1.5]},
        {LOAD: [33000, 50000]},
        {VARIANT: ["small", "large"], LOAD: [1000, 2000]},
        {
            POLICY: ["random", "max-upt"],
            "system.rooms": [None, 2],
            "manager.mapping_interval": ["1 min", "1 h"],
        },
        {POLICY: [f"policy {i}" for i in range(22)], THRESHOLD: [0.0, 1.0]},
        {"a.key": list(range(3)), "b.key": list(range(10))},
        MANAGED,
        WEIGHED,
        {FILTER: ["none", "fair-share"], LENIENCY: [0.5, 1.0, 2.0], WEIGHT: [0.2, 0.5, 0.8]},
        {POLICY: ["random"], ENVIRONMENT: ["queued", "polled"], FILTER: ["none", "adaptive"]},
        {LENIENCY: [0.5, 1.0]},
        {"supply.budget_j": [1e9, 2e9], POLICY: ["random", "max-upt"]},
    ],
)
def test_any_sweep_can_be_drawn(sweep: dict[str, list[Any]]) -> None:
    for _, drawing in drawings(make_records(sweep, n_trials=2)):
        spec = spec_of(drawing.chart)
        assert is_vega_lite(spec)
        assert "$schema" not in spec
        assert drawing.caption.endswith(".")


def test_bars_show_titles_values_and_both_loads() -> None:
    figure, drawing = next(drawings(make_records()))
    assert figure.name == "utility-by-policy"
    assert {"Max-Max UPT", "immediate mode", "batch mode", "33,000", "50,000"} <= _strings(spec_of(drawing.chart))
    assert "dropping threshold 0" in drawing.caption
    assert "3 trials" in drawing.caption


def test_one_trial_is_said_to_have_no_interval() -> None:
    drawn = [drawing for _, drawing in drawings(make_records({POLICY: ["random", "max-upt"]}, n_trials=1))]
    assert "no intervals" in drawn[0].caption
    assert all("95 %" not in drawing.caption for drawing in drawn)


def test_more_settings_than_panels_are_announced() -> None:
    sweep: dict[str, list[Any]] = {POLICY: ["random", "max-upt"], "a.key": list(range(10))}
    captions = (drawing.caption for _, drawing in drawings(make_records(sweep)))
    assert any("first 6 of 10 settings" in caption for caption in captions)


def test_curves_start_and_end_where_the_traces_do() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]})
    rows = _rows(_drawn(records, "utility-over-time"))
    ends = [row["y"] for row in rows if row["name"] == "Max-Max UPT" and row["x"] == 24.0]
    total = records.runs.filter(pl.col(POLICY) == "max-max-upt", pl.col("trial") == 0)["utility"][0]
    assert ends
    assert max(ends) == pytest.approx(total)


def test_the_bound_of_curves_is_that_of_the_trials_that_they_show() -> None:
    records = make_records({POLICY: ["random", "max-upt"]})
    records = replace(records, runs=records.runs.with_columns(utility_bound=1e5 * (1 + pl.col("trial"))))
    kept = records.runs.filter(pl.col("run").is_in(records.frame("traces")["run"].unique().implode()))
    bounds = {row["y"] for row in _rows(_drawn(records, "utility-over-time")) if row.get("name") == "proven bound"}
    assert bounds == {kept["utility_bound"].mean()} != {records.runs["utility_bound"].mean()}


def test_runs_that_failed_leave_no_trace_in_a_figure() -> None:
    records = make_records()
    failed = pl.col(POLICY) == "random"
    numbers = [name for name, dtype in records.runs.schema.items() if name not in (*records.study.axes, "trial", "run")]
    runs = records.runs.with_columns(pl.when(~failed).then(pl.col(name)).alias(name) for name in numbers)
    left = records.differences.filter(~failed, pl.col("against") != "random")
    partial = replace(records, runs=runs, summary=records.summary.filter(~failed), differences=left)
    drawn = {figure.name: spec_of(drawing.chart) for figure, drawing in drawings(partial)}
    assert "Random" not in {row["name"] for rows in drawn["fates"]["datasets"].values() for row in rows}
    assert set(drawn) >= set(_names(records))


def test_several_kept_trials_make_a_band_around_their_mean() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]}, kept_trials=3)
    drawing = _drawn(records, "utility-over-time")
    ends = [row for row in _rows(drawing) if row["name"] == "Max-Max UPT" and row["x"] == 24.0 and row.get("low")]
    earned = records.runs.filter(pl.col(POLICY) == "max-max-upt")["utility"]
    assert ends[0]["y"] == pytest.approx(earned.mean())
    assert ends[0]["low"] < ends[0]["y"] < ends[0]["high"]
    assert "3 kept trials" in drawing.caption


def test_energy_is_drawn_with_its_budget_in_one_unit() -> None:
    records = make_records(MANAGED)
    over_time, by_leniency = (_drawn(records, name) for name in ("energy-over-time", "utility-by-leniency"))
    for drawing in (over_time, by_leniency):
        budgets = {row["y"] for row in _rows(drawing) if row.get("name") == BUDGET and "low" in row}
        assert budgets == {BUDGET_J / 1e9}
    assert "energy used (GJ)" in _strings(spec_of(over_time.chart))


def test_filters_without_leniency_stand_right_of_all_others() -> None:
    sweep: dict[str, list[Any]] = {
        POLICY: ["random", "max-max-upt"],
        FILTER: ["none", "fair-share", "adaptive"],
        LENIENCY: [0.5, 1.0, 1.5],
    }
    rows = [row for row in _rows(_drawn(make_records(sweep), "utility-by-leniency")) if row.get("name") == "Random"]
    measured = {row["x"]: row["piece"] for row in rows if "piece" in row}
    assert sorted(measured) == [0.5, 1.0, 1.5, 2.0, 2.5]
    assert [measured[x] for x in (0.5, 1.0, 1.5)] == [0, 0, 0]
    assert len({measured[1.5], measured[2.0], measured[2.5]}) == 3


def test_settings_are_shown_at_their_best_leniency() -> None:
    records = make_records(MANAGED)
    drawing = _drawn(records, "utility-by-setting")
    rows = {(row["name"], row["group"]): row["mean"] for row in _rows(drawing) if "group" in row}
    assert len(rows) == 2 * 2 * 3
    filtered = records.summary.filter(
        pl.col(POLICY) == "max-max-upt", pl.col(ENVIRONMENT) == "polled", pl.col(FILTER) == "fair-share",
        pl.col("metric") == "utility_percent",
    )  # fmt: skip
    assert rows["Max-Max UPT", "polled, fair-share filter"] == pytest.approx(filtered["mean"].max())
    assert "at the leniency at which it earned most" in drawing.caption


def test_variants_that_set_the_switches_count_as_settings() -> None:
    records = make_records({POLICY: ["random", "max-upt"], VARIANT: ["bare", "thrifty"]})
    filters = pl.col(VARIANT).replace_strict({"bare": "none", "thrifty": "adaptive"})
    records = replace(records, runs=records.runs.with_columns(filters.alias(FILTER)))
    rows = [row for row in _rows(_drawn(records, "utility-by-setting")) if "group" in row]
    assert {row["group"] for row in rows} == {"no filter", "adaptive filter"}
    assert len(rows) == 4


def test_variants_that_set_the_policy_are_told_by_it() -> None:
    records = make_records({VARIANT: ["first", "second"], THRESHOLD: [0.0, 0.5]})
    policies = pl.col(VARIANT).replace_strict({"first": "random", "second": "max-upt"})
    records = replace(records, runs=records.runs.with_columns(policies.alias(POLICY)))
    assert beside(records, (POLICY, THRESHOLD), POLICY) == ()
    assert _rows(_drawn(records, "utility-against-energy"))


def test_levels_and_groups_are_told_apart() -> None:
    records = make_records({POLICY: ["random", "max-upt"]})
    by_level = {(row["name"], row["group"]): row["mean"] for row in _rows(_drawn(records, "utility-by-priority"))}
    runs = records.runs.filter(pl.col(POLICY) == "random")
    assert by_level["Random", "critical"] == pytest.approx(runs["priority_percent:critical"].mean())
    assert {level for _, level in by_level} == {"critical", "high", "medium", "low"}
    groups = {row["group"] for row in _rows(_drawn(records, "utility-by-group"))}
    assert groups == {"special", "general"}
    fates = _rows(_drawn(records, "fates-by-priority"))
    assert {row["bar"] for row in fates} == {"critical", "high", "medium", "low"}
    assert {row["share"] for row in fates if row["fate"] == "dropped"} == {32.0}


def test_utility_against_energy_has_the_budget_and_the_bound() -> None:
    records = make_records({POLICY: ["random", "max-upt"]})
    rows = _rows(_drawn(records, "utility-against-energy"))
    limits = {row["name"]: row["at"] for row in rows if "at" in row}
    assert limits == {"budget": BUDGET_J / 1e9, "proven bound": pytest.approx(records.runs["utility_bound"].mean())}
    unlimited = replace(records, runs=records.runs.with_columns(budget_j=pl.lit(None, pl.Float64)))
    assert not any(row.get("name") == "budget" for row in _rows(_drawn(unlimited, "utility-against-energy")))


def test_fates_fill_a_hundred_percent_and_no_more() -> None:
    """Who arrived before the counted time may complete in it: 290 + 0 of 250 that arrived would be 116 %."""
    records = make_records({POLICY: ["random", "max-upt"]})
    crowd = [pl.lit(290).alias("tasks_completed:low"), pl.lit(10).alias("tasks_dropped:low")]
    drawing = _drawn(replace(records, runs=records.runs.with_columns(*crowd)), "fates-by-priority")
    totals: dict[tuple[str, str], float] = {}
    for row in _rows(drawing):
        totals[row["name"], row["bar"]] = totals.get((row["name"], row["bar"]), 0.0) + row["share"]
    assert all(total == pytest.approx(100.0) for total in totals.values())
    low = {row["fate"]: row["share"] for row in _rows(drawing) if row["bar"] == "low"}
    assert (low["completed"], low["dropped"]) == pytest.approx((96.0, 4.0))


def test_whiskers_and_axes_of_percentages_end_at_0_and_100() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]})
    wide = records.summary.with_columns(low=pl.lit(-20.0), high=pl.lit(130.0))
    drawing = _drawn(replace(records, summary=wide), "utility-by-policy")
    assert {(row["low"], row["high"]) for row in _rows(drawing) if "low" in row} == {(0.0, 100.0)}
    assert "'domain': [0.0, 108.0]" in str(spec_of(drawing.chart))  # room for what stands over the bars


def test_three_loads_are_lines_with_the_bound_and_two_are_bars() -> None:
    swept = make_records({POLICY: ["random", "max-max-upt"], LOAD: [10000, 33000, 50000]})
    runs = swept.runs.with_columns(possible_percent=100 * pl.col("utility") / pl.col("utility_bound"))
    lines = _drawn(reshaped(swept, runs, swept.study.axes), "utility-by-policy")
    assert "Points are means" in lines.caption
    assert {row["y"] for row in _rows(lines) if row.get("name") == "proven bound" and row["x"] < 1e9} >= {100.0}
    bars = _drawn(make_records({POLICY: ["random", "max-max-upt"], LOAD: [10000, 33000]}), "utility-by-policy")
    assert "Bars are means" in bars.caption


def test_small_charts_of_fates_have_one_axis_each_and_none_without_bars() -> None:
    policies = [f"policy {i}" for i in range(9)]
    titles = {name: name.title() for name in policies}
    drawing = _drawn(make_records({POLICY: policies}, titles=titles, modes={}), "fates")
    spec = spec_of(drawing.chart)
    assert len(spec["concat"]) == 9
    assert spec["columns"] == 5


def _inside(spec: Any, key: str) -> list[Any]:
    """All that a specification has under this key, wherever."""
    if isinstance(spec, list):
        return [found for part in spec for found in _inside(part, key)]
    if not isinstance(spec, dict):
        return []
    return [spec[key], *_inside(spec[key], key)] if key in spec else _inside(list(spec.values()), key)


def test_titles_of_small_charts_stand_at_one_height() -> None:
    axes = [y["axis"] for y in _inside(spec_of(_drawn(make_records(), "fates").chart), "y")]
    assert {axis["labelExpr"] for axis in axes} == {"datum.label", "'\N{NO-BREAK SPACE}'"}
    assert all(axis.get("labels", True) for axis in axes)  # labels that are not seen hold the place of those that are


def test_values_are_drawn_last_with_white_around_them_so_that_no_line_runs_through() -> None:
    few = make_records({POLICY: list(TITLES)[:2]})
    layers = _inside(spec_of(_drawn(few, "utility-by-policy").chart), "layer")[-1]
    last = [part["mark"] for part in layers[-2:]]
    assert [(mark["type"], mark.get("stroke")) for mark in last] == [("text", "white"), ("text", None)]


def test_gains_are_paired_on_equal_trials_and_one_line_for_each_setting() -> None:
    records = make_records(GAINED)
    rows = [row for row in _rows(_drawn(records, "gain-by-number")) if "piece" in row]
    assert {row["name"] for row in rows} == {"COV of powers 0.05", "COV of powers 0.1"}
    runs = records.runs.filter(pl.col("system.time_factor_cov") == 0.05, pl.col("system.power_cov") == 0.1)
    more, less = (
        runs.filter(pl.col(POLICY) == name).sort("trial")["utility"] for name in ("max-max-upt", "min-min-comp")
    )
    point = next(row for row in rows if row["name"] == "COV of powers 0.1" and row["x"] == 0.05)
    gains = 100 * (more / less - 1)
    assert point["y"] == pytest.approx(gains.mean())
    assert point["high"] == pytest.approx(gains.mean() + 4.302653 * gains.std() / 3**0.5)  # type: ignore[operator]


def test_gains_have_the_published_number_in_the_bundled_study_alone() -> None:
    study = EXPERIMENTS["pstate-cov"]
    of_study = _drawn(make_records(GAINED, source=study.study_text()), "gain-by-number")
    levels = {row["y"] for row in _rows(of_study) if row.get("name") == PUBLISHED and "low" in row}
    assert levels == {study.level} == {11.0}
    assert "published gain, about 11 %" in of_study.caption
    assert all(row.get("name") != PUBLISHED for row in _rows(_drawn(make_records(GAINED), "gain-by-number")))


def test_gains_need_two_policies_and_a_swept_number() -> None:
    sweeps: list[dict[str, list[Any]]] = [
        {**GAINED, POLICY: ["random", "max-upt", "max-max-upt"]},
        {POLICY: ["min-min-comp", "max-max-upt"], "system.power_cov": [0.05, 0.1]},
        {**GAINED, "a.key": list(range(20))},
    ]
    for sweep in sweeps:
        assert "gain-by-number" not in _names(make_records(sweep))
    one = _drawn(make_records(GAINED, n_trials=1), "gain-by-number")
    assert "no intervals" in one.caption

"""Every figure is drawn when, and only when, the records hold what it needs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joulewise.present.curves import spread
from joulewise.present.export import spec_of
from joulewise.present.figures import FIGURES, NEEDS, drawable, drawings
from joulewise.present.layout import inline
from joulewise.present.records import LOAD, POLICY, THRESHOLD, VARIANT, Records
from tests.present.made import TITLES, make_records

ALL = [figure.name for figure in FIGURES]


def _names(records: Records) -> list[str]:
    return [figure.name for figure in drawable(records)]


def _strings(node: Any) -> set[str]:
    if isinstance(node, dict):
        return set().union(*map(_strings, node.values()))
    if isinstance(node, list):
        return set().union(*map(_strings, node))
    return {node} if isinstance(node, str) else set()


def test_names_are_unique_and_needs_are_known() -> None:
    assert len(set(ALL)) == len(ALL)
    assert {need for figure in FIGURES for need in figure.needs} <= set(NEEDS)


def test_a_full_study_gets_every_figure() -> None:
    assert _names(make_records()) == ALL


def test_each_figure_needs_what_it_shows() -> None:
    assert "utility-over-time" not in _names(make_records(traces=False))
    assert "utility-by-threshold" not in _names(make_records({POLICY: list(TITLES)}))
    assert _names(make_records({LOAD: [33000]}, traces=False)) == ["fates"]


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
    ],
)
def test_any_sweep_can_be_drawn(sweep: dict[str, list[Any]]) -> None:
    for _, drawing in drawings(make_records(sweep, n_trials=2)):
        spec = spec_of(drawing.chart)
        assert "$schema" not in spec
        assert drawing.caption.endswith(".")


def test_bars_show_titles_values_and_both_loads() -> None:
    figure, drawing = next(drawings(make_records()))
    assert figure.name == "utility-by-policy"
    assert {"Max-Max UPT", "immediate mode", "batch mode", "33,000", "50,000"} <= _strings(spec_of(drawing.chart))
    assert "dropping threshold 0" in drawing.caption
    assert "3 trials" in drawing.caption


def test_one_trial_is_said_to_have_no_interval() -> None:
    drawn = [drawing for _, drawing in drawings(make_records(n_trials=1))]
    assert len(drawn) == len(ALL)
    assert "no intervals" in drawn[0].caption


def test_more_settings_than_panels_are_announced() -> None:
    sweep: dict[str, list[Any]] = {POLICY: ["random", "max-upt"], "a.key": list(range(10))}
    captions = [drawing.caption for _, drawing in drawings(make_records(sweep))]
    assert any("first 6 of 10 settings" in caption for caption in captions)


def test_curves_start_and_end_where_the_traces_do() -> None:
    records = make_records({POLICY: ["random", "max-max-upt"]})
    drawn = {figure.name: drawing for figure, drawing in drawings(records)}
    rows = [row for rows in spec_of(drawn["utility-over-time"].chart)["datasets"].values() for row in rows]
    ends = [row["utility"] for row in rows if row["name"] == "Max-Max UPT" and row["at_h"] == 24.0]
    total = records.runs.filter(pl.col(POLICY) == "max-max-upt", pl.col("trial") == 0)["utility"][0]
    assert ends
    assert max(ends) == pytest.approx(total)


def test_runs_that_failed_leave_no_trace_in_a_figure() -> None:
    records = make_records()
    failed = pl.col(POLICY) == "random"
    numbers = [name for name, dtype in records.runs.schema.items() if name not in (*records.study.axes, "trial", "run")]
    runs = records.runs.with_columns(pl.when(~failed).then(pl.col(name)).alias(name) for name in numbers)
    partial = Records(
        records.study,
        runs,
        records.summary.filter(~failed),
        records.differences.filter(~failed, pl.col("against") != "random"),
        records.traces,
        records.titles,
        records.modes,
    )
    drawn = {figure.name: spec_of(drawing.chart) for figure, drawing in drawings(partial)}
    assert "Random" not in {row["name"] for rows in drawn["fates"]["datasets"].values() for row in rows}
    assert set(drawn) == set(ALL)


def test_numbers_that_json_cannot_hold_become_null() -> None:
    frame = inline([{"a": float("nan"), "b": None, "c": "x"}, {"a": float("inf"), "b": None, "c": "y"}])
    assert frame["a"].to_list() == [None, None]
    assert frame["b"].dtype == pl.Float64


@given(st.dictionaries(st.text(min_size=1), st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 8))
def test_end_labels_keep_their_order_and_distance(ends: dict[str, float], gap: float) -> None:
    places = spread(ends, gap, highest=100.0)
    ranked = sorted(ends, key=lambda name: ends[name])
    assert all(places[above] - places[below] > gap * 0.999 for below, above in pairwise(ranked))
    if gap * len(ends) < 100:
        assert min(places.values()) > -1e-9
        assert max(places.values()) < 100 + 1e-9

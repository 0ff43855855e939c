"""Figures of searches: fronts, the machines behind their points, and profit."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.present.bags.findings import front_findings, profit_findings
from joulewise.present.bags.fronts import fronts
from joulewise.present.bags.gaps import kernel_density, profit_by_ratio, profit_gap
from joulewise.present.bags.keys import RATIO
from joulewise.present.bags.machines import finishing_times, machine_energies, machines_by_type
from joulewise.present.bags.pricing import pricing_findings, profit_by_price
from joulewise.present.bags.profit import feasible_region, profit_on_front
from joulewise.present.export import spec_of
from joulewise.present.fronts import front_by_generations
from joulewise.present.layout import Drawing
from joulewise.present.page import all_figures, drawable, page_of
from joulewise.present.plane import plane_of
from joulewise.present.records import METHOD, Records
from joulewise.present.report import render_report
from tests.strategies.made import with_frames
from tests.strategies.made_bags import COST_PER_J, TYPES, front_records, pricing_records, profit_records
from tests.strategies.vega import is_vega_lite

OF_FRONTS = {"front", "front-by-generations", "finishing-times", "machine-energies", "machines-by-type"}
OF_PROFIT = {"profit-on-front", "profit-by-ratio", "feasible-region"}


@pytest.fixture(scope="module")
def front() -> Records:
    return front_records()


@pytest.fixture(scope="module")
def profit() -> Records:
    return profit_records(n_trials=6)


def _names(records: Records) -> set[str]:
    return {figure.name for figure in drawable(records)}


def _rows(drawing: Drawing) -> list[dict[str, Any]]:
    return [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]


def _with(drawing: Drawing, *fields: str) -> list[dict[str, Any]]:
    return [row for row in _rows(drawing) if set(fields) <= set(row)]


def test_searches_get_the_figures_they_hold() -> None:
    assert _names(front_records(n_trials=6)) == OF_FRONTS
    assert _names(front_records(["lp"])) == OF_FRONTS - {"front-by-generations"}
    assert _names(profit_records()) == OF_PROFIT
    assert _names(profit_records(n_trials=6)) == OF_PROFIT | {"profit-gap"}
    assert _names(profit_records([1.2])) == OF_PROFIT - {"profit-by-ratio"}
    assert _names(with_frames(front_records(), fronts=None, machines=None)) == set()
    assert _names(with_frames(profit_records(), fronts=None)) == {"profit-by-ratio"}


@pytest.mark.parametrize("figure", [f for f in all_figures() if f.name in OF_FRONTS | OF_PROFIT | {"profit-gap"}])
def test_figures_are_valid_and_captions_are_sentences(front: Records, profit: Records, figure: Any) -> None:
    drawing = figure.draw(front if figure.name in OF_FRONTS else profit)
    assert is_vega_lite(spec_of(drawing.chart))
    assert drawing.caption.endswith(".")
    assert "  " not in drawing.caption


def test_a_plane_holds_its_points_in_units_for_people() -> None:
    plane = plane_of([pl.DataFrame({"energy_j": [1e7, 2e7], "makespan_s": [120.0, 600.0]})])
    assert (plane.energy_title, plane.y_title) == ("energy (MJ)", "makespan (min)")
    assert plane.x_domain == pytest.approx((9.4, 20.6))
    assert plane.place(1e7, 120.0) == {"x": 10.0, "y": 2.0}
    one = plane_of([pl.DataFrame({"energy_j": [5.0], "makespan_s": [1.0]})])
    assert one.x_domain[0] < 5.0 < one.x_domain[1]


def test_every_method_has_its_points_and_one_knee(front: Records) -> None:
    rows = _with(fronts(front), "is_knee")
    assert {row["name"] for row in rows} == {"LP", "NSGA-II"}
    assert sum(row["is_knee"] for row in rows) == 2


def test_generations_are_named_in_order(front: Records) -> None:
    names = [row["name"] for row in _with(front_by_generations(front), "generation")]
    assert list(dict.fromkeys(names)) == ["100", "1,000", "10,000", "100,000"]


@pytest.mark.parametrize(("draw", "most"), [(finishing_times, 909.0 / 60), (machine_energies, None)])
def test_machines_stand_sorted_in_every_panel(draw: Any, most: float | None) -> None:
    rows = _with(draw(front_records(["lp"])), "machine", "y")
    assert len(rows) == 5 * 12
    panels = [rows[i : i + 12] for i in range(0, len(rows), 12)]
    for panel in panels:
        heights = [row["y"] for row in panel]
        assert heights == sorted(heights, reverse=True)
    if most is not None:
        assert panels[0][0]["y"] == pytest.approx(most)


def test_machines_are_grouped_by_type_for_every_setting() -> None:
    drawing = machines_by_type(front_records(["lp"], [2, 6]))
    bars = _with(drawing, "x2", "type")
    assert len(bars) == 2 * 5 * 2 * 12
    assert all(row["zero"] == 0.0 for row in bars)
    text = str(spec_of(drawing.chart))
    assert "machine types 2" in text
    assert "machine types 6" in text


def test_two_methods_stand_below_each_other_and_of_more_the_best() -> None:
    two, three = (machines_by_type(front_records(methods)) for methods in (["lp", "nsga2"], ["lp", "nsga2", "one"]))
    assert len(_with(two, "x2", "type")) == 2 * 5 * 2 * 12
    assert {"front of LP", "front of NSGA-II"} <= set(re.findall("front of [^']+", str(spec_of(two.chart))))
    assert len(_with(three, "x2", "type")) == 5 * 2 * 12
    assert "the best of the methods" in three.caption


def test_bars_point_up_for_profit_and_down_for_loss() -> None:
    rows = _with(profit_on_front(profit_records([0.9, 1.5], idle_w=3000.0)), "end")
    by_ratio = {row["profit_ratio"]: row for row in rows}
    assert by_ratio[1.5]["end"] > by_ratio[1.5]["y"]
    assert by_ratio[0.9]["end"] < by_ratio[0.9]["y"]
    assert [by_ratio[ratio]["name"] for ratio in (0.9, 1.5)] == ["loss", "profit"]


def test_ratios_whose_optima_lie_together_are_told_once() -> None:
    labels = [row["text"] for row in _with(profit_on_front(profit_records([1.2, 1.2001, 1.7])), "text")]
    assert labels == ["1.2\N{EN DASH}1.2001", "1.7"]


def test_the_cap_is_shaded_above_the_line_of_its_power() -> None:
    drawing = profit_on_front(profit_records(cap_w=30e3))
    edge = _with(drawing, "top")
    assert all(row["y"] * 60 * 30e3 == pytest.approx(row["x"] * 1e6) for row in edge)
    assert "at most 30 kW" in drawing.caption
    assert "at most" not in profit_on_front(profit_records()).caption


def test_points_on_a_line_of_equal_profit_earn_the_same() -> None:
    records = profit_records([1.2], idle_w=3000.0)
    price = records.runs["price"][0]
    lines = _with(feasible_region(records), "level")
    assert len({row["level"] for row in lines}) > 4
    for row in lines:
        earned = (price - COST_PER_J * 1e6 * row["x"]) / (60 * row["y"])
        assert earned == pytest.approx(row["level"], abs=1e-9)


def test_the_region_is_closed() -> None:
    records = profit_records([1.2])
    outline = [rows for rows in spec_of(feasible_region(records).chart)["datasets"].values() if len(rows) == 49]
    assert outline[0][0]["x"] == outline[0][-1]["x"]


def test_gaps_are_shown_with_their_medians() -> None:
    records = profit_records([1.01, 1.5], [120, 1200], n_trials=9)
    medians = {(row["size"], row["name"]): row["y"] for row in _with(profit_gap(records), "shown")}
    assert set(medians) == {("10", "1.01"), ("10", "1.5"), ("100", "1.01"), ("100", "1.5")}
    gaps = records.runs.filter((pl.col(RATIO) == 1.5) & (pl.col("tasks") == 120))["gap_percent"]
    assert medians["10", "1.5"] == pytest.approx(gaps.median())


def test_a_density_is_highest_where_values_are() -> None:
    levels, density = kernel_density([1.0, 1.1, 1.2, 1.1, 5.0])
    assert levels[np.argmax(density)] < 1.5
    assert kernel_density([2.0, 2.0])[1].tolist() == [1.0] * 48


def test_profit_and_its_best_on_the_front_part_below_one() -> None:
    rows = _with(profit_by_ratio(profit_records([0.85, 0.9, 1.2], idle_w=3000.0)), "piece")
    at = {(row["name"], row["x"]): row["y"] for row in rows}
    assert at["most profit", 0.85] > at["best on the front", 0.85]
    assert at["most profit", 1.2] == pytest.approx(at["best on the front", 1.2])


def test_reports_of_searches_have_findings_tables_and_words() -> None:
    front = front_records(["lp", "nsga2"], [2, 6], n_trials=3)
    conclusion, *found = front_findings(front)
    assert conclusion.lead == "LP found the best front at both settings."
    assert [finding.lead[:31] for finding in found] == [f"Machine types {n}: LP found the b" for n in (2, 6)]
    assert "of the hypervolume of the proven bound (±" in found[0].lead
    (table,) = page_of("front").tables(front)
    assert len(table.rows) == 4
    assert "Hypervolume (% of the bound's)" in table.columns
    page = render_report(front_records(["lp"]))
    assert "Hypervolume" in page
    assert "Dropping threshold" not in page


def test_reports_of_profit_tell_gaps_and_losses() -> None:
    found = profit_findings(profit_records([0.85, 1.0, 1.5], idle_w=3000.0))
    assert "less per second than the proven bound" in found[0].lead
    assert found[-1].lead == "The most profit lies off the energy/makespan front at profit ratio 0.85."
    assert found[-1].support == "Every schedule makes a loss at profit ratio 0.85."
    (alone,) = profit_findings(profit_records([1.2]))
    assert alone.support.startswith("It earns ")
    assert "Profit ratio" in render_report(profit_records([1.2]))


def test_reports_of_prices_tell_what_earns_most() -> None:
    conclusion, *found = pricing_findings(pricing_records())
    assert conclusion.lead == "By backlog earns most at both settings."
    assert [finding.lead for finding in found] == [
        f"Customers per day {n}: by backlog earns {earned} on average, 90 % of the proven most."
        for n, earned in ((40, 36), (80, 72))
    ]
    assert found[0].support == "Fixed price at profit ratio 2 earns 30."
    page = render_report(pricing_records())
    assert "Worths unseen" in page
    assert "Hypervolume" not in page


def test_fixed_prices_are_a_line_and_other_ways_lines_across() -> None:
    records = pricing_records(per_day=[40])
    assert _names(records) == {"profit-by-price"}
    assert _names(pricing_records(ratios=[2.0])) == set()
    drawing = profit_by_price(records)
    is_vega_lite(spec_of(drawing.chart))
    at = {(row["name"], row["x"]): row["y"] for row in _with(drawing, "name", "x", "y", "piece")}
    assert [at["Fixed price", ratio] for ratio in (1.0, 2.0, 3.0)] == [20.0, 30.0, 20.0]
    assert [at["By backlog", ratio] for ratio in (1.0, 2.0, 3.0)] == [36.0] * 3
    assert at["most, worths unseen", 2.0] == 40.0


def test_searches_without_results_still_get_their_page() -> None:
    for records in (front_records(["lp"]), profit_records([1.2]), pricing_records()):
        empty = replace(records, runs=records.runs.clear(), summary=records.summary.clear())
        fronts = records.frame("fronts").clear()
        assert "No run has a result yet." in render_report(with_frames(empty, fronts=fronts, machines=None))


def test_labels_of_methods_are_their_titles() -> None:
    records = front_records(n_types=[2, 6])
    assert records.label(METHOD, "nsga2") == "NSGA-II"
    assert records.phrase(TYPES, 6) == "machine types 6"

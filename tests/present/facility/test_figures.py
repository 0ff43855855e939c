"""Figures and report of a facility: rates by technique, over time and by number, cores, and maps of the room."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest

from joulewise.present.export import spec_of
from joulewise.present.facility.bars import CRR_NAME, EARNED_NAME, PLAN_NAME, RR_NAME, rates_by_technique
from joulewise.present.facility.cores import by_memory, chosen_nodes, cores_of_nodes
from joulewise.present.facility.findings import facility_findings
from joulewise.present.facility.floor import MOST_STANDING, cells_of, rooms_of
from joulewise.present.facility.map import map_of_temperatures
from joulewise.present.facility.page import facility_tables
from joulewise.present.facility.progress import mean_steps, staircase
from joulewise.present.facility.sweep import PRICE_NAME, rates_by_number, slopes, turned_key
from joulewise.present.facility.view import BOUND_NAME, PASSES_BOUND, spread_out, technique_key
from joulewise.present.layout import Drawing
from joulewise.present.lines import LinePoint
from joulewise.present.page import all_figures, drawable
from joulewise.present.records import METHOD, VARIANT, Records
from joulewise.present.report import render_report
from joulewise.present.tables import points_table
from joulewise.units import AT_LIMIT_K
from tests.strategies.made import with_frames
from tests.strategies.made_facilities import CAP, CAPS, FIG_2, TASKS, TITLES, facility_records
from tests.strategies.vega import is_vega_lite

ONE = ({METHOD: "configurations"},)
MAPS = {"map-of-temperatures", "map-of-powers"}
OF_TECHNIQUES = {"rates-by-technique", "rate-over-time", "cores-of-nodes", *MAPS}
COMPARED = facility_records()
CAPPED = facility_records(CAPS, n_trials=2)


@cache
def _drawn(name: str) -> Drawing:
    """A figure, drawn once for all tests: of techniques, or, where those have none, of caps."""
    figure = next(figure for figure in all_figures() if figure.name == name)
    return figure.draw(COMPARED if figure in drawable(COMPARED) else CAPPED)


def _names(records: Records) -> set[str]:
    return {figure.name for figure in drawable(records)}


def _with(drawing: Drawing, *fields: str) -> list[dict[str, Any]]:
    rows = [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]
    return [row for row in rows if set(fields) <= set(row)]


def test_facilities_get_the_figures_they_hold() -> None:
    assert _names(COMPARED) == OF_TECHNIQUES
    assert _names(CAPPED) == OF_TECHNIQUES | {"rates-by-number"}
    assert _names(facility_records(ONE, n_trials=1)) == MAPS | {"cores-of-nodes"}
    assert _names(facility_records(details=False)) == {"rates-by-technique"}
    assert _names(with_frames(COMPARED, cores=None, cracs=None, progress=None)) == MAPS | {"rates-by-technique"}
    assert _names(with_frames(COMPARED, nodes=None)) == {"rates-by-technique", "rate-over-time"}
    assert _names(replace(COMPARED, runs=COMPARED.runs.clear())) == set()


@pytest.mark.parametrize("name", sorted(OF_TECHNIQUES | {"rates-by-number"}))
def test_figures_are_valid_and_captions_are_sentences(name: str) -> None:
    assert is_vega_lite(spec_of(_drawn(name).chart))
    caption = _drawn(name).caption
    assert caption.endswith(".")
    assert "  " not in caption
    assert ".." not in caption


def test_bars_show_what_a_day_earned_beside_what_its_plan_has() -> None:
    rows = _with(_drawn("rates-by-technique"), "measure", "mean", "offset")
    earned, plan = ({row["main"]: row for row in rows if row["measure"] == name} for name in (EARNED_NAME, PLAN_NAME))
    assert set(earned) == set(plan) == set(TITLES.values())
    assert earned["NLPCL"]["mean"] == pytest.approx(0.9 * plan["NLPCL"]["mean"])
    assert (earned["NLPCL"]["offset"], plan["NLPCL"]["offset"]) == (-0.5, 0.5)
    assert "if no task had to wait" in _drawn("rates-by-technique").caption
    assert PASSES_BOUND in _drawn("rates-by-technique").caption


def test_bars_are_means_with_intervals_and_blind_techniques_have_two() -> None:
    steady = replace(COMPARED, runs=COMPARED.runs.drop("day_earned_percent"))
    rows = _with(rates_by_technique(steady), "measure", "mean", "offset")
    crr = {row["main"]: row for row in rows if row["measure"] == CRR_NAME}
    mean = COMPARED.runs.filter(pl.col(METHOD) == "nlpcl")["crr_percent"].mean()
    assert crr["NLPCL"]["mean"] == pytest.approx(mean)
    assert crr["NLPCL"]["low"] < mean < crr["NLPCL"]["high"]
    assert {row["main"] for row in rows if row["measure"] == RR_NAME} == {"Greedy", "GA", "NLP"}
    assert {row["main"] for row in rows if row["measure"] == BOUND_NAME} == set(TITLES.values())
    assert (crr["NLPCL"]["offset"], crr["NLP"]["offset"]) == (0, -0.5)


def test_variants_name_techniques_where_each_has_one() -> None:
    named = COMPARED.runs.with_columns(pl.col(METHOD).str.to_uppercase().alias(VARIANT))
    seen = replace(COMPARED, runs=named, study=replace(COMPARED.study, axes=(VARIANT,)))
    assert technique_key(seen) == VARIANT
    assert "NLPCL" in {row["main"] for row in _with(rates_by_technique(seen), "measure", "main")}
    assert technique_key(COMPARED) == METHOD


def test_searches_rise_in_steps_below_the_bound_of_their_trial() -> None:
    rows = _with(_drawn("rate-over-time"), "piece")
    bound = COMPARED.runs.filter(pl.col("trial") == 0)["bound_percent"].mean()
    assert [row["y"] for row in rows if row["name"] == BOUND_NAME] == pytest.approx([bound, bound])
    levels = [row["y"] for row in rows if row["name"] == "GACL"]
    assert len(levels) == 50
    assert levels == sorted(levels)
    assert next(row["y"] for row in rows if row["name"] == "Greedy") == pytest.approx(levels[-1], abs=10)


def test_trials_are_averaged_from_when_all_have_a_plan() -> None:
    searches = pl.DataFrame(
        {"trial": [0, 0, 1, 1], "at_s": [1.0, 10.0, 2.0, 100.0], "crr_percent": [10.0, 20.0, 30.0, 40.0]}
    )
    steps = mean_steps(searches)
    assert [(round(10**step.x), step.y) for step in steps] == [(2, 20.0), (10, 25.0), (100, 30.0)]
    assert all(step.low is not None and step.low < step.y for step in steps)
    corners = staircase(steps, 3.0)
    assert [(corner.x, corner.y) for corner in corners][-2:] == [(2.0, 30.0), (3.0, 30.0)]


def test_a_number_is_drawn_with_bound_and_worth() -> None:
    rows = _with(_drawn("rates-by-number"), "piece")
    assert {row["name"] for row in rows} == {"Greedy", "Configurations", BOUND_NAME, PRICE_NAME}
    assert {row["x"] for row in rows} == {6.0, 8.0, 10.0, 12.0, 14.0}
    means = CAPPED.runs.filter(pl.col(METHOD) == "greedy").group_by(CAP, maintain_order=True).agg(
        pl.col("crr_percent").mean()
    )["crr_percent"]  # fmt: skip
    greedy = [row["y"] for row in rows if row["name"] == "Greedy"]
    assert greedy[:5] == pytest.approx(means.to_list())
    assert greedy[5] == greedy[6] == pytest.approx((means[1] - means[0]) / 2)
    assert "worth of 1 kW (percentage points)" in json.dumps(spec_of(_drawn("rates-by-number").chart))


def test_a_share_of_the_power_is_drawn_in_watts() -> None:
    keys = [{METHOD: "greedy", "system.cap_share": row[CAP] / 14_000, CAP: row[CAP]} for row in CAPS[:5]]
    made = facility_records(keys, n_trials=1, details=False)
    records = replace(made, runs=made.runs.drop(CAP), study=replace(made.study, axes=(METHOD, "system.cap_share")))
    rows = _with(rates_by_number(records), "piece")
    assert {row["x"] for row in rows if row["name"] == BOUND_NAME} == {6.0, 8.0, 10.0, 12.0, 14.0}


def test_slopes_are_per_unit() -> None:
    found = slopes([LinePoint(1.0, 10.0), LinePoint(3.0, 14.0), LinePoint(4.0, 15.0)], 1000.0)
    assert [point.x for point in found] == [1, 3, 3, 4]
    assert [point.y for point in found] == pytest.approx([0.002, 0.002, 0.001, 0.001])


@pytest.mark.parametrize(
    ("key", "title"),
    [("system.redline_c", "redline (°C)"), ("system.supply_c", "supply (°C)"), ("system.nodes", "size (nodes)")],
)
def test_any_number_can_be_turned(key: str, title: str) -> None:
    points = [{METHOD: "configurations", key: value} for value in (20.0, 25.0, 30.0)]
    records = facility_records(points, n_trials=1, details=False)
    assert _names(records) == {"rates-by-number"}
    drawing = rates_by_number(records)
    assert f'"title": "{title}"' in json.dumps(spec_of(drawing.chart), ensure_ascii=False)
    assert ("At the right, what 1 K more" in drawing.caption) == key.endswith("_c")


def test_of_several_numbers_the_cap_is_turned_and_wide_ones_are_logarithmic() -> None:
    both = [{METHOD: "greedy", "system.redline_c": redline, CAP: cap} for redline in (24, 25) for cap in (6e3, 8e3)]
    assert turned_key(facility_records(both, details=False)) == CAP
    wide = [{METHOD: "greedy", "system.nodes": nodes} for nodes in (100, 1000, 10_000)]
    drawing = rates_by_number(facility_records(wide, n_trials=1, details=False))
    assert {row["x"] for row in _with(drawing, "piece")} == {2.0, 3.0, 4.0}
    assert "logarithmic" in drawing.caption
    assert "no plan lies above the dotted line, the proven bound" in drawing.caption


def test_cores_are_stacked_and_task_types_ordered_by_memory() -> None:
    drawing = _drawn("cores-of-nodes")
    bars = _with(drawing, "core", "task", "y2")
    assert len(spec_of(drawing.chart)["concat"]) == 4
    tops = {core: max(row["y2"] for row in bars if row["core"] == core) for core in {row["core"] for row in bars}}
    assert all(top == pytest.approx(100) for top in tops.values())
    assert by_memory(COMPARED.frame("rates")) == list(TASKS)
    table = pl.DataFrame({"task": ["a", "b", "c"], "class": ["heavy", "light", "medium"]})
    assert by_memory(table) == ["b", "c", "a"]
    own = pl.DataFrame({"task": ["a", "b"], "class": ["b", "a"]}, schema_overrides={"class": pl.Enum(["b", "a"])})
    assert by_memory(own) == ["a", "b"]


def test_the_busiest_node_of_each_type_is_chosen_first() -> None:
    nodes = pl.DataFrame(
        {"node": range(6), "type": ["a", "a", "a", "b", "a", "c"], "cores": [2] * 6, "processors": [1] * 6}
    )
    cores = pl.DataFrame({"node": [0, 1, 1, 2, 5], "share": [1.0, 1.0, 0.9, 0.5, 1.0]})
    assert [node["node"] for node in chosen_nodes(nodes, cores)] == [0, 1, 2, 3, 5]


def test_few_racks_stand_and_many_are_seen_from_above() -> None:
    (few,), _ = rooms_of(facility_records(ONE, n_trials=1, n_nodes=60))
    (many,), _ = rooms_of(facility_records(ONE, n_trials=1, n_nodes=20 * (MOST_STANDING + 5)))
    assert few.is_standing
    beside, below = (cells_of(few, "inlet_c", pl.Expr.max, most) for most in (5, 4))
    assert (beside.n_across, beside.n_up, below.n_across, below.n_up) == (5, 20, 2, 43)
    assert beside.rows.height == below.rows.height == 60
    for below_k, is_at in ((AT_LIMIT_K / 2, True), (2 * AT_LIMIT_K, False)):  # as words have it
        near = replace(few, nodes=few.nodes.with_columns(inlet_c=pl.col("redline_c") - below_k))
        assert cells_of(near, "inlet_c", pl.Expr.max, 5).rows["near"].any() == is_at
    floor = cells_of(many, "inlet_c", pl.Expr.max, 10)
    assert floor.rows.height == MOST_STANDING + 5
    assert floor.rows["value"].max() == many.nodes["inlet_c"].max()
    powers = cells_of(many, "power_w", pl.Expr.sum, 10)
    assert powers.rows["value"].sum() == pytest.approx(many.nodes["power_w"].sum())


def test_maps_show_redline_and_supplies() -> None:
    drawing = _drawn("map-of-temperatures")
    assert "25 redline" in json.dumps(spec_of(drawing.chart))
    cells = _with(drawing, "shown_c", "value")
    assert len(cells) == 60
    hot = [row for row in cells if row["value"] > 24.95]
    dots = [row for row in _with(drawing, "x", "y") if set(row) == {"x", "y"}]
    assert [row["x"] + 0.3 for row in hot] == pytest.approx([dot["x"] for dot in dots])
    assert [row["crac"] for row in _with(drawing, "crac", "shown")] == ["n0", "n1", "n2"]
    assert len(_with(_drawn("map-of-powers"), "crac", "y")) == 3


def test_colours_span_a_degree_and_names_cover_no_tick() -> None:
    nodes = COMPARED.frame("nodes")
    even = with_frames(COMPARED, cracs=None, nodes=nodes.with_columns(inlet_c=25 - 1e-9 * pl.col("node")))
    assert '"domain": [24.0, ' in json.dumps(spec_of(map_of_temperatures(even).chart))
    mixed = nodes.with_columns(inlet_c=22.0 + pl.col("node") % 3, redline_c=26.0 + pl.col("node") % 2)
    words = json.dumps(spec_of(map_of_temperatures(with_frames(COMPARED, cracs=None, nodes=mixed)).chart))
    assert "27 hottest redline" in words
    assert '"values": [22.0, 23.0, 24.0, 27.0]' in words


def test_nodes_without_places_are_drawn_in_their_order_and_without_metres() -> None:
    drawing = map_of_temperatures(with_frames(facility_records(ONE, n_trials=1, placed=False), cracs=None))
    assert "not known" in drawing.caption
    assert "CRAC" not in drawing.caption
    assert "(m)" not in json.dumps(spec_of(drawing.chart))
    assert len(_with(drawing, "shown_c", "value")) == 60


def test_of_many_settings_few_rooms_are_shown() -> None:
    rooms, note = rooms_of(CAPPED)
    assert [room.title for room in rooms][::3] == ["power cap 6 kW, Configurations", "power cap 14 kW, Configurations"]
    assert "4 of 5 settings" in note
    many = facility_records([{METHOD: "greedy", CAP: 1000.0 * i} for i in range(6, 14)], n_trials=1)
    assert "4 of 8 settings" in rooms_of(many)[1]
    assert "At power cap 13 kW." in cores_of_nodes(many).caption
    first, *_, last = facility_findings(many)
    assert first.lead.startswith("Power cap 13 kW: ")
    assert last.lead == "These are the 6 of 8 settings that earned the most."
    assert spread_out(range(10), 4) == [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("above", "margin_k", "words"),
    [
        (None, None, ""),
        (0.0, -0.00002, ""),
        (0.004, 0.1, ""),
        (27.3, 0.1, r"At worst its day draws more than the cap for 27\.3\s% of the time, up to 12\.5\skW\."),
        (0.0, -0.31, r"At worst its day warms a node to 0\.31 K above its redline\."),
        (2.0, -0.31, r"up to 12\.5\skW and warms a node"),
    ],
)
def test_reports_say_which_limits_a_day_passes(above: float | None, margin_k: float | None, words: str) -> None:
    day: dict[str, float | None] = {
        "day_above_cap_percent": above,
        "day_peak_w": 12_500.0,
        "day_redline_margin_k": margin_k,
    }
    calm: dict[str, float | None] = {"day_above_cap_percent": 0.0, "day_peak_w": 11_000.0, "day_redline_margin_k": 1.0}
    if above is None:  # a study without a day
        day = calm = dict.fromkeys(day)
    is_first = pl.col("trial") == 0  # the worst trial is told
    runs = COMPARED.runs.with_columns(**{name: pl.when(is_first).then(day[name]).otherwise(calm[name]) for name in day})
    (finding,) = facility_findings(replace(COMPARED, runs=runs))
    assert re.search(words, finding.support) if words else "At worst" not in finding.support


def test_reports_say_what_was_found() -> None:
    (finding,) = facility_findings(COMPARED)
    assert finding.lead.startswith("Configurations earned the most in a day: 48.")
    (steady,) = facility_findings(replace(COMPARED, runs=COMPARED.runs.drop("day_earned_percent")))
    assert steady.lead.startswith("Configurations earned the most: 53.")
    assert steady.lead.endswith(", by its plan, if no task has to wait.")
    assert steady.support.startswith("The trials do not tell it apart from NLPCL. ")
    assert re.search(r"No plan has more than 5\d\.\d\s%, the proven bound\.", steady.support)
    assert "GA, which ignores co-location, plans with" in finding.support
    assert "Another kW would bring at most 3." in finding.support
    assert re.search(r"Trial (\d): Set CRAC 0 to 1\d.0 °C\.$", finding.support)
    said = (
        r"If no task had to wait, its plan would earn 53\.\d\s%; no plan has more than 5\d\.\d\s%, the proven bound\."
    )
    assert re.search(said, finding.support)
    table, day = facility_tables(COMPARED)
    assert (table.note, day.note) == ("", PASSES_BOUND)
    assert len(table.rows) == len(day.rows) == len(FIG_2)
    assert day.columns[:3] == ("Planned for the day (%)", "Earned in the day (%)", "Earned of what was planned (%)")
    assert "±" in day.rows[0][1][0].text
    noise = {"redline_margin_k": (-1e-15, 5e-15), "cooling_w": (3.9e-05, 1.3e-12), "supply_mean_c": (24.999999, 1e-9)}
    told = {
        "redline_margin_k": "0.00",
        "cooling_w": "0 W",
        "supply_mean_c": "25.00",
        "cap_w": "9 kW",
        "value_per_k": "0.00120",
    }
    rows = [{METHOD: "ga", "metric": name, "mean": mean, "low": mean - half, "high": mean + half, "n": 3}
            for name, (mean, half) in {**noise, "cap_w": (9e3, 0.0), "value_per_k": (0.0012, 0.0)}.items()]  # fmt: skip
    seen = points_table(replace(COMPARED, summary=pl.DataFrame(rows)), list(told), "Noise")
    assert [cell.text for cell in seen.rows[0][1][:-1]] == list(told.values())
    page = render_report(replace(COMPARED, runs=COMPARED.runs.clear(), summary=COMPARED.summary.clear()))
    assert "Co-located reward rate" in page
    assert "No run has a result yet." in page

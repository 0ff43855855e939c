"""Figures of utility and energy: fronts, populations, peaks, clouds, ellipses and densities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.present.assignments.aims import aim_of, with_aims
from joulewise.present.assignments.densities import densities, gamma_density
from joulewise.present.assignments.findings import utility_findings
from joulewise.present.assignments.fronts import (
    fronts_by_seeds,
    hypervolume_by_generations,
    utility_front,
    utility_per_energy,
)
from joulewise.present.assignments.fuzzy import (
    fuzzy_front,
    fuzzy_fronts_compared,
    outlines,
    spread_of_points,
    yardsticks,
)
from joulewise.present.assignments.keys import AIM, OBJECTIVE, PERCENTILES
from joulewise.present.export import spec_of
from joulewise.present.fronts import MOST_POINTS, front_by_generations, thinned
from joulewise.present.layout import Drawing
from joulewise.present.page import all_figures, drawable, page_of
from joulewise.present.plane import plane_of, planes_of, scale_said, strays_said, without_tail
from joulewise.present.records import GENERATIONS, SEEDS, VARIANT, Records
from joulewise.present.report import render_report
from tests.strategies.made import with_frames
from tests.strategies.made_fronts import FIVE_SEEDS, STEPS, fuzzy_records, utility_records
from tests.strategies.vega import is_vega_lite

OF_FRONTS = {"utility-front", "front-by-generations", "hypervolume-by-generations", "utility-per-energy"}
OF_CHANCE = {
    "utility-front",
    "utility-per-energy",
    "fuzzy-front",
    "fuzzy-fronts-compared",
    "spread-of-points",
    "densities",
}


@pytest.fixture(scope="module")
def made() -> list[Records]:
    """Two searches of one population each, five populations, and a search under chance."""
    return [utility_records(), utility_records(["nsga2"], FIVE_SEEDS), fuzzy_records()]


def _names(records: Records) -> set[str]:
    return {figure.name for figure in drawable(records)}


def _rows(drawing: Drawing) -> list[dict[str, Any]]:
    return [row for rows in spec_of(drawing.chart)["datasets"].values() for row in rows]


def _with(drawing: Drawing, *fields: str) -> list[dict[str, Any]]:
    return [row for row in _rows(drawing) if set(fields) <= set(row)]


def test_searches_get_the_figures_they_hold() -> None:
    assert _names(utility_records()) == OF_FRONTS
    assert _names(utility_records(["annealing"])) == {"utility-front", "utility-per-energy"}
    assert _names(utility_records(["nsga2"], FIVE_SEEDS)) == OF_FRONTS - {"front-by-generations"} | {"fronts-by-seeds"}
    assert _names(fuzzy_records()) == OF_CHANCE
    assert _names(fuzzy_records([("expected", 50)])) == OF_CHANCE - {"fuzzy-fronts-compared"}
    assert _names(with_frames(fuzzy_records(), fronts=None, clouds=None)) == {"densities"}


@pytest.mark.parametrize("figure", [f for f in all_figures() if f.name in OF_FRONTS | OF_CHANCE | {"fronts-by-seeds"}])
def test_figures_are_valid_and_captions_are_sentences(made: list[Records], figure: Any) -> None:
    for records in made:
        if figure in drawable(records):
            drawing = figure.draw(records)
            assert is_vega_lite(spec_of(drawing.chart))
            assert drawing.caption.endswith(".")
            assert "  " not in drawing.caption


def test_a_plane_of_utility_has_no_unit_upright() -> None:
    plane = plane_of([pl.DataFrame({"energy_j": [1e7, 2e7], "utility": [10.0, 20.0]})])
    assert (plane.energy_title, plane.y_title, plane.y_size) == ("energy (MJ)", "utility", 1.0)


def test_where_more_energy_changes_nothing_a_curve_needs_no_room() -> None:
    curve = pl.DataFrame({"energy_j": [1.0, 2.0, 3.0, 9.0], "utility": [5.0, 7.0, 8.0, 8.0]})
    assert without_tail(curve)["energy_j"].to_list() == [1.0, 2.0, 3.0]
    assert without_tail(curve.head(3)).height == 3
    assert without_tail(curve.clear()).is_empty()


def test_every_front_has_one_knee_and_one_peak() -> None:
    drawing = utility_front(utility_records())
    rings = _with(drawing, "mark")
    assert sorted((row["name"], row["mark"]) for row in rings) == [
        (name, mark) for name in ("Annealing", "NSGA-II") for mark in ("knee", "most utility per energy")
    ]
    assert "Annealing 98.0 %" in str(spec_of(drawing.chart))


def test_of_many_fronts_the_best_is_ringed() -> None:
    drawing = utility_front(utility_records(["nsga2"], FIVE_SEEDS))
    assert {row["name"] for row in _with(drawing, "mark")} == {"max-utility-per-energy"}
    assert "best front" in drawing.caption


def test_fronts_without_a_bound_are_drawn_without_one() -> None:
    drawing = utility_front(fuzzy_records())
    assert "bound" not in drawing.caption
    assert not _with(drawing, "line")


def test_long_curves_are_thinned_but_for_what_is_marked() -> None:
    points = pl.DataFrame({"energy_j": np.arange(1000.0), "is_knee": np.arange(1000) == 333})
    found = thinned(points)
    assert found.height <= MOST_POINTS + 1
    assert found["is_knee"].sum() == 1
    assert thinned(points.head(MOST_POINTS)).height == MOST_POINTS


def test_populations_stand_side_by_side_after_each_number_of_generations() -> None:
    drawing = fronts_by_seeds(utility_records(["nsga2"], FIVE_SEEDS))
    text = str(spec_of(drawing.chart))
    assert all(f"{step:,} generations" in text for step in STEPS)
    assert {row["name"] for row in _with(drawing, "order", "x") if "line" not in row} == {
        "min-energy", "min-min", "max-utility", "max-utility-per-energy", "random",
    }  # fmt: skip
    rings = _with(drawing, "mark")
    assert [row["name"] for row in rings] == ["max-utility-per-energy"] * 4


def test_what_was_found_in_the_end_is_the_last_step() -> None:
    records = utility_records(["nsga2"], FIVE_SEEDS)
    longer = replace(records, runs=records.runs.with_columns(pl.lit(200_000).alias(GENERATIONS)))
    assert "200,000 generations" in str(spec_of(fronts_by_seeds(longer).chart))
    steps = {round(row["x"], 3) for row in _with(hypervolume_by_generations(longer), "piece")}
    assert steps == {2.0, 3.0, 4.0, 5.0, 5.301}
    one = utility_records()
    longer = replace(one, runs=one.runs.with_columns(pl.lit(200_000).alias(GENERATIONS)))
    assert "200,000" in {row["name"] for row in _with(front_by_generations(longer), "generation")}


def test_points_far_off_their_front_do_not_squash_it() -> None:
    near = pl.DataFrame({"energy_j": [30e3, 33e3, 40e3, 45e3], "utility": [60.0, 65.0, 70.0, 75.0]})
    stray = pl.concat([near, pl.DataFrame({"energy_j": [1e8], "utility": [80.0]})])
    plane = plane_of([stray])
    assert (plane.energy_title, plane.inside(stray).height) == ("energy (kJ)", 4)
    assert "not drawn" in strays_said([near, stray])
    assert strays_said([near]) == ""


def test_panels_share_a_scale_where_each_fills_enough_of_it_and_units_always() -> None:
    short = pl.DataFrame({"energy_j": [9e5, 9.5e5], "utility": [1.0, 9.0]})
    long = pl.DataFrame({"energy_j": [1e6, 9e6], "utility": [1.0, 9.0]})
    apart = planes_of([[short], [long]])
    assert [plane.energy_title for plane in apart] == ["energy (MJ)"] * 2
    assert scale_said(apart) == " Each panel has its own scale."
    assert len(set(planes_of([[long], [long.head(2)]]))) == 1


def test_fronts_that_use_no_energy_have_no_utility_per_energy() -> None:
    records = utility_records(["annealing"])
    nothing = records.frame("fronts").filter(curve="front").head(1).with_columns(energy_j=0.0, utility=0.0)
    assert _names(with_frames(records, fronts=nothing)) == {"utility-front"}
    assert utility_front(with_frames(records, fronts=nothing)).caption


def test_objectives_go_by_the_names_of_their_variants() -> None:
    records = fuzzy_records([("mean-times", 50), ("percentile", 90)])
    named = records.runs.with_columns(pl.Series(VARIANT, ["Mean times", "nine tenths"]))
    study = replace(records.study, axes=(VARIANT,))
    assert with_aims(replace(records, runs=named, study=study)).values(AIM) == [
        "Mean times",
        "nine tenths (percentile 90)",
    ]


def test_variants_that_set_the_seeds_are_populations_too() -> None:
    records = utility_records(["nsga2"], FIVE_SEEDS)
    named = records.runs.with_columns(pl.Series(VARIANT, [f"seed {i}" for i in range(records.runs.height)]))
    axes = tuple(VARIANT if key == SEEDS else key for key in records.study.axes)
    seen = replace(records, runs=named, study=replace(records.study, axes=axes))
    assert "fronts-by-seeds" in _names(seen)
    assert [row["name"] for row in _with(fronts_by_seeds(seen), "mark")] == ["seed 3"] * 4


def test_one_population_is_coloured_by_generation() -> None:
    drawing = front_by_generations(utility_records())
    names = [row["name"] for row in _with(drawing, "generation")]
    assert list(dict.fromkeys(names)) == ["100", "1,000", "10,000", "100,000"]
    assert "up earns more" in drawing.caption


def test_hypervolumes_rise_with_the_generations() -> None:
    rows = _with(hypervolume_by_generations(utility_records(["nsga2"], FIVE_SEEDS, n_trials=2)), "piece")
    line = [row["y"] for row in rows if row["name"] == "random"]
    assert len(line) == 4
    assert line == sorted(line)


def test_lines_through_the_peak_lie_where_utility_per_energy_is_most() -> None:
    rows = _with(utility_per_energy(utility_records(["annealing"])), "rate")
    most = max(row["rate"] for row in rows)
    (peak,) = {(row["x"], row["y"]) for row in rows if row["rate"] == most}
    assert peak[1] / peak[0] == pytest.approx(most)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({OBJECTIVE: "mean-times"}, "mean times"),
        ({OBJECTIVE: "percentile", **dict.fromkeys(PERCENTILES, 50.0)}, "percentile 50"),
        ({OBJECTIVE: "percentile", PERCENTILES[0]: 25.0, PERCENTILES[1]: 75.0},
         "percentiles 25 (utility) and 75 (energy)"),
        ({}, ""),
    ],
)  # fmt: skip
def test_aims_are_told_in_words(row: dict[str, Any], said: str) -> None:
    assert aim_of(row) == said


def test_percentiles_that_no_run_seeks_do_not_tell_runs_apart() -> None:
    seen = with_aims(fuzzy_records([("mean-times", 1), ("mean-times", 99)]))
    assert not seen.varies(AIM)


def test_clouds_have_a_panel_for_each_objective_or_share_one() -> None:
    records = fuzzy_records([("mean-times", 50), ("percentile", 1), ("percentile", 99)])
    apart, together = fuzzy_front(records), fuzzy_fronts_compared(records)
    assert len(spec_of(apart.chart)["concat"]) == 3
    assert {row["name"] for row in _rows(together)} == {"mean times", "percentile 1", "percentile 99"}


def test_very_large_clouds_are_thinned_and_the_caption_says_so() -> None:
    drawing = fuzzy_front(fuzzy_records([("expected", 50)], n_points=150, n_samples=40))
    assert len([row for row in _rows(drawing) if "kind" not in row]) <= 1000
    assert "every few" in drawing.caption
    assert "every few" not in fuzzy_front(fuzzy_records(n_points=4, n_samples=5)).caption


def test_an_outline_is_one_standard_deviation_wide() -> None:
    row = {"point": 0, "mean_energy_j": 2.0, "mean_utility": 4.0, "sd_energy_j": 0.2, "sd_utility": 1.0,
           "correlation": -0.5, "tasks_dropped": 3.0}  # fmt: skip
    around = outlines(pl.DataFrame([row]), (2.0, 4.0))
    x, y = ([point[axis] for point in around] for axis in "xy")
    assert (min(x), max(x)) == pytest.approx((0.9, 1.1))
    assert (min(y), max(y)) == pytest.approx((0.75, 1.25), abs=2e-3)
    right = max(around, key=lambda point: point["x"])
    assert right["y"] == pytest.approx(1 - 0.5 * 0.25)
    nowhere = outlines(pl.DataFrame([{**row, "sd_energy_j": 0.0, "sd_utility": 0.0, "correlation": None}]), (2.0, 4.0))
    assert {(point["x"], point["y"]) for point in nowhere} == {(1.0, 1.0)}


def test_ellipses_have_one_scale_on_both_axes() -> None:
    spec = spec_of(spread_of_points(fuzzy_records([("expected", 50)])).chart)
    encoding = spec["encoding"]
    spans = [np.ptp(encoding[axis]["scale"]["domain"]) for axis in "xy"]
    assert spec["width"] / spans[0] == pytest.approx(spec["height"] / spans[1])


def test_energies_that_span_much_are_drawn_on_logarithmic_axes() -> None:
    records = fuzzy_records([("expected", 50)], n_points=8)
    wide = records.frame("fronts").with_columns(mean_energy_j=pl.col("mean_energy_j") * (1 + pl.col("point")))
    drawing = spread_of_points(with_frames(records, fronts=wide))
    spec = spec_of(drawing.chart)
    spans = [np.ptp(np.log2(spec["encoding"][axis]["scale"]["domain"])) for axis in "xy"]
    assert spec["width"] / spans[0] == pytest.approx(spec["height"] / spans[1])
    assert "logarithmic" in drawing.caption


def test_a_point_where_nothing_runs_is_no_yardstick() -> None:
    nothing = {"point": 0, "mean_energy_j": 0.0, "mean_utility": 0.0, "sd_energy_j": 0.0, "sd_utility": 0.0,
               "correlation": None, "tasks_dropped": 9.0}  # fmt: skip
    some = {**nothing, "point": 1, "mean_energy_j": 2.0, "mean_utility": 4.0}
    assert yardsticks([pl.DataFrame([nothing]), pl.DataFrame([some])]) == (2.0, 4.0)
    assert yardsticks([pl.DataFrame([nothing])]) == (1.0, 1.0)


def test_a_density_has_mean_one_and_its_variation() -> None:
    at = np.linspace(1e-4, 30.0, 400_000)
    for cov in (0.1, 0.5, 1.0):
        density = gamma_density(cov, at)
        step = at[1] - at[0]
        mean = (density * at).sum() * step
        assert density.sum() * step == pytest.approx(1.0, abs=2e-4)
        assert mean == pytest.approx(1.0, abs=1e-3)
        assert np.sqrt((density * at**2).sum() * step - mean**2) == pytest.approx(cov, rel=2e-3)


def test_densities_are_those_of_the_ranges() -> None:
    names = {row["name"] for row in _rows(densities(fuzzy_records()))}
    assert names == {"0.1", "0.5", "1", "1.5"}


@pytest.mark.thorough("takes seconds; others look at less of it")
def test_reports_say_what_was_found() -> None:
    (finding,) = utility_findings(utility_records(n_trials=3))
    assert finding.lead.startswith("Annealing found the best front: 98.")
    assert "of the hypervolume of the proven bound (±" in finding.lead
    (seeded,) = utility_findings(utility_records(["nsga2"], FIVE_SEEDS))
    assert seeded.lead.startswith("NSGA-II (seeds max-utility-per-energy) found the best front")
    (fuzzy,) = utility_findings(fuzzy_records())
    assert "on fresh samples" in fuzzy.lead
    assert "utilities by 3.00" in fuzzy.support
    (table,) = page_of("utility").tables(fuzzy_records())
    assert "Hypervolume (% of the bound's)" not in table.columns
    page = render_report(utility_records(["annealing"]))
    assert "whole box" in page
    assert "Bag" not in page


def test_searches_without_results_still_get_their_page() -> None:
    records = fuzzy_records()
    empty = replace(records, runs=records.runs.clear(), summary=records.summary.clear())
    fronts = records.frame("fronts").clear()
    assert "No run has a result yet." in render_report(with_frames(empty, fronts=fronts, clouds=None))

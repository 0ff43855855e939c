"""Claims on fronts of utility and energy, judged on made-up runs that bear them out and on such that do not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.study.catalogue import EXPERIMENTS, friese_5, friese_7, front_measures, ours_fronts
from joulewise.study.catalogue.experiment import Told
from joulewise.study.column import CLOUDS, FRONTS
from tests.study.bags.test_claims import Row, verdicts

Metrics = Callable[[Row], dict[str, float]]


# --- chapter 5 ---------------------------------------------------------------------------------------------------


def converging(shrinks: bool, panels: tuple[int, ...]) -> Metrics:
    """Populations with seeds are ahead of that without; they come together, or drift apart, from panel to panel."""

    def metrics(row: Row) -> dict[str, float]:
        seeds = row[friese_5.SEEDS]
        at = friese_5.SHOWN.index(friese_5.MIN_ENERGY if seeds == friese_5.ALL else seeds)
        steps = range(len(panels)) if shrinks else range(len(panels))[::-1]
        volumes = {f"hypervolume_percent:{n}": 90 - at * 10.0 ** (-step) for n, step in zip(panels, steps, strict=True)}
        return volumes | {"peak_position_percent": 40.0, "second_peak_percent": 1.0} | _ends(seeds, shrinks)

    return metrics


def _ends(seeds: str, as_claimed: bool) -> dict[str, float]:
    cheapest, best = friese_5.MIN_ENERGY, friese_5.MIN_MIN
    if not as_claimed:
        cheapest, best = best, cheapest
    return {
        f"{name}:{n}": value
        for n in friese_5.PANELS_2[:2]
        for name, value in (
            ("least_energy_j", 1.0 if seeds == cheapest else 2.0),
            ("most_utility", 2.0 if seeds == best else 1.0),
        )
    }


@pytest.mark.parametrize(
    ("experiment", "panels", "claim"),
    [
        ("fig-5.3", friese_5.PANELS_1, "5.1"),
        ("fig-5.4", friese_5.PANELS_2, "5.2"),
        ("fig-5.6", friese_5.PANELS_3, "5.3"),
    ],
)
def test_populations_must_come_together(experiment: str, panels: tuple[int, ...], claim: str) -> None:
    assert verdicts(experiment, converging(True, panels))[claim] == "reproduced"
    assert verdicts(experiment, converging(False, panels))[claim] == "not reproduced"


def test_all_seeds_together_must_be_like_min_energy() -> None:
    def like_min_min(row: Row) -> dict[str, float]:
        seeds = friese_5.MIN_MIN if row[friese_5.SEEDS] == friese_5.ALL else row[friese_5.SEEDS]
        return converging(True, friese_5.PANELS_2)({**row, friese_5.SEEDS: seeds})

    claim = "5.4 data set 2"
    assert verdicts("fig-5.4", converging(True, friese_5.PANELS_2))[claim] == "reproduced"
    assert verdicts("fig-5.4", like_min_min)[claim] == "partly"


def test_seeds_must_be_ahead_of_no_seeds() -> None:
    def random_ahead(row: Row) -> dict[str, float]:
        volume = 95.0 if row[friese_5.SEEDS] == friese_5.RANDOM else 90.0
        return {**converging(True, friese_5.PANELS_3)(row), **dict.fromkeys(_volumes(), volume)}

    assert verdicts("fig-5.6", converging(True, friese_5.PANELS_3))["5.5"] == "reproduced"
    assert verdicts("fig-5.6", random_ahead)["5.5"] == "not reproduced"


def _volumes() -> list[str]:
    return [f"hypervolume_percent:{n}" for n in friese_5.PANELS_3]


def test_min_energy_must_win_the_low_end_and_min_min_the_high_end() -> None:
    assert verdicts("fig-5.4", converging(True, friese_5.PANELS_2))["5.6"] == "reproduced"
    assert verdicts("fig-5.4", converging(False, friese_5.PANELS_2))["5.6"] == "not reproduced"


def test_the_peak_must_be_the_only_one_and_inside() -> None:
    def peak(position: float, dip: float) -> dict[str, str]:
        return verdicts("fig-5.5", lambda _: {"peak_position_percent": position, "second_peak_percent": dip})

    assert peak(30.0, 2.0) == {"5.7": "reproduced"}
    assert peak(99.0, 2.0) == peak(30.0, 20.0) == {"5.7": "partly"}
    assert peak(1.0, 20.0) == {"5.7": "not reproduced"}


# --- chapter 7 ---------------------------------------------------------------------------------------------------


def test_samples_must_earn_more_and_use_less_than_expected() -> None:
    def off(utility: float, energy: float) -> dict[str, str]:
        return verdicts("fig-7.4", lambda _: {"utility_off_sds": utility, "energy_off_sds": energy})

    assert off(2.0, -1.0) == {"7.1": "reproduced"}
    assert off(2.0, 1.0) == {"7.1": "partly"}
    assert off(-0.1, 0.1) == {"7.1": "not reproduced"}


def test_markers_must_move_right_and_down_with_the_percentile() -> None:
    def at(row: Row) -> int:
        return friese_7.X.index(int(row["variant"].removeprefix("X = ")))

    moves: Metrics = lambda row: {"utility_off_sds": at(row) - 2.0, "energy_off_sds": 2.0 - at(row)}  # noqa: E731
    stays: Metrics = lambda row: {"utility_off_sds": 2.0 - at(row), "energy_off_sds": at(row) - 2.0}  # noqa: E731
    assert verdicts("fig-7.5", moves) == {"7.2": "reproduced"}
    assert verdicts("fig-7.5", stays) == {"7.2": "not reproduced"}


def curves(low_gain: float, high_gain: float) -> Metrics:
    """Both have points from 40 % of the energy on, mean times earn their most at 60 %; percentiles earn more."""

    def metrics(row: Row) -> dict[str, float]:
        is_ours = row[friese_7.OBJECTIVE] == "percentile"
        found = {}
        for percent in friese_7.GRID:
            more = low_gain if percent <= 50 else high_gain
            found[f"fresh_utility_at:{percent}"] = min(percent, 60) + more * is_ours if percent >= 40 else 0.0
        return {**found, "solve_s": 100.0}

    return metrics


def test_percentiles_must_be_ahead_at_low_energies() -> None:
    assert verdicts("fig-7.6", curves(5.0, 1.0)) == {
        "7.3": "reproduced", "7.3 at equal time": "reproduced", "7.4": "not testable",
    }  # fmt: skip
    assert verdicts("fig-7.6", curves(-5.0, 1.0))["7.3"] == "not reproduced"
    assert verdicts("fig-7.6", curves(-5.0, 1.0))["7.3 at equal time"] == "not reproduced"


def test_points_that_drop_more_must_vary_less_and_utility_more_than_energy() -> None:
    def vary(sign: float) -> dict[str, str]:
        correlations = {f"{name}_sd_correlation": -0.9 * sign for name in ("utility", "energy")}
        rises = {"utility_sd_rise_percent": 2.0 + sign, "energy_sd_rise_percent": 2.0}
        return verdicts("fig-7.7", lambda _: correlations | rises)

    assert vary(1.0) == {"7.5": "reproduced", "7.6": "reproduced"}
    assert vary(-1.0) == {"7.5": "not reproduced", "7.6": "not reproduced"}


# --- ours --------------------------------------------------------------------------------------------------------


def test_annealing_must_beat_every_genetic_search() -> None:
    ranking = (ours_fronts.LAST, ours_fronts.GENETIC, ours_fronts.ISLANDS, ours_fronts.QUICK, ours_fronts.ANNEALED)
    found = verdicts("ours-utility-front", lambda row: {"hypervolume_percent": 92 + ranking.index(row["variant"])})
    assert set(found.values()) == {"reproduced"}
    found = verdicts("ours-utility-front", lambda row: {"hypervolume_percent": 90 - ranking.index(row["variant"])})
    assert set(found.values()) == {"not reproduced"}


def test_the_values_of_chances_and_foresight_are_told_apart() -> None:
    def worth(chances: float, foresight: float) -> dict[str, str]:
        return verdicts(
            "ours-chances",
            lambda row: {
                "chosen_worth": 50.0 + chances * (row["optimise.objective"] == ours_fronts.EXPECTED),
                "foreseen_worth": 50.0 + chances + foresight,
                "utility_ceiling": 100.0,
            },
        )

    assert worth(5.0, 2.0) == {"J22": "reproduced", "J23": "reproduced", "J24": "reproduced"}
    assert worth(5.0, 9.0)["J24"] == worth(-5.0, 1.0)["J22"] == "not reproduced"


# --- measures of fronts ------------------------------------------------------------------------------------------


def told(cloud: pl.DataFrame | None = None, **columns: list[float]) -> Told:
    """A front by rising energy, 0.1 MJ apart."""
    n = len(next(iter(columns.values())))
    filled = {"energy_j": [1e5 * (i + 1) for i in range(n)], **columns}
    curves = pl.DataFrame({"curve": ["front"] * n, "generation": [None] * n, **filled})
    return Told({"reference_energy_j": 1e6, "utility_ceiling": 50.0}, curves, cloud)


def test_a_dip_beside_the_peak_is_a_second_one() -> None:
    assert front_measures.second_peak_percent(told(utility_per_mj=[1.0, 3.0, 5.0, 4.0, 2.0])) == 0
    assert front_measures.second_peak_percent(told(utility_per_mj=[1.0, 3.0, 2.0, 5.0, 4.0])) == pytest.approx(25)
    assert front_measures.second_peak_percent(told(utility_per_mj=[1.0, 5.0, 3.0, 4.0, 1.0])) == pytest.approx(25)
    assert front_measures.peak_position_percent(told(utility_per_mj=[1.0, 3.0, 5.0, 4.0, 2.0])) == pytest.approx(50)


def test_ends_after_generations_are_those_of_snapshots() -> None:
    rows: dict[str, Any] = {
        "curve": ["snapshot", "snapshot", "front"], "generation": [10, 10, None],
        "energy_j": [2.0, 3.0, 1.0], "utility": [4.0, 5.0, 9.0],
    }  # fmt: skip
    seen = Told({}, pl.DataFrame(rows), None)
    assert front_measures.least_energy_j(10)(seen) == 2
    assert front_measures.most_utility(10)(seen) == 5


def test_markers_are_off_by_standard_deviations_of_what_varies() -> None:
    found = told(utility=[1.0, 2.0, 3.0], mean_utility=[2.0, 4.0, 3.0], sd_utility=[1.0, 2.0, 0.0])
    assert front_measures.utility_off_sds(found) == 1.0


def test_fresh_utility_is_that_of_the_best_point_within_an_energy() -> None:
    found = told(mean_energy_j=[1e5, 2e5, 3e5], mean_utility=[5.0, 4.0, 9.0])
    assert [front_measures.fresh_utility_at(percent)(found) for percent in (5, 25, 30)] == [0, 5, 9]


def test_what_drops_least_is_held_against_what_drops_most() -> None:
    found = told(
        tasks_dropped=[9.0, 6.0, 3.0, 0.0], sd_utility=[1.0, 2.0, 3.0, 5.0], sd_energy_j=[1.0, 3.0, 2.0, 4.0],
        mean_utility=[10.0, 20.0, 30.0, 40.0], mean_energy_j=[1.0, 2.0, 3.0, 4.0],
    )  # fmt: skip
    assert front_measures.DROPPED["utility_sd_correlation"](found) == pytest.approx(-1)
    assert front_measures.DROPPED["energy_sd_correlation"](found) == pytest.approx(-0.8)
    assert front_measures.DROPPED["utility_sd_rise_percent"](found) == pytest.approx(10)
    assert front_measures.DROPPED["energy_sd_rise_percent"](found) == pytest.approx(300)


def test_a_choice_is_worth_what_fresh_samples_say_and_foresight_more() -> None:
    """A joule costs 50 / 1e6; the first point looks better, the second is."""
    samples = {"point": [0, 0, 1, 1], "sample": [0, 1, 0, 1]}
    cloud = pl.DataFrame({**samples, "energy_j": [1e5, 1e5, 2e5, 2e5], "utility": [10.0, 30.0, 40.0, 20.0]})
    found = told(
        cloud, utility=[50.0, 45.0], mean_utility=[20.0, 30.0], mean_energy_j=[1e5, 2e5]
    )  # fmt: skip
    assert front_measures.chosen_worth(found) == pytest.approx(20 - 5)
    assert front_measures.foreseen_worth(found) == pytest.approx(np.mean([40 - 10, 30 - 5]))
    assert math.isnan(front_measures.foreseen_worth(found._replace(cloud=None)))


def test_measures_become_columns_of_runs_whose_fronts_were_kept() -> None:
    class Kept:
        runs = pl.DataFrame({"run": ["a", "b"], "trial": [0, 1]})

        @staticmethod
        def details(table: str) -> pl.DataFrame:
            tables = {
                FRONTS: told(utility_per_mj=[1.0, 2.0, 1.0]).curves.with_columns(run=pl.lit("a")),
                CLOUDS: pl.DataFrame(schema={"run": pl.String}),
            }
            return tables[table]

    runs = EXPERIMENTS["fig-5.5"].measured(Kept())  # type: ignore[arg-type]
    assert runs["peak_position_percent"].to_list() == [pytest.approx(50), None]

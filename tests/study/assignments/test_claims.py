"""Claims on fronts of utility and energy, judged on made-up runs that do not bear them out, and what they measure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from joulewise.study.catalogue import EXPERIMENTS, friese_5, front_measures
from joulewise.study.catalogue.experiment import Told
from joulewise.study.spec.column import CLOUDS, FRONTS
from tests.strategies.claims import Cells, Metrics, verdicts
from tests.strategies.true_assignments import ASSIGNMENTS


def test_all_seeds_together_must_be_like_min_energy() -> None:
    def like_min_min(run: Cells) -> Metrics:
        seeds = friese_5.MIN_MIN if run[friese_5.SEEDS] == friese_5.ALL else run[friese_5.SEEDS]
        return ASSIGNMENTS["fig-5.4"]({**run, friese_5.SEEDS: seeds})

    assert verdicts("fig-5.4", like_min_min)["5.4 data set 2"] == "not reproduced"


@pytest.mark.parametrize(("position", "dip"), [(99.0, 2.0), (30.0, 20.0), (1.0, 20.0)])
def test_the_peak_must_be_the_only_one_and_inside(position: float, dip: float) -> None:
    found = verdicts("fig-5.5", lambda _: {"peak_position_percent": position, "second_peak_percent": dip})
    assert found == {"5.7": "not reproduced"}


def test_the_values_of_chances_and_foresight_are_told_apart() -> None:
    found = verdicts("ours-chances", lambda run: ASSIGNMENTS["ours-chances"](run) | {"foreseen_worth": 65.0})
    assert found == {"J22": "reproduced", "J23": "reproduced", "J24": "not reproduced"}


# --- measures of fronts ------------------------------------------------------------------------------------------


def told(cloud: pl.DataFrame | None = None, **columns: list[float]) -> Told:
    """A front by rising energy, 0.1 MJ apart."""
    n = len(next(iter(columns.values())))
    filled = {"energy_j": [1e5 * (i + 1) for i in range(n)], **columns}
    curves = pl.DataFrame({"curve": ["front"] * n, "generation": [None] * n, **filled})
    tables = {FRONTS: curves} if cloud is None else {FRONTS: curves, CLOUDS: cloud}
    return Told({"reference_energy_j": 1e6, "utility_ceiling": 50.0}, tables)


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
    seen = Told({}, {FRONTS: pl.DataFrame(rows)})
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
    assert math.isnan(front_measures.foreseen_worth(found._replace(tables={FRONTS: found.tables[FRONTS]})))


def test_measures_become_columns_of_runs_whose_fronts_were_kept() -> None:
    class Kept:
        runs = pl.DataFrame({"run": ["a", "b"], "trial": [0, 1]})

        @staticmethod
        def tables(run: str) -> dict[str, pl.DataFrame]:
            return dict(told(utility_per_mj=[1.0, 2.0, 1.0]).tables) if run == "a" else {}

    runs = EXPERIMENTS["fig-5.5"].measured(Kept())  # type: ignore[arg-type]
    assert runs["peak_position_percent"].to_list() == [pytest.approx(50), None]

"""Made-up metrics on which every claim on fronts of utility and energy is true, by experiment and run."""

from __future__ import annotations

from functools import partial

from joulewise.study.catalogue import friese_5, friese_7, ours_fronts
from tests.strategies.claims import Cells, Metrics, Table


def _converging(run: Cells, panels: tuple[int, ...]) -> Metrics:
    """Populations with seeds are ahead of that without, and all come together from panel to panel."""
    seeds = run[friese_5.SEEDS]
    at = friese_5.SHOWN.index(friese_5.MIN_ENERGY if seeds == friese_5.ALL else seeds)
    volumes = {f"hypervolume_percent:{n}": 90 - at * 10.0 ** (-step) for step, n in enumerate(panels)}
    ends = {
        f"{name}:{n}": value
        for n in friese_5.PANELS_2[:2]
        for name, value in (
            ("least_energy_j", 1.0 if seeds == friese_5.MIN_ENERGY else 2.0),
            ("most_utility", 2.0 if seeds == friese_5.MIN_MIN else 1.0),
        )
    }
    return {**volumes, **ends, **_PEAK}


_PEAK = {"peak_position_percent": 30.0, "second_peak_percent": 2.0}


def _moving(run: Cells) -> Metrics:
    at = friese_7.X.index(int(run["variant"].removeprefix("X = ")))
    return {"utility_off_sds": at - 2.1, "energy_off_sds": 2.1 - at}


def _ahead(run: Cells) -> Metrics:
    """Both have points from 40 % of the energy on, mean times earn their most at 60 %; percentiles earn more."""
    is_ours = run[friese_7.OBJECTIVE] == "percentile"
    earned = {
        percent: min(percent, 60) + (5.0 if percent <= 50 else 1.0) * is_ours if percent >= 40 else 0.0
        for percent in friese_7.GRID
    }
    return {**{f"fresh_utility_at:{percent}": value for percent, value in earned.items()}, "solve_s": 100.0}


_RANKING = (ours_fronts.LAST, ours_fronts.GENETIC, ours_fronts.ISLANDS, ours_fronts.QUICK, ours_fronts.ANNEALED)


def _chances(run: Cells) -> Metrics:
    is_expected = run["optimise.objective"] == ours_fronts.EXPECTED
    return {"chosen_worth": 50.0 + 5.0 * is_expected, "foreseen_worth": 57.0, "utility_ceiling": 100.0}


ASSIGNMENTS: dict[str, Table] = {
    "fig-5.3": partial(_converging, panels=friese_5.PANELS_1),
    "fig-5.4": partial(_converging, panels=friese_5.PANELS_2),
    "fig-5.5": lambda _: dict(_PEAK),
    "fig-5.6": partial(_converging, panels=friese_5.PANELS_3),
    "fig-7.3": lambda _: {},
    "fig-7.4": lambda _: {"utility_off_sds": 2.0, "energy_off_sds": -1.0},
    "fig-7.5": _moving,
    "fig-7.6": _ahead,
    "fig-7.7": lambda _: {
        "utility_sd_correlation": -0.9,
        "energy_sd_correlation": -0.9,
        "utility_sd_rise_percent": 5.0,
        "energy_sd_rise_percent": 2.0,
    },
    "ours-utility-front": lambda run: {"hypervolume_percent": 92.0 + _RANKING.index(run["variant"])},
    "ours-chances": _chances,
}

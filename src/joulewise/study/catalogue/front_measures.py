"""Measures of fronts of utility and energy that claims look at, beyond the columns of runs."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from joulewise.model.arrays import Floats
from joulewise.study.catalogue.experiment import Measure, Told
from joulewise.study.spec.column import CLOUDS, FRONTS

_PART = 4
"""Ends of a front are told by one in this many of its points."""


def _front(told: Told) -> pl.DataFrame:
    return told.tables[FRONTS].filter(pl.col("curve") == "front").sort("energy_j")


def _column(table: pl.DataFrame, name: str) -> Floats:
    return table[name].cast(pl.Float64).fill_null(math.nan).to_numpy()


# --- generations -------------------------------------------------------------------------------------------------


def least_energy_j(generation: int) -> Measure:
    """The least energy on the front after a number of generations."""
    return lambda told: float(_column(_snapshot(told, generation), "energy_j").min(initial=math.inf))


def most_utility(generation: int) -> Measure:
    """The most utility on the front after a number of generations."""
    return lambda told: float(_column(_snapshot(told, generation), "utility").max(initial=-math.inf))


def _snapshot(told: Told, generation: int) -> pl.DataFrame:
    return told.tables[FRONTS].filter((pl.col("curve") == "snapshot") & (pl.col("generation") == generation))


def ends_after(generations: Iterable[int]) -> dict[str, Measure]:
    """Both ends of fronts after this many generations, by name."""
    found: dict[str, Measure] = {}
    for n in generations:
        found |= {f"least_energy_j:{n}": least_energy_j(n), f"most_utility:{n}": most_utility(n)}
    return found


# --- the peak of utility per energy ------------------------------------------------------------------------------


def peak_position_percent(told: Told) -> float:
    """Where the most utility per energy lies between the least energy of the front (0) and the most (100)."""
    front = _front(told)
    energy_j, rate = _column(front, "energy_j"), _column(front, "utility_per_mj")
    reach_j = float(np.ptp(energy_j))
    return 100 * float(energy_j[np.argmax(rate)] - energy_j[0]) / reach_j if reach_j > 0 else 0.0


def second_peak_percent(told: Told) -> float:
    """The deepest dip on the way up to the peak or down from it, in percent of its height over the lower end."""
    rate = _column(_front(told), "utility_per_mj")
    peak = int(np.argmax(rate))
    height = float(rate[peak] - min(rate[0], rate[-1]))
    dips = max(_deepest_dip(rate[: peak + 1]), _deepest_dip(rate[peak:][::-1]))
    return 100 * dips / height if height > 0 else 100.0


def _deepest_dip(rising: Floats) -> float:
    """How far values fall below what was reached before."""
    return float((np.maximum.accumulate(rising) - rising).max())


PEAK: dict[str, Measure] = {
    "peak_position_percent": peak_position_percent,
    "second_peak_percent": second_peak_percent,
}


# --- fresh samples -----------------------------------------------------------------------------------------------


def energy_off_sds(told: Told) -> float:
    """How much more energy fresh samples use than the objective says, in standard deviations, mean over points."""
    return _off_sds(told, "energy_j")


def utility_off_sds(told: Told) -> float:
    """How much more utility fresh samples earn than the objective says, in standard deviations, mean over points."""
    return _off_sds(told, "utility")


def _off_sds(told: Told, name: str) -> float:
    front = _front(told)
    seen, mean, sd = (_column(front, column) for column in (name, f"mean_{name}", f"sd_{name}"))
    varies = sd > 0
    return float(((mean - seen)[varies] / sd[varies]).mean()) if varies.any() else math.nan


OFF: dict[str, Measure] = {"energy_off_sds": energy_off_sds, "utility_off_sds": utility_off_sds}


def fresh_utility_at(percent: int) -> Measure:
    """The most utility, mean over fresh samples, that some point earns with this much of the reference energy."""

    def measure(told: Told) -> float:
        front, limit_j = _front(told), percent / 100 * told.row["reference_energy_j"]
        within = _column(front, "mean_energy_j") <= limit_j
        return float(_column(front, "mean_utility")[within].max(initial=0.0))

    return measure


def energy_sd_correlation(told: Told) -> float:
    """Spearman's correlation of tasks dropped and standard deviation of energy over the points."""
    return _sd_correlation(told, "sd_energy_j")


def utility_sd_correlation(told: Told) -> float:
    """Spearman's correlation of tasks dropped and standard deviation of utility over the points."""
    return _sd_correlation(told, "sd_utility")


def _sd_correlation(told: Told, name: str) -> float:
    front = _front(told)
    found = front.select(pl.corr("tasks_dropped", name, method="spearman")).item()
    return math.nan if found is None else float(found)


def sd_rise_percent(name: str, scale: str) -> Measure:
    """How much more points vary that drop the fewest tasks than those that drop the most, one in four each.

    As in fig. 7.7 energies are in percent of the least of the front, utilities of the most.
    """

    def measure(told: Told) -> float:
        front = _front(told).sort("tasks_dropped")
        n = -(-front.height // _PART)
        sds = _column(front, f"sd_{name}")
        unit = float(getattr(np, scale)(_column(front, f"mean_{name}")))
        return 100 * float(sds[:n].mean() - sds[-n:].mean()) / unit if unit > 0 else math.nan

    return measure


DROPPED: dict[str, Measure] = {
    "energy_sd_correlation": energy_sd_correlation,
    "utility_sd_correlation": utility_sd_correlation,
    "energy_sd_rise_percent": sd_rise_percent("energy_j", "min"),
    "utility_sd_rise_percent": sd_rise_percent("utility", "max"),
}


# --- one choice --------------------------------------------------------------------------------------------------


def chosen_worth(told: Told) -> float:
    """What the point that is best by its own objective is worth in fresh samples.

    Worth is utility less energy at a price: the utility of all tasks over the reference energy.
    """
    front, per_j = _front(told), _price(told)
    chosen = int(np.argmax(_column(front, "utility") - per_j * _column(front, "energy_j")))
    return float(_column(front, "mean_utility")[chosen] - per_j * _column(front, "mean_energy_j")[chosen])


def foreseen_worth(told: Told) -> float:
    """What the front would be worth if each fresh sample were known before a point is chosen; NaN without samples."""
    if CLOUDS not in told.tables:
        return math.nan
    worth = told.tables[CLOUDS].select("sample", worth=pl.col("utility") - _price(told) * pl.col("energy_j"))
    return float(worth.group_by("sample").agg(pl.col("worth").max())["worth"].mean())  # type: ignore[arg-type]


def _price(told: Told) -> float:
    return float(told.row["utility_ceiling"] / told.row["reference_energy_j"])


CHOICE: dict[str, Measure] = {"chosen_worth": chosen_worth, "foreseen_worth": foreseen_worth}

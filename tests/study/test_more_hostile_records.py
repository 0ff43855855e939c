"""More records that a reader would call false: settings that cancel, ties, failures and missing runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from joulewise.study.catalogue import EXPERIMENTS, friese_5, friese_7
from tests.strategies.claims import Cells, runs_of
from tests.strategies.true_tables import TRUE
from tests.study.test_hostile_records import (
    AFFINITY,
    FILTER,
    LENIENCY,
    LOAD,
    METHOD,
    POLICY,
    THRESHOLD,
    Alteration,
    Changes,
    judged,
    where,
)

VARIANT, RATIO, HETEROGENEITY = "variant", "optimise.profit_ratio", "workload.heterogeneity"
FAILED: Changes = dict.fromkeys(("utility", "utility_percent", "tasks_completed"))


def _one_leniency_failed(affinity: str, **best: float) -> Alteration:
    """One leniency of Max-Max UPT failed everywhere, and another is far better."""

    def alter(run: Cells) -> Changes:
        is_there = (run[AFFINITY], run[VARIANT], run[POLICY]) == (affinity, "filter", "max-max-upt")
        changes: dict[float, Changes] = {1.5: FAILED, 2.0: dict(best)}
        return changes.get(run[LENIENCY], {}) if is_there else {}

    return alter


def _one_threshold_failed(run: Cells) -> Changes:
    """Of fixed thresholds the best at the lower load earns twice as much at the higher one; another failed."""
    if run[VARIANT] != "fixed":
        return {}
    if run[LOAD] == 33_000:
        return {"utility": None if run[THRESHOLD] == 1.5 else 1000 + 10 * run[THRESHOLD]}
    return {"utility": 2000.0 if run[THRESHOLD] == 2.0 else 900.0}


def _less_utility_by_min_min(run: Cells) -> Changes:
    seeds = run[friese_5.SEEDS]
    return {
        f"most_utility:{n}": 1.0
        if seeds == friese_5.MIN_MIN
        else 0.9
        if seeds == friese_5.RANDOM and n == 1000
        else 3.0
        for n in (1000, 10_000)
    }


def _always_up_and_left(run: Cells) -> Changes:
    at = friese_7.X.index(int(run[VARIANT].removeprefix("X = ")))
    return {"utility_off_sds": at - 20.1, "energy_off_sds": 20.1 - at}


def _curves(ours: Callable[[int], float], theirs: Callable[[int], float]) -> Alteration:
    return lambda run: {
        f"fresh_utility_at:{percent}": 0.0
        if percent < 40
        else (ours if run[friese_7.OBJECTIVE] == "percentile" else theirs)(percent)
        for percent in friese_7.GRID
    }


_AHEAD_THEN_BEHIND = _curves(
    lambda p: 60.0 if p <= 50 else 65.0,
    lambda p: 40.0 if p <= 50 else 50.0 if p <= 55 else 80 + 0.01 * min(p, 60),
)
_BEHIND_THEN_AHEAD = _curves(
    lambda p: 20.0 if p <= 44 else 62.5,
    lambda p: 40.0 if p <= 44 else 45.0 if p <= 50 else 62.5 + 0.01 * (min(p, 60) - 50),
)


def _power_up_and_down(run: Cells) -> Changes:
    def drawn(power_w: float, makespan_s: float) -> Changes:
        return {"mean_power_w": power_w, "optimum_energy_j": power_w * makespan_s, "optimum_makespan_s": makespan_s}

    ratio = run[RATIO]
    return drawn(90e3, 1e3) if 1.02 < ratio < 1.22 else drawn(10e3, 5e3) if 1.22 < ratio < 1.6 else {}


def _wide_by_every_other_trial(run: Cells) -> Changes:
    if run[POLICY] != "max-max-upe":
        return {"utility_percent": 60 - abs(run[LENIENCY] - 0.75) if run[VARIANT] == "filter" else 56.0}
    is_odd_one = run[VARIANT] == "filter" and run[LENIENCY] == 1.5
    return {"utility_percent": (88.0, 57.0)[run["trial"] % 2] if is_odd_one else 57.9}


def _slow_in_one_trial(run: Cells) -> Changes:
    times_s = {"nlpcl": (50.0, 30.0), "configurations": (10.0, 0.1)}.get(run[METHOD], (1.0, 1.0))
    return {"solve_s": times_s[run["trial"] > 0]}


def _never_used_up(run: Cells) -> Changes:
    after_21_h = {"exhausted_s": run["workload.warm_up_s"] + 21 * 3600.0}
    return {"max-max-upe": {"exhausted_s": None}, "max-max-upt": after_21_h}.get(run[POLICY], {})


DOUBTED: dict[str, tuple[str, str, Alteration]] = {
    "a leniency failed (3.20)": ("fig-3.14", "3.20 utility declining", _one_leniency_failed("low", utility=99e3)),
    "a leniency failed (3.21)": (
        "fig-3.14", "3.21 literal", _one_leniency_failed("high", utility=90e3, utility_percent=90.0),
    ),
    "a threshold failed": ("ours-load", "J42 more", _one_threshold_failed),
    "all weights are as good": (
        "fig-3.14", "3.17 declining",
        where(lambda run: run[POLICY] == "weighted-util" and run[AFFINITY] == "low", utility_percent=40.0),
    ),
    "all leniencies are as good": (
        "fig-3.14", "3.18",
        where(lambda run: run[VARIANT] == "filter" and run[AFFINITY] == "high", utility_percent=60.0),
    ),
    "rivals are flat over weights": (
        "fig-3.5", "3.5 declining",
        where(lambda run: run[VARIANT] == "weighted" and run[POLICY] != "weighted-util", utility_percent=45.0),
    ),
    "others use a tenth of the energy": (
        "machovec-fig-9", "M8", where(lambda run: run[VARIANT] == "comparison", energy_j=1e9),
    ),
    "half of the sentence is false": ("fig-5.4", "5.6", _less_utility_by_min_min),
    "markers never cross their clouds": ("fig-7.5", "7.2", _always_up_and_left),
    "far ahead, then far behind": ("fig-7.6", "7.3", _AHEAD_THEN_BEHIND),
    "behind at the lowest energies": ("fig-7.6", "7.3", _BEHIND_THEN_AHEAD),
    "less where node types differ somewhat": (
        "ours-facility-heterogeneity", "J31",
        lambda run: {"crr_percent": {0: 30.0, 1: 20.0, 2: 10.0, 3: 31.0}[run[HETEROGENEITY]]},
    ),
    "power goes up and down": ("tarplee-fig-1", "T7 (rises)", _power_up_and_down),
    "another reading of greedy earns more": (
        "oxley-fig-2", "O3", where(lambda run: run[METHOD] == "greedy-rounds", crr_percent=90.0),
    ),
    "hardly fewer neighbours": (
        "oxley-fig-3", "O4", lambda run: {"heavy_neighbours": 4.95 if run[METHOD] == "nlpcl" else 5.0},
    ),
    "greedy takes longer": ("oxley-fig-4", "O6", where(lambda run: run[METHOD] == "greedy", solve_s=500.0)),
    "much faster on average of ratios alone": ("oxley-fig-2", "J27", _slow_in_one_trial),
    "one gains twice as much, one nothing": (
        "fig-2.6", "2.11",
        lambda run: {"max-util": {"utility_percent": 100.0 if run[THRESHOLD] == 1.5 else 10.0},
                     "max-upt": {"utility_percent": 10.0}}.get(run[POLICY], {}),
    ),
    "far too few and far too many events": (
        "fig-2.7", "2.7",
        lambda run: {"mapping_events": {"max-max-util": 20.0, "max-max-upt": 380.0}.get(run[POLICY], 1440.0)},
    ),
    "one policy has far too many events": (
        "fig-2.7", "2.12", where(lambda run: run[POLICY] == "sufferage" and run[THRESHOLD] > 0, mapping_events=5000.0),
    ),
    "never used up": ("fig-3.8", "3.10", _never_used_up),
    "the newest first loses with the filter": (
        "fig-4.4", "4.5",
        where(lambda run: "lcfs" in run[POLICY] and run[FILTER] == "adaptive", utility=1.0),
    ),
    "a front beyond the bound": (
        "fig-6.3", "6.1",
        lambda _: {"least_energy_j": 30.0, "knee_energy_j": 40.0, "least_makespan_s": 20.0, "knee_makespan_s": 30.0},
    ),
    "wide by every other trial": ("fig-3.8", "3.8", _wide_by_every_other_trial),
    "chances lose, foresight more": (
        "ours-chances", "J24",
        lambda run: {"chosen_worth": 50.0 if run["optimise.objective"] == "expected" else 55.0, "foreseen_worth": 40.0},
    ),
    "annealing with all moves is behind": (
        "ours-utility-front", "J19", where(lambda run: run[VARIANT] == "annealing", hypervolume_percent=50.0),
    ),
    "hardly correlated": (
        "fig-7.7", "7.5", lambda _: {"utility_sd_correlation": -0.02, "energy_sd_correlation": -0.02},
    ),
}  # fmt: skip


@pytest.mark.thorough("damages whole results")
@pytest.mark.parametrize(("experiment", "claim", "alter"), DOUBTED.values(), ids=DOUBTED)
def test_no_claim_stands_on_doubtful_records(experiment: str, claim: str, alter: Alteration) -> None:
    assert judged(experiment, claim, lambda _: {}) <= {"reproduced", "not testable"}
    assert judged(experiment, claim, alter) & {"not reproduced", "not judged", "undecided"}


LEFT: dict[str, tuple[str, Callable[[Cells], bool]]] = {
    "one policy": ("fig-4.4", lambda run: run[POLICY] == "max-max-util"),
    "little idle power": ("tarplee-idle", lambda run: run["system.idle_percent"] <= 5),
    "one trial of the rivals": ("ours-failures", lambda run: run[POLICY] == "prices" or run["trial"] == 0),
    "other trials of the rivals": ("ours-failures", lambda run: run["trial"] != (0 if run[POLICY] == "prices" else 4)),
}


@pytest.mark.parametrize(("experiment", "is_left"), LEFT.values(), ids=LEFT)
def test_nothing_is_judged_where_runs_are_missing(experiment: str, is_left: Callable[[Cells], bool]) -> None:
    runs = runs_of(experiment, TRUE[experiment])
    left = runs.filter([is_left(run) for run in runs.iter_rows(named=True)])
    found = EXPERIMENTS[experiment].findings(left)
    assert {finding.verdict for finding in found} == {"not judged"}
    assert all("not all runs of the study are there" in finding.ours for finding in found)

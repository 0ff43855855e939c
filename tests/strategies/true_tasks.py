"""Made-up metrics on which every claim on days of tasks is true, by experiment and run."""

from __future__ import annotations

from joulewise.study.catalogue.friese_2 import MET_BASED, NAIVE, SMART
from joulewise.study.catalogue.friese_2_events import PUBLISHED_MS
from joulewise.study.catalogue.friese_4 import QUARTERS_MIN
from tests.strategies.claims import Cells, Metrics, Table

_LATE, _LATE_IMMEDIATE = 0.32, 0.005
_CLOSE_TO_NOTHING = 1e-16


def _policy(run: Cells) -> str:
    return str(run["manager.policy"])


def _peak(value: float, at: float, height: float, slope: float) -> float:
    """A roof over one value of a sweep."""
    return height - slope * abs(value - at)


def _fig_2_5(run: Cells) -> Metrics:
    policy, is_low = _policy(run), run["workload.tasks_per_day"] == 33_000
    batch = 53.13 if is_low else 41.26
    percent = 2.0 if policy in NAIVE else batch / 3.5 if policy in SMART else batch
    return {
        "utility_percent": percent,
        "maximum_utility": 65_051.0 if is_low else 98_708.0,
        "group_percent:special": 60.0,
        "system_tasks_per_day": 26_000.0,
    }


def _fig_2_6(run: Cells) -> Metrics:
    policy, threshold = _policy(run), run["manager.dropping_threshold"]
    peak, base = 50.0 if policy in MET_BASED else 55.0, 10.0 if policy in SMART else 45.0
    return {"utility_percent": {0.0: base, 1.5: peak}.get(threshold, peak - 1 if threshold > 1.5 else base + 1)}


def _k_best(run: Cells) -> Metrics:
    return {"utility_percent": 60.0 - (run["manager.best_types"] or 0)}


def _fig_2_7(run: Cells) -> Metrics:
    is_low, drops = run["workload.tasks_per_day"] == 33_000, run["manager.dropping_threshold"] > 0
    if _policy(run) in (*NAIVE, *SMART):
        percent = 1.0 if _policy(run) in NAIVE else 53.13 / 3.5 if is_low else 3.0
        return {"utility_percent": percent, "mapping_events": 50_000.0, "late_events": _LATE_IMMEDIATE * 50_000.0}
    is_slow = _policy(run) in ("max-max-util", "max-max-upt")
    events = 200.0 if is_slow and not is_low and not drops else 1440.0
    percent = 53.13 if is_low else 5.0 if is_slow else 41.26
    return {"utility_percent": percent, "mapping_events": events, "late_events": _LATE * events}


def _fig_2_8(run: Cells) -> Metrics:
    return {"utility_percent": 60.0 if run["variant"] == "each arrival" else 59.0}


def _table_g_1(run: Cells) -> Metrics:
    published_ms = PUBLISHED_MS[_policy(run)][run["workload.tasks_per_day"] == 50_000]
    return {"mapping_s": published_ms * 1e-3 * 1440.0, "mapping_events": 1440.0}


def _app_a(run: Cells) -> Metrics:
    return {"utility_percent": 50.0 + 0.1 * run["manager.permuted"]}


def _app_h(run: Cells) -> Metrics:
    percent = 60.0 if run["manager.dropping_threshold"] == 0.5 else 50.0
    critical = {"priority_percent:critical": 70.0, "tasks_arrived:critical": 100.0}
    return {"utility_percent": percent, "utility": 1e5, **critical}


def _fig_3_8(run: Cells) -> Metrics:
    policy, leniency, is_filtered = _policy(run), run["manager.leniency"], run["variant"] == "filter"
    best, height, slope = (1.5, 58.0, 0.5) if policy == "max-max-upe" else (0.75, 60.0, 5.0)
    without = 55.5 if policy == "max-max-upe" else 50.0
    used_min = {"max-max-util": 1000.0, "max-max-upt": 900.0, "max-max-upe": 1080.0}.get(policy, 800.0)
    return {
        "utility_percent": _peak(leniency, best, height, slope) if is_filtered else without,
        "budget_percent": 90.0 if is_filtered and leniency <= 0.6 else 100.0,
        "exhausted_s": run["workload.warm_up_s"] + 60 * used_min,
    }


def _fig_3_5(run: Cells) -> Metrics:
    if run["variant"] != "weighted":
        return {"utility_percent": 40.0 if run["variant"] == "no filter" else 45.0}
    weight, at = run["manager.weight"], 0.5 if _policy(run) == "weighted-util" else 0.2
    used = 100.0 if weight <= 0.4 else 90.0
    return {"utility_percent": _peak(weight, at, 1.28 * 40.0, 20.0), "budget_percent": used}


def _fig_3_12(run: Cells) -> Metrics:
    return {"utility_percent": _peak(run["manager.weight"], 0.5, 50.0, 10.0)}


def _fig_3_14(run: Cells) -> Metrics:
    affinity, policy, aside = run["system.affinity"], _policy(run), run["trial"] - 2
    at = ("low", "as drawn", "high").index(affinity)
    place = ("max-max-upt", "max-max-upe", "weighted-util").index(policy)
    height = 40.0 + 10.0 * at + place * (1 if affinity == "high" else 3)
    if policy == "weighted-util":
        percent = _peak(run["manager.weight"], (0.3, 0.5, 0.7)[at], height, 20.0)
    elif run["variant"] == "filter":
        percent = _peak(run["manager.leniency"], (2.0, 1.0, 0.6)[at], height, 5.0)
    else:
        percent = height - 5.0
    return {
        "utility_percent": percent, "utility": 1000 * percent, "tasks_completed": 500 * percent,
        "system_tma": (_CLOSE_TO_NOTHING, 0.0865 + 0.0009 * aside, 0.16 + 0.004 * aside)[at],
    }  # fmt: skip


def _budget_3(run: Cells) -> Metrics:
    budget_j = run["supply.budget_j"]
    is_rival = run["variant"] != "budget" or _policy(run) != "max-max-upt"
    gain = 0.1 * 1e9 / budget_j if is_rival and budget_j is not None else 0.0
    return {"energy_j": 1.11e9 / 0.7, "utility": 1e5 * (1 + gain)}


def _chapter_4(run: Cells) -> Metrics:
    policy, is_polled = _policy(run), run["manager.environment"] == "polled"
    is_upe, is_filtered = policy == "max-max-upe", run["manager.energy_filter"] == "adaptive"
    is_prioritized = policy.startswith("prioritized")
    order = 100.0 * is_prioritized + 20.0 * ("lcfs" in policy) + 5.0 * (policy.endswith("-all") == is_prioritized)
    value = 1000.0 if is_upe else 500.0 if policy.startswith("max") else 100.0 + order
    return {
        "utility": value + 40.0 * is_polled + (0.0 if is_upe else 200.0 * is_filtered),
        "budget_percent": 90.0 if is_upe else 100.0,
        "priority_percent:critical": 60.0 + 10.0 * is_polled,
        "priority_percent:low": 20.0,
        "idle_percent": 10.0 + 5.0 * is_polled,
        "idle_with_energy_percent": 5.0 + 5.0 * is_polled,
        "mapping_s": 0.1,
        "mapping_events": 1440.0,
    }


def _fig_4_6(run: Cells) -> Metrics:
    """Straight lines; without the filter nothing is earned after three quarters of the day."""
    slope = 1.1 if run["manager.environment"] == "polled" else 1.0
    lasts = 1440 if run["manager.energy_filter"] == "adaptive" else 1080
    return {f"utility_at_{minute}_min": slope * min(minute, lasts) for minute in QUARTERS_MIN}


def _budget_4(_: Cells) -> Metrics:
    return {"energy_j": 1.11e9 / 0.7}


def _fig_3_13(run: Cells) -> Metrics:
    at = ("filtering", "neither", "weighting", "weighting, all mapped").index(run["variant"])
    return {
        "utility_at_900_min": 10.0 + at,
        "utility": 50.0 if run["variant"] == "neither" else 60.0 + at,
        "tasks_completed": 1000.0 + 200 * at,
        "budget_lasted_min": 1000.0 if run["variant"] == "neither" else 1420.0,
        "budget_percent": 100.0,
    }


def _pstate_cov(run: Cells) -> Metrics:
    return {"utility_percent": 44.4 if _policy(run) == "max-max-upe" else 40.0}


def _special_types(run: Cells) -> Metrics:
    return {**_fig_2_5(run), **_fig_3_8(run), **_budget_3(run)}


def _slow_mapping(run: Cells) -> Metrics:
    return {"utility": 500.0 if run["manager.environment"] == "queued" else 400.0}


def _ours_prices(run: Cells) -> Metrics:
    return {"utility": 1000.0 if _policy(run) == "prices" else 800.0, "possible_percent": 96.0}


def _ours_tariff(run: Cells) -> Metrics:
    follows = run["manager.follows_tariff"]
    return {"utility": 1000.0 + 10.0 * follows, "energy_cost": 50.0 - follows}


def _ours_uncertain(run: Cells) -> Metrics:
    is_killed = run["variant"] == "killed at twice the estimate"
    return {"utility": (1000.0 if _policy(run) == "prices" else 800.0) + 10.0 * is_killed}


def _ours_failures(run: Cells) -> Metrics:
    part = 0.99 if run["variant"] == "failures" else 1.0
    return {"utility": part * (1000.0 if _policy(run) == "prices" else 800.0)}


def _ours_bag_online(run: Cells) -> Metrics:
    return {"utility": {"bag-prices": 1000.0, "prices": 990.0, "bag-makespan": 850.0}.get(_policy(run), 800.0)}


TASKS: dict[str, Table] = {
    "fig-2.5": _fig_2_5,
    "fig-2.5-literal": _fig_2_5,
    "fig-2.6": _fig_2_6,
    "fig-2.6-literal": _fig_2_6,
    "fig-2.7": _fig_2_7,
    "fig-2.8": _fig_2_8,
    "fig-g.1": _fig_2_6,
    "table-g.1": _table_g_1,
    "k-best": _k_best,
    "app-a": _app_a,
    "app-h": _app_h,
    "fig-3.5": _fig_3_5,
    "fig-3.8": _fig_3_8,
    "fig-3.8-literal": _fig_3_8,
    "fig-3.12": _fig_3_12,
    "fig-3.14": _fig_3_14,
    "fig-3.13": _fig_3_13,
    "budget-3": _budget_3,
    "budget-3-literal": _budget_3,
    "special-types": _special_types,
    "pstate-cov": _pstate_cov,
    "budget-4": _budget_4,
    "fig-4.4": _chapter_4,
    "fig-4.4-dynamic": _chapter_4,
    "fig-4.6": _fig_4_6,
    "slow-mapping": _slow_mapping,
    "ours-prices": _ours_prices,
    "ours-tariff": _ours_tariff,
    "ours-uncertain": _ours_uncertain,
    "ours-failures": _ours_failures,
    "ours-bag-online": _ours_bag_online,
}

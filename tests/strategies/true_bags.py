"""Made-up metrics on which every claim on bags of tasks is true, by experiment and run."""

from __future__ import annotations

from joulewise.study.catalogue import friese_6, tarplee
from tests.strategies.claims import Cells, Metrics, Table

_FIG_6_3 = {
    "least_energy_j": 10.0, "knee_energy_j": 11.0, "reference_energy_j": 22.0,
    "least_makespan_s": 5.0, "knee_makespan_s": 6.0, "reference_makespan_s": 16.5,
    friese_6.AFTER: 95.0, friese_6.LAST: 95.2,
    "busy_cov:least makespan": 0.03, "busy_cov:least energy": 0.8, "energy_cov:least makespan": 0.2,
}  # fmt: skip


def _fig_6_8(run: Cells) -> Metrics:
    place = friese_6.BY_TYPES.index(run["variant"])
    shares = dict.fromkeys(friese_6.BEST_TYPES, 30.0) | {"AMD FX-8150": 10.0}
    return {
        "least_makespan_s": 10.0 - place, "least_energy_j": 10.0 - place, "unused_types:least energy": float(place),
        **{f"task_percent:{name}": share for name, share in shares.items()},
    }  # fmt: skip


def _profits(run: Cells) -> Metrics:
    """Below a ratio of 1 schedules off the front gain three percent of the income."""
    ratio = run[tarplee.RATIO]
    off_front = 0.03 * ratio if ratio < 1 else 0.0
    return {
        "price": ratio, "optimum_makespan_s": 1.0,
        "profit_bound_per_s": ratio - 1, "pareto_profit_per_s": ratio - 1 - off_front,
    }  # fmt: skip


def _gaps(run: Cells) -> Metrics:
    return {"gap_percent": 50 - run[tarplee.SIZE] / 3600 + 5 * run[tarplee.RATIO]}


def _walk(run: Cells) -> Metrics:
    """Optima that walk from least energy to least makespan by a knee."""
    share, knee = (min(max((ratio - 1.01) / (1.5 - 1.01), 0.0), 1.0) for ratio in (run[tarplee.RATIO], 1.2))
    makespan_s, energy_j = 3000 - 2000 * share, 50e6 * (1 + 0.2 * share)
    return {
        "optimum_energy_j": energy_j, "optimum_makespan_s": makespan_s, "mean_power_w": 0.99 * energy_j / makespan_s,
        "energy_bound_j": 50e6, "makespan_bound_s": 1000.0,
        "knee_energy_j": 50e6 * (1 + 0.2 * knee), "knee_makespan_s": 3000 - 2000 * knee,
    }  # fmt: skip


def _idle(run: Cells) -> Metrics:
    return {"makespan_bound_s": 10.0, "optimum_makespan_s": 10.0 * (1.0 if run[tarplee.IDLE] > 60 else 2.0)}


_SEARCHES = {
    "one population": 92.0,
    "four islands": 94.0,
    "a million generations": 95.0,
    "recovered LP": 98.0,
    "annealing": 99.0,
}


def _prices(run: Cells) -> Metrics:
    """By backlog most, each alone next, and the best fixed price is one of 2."""
    ratio = run[tarplee.RATIO]
    earned = {"backlog": 9.0, "alone": 8.0, "fixed": 7.0 - abs((ratio or 2.0) - 2.0)}
    return {"profit": earned[run["optimise.method"]], "unseen_bound": 10.0}


BAGS: dict[str, Table] = {
    "ours-backlog": _prices,
    "ours-makespan-islands": lambda run: {"hypervolume_percent": _SEARCHES[run["variant"]]},
    "ours-makespan-gpu": lambda run: {
        "hypervolume_percent": _SEARCHES[run["variant"]],
        "hypervolume_percent:10000": 90.0,
        "hypervolume_percent:100000": 93.0,
    },
    "fig-6.3": lambda _: dict(_FIG_6_3),
    "fig-6.8": _fig_6_8,
    "tarplee-fig-1": _walk,
    "tarplee-fig-2": _gaps,
    **dict.fromkeys(("tarplee-fig-3", "tarplee-fig-4", "tarplee-fig-5"), _profits),
    "tarplee-time": lambda _: {"solve_s": 1e-3},
    "tarplee-idle": _idle,
}

"""Claims on bags of tasks, judged on made-up runs that bear them out and on such that do not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import pytest

from joulewise.study import plan
from joulewise.study.catalogue import EXPERIMENTS, friese_6, tarplee

TRIALS = 4
Row = Mapping[str, Any]


def verdicts(experiment: str, metrics: Callable[[Row], dict[str, float]]) -> dict[str, str]:
    """The verdict on each claim if every run had these metrics, a little different in each trial."""
    rows = []
    for run in plan(EXPERIMENTS[experiment].study(TRIALS)):
        cells: dict[str, Any] = run.cells()
        wobble = 1 + 1e-4 * math.sin(3 * cells["trial"])
        rows.append({**cells, **{name: wobble * value for name, value in metrics(cells).items()}})
    runs = pl.DataFrame(rows, infer_schema_length=None)
    return {finding.claim: finding.verdict for finding in EXPERIMENTS[experiment].findings(runs)}


def gaps(by_size: float, by_ratio: float) -> Callable[[Row], dict[str, float]]:
    return lambda row: {"gap_percent": 50 + by_size * row[tarplee.SIZE] / 3600 + by_ratio * row[tarplee.RATIO]}


def test_gaps_must_shrink_with_the_bag_and_grow_with_the_ratio() -> None:
    assert verdicts("tarplee-fig-2", gaps(-1, 5)) == {"T1": "reproduced", "T2": "reproduced"}
    assert verdicts("tarplee-fig-2", gaps(1, -5)) == {"T1": "not reproduced", "T2": "not reproduced"}


def profits(off_front: Callable[[float], float]) -> Callable[[Row], dict[str, float]]:
    """Runs in which schedules off the front gain so many percent of the income, by profit ratio."""

    def metrics(row: Row) -> dict[str, float]:
        ratio = row[tarplee.RATIO]
        most = ratio - 1
        return {"price": ratio, "optimum_makespan_s": 1.0, "profit_bound_per_s": most,
                "pareto_profit_per_s": most - off_front(ratio) / 100 * ratio}  # fmt: skip

    return metrics


@pytest.mark.parametrize("experiment", ["tarplee-fig-4", "tarplee-fig-5"])
def test_the_most_profit_must_leave_the_front_below_a_ratio_of_one_only(experiment: str) -> None:
    as_claimed = profits(lambda ratio: 3.0 if ratio < 1 else 0.0)
    never, always = profits(lambda _: 0.0), profits(lambda _: 3.0)
    assert verdicts(experiment, as_claimed) == {"T4": "reproduced", "T5": "reproduced"}
    assert verdicts(experiment, never) == {"T4": "reproduced", "T5": "not reproduced"}
    assert verdicts(experiment, always) == {"T4": "not reproduced", "T5": "reproduced"}


def test_losses_must_leave_the_front() -> None:
    assert verdicts("tarplee-fig-3", profits(lambda ratio: 3.0 if ratio < 1 else 0.0)) == {"T5": "reproduced"}
    assert verdicts("tarplee-fig-3", profits(lambda _: 0.0)) == {"T5": "not reproduced"}


def test_times_of_another_computer_are_only_shown_beside_ours() -> None:
    assert verdicts("tarplee-time", lambda _: {"solve_s": 1e-3}) == {"T3": "not testable"}


@pytest.mark.parametrize(("above", "verdict"), [(1.0, "reproduced"), (1.2, "not reproduced")])
def test_much_idle_power_must_lead_to_the_least_makespan(above: float, verdict: str) -> None:
    def metrics(row: Row) -> dict[str, float]:
        return {"makespan_bound_s": 10.0, "optimum_makespan_s": 10.0 * (above if row[tarplee.IDLE] > 60 else 2.0)}

    assert verdicts("tarplee-idle", metrics) == {"T6": verdict}


def front_walk(fastest_at: float, sign: float = 1.0) -> Callable[[Row], dict[str, float]]:
    """Optima that walk from least energy to least makespan (or back), which they reach at a ratio, by a knee."""

    def metrics(row: Row) -> dict[str, float]:
        share = min(max((row[tarplee.RATIO] - 1.01) / (fastest_at - 1.01), 0.0), 1.0)
        share = share if sign > 0 else 1 - share
        makespan_s, energy_j = 3000 - 2000 * share, 50e6 * (1 + 0.2 * share)
        knee = (1.2 - 1.01) / (1.5 - 1.01)
        return {"optimum_energy_j": energy_j, "optimum_makespan_s": makespan_s, "energy_bound_j": 50e6,
                "mean_power_w": 0.99 * energy_j / makespan_s,
                "makespan_bound_s": 1000.0, "knee_energy_j": 50e6 * (1 + 0.2 * knee),
                "knee_makespan_s": 3000 - 2000 * knee}  # fmt: skip

    return metrics


def test_optima_must_walk_the_front_within_the_cap() -> None:
    assert verdicts("tarplee-fig-1", front_walk(1.5)) == {"T7": "reproduced", "T8": "reproduced"}
    assert verdicts("tarplee-fig-1", front_walk(4.0)) == {"T7": "partly", "T8": "partly"}
    assert verdicts("tarplee-fig-1", front_walk(1.5, sign=-1.0))["T7"] == "not reproduced"


AS_PUBLISHED = {
    "least_energy_j": 10.0, "knee_energy_j": 11.0, "reference_energy_j": 22.0,
    "least_makespan_s": 5.0, "knee_makespan_s": 6.0, "reference_makespan_s": 16.5,
    friese_6.AFTER: 95.0, friese_6.LAST: 95.2,
    "busy_cov:least makespan": 0.03, "busy_cov:least energy": 0.8, "energy_cov:least makespan": 0.2,
}  # fmt: skip
OTHERWISE = {
    "6.1": {"knee_energy_j": 15.0, "knee_makespan_s": 10.0},
    "6.2": {friese_6.LAST: 99.0},
    "6.3": {"busy_cov:least makespan": 0.9},
    "6.4": {"energy_cov:least makespan": 0.01},
}


def test_investigation_one_as_published_is_reproduced() -> None:
    found = verdicts("fig-6.3", lambda _: AS_PUBLISHED)
    assert found == dict.fromkeys(("6.1", "6.2", "6.3", "6.4"), "reproduced")


@pytest.mark.parametrize("claim", OTHERWISE)
def test_investigation_one_with_other_runs_is_not(claim: str) -> None:
    assert verdicts("fig-6.3", lambda _: AS_PUBLISHED | OTHERWISE[claim])[claim] == "not reproduced"


def more_types(gained: float, unused: float, best_percent: float) -> Callable[[Row], dict[str, float]]:
    def metrics(row: Row) -> dict[str, float]:
        place = friese_6.BY_TYPES.index(row["variant"])
        shares = dict.fromkeys(friese_6.BEST_TYPES, best_percent) | {"AMD FX-8150": 10.0}
        return {"least_makespan_s": 10 - gained * place, "least_energy_j": 10 - gained * place,
                "unused_types:least energy": unused * place,
                **{f"task_percent:{name}": share for name, share in shares.items()}}  # fmt: skip

    return metrics


def test_investigation_two_goes_by_types() -> None:
    claims = ("6.5", "6.6", "6.7")
    assert verdicts("fig-6.8", more_types(1.0, 1.0, 30.0)) == dict.fromkeys(claims, "reproduced")
    assert verdicts("fig-6.8", more_types(-1.0, 0.0, 2.0)) == dict.fromkeys(claims, "not reproduced")

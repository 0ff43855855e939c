"""Claims on bags of tasks, judged on made-up runs that do not bear them out."""

from __future__ import annotations

import pytest

from joulewise.study.catalogue import friese_6, tarplee
from tests.strategies.claims import Cells, Metrics, Table, verdicts
from tests.strategies.true_bags import BAGS


def without_front(gain: float) -> Table:
    """Schedules off the front gain this share of the income, whatever the ratio."""

    def metrics(run: Cells) -> Metrics:
        found = BAGS["tarplee-fig-4"](run)
        return {**found, "pareto_profit_per_s": found["profit_bound_per_s"] - gain * found["price"]}

    return metrics


@pytest.mark.parametrize("experiment", ["tarplee-fig-4", "tarplee-fig-5"])
def test_the_most_profit_must_leave_the_front_below_a_ratio_of_one_only(experiment: str) -> None:
    assert verdicts(experiment, without_front(0.0)) == {"T4": "reproduced", "T5": "not reproduced"}
    assert verdicts(experiment, without_front(0.03)) == {"T4": "not reproduced", "T5": "reproduced"}


def test_times_of_another_computer_are_only_shown_beside_ours() -> None:
    assert verdicts("tarplee-time", BAGS["tarplee-time"]) == {"T3": "not testable"}


def test_optima_must_reach_the_end_of_the_front() -> None:
    def far_from_fastest(run: Cells) -> Metrics:
        return {**BAGS["tarplee-fig-1"](run), "makespan_bound_s": 900.0}

    assert verdicts("tarplee-fig-1", far_from_fastest) == {
        "T7": "reproduced",
        "T7 (rises)": "reproduced",
        "T8": "not reproduced",
    }


@pytest.mark.parametrize(
    ("claim", "otherwise"),
    [
        ("6.1", {"knee_energy_j": 15.0, "knee_makespan_s": 10.0}),
        ("6.2", {friese_6.LAST: 99.0}),
        ("6.3", {"busy_cov:least makespan": 0.15}),
        ("6.4", {"energy_cov:least makespan": 0.01}),
    ],
)
def test_investigation_one_with_other_runs_is_not_reproduced(claim: str, otherwise: Metrics) -> None:
    found = verdicts("fig-6.3", lambda run: BAGS["fig-6.3"](run) | otherwise)
    assert {name for name, verdict in found.items() if verdict != "reproduced"} == {claim}


def test_gaps_that_do_not_shrink_are_not_reproduced() -> None:
    found = verdicts("tarplee-fig-2", lambda run: {"gap_percent": run[tarplee.SIZE] / 3600 - run[tarplee.RATIO]})
    assert found == {"T1": "not reproduced", "T2": "not reproduced"}

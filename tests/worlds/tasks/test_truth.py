"""True times and the counting of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from joulewise.errors import InputError
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

SYSTEM = generate_system(SystemParameters(), 0, 0)
PLAIN = WorkloadParameters(tasks_per_day=5000.0)


def test_times_are_certain_and_runs_count_where_they_complete_unless_asked() -> None:
    work = generate_workload(PLAIN, SYSTEM, 0, 0)
    assert (work.stretch, work.is_prorated) == (None, False)
    assert generate_workload(replace(PLAIN, prorated=True), SYSTEM, 0, 0).is_prorated


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0])
def test_true_times_spread_around_the_estimates(spread: float) -> None:
    parameters = replace(PLAIN, time_spread=spread)
    work, other = (generate_workload(parameters, SYSTEM, 0, trial) for trial in (0, 1))
    assert work.stretch is not None
    assert other.stretch is not None
    assert work.stretch.mean() == pytest.approx(1.0, abs=0.06)
    assert work.stretch.std() == pytest.approx(spread, rel=0.08)
    assert work.stretch[0] != other.stretch[0]
    assert np.array_equal(work.arrival_s, generate_workload(PLAIN, SYSTEM, 0, 0).arrival_s)


@pytest.mark.parametrize("spread", [-0.1, 3.5, float("nan")])
def test_wrong_spreads(spread: float) -> None:
    with pytest.raises(InputError, match=r"workload.time_spread: .*must be a coefficient of variation from 0 to 3"):
        replace(PLAIN, time_spread=spread)

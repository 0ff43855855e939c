"""What the published environment must show: the bound of 2.7.1 and the affinity of table 3.2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from joulewise.model import System, Workload
from joulewise.worlds.environment import SystemParameters, generate_system
from joulewise.worlds.heterogeneity import heterogeneity
from joulewise.worlds.tasks.day import WorkloadParameters, generate_workload

N_TRIALS = 12
AT_LENGTH = 50


def bound(system: System, work: Workload) -> float:
    """Every task started at its arrival on its fastest machine type, completions in the window."""
    completion_s = work.arrival_s + system.etc_s[work.task_type, :, 0].min(axis=1)
    counted = np.flatnonzero(work.in_window(completion_s))
    return float(work.utility(counted, completion_s[counted]).sum())


def mean_bound(tasks_per_day: float, n_trials: int) -> float:
    parameters = replace(WorkloadParameters(), tasks_per_day=tasks_per_day)
    bounds = []
    for trial in range(n_trials):
        system = generate_system(SystemParameters(), 0, trial)
        bounds.append(bound(system, generate_workload(parameters, system, 0, trial)))
    return float(np.mean(bounds))


def test_maximum_utility() -> None:
    assert mean_bound(33_000.0, N_TRIALS) == pytest.approx(65_051.0, rel=0.03)


@pytest.mark.thorough("a hundred days are drawn")
@pytest.mark.parametrize(("tasks_per_day", "published"), [(33_000.0, 65_051.0), (50_000.0, 98_708.0)])
def test_maximum_utility_over_many_trials(tasks_per_day: float, published: float) -> None:
    assert mean_bound(tasks_per_day, AT_LENGTH) == pytest.approx(published, rel=0.015)


def test_affinity_of_the_general_purpose_part() -> None:
    systems = [generate_system(SystemParameters(), 0, trial) for trial in range(N_TRIALS)]
    tma = [heterogeneity(system.etc_s[:, 4:, 0]).tma for system in systems]
    assert min(tma) > 0.0795
    assert max(tma) < 0.0925

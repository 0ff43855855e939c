"""The slow twin of drawn times and powers: the rules word for word, one sample and one task after the other."""

from __future__ import annotations

from dataclasses import dataclass

from joulewise.model import World
from joulewise.model.arrays import Floats
from joulewise.model.assignment import NOT_RUN, Assignment


@dataclass
class Totals:
    """Of each sample: energy in J, utility, and how many tasks ran; and the utility at mean completions."""

    energy_j: list[float]
    utility: list[float]
    n_ran: list[int]
    at_means: float = 0.0


def run_samples(
    world: World, assignment: Assignment, time_s: Floats, power_w: Floats, drop_below: float, by_mean: bool
) -> Totals:
    """Run an assignment in which task i takes time_s[i, n] at power_w[i, n] in sample n."""
    n_samples = time_s.shape[1]
    totals = Totals([0.0] * n_samples, [0.0] * n_samples, [0] * n_samples)
    free_s = [[0.0] * n_samples for _ in range(world.system.n_machines)]
    arrival_s = world.workload.arrival_s.tolist()
    for i in sorted(range(assignment.n_tasks), key=lambda i: (assignment.order[i], i)):
        machine = int(assignment.machine[i])
        if machine == NOT_RUN:
            continue
        ends_s = [max(free, arrival_s[i]) + float(time_s[i, n]) for n, free in enumerate(free_s[machine])]
        at_mean = _utility(world, i, sum(ends_s) / n_samples)
        if by_mean and at_mean >= drop_below:
            totals.at_means += at_mean
        for n, end_s in enumerate(ends_s):
            earned = _utility(world, i, end_s)
            if (at_mean if by_mean else earned) >= drop_below:
                free_s[machine][n] = end_s
                totals.energy_j[n] += world.supply.pue * float(time_s[i, n] * power_w[i, n])
                totals.utility[n] += earned
                totals.n_ran[n] += 1
    return totals


def at_rank(values: list[float], percent: int, *, falling: bool) -> float:
    """The value at a percentile of sorted values: of 100 values the one at place `percent`, from 1."""
    place = -(-percent * len(values) // 100)
    return sorted(values, reverse=falling)[place - 1]


def _utility(world: World, task: int, end_s: float) -> float:
    return float(world.workload.utility(task, end_s))

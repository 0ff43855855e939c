"""The least loss of a bag that must run, has no deadline, and whose price does not even cover its cost above idle.

Its loss per second is the smaller the longer it takes, so a best schedule is there only because a bag ends when its
last machine is done. Which machine that is, is tried: one machine of a type is set apart and must be busy to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from joulewise.model.arrays import Floats
from joulewise.model.bag import Bag, BagAllocation
from joulewise.model.system import System
from joulewise.optimise.bags.profit_bound import ProfitTerms
from joulewise.optimise.bags.recovery import Recovery


class DrawnOut(NamedTuple):
    """A divided schedule that ends with one machine of a type, on a bag with that machine set apart."""

    gain_per_s: float
    bag: Bag
    split: Floats


def least_loss(terms: ProfitTerms, joule_cost: float) -> tuple[float, list[BagAllocation]]:
    """What is gained per second at most before idle machines are paid, and an allocation for each last machine."""
    schedules = [schedule for schedule in _schedules(terms, joule_cost) if schedule is not None]
    allocations = [Recovery(schedule.bag).allocation(schedule.split) for schedule in schedules]
    gain_per_s = max(schedule.gain_per_s for schedule in schedules)
    return gain_per_s, [BagAllocation(terms.bag, allocation.counts) for allocation in allocations]


def _schedules(terms: ProfitTerms, joule_cost: float) -> Iterator[DrawnOut | None]:
    """The best schedules by what ends them: a machine of each type or, by waiting, the power cap."""
    bag, cost = terms.bag, terms.cost(joule_cost)
    if terms.extra_limit_w < np.inf:
        yield _solved(terms, bag, cost, None)
    for j in np.flatnonzero(bag.system.counts):
        yield _solved(terms, _set_apart(bag, int(j)), np.insert(cost, j, cost[:, j], axis=1), int(j))


def _set_apart(bag: Bag, j: int) -> Bag:
    """The bag with one machine of a type as a type of its own, before the others of the type."""
    system, standby = bag.system, bag.system.standby
    counts = np.insert(system.counts, j, 1)
    counts[j + 1] -= 1
    assert system.power_w is not None
    names, groups = list(system.machine_types), list(system.machine_group)
    names.insert(j, f"one {names[j]}")
    groups.insert(j, groups[j])
    if standby is not None:
        fields = standby.__dataclass_fields__
        standby = replace(
            standby, **{name: np.insert(getattr(standby, name), j, getattr(standby, name)[j]) for name in fields}
        )
    etc_s, power_w = (np.insert(of, j, of[:, j], axis=1) for of in (system.etc_s, system.power_w))
    apart = System(system.task_types, tuple(names), counts, etc_s, power_w, tuple(groups), standby)
    return Bag(apart, bag.counts, bag.is_off_when_done)


def _solved(terms: ProfitTerms, bag: Bag, cost: Floats, last: int | None) -> DrawnOut | None:
    """Tasks and bags per unit of time that gain most, when a machine type or else the power cap is busy to the end."""
    task, machine, _ = cells = np.nonzero(np.isfinite(bag.exec_s))
    n, unit_s = task.size, terms.front.least_makespan_s
    tasks = np.zeros((bag.counts.size + 1, n + 1))
    tasks[task, np.arange(n)], tasks[:-1, n] = 1.0, -bag.counts
    load = np.zeros((bag.system.n_machine_types + 1, n + 1))
    load[machine, np.arange(n)] = bag.exec_s[cells] / unit_s
    load[-1, :n] = bag.extra_j[cells] / (terms.extra_limit_w * unit_s)
    most = np.append(bag.system.counts, 1.0)
    row = -1 if last is None else last
    tasks[-1] = load[row]
    money = np.append(cost[cells], -terms.market.income)
    scale = float(np.abs(money).max()) or 1.0
    solution: Any = linprog(money / scale, load, most, tasks, np.append(np.zeros(bag.counts.size), most[row]))
    if solution.status != 0 or solution.x[n] <= 0:
        return None
    split = np.zeros(bag.exec_s.shape)
    split[cells] = solution.x[:n] / solution.x[n]
    return DrawnOut(-solution.fun * scale / unit_s, bag, split)

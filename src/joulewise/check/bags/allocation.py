"""The independent validator of allocations of bags, and of the prices that prove their bound: numpy alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from joulewise.check.findings import N_SHOWN, RELATIVE_TOLERANCE
from joulewise.errors import InputError, Problem
from joulewise.model import Bag, BagAllocation
from joulewise.model.arrays import Floats

Rule = Callable[[BagAllocation], Iterator[str]]
_ROUNDING = 1e-9


def check_bag(allocation: BagAllocation) -> list[str]:
    """Everything that is wrong with an allocation of a bag, one line each; empty when it is valid.

    Every task runs once, on a choice that exists; finishing times, makespan and energy are computed a second time,
    task type by task type, and are held equal up to 1e-9 of themselves.
    """
    lines = [line for rule in _COUNT_RULES for line in rule(allocation)]
    return lines or [line for rule in _VALUE_RULES for line in rule(allocation)]


def _negative(allocation: BagAllocation) -> Iterator[str]:
    for machine, task_type, pstate in _first(np.argwhere(allocation.counts < 0)):
        n_tasks = allocation.counts[machine, task_type, pstate]
        yield f"machine {machine}, {_choice(allocation, task_type, pstate)}: found {n_tasks} tasks; expected 0 or more"


def _impossible(allocation: BagAllocation) -> Iterator[str]:
    by_machine = allocation.bag.system.etc_s.transpose(1, 0, 2)[allocation.bag.system.machine_type]
    for machine, task_type, pstate in _first(np.argwhere((allocation.counts > 0) & ~np.isfinite(by_machine))):
        yield f"machine {machine}: cannot run {_choice(allocation, task_type, pstate)}; found tasks there"


def _every_task_once(allocation: BagAllocation) -> Iterator[str]:
    found, expected = allocation.counts.sum(axis=(0, 2)), allocation.bag.counts
    for task_type in _first(np.flatnonzero(found != expected)):
        name = allocation.bag.system.task_types[task_type]
        yield f"task type {name}: found {found[task_type]} tasks; expected {expected[task_type]}"


def _values(allocation: BagAllocation) -> Iterator[str]:
    busy_s, energy_j = _recomputed(allocation)
    stored: dict[str, tuple[Any, Any]] = {
        "busy_s": (allocation.busy_s, busy_s),
        "makespan_s": (allocation.makespan_s, busy_s.max()),
        "machine_energy_j": (allocation.machine_energy_j, energy_j),
        "energy_j": (allocation.energy_j, energy_j.sum()),
    }
    for name, (found, expected) in stored.items():
        wrong = np.abs(np.subtract(found, expected)) > RELATIVE_TOLERANCE * np.max(np.abs(expected))
        if np.any(wrong):
            yield f"{name}: found {found}; expected {expected}"


_COUNT_RULES: tuple[Rule, ...] = (_negative, _impossible, _every_task_once)
_VALUE_RULES: tuple[Rule, ...] = (_values,)


def _recomputed(allocation: BagAllocation) -> tuple[Floats, Floats]:
    """When each machine is done, and its energy: running at its power, then idle until the last is done."""
    bag, system = allocation.bag, allocation.bag.system
    assert system.power_w is not None
    busy_s, active_j = np.zeros(system.n_machines), np.zeros(system.n_machines)
    for machine, task_type, pstate in np.argwhere(allocation.counts):
        cell = (task_type, system.machine_type[machine], pstate)
        run_s = allocation.counts[machine, task_type, pstate] * system.etc_s[cell]
        busy_s[machine] += run_s
        active_j[machine] += run_s * system.power_w[cell]
    is_idle_paid = system.standby is not None and not bag.is_off_when_done
    idle_w = system.standby.idle_w[system.machine_type] if is_idle_paid and system.standby else 0.0
    return busy_s, active_j + idle_w * (busy_s.max() - busy_s)


def _first(rows: Any) -> Any:
    """The rows to be named."""
    return rows[:N_SHOWN]


def _choice(allocation: BagAllocation, task_type: int, pstate: int) -> str:
    return f"{allocation.bag.system.task_types[task_type]} in P-state {pstate}"


def certified_front(bag: Bag, weight_w: ArrayLike, task_price: ArrayLike, machine_price: ArrayLike) -> Floats:
    """What prices prove: for each weight, no allocation has less extra energy + weight x makespan.

    Rows of `task_price` [weight, task type] and `machine_price` [weight, machine type] belong to the weights; for
    an infinite one, energy is for nothing and the value is a proven least makespan. Raises InputError where a price
    of a task exceeds what one of its choices costs at the machine prices, or machine prices exceed the weight.
    """
    rows = zip(np.atleast_1d(weight_w), np.atleast_2d(task_price), np.atleast_2d(machine_price))
    return np.array([_certified(bag, float(weight), *prices) for weight, *prices in rows])


def _certified(bag: Bag, weight_w: float, task_price: Floats, machine_price: Floats) -> float:
    """The value proven for one weight: prices that break a rule by rounding alone are first lowered to keep it."""
    limit_w = weight_w if math.isfinite(weight_w) else 1.0
    paid_w = float(bag.system.counts @ machine_price)
    if not (machine_price >= 0).all() or not paid_w <= limit_w * (1 + _ROUNDING):
        raise InputError(
            Problem("machine_price", f"found {paid_w} W in all", f"must be 0 or more each, {limit_w} W in all")
        )
    lowered = machine_price * min(1.0, limit_w / paid_w) if paid_w > 0 else machine_price
    cost = cheapest_choices(bag, lowered, joule_cost=1.0 if math.isfinite(weight_w) else 0.0)
    if not (task_price <= cost * (1 + _ROUNDING)).all():
        found = f"found {task_price.tolist()}"
        raise InputError(Problem("task_price", found, f"must be no more than the cheapest choices, {cost.tolist()}"))
    return float(bag.counts @ np.minimum(task_price, cost))


class Billing(Protocol):
    """What is paid for a bag and what it costs, and the limits it keeps."""

    @property
    def price(self) -> float: ...
    @property
    def overhead(self) -> float: ...
    @property
    def cost_per_j(self) -> float | None: ...
    @property
    def pue(self) -> float: ...
    @property
    def wear_per_s(self) -> Floats | None: ...
    @property
    def power_cap_w(self) -> float: ...
    @property
    def deadline_s(self) -> float: ...
    @property
    def depreciation_per_s(self) -> float: ...


def certified_profit(
    bag: Bag, terms: Billing, task_price: ArrayLike, machine_price: ArrayLike, cap_price: float = 0.0
) -> float:
    """What prices prove: no allocation of the bag that keeps the limits earns more per second.

    Tasks have prices by type, seconds of machines by machine type, and a joule above idle one on top of its cost
    under the power cap. Raises InputError where a price is below 0, where that of a task exceeds what one of its
    choices costs with all these paid for, and for costs by hour, which no one set of prices covers.
    """
    if terms.cost_per_j is None:
        raise InputError(Problem("cost_per_j", "found costs by hour", "must be one cost"))
    per_s, joule_cost = np.asarray(machine_price, np.float64), terms.cost_per_j * terms.pue
    if not (per_s >= 0).all() or not cap_price >= 0:
        found = f"found {per_s.tolist()} and {cap_price:g} under the cap"
        raise InputError(Problem("machine_price", found, "must be 0 or more each"))
    wear_per_s = np.zeros(per_s.size) if terms.wear_per_s is None else terms.wear_per_s
    cost = cheapest_choices(bag, per_s + wear_per_s, joule_cost + cap_price)
    worth = np.asarray(task_price, np.float64)
    if not (worth - cost <= _ROUNDING * np.abs(cost)).all():
        allowed = f"must be no more than the cheapest choices, {cost.tolist()}"
        raise InputError(Problem("task_price", f"found {worth.tolist()}", allowed))
    left = terms.price - terms.overhead - float(bag.counts @ np.minimum(worth, cost))
    left_w = terms.power_cap_w / terms.pue - bag.total_idle_w
    paid = float(bag.system.counts @ per_s) + (cap_price * left_w if cap_price > 0 else 0.0)
    standing = joule_cost * bag.total_idle_w + terms.depreciation_per_s
    return paid + left / (_shortest_s(bag) if left > 0 else terms.deadline_s) - standing


def _shortest_s(bag: Bag) -> float:
    """No allocation is done before: every task on its fastest choice, all machines busy to the end."""
    etc_s = np.where((bag.system.counts > 0)[None, :, None], bag.system.etc_s, np.inf)
    return float(bag.counts @ etc_s.min(axis=(1, 2))) / float(bag.system.counts.sum())


def cheapest_choices(bag: Bag, machine_price: Floats, joule_cost: float) -> Floats:
    """What a task of each type costs at least, in energy above idle and machine time."""
    system = bag.system
    assert system.power_w is not None
    etc_s = np.where((system.counts > 0)[None, :, None], system.etc_s, np.inf)
    possible = np.isfinite(etc_s)
    extra_w = np.where(possible, system.power_w, 0.0) - bag.idle_w[None, :, None]
    per_s = joule_cost * extra_w + machine_price[None, :, None]
    return np.asarray(np.where(possible, np.where(possible, etc_s, 0.0) * per_s, np.inf).min(axis=(1, 2)))

"""What the facility gives: energy budgets, power caps and tariffs as a study describes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.model import System
from joulewise.model.supply import DAY_S, Supply
from joulewise.units import energy
from joulewise.worlds.parameters import broken_rules, explained, is_positive
from joulewise.worlds.series import read_series


@dataclass(frozen=True)
class SupplyParameters:
    """The limits and the cost of energy; by default there is no limit and no cost.

    Raises InputError with every problem found.
    """

    budget_j: float | None = explained(None, "energy that may be used on each day; left out: no limit")
    budget_total_j: float | None = explained(
        None, "energy for all counted days together, in place of budget; each day gets its share of what is left"
    )
    day_s: float = explained(DAY_S, "length of the days of the budget, counted from the start of the counted window")
    power_cap_w: float | None = explained(
        None, "power that may be drawn, at any instant or, for the profit of a bag, on average; left out: no limit"
    )
    power_cap_by_hour: str | None = explained(
        None, "table of power caps in watts by the hour, in place of power_cap; starts again at its end", file=True
    )
    power_cap_column: str | None = explained(None, "column of power_cap_by_hour, if that has several of values")
    pue: float = explained(1.0, "power usage effectiveness: all energy of the facility over that of its machines")
    tariff: str | None = explained(
        None, "table of what a kWh costs, or emits, by the hour; starts again at its end", file=True
    )
    tariff_column: str | None = explained(None, "column of tariff, if that has several of values")
    tariff_unit: str = explained("", 'what the tariff counts per kWh, such as "EUR" or "kg CO2"')

    def __post_init__(self) -> None:
        raise_if_any(_parameter_problems(self))


def read_supply(parameters: SupplyParameters, folder: Path = Path()) -> Supply:
    """The supply that parameters and the tables they name describe; InputError with the problems of all of them."""
    p, problems = parameters, list[Problem]()
    cap_w = None if p.power_cap_w is None else np.array([p.power_cap_w])
    tariff = None
    try:
        if p.power_cap_by_hour is not None:
            cap_w = read_series(p.power_cap_by_hour, folder, p.power_cap_column, "power_cap_column", positive=True)
    except InputError as error:
        problems += error.problems
    try:
        if p.tariff is not None:
            tariff = read_series(p.tariff, folder, p.tariff_column, "tariff_column")
    except InputError as error:
        problems += error.problems
    raise_if_any(problems)
    limits = [budget_j for budget_j in (p.budget_j, p.budget_total_j) if budget_j is not None]
    is_total = p.budget_total_j is not None
    return Supply(next(iter(limits), math.inf), is_total, p.day_s, cap_w, p.pue, tariff, p.tariff_unit)


def check_limits(supply: Supply, system: System) -> None:
    """InputError when the limits leave nothing to run any task with, even on the best hour of the first day."""
    if supply.is_limited and system.power_w is not None:
        raise_if_any(_limit_problems(supply, system))


def _limit_problems(supply: Supply, system: System) -> Iterator[Problem]:
    assert system.power_w is not None
    idle_w = np.zeros(system.n_machine_types) if system.standby is None else system.standby.idle_w
    standing_w = supply.pue * float((system.counts * idle_w).sum())
    possible = np.isfinite(system.etc_s) & (system.counts > 0)[None, :, None]
    extra_w = supply.pue * (system.power_w - idle_w[None, :, None])[possible]
    extra_j = extra_w * system.etc_s[possible]
    needed_j = float(extra_j.min()) + standing_w * supply.day_s
    if supply.budget_j < needed_j:
        key = "budget_total" if supply.is_total else "budget"
        allowed = f"must be {energy(needed_j)} or more: the idle machines of a day and the cheapest task"
        yield Problem(f"supply.{key}", f"found {energy(supply.budget_j)}", allowed)
    needed_w = float(extra_w.min()) + standing_w
    if supply.cap_w is not None and supply.cap_w.max() < needed_w:
        allowed = f"must be {needed_w:.4g} W or more at some hour: the idle machines and the task of least power"
        yield Problem("supply.power_cap", f"found {supply.cap_w.max():.4g} W at most", allowed)


def _parameter_problems(p: SupplyParameters) -> Iterator[Problem]:
    quantities = (("budget_j", "J"), ("budget_total_j", "J"), ("day_s", "s"), ("power_cap_w", "W"))
    values = [(name, getattr(p, name), unit) for name, unit in quantities]
    rules = [(name, is_positive(value), f"must be above 0 {unit}") for name, value, unit in values if value is not None]
    yield from broken_rules("supply", p, [*rules, ("pue", 1 <= p.pue < math.inf, "must be 1 or more, and finite")])
    for name, other, key in (
        ("budget_total_j", "budget_j", "budget"),
        ("power_cap_by_hour", "power_cap_w", "power_cap"),
    ):
        if None not in (getattr(p, name), getattr(p, other)):
            yield Problem(
                f"supply.{name}", f"found {key} as well", "must be exactly one of the two", "leave one of them out"
            )
    needs = (("power_cap_column", "power_cap_by_hour"), ("tariff_column", "tariff"), ("tariff_unit", "tariff"))
    for name, table in needs:
        if getattr(p, name) and getattr(p, table) is None:
            yield Problem(f"supply.{name}", f"found {getattr(p, name)!r}", f"needs a table, {table}")

"""What the facility gives: energy budgets, power caps and tariffs as a study describes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from joulewise.errors import Problem, attempt, raise_if_any
from joulewise.model import System
from joulewise.model.supply import DAY_S, Supply
from joulewise.units import energy
from joulewise.worlds.clock import EXAMPLE, ISO, NO_CLOCK, Clock, given_clock, instant_in
from joulewise.worlds.parameters import broken_rules, explained, is_positive
from joulewise.worlds.series import Hours, aligned, read_series


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
    begins_at: str | None = explained(
        None,
        f'instant 0 in the calendar, such as "{EXAMPLE}", where tables have dates and the workload has none; a log '
        "tells it itself, and reservations and hours of a site go by that alone",
        late=True,
    )

    def __post_init__(self) -> None:
        raise_if_any(_parameter_problems(self))


_TABLES = (("power_cap_by_hour", "power_cap_column", True), ("tariff", "tariff_column", False))
"""The keys of tables by the hour, those of their columns, and whether all values must be above 0."""


def read_hours(p: SupplyParameters, folder: Path, clock: Clock = NO_CLOCK) -> dict[str, Hours]:
    """The tables by the hour that parameters name, by their keys; InputError with the problems of all of them."""
    tables, problems = dict[str, Hours](), list[Problem]()
    for key, column, positive in _TABLES:
        name = getattr(p, key)
        if name is not None:
            read = partial(read_series, name, folder, getattr(p, column), column, clock.zone, positive=positive)
            found = attempt(problems, read)
            tables |= {} if found is None else {key: found}
    raise_if_any(problems)
    return tables


def clock_of(p: SupplyParameters, log: Clock = NO_CLOCK) -> Clock:
    """The clock of a world: that of its log, or as the parameters have it; InputError where both tell."""
    return log if p.begins_at is None else given_clock(p.begins_at, log, "supply.begins_at")


def read_supply(parameters: SupplyParameters, folder: Path = Path(), clock: Clock | None = None) -> Supply:
    """The supply that parameters and the tables they name describe; InputError with the problems of all of them.

    Tables with dates are held against the clock; without one against what the parameters say of instant 0.
    """
    p, problems = parameters, list[Problem]()
    if clock is None:
        clock = clock_of(p)
    cap_w = None if p.power_cap_w is None else np.array([p.power_cap_w])
    values = {key: attempt(problems, aligned, hours, clock) for key, hours in read_hours(p, folder, clock).items()}
    raise_if_any(problems)
    cap_w, tariff = values.get("power_cap_by_hour", cap_w), values.get("tariff")
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
    if p.begins_at is not None and instant_in(p.begins_at) is None:
        yield Problem("supply.begins_at", f'found "{p.begins_at}"', ISO)
    needs = (("power_cap_column", "power_cap_by_hour"), ("tariff_column", "tariff"), ("tariff_unit", "tariff"))
    for name, table in needs:
        if getattr(p, name) and getattr(p, table) is None:
            yield Problem(f"supply.{name}", f"found {getattr(p, name)!r}", f"needs a table, {table}")

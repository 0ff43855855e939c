"""The configurations that programs of a facility know, by node type, and which of them are good at prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.optimise.facility.configurations import Configurations, ProcessorMenu, RewardCurve, joined

Allowed: TypeAlias = Callable[[int, Counts], Bools]
"""Which rows of a node type's table [asked, row] some of the asked processors of that type may run."""


class ConfigurationPool:
    """Tables of configurations, one for each node type; rows are added and never move."""

    def __init__(self, menus: Sequence[ProcessorMenu], tables: Sequence[Configurations]) -> None:
        self.menus, self.tables = menus, list(tables)

    def curves(self, task_price: Floats) -> list[RewardCurve]:
        """What a processor of each type earns against its power, at prices of tasks."""
        return [menu.curve(task_price) for menu in self.menus]

    def add(self, tables: Sequence[Configurations]) -> None:
        """Add what is new."""
        self.tables = [joined([old, new]) for old, new in zip(self.tables, tables)]

    def add_near(
        self, curves: Sequence[RewardCurve], kind: Counts | Ints, price: Floats, slack: float, more: int
    ) -> None:
        """Add what is best, for processors of these types, at prices of a watt within a share of these."""
        self.add([_near(curve, price[kind == k], slack, more) for k, curve in enumerate(curves)])

    def power_w(self, kind: Counts, row: Counts) -> Floats:
        """The core power of processors of these types in these configurations."""
        power_w = np.empty(row.size)
        for k, table in enumerate(self.tables):
            power_w[kind == k] = table.power_w[row[kind == k]]
        return power_w

    def rates_per_s(self, kind: Counts, row: Counts) -> Floats:
        """[processor, task type]: how often they do tasks."""
        rates = np.empty((row.size, self.tables[0].rate_per_s.shape[1]))
        for k, table in enumerate(self.tables):
            rates[kind == k] = table.rate_per_s[row[kind == k]]
        return rates

    def best(self, kind: Counts, price: Floats, task_price: Floats, n: int, allowed: Allowed | None = None) -> Counts:
        """Pairs of (asked, row): the n rows that earn most above the price of their power, for each that is asked."""
        pairs = [np.empty((2, 0), np.int64)]
        for k, table in enumerate(self.tables):
            mine = np.flatnonzero(kind == k)
            net = (table.rate_per_s @ task_price)[None, :] - price[mine][:, None] * table.power_w[None, :]
            if allowed is not None:
                net[~allowed(k, mine)] = -np.inf
            most = min(n, len(table))
            rows = np.argpartition(-net, most - 1, axis=1)[:, :most]
            is_one = np.isfinite(np.take_along_axis(net, rows, axis=1)).ravel()
            pairs.append(np.stack((np.repeat(mine, most)[is_one], rows.ravel()[is_one])))
        return np.concatenate(pairs, axis=1)

    def patterns(self, kind: int) -> Counts:
        """The number of each row's pattern in the menu of its node type."""
        return np.array([self.menus[kind].number(row) for row in self.tables[kind].counts], dtype=np.int64)


def _near(curve: RewardCurve, price: Floats, slack: float, more: int) -> Configurations:
    """The configurations of a curve that are best from the lowest to the highest price, and some around."""
    if price.size == 0:
        return curve.configurations.taken(np.arange(1))
    low, high = curve.vertex(np.array([price.max() * (1 + slack), price.min() * (1 - slack)])).tolist()
    return curve.configurations.taken(np.arange(max(low - more, 0), min(high + more + 1, len(curve.configurations))))

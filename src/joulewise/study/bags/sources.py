"""Where bags of tasks come from."""

from __future__ import annotations

from joulewise.model import System
from joulewise.model.bag import Bag
from joulewise.model.customers import Customers
from joulewise.study.spec.source import Draw, Source
from joulewise.worlds.bags.bag import BagParameters, BagTable, check_bag_table, generate_bag, read_bag
from joulewise.worlds.bags.customers import CustomerParameters, generate_customers


def _generated(parameters: BagParameters, system: System, draw: Draw) -> Bag:
    return generate_bag(parameters, system, draw.seed, draw.trial)


def _tabled(table: BagTable, system: System, draw: Draw) -> Bag:
    return read_bag(table, system, draw.folder)


def _customers(parameters: CustomerParameters, system: System, draw: Draw) -> Customers:
    return generate_customers(parameters, system, draw.seed, draw.trial)


BAGS = (
    Source(
        "bag",
        "tasks that are all there at once, their types drawn (Tarplee V, Friese 6.5)",
        BagParameters,
        _generated,
        is_random=lambda _: True,
        n_tasks=lambda bag, _: bag.n_tasks,
    ),
    Source(
        "bag table",
        "numbers of tasks that are all there at once, from your own file",
        BagTable,
        _tabled,
        check=lambda table, draw: check_bag_table(table, draw.folder),
        table="bag",
    ),
)
"""Every source of bags."""

CUSTOMERS = (
    Source(
        "customers",
        "customers who come at random, each with the same bag (after Tarplee VII)",
        CustomerParameters,
        _customers,
        is_random=lambda _: True,
        n_tasks=lambda p, _: p.n_tasks * p.n_customers,
    ),
)
"""Every source of customers."""

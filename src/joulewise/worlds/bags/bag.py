"""Bags of tasks: drawn from a distribution over the task types, or read from a table of counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.model import System
from joulewise.model.arrays import Floats
from joulewise.model.bag import MOST_TASKS, Bag
from joulewise.rng import generator
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.parameters import broken_rules, explained

Shares = Literal["equal", "dirichlet"]
SHARES: tuple[Shares, ...] = get_args(Shares)

_CONCENTRATIONS = (1e-3, 1e6)
"""Below and above these, one task type has all tasks, or all have the same share."""

_TASK_TYPE = InputColumn(
    "task_type", "", "name of the task type, as in etc_s; a type that is left out has no tasks", True
)
_COUNT = InputColumn("count", "", "number of tasks of this type", True)

BAG_COLUMNS = (_TASK_TYPE, _COUNT)


@dataclass(frozen=True, kw_only=True)
class BagRules:
    """What holds for all bags: what machines do when they are done."""

    off_when_done: bool = explained(
        False, "machines are switched off when they are done, instead of drawing idle power until the last one is"
    )


@dataclass(frozen=True)
class BagParameters(BagRules):
    """How many tasks a bag has, and how likely each task type is. Raises InputError with every problem found.

    The shares of the task types are those of the seed, the same in all trials; the tasks of each trial are drawn.
    """

    n_tasks: int = explained(1000, "number of tasks in the bag")
    shares: Shares = explained("equal", "how likely each task type is: all alike, or drawn once for all trials")
    concentration: float = explained(
        1.0, 'how much alike the shares are when shares = "dirichlet"; 1: all shares are as likely'
    )

    def __post_init__(self) -> None:
        raise_if_any(bag_problems(self))


@dataclass(frozen=True, kw_only=True)
class BagTable(BagRules):
    """The file that says how many tasks of each type a bag has."""

    bag: str = field(metadata={"help": "table of the number of tasks of each task type", "file": True})


def generate_bag(parameters: BagParameters, system: System, seed: int, trial: int) -> Bag:
    """The bag of one trial: the type of each task is drawn from the shares."""
    shares = task_type_shares(parameters, system.n_task_types, seed)
    counts = generator(seed, trial, "bag.counts").multinomial(parameters.n_tasks, shares)
    return Bag(system, counts, parameters.off_when_done)


def task_type_shares(parameters: BagParameters, n_task_types: int, seed: int) -> Floats:
    """How likely each task type is; the same in all trials."""
    if parameters.shares == "equal":
        return np.full(n_task_types, 1 / n_task_types)
    return generator(seed, "bag.shares").dirichlet(np.full(n_task_types, parameters.concentration))


def read_bag(parameters: BagTable, system: System, folder: Path = Path()) -> Bag:
    """The bag that a table in this folder counts; InputError with every problem of it."""
    table, numbers = _counted(parameters, folder)
    codes = table.codes(_TASK_TYPE.name, system.task_types, "task type")
    _check_repeats(table, _TASK_TYPE, codes.tolist())
    raise_if_any(table.problems)
    counts = np.zeros(system.n_task_types, np.int64)
    counts[codes] = numbers.astype(np.int64)
    return Bag(system, counts, parameters.off_when_done)


def check_bag_table(parameters: BagTable, folder: Path) -> None:
    """InputError with what is wrong in the table of a bag, whatever the task types of the system are."""
    table, _ = _counted(parameters, folder)
    raise_if_any(table.problems)


def _counted(parameters: BagTable, folder: Path) -> tuple[InputTable, Floats]:
    """The table of a bag, and its counts; problems of these are noted in it."""
    table = read_table(parameters.bag, folder)
    table.check_columns(BAG_COLUMNS)
    raise_if_any(table.problems)
    numbers = table.quantity(_COUNT)
    table.report_rows(_COUNT.name, np.isfinite(numbers) & (numbers != np.floor(numbers)), "must be a whole number")
    table.report_rows(_COUNT.name, numbers >= MOST_TASKS, f"must be below 2^53 ({MOST_TASKS:,})")
    return table, numbers


def bag_frame(bag: Bag) -> pl.DataFrame:
    """The table of a bag, with a row for each task type that has tasks."""
    columns = (np.array(bag.system.task_types), bag.counts)
    return pl.DataFrame({column.name: cells[bag.counts > 0] for column, cells in zip(BAG_COLUMNS, columns)})


def _check_repeats(table: InputTable, column: InputColumn, codes: list[int]) -> None:
    """Note every row of a task type that has had one."""
    seen: set[int] = set()
    repeated = np.zeros(len(codes), np.bool_)
    for row, code in enumerate(codes):
        repeated[row] = code >= 0 and code in seen
        seen.add(code)
    table.report_rows(column.name, repeated, "each task type may have one row")


def bag_problems(p: BagParameters) -> Iterator[Problem]:
    """What is wrong with the parameters of a bag."""
    low, high = _CONCENTRATIONS
    rules = [
        ("n_tasks", 1 <= p.n_tasks < MOST_TASKS, f"must be at least 1 and below 2^53 ({MOST_TASKS:,})"),
        ("shares", p.shares in SHARES, f"must be one of {', '.join(SHARES)}"),
        ("concentration", low <= p.concentration <= high, f"must be from {low:g} to {high:g}"),
    ]
    if p.shares == "equal":
        rules.append(("concentration", p.concentration == 1.0, 'needs shares = "dirichlet"'))
    yield from broken_rules("workload", p, rules)

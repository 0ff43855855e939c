"""A system from tables of execution times, powers and machine counts, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import InputError, Problem, attempt, raise_if_any
from joulewise.model import Standby, System
from joulewise.model.arrays import Floats, Ints
from joulewise.worlds.environment import MAX_CELLS, MAX_MACHINES
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table, unknown_choice
from joulewise.worlds.groups import GENERAL
from joulewise.worlds.outages import FailureParameters, failure_problems
from joulewise.worlds.parameters import explained
from joulewise.worlds.uncertain import UncertainParameters, uncertain_problems

_TASK_TYPE = InputColumn("task_type", "", "name of the task type; the first column, whatever its name", True)
_PSTATE = InputColumn("pstate", "", "number of the P-state, 0 for the fastest; only if there are several")
_COUNT = InputColumn("count", "", "number of machines of this type", True)

_STANDBY = (
    (InputColumn("idle_w", "W", "power of a machine that is on and runs nothing; 0 if empty"), 0.0),
    (InputColumn("sleep_w", "W", "power of a machine that sleeps; 0 if empty"), 0.0),
    (InputColumn("boot_w", "W", "power of a machine while it wakes up; 0 if empty"), 0.0),
    (InputColumn("boot_s", "s", "time that a machine needs to wake up; 0 if empty"), 0.0),
    (InputColumn("sleep_after_s", "s", "a machine sleeps after this time without a task; never if empty"), math.inf),
)
"""The columns of `Standby`, in its order, and what an empty cell stands for."""

ETC_COLUMNS = (
    _TASK_TYPE,
    _PSTATE,
    InputColumn("<machine type>", "s", "execution time on machines of this type; empty or inf: cannot run", True),
)
POWER_COLUMNS = (
    _TASK_TYPE,
    _PSTATE,
    InputColumn("<machine type>", "W", "power while executing; empty where the task type cannot run", True),
)
MACHINE_COLUMNS = (
    InputColumn("machine_type", "", "name of the machine type, as in the header of etc_s", True),
    _COUNT,
    InputColumn("group", "", 'group of the machine type, such as "special"; "general" if empty'),
    *(column for column, _ in _STANDBY),
)

_MAX_PSTATES = 127


@dataclass(frozen=True)
class SystemTables(FailureParameters, UncertainParameters):
    """The files that describe a system; names are relative to the folder they are read from."""

    etc_s: str = field(metadata={"help": "table of execution times, task types by machine types", "file": True})
    machines: str | None = explained(None, "table of machine counts and groups", file=True)
    power_w: str | None = explained(None, "table of powers, shaped like etc_s", file=True)
    counts: tuple[int, ...] | None = explained(
        None, "number of machines of each type, in place of the table machines; 1 each if neither is given"
    )

    def __post_init__(self) -> None:
        raise_if_any((*_table_problems(self), *failure_problems(self), *uncertain_problems(self)))


def _table_problems(tables: SystemTables) -> Iterator[Problem]:
    if tables.machines is not None and tables.counts is not None:
        found = "found both counts and a table of machines"
        yield Problem("system.counts", found, advice="leave one of them out")


class _Matrix(NamedTuple):
    """A table as an array [task type, machine type, P-state]: +inf where it is empty, NaN where it is wrong."""

    table: InputTable
    task_types: tuple[str, ...]
    machine_types: tuple[str, ...]
    values: Floats
    rows: Ints
    """The row of the table of each [task type, P-state]."""


class _MachineList(NamedTuple):
    """Counts, groups and standby in the order of the machine types of etc_s."""

    counts: tuple[int, ...]
    groups: tuple[str, ...]
    standby: Standby | None = None


def read_system(tables: SystemTables, folder: Path = Path()) -> System:
    """The system that tables in this folder describe; InputError with the problems of all of them."""
    problems: list[Problem] = []
    etc = _matrix(problems, tables.etc_s, folder, positive=True)
    power = None if tables.power_w is None else _matrix(problems, tables.power_w, folder, positive=False)
    if etc is None:
        attempt(problems, _machines_alone, tables, folder)
        raise InputError(*problems)
    machines = attempt(problems, _machines, tables, folder, etc) or _one_each(etc)
    power_w = None if power is None else attempt(problems, _power_like, etc, power)
    system = attempt(problems, _system, etc, machines, power_w)
    if system is None or problems:
        raise InputError(*problems)
    return system


def system_frames(system: System) -> dict[str, pl.DataFrame]:
    """The tables that describe a system, by the names they have in `SystemTables`."""
    frames = {"etc_s": _matrix_frame(system, system.etc_s), "machines": _machine_frame(system)}
    if system.power_w is not None:
        possible_w = np.where(np.isfinite(system.etc_s), system.power_w, np.inf)
        frames["power_w"] = _matrix_frame(system, possible_w)
    return frames


def _system(etc: _Matrix, machines: _MachineList, power_w: Floats | None) -> System:
    """The system; what is wrong in the tables, and reported, is passed over to find the other problems."""
    etc_s = np.where(np.isnan(etc.values).any(axis=2, keepdims=True), 1.0, etc.values)
    if power_w is not None:
        power_w = np.where(np.isnan(power_w), 0.0, power_w)
    counts = np.array(machines.counts)
    return System(etc.task_types, etc.machine_types, counts, etc_s, power_w, machines.groups, machines.standby)


def _matrix(problems: list[Problem], name: str, folder: Path, *, positive: bool) -> _Matrix | None:
    """One table as an array, its problems noted; None when they leave no array."""
    matrix = attempt(problems, _read_matrix, name, folder, positive=positive)
    if matrix is not None:
        problems.extend(matrix.table.problems)
    return matrix


def _read_matrix(name: str, folder: Path, *, positive: bool) -> _Matrix:
    """One table of values above 0 (or of 0 and more) as an array; its problems are noted in the table.

    Raises InputError with all of them when there is no array without names or with too many values.
    """
    table = read_table(name, folder)
    key = _TASK_TYPE.name if _TASK_TYPE.name in table.columns else table.columns[0]
    machine_types = tuple(column for column in table.columns if column not in (key, _PSTATE.name))
    _check_key(table, key)
    if not machine_types:
        table.add("has no machine types", "needs one column for each", column="header")
    pstates = _pstates(table)
    cells = _cells(table, machine_types, positive=positive)
    names = table.texts(key)
    task_types = tuple(names.drop_nulls().unique(maintain_order=True))
    _check_size(table, machine_types, task_types, int(pstates.max()) + 1)
    rows = _rows(table, key, names, task_types, pstates)
    values = np.where(rows[:, :, None] < 0, np.nan, cells[rows])
    return _Matrix(table, task_types, machine_types, values.transpose(0, 2, 1), rows)


def _check_size(table: InputTable, machine_types: tuple[str, ...], task_types: tuple[str, ...], n_pstates: int) -> None:
    """InputError, with the problems so far, when there is no array or one too large to look at."""
    n_cells = len(task_types) * len(machine_types) * n_pstates
    if n_cells > MAX_CELLS:
        table.add(f"found {n_cells:,} values", f"there may be up to {MAX_CELLS:,}")
    if not 0 < n_cells <= MAX_CELLS:
        raise InputError(*table.problems)


def _check_key(table: InputTable, key: str) -> None:
    """The names of the task types: none missing, and no column of times taken for them."""
    table.report_rows(key, table.frame[key].is_null().to_numpy(), "every row needs the name of its task type")
    if key != _TASK_TYPE.name and table.numbers(key).is_given.all():
        allowed = f"the first column, or one called {_TASK_TYPE.name!r}, names the task types"
        table.add("found only numbers", allowed, f"call it {_TASK_TYPE.name!r} if they are names", column=key)


def _pstates(table: InputTable) -> Ints:
    """The P-state of each row; reports what is no whole number from 0 up, and gives -1 for it."""
    if _PSTATE.name not in table.columns:
        return np.zeros(table.frame.height, dtype=np.int32)
    values = table.numbers(_PSTATE.name).values
    fine = (values >= 0) & (values <= _MAX_PSTATES) & (values == np.floor(values))
    table.report_rows(_PSTATE.name, ~fine, f"must be a whole number from 0 to {_MAX_PSTATES}")
    return np.where(fine, values, -1).astype(np.int32)


def _cells(table: InputTable, machine_types: tuple[str, ...], *, positive: bool) -> Floats:
    """The values as [row, machine type], +inf where a cell is empty, NaN and a report where it is wrong."""
    columns = [table.numbers(machine_type) for machine_type in machine_types]
    shape = (table.frame.height, len(machine_types))
    values = np.array([column.values for column in columns]).reshape(shape[::-1]).T
    is_empty = np.array([column.is_empty for column in columns], dtype=np.bool_).reshape(shape[::-1]).T
    fine = is_empty | (values > 0 if positive else values >= 0)
    least = "above 0" if positive else "of 0 or more"
    wrong = [(int(row), machine_types[column]) for row, column in np.argwhere(~fine)]
    table.report(wrong, f"must be a number {least}, or empty where the task type cannot run")
    return np.where(is_empty, np.inf, np.where(fine, values, np.nan))


def _rows(table: InputTable, key: str, names: pl.Series, task_types: tuple[str, ...], pstates: Ints) -> Ints:
    """The row of each [task type, P-state], -1 for none; reports pairs that are missing or given twice."""
    n_pstates = int(pstates.max()) + 1
    code_of = {task_type: code for code, task_type in enumerate(task_types)}
    codes = np.array([code_of.get(name, -1) for name in names], dtype=np.int32)
    named = np.flatnonzero((codes >= 0) & (pstates >= 0))
    pairs, first = np.unique(codes[named] * n_pstates + pstates[named], return_index=True)
    rows: Ints = np.full(len(task_types) * n_pstates, -1, dtype=np.int32)
    rows[pairs] = named[first]
    what = "task type" if n_pstates == 1 else "task type and P-state"
    table.report_rows(key, np.isin(np.arange(codes.size), np.delete(named, first)), f"each {what} may have one row")
    rows = rows.reshape(-1, n_pstates)
    if named.size == codes.size:  # a row without name or P-state may be the one that is missed
        _report_missing(table, task_types, rows)
    return rows


def _report_missing(table: InputTable, task_types: tuple[str, ...], rows: Ints) -> None:
    missing = np.argwhere(rows < 0)
    allowed = "every task type needs a row for each P-state"
    for code, pstate in missing[:MAX_LISTED]:
        table.add(f"has no row for {task_types[code]!r} in P-state {pstate}", allowed)
    if len(missing) > MAX_LISTED:
        table.add(f"{len(missing) - MAX_LISTED} more rows are missing", allowed)


def _power_like(etc: _Matrix, power: _Matrix) -> Floats:
    """The powers in the order of the times; InputError when names, P-states or empty cells do not match."""
    problems = [
        *_name_problems(power.table, "task type", power.task_types, etc.task_types, etc.table.name),
        *_name_problems(power.table, "machine type", power.machine_types, etc.machine_types, etc.table.name),
    ]
    n_wanted, n_found = etc.values.shape[2], power.values.shape[2]
    if n_found != n_wanted:
        allowed = f"must be {n_wanted}, as in {etc.table.name}"
        problems.append(Problem(power.table.name, f"found {n_found} P-states", allowed))
    raise_if_any(problems)
    task_types = [power.task_types.index(name) for name in etc.task_types]
    machine_types = [power.machine_types.index(name) for name in etc.machine_types]
    power_w: Floats = power.values[np.ix_(task_types, machine_types)]
    _report_missing_powers(etc, power, power_w, power.rows[task_types])
    return power_w


def _report_missing_powers(etc: _Matrix, power: _Matrix, power_w: Floats, rows: Ints) -> None:
    """InputError with the cells without a power where there is a time, by the row of [task type, P-state]."""
    missing = np.argwhere(~np.isposinf(etc.values) & np.isposinf(power_w))
    cells = [(int(rows[task_type, pstate]), etc.machine_types[column]) for task_type, column, pstate in missing]
    n_before = len(power.table.problems)
    power.table.report(cells, f"must be a number, because {etc.table.name} has a time there")
    raise_if_any(power.table.problems[n_before:])


def _name_problems(
    table: InputTable, what: str, names: tuple[str, ...], wanted: tuple[str, ...], wanted_in: str
) -> Iterator[Problem]:
    """Names that the other table does not have, and names of it that are missing here."""
    unknown = [name for name in names if name not in wanted]
    missing = [name for name in wanted if name not in names]
    for name in unknown[:MAX_LISTED]:
        yield unknown_choice(table.name, name, wanted, what)
    for name in missing[:MAX_LISTED]:
        yield Problem(table.name, f"has no {what} {name!r}", f"must name every {what} of {wanted_in}")
    more = sum(max(len(listed) - MAX_LISTED, 0) for listed in (unknown, missing))
    if more:
        yield Problem(table.name, f"{more} more names of a {what} do not match {wanted_in}")


def _machines(tables: SystemTables, folder: Path, etc: _Matrix) -> _MachineList:
    """Counts and groups from the table, from the list, or one machine of each type."""
    if tables.machines is not None:
        return _read_machines(tables.machines, folder, etc, has_powers=tables.power_w is not None)
    one_each = _one_each(etc)
    if tables.counts is None:
        return one_each
    raise_if_any(_count_problems(tables.counts, len(etc.machine_types)))
    return one_each._replace(counts=tables.counts)


def _machines_alone(tables: SystemTables, folder: Path) -> None:
    """InputError with what is wrong in the table of machines, whatever the machine types are."""
    if tables.machines is not None:
        table = read_table(tables.machines, folder)
        table.check_columns(MACHINE_COLUMNS)
        raise_if_any(table.problems)
        table.whole(_COUNT, 0)
        _standby_columns(table, has_powers=tables.power_w is not None)
        raise_if_any(table.problems)


def _one_each(etc: _Matrix) -> _MachineList:
    n = len(etc.machine_types)
    return _MachineList((1,) * n, (GENERAL,) * n)


def _count_problems(counts: tuple[int, ...], n_machine_types: int) -> Iterator[Problem]:
    if len(counts) != n_machine_types:
        allowed = f"must be one for each of the {n_machine_types} machine types"
        yield Problem("system.counts", f"found {len(counts)} counts", allowed)
    if not any(counts):
        yield Problem("system.counts", f"found {list(counts)}", "must be one machine at least in all")
    if min(counts, default=0) < 0:
        yield Problem("system.counts", f"found {min(counts)}", "must be 0 or more machines of each type")
    if sum(counts) > MAX_MACHINES:
        allowed = f"there may be up to {MAX_MACHINES:,} machines in all"
        yield Problem("system.counts", f"found {sum(counts):,} machines", allowed)


def _read_machines(name: str, folder: Path, etc: _Matrix, *, has_powers: bool) -> _MachineList:
    table = read_table(name, folder)
    table.check_columns(MACHINE_COLUMNS)
    raise_if_any(table.problems)
    key = MACHINE_COLUMNS[0].name
    names = tuple(table.texts(key).fill_null("").to_list())
    counts = table.quantity(_COUNT)
    table.report_rows(_COUNT.name, np.isfinite(counts) & (counts != np.floor(counts)), "must be a whole number")
    if (counts == 0).all():
        table.add("found no machines", "must be one at least in all", column=_COUNT.name)
    if np.nansum(counts) > MAX_MACHINES:
        table.add(f"found {np.nansum(counts):,.0f} machines", f"there may be up to {MAX_MACHINES:,} in all")
    table.report_rows(key, np.array([name in names[:row] for row, name in enumerate(names)]), "may have one row")
    table.problems.extend(_name_problems(table, "machine type", names, etc.machine_types, etc.table.name))
    standby = _standby_columns(table, has_powers=has_powers)
    raise_if_any(table.problems)
    groups = table.texts("group").fill_null(GENERAL).to_list() if "group" in table.columns else [GENERAL] * len(names)
    order = [names.index(machine_type) for machine_type in etc.machine_types]
    return _MachineList(
        tuple(int(counts[row]) for row in order),
        tuple(groups[row] for row in order),
        Standby(*(values[order] for values in standby)) if standby else None,
    )


def _standby_columns(table: InputTable, *, has_powers: bool) -> list[Floats]:
    """The columns of the standby by row of the table; none where the table has none of them."""
    given = [column.name for column, _ in _STANDBY if column.name in table.columns]
    if not given:
        return []
    if not has_powers:
        allowed = "needs the powers of running tasks as well (power_w)"
        table.add(f"found {', '.join(given)}", allowed, column="header")
    *of_sleep, (sleep_after, _) = _STANDBY[1:]
    lonely = [column.name for column, _ in of_sleep if column.name in given and sleep_after.name not in given]
    if lonely:
        allowed = f"needs a column {sleep_after.name!r}: machines never sleep without it"
        table.add(f"found {', '.join(lonely)}", allowed, column="header")
    columns = [table.quantity(column, missing) for column, missing in _STANDBY]
    idle_w, sleep_w, *_ = columns
    table.report_rows(_STANDBY[1][0].name, sleep_w > idle_w, "must not be above idle_w")
    return columns


def _matrix_frame(system: System, values: Floats) -> pl.DataFrame:
    """Rows by task type, then P-state (a column only where there are several); null in place of +inf."""
    n_pstates = system.n_pstates
    columns: dict[str, pl.Series | list[str] | list[int]] = {
        _TASK_TYPE.name: [name for name in system.task_types for _ in range(n_pstates)]
    }
    if n_pstates > 1:
        columns[_PSTATE.name] = list(range(n_pstates)) * system.n_task_types
    for machine_type, name in enumerate(system.machine_types):
        cells = values[:, machine_type, :].ravel()
        columns[name] = pl.Series(np.where(np.isfinite(cells), cells, np.nan)).fill_nan(None)
    return pl.DataFrame(columns)


def _machine_frame(system: System) -> pl.DataFrame:
    columns = (system.machine_types, system.counts.tolist(), system.machine_group)
    frame = pl.DataFrame({column.name: values for column, values in zip(MACHINE_COLUMNS, columns, strict=False)})
    if system.standby is None:
        return frame
    names = [column.name for column, _ in _STANDBY]
    values = (np.where(np.isfinite(cells), cells, np.nan) for cells in (getattr(system.standby, n) for n in names))
    return frame.with_columns(pl.Series(name, cells).fill_nan(None) for name, cells in zip(names, values, strict=True))

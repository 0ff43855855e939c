"""Parallel jobs from a table: each of a job type, or with a number of nodes and a time of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from joulewise.errors import Problem, raise_if_any
from joulewise.model import Workload
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.model.clusters import Clusters, ClusterSystem, JobTypes
from joulewise.model.conditions import NO_JOB, Conditions
from joulewise.model.jobs import Jobs, Label
from joulewise.worlds.frames import InputColumn, InputTable, read_table
from joulewise.worlds.jobs.cluster_tables import Numbers, TypeOptions, options_of, rigid_types, types_of, with_nodes
from joulewise.worlds.jobs.parallel_day import mean_times_s
from joulewise.worlds.parameters import broken_rules, explained, is_not_negative
from joulewise.worlds.utilities import UtilityParameters, utility_problems, workload_of_times
from joulewise.worlds.utility_tables import (
    ARRIVAL,
    BY_HAND,
    LEVELS,
    STRETCH,
    check_order,
    check_utilities,
    read_by_hand,
    read_levels,
)

_JOB = InputColumn("job", "", "name of the job, where others come after it")
_AFTER = InputColumn("after", "", "name of an earlier job that must have ended; none if empty")
_THINK = InputColumn("think_s", "s", "time after the end of that job before this one can start; 0 if empty")
_JOB_TYPE = InputColumn("job_type", "", "name of the job type, as in job_times")
_NODES = InputColumn("nodes", "", "number of nodes; with a job type, any number listed for it if empty")
_CORES = InputColumn("cores", "", "number of cores, in place of nodes: on each cluster as many nodes as have them")
_TIME = InputColumn("time_s", "s", "execution time, the same on all clusters; in place of a job type")
_PLANNED = InputColumn("planned_s", "s", "time that the job asks for, where it has a time_s; that time if empty")
_POWER = InputColumn(
    "power_w", "W", "power of each of its nodes, where it has a time_s; 0 if empty, not known if there is no column"
)
_LABELS = tuple(InputColumn(name, "", f"{name} of the job") for name in ("user", "group", "queue"))

JOB_COLUMNS = (
    ARRIVAL, _JOB_TYPE, _NODES, _CORES, STRETCH, _TIME, _PLANNED, _POWER, _JOB, _AFTER, _THINK, *_LABELS, *LEVELS,
    *BY_HAND,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class JobTable(UtilityParameters):
    """The file that lists the jobs, the window in which completions count, and what the levels mean.

    Raises InputError with every problem found.
    """

    jobs: str = field(metadata={"help": "table of jobs, one row each, in order of arrival", "file": True})
    start_s: float = explained(0.0, "completions after this instant count")
    end_s: float | None = explained(None, "completions up to this instant count; there is no end if left out")
    prorated: bool = explained(False, "jobs count by the share of their running that lies between start and end")

    def __post_init__(self) -> None:
        raise_if_any((*utility_problems(self), *_window_problems(self)))

    @property
    def window_s(self) -> tuple[float, float]:
        """Completions after the first instant and up to the second count."""
        return self.start_s, math.inf if self.end_s is None else self.end_s


class _Kinds(NamedTuple):
    """The types that the jobs of a table have, and the type of each job."""

    types: JobTypes
    job_type: Ints


def read_jobs(parameters: JobTable, system: ClusterSystem, folder: Path = Path()) -> tuple[ClusterSystem, Jobs]:
    """The jobs that a table in this folder lists, with the types that they need; InputError with every problem."""
    table = read_table(parameters.jobs, folder)
    _check_columns(table, has_types=system.types.n_options > 0)
    raise_if_any(table.problems)
    arrival_s = table.quantity(ARRIVAL)
    check_order(table, arrival_s)
    kinds = _typed(table, system) if _JOB_TYPE.name in table.columns else _rigid(table, system.clusters)
    conditions = _dependencies(table)
    raise_if_any(table.problems)
    work = _workload(table, parameters, arrival_s, kinds)
    labels = {column.name: _label(table, column) for column in _LABELS if column.name in table.columns}
    return ClusterSystem(system.clusters, kinds.types), Jobs(work, conditions, labels)


def check_jobs_table(parameters: JobTable, folder: Path) -> None:
    """InputError with what is wrong in a table of jobs, whatever the clusters are."""
    table = read_table(parameters.jobs, folder)
    _check_columns(table, has_types=True)
    raise_if_any(table.problems)
    check_order(table, table.quantity(ARRIVAL))
    for column in (_TIME, _PLANNED, STRETCH):
        table.quantity(column, None if column == _TIME else 1.0, positive=True)
    for column in (_NODES, _CORES):
        table.whole(column, 1, math.inf)
    _dependencies(table)
    raise_if_any(table.problems)


def _check_columns(table: InputTable, *, has_types: bool) -> None:
    """Known columns, one way of giving times, and one of giving utilities."""
    table.check_columns(JOB_COLUMNS)
    check_utilities(table)
    given = set(table.columns)
    is_typed = _JOB_TYPE.name in given
    if is_typed == (_TIME.name in given):
        found = "found both job_type and time_s" if is_typed else "found neither job_type nor time_s"
        table.add(found, "must be exactly one of the two", column="header")
    if is_typed and not has_types:
        table.add("found job types", "needs their times", "name a table job_times in [system]", column="header")
    if {_NODES.name, _CORES.name} <= given:
        table.add("found both nodes and cores", "must be one of the two", column="header")
    if not is_typed and not {_NODES.name, _CORES.name} & given:
        table.add("found neither nodes nor cores", "jobs with a time_s need one of them", column="header")
    others = (_PLANNED, _POWER) if is_typed else (STRETCH,)
    for column in (column for column in others if column.name in given):
        kind = "time_s" if is_typed else "job_type"
        table.add(f"found {column.name}", f"needs the column {kind}", column="header")
    if _AFTER.name in given and _JOB.name not in given:
        table.add("found after", f"needs the column {_JOB.name}, the names of the jobs", column="header")


def _sizes(table: InputTable, clusters: Clusters, default: float | None) -> Counts:
    """The nodes that each job needs on each cluster; -1 where it does not say."""
    if _CORES.name in table.columns:
        cores = table.whole(_CORES, 1, default)[:, None]
        return np.where(cores > 0, -(-cores // clusters.cores_per_node), -1)
    nodes = table.whole(_NODES, 1, default) if _NODES.name in table.columns else np.full(table.frame.height, -1)
    return np.repeat(nodes[:, None], clusters.n_clusters, axis=1)


def size_of(parameters: JobTable, row: int, folder: Path = Path()) -> tuple[str, int, str]:
    """Where the job of a row stands in its table, and how many of what it asks for."""
    table = read_table(parameters.jobs, folder)
    unit = "core" if _CORES.name in table.columns else "node"
    amount = int(float(table.frame[f"{unit}s"][row]))
    return f"in {table.row_word} {table.numbers_of_rows[row]:,}", amount, unit


def _rigid(table: InputTable, clusters: Clusters) -> _Kinds:
    """Jobs with a time of their own: one option on each cluster with nodes enough, and none if there is no such one."""
    nodes = _sizes(table, clusters, None)
    time_s = table.quantity(_TIME, positive=True)
    planned_s = table.quantity(_PLANNED, 0.0, positive=True)
    node_w = table.quantity(_POWER, 0.0) if _POWER.name in table.columns else np.full(time_s.size, np.nan)
    raise_if_any(table.problems)
    planned_s = np.where(planned_s > 0, planned_s, time_s)
    types = rigid_types(clusters, nodes, time_s, planned_s, node_w)
    return _Kinds(types, np.arange(time_s.size, dtype=np.int32))


def _typed(table: InputTable, system: ClusterSystem) -> _Kinds:
    """Jobs of types with times by number of nodes: a type for each combination that occurs."""
    job_type = table.codes(_JOB_TYPE.name, system.types.names, "job type")
    nodes = _sizes(table, system.clusters, math.inf)
    stretch = table.quantity(STRETCH, 1.0, positive=True)
    raise_if_any(table.problems)
    asked, at, kind = np.unique(
        np.column_stack((job_type, nodes, stretch)), axis=0, return_index=True, return_inverse=True
    )
    options = [_options(system.types, int(row[0]), row[1:-1].astype(np.int64)) for row in asked]
    _report_sizes(table, at, np.array([choices.nodes.size == 0 for choices in options]))
    raise_if_any(table.problems)
    n_options = np.array([choices.nodes.size for choices in options])
    joined = TypeOptions(*(np.concatenate(column) for column in zip(*options, strict=True)))
    first = np.concatenate(([0], np.cumsum(n_options)))
    names = tuple(system.types.names[int(row[0])] for row in asked)
    return _Kinds(types_of(names, first, joined, np.repeat(asked[:, -1], n_options)), kind.ravel().astype(np.int32))


def _options(types: JobTypes, job_type: int, nodes: Counts) -> TypeOptions:
    """What a job of this type may choose: with these numbers of nodes, or with any listed one if it gives none."""
    listed = options_of(types, job_type)
    return listed if nodes[0] < 0 else with_nodes(listed, nodes)


def _report_sizes(table: InputTable, first_row: Numbers, is_nowhere: Bools) -> None:
    """Note the first job of every size for which its type has no times on any cluster."""
    column = _CORES.name if _CORES.name in table.columns else _NODES.name
    rows = [(int(row), column) for row in np.sort(first_row[is_nowhere])]
    table.report(rows, "must be between numbers of nodes that job_times lists for the job type")


def _dependencies(table: InputTable) -> Conditions | None:
    """The earlier job that each one comes after, and how long after; None where no job comes after another."""
    if _AFTER.name not in table.columns:
        return None
    names = table.texts(_JOB.name)
    table.report_rows(_JOB.name, (names.is_not_null() & ~names.is_first_distinct()).to_numpy(), "must be unique")
    place = {name: row for row, name in enumerate(names) if name is not None}
    afters = table.texts(_AFTER.name)
    after = np.array([NO_JOB if name is None else place.get(name, len(place)) for name in afters], np.int32)
    is_later = after >= np.arange(after.size)
    table.report_rows(_AFTER.name, is_later, "must be the name of a job in a row above")
    return Conditions.following(np.where(is_later, NO_JOB, after), table.quantity(_THINK, 0.0))


def _workload(table: InputTable, p: JobTable, arrival_s: Floats, kinds: _Kinds) -> Workload:
    if any(column.name in table.columns for column in LEVELS):
        levels = read_levels(table, p)
        raise_if_any(table.problems)
        mean_s = np.nan_to_num(mean_times_s(kinds.types))[kinds.job_type]
        work = workload_of_times(arrival_s, kinds.job_type, levels, mean_s, p, *p.window_s)
    else:
        shapes, shape, scale, hold_s = read_by_hand(table)
        work = Workload(arrival_s, kinds.job_type, shape, scale, hold_s, shapes, *p.window_s)
    return replace(work, is_prorated=p.prorated)


def _label(table: InputTable, column: InputColumn) -> Label:
    texts = table.texts(column.name)
    names = texts.drop_nulls().unique(maintain_order=True)
    codes = texts.replace_strict(names, np.arange(len(names)), default=-1, return_dtype=pl.Int32).fill_null(-1)
    return Label(tuple(names), codes.to_numpy())


def _window_problems(p: JobTable) -> Iterator[Problem]:
    start_s, end_s = p.window_s
    rules = [
        ("start_s", is_not_negative(start_s), "must be 0 s or later"),
        ("end_s", start_s < end_s, "must be after the start"),
        ("prorated", not p.prorated or end_s < math.inf, "needs an end"),
    ]
    yield from broken_rules("workload", p, rules)

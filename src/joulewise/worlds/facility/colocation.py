"""Measured throughputs of jobs, alone and in pairs on one GPU, as speeds and slowdowns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from joulewise.errors import Problem, raise_if_any
from joulewise.model.arrays import Bools, Counts, Floats, Ints
from joulewise.worlds.frames import MAX_LISTED, InputColumn, InputTable, read_table

_GPU = InputColumn("gpu", "", "type of the GPU", True)
_JOB_A = InputColumn("job_a", "", "name of the job", True)
_JOB_B = InputColumn("job_b", "", "name of the job on the same GPU; none if empty", True)
_STEPS_A = InputColumn("steps_per_s_a", "1/s", "steps of job_a a second", True)
_STEPS_B = InputColumn("steps_per_s_b", "1/s", "steps of job_b a second; 0 for both where the pair does not fit", True)
_CONSOLIDATED = InputColumn("consolidated", "", "yes or no; only rows of yes are read, if there is such a column")
_GPUS = tuple(InputColumn(f"gpus_{job}", "", f"GPUs of job_{job}; only rows of 1 are read") for job in "ab")

COLOCATION_COLUMNS = (_GPU, _JOB_A, _JOB_B, _STEPS_A, _STEPS_B, _CONSOLIDATED, *_GPUS)

DOES_NOT_FIT = 1000.0
"""The slowdown of two tasks that cannot share a processor: both all but stand still, so that no plan puts them there.

Not infinite, as a core that meets such a pair for a moment only would then earn nothing at all.
"""
MOST_CLASSES = 127
"""This many task types at most may be classes of their own."""


@dataclass(frozen=True, eq=False)
class Colocation:
    """What jobs do alone and in pairs: `steps_per_s[job, gpu]` alone, and `slowdown[gpu, a, b]` of a beside b.

    The slowdown of a pair that was measured is (steps alone / steps in the pair) - 1, 0 at least. One that does not fit
    together has the slowdown DOES_NOT_FIT; `n_unfit` counts these, [gpu].
    """

    jobs: tuple[str, ...]
    gpus: tuple[str, ...]
    steps_per_s: Floats
    slowdown: Floats
    n_unfit: Counts


class _Rows(NamedTuple):
    """Rows of jobs: positions of GPU and jobs (-1 for none), and steps per second."""

    gpu: Ints
    jobs: tuple[Ints, Ints]
    per_s: tuple[Floats, Floats]

    def only(self, kept: Bools) -> _Rows:
        (job_a, job_b), (per_s_a, per_s_b) = self.jobs, self.per_s
        return _Rows(self.gpu[kept], (job_a[kept], job_b[kept]), (per_s_a[kept], per_s_b[kept]))


def read_colocation(name: str, folder: Path = Path()) -> Colocation:
    """Throughputs of single-GPU jobs from a table (.csv, .csv.gz or .parquet); InputError with every problem."""
    table = read_table(name, folder)
    table.check_columns(COLOCATION_COLUMNS)
    raise_if_any(table.problems)
    kept = _kept(table)
    is_alone = table.texts(_JOB_B.name).is_null().to_numpy()
    for column in (_GPU, _JOB_A):
        is_empty = table.texts(column.name).is_null().to_numpy()
        table.report_rows(column.name, kept & is_empty, f"the {column.meaning} must be given")
    per_s = (_steps(table, _STEPS_A, kept), _steps(table, _STEPS_B, kept & ~is_alone))
    raise_if_any(table.problems)
    first = table.frame.filter(kept & is_alone)
    jobs, gpus = (tuple(first[column.name].cast(str).unique(maintain_order=True)) for column in (_JOB_A, _GPU))
    if not jobs:
        table.add("has no rows of single-GPU jobs without job_b", "every job must be measured alone")
        raise_if_any(table.problems)
    codes = [
        table.codes(column.name, names, what, -1)
        for column, names, what in ((_GPU, gpus, "GPU"), (_JOB_A, jobs, "job"), (_JOB_B, jobs, "job"))
    ]
    raise_if_any(table.problems)
    rows = _Rows(codes[0], (codes[1], codes[2]), per_s)
    alone_per_s = np.zeros((len(jobs), len(gpus)))
    alone = rows.only(kept & is_alone)
    alone_per_s[alone.jobs[0], alone.gpu] = alone.per_s[0]
    slowdown, n_unfit = _slowdowns(table, rows.only(kept & ~is_alone), alone_per_s, jobs, gpus)
    raise_if_any((*table.problems, *class_problems(name, len(jobs))))
    return Colocation(jobs, gpus, alone_per_s, slowdown, n_unfit)


def class_problems(name: str, n: int) -> Iterator[Problem]:
    """Too many task types for classes of their own."""
    if n > MOST_CLASSES:
        yield Problem(name, f"found {n} task types", f"slowdowns by pair: at most {MOST_CLASSES}", "give them by class")


def _kept(table: InputTable) -> Bools:
    """The rows of jobs on one GPU."""
    kept = np.ones(table.frame.height, bool)
    if _CONSOLIDATED.name in table.columns:
        kept &= (table.texts(_CONSOLIDATED.name).fill_null("") == "yes").to_numpy()
    for column in _GPUS:
        if column.name in table.columns:
            numbers = table.numbers(column.name)
            kept &= numbers.is_empty | (numbers.values == 1)
    return kept


def _steps(table: InputTable, column: InputColumn, needed: Bools) -> Floats:
    values = table.numbers(column.name).values
    table.report_rows(column.name, needed & ~(np.isfinite(values) & (values >= 0)), "must be a number of 0 or more")
    return values


def _slowdowns(
    table: InputTable, pairs: _Rows, alone_per_s: Floats, jobs: Sequence[str], gpus: Sequence[str]
) -> tuple[Floats, Counts]:
    """[gpu, a, b] from pairs, which may be listed once or in both orders, and how many do not fit on each GPU."""
    shape = (len(gpus), len(jobs), len(jobs))
    measured, times = np.zeros(shape), np.zeros(shape)
    for first in (0, 1):
        at = (pairs.gpu, pairs.jobs[first], pairs.jobs[1 - first])
        np.add.at(measured, at, pairs.per_s[first])
        np.add.at(times, at, 1)
    can_run = alone_per_s.T > 0
    for gpu, a, b in np.argwhere((times == 0) & can_run[:, :, None] & can_run[:, None, :])[:MAX_LISTED]:
        found = f"has no row for {jobs[a]!r} and {jobs[b]!r} on {gpus[gpu]!r}"
        table.add(found, "every pair must be given, with 0 steps where it does not fit")
    fits = (measured > 0) & (measured > 0).transpose(0, 2, 1)
    ratio = np.divide(alone_per_s.T[:, :, None] * times, measured, out=np.full(shape, 1.0), where=fits)
    return np.where(fits, np.maximum(ratio - 1, 0.0), DOES_NOT_FIT), (~fits).sum(axis=(1, 2))

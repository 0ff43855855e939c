"""Results of every kind of study, each as small as can be with all the tables that it may have."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from math import isclose
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import polars as pl
import pytest

from joulewise.study import Results, open_results, parse_study, run_study
from joulewise.study.kinds.case import Case, Outcome
from joulewise.study.kinds.kind import Kind
from joulewise.study.store.store import Store
from tests.strategies.small import HEADING, MANAGER, SYSTEM, WORKLOAD
from tests.strategies.small_bags import FRONT, PRICING, PROFIT
from tests.strategies.small_facility import ROOM
from tests.strategies.small_fronts import EVOLVED, UTILITY, uncertain
from tests.strategies.small_jobs import CLUSTERS, LOG, LOGGED

ONCE = ("trials = 2", "trials = 1")
MANAGED = (HEADING + SYSTEM + WORKLOAD + MANAGER).replace(*ONCE).replace("[0, 0.5]", "0.5")
FACILITY = ROOM.replace("cracs = 1", "cracs = 2").replace('"greedy"', '["greedy", "configurations"]')
OUTAGES = 'mean_uptime = "30 min"\nmean_repair = "5 min"\n'
BAG_METHODS = 'method = ["lp", "nsga2"]\npopulation = 6\ngenerations = 6\nsnapshots = [0, 3]\n'
CHANCE = 'method = "nsga2"\npopulation = 6\ngenerations = 3\ndrop_below = 0.5\nobjective = "expected"\n'
SAMPLES = "n_samples = 10\nfresh_samples = 12\n"

TEXTS = {
    "managed": MANAGED,
    "jobs": CLUSTERS.replace(*ONCE).replace('"easy", "max-upe", "random"', '"easy", "max-upe"'),
    "log": LOGGED,
    "front": FRONT.replace(*ONCE) + BAG_METHODS,
    "profit": PROFIT.replace(*ONCE),
    "pricing": PRICING.replace(*ONCE),
    "utility": UTILITY.replace(*ONCE) + EVOLVED,
    "chance": uncertain(UTILITY).replace(*ONCE) + CHANCE + SAMPLES,
    "facility": FACILITY,
}
"""A study of every kind, by a name of ours."""

SHARED = "JOULEWISE_TESTS_SHARE"
"""The variable that names the folder in which the workers of one run of tests share what each of them would make."""


@cache
def made(name: str) -> Results:
    """The results of a study of TEXTS, made once and to be read only; its files are in the folder above."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder)
    if SHARED not in os.environ:
        return _run(name, folder)
    shared = Path(os.environ[SHARED], name)
    with Path(os.environ[SHARED], f"{name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not shared.exists():
            results = _run(name, folder)
            shutil.copytree(folder, shared)
            return results
    shutil.copytree(shared, folder, dirs_exist_ok=True)
    return open_results(folder / "results")


def _run(name: str, folder: Path) -> Results:
    """Make a study of TEXTS there."""
    (folder / "log.swf").write_text(LOG)
    study = parse_study(TEXTS[name], "study.toml", folder, check_inputs=True)
    results = run_study(study, folder / "results", 1)
    assert results.failed.is_empty(), results.failed["error"].to_list()
    return results


def results_of(name: str, folder: Path) -> Results:
    """The same in a folder, to be changed."""
    shutil.copytree(made(name).folder, folder, dirs_exist_ok=True)
    return open_results(folder)


@contextmanager
def remembering(kind: Kind) -> Iterator[None]:
    """What comes out of a run is computed once: for tests that change only what is stored of it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("again", "judge_bound"):
            patch.setattr(type(kind), name, staticmethod(_by_run(getattr(kind, name))))
        yield


def _by_run(method: Callable[..., Any]) -> Callable[..., Any]:
    found: dict[str, Any] = {}

    def call(case: Case, *more: Any) -> Any:
        if case.run.key not in found:
            made = method(case, *more)
            is_outcome = isinstance(made, Outcome)
            found[case.run.key] = replace(made, tables=cache(made.tables)) if is_outcome else list(made)
        return found[case.run.key]

    return call


Alteration = Callable[[pl.Series], pl.Series]


def put(value: object) -> Alteration:
    """The first value of a column is another."""
    return lambda column: pl.Series(column.name, [value, *column.to_list()[1:]], dtype=column.dtype, strict=False)


def _differ(one: object, other: object) -> bool:
    """Whether two values differ by more than rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return not isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)
    return one != other


def swap(column: pl.Series) -> pl.Series:
    """Two values that differ change places."""
    values = column.to_list()
    other = next(i for i, value in enumerate(values) if _differ(value, values[0]))
    values[0], values[other] = values[other], values[0]
    return pl.Series(column.name, values, dtype=column.dtype)


def alterations(column: pl.Series) -> Iterator[Alteration]:
    """What somebody may do to one or two values of a column so that its type stays."""
    first, kind = column[0], column.dtype
    if any(_differ(value, first) for value in column):
        yield swap
    if first is not None:
        yield put(None)
    if kind == pl.Boolean:
        yield put(not first)
    elif kind.is_numeric():
        yield put(1 if first is None else first * 2 + 1)
    elif kind == pl.String:
        yield put("another")


def tables_of(results: Results) -> dict[str, Path]:
    """One file of each table of results, the longest: by the names of tables."""
    found = {"runs": Store(results.folder).runs_file}
    details = [path for path in results.folder.glob("*/*.parquet") if path.parent.name != "bounds"]
    for path in sorted(details, key=lambda path: pl.read_parquet(path).height):
        found[path.parent.name] = path
    return found

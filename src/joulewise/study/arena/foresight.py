"""Which policies of a set decide by what is still to come: a trial of each world again, with other futures."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import polars as pl

from joulewise.errors import InputError
from joulewise.processes import follow_parent, for_children
from joulewise.study.answers.results import Results
from joulewise.study.kinds.case import Case
from joulewise.study.running.planning import plan
from joulewise.study.running.worker import reason_of, world_of
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Draw
from joulewise.study.store.store import DONE, Store

LOOKED_AT = 0
"""The trial of each world that is decided again."""
_TIMES = 3
"""How often it is."""
_FOUND = {"run": pl.String(), "foresight": pl.String()}
NOT_LOOKED = pl.DataFrame(schema=_FOUND)
"""What is known where nobody looked."""


class _Question(NamedTuple):
    """A run that is done, and after which parts of its work the future is another."""

    results: Results
    run: Run
    parts: tuple[float, ...]


def foresight(results: Results, n_workers: int) -> pl.DataFrame:
    """What the runs of a set decided by what was still to come: `run` and `foresight`, those that did alone."""
    questions = list(_questions(results))
    found = [_answer(each) for each in questions] if n_workers == 1 else _answers(questions, n_workers)
    rows = [(each.run.key, said) for each, said in zip(questions, found, strict=True) if said]
    return pl.DataFrame(rows, _FOUND, orient="row")


def _questions(results: Results) -> Iterator[_Question]:
    """The runs to look at; from world to world the futures begin later."""
    done = results.runs.filter(pl.col("status") == DONE, pl.col("trial") == LOOKED_AT)
    worlds = results.runs["variant"].unique(maintain_order=True).to_list()
    world_of_run = dict(done.select("run", "variant").rows())
    for run in plan(results.study):
        if run.key in world_of_run:
            shift = (worlds.index(world_of_run[run.key]) + 1) / (len(worlds) + 1)
            yield _Question(results, run, tuple((time + shift) / _TIMES for time in range(_TIMES)))


def _answers(questions: list[_Question], n_workers: int) -> list[str]:
    """What is found, by processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_workers, context, initializer=follow_parent) as pool:
        with for_children():
            futures = [pool.submit(_answer, each) for each in questions]
        return [future.result() for future in futures]


def _answer(question: _Question) -> str:
    """What a run decided by what was still to come, or nothing; one that fails then has known it too."""
    results, run, parts = question
    kind, draw = results.study.kind, Draw(run.seed, run.trial, results.study.folder)
    case = Case(run, world_of(run, draw), kind.build(run.point.decision, draw), Store(results.folder))
    try:
        tables = results.tables(run.key)
        return next(filter(None, (kind.foresight(case, tables, part) for part in parts)), "")
    except InputError as error:
        return f"with another future it fails: {reason_of(error)}"

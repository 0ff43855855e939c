"""What is in memory has the records of a study that found it."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from joulewise.simulate.jobs.run import simulate_jobs
from joulewise.simulate.tasks.serial import simulate
from joulewise.study import Results
from joulewise.study.spec.source import Draw
from joulewise.visible import Visible
from tests.strategies.every_kind import made


def first_of(results: Results) -> tuple[str, Visible]:
    """The key of the first run of a study, and its outcome computed once more."""
    study, point = results.study, results.study.points[0]
    draw = Draw(study.heading.seed, 0, study.folder)
    found, decider = study.kind.build_world(point.world, draw), study.kind.build(point.decision, draw)
    run = results.runs["run"][0]
    if study.kind.name == "managed":
        return run, simulate(found, decider, draw.seed)
    from joulewise.study.jobs.schedule import scheduler_of

    return run, simulate_jobs(found.world, scheduler_of(point.workload, decider), draw.seed)


@pytest.mark.parametrize(("kind", "table"), [("managed", "records"), ("managed", "traces"), ("jobs", "job_traces")])
def test_tables_are_those_that_a_study_keeps(kind: str, table: str) -> None:
    results = made(kind)
    run, outcome = first_of(results)
    tables = outcome.to_polars()
    assert isinstance(tables, dict)
    kept = results.details(table, runs=[run]).drop("run")
    texts = pl.selectors.by_dtype(pl.Enum, pl.Categorical)
    found = tables[table].with_columns(texts.cast(pl.String)).cast(dict(kept.schema))  # type: ignore[arg-type]
    assert_frame_equal(found, kept.with_columns(texts.cast(pl.String)).cast(dict(kept.schema)))  # type: ignore[arg-type]

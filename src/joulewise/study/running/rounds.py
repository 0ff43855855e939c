"""Studies round by round: what came out of one says what the next computes; ordinary studies have one."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from joulewise.study.answers.rounds import Told
from joulewise.study.parsing.study import Study
from joulewise.study.running.planning import Plan, plan
from joulewise.study.running.work import Work
from joulewise.study.store.store import Store
from joulewise.study.store.stored import Stored


def rounds(study: Study, store: Store) -> Iterator[Work]:
    """What is left of each round, given what the folder holds; to be done before the next is asked for."""
    runs: Plan | None = plan(study)
    while runs is not None:
        yield Work(runs, store)
        runs = runs.next_round(lambda runs=runs: _told(runs, store))  # type: ignore[misc]


def next_work(study: Study, store: Store) -> Work:
    """What is left of the first round of which something is left, or of the last."""
    for work in rounds(study, store):
        if len(work):
            break
    return work


def last_round(runs: Plan, told: Told) -> Plan:
    """All runs that a study has in the end, given what came out."""
    while (further := runs.next_round(told)) is not None:
        runs = further
    return runs


def _told(runs: Plan, store: Store) -> pl.DataFrame:
    """What came out of these runs, all of which are stored, by the metrics that may decide."""
    keys = runs.table.select("run", "world")
    places = pl.DataFrame(runs.places._asdict(), {"point": pl.UInt32, "trial": pl.UInt32})
    stored = Stored(store)
    out = stored.results(stored.places(keys["run"]), ["status", *runs.study.deciding])
    return pl.concat([places, keys.drop("run"), out], how="horizontal")

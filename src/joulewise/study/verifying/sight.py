"""What is seen of stored runs without computing any: what rows say was run, and that tables and proofs are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from joulewise.errors import InputError
from joulewise.study.answers.results import Results
from joulewise.study.kinds.case import FAILED_BEFORE, NOT_CHECKED, Note, unstored
from joulewise.study.running.planning import Plan
from joulewise.study.searches.judging import judge_cells
from joulewise.study.spec.run import Run
from joulewise.study.store.store import FAILED, NO_BOUND, Store
from joulewise.study.store.tables import said_table

PIECE_ROWS = 20_000
"""So many rows are there at once, so that memory does not grow with a study."""


@dataclass(frozen=True)
class Sight:
    """What is seen of all runs, by the numbers of their rows.

    `labels` are those that are wrong, `lacking` is what is not there, with notes: of runs that have any. `can` says of
    each run whether it can be computed again, and `is_judged` whether it can be judged at all.
    """

    labels: dict[int, tuple[str, ...]] = field(default_factory=dict)
    lacking: dict[int, tuple[str, ...]] = field(default_factory=dict)
    can: list[bool] = field(default_factory=list)
    is_judged: list[bool] = field(default_factory=list)


def look(results: Results, runs: Plan) -> Sight:
    """Look at all runs of a study, a piece of them at a time."""
    sight, stored, left = Sight(), _Stored(results), iter(runs)
    while piece := list(islice(left, PIECE_ROWS)):
        rows = results.scan().slice(len(sight.can), len(piece)).collect()
        labels = judge_cells(rows, said_table(piece))
        stored.look_for_proofs(piece)
        for run, row, wrong in zip(piece, rows.iter_rows(named=True), labels, strict=True):
            stored.look_at(run, row, tuple(wrong), sight)
    return sight


def unsealed(results: Results, key: str) -> Iterator[str]:
    """Which detail tables of a run are not as they were written."""
    for name, path in Store(results.folder).detail_files(key).items():
        yield from changed(results, path, name)


def changed(results: Results, path: Path, name: str) -> Iterator[str]:
    """That a table is not as it was written, if so."""
    try:
        with Store(results.folder).reading(path):
            pass
    except InputError as error:
        yield f"{name}: {error.problems[0].found}"


def kept_runs(results: Results) -> set[str]:
    """The runs of which there are detail tables."""
    store = Store(results.folder)
    return set[str]().union(*map(store.detail_keys, results.study.kind.tables))


@dataclass(frozen=True)
class _Stored:
    """What is stored of runs besides their rows."""

    results: Results
    _unproven: set[tuple[str, str]] = field(default_factory=set)

    def look_for_proofs(self, runs: Iterable[Run]) -> None:
        """See which bounds of the next runs are not proven."""
        self._unproven.clear()
        bounds = {(run.world_key, run.bound) for run in runs if run.bound != NO_BOUND}
        self._unproven.update(Store(self.results.folder).unproven(bounds))

    def look_at(self, run: Run, row: Mapping[str, Any], wrong: tuple[str, ...], sight: Sight) -> None:
        """Add what is seen of the next run."""
        hindrance = self.results.study.kind.hindrance(run, row)
        lacking = tuple((self._of_failed if row["status"] == FAILED else self._of_done)(run, hindrance))
        at = len(sight.can)
        sight.labels.update({at: wrong} if wrong else {})
        sight.lacking.update({at: lacking} if lacking else {})
        sight.can.append(not hindrance)
        sight.is_judged.append(not hindrance or (run.key in self._kept and row["status"] != FAILED))

    def _of_failed(self, _run: Run, hindrance: str) -> Iterator[str]:
        yield Note(f"{NOT_CHECKED}: it failed, and {hindrance}" if hindrance else FAILED_BEFORE)

    def _of_done(self, run: Run, hindrance: str) -> Iterator[str]:
        if (run.world_key, run.bound) in self._unproven:
            yield "bounds: the proof of the world's bound is missing"
        if run.keep:
            yield from (f"{name}: the table is missing" for name, keys in self._tables.items() if run.key not in keys)
        if hindrance and run.key not in self._kept:
            yield Note(unstored(hindrance))

    @cached_property
    def _tables(self) -> dict[str, set[str]]:
        store = Store(self.results.folder)
        return {name: store.detail_keys(name) for name in self.results.study.kind.tables}

    @cached_property
    def _kept(self) -> set[str]:
        return kept_runs(self.results)

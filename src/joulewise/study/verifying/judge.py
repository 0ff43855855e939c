"""Who judges a stored run: computes it again, or derives what follows from what is stored, and compares everything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joulewise.errors import InputError, JoulewiseError
from joulewise.reading import parsed
from joulewise.study.answers.results import Results
from joulewise.study.kinds.case import FAILS_AGAIN, NOT_CHECKED, Case, Note, Outcome, unstored
from joulewise.study.kinds.kind import Kind
from joulewise.study.running.worker import reason_of, world_of
from joulewise.study.searches.judging import judge_columns, judge_tables
from joulewise.study.spec.column import RUNS
from joulewise.study.spec.run import Run
from joulewise.study.spec.source import Draw
from joulewise.study.store.store import FAILED, Store, Tables

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class StoredRun:
    """A run of the study with its row, and where its tables are."""

    run: Run
    row: Mapping[str, Any]
    results: Results

    @cached_property
    def tables(self) -> Tables:
        """Its detail tables, as far as they are stored."""
        return self.results.tables(self.run.key)


class _ReadOnly(Store):
    """A store to which runs that are computed again write nothing, and whose proofs are judged whoever wrote them."""

    @contextmanager
    def reading(self, path: Path, **_: bool) -> Iterator[pl.LazyFrame]:
        """A table, sealed or not."""
        with super().reading(path, must_be_sealed=False) as table:
            yield table

    def write_table(self, path: Path, table: object) -> None:
        """Write nothing."""

    def write_proof(self, world_key: str, kind: str, proof: object) -> None:
        """Write nothing."""


@dataclass(frozen=True)
class Judge:
    """Judges runs of a results folder; what holds of a world's bound, and what comes out of a run, is found once.

    Runs should come world by world, and run by run where several points share one.
    """

    results: Results
    _proofs: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _outcomes: dict[str, Outcome | str] = field(default_factory=dict)
    _failures: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        """The kind of the study."""
        return self.results.study.kind

    def findings(self, stored: StoredRun) -> Iterator[str]:
        """What does not hold of a run, and notes."""
        if stored.row["status"] == FAILED:
            yield from self._of_failure(stored)
            return
        case = self._case(stored.run)
        yield from self._of_bound(case) or self._of_outcome(stored, case)

    def _of_failure(self, stored: StoredRun) -> Iterator[str]:
        """What does not hold of a run that is said to have failed: it must fail again, for the stored reason."""
        reason = stored.row["error"]
        yield from judge_columns(self._came_out(stored), {"error": reason})
        hindrance = self.kind.hindrance(stored.run, stored.row)
        if hindrance:
            yield Note(f"{NOT_CHECKED}: it failed, and {hindrance}")
            return
        again = self._failure_now(stored)
        if not again:
            yield f"runs: status: {FAILED!r} is stored ({reason}), but it comes out; run the study again"
        elif again == reason:
            yield Note(FAILS_AGAIN)
        else:
            yield f"runs: error: {reason!r} is stored, {again!r} comes out"

    def _failure_now(self, stored: StoredRun) -> str:
        """Why a run fails when it is computed again; nothing where it does not."""
        if stored.run.key not in self._failures:
            try:
                self.kind.again(self._case(stored.run), stored.row).tables()
                self._failures[stored.run.key] = ""
            except Exception as error:  # as when it was run: whatever a user's heuristic raises
                self._failures[stored.run.key] = reason_of(error)
        return self._failures[stored.run.key]

    def _case(self, run: Run) -> Case:
        """A run as it is computed again: in the world made again, and without a trace in its folder."""
        draw = Draw(run.seed, run.trial, self.results.study.folder)
        decision = self.kind.build(run.point.decision, draw)
        return Case(replace(run, keep=False), world_of(run, draw), decision, _ReadOnly(self.results.folder))

    def _of_bound(self, case: Case) -> list[str]:
        bound = (case.run.world_key, case.run.bound)
        if bound not in self._proofs:
            self._proofs[bound] = list(self.kind.judge_bound(case))
        return self._proofs[bound]

    def _of_outcome(self, stored: StoredRun, case: Case) -> Iterator[str]:
        """What does not come out of a run, be it computed again or derived from what is stored of its decisions."""
        hindrance = self.kind.hindrance(stored.run, stored.row)
        if hindrance and not stored.tables:
            yield Note(unstored(hindrance))
            return
        outcome = self._derived(stored, case) if hindrance else self._again(stored, case)
        if isinstance(outcome, str):
            yield outcome
            return
        tables = outcome.tables()
        differences = [*self._differences(stored, outcome, tables, is_whole=not hindrance)]
        yield from differences or self.kind.judge(case, stored.row, tables)
        if hindrance:
            there, anew = self._came_out(stored), self._lasting(outcome.columns)
            unchecked = [name for name, value in there.items() if value is not None and name not in anew]
            yield Note(f"{', '.join(unchecked)} not compared: {hindrance}")

    def _derived(self, stored: StoredRun, case: Case) -> Outcome:
        """What follows from stored decisions; InputError where they are none."""
        place = self.results.folder / "*" / f"{stored.run.key}.parquet"
        return parsed(place, stored.tables, lambda tables: self.kind.derived(case, stored.row, tables))

    def _again(self, stored: StoredRun, case: Case) -> Outcome | str:
        """What comes out of a run now, or why nothing does."""
        key = stored.run.key
        if key not in self._outcomes:
            self._outcomes.clear()
            try:
                self._outcomes[key] = self.kind.again(case, stored.row)
            except InputError:
                raise
            except JoulewiseError as error:
                self._outcomes[key] = f"it cannot be computed again: {error}"
        return self._outcomes[key]

    def _differences(self, stored: StoredRun, outcome: Outcome, tables: Tables, *, is_whole: bool) -> Iterator[str]:
        """What is stored otherwise than it comes out."""
        yield from judge_columns(self._came_out(stored), self._lasting(outcome.columns), is_whole=is_whole)
        if stored.run.keep:
            yield from (f"{name}: the table is missing" for name in tables if name not in stored.tables)
        yield from judge_tables(stored.tables, tables, self.kind.is_measured)

    def _came_out(self, stored: StoredRun) -> dict[str, Any]:
        """The columns of a row that came out of its run and do not measure the computer."""
        said = {*stored.run.cells(), "status"}
        return {name: value for name, value in self._lasting(stored.row).items() if name not in said}

    def _lasting(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in columns.items() if not self.kind.is_measured(RUNS, name)}

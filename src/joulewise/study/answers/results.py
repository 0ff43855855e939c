"""A finished study read back: its runs, and means, intervals and differences over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.parquet import is_whole
from joulewise.reading import damaged
from joulewise.study.answers import statistics
from joulewise.study.answers.rows import check_runs
from joulewise.study.parsing.study import VARIANT, Study, parse_study, read_source
from joulewise.study.spec.column import RECORDS
from joulewise.study.store.reading import check_columns
from joulewise.study.store.store import DONE, FAILED, MARKER, Store, Tables


@dataclass(frozen=True)
class Results:
    """The study of a results folder and its runs, one row each; `about` is what the folder says of itself.

    Where tables `must_be_sealed`, those that are not as they were written are refused.
    """

    folder: Path
    study: Study = field(repr=False)
    runs: pl.DataFrame = field(repr=False)
    about: dict[str, Any] = field(repr=False)
    must_be_sealed: bool = field(default=True, repr=False)

    @property
    def failed(self) -> pl.DataFrame:
        """The runs that have no result."""
        return self.runs.filter(pl.col("status") == FAILED)

    @property
    def seconds(self) -> float:
        """How long the runs took one after the other; a run at several points counts once, a failed one not at all."""
        return float(self.runs.unique("run")["run_s"].sum()) if "run_s" in self.runs.columns else 0.0

    @property
    def compared(self) -> str:
        """The axis whose values are compared: the kind's main one if it varies, else the variant, else the first."""
        varying = [axis for axis in self.study.axes if self.runs[axis].n_unique() > 1]
        first = (self.study.kind.main_axis, VARIANT, *varying)
        return next((axis for axis in first if axis in varying), self.study.axes[0])

    def summary(self) -> pl.DataFrame:
        """Mean and 95 % interval of every metric at every point."""
        return statistics.summary(self.runs, self.study.axes, self._metrics())

    def differences(self) -> pl.DataFrame:
        """Paired differences of every metric between the values of the compared axis."""
        return statistics.differences(self.runs, self.study.axes, self._metrics(), self.compared)

    def leaders(self, metric: str) -> pl.DataFrame:
        """The points that are best in their world, and those that trials do not tell apart from them."""
        return statistics.leaders(self.runs, self.study.axes, metric)

    def details(
        self, table: str, columns: Iterable[str] | None = None, runs: Iterable[str] | None = None
    ) -> pl.DataFrame:
        """A detail table of all kept runs, or those of these: run, then its columns, or these of them.

        Names are text where runs differ.
        """
        store = Store(self.folder)
        keys = self.runs["run"].unique(maintain_order=True) if runs is None else runs
        paths = {key: store.detail_file(table, key) for key in keys}
        named = [
            self._detail(path, table, columns).select(pl.lit(key).alias("run"), pl.all())
            for key, path in paths.items()
            if path.exists()
        ]
        if len({tuple(frame.schema.items()) for frame in named}) > 1:
            named = [frame.with_columns(pl.col(pl.Enum).cast(pl.String)) for frame in named]
        numbers = {column.name: pl.Float64 for column in self.study.kind.columns if column.table == table}
        return pl.concat(named, how="diagonal_relaxed") if named else pl.DataFrame(schema={"run": pl.String, **numbers})

    def tables(self, run: str) -> Tables:
        """Every detail table of a run that is there."""
        return {name: self._detail(path, name, None) for name, path in Store(self.folder).detail_files(run).items()}

    def _detail(self, path: Path, table: str, names: Iterable[str] | None) -> pl.DataFrame:
        """A detail table, as the kind of study has it, or these columns of it."""
        wanted = None if names is None else set(names)
        columns = [column for column in self.study.kind.columns if column.table == table]
        columns = [column for column in columns if wanted is None or column.name in wanted]
        found = Store(self.folder).read_table(path, wanted, must_be_sealed=self.must_be_sealed)
        check_columns(path, found, columns)
        return found

    def records(self, run: str) -> pl.DataFrame:
        """The stored records of one run; InputError when they were not kept."""
        store = Store(self.folder)
        return store.read_table(store.detail_file(RECORDS, run))

    def _metrics(self) -> list[str]:
        return self.study.kind.metrics(self.runs.columns)


_RESULTS = "give the folder that `joulewise run` wrote"
_MEASURED = "measure.json"
"""What marks a folder of the laboratory."""


def open_results(folder: Path | str, *, must_be_sealed: bool = True) -> Results:
    """The results in a folder; InputError when it holds none, or, where they `must_be_sealed`, was changed since."""
    folder = Path(folder)
    study, about = finished_study(folder)
    store = Store(folder)
    runs = store.read_table(store.runs_file, must_be_sealed=False)
    check_runs(store.runs_file, runs, study)
    if must_be_sealed:
        store.read_table(store.runs_file, ["run"])
        check_details(store, study, runs)
    return Results(folder, study, runs, about, must_be_sealed)


def finished_study(folder: Path) -> tuple[Study, dict[str, Any]]:
    """The study of a results folder and what the folder says of itself; InputError where it holds none, or no whole."""
    store = Store(folder)
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "there is no such folder"
        raise InputError(Problem(str(folder), found, "must be the results folder of a study", _RESULTS))
    about = store.marker()
    if about is None:
        is_measured = (folder / _MEASURED).is_file()
        advice = f"`joulewise measure --report {folder}` reports measurements" if is_measured else _RESULTS
        raise InputError(Problem(str(folder), f"has no {MARKER}", "must be the results folder of a study", advice))
    if not about["is_finished"] or not store.runs_file.exists():
        advice = "run the study again to finish it"
        raise InputError(Problem(str(folder), "holds an unfinished study", advice=advice))
    source = read_source(store.study_file, "put back the study that was run")
    study = parse_study(source, store.study_file.name, Path(about["study_folder"]))
    return replace(study, heading=replace(study.heading, trials=about["trials"])), about


def check_details(store: Store, study: Study, runs: pl.DataFrame) -> None:
    """InputError where a run that is done has some of its detail tables and not all, or one that was cut short."""
    stored = {name: {path.stem for path in (store.folder / name).glob("*.parquet")} for name in study.kind.tables}
    done = runs.filter(pl.col("status") == DONE)["run"]
    kept = those_in(done, set().union(*stored.values()))
    for name, keys in stored.items():
        if not kept <= keys:
            advice = "run the study again, which computes what is missing"
            raise damaged(store.detail_file(name, min(kept - keys)), "", "is missing", advice=advice)
        paths = (store.detail_file(name, key) for key in sorted(kept))
        if cut := next((path for path in paths if not is_whole(path)), None):
            raise damaged(cut, "", "is cut short", "must be a Parquet file")


def those_in(keys: pl.Series, names: Iterable[str]) -> set[str]:
    """Those of some names that are among many keys."""
    found = pl.Series(list(names), dtype=pl.String)
    return set(found.filter(found.is_in(keys.implode())))

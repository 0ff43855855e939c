"""A finished study read back: its runs, and means, intervals and differences over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from joulewise.errors import InputError, Problem
from joulewise.parquet import is_whole
from joulewise.reading import damaged
from joulewise.study.answers import rounds, statistics
from joulewise.study.answers.rows import check_runs
from joulewise.study.answers.tuned import tuning_words
from joulewise.study.parsing.file import parse_study, read_source
from joulewise.study.parsing.study import VARIANT, Study
from joulewise.study.spec.column import RECORDS, Column
from joulewise.study.spec.trials import BLOCKS, FEWEST_BLOCKS, FEWEST_RESAMPLES, FIRST_TUNING
from joulewise.study.store.keys import numbers_of
from joulewise.study.store.reading import check_columns
from joulewise.study.store.store import DONE, FAILED, MARKER, Store, Tables
from joulewise.units import count
from joulewise.visible import Visible

_JUDGES = pl.col("trial") < FIRST_TUNING
"""Which runs tell how good points are, where others tuned."""


OF_RESAMPLES = (
    "What is shown came out of the log itself, the first trial. The others are resamples of it: intervals are as wide "
    "as they spread, and tell how surely the log shows that. More trials hardly narrow them, a longer log does."
)
"""What is said of them."""
_TUNED_BY_LOG = "The resamples that tuned are of the log that judges, so what was chosen still looks a little too good."


@dataclass(frozen=True)
class Results(Visible, looks="studies"):
    """The study of a results folder and its runs; `about` is what the folder says of itself.

    Runs are read when they are asked for, as there may be very many. Where tables `must_be_sealed`, those that are not
    as they were written are refused.
    """

    folder: Path
    study: Study = field(repr=False)
    about: dict[str, Any] = field(repr=False)
    must_be_sealed: bool = field(default=True, repr=False)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """All runs, one row each, in the order of points and trials."""
        return Store(self.folder).read_table(self._file, must_be_sealed=self.must_be_sealed)

    def scan(self) -> pl.LazyFrame:
        """The runs, for questions that need not have all of them in memory."""
        return pl.scan_parquet(self._file, glob=False)

    @cached_property
    def n_runs(self) -> int:
        """How many runs there are."""
        return int(self.scan().select(pl.len()).collect().item())

    @cached_property
    def failed(self) -> pl.DataFrame:
        """The runs that have no result."""
        return self.scan().filter(pl.col("status") == FAILED).collect()

    @cached_property
    def seconds(self) -> float:
        """How long the runs took one after the other; a run at several points counts once, a failed one not at all."""
        if "run_s" not in self.columns:
            return 0.0
        of_runs = self.scan().select(numbers_of("run"), "run_s").collect(engine="streaming")
        return float(of_runs.filter(pl.col("run").is_first_distinct())["run_s"].sum())

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of runs."""
        return tuple(self.scan().collect_schema())

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The swept keys that take more than one value."""
        n_values = self.judging().select(pl.col(axis).n_unique() for axis in self.axes).collect()
        return tuple(axis for axis in self.axes if n_values[axis].item() > 1)

    @property
    def compared(self) -> str:
        """The axis whose values are compared: the kind's main one if it varies, else the variant, else the first."""
        first = (self.study.kind.main_axis, VARIANT, *self.varying)
        return next((axis for axis in first if axis in self.varying), self.axes[0])

    @property
    def headline(self) -> Column:
        """What people see first of each run."""
        return self._headline(self.judging())

    def _headline(self, runs: pl.LazyFrame) -> Column:
        shown = [column.name for column in self.study.first_columns if column.name in self.columns]
        return rounds.headline(self.study, runs.select(shown).collect())

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of trials and how many were made, for people; nothing where the study says it."""
        study = self.study
        said = [OF_RESAMPLES, *self._few_blocks()] if self.is_resampled and self.n_trials > 1 else []
        if not study.grows:
            return tuple(said)
        told = self.told()
        shares = rounds.shares_of(study, told)
        if study.tuning:
            said += tuning_words(study, study.tuning, shares, self._tuning_metric)
            said += [_TUNED_BY_LOG] if study.resamples else []
        if study.until:
            said += rounds.stopping_words(study, study.until, shares, told)
        return tuple(said)

    def _few_blocks(self) -> Iterator[str]:
        """That a log that is resampled has few blocks, or few resamples."""
        n_blocks = int(self.judging().select(pl.col(BLOCKS).min()).collect().item() or FEWEST_BLOCKS)
        if n_blocks < FEWEST_BLOCKS:
            yield (
                f"The log has {count(n_blocks, 'block')}: how wide intervals of fewer than {FEWEST_BLOCKS} are is "
                "uncertain, and too little where days depend on each other for longer than a block."
            )
        if self.n_trials <= FEWEST_RESAMPLES:
            yield (
                f"There are {count(self.n_trials - 1, 'resample')}: with fewer than {FEWEST_RESAMPLES} intervals are "
                "wide, and other resamples would give clearly other ones."
            )

    @property
    def judged(self) -> pl.DataFrame:
        """The runs that tell how good points are: all but those that tuned."""
        return self.runs.filter(_JUDGES) if self.study.tuning else self.runs

    def judging(self) -> pl.LazyFrame:
        """The same, for questions that need not have all of them in memory."""
        return self.scan().filter(_JUDGES) if self.study.tuning else self.scan()

    @property
    def axes(self) -> tuple[str, ...]:
        """The swept columns that are compared: where values were tuned, they follow from the others."""
        tuned = self.study.tuning.keys if self.study.tuning else ()
        return tuple(axis for axis in self.study.axes if axis not in tuned) or self.study.axes[:1]

    def tuned(self) -> pl.DataFrame:
        """What was chosen: the axes, the tuned columns, and the mean of the metric by trials that tuned and that judge.

        No rows where nothing was tuned.
        """
        tuning = self.study.tuning
        if tuning is None or self._tuning_metric not in self.columns:
            return pl.DataFrame()
        sampling = self.error.sampling
        columns = list(dict.fromkeys([*self.axes, *tuning.keys]))
        metric, is_tuning = pl.col(self._tuning_metric), pl.col("trial") >= FIRST_TUNING
        points = (
            self.told(*columns, *sampling.needs)
            .group_by("point", maintain_order=True)
            .agg(
                *(pl.col(name).first() for name in columns),
                tuning_trials=is_tuning.sum(),
                tuning_mean=metric.filter(is_tuning).mean(),
                judging_trials=(~is_tuning).sum(),
                judging_mean=sampling.figure(pl.when(~is_tuning).then(metric)),
            )
        )
        return points.filter((pl.col("tuning_trials") > 0) & (pl.col("judging_trials") > 0)).drop("point")

    @property
    def _tuning_metric(self) -> str:
        tuning = self.study.tuning
        return (tuning.metric if tuning else "") or self._headline(self.scan()).name

    @property
    def n_trials(self) -> int:
        """How many trials were made at most at a point, or, where that was not left open, asked for."""
        if not self.study.grows:
            return self.study.heading.trials
        return int(self.judging().select(pl.col("trial").n_unique()).collect().item())

    def told(self, *columns: str) -> pl.DataFrame:
        """What decides, and these columns: the number of each run's `point` in the study, `trial`, `world`, metrics."""
        wanted = dict.fromkeys(["trial", "world", *self.study.deciding, *columns])
        runs = self.scan().select(name for name in wanted if name in self.columns).collect()
        return runs.with_columns(pl.Series("point", rounds.points_of(runs["trial"].to_list()), pl.UInt32))

    def summary(self, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """Mean and 95 % interval of every metric, or of these, at every point; of resamples, the figure of the log."""
        return statistics.summary(self.judging(), self.axes, self._chosen(metrics), self.error)

    def differences(self, metrics: Sequence[str] | None = None) -> pl.DataFrame:
        """Paired differences of every metric, or of these, between the values of the compared axis."""
        return statistics.differences(self.judged, self.axes, self._chosen(metrics), self.compared, self.error)

    def leaders(self, metric: str) -> pl.DataFrame:
        """The points that are best in their world, and those that trials do not tell apart from them."""
        ranked = self.judged.with_columns(pl.col(metric) * self.study.kind.sense_of(metric))
        return statistics.leaders(ranked, self.axes, metric, self.error)

    @property
    def is_resampled(self) -> bool:
        """Whether trials are resamples of a log, and some came out."""
        return self.study.resamples and BLOCKS in self.columns

    @property
    def error(self) -> statistics.Error:
        """What the intervals of means and differences may miss by."""
        if self.is_resampled:
            return statistics.of_resamples
        return statistics.at_looks if self.study.until else statistics.once

    def details(
        self, table: str, columns: Iterable[str] | None = None, runs: Iterable[str] | None = None
    ) -> pl.DataFrame:
        """A detail table of all kept runs that judge, or those of these: run, then its columns, or these of them.

        Names are text where runs differ.
        """
        store = Store(self.folder)
        keys = self.judging().select("run").unique(maintain_order=True).collect()["run"] if runs is None else list(runs)
        stored = store.detail_keys(table)
        named = [
            self._detail(store.detail_file(table, key), table, columns).select(pl.lit(key).alias("run"), pl.all())
            for key in keys
            if key in stored
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

    @property
    def _file(self) -> Path:
        return Store(self.folder).runs_file

    def _chosen(self, metrics: Sequence[str] | None) -> list[str]:
        """Those of the metrics that runs have."""
        there = self.study.kind.metrics(self.columns)
        return there if metrics is None else [name for name in metrics if name in there]


_RESULTS = "give the folder that `joulewise run` wrote"
_MEASURED = "measure.json"
"""What marks a folder of the laboratory."""


def open_results(folder: Path | str, *, must_be_sealed: bool = True) -> Results:
    """The results in a folder; InputError when it holds none, or, where they `must_be_sealed`, was changed since."""
    folder = Path(folder)
    study, about = finished_study(folder)
    store = Store(folder)
    with store.reading(store.runs_file, must_be_sealed=False) as table:
        check_runs(store.runs_file, table, study)
    if must_be_sealed:
        check_details(store, study, store.read_table(store.runs_file, ["run", "status"]))
    return Results(folder, study, about, must_be_sealed)


def finished_study(folder: Path) -> tuple[Study, dict[str, Any]]:
    """The study of a results folder and what the folder says of itself; InputError where it holds none, or no whole."""
    study, about = study_in(folder)
    if not is_finished(Store(folder), about):
        raise unfinished(folder)
    return study, about


def is_finished(store: Store, about: Mapping[str, Any]) -> bool:
    """Whether a folder that says this of itself holds all runs of its study."""
    return bool(about["is_finished"]) and store.runs_file.exists()


def unfinished(folder: Path) -> InputError:
    """That a folder does not, and what to do."""
    return InputError(Problem(str(folder), "holds an unfinished study", advice="run the study again to finish it"))


def study_in(folder: Path) -> tuple[Study, dict[str, Any]]:
    """The same of a study that may be unfinished; InputError where there is none."""
    store = Store(folder)
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "there is no such folder"
        raise InputError(Problem(str(folder), found, "must be the results folder of a study", _RESULTS))
    about = store.marker()
    if about is None:
        is_measured = (folder / _MEASURED).is_file()
        advice = f"`joulewise measure --report {folder}` reports measurements" if is_measured else _RESULTS
        raise InputError(Problem(str(folder), f"has no {MARKER}", "must be the results folder of a study", advice))
    source = read_source(store.study_file, "put back the study that was run")
    study = parse_study(source, store.study_file.name, Path(about["study_folder"]))
    return replace(study, heading=replace(study.heading, trials=about["trials"])), about


def check_details(store: Store, study: Study, runs: pl.DataFrame) -> None:
    """InputError where a run that is done has some of its detail tables and not all, or one that was cut short."""
    stored = {name: store.detail_keys(name) for name in study.kind.tables}
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

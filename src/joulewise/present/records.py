"""What pages and figures are made from: a study's particulars and its frames, with a few views of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from joulewise.present.formats import is_missing, key_name, key_value, plain
from joulewise.study.answers import statistics
from joulewise.study.searches.bounds import TRIVIAL
from joulewise.study.store.store import FAILED

METHOD = "optimise.method"
SEEDS = "optimise.seeds"
GENERATIONS = "optimise.generations"
TARIFF_UNIT = "supply.tariff_unit"
VARIANT = "variant"
UTILITY, POSSIBLE = "utility_percent", "possible_percent"
WHOLES = {POSSIBLE: "what is possible", UTILITY: "the utility if nothing had to wait"}
"""What each share of utility is a share of."""
BOUND = "utility_bound"
BOUND_NAMES = ("proven bound", "trivial bound")
MODES = ("immediate", "batch")
_TITLED = ("policy", "method", "recovery")
"""How keys end whose values have titles."""
_COMPARED = ("policy", "scheduler")
"""How keys end whose values are what is compared."""
_WORLD = ("system", "workload", "supply")
"""The sections whose keys make worlds."""
_ALONE = ("policy", "method", VARIANT)
"""How keys end whose values can stand without their names."""


@dataclass(frozen=True)
class Key:
    """How a study key is spoken of: its name and the unit that follows a value.

    `values` are those called otherwise than they are written; `phrases` only where they stand without the name of their
    key, as all values can if the key `stands_alone`. `colours` and `lines` say how its values look, in reading order,
    where that is not left to the theme.
    """

    name: str
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(default_factory=dict)
    stands_alone: bool = False
    colours: Callable[[Records], list[str]] | None = None
    lines: Callable[[Records], list[tuple[str, list[int]]]] | None = None


@dataclass(frozen=True)
class StudyInfo:
    """Particulars of one finished study, as its report shows them.

    `axes` are the swept keys in the order of the study file; `source` is that file's text; `seconds` is the
    wall-clock time of the runs; `study_hash` identifies file and inputs; `n_failed` counts runs without a
    result; `made_at` is the instant of the report, written as it should be read; `kind` names what the runs do; `notes`
    are sentences on how many trials were made, where what came out decided that.
    """

    name: str
    seed: int
    trials: int
    axes: tuple[str, ...]
    source: str
    version: str
    description: str = ""
    file_name: str = "study.toml"
    study_hash: str = ""
    machine: str = ""
    made_at: str = ""
    seconds: float | None = None
    n_failed: int = 0
    deterministic: bool = True
    kind: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Records:
    """Everything a figure or a page may read.

    `runs`: one row per run (dotted study keys, `trial`, `run`, metrics with unit suffix).
    `summary`: the columns of `study.axes`, then `metric`, `mean`, `low`, `high` (95 % Student) and `n`; one
    row per point and metric, the interval null where there is one trial only.
    `differences`: the same columns and `against`, another value of the main key: the mean over equal trials
    of this row's value of the key minus that one, all other axes being equal; every ordered pair of values, for shares
    of utility alone.
    `titles` and `modes`: policy name -> title and "immediate" or "batch", in the order of the policy table.
    `frames`: the detail tables of the kept runs by name: `run`, whose keys are looked up in `runs`, and their columns.
    `keys`: how the keys of this kind of study are spoken of; a key without a row is read out from its own name.
    `headings`: the metrics of this kind of study, without their levels, and what stands over them in a table.
    `tuned`: the values that were chosen, as `Results.tuned` has them; no rows where nothing was tuned.
    `headline`: the metric that people see first. `error`: what intervals may miss by.
    """

    study: StudyInfo
    runs: pl.DataFrame
    summary: pl.DataFrame
    differences: pl.DataFrame
    titles: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    keys: Mapping[str, Key] = field(default_factory=dict)
    headings: Mapping[str, str] = field(default_factory=dict)
    tuned: pl.DataFrame = field(default_factory=pl.DataFrame)
    headline: str = ""
    error: statistics.Error = statistics.once

    def frame(self, name: str) -> pl.DataFrame:
        """A detail table of the kept runs; empty, without columns, where none was kept."""
        return self.frames.get(name, pl.DataFrame())

    def keeps(self, name: str, *columns: str) -> bool:
        """Whether a detail table has rows, with a value in each of these columns."""
        table = self.frame(name)
        return table.height > 0 and set(columns) <= set(table.columns) and all(table[c].count() for c in columns)

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The swept keys that take more than one value in the results, in the order of the study file."""
        return tuple(axis for axis in self.study.axes if len(self.values(axis)) > 1)

    @cached_property
    def main(self) -> str | None:
        """The key whose values are compared: the policy, else the variants, else the first that varies."""
        named = [key for key in self.varying if is_named(key)]
        return next((key for key in (*named, VARIANT, *self.varying) if key in self.varying), None)

    @property
    def n_runs(self) -> int:
        """The number of runs that have a result."""
        return (
            self.runs.filter(pl.col("status") != FAILED).height if "status" in self.runs.columns else self.runs.height
        )

    @cached_property
    def share(self) -> str:
        """The metric that tells how much was earned: of what is possible, where that is known of every run."""
        n_known = {name: self.runs[name].count() for name in (POSSIBLE, UTILITY) if name in self.runs.columns}
        return POSSIBLE if n_known.get(POSSIBLE, 0) >= max(n_known.get(UTILITY, 0), 1) else UTILITY

    @property
    def tells_utility(self) -> bool:
        """Whether shares of utility are what people see first; of logs whose jobs no rules give worth they are not."""
        return self.headline in ("", *WHOLES)

    @property
    def whole(self) -> str:
        """What the share is a share of, in words."""
        return WHOLES[self.share]

    @cached_property
    def bound_name(self) -> str:
        """What the bound of utility is called: proven, unless some runs have only the trivial one."""
        has_trivial = "bound" in self.runs.columns and TRIVIAL in self.runs["bound"]
        return BOUND_NAMES[has_trivial]

    def utility(self) -> pl.DataFrame:
        """The summary of the share of utility that was earned, one row per point."""
        return self.summary.filter(pl.col("metric") == self.share)

    def measures(self, *metrics: str) -> bool:
        """Whether every one of these metrics has a value in some run."""
        return all(name in self.runs.columns and self.runs[name].count() > 0 for name in metrics)

    def varies(self, key: str) -> bool:
        """Whether runs differ in a key, be it swept or set by variants."""
        return len(self.values(key)) > 1

    def is_number(self, key: str) -> bool:
        """Whether all values of a key are numbers."""
        values = self.values(key)
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def means(self, metric: str, keys: Sequence[str]) -> pl.DataFrame:
        """Mean and interval of a metric over the runs that agree in the keys: the keys, mean, low, high, n."""
        return statistics.summary(self.runs, keys, [metric], self.error).drop("metric")

    def means_over_trials(self, keys: Sequence[str], metric: str) -> pl.DataFrame:
        """The same where runs of a trial count as one: their mean is what differs from trial to trial."""
        return statistics.means_over_trials(self.runs.lazy(), keys, metric, self.error)

    @cached_property
    def others(self) -> tuple[str, ...]:
        """The keys that vary beside the main one."""
        return tuple(key for key in self.varying if key != self.main)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Those of the other keys that say in which world a run was: the load, the system, the budget."""
        return tuple(key for key in self.others if is_of_world(key) or self._parts_worlds(key))

    def _parts_worlds(self, key: str) -> bool:
        """Whether a key is that of variants, of which no two met the same world."""
        return key == VARIANT and self.runs.n_unique(["world", VARIANT]) == self.runs["world"].n_unique()

    @cached_property
    def gaps(self) -> pl.DataFrame:
        """How far each point is from the best of its world, in percentage points; empty where nothing is compared."""
        if not self.varying or not self.measures(self.share):
            return pl.DataFrame(schema=dict.fromkeys(("standing", *self.varying), pl.String))
        return statistics.gaps(self.runs, self.varying, self.share, self.error)

    @cached_property
    def best(self) -> pl.DataFrame:
        """The row of the utility summary with the highest mean at each setting of the other keys."""
        ranked = self.utility().filter(pl.col("mean").is_not_null()).sort("mean", descending=True, maintain_order=True)
        return ranked.unique(subset=self.others, keep="first", maintain_order=True) if self.others else ranked.head(1)

    @cached_property
    def behind_best(self) -> pl.DataFrame:
        """Paired differences in utility (percentage points) to the best at the same setting."""
        needed = {"against", "metric", *(key for key in (self.main, *self.others) if key)}
        if self.main is None or not needed <= set(self.differences.columns):
            return pl.DataFrame()
        rows = self.differences.filter(pl.col("metric") == self.share, pl.col("mean").is_not_null())
        best = self.best.select(*self.others, pl.col(self.main).alias("against").cast(rows["against"].dtype))
        return rows.join(best, on=[*self.others, "against"], how="semi", nulls_equal=True)

    def values(self, key: str) -> list[Hashable]:
        """The values of a key in reading order: policies as in their table, numbers and levels ascending."""
        if key not in self.runs.columns:
            return []
        values = self.runs[key].unique(maintain_order=True)
        if is_policy(key):
            return self._policies(values.to_list())
        is_ordered = values.dtype.is_numeric() or isinstance(values.dtype, pl.Enum)
        return list(values.sort(nulls_last=True) if is_ordered else values)

    def _policies(self, names: Iterable[str]) -> list[Hashable]:
        """Policies by mode and, within a mode, as in the table; those outside it come last, as they came."""
        table = {name: i for i, name in enumerate(self.titles)}
        modes = {mode: i for i, mode in enumerate(MODES)}

        def place(name: str) -> tuple[int, int]:
            return modes.get(self.mode(name), len(modes)), table.get(name, len(table))

        ordered = sorted(names, key=place)
        return [*ordered]

    def mode(self, policy: str) -> str:
        """The policy's mode, or an empty string where it is not known."""
        return self.modes.get(policy, "")

    def words(self, key: str) -> Key:
        """How a key is spoken of."""
        return self.keys.get(key) or Key(key_name(key), stands_alone=_end(key) in _ALONE)

    def title(self, key: str) -> str:
        """A key as a column heading or axis title, with its unit."""
        words = self.words(key)
        return f"{words.name} ({words.unit})" if words.unit else words.name

    def labels(self, key: str) -> dict[Hashable, str]:
        """A distinct label for every value of a key, in reading order."""
        values = self.values(key)
        shown = [self.label(key, value) for value in values]
        return {
            value: f"{text} [{value}]" if shown.count(text) > 1 else text
            for value, text in zip(values, shown, strict=True)
        }

    def label(self, key: str, value: object) -> str:
        """One value of a key without its unit: a policy's title, "33,000", "10 min"."""
        if _end(key) in _TITLED and not is_missing(value):
            return self.titles.get(str(value), str(value))
        return self.words(key).values.get(str(value)) or key_value(key, value)

    def phrase(self, key: str, value: object) -> str:
        """One value of a key so that it can stand alone: "33,000 tasks/day", "dropping threshold 0.5"."""
        words, text = self.words(key), self.label(key, value)
        if words.stands_alone or str(value) in words.phrases:
            return words.phrases.get(str(value), text)
        if isinstance(value, bool):
            return f"{words.name}: {text}"
        return f"{text} {words.unit}" if words.unit else f"{words.name} {text}"

    def phrases(self, point: Mapping[str, object], keys: Iterable[str]) -> str:
        """Several values in one line, empty when there are no keys."""
        return ", ".join(self.phrase(key, point[key]) for key in keys)


def is_of_world(key: str) -> bool:
    """Whether a key is of a system, its work or its supply, and not of what decides."""
    return key.partition(".")[0] in _WORLD


def is_policy(key: str) -> bool:
    """Whether the values of a key are policies, of whatever system."""
    return _end(key) == "policy"


def is_named(key: str) -> bool:
    """Whether the values of a key are policies or schedulers, which are compared and need no name of their key."""
    return _end(key) in _COMPARED


def _end(key: str) -> str:
    return key.rpartition(".")[2]


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with lists among its values, and lists that study keys have as text, spelt out to be compared."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List | pl.Array)]
    keys = [name for name, dtype in frame.schema.items() if dtype == pl.String and "." in name]
    return frame.with_columns(
        *(pl.Series(name, [_spelt(row) for row in frame[name].to_list()], dtype=pl.String) for name in lists),
        *(pl.Series(name, [_spelt(_parsed(text)) for text in frame[name]], dtype=pl.String) for name in keys),
    )


def _parsed(text: str | None) -> object:
    """The list that a text is, else the text."""
    try:
        return json.loads(text) if text and text.startswith("[") else text
    except ValueError:
        return text


def _spelt(value: object) -> str | None:
    return None if value is None else plain(value)

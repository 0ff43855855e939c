"""What came out of a study of very many runs: means over its points, and its best points, read a column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from joulewise.study.answers import statistics
from joulewise.study.answers.results import Results
from joulewise.study.spec.column import Column

LARGE = 20_000
"""More runs than this are shown by an overview: nobody can look at so many, and they do not fit everywhere."""
BEST = 50
"""How many of the best points are shown."""


def is_large(results: Results) -> bool:
    """Whether there are so many runs that only an overview is shown of them."""
    return results.n_runs > LARGE


@dataclass(frozen=True)
class Overview:
    """The results of a study by each value of what was swept, and at their best."""

    results: Results

    @cached_property
    def metrics(self) -> list[Column]:
        """What people see first, as far as runs have it; by the first of them points are ranked."""
        there = [column for column in self.results.study.first_columns if column.name in self.results.columns]
        counts = self.results.judging().select(pl.col(column.name).count() for column in there).collect()
        return [column for column in there if counts[column.name].item()]

    @property
    def sense(self) -> int:
        """1 where the highest mean of the first metric is the best, -1 where the lowest is."""
        return self.results.study.kind.sense_of(self.metrics[0].name)

    def measures(self, metric: str) -> bool:
        """Whether a metric has a value in some run."""
        there = metric in self.results.columns
        return there and self.results.judging().select(pl.col(metric).count()).collect().item() > 0

    def means_over_trials(self, keys: Sequence[str], metric: str) -> pl.DataFrame:
        """The mean of a metric over all points that agree in the keys, as `statistics.means_over_trials` has it."""
        return statistics.means_over_trials(self.results.judging(), keys, metric, self.results.error)

    def best(self, n: int = BEST) -> pl.DataFrame:
        """The points with the best mean of the first metric, best first, as `Results.summary` tells them."""
        axes, metrics = self.results.axes, [column.name for column in self.metrics]
        sampling = self.results.error.sampling
        mean = (sampling.figure(pl.col(metrics[0]).cast(pl.Float64)) * self.sense).alias("_mean")
        ranked = self.results.judging().group_by(axes, maintain_order=True).agg(mean).collect()
        best = ranked.drop_nulls("_mean").sort("_mean", descending=True, maintain_order=True).head(n)
        runs = self.results.judging().select(*axes, *metrics, *sampling.needs)
        there = runs.join(best.lazy(), on=axes, how="semi", nulls_equal=True)
        found = statistics.summary(there, axes, metrics, self.results.error)
        return best.select(axes).join(found, on=axes, how="left", nulls_equal=True, maintain_order="left")

    @cached_property
    def values(self) -> dict[str, pl.Series]:
        """The values of each swept key."""
        of = self.results.judging()
        return {axis: of.select(pl.col(axis).unique().sort()).collect()[axis] for axis in self.results.axes}

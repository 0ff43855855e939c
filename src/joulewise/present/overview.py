"""The report of a study of very many runs: what each swept value is worth on average, and the best points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from joulewise.present.findings import Finding
from joulewise.present.formats import metric_title
from joulewise.present.layout import sentence
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tables import Cell, Table, metric_text, points_table
from joulewise.study.answers.overview import Overview
from joulewise.units import count

_MOST_VALUES = 50
_ALL = "all runs"


def records_of_values(overview: Overview, info: StudyInfo, **words: Any) -> Records:
    """Records that know every swept value, and of points the best; there are no rows of runs."""
    longest = max(map(len, overview.values.values()))
    values = pl.DataFrame({key: found[[i % len(found) for i in range(longest)]]
                           for key, found in overview.values.items()})  # fmt: skip
    return Records(info, values, overview.best(), pl.DataFrame(), headline=overview.metrics[0].name, **words)


def findings(overview: Overview, records: Records) -> list[Finding]:
    """That this is an overview, and the best point."""
    results, first = overview.results, records.summary.row(0, named=True)
    where = records.phrases(first, records.varying) or _ALL
    name, text = _heading(overview, records), metric_text(first["metric"], first)
    end = "highest" if overview.sense > 0 else "lowest"
    return [
        Finding(f"The {end} mean is at {where}: {name[:1].lower()}{name[1:]} {text}."),
        Finding(
            f"This is an overview of {count(results.n_runs, 'run')}. The command joulewise query answers what else "
            "one asks,"
            " and a study of fewer points or trials has a report with all figures."
        ),
    ]


def tables(overview: Overview, records: Records) -> list[Table]:
    """The best points, and the mean by each value of each swept key."""
    metrics = [column.name for column in overview.metrics]
    best = points_table(records, metrics, "The best points")
    note = "Ranked by the mean of the first metric; intervals of single points, of which these are the best of many."
    return [replace(best, note=note), *(_by_values(overview, records, key) for key in records.varying)]


def _by_values(overview: Overview, records: Records, key: str) -> Table:
    """The mean of the first metric by the values of a key."""
    metric = overview.metrics[0].name
    labels = {value: records.label(key, value) for value in records.values(key)[:_MOST_VALUES]}
    rows = {row[key]: row for row in overview.means_over_trials([key], metric).iter_rows(named=True)}
    cells = tuple((text, (Cell(metric_text(metric, rows.get(value))),)) for value, text in labels.items())
    left = len(records.values(key)) - len(labels)
    more = f" {count(left, 'more value')} not shown." if left else ""
    sampling = overview.results.error.sampling
    figures = sentence(sampling.figures.format("trials"))
    note = f"{figures}, over all points with that value, with {sampling.intervals}.{more}"
    caption = f"Mean by {records.words(key).name}"
    return Table(caption, sentence(records.title(key)), (_heading(overview, records),), cells, note)


def _heading(overview: Overview, records: Records) -> str:
    return sentence(metric_title(overview.metrics[0].name, records.headings))

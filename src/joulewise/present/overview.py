"""The report of a study of very many runs: what each swept value is worth on average, and the best points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from joulewise.present import theme
from joulewise.present.findings import Finding
from joulewise.present.formats import metric_title
from joulewise.present.layout import Drawing, assemble, sentence
from joulewise.present.lines import LineAxis, LinePoint, Plot, draw_lines
from joulewise.present.records import Records, StudyInfo
from joulewise.present.tables import Cell, Table, metric_text, points_table
from joulewise.present.views import looks_of
from joulewise.study.answers.overview import Overview
from joulewise.units import count

_MOST_LINES, _LEAST_VALUES, _MOST_VALUES = 12, 3, 50
_ALL = "all runs"


def records_of_values(overview: Overview, info: StudyInfo, **words: Any) -> Records:
    """Records that know every swept value, and of points the best; there are no rows of runs."""
    longest = max(map(len, overview.values.values()))
    values = pl.DataFrame({key: found[[i % len(found) for i in range(longest)]]
                           for key, found in overview.values.items()})  # fmt: skip
    return Records(info, values, overview.best(), pl.DataFrame(), **words)


def findings(overview: Overview, records: Records) -> list[Finding]:
    """That this is an overview, and the best point."""
    results, first = overview.results, records.summary.row(0, named=True)
    where = records.phrases(first, records.varying) or _ALL
    name, text = _heading(overview, records), metric_text(first["metric"], first)
    return [
        Finding(f"The highest mean is at {where}: {name[:1].lower()}{name[1:]} {text}."),
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
    rows = {row[key]: row for row in overview.means([key], metric).iter_rows(named=True)}
    cells = tuple((text, (Cell(metric_text(metric, rows.get(value))),)) for value, text in labels.items())
    left = len(records.values(key)) - len(labels)
    more = f" {count(left, 'more value')} not shown." if left else ""
    note = f"Over all points with that value; intervals are over means of trials.{more}"
    caption = f"Mean by {records.words(key).name}"
    return Table(caption, sentence(records.title(key)), (_heading(overview, records),), cells, note)


def figures(overview: Overview, records: Records) -> list[tuple[str, Callable[[], Drawing]]]:
    """The mean by each swept number, a line for each value of what is compared: names, and what draws them."""
    return [(f"by-{key.replace('.', '-')}", partial(_drawing, overview, records, key)) for key in _numbers(overview)]


def titles(overview: Overview, records: Records) -> list[str]:
    """What stands over the figures."""
    return [f"By {records.words(key).name}" for key in _numbers(overview)]


def _numbers(overview: Overview) -> Iterator[str]:
    """The swept keys that have enough numbers for a line."""
    for key, values in overview.values.items():
        if values.dtype.is_numeric() and values.drop_nulls().len() >= _LEAST_VALUES:
            yield key


def _drawing(overview: Overview, records: Records, key: str) -> Drawing:
    main = records.main if records.main != key else None
    main = main if main and len(records.values(main)) <= _MOST_LINES else None
    metric = overview.metrics[0].name
    means = overview.means([*([main] if main else []), key], metric).drop_nulls(key).sort(key)
    labels: Mapping[Any, str] = records.labels(main) if main else {None: _ALL}
    lines = {label: _points(means if main is None else means.filter(pl.col(main) == value), key)
             for value, label in labels.items()}  # fmt: skip
    tops = [top for point in means.iter_rows(named=True) if (top := point["high"] or point["mean"]) is not None]
    x = overview.values[key].drop_nulls().cast(pl.Float64)
    plot = Plot(
        lines,
        looks_of(records, main) if main else {_ALL: theme.line_style(0)},
        LineAxis(sentence(records.title(key)), float(x.min()), float(x.max())),  # type: ignore[arg-type]
        LineAxis(_heading(overview, records), min(0.0, *tops), max(*tops, 0.0) * 1.05),
        width_px=420,
        has_bands=True,
    )
    others = [records.words(other).name for other in records.varying if other not in (key, main)]
    over = f", over all values of {', '.join(others)}" if others else ""
    return Drawing(assemble([draw_lines(plot)]), f"Means{over}; bands are 95 % intervals over means of trials.")


def _points(means: pl.DataFrame, key: str) -> list[LinePoint]:
    return [LinePoint(row[key], row["mean"], row["low"], row["high"]) for row in means.iter_rows(named=True)]


def _heading(overview: Overview, records: Records) -> str:
    return sentence(metric_title(overview.metrics[0].name, records.headings))

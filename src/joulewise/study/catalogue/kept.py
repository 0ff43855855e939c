"""What a page of findings is written from: of each experiment its record, and the runs that its claims are judged on.

Both lie in the folder `KEPT` beside the page, so that a claim whose rule changes is judged again without running
anything, and whoever doubts a verdict has the numbers at hand. Metrics are kept to seven digits.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from joulewise.errors import InputError, Problem, raise_if_any
from joulewise.files import write_changed
from joulewise.study.answers.results import open_results
from joulewise.study.catalogue.experiment import Experiment
from joulewise.study.catalogue.record import FILE, FindingsRecord, read_records
from joulewise.study.store.reading import read_parquet
from joulewise.units import count
from joulewise.verdicts import ClaimFinding

KEPT = "findings"
_NOT_KEPT = ("run", "world")
"""Columns that name files of the results."""


def keep(results: Path, kept: Path, experiment: Experiment | None) -> None:
    """Keep the record of a folder of results, and its runs, if it is one of an experiment that is run.

    InputError where one of more trials is kept already.
    """
    for name, record in read_records([results / FILE]).items():
        raise_if_any(_of_fewer(record, read_records([kept / f"{name}.json"]).values(), kept))
        record.write(kept / f"{name}.json")
        if experiment is not None:
            write_changed(kept / f"{name}.parquet", packed(experiment.measured(open_results(results))))


def _of_fewer(record: FindingsRecord, before: Iterable[FindingsRecord], kept: Path) -> Iterator[Problem]:
    for other in before:
        if record.trials < other.trials:
            found = f"found {count(record.trials, 'trial')} of {record.id}"
            advice = "leave --trials out, or take the page of another folder"
            yield Problem("--page", found, f"{kept} has those of {count(other.trials, 'trial')}", advice)


def packed(runs: pl.DataFrame) -> bytes:
    """Runs as they are kept."""
    buffer, smaller = io.BytesIO(), pl.col(_metrics(runs)).cast(pl.Float32)
    table = runs.drop(_NOT_KEPT, strict=False).with_columns(smaller)
    table.write_parquet(buffer, compression="zstd", compression_level=19, statistics=False)
    return buffer.getvalue()


def _metrics(runs: pl.DataFrame) -> list[str]:
    """What runs came to: keys of studies have a section, metrics have none."""
    return [name for name in runs.columns if runs[name].dtype == pl.Float64 and "." not in name.partition(":")[0]]


def kept_records(kept: Path, names: Iterable[str], experiments: Mapping[str, Experiment]) -> dict[str, FindingsRecord]:
    """The records beside a page by experiment; the claims of those with runs are judged by the rules of today."""
    records = read_records(kept / f"{name}.json" for name in names)
    return {**records, **dict(_judged_again(kept, records, experiments))}


def keep_records(records: Mapping[str, FindingsRecord], kept: Path) -> None:
    """Keep records as they are judged now."""
    for name, record in records.items():
        record.write(kept / f"{name}.json")


def _judged_again(
    kept: Path, records: Mapping[str, FindingsRecord], experiments: Mapping[str, Experiment]
) -> Iterator[tuple[str, FindingsRecord]]:
    for name, record in records.items():
        path = kept / f"{name}.parquet"
        if path.is_file():
            entry = experiments[name]
            findings = _findings(entry, path)
            again = replace(record, title=entry.title, source=entry.source, reading=entry.reading, findings=findings)
            yield name, again


def _findings(entry: Experiment, path: Path) -> tuple[ClaimFinding, ...]:
    """What the claims come to on kept runs; InputError where these lack a column that a new claim reads."""
    try:
        return tuple(entry.findings(read_parquet(path).with_columns(pl.col(pl.Float32).cast(pl.Float64))))
    except pl.exceptions.ColumnNotFoundError as error:
        advice = f"run it again: `joulewise reproduce {entry.id}`, then `--page`"
        raise InputError(Problem(str(path), str(error), "must have what claims are judged by", advice)) from error
